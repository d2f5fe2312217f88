//! What the reader of a format makes of one record. [`super::reader`] turns it into entries.

use std::sync::Arc;

use tertulia_session::{
    CompactionSummary, EntryId, EntryKind, Message, NativeRecord, Part, Parts, Role, Speaker,
    SpeakerType, Timestamp,
};

use super::{NativeFormat, ProblemKind};

/// A record as its format reads it.
#[derive(Debug)]
pub(crate) struct Item {
    /// The agent's id of the record; `None` if it has none. Unique within the session.
    pub id: Option<Box<str>>,
    pub parent: Parent,
    pub timestamp: Option<Timestamp>,
    /// The first entry, which keeps the text of the record.
    pub kind: EntryKind,
    /// More entries, after the first one. They must not hold text that the first one does not hold:
    /// a redaction of the first entry does not reach them.
    pub more: Vec<EntryKind>,
    /// Whether it belongs to a side conversation, such as a sub-agent's: the current branch does
    /// not go on with it.
    pub is_side: bool,
    pub problem: Option<ProblemKind>,
}

/// What a record follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Parent {
    /// The record before it in the same file.
    Previous,
    /// The record with this id of the agent, or the entry `id#number` beside its first one.
    Id(Box<str>),
    /// Nothing: it starts a branch.
    Root,
    /// It is bookkeeping beside the conversation: it follows the record before it, and later
    /// records with [`Parent::Previous`] do not follow it.
    Aside,
}

impl Item {
    /// Creates an item that follows the record before it.
    pub(crate) fn new(kind: EntryKind) -> Self {
        let (id, parent, timestamp) = (None, Parent::Previous, None);
        Self { id, parent, timestamp, kind, more: Vec::new(), is_side: false, problem: None }
    }

    /// Creates an item for a record that is no message.
    pub(crate) fn aside(format: NativeFormat, record_type: Option<&str>) -> Self {
        let record = NativeRecord {
            agent: format.as_str().into(),
            record_type: record_type.map(Into::into),
            unknown: tertulia_session::Fields::NONE,
        };
        Self { parent: Parent::Aside, ..Self::new(EntryKind::NativeRecord(record)) }
    }

    /// Adds a problem; the first one counts.
    pub(crate) fn with_problem(mut self, problem: ProblemKind) -> Self {
        self.problem.get_or_insert(problem);
        self
    }
}

/// Creates the summary that an agent wrote when it compacted its context.
pub(crate) fn native_summary(
    format: NativeFormat,
    text: impl Into<Box<str>>,
    first_kept: EntryId,
) -> CompactionSummary {
    CompactionSummary {
        strategy: Some("native".into()),
        author: Some(format.as_str().into()),
        ..CompactionSummary::new(text, first_kept)
    }
}

/// The speakers of a session of one agent: the agent and its user.
#[derive(Clone, Debug)]
pub(crate) struct Speakers {
    pub agent: Arc<Speaker>,
    pub user: Arc<Speaker>,
}

impl Speakers {
    pub(crate) fn new(format: NativeFormat) -> Self {
        Self {
            agent: Arc::new(Speaker::new(format.as_str(), format.agent_name(), SpeakerType::Ai)),
            user: Arc::new(Speaker::new("user", "User", SpeakerType::Human)),
        }
    }

    /// Creates a message: an assistant's is the agent's, a user's with text is the user's.
    pub(crate) fn message(&self, role: Role, parts: impl IntoIterator<Item = Part>) -> Message {
        let parts: Parts = parts.into_iter().collect();
        let speaker = match role {
            Role::Assistant => Some(Arc::clone(&self.agent)),
            Role::User => Some(Arc::clone(&self.user)),
            Role::System | Role::Tool => None,
        };
        Message { speaker, ..Message::with_role(role, parts) }
    }
}
