//! The outline of a branch: which entries it has, without their records. Whoever opens a long session reads it
//! first, and then the entries that are needed.

use tertulia_session::EntryId;

use crate::backend::Brief;
use crate::entries::missing;
use crate::{Result, Seq, SessionId, SessionStore};

/// How many entries are asked for at once.
const PAGE: usize = 1 << 16;

/// The entries of the branch that ends in the newest one, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    pub entries: Vec<OutlineEntry>,
}

/// An entry of an outline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlineEntry {
    /// The number by which the store finds it.
    pub number: Seq,
    pub id: EntryId,
    /// Its type; of one that was purged, the type that it had.
    pub type_name: Box<str>,
}

impl Outline {
    /// Reads the outline of a session.
    pub fn read(store: &SessionStore, session: &SessionId) -> Result<Self> {
        let last = store.backend.head(session)?.seq;
        let mut all: Vec<Brief> = Vec::new();
        loop {
            let after = all.last().map_or(0, |brief| brief.seq);
            if after >= last {
                return Self::of_branch(session, all, last);
            }
            let page = store.backend.briefs(session, after, PAGE)?;
            if page.last().is_none_or(|brief| brief.seq <= after) {
                return Err(missing(session, after + 1));
            }
            all.extend(page);
        }
    }

    /// Keeps the branch that ends in this entry.
    fn of_branch(session: &SessionId, all: Vec<Brief>, last: Seq) -> Result<Self> {
        let mut entries = Vec::with_capacity(all.len());
        let mut next = Some(last).filter(|seq| *seq > 0);
        for Brief { seq, parent, id, type_name } in all.into_iter().rev() {
            // Entries of other branches lie between those of this one.
            if Some(seq) == next {
                next = parent.filter(|parent| *parent < seq);
                entries.push(OutlineEntry { number: seq, id, type_name });
            }
        }
        entries.reverse();
        match next {
            Some(place) => Err(missing(session, place)),
            None => Ok(Self { entries }),
        }
    }
}
