//! The content of one record after the reader of its format has read it. [`super::reader`] turns it into entries.

use std::borrow::Cow;
use std::sync::Arc;

use tertulia_session::{
    CompactionSummary, EntryId, EntryKind, Fields, Message, NativeRecord, Part, Parts, Role,
    Speaker, SpeakerType, Timestamp,
};

use super::{NativeFormat, ProblemKind};

/// A record after its format has read it.
#[derive(Debug)]
pub(crate) struct Item {
    /// The agent's id of the record, which is unique within the session. `None` if it has none.
    pub id: Option<Box<str>>,
    pub parent: Parent,
    pub timestamp: Option<Timestamp>,
    /// The first entry, which keeps the text of the record.
    pub kind: EntryKind,
    /// Further entries, after the first one. They must not contain text that the first one does not contain, because
    /// a redaction of the first entry does not remove their text.
    pub more: Vec<EntryKind>,
    /// Whether the record belongs to the conversation of a sub-agent. Such a record does not continue the current
    /// branch.
    pub is_side: bool,
    pub problem: Option<ProblemKind>,
}

/// The parent of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Parent {
    /// The previous record in the same file.
    Previous,
    /// The record with this id of the agent, or a further entry `id#number` of a record.
    Id(Box<str>),
    /// None: the record starts a branch.
    Root,
    /// The record is bookkeeping outside the conversation. It follows the previous record, and later records with
    /// [`Parent::Previous`] do not follow it.
    Outside,
}

impl Item {
    /// Creates an item that follows the previous record.
    pub(crate) fn new(kind: EntryKind) -> Self {
        let (id, parent, timestamp) = (None, Parent::Previous, None);
        Self { id, parent, timestamp, kind, more: Vec::new(), is_side: false, problem: None }
    }

    /// Creates an item for a record that is no message.
    pub(crate) fn non_message(format: NativeFormat, record_type: Option<&str>) -> Self {
        Self::record(format, record_type.map(|name| name.to_owned().into()))
    }

    /// Creates an item for a record that is no message, with a type that is known in advance.
    pub(crate) fn known_record(format: NativeFormat, record_type: &'static str) -> Self {
        Self::record(format, Some(record_type.into()))
    }

    fn record(format: NativeFormat, record_type: Option<Cow<'static, str>>) -> Self {
        let (agent, unknown) = (format.as_str().into(), Fields::NONE);
        let record = NativeRecord { agent, record_type, unknown };
        Self { parent: Parent::Outside, ..Self::new(EntryKind::NativeRecord(record)) }
    }

    /// Adds a problem. Only the first one is kept.
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

/// The speakers of a session: the agent and its user.
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

    /// Creates a message. The agent is the speaker of an assistant message, and the user is the speaker of a user
    /// message with text.
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
