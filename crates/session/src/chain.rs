//! The chain over a log: every link stands for an entry and all that came before it, so one changed
//! byte changes every link from there on. Stores keep the links and check them; the same log has the
//! same links in every store. Where bytes were purged, their hash keeps the chain whole.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::record::{EntryRecord, record_and_envelope};
use crate::{Entry, EntryKind, InvalidHex};

/// The BLAKE3 hash of the record of an entry, as [`EntryRecord`] writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecordHash(blake3::Hash);

/// What the chain takes of an entry: the hash of what always shows of it (id, parent, type, time), and
/// the hash of its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryDigest {
    envelope: blake3::Hash,
    record: RecordHash,
}

/// One link of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChainLink(blake3::Hash);

impl From<&Entry> for RecordHash {
    /// The hash of the record of an entry; of what was purged, the hash of what was there.
    fn from(entry: &Entry) -> Self {
        match &entry.kind {
            EntryKind::Purged(purged) => purged.hash,
            _ => Self::of_bytes(EntryRecord::new(entry).to_json().as_bytes()),
        }
    }
}

impl RecordHash {
    /// The hash of these bytes, which are the record of an entry.
    pub fn of_bytes(record: &[u8]) -> Self {
        Self(blake3::hash(record))
    }

    /// A hash that was kept as bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(blake3::Hash::from_bytes(bytes))
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }
}

/// Reads 64 hex digits in lower case.
impl FromStr for RecordHash {
    type Err = InvalidHex;

    fn from_str(hex: &str) -> Result<Self, InvalidHex> {
        let is_lower = hex.bytes().all(|byte| !byte.is_ascii_uppercase());
        let hash = blake3::Hash::from_hex(hex).ok().filter(|_| is_lower);
        hash.map(Self).ok_or(InvalidHex::of_bytes(32))
    }
}

impl From<&Entry> for EntryDigest {
    /// The digest of an entry; of what was purged, the digest of what was there.
    fn from(entry: &Entry) -> Self {
        Self::with_record(entry).0
    }
}

impl EntryDigest {
    /// The digest of an entry, and the bytes of its record.
    pub fn with_record(entry: &Entry) -> (Self, Vec<u8>) {
        let (json, envelope) = record_and_envelope(entry, blake3::hash);
        let record = match &entry.kind {
            EntryKind::Purged(purged) => purged.hash,
            _ => RecordHash::of_bytes(&json),
        };
        (Self { envelope, record }, json)
    }

    /// The hash of the record.
    pub fn record(&self) -> RecordHash {
        self.record
    }
}

impl ChainLink {
    /// Before the first entry.
    pub const START: Self = Self(blake3::Hash::from_bytes([0; 32]));

    /// The link of the entry that follows: the hash of this link and of the two hashes of the digest.
    #[must_use]
    pub fn next(&self, entry: &EntryDigest) -> Self {
        let hashes = [self.0, entry.envelope, entry.record.0].map(|hash| *hash.as_bytes());
        Self(blake3::hash(hashes.as_flattened()))
    }

    /// A link that was kept as bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(blake3::Hash::from_bytes(bytes))
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }
}

/// 64 hex digits.
impl fmt::Display for RecordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// 64 hex digits.
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

    fn said() -> Entry {
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
        assert_eq!(link(&said()), link(&purged(&said())));
    }

    #[test]
    fn a_link_changes_with_everything_that_the_entry_says() {
        let other = |change: fn(&mut Entry)| {
            let mut entry = said();
            change(&mut entry);
            link(&entry)
        };
        let links = [
            link(&said()),
            other(|entry| entry.id = "x".into()),
            other(|entry| entry.parent_id = Some("x".into())),
            other(|entry| entry.timestamp = None),
            other(|entry| entry.run_id = None),
            other(|entry| entry.kind = EntryKind::TeamTask(TeamTask::set("the secreT"))),
            link(&said()).next(&EntryDigest::from(&said())),
        ];
        for (place, one) in links.iter().enumerate() {
            assert!(!links[..place].contains(one), "{place}");
        }
    }

    #[test]
    fn of_what_was_purged_the_chain_still_holds_id_type_and_time() {
        let mut moved = purged(&said());
        moved.timestamp = Some(Timestamp::from_millis(8));
        assert_ne!(link(&moved), link(&said()));
    }

    #[test]
    fn a_record_begins_with_what_always_shows() {
        let bare = NewEntry::new(EntryKind::Custom(None)).with_id("e-1".into());
        for entry in [said(), purged(&said()), bare] {
            let (digest, json) = EntryDigest::with_record(&entry);
            assert_eq!(str::from_utf8(&json).unwrap(), EntryRecord::new(&entry).to_json());
            assert_eq!(digest.record, RecordHash::from(&entry));
            let envelope = EnvelopeRecord(&entry).to_json();
            assert_eq!(digest.envelope, *blake3::hash(envelope.as_bytes()).as_bytes());
        }
    }

    #[test]
    fn a_hash_is_read_as_it_is_shown() {
        let hash = RecordHash::from(&said());
        assert_eq!(hash.to_string().parse::<RecordHash>().ok(), Some(hash));
        let upper = hash.to_string().to_uppercase();
        for wrong in ["", "12", upper.as_str()] {
            assert_eq!(wrong.parse::<RecordHash>().ok(), None, "{wrong}");
        }
    }
}
