//! Sessions of opencode. Their records come from three sources, and are read in the same way:
//!
//! - The document of `opencode export`, `{info, messages: [{info, parts}]}`. Its pieces are the session, every
//!   message without its parts, and every part.
//! - The rows of `opencode.db`, one per line: `{"table":"message","row":{"id":…,"data":{…}}}`. `row` contains the
//!   columns by name. A column with JSON may contain the JSON or its text. The first row is that of the session. Every
//!   message follows, ordered by `time_created` and `id`, each with its parts ordered by `id`. Then the sessions whose
//!   `parent_id` is this session follow in the same way. Rows of other tables may come last.
//! - The files of the first storage: `session/…`, `message/…` and `part/…`, in this order. Each is a record.
//!
//! Every part becomes an entry, because all three sources store parts separately. So the ids do not depend on the
//! source, and an answer grows by one part at a time. A call and its result are one part, so they are one entry too.
//! opencode changes a part while its tool runs, and a message until it is answered. A program that follows a session
//! should therefore pass a message only when `time.completed` is set. It must not pass a row again whose only change
//! is bookkeeping.
//!
//! A compaction is a message of the user with the part `compaction` and an answer with `summary: true`.
//! `tail_start_id` names the first message before it that is still sent. An answer with an error is no longer sent.
//! It is outside the conversation, and so are reverted messages (`revert`).

mod document;
mod part;
mod source;

use std::collections::HashMap;

use tertulia_session::json::{Object, RawValue};
use tertulia_session::{EntryKind, Fields, ModelChange, Timestamp};

use super::fields::{take_flag, take_millis, take_object, take_text, take_word};
use super::item::{Item, Parent, Speakers};
use super::reader::hash;
use super::write::NO_MODEL;
use super::{NativeFormat, ProblemKind, ReadSession};
use source::{Ids, Source};

pub(super) use document::{is_document, split};
pub(super) use source::is_record;

/// Reads the records of a session of opencode. Keeps about 16 bytes for every message.
#[derive(Debug)]
pub(super) struct Reader {
    speakers: Speakers,
    model: Option<Box<str>>,
    /// The messages, by the hash of their id.
    messages: HashMap<u64, Head>,
    /// The last message, to which a part without `messageID` belongs.
    current: Option<Head>,
    /// The creation time of the last message.
    created: Option<Timestamp>,
    /// The first message before the last compaction that is still sent.
    tail: Option<Box<str>>,
    /// The last record of every session of a sub-agent, or the part that started it.
    sides: HashMap<Box<str>, Box<str>>,
    revert: Revert,
}

/// The data of a message that its parts need.
#[derive(Clone, Copy, Debug)]
struct Head {
    is_user: bool,
    /// Whether it is the summary of a compaction.
    is_summary: bool,
    /// Whether it ended with an error. Then it is not sent.
    is_failed: bool,
}

/// The reverted part of the session: everything from a message or part on.
#[derive(Debug)]
enum Revert {
    None,
    From(Box<str>),
    Reached,
}

impl Reader {
    pub(super) fn new() -> Self {
        Self {
            speakers: Speakers::new(NativeFormat::Opencode),
            model: None,
            messages: HashMap::new(),
            current: None,
            created: None,
            tail: None,
            sides: HashMap::new(),
            revert: Revert::None,
        }
    }

    pub(super) fn read(&mut self, raw: &RawValue, facts: &mut ReadSession) -> Item {
        let Ok(object) = Object::try_from(raw) else {
            return non_message(None).with_problem(ProblemKind::Field { field: "the record" });
        };
        source::read(object, |source| match source {
            Source::Session(ids, object) => self.session(ids, object, facts),
            Source::Message(ids, object) => self.message(ids, object, facts),
            Source::Part(ids, object) => self.part(ids, object, facts),
            Source::Table(name) => non_message(Some(name)),
            Source::Unknown(field) => non_message(None).with_problem(ProblemKind::Field { field }),
        })
    }

    fn session(&mut self, ids: Ids, mut object: Object<'_>, facts: &mut ReadSession) -> Item {
        let mut item = non_message(Some("session"));
        let time = take_object(&mut object, "time");
        item.timestamp =
            time.and_then(|mut time| take_millis(&mut time, "created")).or(ids.created);
        item.id.clone_from(&ids.id);
        let parent = take_word(&mut object, "parentID").or(take_word(&mut object, "parent_id"));
        if facts.native_id.is_some() && facts.native_id != ids.id {
            if let Some(id) = ids.id {
                item.parent = self.sides.get(&id).cloned().map_or(Parent::Root, Parent::Id);
                item.is_side = true;
                self.sides.insert(id.clone(), id);
            }
            return item;
        }
        facts.native_id = ids.id;
        facts.parent_native_id = parent;
        facts.title = take_word(&mut object, "title");
        facts.folder = take_word(&mut object, "directory");
        facts.agent_version = take_word(&mut object, "version");
        let revert = source::take_json(&mut object, "revert", |mut revert| {
            take_word(&mut revert, "partID").or(take_word(&mut revert, "messageID"))
        });
        self.revert = revert.map_or(Revert::None, Revert::From);
        item
    }

    /// Reads a message without its parts. Its entry is on the branch, because a compaction may name it.
    fn message(&mut self, ids: Ids, mut object: Object<'_>, facts: &mut ReadSession) -> Item {
        let time = take_object(&mut object, "time");
        let created = time.and_then(|mut time| take_millis(&mut time, "created"));
        self.created = created.or(ids.created.clone());
        let role = take_text(&mut object, "role");
        let is_user = role.as_deref() == Some("user");
        let error = take_object(&mut object, "error")
            .map(|mut error| take_word(&mut error, "name").unwrap_or_default());
        let head = Head {
            is_user,
            // For a message of the user, `summary` is an object that describes changes.
            is_summary: !is_user && take_flag(&mut object, "summary"),
            is_failed: error.is_some_and(|name| &*name != "MessageAbortedError"),
        };
        self.current = Some(head);
        if let Some(id) = &ids.id {
            self.messages.insert(hash(id), head);
        }
        let is_main = self.is_main(&ids, facts);
        let mut item = Item { parent: Parent::Previous, ..non_message(Some("message")) };
        if let Some(model) = model(&mut object)
            && !is_user
            && is_main
            && self.model.as_ref() != Some(&model)
        {
            self.model = Some(model.clone());
            facts.model = Some(model.clone());
            item.kind = EntryKind::ModelChange(ModelChange { model, unknown: Fields::NONE });
        }
        if !matches!(role.as_deref(), Some("user" | "assistant")) {
            item = item.with_problem(ProblemKind::Field { field: "role" });
        }
        item.timestamp.clone_from(&self.created);
        self.place(&mut item, ids, is_main);
        item
    }

    fn part(&mut self, ids: Ids, mut object: Object<'_>, facts: &mut ReadSession) -> Item {
        let head = match &ids.message {
            Some(id) => self.messages.get(&hash(id)).copied(),
            None => self.current,
        };
        let is_main = self.is_main(&ids, facts);
        let kind = take_text(&mut object, "type").unwrap_or_default();
        let mut item = match head {
            Some(head) => self.part_of(head, &kind, object, &ids),
            None => {
                non_message(Some(&kind)).with_problem(ProblemKind::Field { field: "messageID" })
            }
        };
        item.timestamp = item.timestamp.or(ids.created.clone()).or(self.created.clone());
        item.is_side = head.is_some_and(|head| head.is_failed);
        self.place(&mut item, ids, is_main);
        item
    }

    /// Returns whether a record belongs to the session itself, and not to the session of a sub-agent.
    fn is_main(&self, ids: &Ids, facts: &mut ReadSession) -> bool {
        let Some(session) = &ids.session else { return true };
        facts.native_id.get_or_insert_with(|| session.clone()) == session
    }

    /// Sets the parent of the item of a message or part, and records it.
    fn place(&mut self, item: &mut Item, ids: Ids, is_main: bool) {
        let is_outside = item.parent == Parent::Outside;
        item.id.clone_from(&ids.id);
        if matches!((&self.revert, &ids.id), (Revert::From(from), Some(id)) if from == id) {
            self.revert = Revert::Reached;
        }
        if is_main {
            item.is_side |= matches!(self.revert, Revert::Reached);
            return;
        }
        item.is_side = true;
        let Some(session) = ids.session else { return };
        item.parent = self.sides.get(&session).cloned().map_or(Parent::Root, Parent::Id);
        if let Some(id) = ids.id.filter(|_| !is_outside) {
            self.sides.insert(session, id);
        }
    }
}

/// Splits the model into its provider and its name, as opencode expects it.
fn model(object: &mut Object<'_>) -> Option<Box<str>> {
    let mut nested = take_object(object, "model").unwrap_or_default();
    let mut of = |name: &str| take_word(object, name).or_else(|| take_word(&mut nested, name));
    let (provider, name) = (of("providerID"), of("modelID")?);
    // This model is in answers that we wrote without a model.
    if (provider.as_deref(), &*name) == (Some(NO_MODEL.0), NO_MODEL.1) {
        return None;
    }
    Some(provider.map_or(name.clone(), |provider| format!("{provider}/{name}").into()))
}

fn non_message(kind: Option<&str>) -> Item {
    Item::non_message(NativeFormat::Opencode, kind)
}
