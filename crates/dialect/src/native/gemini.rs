//! Sessions of Gemini CLI: a log whose records change a list of messages (`.jsonl`), and the documents of earlier
//! versions (`.json`). The transcript of a turn is read by this module too, see
//! [`crate::stream::gemini_transcript_text`].

mod calls;
mod document;
mod message;
mod tree;

use tertulia_session::json::{self, Kind, Object, RawValue};

use super::item::Item;
use super::reader::is_usable;
use super::{NativeFormat, ProblemKind, ReadSession};
use message::{GeminiMessage, MessageReader};
use tree::{Tree, non_message};

pub(super) use document::{is_document, split};
pub(super) use message::{FRONT, OPENING_ANSWER};

/// Reads the records of a session of Gemini CLI.
#[derive(Debug)]
pub(super) struct Reader {
    messages: MessageReader,
    tree: Tree,
    /// The session of the current records. A file of a sub-agent has its own.
    session: Option<Box<str>>,
}

impl Reader {
    pub(super) fn new() -> Self {
        let (messages, tree) = (MessageReader::new(), Tree::new(false));
        Self { messages, tree, session: None }
    }

    /// Reads a record. `place` is the id of its first entry if the record has no id.
    pub(super) fn read(&mut self, raw: &RawValue, place: &str, facts: &mut ReadSession) -> Item {
        let Ok(mut object) = Object::try_from(raw) else {
            let field = ProblemKind::Field { field: "the record" };
            return Item::non_message(NativeFormat::Gemini, None).with_problem(field);
        };
        if let Some(set) = object.take_some("$set") {
            return self.set(set, place, facts);
        }
        if let Some(id) = object.take_some("$rewindTo") {
            return self.tree.rewind(&json::words(id));
        }
        if is_header(&object) {
            return self.header(object, place, facts);
        }
        let mut message = self.message(&mut object, facts);
        let problem = message.problem.take();
        let own = message.id.take().filter(|id| is_usable(id));
        let mut item = self.tree.add_message(own.as_deref().unwrap_or(place), message);
        item.id = item.id.filter(|_| own.is_some());
        item.problem = problem;
        item
    }

    /// Reads a header. The header of another session begins the conversation of a sub-agent.
    fn header(&mut self, mut object: Object<'_>, place: &str, facts: &mut ReadSession) -> Item {
        let id: Option<Box<str>> = object.take_some("sessionId").map(|id| json::words(id).into());
        if self.session.is_some() && self.session != id {
            self.tree = Tree::new(true);
        }
        if facts.native_id.is_none() {
            facts.native_id.clone_from(&id);
        }
        self.session = id;
        let list = object.take_some("messages");
        if !self.tree.is_side {
            read_facts(|name| object.take_some(name), facts);
        }
        match list {
            Some(list) => self.replace(list, place, facts),
            None => non_message(""),
        }
    }

    fn set(&mut self, raw: &RawValue, place: &str, facts: &mut ReadSession) -> Item {
        let Ok(mut set) = Object::try_from(raw) else {
            return non_message("$set").with_problem(ProblemKind::Field { field: "$set" });
        };
        if !self.tree.is_side {
            read_facts(|name| set.take_some(name), facts);
        }
        match set.take_some("messages") {
            Some(list) => self.replace(list, place, facts),
            None => non_message("$set"),
        }
    }

    fn replace(&mut self, list: &RawValue, place: &str, facts: &mut ReadSession) -> Item {
        let Ok(list) = json::elements(list) else {
            return non_message("$set").with_problem(ProblemKind::Field { field: "messages" });
        };
        let mut problem = None;
        let mut read = |raw| {
            let object = Object::try_from(raw).ok();
            let mut message = object.map(|mut object| self.message(&mut object, facts));
            if let Some(message) = &mut message {
                problem = problem.take().or(message.problem.take());
            }
            message
        };
        let messages: Vec<GeminiMessage> = list.into_iter().filter_map(&mut read).collect();
        let time = messages.last().and_then(|message| message.timestamp.clone());
        let mut item = self.tree.replace(place, messages);
        (item.timestamp, item.problem) = (time, problem);
        item
    }

    fn message(&mut self, object: &mut Object<'_>, facts: &mut ReadSession) -> GeminiMessage {
        let mut message = self.messages.read(object);
        if !self.tree.is_side {
            if facts.folder.is_none() {
                facts.folder = message.folder.take();
            }
            if message.model.is_some() {
                facts.model.clone_from(&message.model);
            }
        }
        message
    }
}

/// Reads the data of the session from a header, a document or a change.
fn read_facts<'a>(mut field: impl FnMut(&str) -> Option<&'a RawValue>, facts: &mut ReadSession) {
    let is_text = |raw: &&RawValue| Kind::from(*raw) == Kind::String;
    if let Some(title) = field("summary").filter(is_text) {
        facts.title = Some(json::words(title).into());
    }
    let folders = field("directories").and_then(|raw| json::elements(raw).ok());
    if let Some(folder) = folders.unwrap_or_default().first().copied().filter(|raw| is_text(raw)) {
        facts.folder = Some(json::words(folder).into());
    }
}

fn is_header(object: &Object<'_>) -> bool {
    let has = |name: &str| object.names().any(|found| found == name);
    has("sessionId") && !has("type") && (has("projectHash") || has("kind"))
}

/// Returns whether a line is a record of Gemini CLI.
pub(super) fn is_record(object: &Object<'_>) -> bool {
    let has = |name: &str| object.names().any(|found| found == name);
    is_header(object) || has("$set") || has("$rewindTo")
}
