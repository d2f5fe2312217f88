//! The fields that all records of Claude Code share, and the records that are no messages.

use std::borrow::Cow;

use tertulia_session::json::{self, Kind, Object, RawValue};
use tertulia_session::{EntryId, EntryKind, Timestamp};

use crate::native::ReadSession;
use crate::native::item::Item;

/// The known types of records outside the conversation.
const BOOKKEEPING: [&str; 28] = [
    "agent-color",
    "agent-name",
    "agent-setting",
    "ai-title",
    "api-request",
    "api-request-blob",
    "api-request-shape",
    "atis-latch",
    "content-replacement",
    "cost-state",
    "custom-title",
    "file-history-delta",
    "file-history-snapshot",
    "frame-link",
    "last-prompt",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "relocated",
    "result",
    "started",
    "summary",
    "tag",
    "task-summary",
    "tools-used",
    "worktree-state",
];

/// The shared fields of a record.
#[derive(Debug)]
pub(super) struct Record {
    pub kind: Box<str>,
    pub id: Option<Box<str>>,
    pub parent: Named,
    pub timestamp: Option<Timestamp>,
    pub is_side: bool,
    /// The id of the sub-agent to which it belongs.
    pub agent: Option<Box<str>>,
    /// Whether people do not see it, because the agent wrote it for the model.
    pub is_hidden: bool,
    pub is_compact_summary: bool,
    /// Whether it replaces an earlier record.
    pub supersedes: bool,
    /// The record with the call whose result this record contains.
    pub caller: Option<Box<str>>,
    started_agent: Option<Box<str>>,
    session: Option<Box<str>>,
    forked_from: Option<Box<str>>,
    folder: Option<Box<str>>,
    version: Option<Box<str>>,
}

/// The parent that a record names.
#[derive(Debug)]
pub(super) enum Named {
    Missing,
    Null,
    Id(Box<str>),
}

impl Record {
    /// Takes the shared fields from a record.
    pub(super) fn read(object: &mut Object<'_>) -> Self {
        let parent = match object.take("parentUuid") {
            None => Named::Missing,
            Some(raw) => text(Some(raw)).map_or(Named::Null, Named::Id),
        };
        let timestamp = text(object.take("timestamp"));
        let is_meta = is_true(object.take("isMeta"));
        let is_compact_summary = is_true(object.take("isCompactSummary"));
        let is_unsent = is_true(object.take("isVisibleInTranscriptOnly"));
        let supersedes = object.take_some("supersedesUuids");
        let kind = text(object.take("type"));
        // The record that describes a sub-agent's file has no type.
        let is_agent = kind.is_none() && object.names().any(|name| name == "agentType");
        Self {
            kind: kind.unwrap_or_else(|| if is_agent { "started" } else { "" }.into()),
            id: text(object.take("uuid")),
            parent,
            timestamp: timestamp.and_then(|text| text.parse().ok()),
            is_side: is_true(object.take("isSidechain")),
            agent: text(object.take("agentId")),
            is_hidden: is_meta || is_unsent,
            is_compact_summary,
            supersedes: supersedes.is_some_and(|raw| raw.get() != "[]"),
            caller: text(object.take("sourceToolAssistantUUID")),
            started_agent: object.take("toolUseResult").and_then(started_agent),
            session: text(object.take("sessionId")),
            forked_from: object.take_some("forkedFrom").and_then(|raw| {
                let mut origin = Object::try_from(raw).ok()?;
                text(origin.take("sessionId"))
            }),
            folder: text(object.take("cwd")),
            version: text(object.take("version")),
        }
    }

    /// Adds the data of the session that the record contains.
    pub(super) fn note_facts(&mut self, facts: &mut ReadSession) {
        if self.is_side {
            return;
        }
        fill(&mut facts.native_id, self.session.take());
        fill(&mut facts.folder, self.folder.take());
        fill(&mut facts.parent_native_id, self.forked_from.take());
        if let Some(version) = self.version.take() {
            facts.agent_version = Some(version);
        }
    }

    /// Returns the sub-agent whose report this record contains.
    pub(super) fn started_agent(&mut self) -> Option<Box<str>> {
        self.started_agent.take()
    }

    pub(super) fn parent_id(&self) -> Option<Box<str>> {
        match &self.parent {
            Named::Id(id) => Some(id.clone()),
            Named::Missing | Named::Null => None,
        }
    }

    /// Returns an item of this kind with the id and time of the record.
    pub(super) fn item(&self, kind: EntryKind) -> Item {
        let timestamp = self.timestamp.clone();
        Item { id: self.id.clone(), timestamp, is_side: self.is_side, ..Item::new(kind) }
    }

    /// Returns the prompt of an attachment: a message that the user wrote while the agent worked.
    pub(super) fn sent_prompt<'a>(&self, object: &mut Object<'a>) -> SentPrompt<'a> {
        let attachment = object.take("attachment").and_then(|raw| Object::try_from(raw).ok());
        let mut attachment = attachment.unwrap_or_default();
        let kind = attachment.take("type").map(json::words).unwrap_or_default();
        let mode = attachment.take("commandMode").map(json::words);
        let prompt = attachment
            .take("prompt")
            .filter(|_| kind == "queued_command" && mode.is_none_or(|mode| mode == "prompt"));
        match prompt {
            Some(prompt) => SentPrompt::Prompt(prompt),
            None if kind.is_empty() => SentPrompt::None { name: "attachment".into() },
            None => SentPrompt::None { name: format!("attachment/{kind}") },
        }
    }
}

/// The content of an attachment.
pub(super) enum SentPrompt<'a> {
    Prompt(&'a RawValue),
    None { name: String },
}

/// Returns the content of a record's message.
pub(super) fn message_content<'a>(object: &mut Object<'a>) -> Option<&'a RawValue> {
    Object::try_from(object.take("message")?).ok()?.take("content")
}

/// Returns the name of a record of the system, such as `system/api_error`.
pub(super) fn system_name(object: &mut Object<'_>) -> String {
    text(object.take("subtype")).map_or("system".into(), |subtype| format!("system/{subtype}"))
}

/// Returns whether records of this type are known to be outside the conversation.
pub(super) fn is_bookkeeping(kind: &str) -> bool {
    BOOKKEEPING.contains(&kind)
}

/// Returns whether a line is a record of Claude Code.
pub(super) fn is_record(object: &Object<'_>) -> bool {
    let has = |wanted: &str| object.names().any(|name| name == wanted);
    if has("payload") || has("session_id") && !has("sessionId") {
        return false;
    }
    has("type")
        && (has("uuid") && has("sessionId") && has("isSidechain")
            || has("leafUuid") && has("summary")
            || has("messageId") && has("isSnapshotUpdate"))
}

/// The data of a compaction.
#[derive(Debug, Default)]
pub(super) struct Boundary {
    /// The records before it that are still sent after the summary.
    pub kept: Vec<EntryId>,
    pub tokens_before: Option<u64>,
    pub tokens_after: Option<u64>,
}

impl Boundary {
    pub(super) fn read(object: &mut Object<'_>) -> Self {
        let metadata = object.take("compactMetadata").and_then(|raw| Object::try_from(raw).ok());
        let mut metadata = metadata.unwrap_or_default();
        let kept = metadata.take("preservedMessages").and_then(|raw| Object::try_from(raw).ok());
        let kept = kept.and_then(|mut kept| kept.take("uuids")).map(json::elements);
        let kept = kept.and_then(Result::ok).unwrap_or_default();
        let mut tokens =
            |name| metadata.take_some(name).and_then(|raw| json::whole_number(raw).ok());
        Self {
            kept: kept.into_iter().map(|raw| EntryId::from(&*json::words(raw))).collect(),
            tokens_before: tokens("preTokens"),
            tokens_after: tokens("postTokens"),
        }
    }
}

/// The source of the session's title. A title from a person has the highest rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Title {
    #[default]
    Summary,
    Generated,
    Own,
}

impl Title {
    /// Takes a title from a record of this type.
    pub(super) fn read(&mut self, kind: &str, object: &mut Object<'_>, facts: &mut ReadSession) {
        let (rank, field) = match kind {
            // At the beginning of a file there are summaries of other sessions.
            "summary" if facts.messages > 0 => (Self::Summary, "summary"),
            "ai-title" => (Self::Generated, "aiTitle"),
            "custom-title" => (Self::Own, "customTitle"),
            _ => return,
        };
        if rank >= *self
            && let Some(title) = text(object.take(field)).filter(|title| !title.trim().is_empty())
        {
            (*self, facts.title) = (rank, Some(title));
        }
    }
}

/// Returns the text of a string.
pub(super) fn text(raw: Option<&RawValue>) -> Option<Box<str>> {
    let raw = raw.filter(|raw| Kind::from(*raw) == Kind::String)?;
    Some(match json::words(raw) {
        Cow::Borrowed(text) => text.into(),
        Cow::Owned(text) => text.into(),
    })
}

/// Returns whether a field is `true`.
pub(super) fn is_true(raw: Option<&RawValue>) -> bool {
    raw.is_some_and(|raw| raw.get() == "true")
}

/// Returns the agent whose report a result contains. Results may be long, so the text is searched before it is
/// parsed.
fn started_agent(raw: &RawValue) -> Option<Box<str>> {
    memchr::memmem::find(raw.get().as_bytes(), br#""agentId""#)?;
    text(Object::try_from(raw).ok()?.take("agentId"))
}

fn fill(fact: &mut Option<Box<str>>, value: Option<Box<str>>) {
    if fact.is_none() {
        *fact = value;
    }
}
