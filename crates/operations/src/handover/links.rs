//! The sessions of agents to which a log is linked: those that were imported into it, and those that were written
//! from it.

use std::fmt::Write as _;

use tertulia_dialect::native::{NativeFormat, NativeOrigin, original_bytes};
use tertulia_session::json::{self, Json};
use tertulia_session::{Entry, EntryId, EntryIndex, EntryKind, Fields, NativeDirection, Timestamp};

/// A link to a session of an agent, up to the point to which it was imported or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The entry that records the link.
    pub entry: EntryId,
    pub format: NativeFormat,
    pub native_session_id: Box<str>,
    pub direction: NativeDirection,
    pub path: Option<Box<str>>,
    pub records: u64,
    pub bytes: u64,
    pub hash: Box<str>,
    pub last_record_id: Option<Box<str>>,
    /// The entry at which the log and the session have the same content.
    pub anchor: EntryId,
    pub timestamp: Option<Timestamp>,
    /// Digests of what was written. They identify it in a session that the agent has rewritten.
    pub written: Vec<u32>,
}

/// The name of the field that contains the digests.
const WRITTEN: &str = "writtenDigests";

/// Adds digests to the payload of a link.
pub(crate) fn add_digests(fields: &mut Fields, digests: &[u32]) {
    if digests.is_empty() {
        return;
    }
    let mut text = String::with_capacity(8 * digests.len());
    for digest in digests {
        // Writing into a string cannot fail.
        let _ = write!(text, "{digest:08x}");
    }
    fields.push(WRITTEN, Json::text(&text));
}

fn read_digests(fields: &Fields) -> Vec<u32> {
    let text = fields.get(WRITTEN).and_then(|json| json::text(json.raw()).ok()).unwrap_or_default();
    let digest = |digits: &[u8]| u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    text.as_bytes().chunks(8).filter_map(digest).collect()
}

impl Link {
    /// Returns the link that an entry records.
    pub fn of(entry: &Entry) -> Option<Self> {
        let EntryKind::NativeSession(native) = &entry.kind else { return None };
        Some(Self {
            entry: entry.id.clone(),
            format: native.agent.parse().ok()?,
            native_session_id: native.native_session_id.clone(),
            direction: native.direction,
            path: native.path.clone(),
            records: native.records,
            bytes: native.bytes,
            hash: native.hash.clone(),
            last_record_id: native.last_record_id.clone(),
            anchor: entry.parent_id.clone()?,
            timestamp: entry.timestamp.clone(),
            written: read_digests(&native.unknown),
        })
    }
}

/// A session of an agent as a source of entries.
#[derive(Debug)]
pub(super) struct Source {
    format: NativeFormat,
    /// The prefix of the ids of its entries. `None` for the session with which the log began.
    name: Option<String>,
    /// The prefixes of the ids of entries of other sessions.
    others: Vec<String>,
}

impl Source {
    pub(super) fn new(entries: &[Entry], link: &Link) -> Self {
        let all: Vec<Link> = entries.iter().filter_map(Link::of).collect();
        let origin = all.first().filter(|first| first.direction == NativeDirection::Imported);
        let is_same = |one: &Link| {
            (one.format, &one.native_session_id) == (link.format, &link.native_session_id)
        };
        let is_origin = origin.is_some_and(is_same);
        let others = all.iter().filter(|one| !is_same(one));
        Self {
            format: link.format,
            name: (!is_origin).then(|| name_in_front(link)),
            others: others.map(name_in_front).collect(),
        }
    }

    /// Returns whether the entry at this position was read from the session.
    pub(super) fn has(&self, entries: &[Entry], index: &EntryIndex, at: usize) -> bool {
        let Some(entry) = entries.get(at) else { return false };
        let id = entry.id.as_str();
        if let Some(name) = &self.name {
            return id.starts_with(name.as_str());
        }
        if self.others.iter().any(|name| id.starts_with(name.as_str())) {
            return false;
        }
        // The first entry of a record contains the text of the record.
        let first = id.rsplit_once('#').map_or(id, |(first, _)| first);
        let first = index.position(&EntryId::from(first)).and_then(|at| entries.get(at));
        let origin = first.and_then(NativeOrigin::of);
        origin.is_some_and(|origin| origin.format == self.format)
    }
}

/// Returns the bytes of the main file of an imported session. `None` if a part of it was redacted.
pub(super) fn bytes_of(entries: &[Entry], link: &Link) -> Option<Vec<u8>> {
    let index = EntryIndex::over(entries).ok()?;
    let source = Source::new(entries, link);
    let is_of_it = |at: &usize| source.has(entries, &index, *at);
    let positions = (0..entries.len()).filter(is_of_it);
    let bytes = original_bytes(positions.filter_map(|at| entries.get(at)), "");
    let mut bytes = bytes.filter(|bytes| !bytes.is_empty())?;
    // The agent wrote the last line break after its record was imported.
    if bytes.len() as u64 + 1 == link.bytes && !bytes.ends_with(b"\n") {
        bytes.push(b'\n');
    }
    Some(bytes)
}

/// Returns the prefix for the ids of entries from a session with which the log did not begin.
pub(crate) fn name_in_front(link: &Link) -> String {
    const DIGITS: usize = 12;
    let native: String = link.native_session_id.chars().take(DIGITS).collect();
    format!("{}-{native}/", link.format.as_str())
}

/// Returns the newest link of every session of an agent, oldest first.
pub fn links(entries: &[Entry]) -> Vec<Link> {
    let mut newest: Vec<Link> = Vec::new();
    for link in entries.iter().filter_map(Link::of) {
        newest.retain(|one| {
            (one.format, &one.native_session_id) != (link.format, &link.native_session_id)
        });
        newest.push(link);
    }
    newest
}
