//! A whole log from elsewhere, entry by entry and in constant memory, into a session that nobody sees until it
//! is finished. While a process imports, it holds a number that its hidden sessions are named by; the system lets
//! go of it when the process ends, and whoever writes to the store next deletes what was left. An import that fails or is
//! dropped leaves nothing behind.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tertulia_session::{Entry, EntryId, EntryKind, NewEntry, Purged, Redaction, Timestamp};

use crate::backend::{Begun, State};
use crate::clock::{chance, now_millis};
use crate::model::{NewRecord, NewSession, SessionInfo};
use crate::plan::Batch;
use crate::row::{Encoding, Prepared};
use crate::salting::SaltKey;
use crate::{Entries, Result, SessionId, SessionStore, StoreError};

const BATCH_ENTRIES: usize = 1000;
/// How many bytes of entries wait in memory, about.
const BATCH_BYTES: usize = 4 << 20;
/// An import of an earlier version, which held no number, that stored nothing for so long is abandoned.
const SILENT_MILLIS: i64 = 10 * 60 * 1000;
const PREFIX: &str = "importing:";

/// What killed imports and deletions left in a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftBehind {
    pub sessions: u64,
    pub entries: u64,
    pub bytes: u64,
}

/// The number that a process holds while it imports.
pub(crate) struct ImportHold {
    _held: Box<dyn Send + Sync>,
    store: SessionStore,
    number: u64,
}

impl ImportHold {
    /// Holds a new number, after what others left behind was deleted.
    pub(crate) fn take(store: &SessionStore) -> Result<Arc<Self>> {
        store.backend.delete_left_behind()?;
        loop {
            let number = chance();
            if let Some(_held) = store.backend.hold_imports(number)? {
                return Ok(Arc::new(Self { _held, store: store.clone(), number }));
            }
        }
    }
}

/// The number that the name of a hidden session was made with; `None` for those of earlier versions.
pub(crate) fn number_of(hidden: &str) -> Option<u64> {
    let (number, _) = hidden.strip_prefix(PREFIX)?.split_once(':')?;
    u64::from_str_radix(number, 16).ok()
}

/// Whether an import without a number is abandoned, by when it last stored something.
pub(crate) fn is_silent(updated_at: i64) -> bool {
    (now_millis() - updated_at).abs() > SILENT_MILLIS
}

/// An import that goes on.
pub struct Import {
    store: SessionStore,
    /// Nobody else sees it under this name.
    pub(crate) session: SessionId,
    waiting: Vec<Prepared>,
    waiting_bytes: usize,
    salts: SaltKey,
    is_done: bool,
    project: Option<String>,
    /// Let go after the session was published or deleted.
    _hold: Arc<ImportHold>,
}

impl Import {
    /// Begins an import.
    pub fn begin(store: &SessionStore) -> Result<Self> {
        Self::under(&ImportHold::take(store)?)
    }

    /// Says which project the session will belong to; without a call it is none.
    pub fn set_project(&mut self, project: Option<String>) {
        self.project = project;
    }

    /// Begins one of several imports of this process.
    pub(crate) fn under(hold: &Arc<ImportHold>) -> Result<Self> {
        let store = hold.store.clone();
        let session =
            format!("{PREFIX}{:016x}:{:016x}", hold.number, chance()).parse::<SessionId>()?;
        let nothing = Batch { records: Vec::new(), expected_tail: None };
        let begun = Begun { created_at: now_millis(), state: State::Importing, project: None };
        let created = store.backend.create(&session, begun, nothing);
        created.map_err(StoreError::unnamed)?;
        let (waiting, waiting_bytes) = (Vec::new(), 0);
        let (_hold, salts, project) = (Arc::clone(hold), SaltKey::fresh(), None);
        let is_done = false;
        Ok(Self { store, session, waiting, waiting_bytes, salts, is_done, project, _hold })
    }

    /// Takes the next entry. One with text and without a salt gets one.
    pub fn push(&mut self, mut entry: Entry) -> Result<()> {
        self.salts.salt(&mut entry);
        self.push_new(&entry.into())
    }

    /// Takes the next entry as it is, with what is known of it.
    pub fn push_new(&mut self, new: &NewRecord) -> Result<()> {
        // Made ready at once: what waits is then as small as it will be on disk, and its size known.
        let prepared = Prepared::new(&self.session, new).map_err(StoreError::unnamed)?;
        self.waiting_bytes += prepared.record.body.len();
        self.waiting.push(prepared);
        if self.waiting.len() >= BATCH_ENTRIES || self.waiting_bytes >= BATCH_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        self.waiting_bytes = 0;
        let records = std::mem::take(&mut self.waiting);
        if records.is_empty() {
            return Ok(());
        }
        let batch = Batch { records, expected_tail: None };
        self.store.backend.append(&self.session, batch).map_err(StoreError::unnamed)?;
        Ok(())
    }

    /// Shows the session under its id, or under one that is made.
    pub fn finish(self, new: &NewSession) -> Result<SessionInfo> {
        let made = || SessionId::made(now_millis(), chance());
        let id = new.id.clone().unwrap_or_else(made);
        let store = self.store.clone();
        Self::finish_all(vec![(self, id.clone())])?;
        store.info(&id)
    }

    /// Shows several sessions at once, each under its id: all or none.
    pub(crate) fn finish_all(mut imports: Vec<(Self, SessionId)>) -> Result<()> {
        for (import, _) in &mut imports {
            import.flush()?;
            if import.project.is_some() {
                // Nobody sees the session yet, so nobody sees it in another project.
                let project = import.project.as_deref();
                let set = import.store.backend.set_project(&import.session, project);
                set.map_err(StoreError::unnamed)?;
            }
        }
        let Some((first, _)) = imports.first() else { return Ok(()) };
        let pairs: Vec<(SessionId, SessionId)> =
            imports.iter().map(|(import, id)| (import.session.clone(), id.clone())).collect();
        first.store.backend.publish(&pairs)?;
        imports.iter_mut().for_each(|(import, _)| import.is_done = true);
        Ok(())
    }
}

impl Drop for Import {
    fn drop(&mut self) {
        if !self.is_done {
            // If this fails too, whoever writes next deletes it.
            let deleted = self.store.backend.delete(&self.session);
            let _ = deleted.and_then(|()| self.store.backend.forget_deleted(&self.session));
        }
    }
}

/// The redactions that a session made from a branch needs: the branch may hold entries that were purged by a
/// redaction which is not on it. The new session gets a redaction of its own then, and the purged entries name
/// that one: what purged an entry is not part of the chain.
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
    ) -> Result<Self> {
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
