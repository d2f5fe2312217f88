//! The look-ups of [`super::reader`] that happen for every record: the last entry of a file, and the ids that were used.

use std::collections::HashMap;
use std::hash::Hasher;

use tertulia_session::EntryId;

/// The last entry of the conversation in every file.
#[derive(Debug, Default)]
pub(super) struct LastEntries {
    /// That of the main file, which has an empty name and nearly all records.
    pub(super) main: Option<EntryId>,
    others: HashMap<Box<str>, EntryId>,
}

impl LastEntries {
    pub(super) fn get(&self, file: &str) -> Option<&EntryId> {
        if file.is_empty() { self.main.as_ref() } else { self.others.get(file) }
    }

    pub(super) fn set(&mut self, file: &str, entry: EntryId) {
        if file.is_empty() {
            self.main = Some(entry);
        } else if let Some(last) = self.others.get_mut(file) {
            *last = entry;
        } else {
            self.others.insert(file.into(), entry);
        }
    }
}

/// Hashes a number that is a hash already.
#[derive(Debug, Default)]
pub(super) struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}
