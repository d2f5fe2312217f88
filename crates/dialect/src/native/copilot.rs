//! Sessions of Copilot CLI: `events.jsonl`, with one event per line, as `{type, data, id, timestamp, parentId}`.
//!
//! The `parentId` of an event names the event that was written before it, even if that is bookkeeping or belongs to a
//! sub-agent. Events that were computed in parallel name an older event. So in this reader an event follows the last
//! event of the conversation. The `parentId` is used only for a message of the user: if it leads back before another
//! message of the user, the conversation was rewound. The events of a sub-agent have an `agentId`, or name the call
//! that started it. They form a branch that begins after `subagent.started`.
//!
//! Messages are in `user.message`, `assistant.message` and `tool.execution_complete`. In `user.message`, `content` is
//! the text of the person, and `transformedContent` adds the time for the model. A compaction replaces all messages
//! before its beginning.

mod events;
mod message;

use std::collections::HashMap;

use tertulia_session::json::{Object, RawValue};
use tertulia_session::{
    CompactionSummary, EntryId, EntryKind, Fields, Message, ModelChange, Usage,
};

use super::fields::{take_count, take_flag, take_object, take_text, take_word};
use super::item::{Item, Parent, Speakers, native_summary};
use super::reader::hash;
use super::{NativeFormat, ProblemKind, ReadSession};

/// Reads the records of a session of Copilot CLI. Keeps about 16 bytes for every event, and the id of the event
/// before every message of the user.
#[derive(Debug)]
pub(super) struct Reader {
    speakers: Speakers,
    model: Option<Box<str>>,
    /// The number of messages of the user so far.
    turn: u32,
    /// For every event, the number of messages of the user before it, by the hash of the event's id.
    turns: HashMap<u64, u32>,
    /// The last event of the conversation before every message of the user.
    before: HashMap<u64, Option<Box<str>>>,
    /// The last event of the conversation.
    last: Option<Box<str>>,
    /// The parent of the next event of the conversation, after the conversation was rewound.
    rewound: Option<Parent>,
    /// The last event of every sub-agent.
    agents: HashMap<Box<str>, Box<str>>,
    compaction: Compaction,
}

/// The state of a compaction. The conversation may continue while it runs.
#[derive(Debug, Default)]
enum Compaction {
    #[default]
    None,
    /// It has begun, and no message followed yet.
    Begun,
    /// The first event of the conversation since it began.
    Since(Box<str>),
}

/// An event without its payload.
struct Event {
    id: Option<Box<str>>,
    parent: Option<Box<str>>,
    /// The sub-agent to which it belongs.
    agent: Option<Box<str>>,
}

impl Reader {
    pub(super) fn new() -> Self {
        Self {
            speakers: Speakers::new(NativeFormat::Copilot),
            model: None,
            turn: 0,
            turns: HashMap::new(),
            before: HashMap::new(),
            last: None,
            rewound: None,
            agents: HashMap::new(),
            compaction: Compaction::None,
        }
    }

    pub(super) fn read(&mut self, raw: &RawValue, facts: &mut ReadSession) -> Item {
        let Ok(mut object) = Object::try_from(raw) else {
            return non_message(None).with_problem(ProblemKind::Field { field: "the event" });
        };
        let kind = take_text(&mut object, "type");
        let mut data = take_object(&mut object, "data").unwrap_or_default();
        let call = take_word(&mut data, "parentToolCallId");
        let event = Event {
            id: take_word(&mut object, "id"),
            parent: take_word(&mut object, "parentId"),
            agent: take_word(&mut object, "agentId").or(call),
        };
        let timestamp = take_text(&mut object, "timestamp").and_then(|text| text.parse().ok());
        let mut item = match kind.as_deref() {
            Some(kind) => self.item(kind, data, &event, facts),
            None => non_message(None).with_problem(ProblemKind::Field { field: "type" }),
        };
        item.timestamp = timestamp;
        self.place(&mut item, event, kind.as_deref() == Some("user.message"));
        item
    }

    /// Reads the payload of an event.
    fn item(
        &mut self,
        kind: &str,
        mut data: Object<'_>,
        event: &Event,
        facts: &mut ReadSession,
    ) -> Item {
        let is_side = event.agent.is_some();
        match kind {
            "user.message" => self.message_item(kind, message::user(data, &self.speakers, is_side)),
            "assistant.message" => self.answer(data, is_side, facts),
            "tool.execution_complete" => self.message_item(kind, message::result(data)),
            "session.usage_record" => usage(kind, data),
            "assistant.usage" => usage_of(kind, data),
            _ if is_side => bookkeeping(kind),
            "session.start" | "session.resume" => self.start(kind, data, facts),
            "session.model_change" => self.changed(kind, data, "newModel", facts),
            "session.title_changed" => {
                facts.title = take_word(&mut data, "title").or(facts.title.take());
                non_message(Some(kind))
            }
            "session.compaction_start" => {
                self.compaction = Compaction::Begun;
                non_message(Some(kind))
            }
            "session.compaction_complete" => self.compacted(kind, data, event),
            "session.snapshot_rewind" => {
                self.rewind(data);
                non_message(Some(kind))
            }
            "session.context_cleared" => {
                self.rewound = Some(Parent::Root);
                non_message(Some(kind))
            }
            _ => bookkeeping(kind),
        }
    }

    fn message_item(&self, kind: &str, message: Result<Option<Message>, &'static str>) -> Item {
        match message {
            Ok(Some(message)) => Item::new(EntryKind::Message(message)),
            Ok(None) => non_message(Some(kind)),
            Err(field) => non_message(Some(kind)).with_problem(ProblemKind::Field { field }),
        }
    }

    fn answer(&mut self, mut data: Object<'_>, is_side: bool, facts: &mut ReadSession) -> Item {
        let model = take_word(&mut data, "model");
        let mut item =
            self.message_item("assistant.message", message::answer(data, &self.speakers));
        if item.parent != Parent::Outside && !is_side {
            item.more.extend(self.change(model, facts));
        }
        item
    }

    /// Reads the event of a session that was started or resumed.
    fn start(&mut self, kind: &str, mut data: Object<'_>, facts: &mut ReadSession) -> Item {
        if kind == "session.start" {
            let id = take_word(&mut data, "sessionId");
            facts.native_id = facts.native_id.take().or(id);
            facts.parent_native_id = take_word(&mut data, "detachedFromSpawningParentSessionId")
                .or(facts.parent_native_id.take());
        }
        let version = take_word(&mut data, "copilotVersion");
        facts.agent_version = version.or(facts.agent_version.take());
        let context = take_object(&mut data, "context");
        let folder = context.and_then(|mut context| take_word(&mut context, "cwd"));
        facts.folder = facts.folder.take().or(folder);
        self.changed(kind, data, "selectedModel", facts)
    }

    /// Reads an event that names the model for the following events.
    fn changed(
        &mut self,
        kind: &str,
        mut data: Object<'_>,
        field: &str,
        facts: &mut ReadSession,
    ) -> Item {
        let model = take_word(&mut data, field);
        self.change(model, facts).map_or_else(|| non_message(Some(kind)), Item::new)
    }

    fn change(&mut self, model: Option<Box<str>>, facts: &mut ReadSession) -> Option<EntryKind> {
        let model = model.filter(|model| self.model.as_ref() != Some(model))?;
        self.model = Some(model.clone());
        facts.model = Some(model.clone());
        let unknown = Fields::NONE;
        Some(EntryKind::ModelChange(ModelChange { model, unknown }))
    }

    /// Reads the end of a compaction. Messages that were written while it ran are still sent.
    fn compacted(&mut self, kind: &str, mut data: Object<'_>, event: &Event) -> Item {
        let since = std::mem::take(&mut self.compaction);
        let summary = take_word(&mut data, "summaryContent");
        let is_done = take_flag(&mut data, "success");
        let (Some(summary), Some(own), true) = (summary, &event.id, is_done) else {
            return non_message(Some(kind));
        };
        let first = match since {
            Compaction::Since(id) => id,
            Compaction::None | Compaction::Begun => own.clone(),
        };
        let mut item = Item::new(EntryKind::CompactionSummary(Box::new(CompactionSummary {
            tokens_before: take_count(&mut data, "preCompactionTokens"),
            tokens_after: take_count(&mut data, "postCompactionTokens"),
            ..native_summary(NativeFormat::Copilot, summary, EntryId::from(&*first))
        })));
        item.more.extend(take_object(&mut data, "compactionTokensUsed").and_then(tokens));
        item
    }

    /// Rewinds the conversation to the state before a message of the user.
    fn rewind(&mut self, mut data: Object<'_>) {
        let Some(event) = take_word(&mut data, "upToEventId") else { return };
        if let Some(before) = self.before.get(&hash(&event)) {
            self.rewound = Some(before.clone().map_or(Parent::Root, Parent::Id));
        }
    }

    /// Sets the parent of an item, and records the event.
    fn place(&mut self, item: &mut Item, event: Event, is_user: bool) {
        let Event { id, parent, agent } = event;
        item.id.clone_from(&id);
        let is_outside = item.parent == Parent::Outside;
        if let Some(agent) = agent {
            item.is_side = true;
            if let Some(last) = self.agents.get(&agent) {
                item.parent = Parent::Id(last.clone());
            }
            if let Some(id) = id
                && (!is_outside || !self.agents.contains_key(&agent))
            {
                self.agents.insert(agent, id);
            }
            return;
        }
        if !is_outside {
            item.parent = self.parent(parent.filter(|_| is_user));
        }
        let Some(id) = id else { return };
        if is_user {
            self.turn += 1;
            self.before.insert(hash(&id), self.last.clone());
        }
        self.turns.insert(hash(&id), self.turn);
        if is_outside {
            return;
        }
        let is_said = matches!(item.kind, EntryKind::Message(_));
        if is_said && matches!(self.compaction, Compaction::Begun) {
            self.compaction = Compaction::Since(id.clone());
        }
        self.last = Some(id);
    }

    /// Returns the parent of an event of the conversation. It is the last event, unless `named` precedes the last
    /// message of the user.
    fn parent(&mut self, named: Option<Box<str>>) -> Parent {
        if let Some(rewound) = self.rewound.take() {
            return rewound;
        }
        let Some(named) = named else { return Parent::Previous };
        match self.turns.get(&hash(&named)) {
            Some(turn) if *turn == self.turn => Parent::Previous,
            // The event precedes the last message of the user, so the conversation was rewound. An unknown event is
            // reported.
            _ => Parent::Id(named),
        }
    }
}

fn non_message(kind: Option<&str>) -> Item {
    Item::non_message(NativeFormat::Copilot, kind)
}

/// Reads an event that contains no message.
fn bookkeeping(kind: &str) -> Item {
    let item = non_message(Some(kind));
    if events::is_known(kind) {
        return item;
    }
    item.with_problem(ProblemKind::UnknownType { name: kind.into() })
}

/// Reads `{usage: {…}}`.
fn usage(kind: &str, mut data: Object<'_>) -> Item {
    match take_object(&mut data, "usage") {
        Some(counts) => usage_of(kind, counts),
        None => non_message(Some(kind)).with_problem(ProblemKind::Field { field: "data.usage" }),
    }
}

fn usage_of(kind: &str, counts: Object<'_>) -> Item {
    tokens(counts).map_or_else(|| non_message(Some(kind)), Item::new)
}

/// Reads token counts. The cost in the event is in requests of the plan and not in money, so it is not read.
fn tokens(mut counts: Object<'_>) -> Option<EntryKind> {
    let input_tokens = take_count(&mut counts, "inputTokens")?;
    Some(EntryKind::Usage(Usage {
        member: NativeFormat::Copilot.as_str().into(),
        model: take_word(&mut counts, "model"),
        input_tokens,
        cached_tokens: take_count(&mut counts, "cacheReadTokens"),
        output_tokens: take_count(&mut counts, "outputTokens").unwrap_or_default(),
        cache_write_tokens: take_count(&mut counts, "cacheWriteTokens"),
        agent: Some(NativeFormat::Copilot.as_str().into()),
        ..Usage::default()
    }))
}

/// Returns whether a line is a record of Copilot CLI. Extensions of pi write events with the same fields.
pub(super) fn is_record(object: &Object<'_>) -> bool {
    let has = |name: &str| object.names().any(|one| one == name);
    ["type", "data", "id", "timestamp", "parentId"].into_iter().all(has) && !has("customType")
}
