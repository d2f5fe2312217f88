//! Imports a complete log from elsewhere, entry by entry and in constant memory. The session stays hidden until the
//! import is finished. An importing process locks a number that is part of the names of its hidden sessions. The
//! lock ends with the process, and the next writer deletes the sessions of an interrupted import. An import that
//! fails or is dropped leaves nothing.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tertulia_session::{Entry, EntryId, EntryKind, NewEntry, Purged, Redaction, Timestamp};

use crate::backend::{SessionStart, State};
use crate::clock::{now_millis, random_u64};
use crate::model::{NewRecord, NewSession, SessionInfo};
use crate::plan::Batch;
use crate::row::{Encoding, Prepared};
use crate::salting::SaltKey;
use crate::{Entries, Result, SessionId, SessionStore, StoreError};

const BATCH_ENTRIES: usize = 1000;
/// The approximate number of bytes of entries that wait in memory.
const BATCH_BYTES: usize = 4 << 20;
/// How long an import of an earlier version may store nothing before it counts as abandoned. Such imports had no
/// lock.
const SILENT_MILLIS: i64 = 10 * 60 * 1000;
const PREFIX: &str = "importing:";

/// The leftovers of interrupted imports and deletions in a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftBehind {
    pub sessions: u64,
    pub entries: u64,
    pub bytes: u64,
}

/// The number that a process locks while it imports.
pub(crate) struct ImportLock {
    _guard: Box<dyn Send + Sync>,
    store: SessionStore,
    number: u64,
}

impl ImportLock {
    /// Locks a new number. First deletes what interrupted imports left.
    pub(crate) fn acquire(store: &SessionStore) -> Result<Arc<Self>> {
        store.backend.delete_left_behind()?;
        loop {
            let number = random_u64();
            if let Some(_guard) = store.backend.lock_imports(number)? {
                return Ok(Arc::new(Self { _guard, store: store.clone(), number }));
            }
        }
    }
}

/// Returns the number in the name of a hidden session; `None` for names of earlier versions.
pub(crate) fn number_of(hidden: &str) -> Option<u64> {
    let (number, _) = hidden.strip_prefix(PREFIX)?.split_once(':')?;
    u64::from_str_radix(number, 16).ok()
}

/// Returns whether an import without a number is abandoned, given the time of its last write.
pub(crate) fn is_silent(updated_at: i64) -> bool {
    (now_millis() - updated_at).abs() > SILENT_MILLIS
}

/// An import in progress.
pub struct Import {
    store: SessionStore,
    /// The hidden name of the session.
    pub(crate) session: SessionId,
    waiting: Vec<Prepared>,
    waiting_bytes: usize,
    salts: SaltKey,
    is_done: bool,
    project: Option<String>,
    /// The lock, which is released after the session was published or deleted.
    _lock: Arc<ImportLock>,
}

impl Import {
    /// Starts an import.
    pub fn begin(store: &SessionStore) -> Result<Self> {
        Self::under(&ImportLock::acquire(store)?)
    }

    /// Sets the project that the session will belong to. The default is none.
    pub fn set_project(&mut self, project: Option<String>) {
        self.project = project;
    }

    /// Starts one of several imports of this process.
    pub(crate) fn under(lock: &Arc<ImportLock>) -> Result<Self> {
        let store = lock.store.clone();
        let session =
            format!("{PREFIX}{:016x}:{:016x}", lock.number, random_u64()).parse::<SessionId>()?;
        let nothing = Batch { records: Vec::new(), expected_tail: None, fence: None };
        let start =
            SessionStart { created_at: now_millis(), state: State::Importing, project: None };
        let created = store.backend.create(&session, start, nothing);
        created.map_err(StoreError::unnamed)?;
        let (waiting, waiting_bytes) = (Vec::new(), 0);
        let (_lock, salts, project) = (Arc::clone(lock), SaltKey::fresh(), None);
        let is_done = false;
        Ok(Self { store, session, waiting, waiting_bytes, salts, is_done, project, _lock })
    }

    /// Adds the next entry. An entry that has text but no salt gets a salt.
    pub fn push(&mut self, mut entry: Entry) -> Result<()> {
        self.salts.salt(&mut entry);
        self.push_new(&entry.into())
    }

    /// Adds the next entry unchanged, with its token count.
    pub fn push_new(&mut self, new: &NewRecord) -> Result<()> {
        // The entry is prepared now, so that the waiting entries are as small as on disk and their size is known.
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
        let batch = Batch { records, expected_tail: None, fence: None };
        self.store.backend.append(&self.session, batch).map_err(StoreError::unnamed)?;
        Ok(())
    }

    /// Makes the session visible under the requested id, or under a generated one.
    pub fn finish(self, new: &NewSession) -> Result<SessionInfo> {
        let made = || SessionId::generate(now_millis(), random_u64());
        let id = new.id.clone().unwrap_or_else(made);
        let store = self.store.clone();
        Self::finish_all(vec![(self, id.clone())])?;
        store.info(&id)
    }

    /// Makes several sessions visible at once, each under its id: all or none.
    pub(crate) fn finish_all(mut imports: Vec<(Self, SessionId)>) -> Result<()> {
        for (import, _) in &mut imports {
            import.flush()?;
            if import.project.is_some() {
                // The session is still hidden, so no reader gets it without its project.
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
            // If this fails too, the next writer deletes it.
            let deleted = self.store.backend.delete(&self.session);
            let _ = deleted.and_then(|()| self.store.backend.forget_deleted(&self.session));
        }
    }
}

/// The additional redactions for a session that is made from a branch. The branch may contain an entry that was
/// purged by a redaction outside the branch. The new session then gets its own redaction, and the purged entry
/// refers to that one. This does not change the chain, because the hashes of a purged entry do not depend on which
/// redaction purged it.
#[derive(Default)]
pub(crate) struct Redactions {
    /// In the order in which they are appended.
    pub(crate) entries: Vec<Entry>,
    /// New redaction ids by the ids of the redactions that they replace.
    ids: HashMap<EntryId, EntryId>,
}

impl Redactions {
    /// Creates the redactions that a branch needs. They form a chain that starts after `last`.
    pub(crate) fn for_branch(
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
            // The redaction keeps its reason, and its target if that is on the branch.
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

    /// Returns an entry of the branch in the form in which the new session stores it.
    pub(crate) fn rename(&self, mut entry: Entry) -> Entry {
        if let EntryKind::Purged(purged) = &mut entry.kind
            && let Some(new) = self.ids.get(&purged.by)
        {
            purged.by = new.clone();
        }
        entry
    }
}
