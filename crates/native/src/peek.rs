//! Reads the first and last bytes of a file to describe its session. This is fast enough for a list of thousands of
//! sessions.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use tertulia_dialect::native::{Layout, NativeFormat, NativeReader, Record, layout};
use tertulia_session::{Entry, Role, Timestamp};

use crate::read::open;
use crate::{FoundSession, NativeError, Place};

/// Number of bytes that are read at first.
const HEAD: usize = 16 << 10;
/// Maximum number of bytes at the start. Some agents begin a file with long instructions.
const HEAD_MAX: usize = 256 << 10;
/// Number of bytes at the end. A title may be near the end.
const TAIL: u64 = 8 << 10;
/// Maximum size of a document that is read for a list.
const DOCUMENT_MAX: u64 = 1 << 20;
const TITLE_CHARACTERS: usize = 80;

/// Returns the beginning of a file, enough to recognize its format.
pub(crate) fn beginning(path: &Path) -> Result<Vec<u8>, NativeError> {
    let mut start = Vec::new();
    let read = open(path)?.take(64 << 10).read_to_end(&mut start);
    read.map_err(|error| NativeError::new(path, error))?;
    Ok(start)
}

/// Returns the description of a file's session.
pub(crate) fn peek(path: &Path, format: NativeFormat) -> Result<FoundSession, NativeError> {
    let about = |error: std::io::Error| NativeError::new(path, error);
    let mut file = open(path)?;
    let status = file.metadata().map_err(about)?;
    let size = status.len();
    let mut head = Vec::new();
    (&mut file).take(HEAD as u64).read_to_end(&mut head).map_err(about)?;
    let mut found = Glance::default();
    if layout(format, &head) == Layout::Document {
        if size <= DOCUMENT_MAX {
            file.read_to_end(&mut head).map_err(about)?;
            found = Glance::of_document(format, &head);
        }
    } else {
        found = Glance::of_lines(format, &head);
        while found.title.is_none() && head.len() < HEAD_MAX && (head.len() as u64) < size {
            let more = 3 * head.len() as u64;
            let count = (&mut file).take(more).read_to_end(&mut head).map_err(about)?;
            if count == 0 {
                break;
            }
            found = Glance::of_lines(format, &head);
        }
        if size > head.len() as u64 {
            file.seek(SeekFrom::Start(size.saturating_sub(TAIL))).map_err(about)?;
            let mut tail = Vec::new();
            (&mut file).take(TAIL).read_to_end(&mut tail).map_err(about)?;
            // The first line is incomplete, so it is skipped.
            let start = memchr::memchr(b'\n', &tail).map_or(tail.len(), |at| at + 1);
            let end = Glance::of_lines(format, tail.get(start..).unwrap_or_default());
            found.own_title = end.own_title.or(found.own_title);
        }
    }
    let modified = status.modified().ok();
    let since = modified.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let millis = since.and_then(|since| i64::try_from(since.as_millis()).ok());
    Ok(FoundSession {
        format,
        native_id: found.native_id.unwrap_or_else(|| name_of(path)),
        folder: found.folder,
        title: found.own_title.or(found.title),
        started: found.started,
        updated: millis.map(Timestamp::from_millis),
        size: Some(size),
        side_files: Vec::new(),
        place: Place::File(path.to_owned()),
    })
}

/// The data of a session in one part of its file.
#[derive(Debug, Default)]
struct Glance {
    native_id: Option<String>,
    folder: Option<String>,
    /// The title that the agent wrote.
    own_title: Option<String>,
    /// The start of the first message of the user.
    title: Option<String>,
    started: Option<Timestamp>,
}

impl Glance {
    /// Reads the whole lines of a part of a file.
    fn of_lines(format: NativeFormat, part: &[u8]) -> Self {
        let mut reader = NativeReader::new(format);
        let mut entries = Vec::new();
        let mut title = None;
        for (line, number) in part.split_inclusive(|byte| *byte == b'\n').zip(1..) {
            let Some(bytes) = line.strip_suffix(b"\n") else { break };
            reader.read(Record { file: "", line: number, bytes, end: "\n" }, &mut entries);
            title = title.or_else(|| first_text(&entries));
            entries.clear();
            let known = reader.session();
            let is_all = known.native_id.is_some() && known.folder.is_some();
            // The loop does not wait for the title that the agent gave the session, because that is near the end of
            // the file.
            if title.is_some() && is_all && known.started.is_some() {
                break;
            }
        }
        Self::new(reader, title)
    }

    fn of_document(format: NativeFormat, text: &[u8]) -> Self {
        let mut reader = NativeReader::new(format);
        let mut entries = Vec::new();
        reader.read_document("", text, &mut entries);
        let title = first_text(&entries);
        Self::new(reader, title)
    }

    fn new(reader: NativeReader, title: Option<String>) -> Self {
        let session = reader.finish();
        Self {
            native_id: session.native_id.map(Into::into),
            folder: session.folder.map(Into::into),
            own_title: session.title.map(|title| one_line(&title)),
            title,
            started: session.started,
        }
    }
}

/// Returns the start of the first message of the user.
fn first_text(entries: &[Entry]) -> Option<String> {
    let of_user = entries.iter().filter_map(Entry::message);
    let mut texts = of_user
        .filter(|message| message.role == Some(Role::User))
        .map(|message| one_line(&message.text()));
    texts.find(|text| !text.is_empty())
}

/// Returns the beginning of a text on one line.
fn one_line(text: &str) -> String {
    let mut line = String::new();
    let mut count = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if count > 0 && count + length >= TITLE_CHARACTERS {
            return line + " …";
        }
        if count > 0 {
            line.push(' ');
        }
        line.extend(word.chars().take(TITLE_CHARACTERS));
        count += length + 1;
    }
    line
}

/// Returns the id of a session whose file does not contain it: the name of the file. If all files have the same name,
/// returns the name of the folder.
pub(crate) fn name_of(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let stem = stem.unwrap_or_default();
    let folder = path.parent().and_then(Path::file_name);
    match (&*stem, folder) {
        ("events" | "api_conversation_history" | ".aider.chat.history", Some(folder)) => {
            folder.to_string_lossy().into_owned()
        }
        _ => stem.trim_end_matches(".messages").to_owned(),
    }
}
