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
        return Err(StoreError::SessionReadFailed { session: None, problem });
    }
    let mut sessions = Vec::new();
    for id in store.ids()? {
        let verified = verify(store, &id)?;
        if let Some(damage) = verified.damage {
            return Err(damage.into_error(&id));
        }
        sessions.push(Sealed { id, entries: verified.entries, head: verified.head });
    }
    Ok(sessions)
}

/// Checks a session from its first entry on, up to the first thing that does not fit.
pub(crate) fn verify(store: &SessionStore, session: &SessionId) -> Result<Verified> {
    let last = store.backend.head(session)?.seq;
    let anchor = store.backend.anchor(session)?;
    let last = anchor.map_or(last, |(seq, _)| last.max(seq));
    let mut check = Check { store, session, last: None, names_parents: false };
    let mut found = Verified { entries: 0, purged: 0, head: ChainLink::START, damage: None };
    loop {
        let rows = match store.backend.rows(session, found.entries, PAGE) {
            Ok(rows) => rows,
            Err(error) => return as_damage(error).map(|damage| damaged(&found, damage)),
        };
        if rows.is_empty() {
            let missing = || Damage {
                place: found.entries + 1,
                entry: None,
                reason: "the entry is missing".to_owned(),
            };
            let damage = (found.entries < last).then(missing);
            return Ok(Verified { damage, ..found });
        }
        for row in rows {
            match check.next(row, &found)? {
                Ok(stored)
                    if anchor
                        .is_some_and(|(seq, link)| seq == stored.seq && link != stored.link) =>
                {
                    let reason =
                        "it is not the entry that the session had in this place".to_owned();
                    let (place, entry) = (stored.seq, Some(stored.entry.id));
                    return Ok(damaged(&found, Damage { place, entry, reason }));
                }
                Ok(stored) => {
                    found.entries = stored.seq;
                    found.head = stored.link;
                    found.purged += u64::from(matches!(stored.entry.kind, EntryKind::Purged(_)));
                    check.last = Some(stored.entry.id);
                }
                Err(damage) => return Ok(damaged(&found, damage)),
            }
        }
    }
}

fn damaged(found: &Verified, damage: Damage) -> Verified {
    Verified { damage: Some(damage), ..found.clone() }
}

/// A page of the database that cannot be read is a finding, not a failure of the check.
fn as_damage(error: StoreError) -> Result<Damage> {
    match error {
        StoreError::SessionReadFailed {
            problem: Problem::Damaged { place, entry, reason },
            ..
        } => Ok(Damage { place, entry, reason }),
        other => Err(other),
    }
}

struct Check<'s> {
    store: &'s SessionStore,
    session: &'s SessionId,
    last: Option<EntryId>,
    names_parents: bool,
}

impl Check<'_> {
    fn next(&mut self, row: Row, before: &Verified) -> Result<Result<StoredEntry, Damage>> {
        let expected = before.entries + 1;
        if row.seq != expected {
            let reason = format!("the entry is missing; the next one that is there is {}", row.seq);
            return Ok(Err(Damage { place: expected, entry: None, reason }));
        }
        let stored = match row.decode() {
            Ok(stored) => stored,
            Err(damage) => return Ok(Err(damage)),
        };
        let damaged = |reason: &str| {
            let entry = Some(stored.entry.id.clone());
            Ok(Err(Damage { place: stored.seq, entry, reason: reason.to_owned() }))
        };
        if before.head.next(&EntryDigest::from(&stored.entry)) != stored.link {
            return damaged("its link does not follow from the entry before it");
        }
        if let EntryKind::Purged(purged) = &stored.entry.kind
            && self.store.backend.find(self.session, &purged.by)?.is_none()
        {
            return damaged("the redaction that purged it is not there");
        }
        if !self.parent_fits(&stored)? {
            return damaged("the number of its parent is not that of the entry it follows");
        }
        Ok(Ok(stored))
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
