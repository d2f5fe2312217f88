//! Checking a session: every record against its hash, its columns against its record, every link
//! against the chain. Reads a page at a time; changes nothing.

use tertulia_session::{ChainLink, EntryDigest, EntryId, EntryKind};

use crate::model::{Damage, Seq, StoredEntry, Verified};
use crate::row::Row;
use crate::{Problem, Result, SessionId, SessionStore, StoreError};

const PAGE: usize = 1000;

/// A session that was checked, as the manifest of a backup has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sealed {
    pub(crate) id: SessionId,
    pub(crate) entries: Seq,
    pub(crate) head: ChainLink,
}

/// Checks the database and every session in it. Gives the sessions.
pub(crate) fn check_all(store: &SessionStore) -> Result<Vec<Sealed>> {
    if let Some(reason) = store.check()?.into_iter().next() {
        let problem = Problem::NotAStore { place: store.place(), reason };
        return Err(StoreError::read_failed(problem));
    }
    let mut sessions = Vec::new();
    for id in store.ids()? {
        let verified = store.verify(&id)?;
        if let Some(damage) = verified.damage {
            return Err(damage.into_error(&id));
        }
        sessions.push(Sealed { id, entries: verified.entries, head: verified.head });
    }
    Ok(sessions)
}

impl SessionStore {
    /// Checks every entry of a session against its hashes and the chain, up to the first thing that does not fit.
    pub fn verify(&self, session: &SessionId) -> Result<Verified> {
        let last = self.backend.head(session)?.seq;
        let anchor = self.backend.anchor(session)?;
        let last = anchor.map_or(last, |(seq, _)| last.max(seq));
        let found = Verified { entries: 0, purged: 0, head: ChainLink::START, damage: None };
        let (store, names_parents) = (self, false);
        let mut check = Check { store, session, anchor, last: None, names_parents, found };
        let damage = match check.run(last) {
            Ok(()) => None,
            // A page of the database that cannot be read is a finding, not a failure of the check.
            Err(StoreError::SessionReadFailed {
                problem: Problem::Damaged { place, entry, reason },
                ..
            }) => Some(Damage { place, entry, reason }),
            Err(error) => return Err(error),
        };
        Ok(Verified { damage, ..check.found })
    }
}

struct Check<'s> {
    store: &'s SessionStore,
    session: &'s SessionId,
    anchor: Option<(Seq, ChainLink)>,
    last: Option<EntryId>,
    names_parents: bool,
    found: Verified,
}

impl Check<'_> {
    /// Checks all entries; what does not fit is an error.
    fn run(&mut self, last: Seq) -> Result<()> {
        loop {
            let rows = self.store.backend.rows(self.session, self.found.entries, PAGE)?;
            if rows.is_empty() {
                let missing = || self.damaged(None, "the entry is missing");
                return if self.found.entries < last { Err(missing()) } else { Ok(()) };
            }
            for row in rows {
                let stored = self.next(row)?;
                self.found.entries = stored.seq;
                self.found.head = stored.link;
                self.found.purged += u64::from(stored.entry.is_purged());
                self.last = Some(stored.entry.id);
            }
        }
    }

    fn damaged(&self, entry: Option<&EntryId>, reason: &str) -> StoreError {
        let (place, reason) = (self.found.entries + 1, reason.to_owned());
        Damage { place, entry: entry.cloned(), reason }.into_error(self.session)
    }

    fn next(&mut self, row: Row) -> Result<StoredEntry> {
        if row.seq != self.found.entries + 1 {
            let reason = format!("the entry is missing; the next one that is there is {}", row.seq);
            return Err(self.damaged(None, &reason));
        }
        let stored = row.decode().map_err(|damage| damage.into_error(self.session))?;
        let reason = if self.found.head.next(&EntryDigest::from(&stored.entry)) != stored.link {
            "its link does not follow from the entry before it"
        } else if let EntryKind::Purged(purged) = &stored.entry.kind
            && self.store.backend.find(self.session, &purged.by)?.is_none()
        {
            "the redaction that purged it is not there"
        } else if !self.parent_fits(&stored)? {
            "the number of its parent is not that of the entry it follows"
        } else if self.anchor.is_some_and(|(seq, link)| seq == stored.seq && link != stored.link) {
            "it is not the entry that the session had in this place"
        } else {
            return Ok(stored);
        };
        Err(self.damaged(Some(&stored.entry.id), reason))
    }

    fn parent_fits(&mut self, stored: &StoredEntry) -> Result<bool> {
        self.names_parents |= stored.entry.parent_id.is_some();
        let Some(parent_id) = &stored.entry.parent_id else {
            let before: Option<Seq> = Some(stored.seq - 1).filter(|seq| *seq > 0);
            return Ok(stored.parent == before.filter(|_| !self.names_parents));
        };
        if self.last.as_ref() == Some(parent_id) {
            return Ok(stored.parent == Some(stored.seq - 1));
        }
        Ok(self.store.backend.find(self.session, parent_id)? == stored.parent)
    }
}
