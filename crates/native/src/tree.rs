//! The files of opencode's first storage: `session/PROJECT/ID.json`, `message/SESSION/ID.json` and `part/MESSAGE/ID.json`,
//! each a record. Early versions had all parts in `part/ID.json`.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use tertulia_dialect::native::{NativeFormat, NativeReader};
use tertulia_session::Timestamp;
use tertulia_session::json::{self, Object};

use crate::places::collect;
use crate::read::open;
use crate::{FoundSession, NativeError, Place};

/// The file of a session, message or part has more bytes only if it is none.
const HEAD_MAX: u64 = 16 << 20;

/// A file of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeFile {
    /// The name within the storage; empty for the session itself.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// Whether it belongs to the session of a sub-agent.
    pub(crate) is_side: bool,
    /// Whether it belongs to the last message, and that is an answer that opencode still writes.
    pub(crate) is_unfinished: bool,
}

/// Returns the storage of a file that is a session in it.
pub(crate) fn storage_of(path: &Path) -> Option<&Path> {
    let sessions = path.parent()?.parent()?;
    let storage = sessions.parent()?;
    let is_session = sessions.file_name().is_some_and(|name| name == "session")
        && path.extension().is_some_and(|kind| kind == "json");
    (is_session && storage.join("message").is_dir()).then_some(storage)
}

/// Returns whether a file is a message or a part in such a storage.
pub(crate) fn is_piece(path: &Path) -> bool {
    path.ancestors().skip(1).take(2).any(|folder| {
        let is_kind = folder.file_name().is_some_and(|name| name == "message" || name == "part");
        is_kind && folder.with_file_name("session").is_dir()
    })
}

/// Returns whether a file is the session of a sub-agent: its files follow those of its session.
pub(crate) fn is_sub_agent(path: &Path) -> bool {
    let parent = field(path, "parentID").map(|id| path.with_file_name(id + ".json"));
    storage_of(path).is_some() && parent.is_some_and(|parent| parent != path && parent.is_file())
}

/// Returns what the file of a session says about it.
pub(crate) fn peek(path: &Path) -> Result<FoundSession, NativeError> {
    let about = |error: std::io::Error| NativeError::new(path, error);
    let mut file = open(path)?;
    let changed = file.metadata().and_then(|status| status.modified()).map_err(about)?;
    let mut text = Vec::new();
    Read::take(&mut file, HEAD_MAX).read_to_end(&mut text).map_err(about)?;
    let mut reader = NativeReader::new(NativeFormat::Opencode);
    reader.read_document("", &text, &mut Vec::new());
    let session = reader.finish();
    let changed = changed.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    Ok(FoundSession {
        format: NativeFormat::Opencode,
        native_id: session.native_id.map_or_else(|| crate::peek::name_of(path), Into::into),
        folder: session.folder.map(Into::into),
        title: session.title.map(Into::into).filter(|title: &String| !title.is_empty()),
        started: session.started,
        updated: i64::try_from(changed).ok().map(Timestamp::from_millis),
        // The file of the session does not grow with it.
        size: None,
        side_files: Vec::new(),
        place: Place::File(path.to_owned()),
    })
}

/// Returns the files of a session in the order of the conversation, then those of its sub-agents.
pub(crate) fn files(storage: &Path, path: &Path) -> VecDeque<TreeFile> {
    let flat = flat_parts(storage);
    let mut found = VecDeque::new();
    let mut waiting = VecDeque::from([path.to_owned()]);
    // Two sessions that name each other as their parent would never end.
    let mut seen = HashSet::new();
    while let Some(session) = waiting.pop_front() {
        if !seen.insert(session.clone()) {
            continue;
        }
        let is_side = session != path;
        let Some(id) = field(&session, "id") else { continue };
        let name = if is_side { name_in(storage, &session) } else { String::new() };
        let file = TreeFile { name, path: session.clone(), is_side, is_unfinished: false };
        found.push_back(file);
        let messages = messages(&storage.join("message").join(&id));
        let last = messages.len();
        for (message, number) in messages.into_iter().zip(1..) {
            let is_unfinished = number == last && message.is_unfinished;
            let parts = parts(storage, &flat, &message.id);
            found.extend(std::iter::once(message.path).chain(parts).map(|path| TreeFile {
                name: name_in(storage, &path),
                path,
                is_side,
                is_unfinished,
            }));
        }
        waiting.extend(children(&session, &id));
    }
    found
}

struct MessageFile {
    created: u64,
    id: String,
    path: PathBuf,
    is_unfinished: bool,
}

/// Returns the messages of a session, in the order of opencode.
fn messages(folder: &Path) -> Vec<MessageFile> {
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).ok()?;
        let mut message = Object::try_from(json::parse(&text).ok()?).ok()?;
        let id = message.take_text("id").ok()??;
        let time = message.take_some("time").and_then(|raw| Object::try_from(raw).ok());
        let created = time.and_then(|mut time| json::whole_number(time.take("created")?).ok());
        let is_unfinished = is_unfinished_answer(&text);
        Some(MessageFile { created: created.unwrap_or_default(), id, path, is_unfinished })
    };
    let mut found: Vec<MessageFile> = json_files(folder).into_iter().filter_map(read).collect();
    found.sort_by(|one, other| (one.created, &one.id).cmp(&(other.created, &other.id)));
    found
}

/// Returns the parts of a message, in the order of their ids.
fn parts(storage: &Path, flat: &HashMap<String, Vec<PathBuf>>, message: &str) -> Vec<PathBuf> {
    let mut files = json_files(&storage.join("part").join(message));
    files.extend(flat.get(message).into_iter().flatten().cloned());
    files
}

/// Returns the parts that are not in folders of messages, by the message.
fn flat_parts(storage: &Path) -> HashMap<String, Vec<PathBuf>> {
    let mut parts: HashMap<String, Vec<PathBuf>> = HashMap::new();
    for path in json_files(&storage.join("part")) {
        if let Some(message) = field(&path, "messageID") {
            parts.entry(message).or_default().push(path);
        }
    }
    parts
}

/// Returns the sessions of the same project that a session started.
fn children(session: &Path, id: &str) -> Vec<PathBuf> {
    let files = session.parent().map(json_files).unwrap_or_default();
    files.into_iter().filter(|file| field(file, "parentID").as_deref() == Some(id)).collect()
}

fn json_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    collect(folder, 0, &|name| name.ends_with(".json"), &mut files);
    files.sort();
    files
}

/// Returns a text field of a file.
fn field(path: &Path, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Object::try_from(json::parse(&text).ok()?).ok()?.take_text(name).ok()?
}

fn name_in(storage: &Path, path: &Path) -> String {
    path.strip_prefix(storage).unwrap_or(path).to_string_lossy().into_owned()
}

/// Returns whether a message of opencode is an answer that it still writes.
pub(crate) fn is_unfinished_answer(message: &str) -> bool {
    let fields = json::parse(message).ok().and_then(|raw| Object::try_from(raw).ok());
    fields.is_some_and(|mut fields| {
        let is_answer =
            fields.take_text("role").is_ok_and(|role| role.as_deref() == Some("assistant"));
        let time = fields.take_some("time").and_then(|raw| Object::try_from(raw).ok());
        let is_complete = time.is_some_and(|mut time| time.take_some("completed").is_some());
        is_answer && !is_complete && fields.take_some("error").is_none()
    })
}
