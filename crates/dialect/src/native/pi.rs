//! Sessions of pi: lines that form a tree by `id` and `parentId`. The first version had neither field; its lines form
//! a list.

mod content;

use std::collections::HashSet;

use tertulia_session::json::{self, Kind, Object, RawValue};
use tertulia_session::{
    BranchSummary, CompactionSummary, EntryId, EntryKind, Fields, Message, ModelChange,
    NativeRecord, Part, Parts, Role, ThinkingLevelChange, Timestamp, Usage, Usd,
};

use super::fields::{take_string, take_time};
use super::item::{Item, Parent, Speakers, native_summary};
use super::reader::hash;
use super::{NativeFormat, ProblemKind, ReadSession};
use content::{command_text, has_content, parts, result};

/// The provider that [`super::write`] names for answers of other agents. pi has no provider of this name, so it does
/// not attribute them to its own models.
pub(super) const PROVIDER: &str = "tertulia";

/// Reads the records of a session of pi.
#[derive(Debug)]
pub(super) struct Reader {
    speakers: Speakers,
    /// The model that answered last or was chosen last.
    model: Option<Box<str>>,
    /// Hashes of the ids so far.
    ids: HashSet<u64>,
}

impl Reader {
    pub(super) fn new() -> Self {
        Self { speakers: Speakers::new(NativeFormat::Pi), model: None, ids: HashSet::new() }
    }

    /// Reads a record. `place` is the id of its first entry if the record has no id.
    pub(super) fn read(&mut self, raw: &RawValue, place: &str, facts: &mut ReadSession) -> Item {
        let Ok(mut object) = Object::try_from(raw) else {
            let problem = ProblemKind::Field { field: "the record" };
            return Item::non_message(NativeFormat::Pi, None).with_problem(problem);
        };
        let kind = take_string(&mut object, "type").unwrap_or_default();
        if kind == "session" {
            read_header(object, facts);
            return Item::non_message(NativeFormat::Pi, Some("session"));
        }
        let id = take_string(&mut object, "id");
        let parent = match object.take("parentId") {
            Some(raw) if Kind::from(raw) == Kind::String => Parent::Id(json::words(raw).into()),
            Some(_) if id.is_some() => Parent::Root,
            _ => Parent::Previous,
        };
        let mut timestamp = take_time(&mut object, "timestamp");
        let place = id.as_deref().unwrap_or(place);
        let mut item = match &*kind {
            "message" => self.message(object, &mut timestamp, facts),
            "compaction" => self.compaction(object, place),
            "branch_summary" => branch_summary(object, place, facts),
            "custom_message" => self.injected(object),
            "model_change" => self.model_change(object, facts),
            "thinking_level_change" => match take_string(&mut object, "thinkingLevel") {
                Some(level) => Item::new(EntryKind::ThinkingLevelChange(ThinkingLevelChange {
                    level: level.into(),
                    unknown: Fields::NONE,
                })),
                None => record(&kind).with_problem(ProblemKind::Field { field: "thinkingLevel" }),
            },
            "usage" => {
                let mut item = record(&kind);
                let model = take_string(&mut object, "model");
                item.more.extend(usage(&mut object, model.map(Into::into)));
                item
            }
            "session_info" => {
                facts.title = take_string(&mut object, "name").map(Into::into);
                record(&kind)
            }
            "custom" | "label" | "context_edit" => record(&kind),
            "" => record(&kind).with_problem(ProblemKind::Field { field: "type" }),
            other => record(other).with_problem(ProblemKind::UnknownType { name: other.into() }),
        };
        self.ids.insert(hash(place));
        (item.id, item.parent, item.timestamp) = (id.map(Into::into), parent, timestamp);
        item
    }

    fn message(
        &mut self,
        mut object: Object<'_>,
        timestamp: &mut Option<Timestamp>,
        facts: &mut ReadSession,
    ) -> Item {
        let message = object.take_some("message").and_then(|raw| Object::try_from(raw).ok());
        let Some(mut message) = message else {
            return record("message").with_problem(ProblemKind::Field { field: "message" });
        };
        if timestamp.is_none() {
            *timestamp = take_time(&mut message, "timestamp");
        }
        let role = take_string(&mut message, "role").unwrap_or_default();
        let summary = |message: &mut Object<'_>| {
            Parts::from_iter(take_string(message, "summary").map(Part::text))
        };
        match &*role {
            "user" => self.message_item(Role::User, parts(&mut message)),
            "assistant" => self.assistant(message, facts),
            "toolResult" => {
                let usage = usage(&mut message, None);
                let Some(part) = result(message) else {
                    let problem = ProblemKind::Field { field: "message.toolCallId" };
                    return record("message").with_problem(problem);
                };
                let message = Message::with_role(Role::Tool, Parts::from([part]));
                let mut item = Item::new(EntryKind::Message(message));
                item.more.extend(usage);
                item
            }
            "bashExecution" => {
                let is_hidden = message.take_some("excludeFromContext");
                if is_hidden.is_some_and(|raw| raw.get() == "true") {
                    return record("message");
                }
                self.message_item(Role::User, Parts::from([Part::text(command_text(message))]))
            }
            "custom" | "hookMessage" => self.injected(message),
            "branchSummary" | "compactionSummary" => {
                let parts = summary(&mut message);
                self.message_item(Role::User, parts)
            }
            // These are the agent's own prompt and tools.
            "system" => record("message"),
            "" => record("message").with_problem(ProblemKind::Field { field: "message.role" }),
            other => {
                record("message").with_problem(ProblemKind::UnknownType { name: other.into() })
            }
        }
    }

    fn assistant(&mut self, mut message: Object<'_>, facts: &mut ReadSession) -> Item {
        let parts = parts(&mut message);
        let mut item = self.message_item(Role::Assistant, parts);
        let model =
            take_string(&mut message, "responseModel").or(take_string(&mut message, "model"));
        let is_ours = take_string(&mut message, "provider").is_some_and(|name| name == PROVIDER);
        let model = model.filter(|_| !is_ours).map(Box::<str>::from);
        if let Some(model) = &model {
            item.more.extend(self.change(model).map(EntryKind::ModelChange));
            facts.model = Some(model.clone());
        }
        item.more.extend(usage(&mut message, model));
        item
    }

    /// Returns an item for a message. If it has no content, the item is no message.
    fn message_item(&self, role: Role, parts: Parts) -> Item {
        match has_content(&parts) {
            true => Item::new(EntryKind::Message(self.speakers.message(role, parts))),
            false => record("message"),
        }
    }

    /// Returns an item for a text that an extension adds to the model's input.
    fn injected(&self, mut object: Object<'_>) -> Item {
        let parts = parts(&mut object);
        match has_content(&parts) {
            true => Item::new(EntryKind::Message(Message::with_role(Role::User, parts))),
            false => record("custom_message"),
        }
    }

    fn model_change(&mut self, mut object: Object<'_>, facts: &mut ReadSession) -> Item {
        let Some(model) = take_string(&mut object, "modelId").map(Box::<str>::from) else {
            return record("model_change").with_problem(ProblemKind::Field { field: "modelId" });
        };
        facts.model = Some(model.clone());
        self.model = Some(model.clone());
        Item::new(EntryKind::ModelChange(ModelChange { model, unknown: Fields::NONE }))
    }

    /// Reads a summary of everything before the first kept entry. If no entry is kept, the summary names itself.
    fn compaction(&self, mut object: Object<'_>, own: &str) -> Item {
        let Some(summary) = take_string(&mut object, "summary") else {
            return record("compaction").with_problem(ProblemKind::Field { field: "summary" });
        };
        let index = object.take_some("firstKeptEntryIndex");
        let index = index.and_then(|raw| json::whole_number(raw).ok());
        // The first version has the number of a line, starting at 0.
        let by_index = || index.map(|index| format!("line-{}", index.saturating_add(1)));
        let first_kept = take_string(&mut object, "firstKeptEntryId").or_else(by_index);
        let first_kept = first_kept.filter(|id| self.ids.contains(&hash(id)));
        let tokens = object.take_some("tokensBefore");
        let mut item = Item::new(EntryKind::CompactionSummary(Box::new(CompactionSummary {
            tokens_before: tokens.and_then(|raw| json::whole_number(raw).ok()),
            ..native_summary(
                NativeFormat::Pi,
                summary,
                EntryId::from(first_kept.as_deref().unwrap_or(own)),
            )
        })));
        item.more.extend(usage(&mut object, None));
        item
    }

    /// Returns a change of the model, if this model differs from the last one.
    fn change(&mut self, model: &str) -> Option<ModelChange> {
        let before = self.model.replace(model.into());
        let is_other = before.is_some_and(|before| *before != *model);
        is_other.then(|| ModelChange { model: model.into(), unknown: Fields::NONE })
    }
}

fn read_header(mut object: Object<'_>, facts: &mut ReadSession) {
    let mut field = |name: &str| take_string(&mut object, name).map(Box::<str>::from);
    let before = field("parentSession").or(field("branchedFrom"));
    (facts.native_id, facts.folder, facts.model) = (field("id"), field("cwd"), field("modelId"));
    // The name of the session's file ends with its id.
    facts.parent_native_id = before.and_then(|path| {
        let name = path.rsplit(['/', '\\']).next()?.strip_suffix(".jsonl")?;
        Some(name.split_once('_').map_or(name, |(_, id)| id).into())
    });
}

fn branch_summary(mut object: Object<'_>, own: &str, facts: &ReadSession) -> Item {
    let from = take_string(&mut object, "fromId");
    let mut item = Item::new(EntryKind::BranchSummary(BranchSummary {
        source_session_id: facts.native_id.clone().unwrap_or_default(),
        source_entry_id: EntryId::from(from.as_deref().unwrap_or(own)),
        summary: take_string(&mut object, "summary").map(Into::into),
        unknown: Fields::NONE,
    }));
    item.more.extend(usage(&mut object, None));
    item
}

/// Reads the usage of an answer. Input tokens include those from the cache.
fn usage(object: &mut Object<'_>, model: Option<Box<str>>) -> Option<EntryKind> {
    let mut usage = Object::try_from(object.take_some("usage")?).ok()?;
    let cost = usage.take_some("cost").and_then(|raw| Object::try_from(raw).ok());
    let cost = cost.and_then(|mut cost| Usd::from_json(cost.take_some("total")?.into()));
    let mut count = |name| usage.take_some(name).and_then(|raw| json::whole_number(raw).ok());
    let (input, output) = (count("input")?, count("output").unwrap_or_default());
    let (cached, written) = (count("cacheRead"), count("cacheWrite"));
    let input = [cached, written].into_iter().flatten().fold(input, u64::saturating_add);
    // A failed request has no usage.
    (input > 0 || output > 0).then(|| {
        EntryKind::Usage(Usage {
            member: NativeFormat::Pi.as_str().into(),
            model,
            input_tokens: input,
            cached_tokens: cached,
            output_tokens: output,
            cost_usd: cost,
            cache_write_tokens: written,
            agent: Some(NativeFormat::Pi.as_str().into()),
            ..Usage::default()
        })
    })
}

/// Returns an item for a record that is no message but has a position in the tree.
fn record(kind: &str) -> Item {
    Item::new(EntryKind::NativeRecord(NativeRecord {
        agent: NativeFormat::Pi.as_str().into(),
        record_type: (!kind.is_empty()).then(|| kind.to_owned().into()),
        unknown: Fields::NONE,
    }))
}

/// Returns whether a line is a record of pi.
pub(super) fn is_record(object: &Object<'_>) -> bool {
    let has = |name: &str| object.names().any(|found| found == name);
    let is_header = object.names().next() == Some("type") && has("id") && has("timestamp");
    is_header && has("cwd") && (has("version") || has("provider")) && !has("payload")
}
