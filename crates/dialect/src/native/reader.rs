//! Turns the records of a native session into entries. Ids, parents and the kept text are the same for all formats.
//! The file of each format defines the content of a record.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};
use std::{mem, vec};

use tertulia_session::json::{self, RawValue};
use tertulia_session::{Entry, EntryId, EntryKind, NewEntry, Timestamp};

use super::item::{Item, Parent};
use super::lookups::{IdentityHasher, LastEntries};
use super::origin::meta_of;
use super::split::{Piece, pieces};
use super::{
    NativeFormat, ProblemKind, ReadProblem, Record, aider, claude, cline, codex, copilot, gemini,
    goose, opencode, pi,
};

/// Maximum length of a record's id that becomes the id of an entry.
const ID_BYTES_MAX: usize = 256;

/// Reads the records of one native session, one at a time, in the order of the files. Its memory grows by about 32
/// bytes for every record that another one may name.
///
/// ```
/// use tertulia_dialect::native::{NativeFormat, NativeReader, Record};
///
/// let line = br#"{"type":"user","uuid":"u-1","parentUuid":null,"sessionId":"s-1",
///     "message":{"role":"user","content":"Shall we start?"}}"#;
/// let mut reader = NativeReader::new(NativeFormat::Claude);
/// let mut entries = Vec::new();
/// reader.read(Record { file: "", line: 1, bytes: line, end: "\n" }, &mut entries);
/// assert_eq!(entries[0].id.as_str(), "u-1");
/// assert_eq!(reader.finish().native_id.as_deref(), Some("s-1"));
/// ```
#[derive(Debug)]
pub struct NativeReader {
    format: FormatReader,
    session: ReadSession,
    last: LastEntries,
    /// Hashes of the ids that were used, each with the number of further entries of the record.
    used: HashMap<u64, u32, BuildHasherDefault<IdentityHasher>>,
}

/// A document whose records are read one at a time; see [`NativeReader::open_document`].
#[derive(Debug)]
pub struct Document {
    pieces: vec::IntoIter<Piece>,
    count: usize,
    /// The number of pieces that were read.
    read: usize,
    /// The line at which the next piece begins.
    line: u64,
    is_text: bool,
    /// The id of the piece that is read, which keeps its memory for the next one.
    place: String,
}

/// The data of a session after its records were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadSession {
    pub format: NativeFormat,
    /// The id of the session in the agent's format.
    pub native_id: Option<Box<str>>,
    pub title: Option<Box<str>>,
    /// The folder in which the agent worked.
    pub folder: Option<Box<str>>,
    /// The model that answered last.
    pub model: Option<Box<str>>,
    /// The version of the agent that wrote the session.
    pub agent_version: Option<Box<str>>,
    /// The session from which this one was forked, or to which it belongs.
    pub parent_native_id: Option<Box<str>>,
    /// The time of the first record that has one.
    pub started: Option<Timestamp>,
    /// The time of the last record that has one.
    pub updated: Option<Timestamp>,
    pub records: u64,
    pub messages: u64,
    /// The last entry of the current branch.
    pub leaf: Option<EntryId>,
    /// The agent's id of the record from which this entry was read.
    pub leaf_record: Option<Box<str>>,
    /// The problems, in the order in which they were found.
    pub problems: Vec<ReadProblem>,
}

/// The readers of the formats, with their state between records.
#[derive(Debug)]
enum FormatReader {
    Claude(claude::Reader),
    Codex(codex::Reader),
    Gemini(Box<gemini::Reader>),
    Opencode(opencode::Reader),
    Copilot(copilot::Reader),
    Pi(pi::Reader),
    Goose(goose::Reader),
    Cline(cline::Reader),
    Aider(aider::Reader),
}

impl FormatReader {
    fn new(format: NativeFormat) -> Self {
        match format {
            NativeFormat::Claude => Self::Claude(claude::Reader::new()),
            NativeFormat::Codex => Self::Codex(codex::Reader::new()),
            NativeFormat::Gemini => Self::Gemini(Box::new(gemini::Reader::new())),
            NativeFormat::Opencode => Self::Opencode(opencode::Reader::new()),
            NativeFormat::Copilot => Self::Copilot(copilot::Reader::new()),
            NativeFormat::Pi => Self::Pi(pi::Reader::new()),
            NativeFormat::Goose => Self::Goose(goose::Reader::new()),
            NativeFormat::Cline => Self::Cline(cline::Reader::new()),
            NativeFormat::Aider => Self::Aider(aider::Reader::new()),
        }
    }

    /// Reads a record. `place` is the id of its first entry if the record has no id.
    fn read_json(&mut self, raw: &RawValue, place: &str, facts: &mut ReadSession) -> Item {
        match self {
            Self::Claude(reader) => reader.read(raw, facts),
            Self::Codex(reader) => reader.read(raw, place, facts),
            Self::Gemini(reader) => reader.read(raw, place, facts),
            Self::Opencode(reader) => reader.read(raw, facts),
            Self::Copilot(reader) => reader.read(raw, facts),
            Self::Pi(reader) => reader.read(raw, place, facts),
            Self::Goose(reader) => reader.read(raw, facts),
            Self::Cline(reader) => reader.read(raw, facts),
            // aider's format is not JSON; `read_text` reads it.
            Self::Aider(_) => Item::non_message(NativeFormat::Aider, None),
        }
    }

    /// Returns whether a record may name another one. If not, the ids of the records need not be remembered.
    fn has_references(&self) -> bool {
        !matches!(self, Self::Aider(_))
    }

    /// Reads a record of a format that is not JSON.
    fn read_text(&mut self, text: &str, facts: &mut ReadSession) -> Option<Item> {
        match self {
            Self::Aider(reader) => Some(reader.read(text, facts)),
            _ => None,
        }
    }
}

impl NativeReader {
    /// Creates a reader of one session.
    pub fn new(format: NativeFormat) -> Self {
        let session = ReadSession {
            format,
            native_id: None,
            title: None,
            folder: None,
            model: None,
            agent_version: None,
            parent_native_id: None,
            started: None,
            updated: None,
            records: 0,
            messages: 0,
            leaf: None,
            leaf_record: None,
            problems: Vec::new(),
        };
        let format = FormatReader::new(format);
        Self { format, session, last: LastEntries::default(), used: HashMap::default() }
    }

    /// Adds the entries of the next record. An incomplete record at the end of its file has no entries, because the
    /// agent is still writing it or was killed.
    pub fn read(&mut self, record: Record<'_>, entries: &mut Vec<Entry>) {
        let Ok(text) = std::str::from_utf8(record.bytes) else {
            let item =
                Item::non_message(self.session.format, None).with_problem(ProblemKind::NotUtf8);
            return self.push(record, None, &line_id(record.line), item, entries);
        };
        if let Some(item) = self.format.read_text(text, &mut self.session) {
            return self.push(record, Some(text), &line_id(record.line), item, entries);
        }
        if text.trim_start_matches('\u{feff}').trim().is_empty() {
            let item = Item::non_message(self.session.format, None);
            return self.push(record, Some(text), &line_id(record.line), item, entries);
        }
        match json::parse(text.trim_start_matches('\u{feff}')) {
            Ok(raw) => {
                let place = line_id(record.line);
                let item = self.format.read_json(raw, &in_file(record, &place), &mut self.session);
                self.push(record, Some(text), &place, item, entries);
            }
            Err(_) if self.read_several(record, text, entries) => {}
            Err(_) if record.end.is_empty() => self.problem(record, ProblemKind::Truncated),
            Err(cause) => {
                let item = Item::non_message(self.session.format, None);
                let item = item.with_problem(ProblemKind::Syntax(cause));
                self.push(record, Some(text), &line_id(record.line), item, entries);
            }
        }
    }

    /// Adds the entries of a file that is one document.
    pub fn read_document(&mut self, file: &str, bytes: &[u8], entries: &mut Vec<Entry>) {
        let mut document = self.open_document(bytes);
        while self.read_piece(file, bytes, &mut document, entries).is_some() {}
    }

    /// Splits a document into records, which [`Self::read_piece`] reads.
    pub fn open_document(&mut self, bytes: &[u8]) -> Document {
        let text = std::str::from_utf8(bytes);
        let pieces = match text {
            Ok(text) => pieces(self.session.format, text, &mut self.session),
            // The document is one record, which cannot be read.
            Err(_) => vec![Piece::without_record(0..bytes.len())],
        };
        let (count, pieces) = (pieces.len(), pieces.into_iter());
        Document { pieces, count, read: 0, line: 1, is_text: text.is_ok(), place: String::new() }
    }

    /// Adds the entries of the next record of a document with these bytes. Returns the number of bytes of the record;
    /// `None` after the last one.
    pub fn read_piece(
        &mut self,
        file: &str,
        bytes: &[u8],
        document: &mut Document,
        entries: &mut Vec<Entry>,
    ) -> Option<u64> {
        let piece = document.pieces.next()?;
        document.read += 1;
        let start = piece.range.start;
        let own = bytes.get(piece.range).unwrap_or_default();
        let record = Record { file, line: document.line, bytes: own, end: "" };
        document.line += memchr::memchr_iter(b'\n', own).count() as u64;
        let Some(text) = std::str::from_utf8(own).ok().filter(|_| document.is_text) else {
            self.read(record, entries);
            return Some(own.len() as u64);
        };
        let is_last = document.read == document.count;
        let place = &mut document.place;
        place.clear();
        let _ = match piece.value {
            // The number of the end changes when the document grows, so it is not used.
            None if is_last && document.read > 1 => place.write_str("piece-end"),
            _ => write!(place, "piece-{}", document.read),
        };
        // The value may begin with the line break before the piece.
        let value = piece.value.and_then(|value| match value.start.checked_sub(start) {
            Some(first) => text.get(first..value.end.saturating_sub(start)),
            None => std::str::from_utf8(bytes.get(value)?).ok(),
        });
        let item = value.map(|value| self.read_value(value, record, place));
        let item = item.unwrap_or_else(|| Item::non_message(self.session.format, None));
        self.push(record, Some(text), place, item, entries);
        Some(own.len() as u64)
    }

    /// Adds a problem that was found before a record could be read.
    pub fn report(&mut self, problem: ReadProblem) {
        self.session.problems.push(problem);
    }

    /// Returns the data of the session.
    pub fn finish(self) -> ReadSession {
        self.session
    }

    /// Returns the data of the session that were read so far.
    pub fn session(&self) -> &ReadSession {
        &self.session
    }

    /// Removes and returns the problems, so that a long session does not collect them.
    pub fn take_problems(&mut self) -> Vec<ReadProblem> {
        self.session.take_problems()
    }

    /// Reads the record of a piece of a document.
    fn read_value(&mut self, text: &str, record: Record<'_>, place: &str) -> Item {
        if let Some(item) = self.format.read_text(text, &mut self.session) {
            return item;
        }
        match json::parse(text) {
            Ok(raw) => self.format.read_json(raw, &in_file(record, place), &mut self.session),
            Err(cause) => {
                let item = Item::non_message(self.session.format, None);
                item.with_problem(ProblemKind::Syntax(cause))
            }
        }
    }

    /// Reads the line if it contains several values because a line break was lost. Returns whether it does.
    fn read_several(&mut self, record: Record<'_>, text: &str, entries: &mut Vec<Entry>) -> bool {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
        let mut found = Vec::new();
        let mut start = 0;
        while let Some(Ok(raw)) = values.next() {
            let end = values.byte_offset();
            found.push((start..end, raw));
            start = end;
        }
        if found.len() < 2 || !text.get(start..).unwrap_or_default().trim().is_empty() {
            return false;
        }
        let last = found.len() - 1;
        for (at, (range, raw)) in found.into_iter().enumerate() {
            let (range, end) = if at == last {
                (range.start..record.bytes.len(), record.end)
            } else {
                (range, "")
            };
            let bytes = record.bytes.get(range).unwrap_or_default();
            let id = match at {
                0 => line_id(record.line),
                at => format!("{}.{}", line_id(record.line), at + 1),
            };
            let item = self.format.read_json(raw, &in_file(record, &id), &mut self.session);
            self.push(Record { bytes, end, ..record }, None, &id, item, entries);
        }
        true
    }

    /// Adds the entries of an item. `text` is the text of the record if it is known to be valid. `place` is the id if the
    /// record has none.
    fn push(
        &mut self,
        record: Record<'_>,
        text: Option<&str>,
        place: &str,
        mut item: Item,
        entries: &mut Vec<Entry>,
    ) {
        if let Some(problem) = item.problem.take() {
            self.problem(record, problem);
        }
        self.session.records += 1;
        let kinds = std::iter::once(&item.kind).chain(&item.more);
        let messages = kinds.filter(|kind| matches!(kind, EntryKind::Message(_)));
        self.session.messages += messages.count() as u64;
        if item.timestamp.is_some() {
            self.session.started = self.session.started.take().or(item.timestamp.clone());
            self.session.updated.clone_from(&item.timestamp);
        }
        let own = item.id.take().filter(|id| is_usable(id));
        let parent = self.parent(record, &item.parent);
        let id = self.id(record, place, own.as_deref());
        let more = u32::try_from(item.more.len()).unwrap_or(u32::MAX);
        if self.format.has_references() {
            self.used.insert(hash(id.as_str()), more);
        }
        let mut last = id.clone();
        let mut first = NewEntry::new(item.kind);
        (first.parent_id, first.timestamp) = (parent, item.timestamp.clone());
        first.meta = meta_of(self.session.format, record, text);
        entries.push(first.with_id(id.clone()));
        for (kind, number) in item.more.into_iter().zip(1..=more) {
            let mut entry = NewEntry::new(kind).with_parent(last);
            entry.timestamp.clone_from(&item.timestamp);
            last = further_id(&id, number);
            entries.push(entry.with_id(last.clone()));
        }
        if item.parent == Parent::Outside || item.is_side {
            return;
        }
        let file = self.conversation(record);
        if file.is_empty() {
            self.session.leaf = Some(last.clone());
            self.session.leaf_record = own;
        }
        self.last.set(file, last);
    }

    /// Returns the file whose conversation a record continues. opencode's first storage has a file for every message,
    /// and all of them form one conversation.
    fn conversation<'a>(&self, record: Record<'a>) -> &'a str {
        if self.session.format == NativeFormat::Opencode { "" } else { record.file }
    }

    /// Returns the id of the first entry of a record.
    fn id(&mut self, record: Record<'_>, place: &str, own: Option<&str>) -> EntryId {
        if let Some(own) = own {
            let id = EntryId::from(own);
            if !self.used.contains_key(&hash(id.as_str())) {
                return id;
            }
            self.problem(record, ProblemKind::IdRepeated { id: own.into() });
        }
        EntryId::from(&*in_file(record, place))
    }

    fn parent(&mut self, record: Record<'_>, parent: &Parent) -> Option<EntryId> {
        let last = self.last.get(self.conversation(record));
        match parent {
            Parent::Root => None,
            Parent::Previous => last.cloned(),
            // If the file has no conversation yet, the record follows the main one.
            Parent::Outside => last.or(self.last.main.as_ref()).cloned(),
            Parent::Id(id) => match self.used.get(&hash(id)) {
                Some(0) => Some(EntryId::from(&**id)),
                Some(more) => Some(further_id(&EntryId::from(&**id), *more)),
                None if self.is_further_id(id) => Some(EntryId::from(&**id)),
                None => {
                    let last = last.cloned();
                    self.problem(record, ProblemKind::ParentMissing { parent: id.clone() });
                    last
                }
            },
        }
    }

    /// Returns whether this is the id of a further entry of a record.
    fn is_further_id(&self, id: &str) -> bool {
        let found = id.rsplit_once('#').and_then(|(first, number)| {
            let number: u32 = number.parse().ok()?;
            Some((1..=*self.used.get(&hash(first))?).contains(&number))
        });
        found.unwrap_or(false)
    }

    fn problem(&mut self, record: Record<'_>, kind: ProblemKind) {
        // The piece begins with the text between it and the previous piece.
        let is_between = |byte: &&u8| byte.is_ascii_whitespace() || **byte == b',';
        let before = record.bytes.iter().take_while(is_between);
        let line = record.line + before.filter(|byte| **byte == b'\n').count() as u64;
        self.session.problems.push(ReadProblem { file: record.file.into(), line, kind });
    }
}

/// Returns the id of an entry at this position of its file.
fn in_file<'a>(record: Record<'_>, place: &'a str) -> Cow<'a, str> {
    match record.file {
        "" => place.into(),
        file => format!("{file}/{place}").into(),
    }
}

/// Returns the id of an entry whose record has none: the number of its line, which does not change when the file
/// grows.
fn line_id(line: u64) -> String {
    format!("line-{line}")
}

/// Returns the id of a further entry of a record.
fn further_id(first: &EntryId, number: u32) -> EntryId {
    format!("{first}#{number}").into()
}

/// Returns a hash that is the same in every process.
pub(super) fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    // A collision is possible only with ids that were made for it.
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Returns whether the id of a record can be the id of its entry. It must be printable and easy to type, and must
/// differ from the ids that this module creates.
pub(super) fn is_usable(id: &str) -> bool {
    let is_given = ["line-", "piece-"].iter().any(|given| id.starts_with(given));
    let is_plain = |c: char| !c.is_control() && !c.is_whitespace() && c != '#';
    !id.is_empty() && id.len() <= ID_BYTES_MAX && !is_given && id.chars().all(is_plain)
}

impl ReadSession {
    /// Removes and returns the problems, so that a long session does not collect them.
    pub fn take_problems(&mut self) -> Vec<ReadProblem> {
        mem::take(&mut self.problems)
    }
}
