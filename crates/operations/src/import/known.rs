//! The part of an agent's session that is already in a log. Only this module decides which records are known: those
//! that were imported, and those that were written when the session was handed over.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use tertulia_dialect::native::write::added_digests;
use tertulia_native::{FoundSession, NativeError, Place, prefix_hash};
use tertulia_session::json::Json;
use tertulia_session::{Entry, EntryId, EntryKind, NativeDirection, NativeSession};
use tertulia_store::{Range, Seq, SessionId, SessionStore, StoreError};

use crate::handover::{Link, name_in_front};

/// The name of the field which records that secrets were replaced.
pub(crate) const SECRETS: &str = "redactedSecrets";

/// A log with entries of an agent's session.
#[derive(Debug)]
pub(super) struct KnownLog {
    /// The first entry, usually the header.
    pub(super) first: EntryId,
    tail: EntryId,
    /// The newest entry on the branch of the tail that is no link.
    said_tail: EntryId,
    /// The numbers of all entries by the hash of their id, and for each entry the number of its parent.
    numbers: HashMap<u64, Seq>,
    parents: Vec<Seq>,
    /// The link up to which the session was last imported or written.
    pub(super) link: Link,
    /// Whether the log began with this session of the agent. The ids of records of other sessions get a prefix.
    pub(super) is_origin: bool,
    pub(super) redacts_secrets: bool,
    /// Whether the main file still begins with the records that the link counts.
    pub(super) has_prefix: bool,
    /// Hashes of the records of entries. Empty if they are not needed because of the prefix.
    records: HashMap<u64, Stored>,
    has_versions: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stored {
    Record(u64),
    /// A redaction removed its text.
    Purged,
}

/// The state of a record in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    New,
    Same,
    /// An entry with the same id has another text.
    Changed,
}

impl KnownLog {
    /// Reads the entries that a log has of a session. `None` if it has none.
    pub(super) fn read(
        store: &SessionStore,
        id: &SessionId,
        session: &FoundSession,
        native_id: &str,
    ) -> Result<Option<Self>, super::ImportError> {
        let mut log = Outlined::default();
        store.each_outline_entry(id, 0, |entry, parent| {
            log.has_versions |= entry.id.as_str().contains('~');
            log.numbers.insert(hash_of(entry.id.as_str()), entry.number);
            log.parents.push(parent.unwrap_or_default());
            if &*entry.type_name == "native_session" {
                log.links.push(entry.number);
            }
            log.first.get_or_insert_with(|| entry.id.clone());
            log.tail = Some(entry.id);
        })?;
        let (Some(first), Some(tail)) = (log.first.take(), log.tail.take()) else {
            return Ok(None);
        };
        let said_tail = log.said_tail(store, id)?.unwrap_or_else(|| tail.clone());
        let entries = store.load(id, &Range::Numbers(std::mem::take(&mut log.links)))?;
        let entries: Vec<Entry> = entries.into_iter().map(|stored| stored.entry).collect();
        let is_it =
            |link: &Link| link.format == session.format && *link.native_session_id == *native_id;
        let origin = entries.iter().find_map(Link::of);
        let is_origin =
            origin.is_some_and(|link| is_it(&link) && link.direction == NativeDirection::Imported);
        let Some((link, entry)) =
            entries.iter().rev().find_map(|entry| Some((Link::of(entry).filter(is_it)?, entry)))
        else {
            return Ok(None);
        };
        let redacts_secrets =
            native_session(entry).is_some_and(|native| native.unknown.get(SECRETS).is_some());
        let has_prefix = has_prefix(session, &link)?;
        let Outlined { numbers, parents, has_versions, .. } = log;
        let records = HashMap::new();
        Ok(Some(Self {
            first,
            tail,
            said_tail,
            numbers,
            parents,
            link,
            is_origin,
            redacts_secrets,
            has_prefix,
            records,
            has_versions,
        }))
    }

    /// Reads the records of all entries, unless the beginning of the session shows which are known and they need no
    /// comparison.
    pub(super) fn read_records(
        &mut self,
        store: &SessionStore,
        id: &SessionId,
        is_compared: bool,
    ) -> Result<(), StoreError> {
        if self.has_prefix && !self.has_versions && !is_compared {
            return Ok(());
        }
        for stored in store.entries(id, &Range::All)? {
            let entry = stored?.entry;
            let state = match (&entry.kind, record_hash(&entry)) {
                (EntryKind::Purged(_), _) => Stored::Purged,
                (_, Some(hash)) => Stored::Record(hash),
                (_, None) => continue,
            };
            self.records.insert(hash_of(entry.id.as_str()), state);
        }
        Ok(())
    }

    /// Returns whether an entry of this id is in the log.
    pub(super) fn has(&self, id: &EntryId) -> bool {
        self.numbers.contains_key(&hash_of(id.as_str()))
    }

    /// Compares the first entry of a record with the entry that has this id.
    pub(super) fn compare(&self, id: &EntryId, entry: &Entry) -> Found {
        match self.records.get(&hash_of(id.as_str())) {
            Some(Stored::Purged) => Found::Same,
            Some(Stored::Record(hash)) if Some(*hash) == record_hash(entry) => Found::Same,
            Some(Stored::Record(_)) => Found::Changed,
            // The entry does not come from a record, or the records were not needed.
            None if self.has(id) && self.records.is_empty() => Found::Same,
            None if self.has(id) => Found::Changed,
            None => Found::New,
        }
    }

    /// Returns whether the log has several versions of a changed record.
    pub(super) fn has_versions(&self) -> bool {
        self.has_versions
    }

    /// Returns how often every text, call and result was written. Empty if the session still begins with the written
    /// records.
    pub(super) fn left_to_find(&self) -> HashMap<u32, u32> {
        let mut left: HashMap<u32, u32> = HashMap::new();
        if !self.has_prefix && !self.link.written.is_empty() {
            for digest in self.link.written.iter().copied().chain(added_digests()) {
                *left.entry(digest).or_default() += 1;
            }
        }
        left
    }

    /// Returns the newest entry on the current branch that is no link. Other entries that follow it are on this branch,
    /// too, and those that follow a link may not be.
    pub(super) fn said_tail(&self) -> &EntryId {
        &self.said_tail
    }

    /// Returns the newest entry.
    pub(super) fn tail(&self) -> &EntryId {
        &self.tail
    }

    /// Returns the parent of a record that continues from the last common content of the log and the session. It is
    /// the newest entry if that is after this point on its branch, otherwise the entry at this point.
    pub(super) fn continuation(&self) -> EntryId {
        let number = |id: &EntryId| self.numbers.get(&hash_of(id.as_str())).copied();
        let (Some(anchor), Some(mut at)) = (number(&self.link.anchor), number(&self.tail)) else {
            return self.link.anchor.clone();
        };
        while at > anchor {
            let parent = usize::try_from(at - 1).ok().and_then(|index| self.parents.get(index));
            // A parent is always an earlier entry, so the loop ends.
            at = parent.copied().filter(|parent| *parent < at).unwrap_or_default();
        }
        if at == anchor { self.tail.clone() } else { self.link.anchor.clone() }
    }

    /// Returns the prefix of ids, which prevents records of two sessions in one log from having the same ids.
    pub(super) fn name_in_front(&self) -> Option<String> {
        (!self.is_origin).then(|| name_in_front(&self.link))
    }
}

#[derive(Debug, Default)]
struct Outlined {
    first: Option<EntryId>,
    tail: Option<EntryId>,
    numbers: HashMap<u64, Seq>,
    parents: Vec<Seq>,
    links: Vec<Seq>,
    has_versions: bool,
}

impl Outlined {
    /// Returns the newest entry before the links at the end of the current branch. `None` if the last entry is no link.
    fn said_tail(
        &self,
        store: &SessionStore,
        id: &SessionId,
    ) -> Result<Option<EntryId>, StoreError> {
        let last = self.parents.len() as Seq;
        let mut at = last;
        while self.links.contains(&at) {
            let parent = usize::try_from(at - 1).ok().and_then(|index| self.parents.get(index));
            // A parent is always an earlier entry, so the walk ends.
            at = parent.copied().filter(|parent| *parent < at).unwrap_or_default();
        }
        if at == last || at == 0 {
            return Ok(None);
        }
        let found = store.load(id, &Range::Numbers(vec![at]))?;
        Ok(found.into_iter().next().map(|stored| stored.entry.id))
    }
}

pub(super) fn native_session(entry: &Entry) -> Option<&NativeSession> {
    match &entry.kind {
        EntryKind::NativeSession(native) => Some(native),
        _ => None,
    }
}

/// Returns whether a session begins with the bytes that were imported or written. Returns `false` for a database,
/// which has no sequence of bytes.
fn has_prefix(session: &FoundSession, link: &Link) -> Result<bool, NativeError> {
    match &session.place {
        Place::File(path) if link.bytes > 0 => {
            Ok(prefix_hash(path, link.bytes)?.is_some_and(|hash| *hash == *link.hash))
        }
        _ => Ok(false),
    }
}

/// Returns a hash of the record that an entry keeps; `None` if it keeps none. The hash does not cover the line
/// number, because an earlier line may have been removed.
pub(super) fn record_hash(entry: &Entry) -> Option<u64> {
    const LINE: &str = ",\"line\":";
    let meta = entry.meta.as_ref().map(Json::as_str)?;
    let end = meta.starts_with("{\"native\":").then(|| meta.rfind(LINE))?;
    Some(hash_of(meta.get(..end?)?))
}

pub(super) fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
