//! Sessions of Codex: rollout files, in which every line is a record `{timestamp, type, payload}`.
//!
//! A file contains two logs: `response_item` records are what the model saw, and `event_msg` records are what the
//! screen showed. Messages are read from the first log. If a session has no first log, they are read from the second
//! one. Old files contain the payloads without the envelope.

mod compacted;
mod content;
mod event;
mod item;
mod log;
mod usage;

use std::borrow::Cow;
use std::str::FromStr;

use tertulia_session::json::{self, Kind, Object, RawValue};
use tertulia_session::{EntryKind, ModelChange, Timestamp};

use super::item::{Item, Parent, Speakers};
use super::write::OURS;
use super::{NativeFormat, ProblemKind, ReadSession};
use log::Log;
use usage::Counter;

/// Reads the records of a session of Codex. Its memory grows by about 150 bytes for every message.
#[derive(Debug)]
pub(super) struct Reader {
    speakers: Speakers,
    /// The messages so far.
    log: Log,
    counter: Counter,
    /// Whether a record of the model's log was read.
    has_items: bool,
    /// Whether the record that describes the session was read.
    has_meta: bool,
    model: Option<Box<str>>,
}

impl Reader {
    pub(super) fn new() -> Self {
        Self {
            speakers: Speakers::new(NativeFormat::Codex),
            log: Log::default(),
            counter: Counter::default(),
            has_items: false,
            has_meta: false,
            model: None,
        }
    }

    /// Reads a record. `place` is the id that its first entry will get.
    pub(super) fn read(&mut self, raw: &RawValue, place: &str, facts: &mut ReadSession) -> Item {
        let Ok(mut record) = Object::try_from(raw) else {
            return non_message(None).with_problem(ProblemKind::Field { field: "the record" });
        };
        let timestamp = take_time(&mut record, "timestamp");
        let mut item = match record.take_some("payload") {
            Some(payload) => self.enveloped(&mut record, payload, place, facts),
            None => self.bare(record, timestamp.clone(), facts),
        };
        item.timestamp = item.timestamp.or(timestamp);
        self.log.follow(place, &item);
        item
    }

    fn enveloped(
        &mut self,
        record: &mut Object<'_>,
        payload: &RawValue,
        place: &str,
        facts: &mut ReadSession,
    ) -> Item {
        let kind = take_words(record, "type").unwrap_or_default();
        let Ok(fields) = Object::try_from(payload) else {
            return non_message(Some(&kind)).with_problem(ProblemKind::Field { field: "payload" });
        };
        match &*kind {
            "response_item" => self.response_item(fields, is_failure(record)),
            "event_msg" => self.event(fields, facts),
            "session_meta" => self.session_meta(fields, facts),
            "turn_context" => self.turn_context(fields, facts),
            "compacted" => self.compacted(fields, place),
            "token_usage_record" => self.usage_record(fields),
            "world_state" | "inter_agent_communication" | "inter_agent_communication_metadata" => {
                non_message(Some(&kind))
            }
            "" => non_message(None).with_problem(ProblemKind::Field { field: "type" }),
            other => non_message(Some(other))
                .with_problem(ProblemKind::UnknownType { name: other.into() }),
        }
    }

    /// Reads a record without an envelope, as in old files. It is the description of the session without a type, a
    /// state of the program, or what is the payload today.
    fn bare(
        &mut self,
        mut record: Object<'_>,
        timestamp: Option<Timestamp>,
        facts: &mut ReadSession,
    ) -> Item {
        if let Some(kind) = take_words(&mut record, "record_type") {
            return non_message(Some(&kind));
        }
        match record.get("type").map(json::words).as_deref() {
            None if record.get("id").is_some() => {
                let item = self.session_meta(record, facts);
                Item { timestamp, ..item }
            }
            None => non_message(None).with_problem(ProblemKind::Field { field: "type" }),
            Some(kind) if ENVELOPES.contains(&kind) => {
                non_message(Some(kind)).with_problem(ProblemKind::Field { field: "payload" })
            }
            Some(_) => self.response_item(record, false),
        }
    }

    /// Reads the description of the session. A forked file may also contain the description of its origin, so only
    /// the first one is used.
    fn session_meta(&mut self, mut meta: Object<'_>, facts: &mut ReadSession) -> Item {
        let item = non_message(Some("session_meta"));
        if std::mem::replace(&mut self.has_meta, true) {
            return item;
        }
        let timestamp = take_time(&mut meta, "timestamp");
        let mut take = |name| take_words(&mut meta, name).map(Into::into);
        facts.native_id = take("id").or_else(|| take("session_id"));
        facts.folder = take("cwd").or_else(|| facts.folder.take());
        facts.agent_version = take("cli_version");
        facts.parent_native_id = take("forked_from_id").or_else(|| take("parent_thread_id"));
        let spawner = meta.take_some("source").and_then(spawning_thread);
        facts.parent_native_id = facts.parent_native_id.take().or(spawner);
        let item = Item { timestamp, ..item };
        match facts.native_id {
            Some(_) => item,
            None => item.with_problem(ProblemKind::Field { field: "payload.id" }),
        }
    }

    /// Reads the settings of a turn. A change of the model becomes a further entry.
    fn turn_context(&mut self, mut context: Object<'_>, facts: &mut ReadSession) -> Item {
        let record = non_message(Some("turn_context"));
        if facts.folder.is_none() {
            facts.folder = take_words(&mut context, "cwd").map(Into::into);
        }
        let Some(model) = take_words(&mut context, "model").filter(|model| !model.is_empty())
        else {
            return record;
        };
        if self.model.as_deref() == Some(&*model) {
            return record;
        }
        let model: Box<str> = model.into();
        (self.model, facts.model) = (Some(model.clone()), Some(model.clone()));
        let change = ModelChange { model, unknown: tertulia_session::Fields::NONE };
        Item { parent: Parent::Previous, more: vec![EntryKind::ModelChange(change)], ..record }
    }
}

/// Returns the thread that started a sub-agent: `{subagent: {thread_spawn: {parent_thread_id}}}`.
fn spawning_thread(source: &RawValue) -> Option<Box<str>> {
    let mut source = Object::try_from(source).ok()?;
    let mut agent = Object::try_from(source.take("subagent")?).ok()?;
    let mut spawn = Object::try_from(agent.take("thread_spawn")?).ok()?;
    take_words(&mut spawn, "parent_thread_id").map(Into::into)
}

/// The types of records with a payload. They identify files of Codex.
const ENVELOPES: [&str; 5] =
    ["session_meta", "response_item", "event_msg", "turn_context", "compacted"];

/// Returns whether a record that we wrote is the result of a failed tool. Codex itself has no field for that.
fn is_failure(record: &mut Object<'_>) -> bool {
    let ours = record.take(OURS).and_then(|raw| Object::try_from(raw).ok());
    ours.and_then(|mut ours| ours.take("isError")).is_some_and(|raw| raw.get() == "true")
}

/// Creates an item for a record that is no message.
fn non_message(record_type: Option<&str>) -> Item {
    Item::non_message(NativeFormat::Codex, record_type)
}

/// Takes a text. Other values count as missing.
fn take_words<'a>(object: &mut Object<'a>, name: &str) -> Option<Cow<'a, str>> {
    let raw = object.take(name)?;
    (Kind::from(raw) == Kind::String).then(|| json::words(raw))
}

fn take_time(object: &mut Object<'_>, name: &str) -> Option<Timestamp> {
    Timestamp::from_str(&take_words(object, name)?).ok()
}

/// Returns whether a line is a record of Codex.
pub(super) fn is_record(object: &Object<'_>) -> bool {
    let has = |wanted: &str| object.names().any(|name| name == wanted);
    let word = |wanted: &str| object.get(wanted).map(json::words).unwrap_or_default();
    if has("payload") {
        let kind = word("type");
        return has("timestamp") && !has("id") && ENVELOPES.contains(&&*kind);
    }
    // This is the first line of an old file.
    !has("type") && has("id") && has("timestamp") && has("instructions")
}
