//! A branch that becomes a session of its own may hold entries that were purged by a redaction which is
//! not on the branch. The new session gets a redaction of its own then, and the purged entries name
//! that one: what purged an entry is not part of the chain. Called by
//! [`SessionStore::fork`](crate::SessionStore::fork).

use std::collections::{HashMap, HashSet};

use tertulia_session::{Entry, EntryId, EntryKind, NewEntry, Purged, Redaction, Timestamp};

use crate::clock::now_millis;
use crate::row::Encoding;
use crate::{Entries, SessionId, SessionStore, StoreError};

/// The redactions that a new session needs.
#[derive(Default)]
pub(crate) struct Redactions {
    /// In the order in which they are appended.
    pub(crate) entries: Vec<Entry>,
    /// Their ids, by those of the redactions they stand for.
    ids: HashMap<EntryId, EntryId>,
}

impl Redactions {
    /// Those that a branch needs, each after the one before it and the first after `last`.
    pub(crate) fn of(
        store: &SessionStore,
        session: &SessionId,
        branch: &Entries<'_>,
        last: &EntryId,
    ) -> Result<Self, StoreError> {
        let on_branch: HashSet<&EntryId> = branch.collected().map(|row| &row.record.id).collect();
        let now = Timestamp::from_millis(now_millis());
        let mut new = Self::default();
        for row in branch.collected().filter(|row| row.record.encoding == Encoding::Purged) {
            let stored = row.clone().decode().map_err(|damage| damage.into_error(session))?;
            let EntryKind::Purged(Purged { by, .. }) = &stored.entry.kind else { continue };
            if on_branch.contains(by) || new.ids.contains_key(by) {
                continue;
            }
            // The reason stays, and so does the target where it is on the branch.
            let mut redaction = match store.entry(session, by).map(|stored| stored.entry.kind) {
                Ok(EntryKind::Redaction(redaction)) => redaction,
                _ => Redaction::new(&stored.entry.id),
            };
            if !on_branch.contains(&redaction.target_id) {
                redaction.target_id = stored.entry.id.clone();
            }
            let parent = new.entries.last().map_or(last, |redaction| &redaction.id).clone();
            let entry = NewEntry::new(EntryKind::Redaction(redaction)).at(now.clone());
            let entry = entry.with_parent(parent).with_content_id();
            new.ids.insert(by.clone(), entry.id.clone());
            new.entries.push(entry);
        }
        Ok(new)
    }

    /// An entry of the branch as the new session has it.
    pub(crate) fn rename(&self, mut entry: Entry) -> Entry {
        if let EntryKind::Purged(purged) = &mut entry.kind
            && let Some(new) = self.ids.get(&purged.by)
        {
            purged.by = new.clone();
        }
        entry
    }
}
