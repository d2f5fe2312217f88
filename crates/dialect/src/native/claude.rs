//! Sessions of Claude Code: `projects/<folder>/<id>.jsonl`, and one file for every sub-agent. The records form a tree
//! by `uuid` and `parentUuid`. An answer has one record for each content block, all with the same `message.id`.

mod branch;
mod content;
mod record;
mod usage;

use std::collections::HashMap;

use tertulia_session::json::{Object, RawValue};
use tertulia_session::{CompactionSummary, EntryId, EntryKind, Fields, ModelChange, Role};

use super::item::{Item, Parent, Speakers, native_summary};
use super::{NativeFormat, ProblemKind, ReadSession};
use branch::Branch;
use content::Content;
use record::{Boundary, Record, SentPrompt, Title, is_bookkeeping};

const FORMAT: NativeFormat = NativeFormat::Claude;

/// Reads the records of a session of Claude Code. Its memory grows with the number of sub-agents
/// and with the number of records of the current turn.
#[derive(Debug)]
pub(super) struct Reader {
    speakers: Speakers,
    main: Branch,
    /// The conversations of sub-agents, by the id of the agent.
    sides: HashMap<Box<str>, Branch>,
    /// The record with the call that started a sub-agent, by the id of the agent.
    callers: HashMap<Box<str>, Box<str>>,
    /// The compaction whose summary is the next record.
    boundary: Option<Boundary>,
    title: Title,
}

impl Reader {
    pub(super) fn new() -> Self {
        Self {
            speakers: Speakers::new(FORMAT),
            main: Branch::default(),
            sides: HashMap::new(),
            callers: HashMap::new(),
            boundary: None,
            title: Title::default(),
        }
    }

    pub(super) fn read(&mut self, raw: &RawValue, facts: &mut ReadSession) -> Item {
        let Ok(mut object) = Object::try_from(raw) else {
            return Item::non_message(FORMAT, None)
                .with_problem(ProblemKind::Field { field: "the record" });
        };
        let mut record = Record::read(&mut object);
        record.note_facts(facts);
        if let Some(agent) = record.started_agent()
            && let Some(caller) = record.caller.clone().or_else(|| record.parent_id())
        {
            self.callers.insert(agent, caller);
        }
        match &*record.kind {
            "user" => self.user(&mut record, &mut object),
            "assistant" => self.assistant(&mut record, &mut object, facts),
            "attachment" => match record.sent_prompt(&mut object) {
                SentPrompt::Prompt(prompt) => {
                    let content = Content::read(prompt);
                    self.prompt(&record, content)
                }
                SentPrompt::None { name } => self.non_message(&record, &name),
            },
            "system" => {
                let name = record::system_name(&mut object);
                if name == "system/compact_boundary" {
                    self.boundary = Some(Boundary::read(&mut object));
                }
                self.non_message(&record, &name)
            }
            "" => self.non_message(&record, "").with_problem(ProblemKind::Field { field: "type" }),
            kind => {
                self.title.read(kind, &mut object, facts);
                let item = self.non_message(&record, kind);
                if is_bookkeeping(kind) {
                    return item;
                }
                item.with_problem(ProblemKind::UnknownType { name: kind.into() })
            }
        }
    }

    fn user(&mut self, record: &mut Record, object: &mut Object<'_>) -> Item {
        let Some(content) = record::message_content(object) else {
            let problem = ProblemKind::Field { field: "message.content" };
            return self.non_message(record, "user").with_problem(problem);
        };
        let content = Content::read(content);
        if record.is_compact_summary
            && let Some(id) = record.id.clone()
        {
            return self.summary(record, &id, &content);
        }
        self.prompt(record, content)
    }

    /// Returns the user's message, or the results of tools.
    fn prompt(&mut self, record: &Record, mut content: Content) -> Item {
        content.retain_said(record.is_hidden);
        let Content { parts, problem } = content;
        let is_results = parts.iter().all(content::is_result);
        let has_results = parts.iter().any(content::is_result);
        let mut item = if parts.is_empty() {
            self.non_message(record, &record.kind)
        } else {
            let role = if is_results { Role::Tool } else { Role::User };
            let kind = EntryKind::Message(self.speakers.message(role, parts));
            self.message(record, kind, !has_results)
        };
        item.problem = problem;
        item
    }

    fn assistant(
        &mut self,
        record: &mut Record,
        object: &mut Object<'_>,
        facts: &mut ReadSession,
    ) -> Item {
        let Some(mut message) = object.take("message").and_then(|raw| Object::try_from(raw).ok())
        else {
            let problem = ProblemKind::Field { field: "message" };
            return self.non_message(record, "assistant").with_problem(problem);
        };
        let model = record::text(message.take("model"));
        let is_error = record::is_true(object.take("isApiErrorMessage"));
        // The agent itself wrote this text: an error, or the output of a command.
        if is_error || model.as_deref() == Some("<synthetic>") {
            return self.non_message(record, "assistant");
        }
        let Some(content) = message.take("content") else {
            let problem = ProblemKind::Field { field: "message.content" };
            return self.non_message(record, "assistant").with_problem(problem);
        };
        let answer = record::text(message.take("id"));
        let Content { parts, problem } = Content::read(content);
        let branch = self.branch(record);
        let is_new = branch.begin_answer(answer) || record.supersedes;
        let usage = message.take("usage").and_then(|raw| {
            branch.usage.next(raw, object.take("costUSD"), FORMAT, model.as_deref())
        });
        let mut item = if parts.is_empty() {
            self.non_message(record, "assistant")
        } else {
            let kind = EntryKind::Message(self.speakers.message(Role::Assistant, parts));
            self.message(record, kind, is_new)
        };
        item.problem = problem;
        item.more.extend(usage.map(EntryKind::Usage));
        if let Some(model) = model.filter(|_| !record.is_side) {
            let changed = facts.model.as_ref().is_some_and(|before| *before != model);
            if changed {
                let change = ModelChange { model: model.clone(), unknown: Fields::NONE };
                item.more.push(EntryKind::ModelChange(change));
            }
            facts.model = Some(model);
        }
        item
    }

    /// Returns the summary of a compaction, which is sent instead of the messages before it.
    fn summary(&mut self, record: &Record, id: &str, content: &Content) -> Item {
        let Boundary { kept, tokens_before, tokens_after } =
            self.boundary.take().unwrap_or_default();
        let summary = CompactionSummary {
            tokens_before,
            tokens_after,
            kept_ids: (!kept.is_empty()).then_some(kept),
            ..native_summary(FORMAT, content.text(), EntryId::from(id))
        };
        self.message(record, EntryKind::CompactionSummary(Box::new(summary)), true)
    }

    /// Returns an entry of the conversation. `is_new` is false for a further block of the previous answer.
    fn message(&mut self, record: &Record, kind: EntryKind, is_new: bool) -> Item {
        let parent = self.parent(record);
        let is_fork = !matches!(parent, Parent::Previous);
        self.branch(record).push(record.id.as_deref(), is_new || is_fork);
        let parent = self.resolve_parent(record, parent);
        Item { parent, ..record.item(kind) }
    }

    /// Returns an entry outside the conversation. Later records may name it as their parent.
    fn non_message(&mut self, record: &Record, name: &str) -> Item {
        let Item { kind, .. } =
            Item::non_message(FORMAT, Some(name).filter(|name| !name.is_empty()));
        let parent = match self.branch(record).last() {
            Some(last) if record.is_side => Parent::Id(last.into()),
            _ => Parent::Outside,
        };
        self.branch(record).push_aside(record.id.as_deref());
        Item { parent, ..record.item(kind) }
    }

    fn parent(&mut self, record: &Record) -> Parent {
        let supersedes = record.supersedes;
        match &record.parent {
            record::Named::Missing => Parent::Previous,
            record::Named::Null => Parent::Root,
            record::Named::Id(id) if !supersedes && self.branch(record).ends_with(id) => {
                Parent::Previous
            }
            record::Named::Id(id) => Parent::Id(id.clone()),
        }
    }

    /// Returns a parent that is valid in the conversation of a sub-agent too. Such a conversation begins at the call
    /// that started its agent.
    fn resolve_parent(&mut self, record: &Record, parent: Parent) -> Parent {
        if !record.is_side {
            return parent;
        }
        let before = match parent {
            Parent::Previous => self.branch(record).before_last().map(Into::into),
            Parent::Id(id) => return Parent::Id(id),
            Parent::Root | Parent::Outside => None,
        };
        let caller = || record.agent.as_ref().and_then(|agent| self.callers.get(agent).cloned());
        before.or_else(caller).map_or(Parent::Root, Parent::Id)
    }

    /// Returns the conversation that a record belongs to.
    fn branch(&mut self, record: &Record) -> &mut Branch {
        if !record.is_side {
            return &mut self.main;
        }
        self.sides.entry(record.agent.clone().unwrap_or_default()).or_default()
    }
}

/// Returns whether a line is a record of Claude Code.
pub(super) fn is_record(object: &Object<'_>) -> bool {
    record::is_record(object)
}
