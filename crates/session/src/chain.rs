//! The hash chain over a log: every link covers an entry and everything before it, so one changed
//! byte changes every later link. Stores keep the links and verify them; the same log has the same
//! links in every store. After a purge, the hash of the removed bytes keeps the chain valid.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::record::{EntryRecord, record_and_envelope};
use crate::{Entry, EntryKind, InvalidHex};

/// The BLAKE3 hash of the record of an entry, as [`EntryRecord`] writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecordHash(blake3::Hash);

/// The input of the chain for one entry: the hash of the fields that are always visible (id, parent, type, time),
/// and the hash of its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryDigest {
    envelope: blake3::Hash,
    record: RecordHash,
}

/// One link of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChainLink(blake3::Hash);

impl From<&Entry> for RecordHash {
    /// Returns the hash of the record of an entry; for a purged entry, that of the original record.
    fn from(entry: &Entry) -> Self {
        match &entry.kind {
            EntryKind::Purged(purged) => purged.hash,
            _ => Self::new(EntryRecord::new(entry).to_json().as_bytes()),
        }
    }
}

impl RecordHash {
    /// Hashes the bytes of an entry's record.
    pub fn new(record: &[u8]) -> Self {
        Self(blake3::hash(record))
    }

    /// Creates a hash from its bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(blake3::Hash::from_bytes(bytes))
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }
}

/// Parses 64 hex digits in lower case.
impl FromStr for RecordHash {
    type Err = InvalidHex;

    fn from_str(hex: &str) -> Result<Self, InvalidHex> {
        let is_lower = hex.bytes().all(|byte| !byte.is_ascii_uppercase());
        let hash = blake3::Hash::from_hex(hex).ok().filter(|_| is_lower);
        hash.map(Self).ok_or(InvalidHex::for_bytes(32))
    }
}

impl From<&Entry> for EntryDigest {
    /// Returns the digest of an entry; for a purged entry, that of the original.
    fn from(entry: &Entry) -> Self {
        Self::with_record(entry).0
    }
}

impl EntryDigest {
    /// Returns the digest of an entry, and the bytes of its record.
    pub fn with_record(entry: &Entry) -> (Self, Vec<u8>) {
        let (json, envelope) = record_and_envelope(entry, blake3::hash);
        let record = match &entry.kind {
            EntryKind::Purged(purged) => purged.hash,
            _ => RecordHash::new(&json),
        };
        (Self { envelope, record }, json)
    }

    /// Returns the hash of the record.
    pub fn record(&self) -> RecordHash {
        self.record
    }
}

impl ChainLink {
    /// The link before the first entry.
    pub const START: Self = Self(blake3::Hash::from_bytes([0; 32]));

    /// Returns the link of the next entry: the hash of this link and of the two hashes of the
    /// digest.
    #[must_use]
    pub fn next(&self, entry: &EntryDigest) -> Self {
        let hashes = [self.0, entry.envelope, entry.record.0].map(|hash| *hash.as_bytes());
        Self(blake3::hash(hashes.as_flattened()))
    }

    /// Creates a link from its bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(blake3::Hash::from_bytes(bytes))
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }
}

/// Writes 64 hex digits.
impl fmt::Display for RecordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Writes 64 hex digits.
impl fmt::Display for ChainLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for RecordHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::EnvelopeRecord;
    use crate::{EntryId, Fields, NewEntry, Purged, TeamTask, Timestamp};

    fn message_entry() -> Entry {
        let kind = EntryKind::TeamTask(TeamTask::set("the secret"));
        NewEntry::new(kind).at(Timestamp::from_millis(7)).in_run("r").with_content_id()
    }

    fn purged(entry: &Entry) -> Entry {
        let kind = EntryKind::Purged(Purged {
            type_name: entry.kind.type_name().into(),
            hash: RecordHash::from(entry),
            by: EntryId::from("r-1"),
            unknown: Fields::NONE,
        });
        Entry { kind, run_id: None, ..entry.clone() }
    }

    fn link(entry: &Entry) -> ChainLink {
        ChainLink::START.next(&EntryDigest::from(entry))
    }

    #[test]
    fn a_link_stays_when_the_bytes_are_purged() {
        assert_eq!(link(&message_entry()), link(&purged(&message_entry())));
    }

    #[test]
    fn a_link_changes_with_everything_that_the_entry_says() {
        let other = |change: fn(&mut Entry)| {
            let mut entry = message_entry();
            change(&mut entry);
            link(&entry)
        };
        let links = [
            link(&message_entry()),
            other(|entry| entry.id = "x".into()),
            other(|entry| entry.parent_id = Some("x".into())),
            other(|entry| entry.timestamp = None),
            other(|entry| entry.run_id = None),
            other(|entry| entry.kind = EntryKind::TeamTask(TeamTask::set("the secreT"))),
            link(&message_entry()).next(&EntryDigest::from(&message_entry())),
        ];
        for (position, one) in links.iter().enumerate() {
            assert!(!links[..position].contains(one), "{position}");
        }
    }

    #[test]
    fn of_what_was_purged_the_chain_still_holds_id_type_and_time() {
        let mut moved = purged(&message_entry());
        moved.timestamp = Some(Timestamp::from_millis(8));
        assert_ne!(link(&moved), link(&message_entry()));
    }

    #[test]
    fn a_record_begins_with_what_always_shows() {
        let bare = NewEntry::new(EntryKind::Custom(None)).with_id("e-1".into());
        for entry in [message_entry(), purged(&message_entry()), bare] {
            let (digest, json) = EntryDigest::with_record(&entry);
            assert_eq!(str::from_utf8(&json).unwrap(), EntryRecord::new(&entry).to_json());
            assert_eq!(digest.record, RecordHash::from(&entry));
            let envelope = EnvelopeRecord(&entry).to_json();
            assert_eq!(digest.envelope, *blake3::hash(envelope.as_bytes()).as_bytes());
        }
    }

    #[test]
    fn a_hash_is_read_as_it_is_shown() {
        let hash = RecordHash::from(&message_entry());
        assert_eq!(hash.to_string().parse::<RecordHash>().ok(), Some(hash));
        let upper = hash.to_string().to_uppercase();
        for wrong in ["", "12", upper.as_str()] {
            assert_eq!(wrong.parse::<RecordHash>().ok(), None, "{wrong}");
        }
    }
}
