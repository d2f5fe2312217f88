//! Sessions as files of other forms than the log: the snapshot of a conversation, and the session file of
//! agent-chatter. What they hold is the messages of one branch and the team's task. Pure: called with
//! texts and entries by the commands that import and export.

mod agent_chatter;
mod messages;

use tertulia_context::{ContextSnapshot, SnapshotError};
use tertulia_session::json::{self, FieldError, Json, Kind, Object, SyntaxError};
use tertulia_session::{Entry, Fields};
use tertulia_store::SessionId;

pub use agent_chatter::AgentChatterRecord;
pub use messages::{Branch, entries_of, name_of};

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A log, one entry per line.
    Log,
    Snapshot,
    /// A session file of agent-chatter.
    AgentChatter,
}

/// Why a document is no session.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// It is not JSON.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// A field of it cannot be read.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// It is no snapshot.
    #[error("{0}: {cause}", cause = .0.cause)]
    Snapshot(#[from] SnapshotError),
    /// The context of a session file is no snapshot.
    #[error("context is no snapshot: {cause}", cause = .0.cause)]
    Context(#[source] SnapshotError),
    /// A session file of another version.
    #[error("schemaVersion must be \"1.0\"; got {got}")]
    Version {
        /// Its version.
        got: String,
    },
    /// It is none of the known formats.
    #[error(
        "unrecognised file format; supported are a log of entries (id, type), a snapshot (messages, version) \
         and a session file of agent-chatter (schemaVersion, context); use --format to choose"
    )]
    Unknown,
}

/// A session that was read from a document.
#[derive(Debug)]
pub struct Document {
    /// The entries, each after the one before it.
    pub entries: Vec<Entry>,
    /// The id that it had, if it can be one here.
    pub id: Option<SessionId>,
}

impl Form {
    /// What a text looks like; `None` if it is not one JSON value. Of a log, one line is enough.
    pub fn of(text: &str) -> Option<Result<Self, DocumentError>> {
        let raw = json::parse(text).ok()?;
        let Ok(object) = Object::try_from(raw) else { return Some(Err(DocumentError::Unknown)) };
        let has = |name: &str| object.names().any(|one| one == name);
        Some(match (has("schemaVersion"), has("messages"), has("type") || has("id")) {
            (true, _, _) => Ok(Self::AgentChatter),
            (false, true, _) => Ok(Self::Snapshot),
            (false, false, true) => Ok(Self::Log),
            (false, false, false) => Err(DocumentError::Unknown),
        })
    }
}

impl Document {
    /// Reads a document; `None` for the form means whatever it looks like.
    pub fn read(text: &str, form: Option<Form>) -> Result<Self, DocumentError> {
        let raw = json::parse(text)?;
        let form = match form {
            Some(form) => form,
            None => Form::of(text).unwrap_or(Err(DocumentError::Unknown))?,
        };
        match form {
            Form::AgentChatter => agent_chatter::read(raw),
            Form::Snapshot => {
                let snapshot = ContextSnapshot::read(raw)?;
                let mut source = snapshot.unknown.clone();
                if let Some(timestamp) = &snapshot.timestamp {
                    source.push("timestamp", timestamp.clone());
                }
                let entries = entries_of(snapshot, "snapshot", &source);
                Ok(Self { entries, id: None })
            }
            Form::Log => Err(DocumentError::Unknown),
        }
    }
}

fn as_object(fields: &Fields) -> Json {
    let mut text = String::from("{");
    for (name, value) in fields.iter() {
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(Json::text(name).as_str());
        text.push(':');
        text.push_str(value.as_str());
    }
    text.push('}');
    // Names and values are JSON, so the whole is; the fallback is never needed.
    Json::parse(&text).unwrap_or_else(|_| Json::text(""))
}

/// The text of a field that may be anything.
fn text_of(value: Option<&Json>) -> Option<String> {
    let value = value.filter(|value| value.kind() == Kind::String)?;
    json::text(value.raw()).ok()
}
