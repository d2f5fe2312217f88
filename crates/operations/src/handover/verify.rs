//! Checks a receipt: reads the log and the session of the agent again.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use tertulia_dialect::native::NativeOrigin;
use tertulia_dialect::native::write::digests;
use tertulia_native::{
    Environment, FoundSession, NativeError, Place, SessionReader, list, locate, prefix_hash,
};
use tertulia_session::{Entry, EntryKind, NativeDirection};

use super::StoredReceipt;
use super::items::changed_entries;
use crate::import::{SECRETS, redact_secrets};

/// Maximum size of a record. A database has no lines that never end.
const RECORD_BYTES_MAX: u64 = 1 << 40;

/// The result of checking a receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    /// The numbers of the entries of our session that changed after the receipt was made.
    pub changed_entries: Vec<u64>,
    /// What is the same in the session of the agent, or the problem with it.
    pub native: Result<Compared, String>,
}

/// What was compared with the session of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// The first bytes of its file.
    Bytes(u64),
    /// Every record that was imported from its database.
    Records(u64),
    /// Every text, call and result that was written to its database.
    Said(u64),
}

impl Verification {
    /// Returns whether both sides are as the receipt says.
    pub fn is_ok(&self) -> bool {
        self.changed_entries.is_empty() && self.native.is_ok()
    }
}

impl StoredReceipt {
    /// Reads both sides again: the log, and the file or the database of the agent.
    pub fn verify(&self, entries: &[Entry], environment: &Environment) -> Verification {
        let changed_entries = match self.link.direction {
            NativeDirection::Written => changed_entries(&self.receipt, entries),
            NativeDirection::Imported => Vec::new(),
        };
        Verification { changed_entries, native: self.compare(entries, environment) }
    }

    fn compare(&self, entries: &[Entry], environment: &Environment) -> Result<Compared, String> {
        let link = &self.link;
        let path = link.path.as_deref().map(Path::new);
        let text = |error: NativeError| error.to_string();
        let found = match path {
            Some(path) => locate(environment, path, Some(link.format)).map_err(text)?,
            None => list(environment, &[link.format]).sessions,
        };
        // A file is one session, with whatever ID. A database has several.
        let is_file = |session: &FoundSession| matches!(session.place, Place::File(_));
        if let (Some(path), Some(_)) = (path, found.iter().find(|one| is_file(one))) {
            return match prefix_hash(path, link.bytes).map_err(text)? {
                Some(hash) if hash == *link.hash => Ok(Compared::Bytes(link.bytes)),
                _ => Err(format!("the beginning of {} has changed", path.display())),
            };
        }
        match found.iter().find(|session| *session.native_id == *link.native_session_id) {
            Some(session) => self.compare_rows(entries, environment, session),
            None => Err(format!("session {} no longer exists", link.native_session_id)),
        }
    }

    fn compare_rows(
        &self,
        entries: &[Entry],
        environment: &Environment,
        session: &FoundSession,
    ) -> Result<Compared, String> {
        let read =
            self.read_again(entries, environment, session).map_err(|error| error.to_string())?;
        let path = session.place.path().display();
        let (total, missing, what) = match self.link.direction {
            NativeDirection::Imported => {
                let read: HashSet<(Box<str>, Vec<u8>)> = read.iter().filter_map(record).collect();
                let numbers: HashSet<u64> =
                    self.receipt.items.iter().map(|item| item.entry).collect();
                let of_it = (1..).zip(entries).filter(|(number, _)| numbers.contains(number));
                let imported: Vec<_> = of_it.filter_map(|(_, entry)| record(entry)).collect();
                let missing = imported.iter().filter(|one| !read.contains(one)).count();
                (imported.len(), missing, "records")
            }
            NativeDirection::Written => {
                let mut left: HashMap<u32, u32> = HashMap::new();
                for digest in read.iter().filter_map(Entry::message).flat_map(digests) {
                    *left.entry(digest).or_default() += 1;
                }
                let is_missing = |digest: &&u32| match left.get_mut(*digest) {
                    Some(count) if *count > 0 => {
                        *count -= 1;
                        false
                    }
                    _ => true,
                };
                let missing = self.link.written.iter().filter(is_missing).count();
                (self.link.written.len(), missing, "texts, calls and results")
            }
        };
        match (missing, self.link.direction) {
            (0, NativeDirection::Imported) => Ok(Compared::Records(total as u64)),
            (0, NativeDirection::Written) => Ok(Compared::Said(total as u64)),
            _ => Err(format!("{missing} of {total} {what} were changed or removed in {path}")),
        }
    }

    /// Reads the session of the agent as it was read at the import.
    fn read_again(
        &self,
        entries: &[Entry],
        environment: &Environment,
        session: &FoundSession,
    ) -> Result<Vec<Entry>, NativeError> {
        let mut count = 0;
        let mut reader = SessionReader::open(environment, session, RECORD_BYTES_MAX)?;
        let link = entries.iter().find(|entry| entry.id == self.link.entry);
        let had_secrets = link.is_some_and(|entry| match &entry.kind {
            EntryKind::NativeSession(native) => native.unknown.get(SECRETS).is_some(),
            _ => false,
        });
        if had_secrets {
            reader = reader.with_edit(|bytes| redact_secrets(bytes, &mut count));
        }
        let mut read = Vec::new();
        while reader.next(&mut read)?.is_some() {}
        Ok(read)
    }
}

/// Returns the file and the text of the record that an entry keeps.
fn record(entry: &Entry) -> Option<(Box<str>, Vec<u8>)> {
    NativeOrigin::of(entry).map(|origin| (origin.file, origin.bytes))
}
