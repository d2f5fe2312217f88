//! Checks a session: every record against its hash, its columns against its record, and every link
//! against the chain. Reads page by page and changes nothing.

use tertulia_session::{ChainLink, EntryDigest, EntryId, EntryKind};

use crate::model::{Damage, Seq, StoredEntry, Verified};
use crate::row::Row;
use crate::{Problem, Result, SessionId, SessionStore, StoreError};

const PAGE: usize = 1000;

/// A checked session, as listed in the manifest of a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ManifestEntry {
    pub(crate) id: SessionId,
    pub(crate) entries: Seq,
    pub(crate) chain_hash: ChainLink,
}

/// Checks the database and every session in it. Returns the checked sessions.
pub(crate) fn check_all(store: &SessionStore) -> Result<Vec<ManifestEntry>> {
    if let Some(reason) = store.check()?.into_iter().next() {
        let problem = Problem::NotAStore { location: store.location(), reason };
        return Err(StoreError::read_failed(problem));
    }
    let mut sessions = Vec::new();
    for id in store.ids()? {
        let verified = store.verify(&id)?;
        if let Some(damage) = verified.damage {
            return Err(damage.into_error(&id));
        }
        sessions.push(ManifestEntry {
            id,
            entries: verified.entries,
            chain_hash: verified.chain_hash,
        });
    }
    Ok(sessions)
}

impl SessionStore {
    /// Checks every entry of a session against its hashes and the chain, up to the first problem.
    pub fn verify(&self, session: &SessionId) -> Result<Verified> {
        let last = self.backend.status(session)?.seq;
        let anchor = self.backend.anchor(session)?;
        let last = anchor.map_or(last, |(seq, _)| last.max(seq));
        let found = Verified { entries: 0, purged: 0, chain_hash: ChainLink::START, damage: None };
        let (store, names_parents) = (self, false);
        let mut check = Check { store, session, anchor, last: None, names_parents, found };
        let damage = match check.run(last) {
            Ok(()) => None,
            // An unreadable page of the database is reported as damage instead of letting the check fail.
            Err(StoreError::SessionReadFailed {
                problem: Problem::Damaged { seq, entry, reason },
                ..
            }) => Some(Damage { seq, entry, reason }),
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
    /// Checks all entries; the first problem is the error.
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
                self.found.chain_hash = stored.link;
                self.found.purged += u64::from(stored.entry.is_purged());
                self.last = Some(stored.entry.id);
            }
        }
    }

    fn damaged(&self, entry: Option<&EntryId>, reason: &str) -> StoreError {
        let (seq, reason) = (self.found.entries + 1, reason.to_owned());
        Damage { seq, entry: entry.cloned(), reason }.into_error(self.session)
    }

    fn next(&mut self, row: Row) -> Result<StoredEntry> {
        if row.seq != self.found.entries + 1 {
            let reason = format!("the entry is missing; the next existing one is {}", row.seq);
            return Err(self.damaged(None, &reason));
        }
        let stored = row.decode().map_err(|damage| damage.into_error(self.session))?;
        let reason = if self.found.chain_hash.next(&EntryDigest::from(&stored.entry)) != stored.link
        {
            "its link in the chain does not match the entry before it"
        } else if let EntryKind::Purged(purged) = &stored.entry.kind
            && self.store.backend.find(self.session, &purged.by)?.is_none()
        {
            "the redaction that purged it is missing"
        } else if !self.parent_fits(&stored)? {
            "the stored number of its parent is wrong"
        } else if self.anchor.is_some_and(|(seq, link)| seq == stored.seq && link != stored.link) {
            "another entry was stored at this position"
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
