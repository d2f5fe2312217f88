//! The storage form of an entry, shared by all stores: the exact bytes of its record, hashes, and
//! derived columns for queries. Pure; the stores call it when they write and read.

use tertulia_session::json;
use tertulia_session::record::{EntryRecord, read_entry};
use tertulia_session::{
    ChainLink, Entry, EntryDigest, EntryId, EntryKind, Fields, Purged, RecordHash, Timestamp,
};

use crate::model::{Damage, NewRecord, Seq, StoredEntry, TokenCount};
use crate::{Problem, SessionId, StoreError};

/// The maximum size of a record that is never compressed. A larger one is compressed if that makes it smaller.
const PLAIN_BYTES_MAX: usize = 4096;
/// The maximum size of a record.
pub(crate) const RECORD_BYTES_MAX: usize = 256 << 20;
/// The decompressed size that is always allowed. A larger record may be at most `EXPANDED_TIMES` the size of its
/// compressed form, so that a file of a few kilobytes cannot expand to gigabytes.
const EXPANDED_BYTES: usize = 16 << 20;
const EXPANDED_TIMES: usize = 16;
/// The maximum size of a record of an earlier version that is rewritten.
const EARLIER_BYTES_MAX: usize = 64 << 20;
/// The maximum length of an id.
const ID_BYTES_MAX: usize = 1024;
/// The compression level: fast, with almost the best ratio for texts of a few kilobytes.
const LEVEL: i32 = 3;

/// A row of the entry table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) seq: Seq,
    pub(crate) parent: Option<Seq>,
    pub(crate) stored_at: i64,
    pub(crate) link: ChainLink,
    pub(crate) record: Record,
}

/// The part of a row that does not depend on its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) id: EntryId,
    pub(crate) type_name: Box<str>,
    pub(crate) time: Option<i64>,
    pub(crate) speaker: Option<Speaker>,
    /// The size of the record before compression.
    pub(crate) bytes: u64,
    pub(crate) count: Option<TokenCount>,
    pub(crate) encoding: Encoding,
    pub(crate) body: Vec<u8>,
    /// The hash of the record; for a purged entry, that of the original record.
    pub(crate) hash: RecordHash,
}

/// The speaker of a message, for filters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Speaker {
    pub(crate) id: Box<str>,
    pub(crate) name: Option<Box<str>>,
}

/// The encoding of a record's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Plain,
    Zstd,
    /// The rest of a record after a redaction; the hash is that of the original record.
    Purged,
}

/// An entry to append: everything that can be computed before its position is known.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) record: Record,
    pub(crate) parent_id: Option<EntryId>,
    pub(crate) digest: EntryDigest,
    /// The target, if the entry is a redaction.
    pub(crate) redacts: Option<EntryId>,
}

impl Encoding {
    /// Returns the number stored in the table.
    pub(crate) fn code(self) -> i16 {
        match self {
            Self::Plain => 0,
            Self::Zstd => 1,
            Self::Purged => 2,
        }
    }

    pub(crate) fn from_code(code: i64) -> Option<Self> {
        [Self::Plain, Self::Zstd, Self::Purged]
            .into_iter()
            .find(|one| i64::from(one.code()) == code)
    }
}

impl Prepared {
    /// Serialises, hashes and compresses an entry. This runs on the appending thread.
    pub(crate) fn new(session: &SessionId, new: &NewRecord) -> Result<Self, StoreError> {
        let NewRecord { entry, count } = new;
        let (digest, json) = EntryDigest::with_record(entry);
        check_size(entry, &json).map_err(|problem| StoreError::not_stored(session, problem))?;
        let redacts = match &entry.kind {
            EntryKind::Redaction(redaction) => Some(redaction.target_id.clone()),
            _ => None,
        };
        let bytes = json.len() as u64;
        let (encoding, body) = match entry.is_purged() {
            true => (Encoding::Purged, with_own_hash(json)),
            false => compressed(json),
        };
        let record = Record {
            type_name: entry.kind.shown_type_name().into(),
            time: entry.timestamp.as_ref().map(Timestamp::millis),
            speaker: speaker(entry),
            id: entry.id.clone(),
            bytes,
            count: count.clone(),
            encoding,
            body,
            hash: digest.record(),
        };
        Ok(Self { record, parent_id: entry.parent_id.clone(), digest, redacts })
    }
}

fn check_size(entry: &Entry, json: &[u8]) -> Result<(), Problem> {
    let id = entry.id.as_str();
    let bad = |reason: String| {
        let entry = id.chars().take(80).collect();
        Err(Problem::BadEntry { entry, reason })
    };
    if id.is_empty() || id.len() > ID_BYTES_MAX {
        return bad(format!("must have an id of 1 to {ID_BYTES_MAX} bytes; it has {}", id.len()));
    }
    if id.contains('\0') {
        return bad("must have an id without NUL characters".to_owned());
    }
    if json.len() > RECORD_BYTES_MAX {
        let size = json.len();
        return bad(format!("has {size} bytes; at most {RECORD_BYTES_MAX} are allowed; split it"));
    }
    Ok(())
}

fn compressed(json: Vec<u8>) -> (Encoding, Vec<u8>) {
    if json.len() <= PLAIN_BYTES_MAX {
        return (Encoding::Plain, json);
    }
    match zstd::bulk::compress(&json, LEVEL) {
        Ok(mut small) if small.len() < json.len() && json.len() <= expanded_max(&small) => {
            // The buffer was sized for incompressible data. The record may wait in a queue, so unused memory is
            // released.
            small.shrink_to_fit();
            (Encoding::Zstd, small)
        }
        _ => (Encoding::Plain, json),
    }
}

/// Returns the maximum decompressed size of a compressed record.
fn expanded_max(compressed: &[u8]) -> usize {
    let times = compressed.len().saturating_mul(EXPANDED_TIMES);
    EXPANDED_BYTES.max(times).min(RECORD_BYTES_MAX)
}

/// Returns the decompressed bytes of a record that an earlier version compressed beyond the current limit; `None`
/// for any other record.
pub(crate) fn over_compressed(bytes: u64, body: &[u8]) -> Option<Vec<u8>> {
    let size = usize::try_from(bytes).ok().filter(|size| *size <= EARLIER_BYTES_MAX)?;
    (size > expanded_max(body)).then(|| zstd::bulk::decompress(body, size).ok())?
}

/// Appends the hash of a purged record to the record itself, because the hash column keeps the hash of the original
/// record.
fn with_own_hash(mut json: Vec<u8>) -> Vec<u8> {
    let hash = RecordHash::new(&json);
    json.extend_from_slice(hash.as_bytes());
    json
}

fn check_own_hash(body: &[u8]) -> Result<Vec<u8>, String> {
    match body.split_last_chunk::<32>() {
        Some((json, hash)) if RecordHash::new(json).as_bytes() == hash => Ok(json.to_vec()),
        _ => Err("its remaining fields do not match the stored hash".to_owned()),
    }
}

fn speaker(entry: &Entry) -> Option<Speaker> {
    let EntryKind::Message(message) = &entry.kind else { return None };
    if let Some(speaker) = &message.speaker {
        let name = Some(speaker.role_name.clone()).filter(|name| *name != speaker.role_id);
        return Some(Speaker { id: speaker.role_id.clone(), name });
    }
    message.role.map(|role| Speaker { id: role.as_str().into(), name: None })
}

impl Record {
    /// Returns the bytes of the record, checked against their hash.
    pub(crate) fn json(&self) -> Result<Vec<u8>, String> {
        let json = match self.encoding {
            Encoding::Plain => self.body.clone(),
            Encoding::Purged => return check_own_hash(&self.body),
            Encoding::Zstd => {
                let size = usize::try_from(self.bytes).unwrap_or(usize::MAX);
                let max = expanded_max(&self.body);
                if size > max {
                    return Err(format!(
                        "it would expand to {size} bytes from {}; at most {max} are allowed",
                        self.body.len()
                    ));
                }
                zstd::bulk::decompress(&self.body, size)
                    .map_err(|error| format!("its record cannot be decompressed ({error})"))?
            }
        };
        if RecordHash::new(&json) != self.hash {
            return Err("its record does not match the stored hash".to_owned());
        }
        Ok(json)
    }

    /// Decodes the entry; the error describes the damage.
    pub(crate) fn entry(&self) -> Result<Entry, String> {
        let json = self.json()?;
        let text = str::from_utf8(&json).map_err(|_| "its record is not UTF-8".to_owned())?;
        let raw = json::parse(text).map_err(|error| format!("its record is not JSON ({error})"))?;
        let entry =
            read_entry(raw).map_err(|error| format!("its record is not an entry ({error})"))?;
        self.check_columns(&entry, json.len())?;
        Ok(entry)
    }

    /// Checks the columns. They are derived from the record, so this detects changes to them.
    fn check_columns(&self, entry: &Entry, bytes: usize) -> Result<(), String> {
        let is_purged = match &entry.kind {
            EntryKind::Purged(purged) if purged.hash != self.hash => {
                return Err("the hash of its purged record is not the stored one".to_owned());
            }
            EntryKind::Purged(_) => true,
            _ => false,
        };
        let fits = [
            ("id", entry.id == self.id),
            ("type", entry.kind.shown_type_name() == &*self.type_name),
            ("time", entry.timestamp.as_ref().map(Timestamp::millis) == self.time),
            ("speaker", speaker(entry) == self.speaker),
            ("size", bytes as u64 == self.bytes),
            ("encoding", is_purged == (self.encoding == Encoding::Purged)),
        ];
        match fits.into_iter().find(|(_, fits)| !fits) {
            Some((column, _)) => Err(format!("its column {column} differs from its record")),
            None => Ok(()),
        }
    }

    /// Builds an entry from the columns alone, for a record that cannot be read.
    pub(crate) fn shell(&self, parent: Option<&EntryId>) -> Entry {
        Entry {
            id: self.id.clone(),
            parent_id: parent.cloned(),
            kind: EntryKind::Custom(None),
            timestamp: self.time.map(Timestamp::from_millis),
            run_id: None,
            meta: None,
            salt: None,
            unknown: Fields::NONE,
        }
    }

    /// Returns the record that remains after this redaction removed the content.
    pub(crate) fn purged(&self, entry: &Entry, by: &EntryId) -> Self {
        let kind = EntryKind::Purged(Purged {
            type_name: self.type_name.clone(),
            hash: self.hash,
            by: by.clone(),
            unknown: Fields::NONE,
        });
        let left = Entry {
            id: entry.id.clone(),
            parent_id: entry.parent_id.clone(),
            kind,
            timestamp: entry.timestamp.clone(),
            run_id: None,
            meta: None,
            salt: None,
            unknown: Fields::NONE,
        };
        let json = EntryRecord::new(&left).to_json();
        Self {
            id: self.id.clone(),
            type_name: self.type_name.clone(),
            time: self.time,
            speaker: None,
            bytes: json.len() as u64,
            count: None,
            encoding: Encoding::Purged,
            body: with_own_hash(json.into_bytes()),
            hash: self.hash,
        }
    }
}

/// The type of usage entries.
pub(crate) const USAGE: &str = "usage";

impl Row {
    /// Returns the time of the entry, or if it has none, the time when it was stored.
    pub(crate) fn time(&self) -> i64 {
        self.record.time.unwrap_or(self.stored_at)
    }

    /// Decodes the stored entry; the error names its number.
    pub(crate) fn decode(self) -> Result<StoredEntry, Damage> {
        let entry = match self.record.entry() {
            Ok(entry) => entry,
            Err(reason) => return Err(self.damage(reason)),
        };
        Ok(StoredEntry {
            seq: self.seq,
            parent: self.parent,
            entry,
            bytes: self.record.bytes,
            count: self.record.count,
            stored_at: Timestamp::from_millis(self.stored_at),
            link: self.link,
        })
    }

    pub(crate) fn damage(&self, reason: String) -> Damage {
        Damage { seq: self.seq, entry: Some(self.record.id.clone()), reason }
    }
}

impl Damage {
    /// Turns the damage into the error of an unreadable session.
    pub(crate) fn into_error(self, session: &SessionId) -> StoreError {
        let Self { seq, entry, reason } = self;
        StoreError::unreadable(session, Problem::Damaged { seq, entry, reason })
    }
}
