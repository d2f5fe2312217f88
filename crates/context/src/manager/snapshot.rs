//! Exports and imports the state of a conversation as one value. A snapshot is read and checked as a whole before
//! the old state changes.

use std::sync::Arc;

use tertulia_session::json::RawValue;
use tertulia_session::json::{self, FieldError, Json, Kind, Object, SyntaxError, elements};
use tertulia_session::record::{MessageError, read_conversation_message};
use tertulia_session::{ConversationMessage, Fields};

use super::{ContextManager, check_speaker};
use crate::conversation::Conversation;

/// The state of a conversation at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextSnapshot {
    /// The messages, oldest first.
    pub messages: Vec<Arc<ConversationMessage>>,
    pub team_task: Option<String>,
    /// The time of the snapshot in milliseconds since 1970, or any value that another program wrote.
    pub timestamp: Option<Json>,
    pub unknown: Fields,
}

/// The error of an invalid snapshot. The text is always the same; the cause has the details.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Invalid snapshot format")]
pub struct SnapshotError {
    #[source]
    pub cause: SnapshotProblem,
}

/// A problem in a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotProblem {
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error("version must be the number 1; got {got}")]
    Version { got: String },
    #[error("messages[{index}]: {error}")]
    Message { index: usize, error: MessageError },
}

impl ContextSnapshot {
    /// Reads a snapshot.
    pub fn parse(json: &str) -> Result<Self, SnapshotError> {
        Self::read(json::parse(json).map_err(|error| SnapshotError { cause: error.into() })?)
    }

    /// Reads a snapshot from a JSON value.
    pub fn read(raw: &RawValue) -> Result<Self, SnapshotError> {
        Self::read_fields(raw).map_err(|cause| SnapshotError { cause })
    }

    fn read_fields(raw: &RawValue) -> Result<Self, SnapshotProblem> {
        let mut object = Object::try_from(raw).map_err(|error| error.within("the snapshot"))?;
        check_version(object.take("version"))?;
        let messages = object.need("messages", "a list of messages")?;
        let messages = elements(messages).map_err(|error| error.within("messages"))?;
        let read = |(index, raw)| match read_conversation_message(raw) {
            Ok(message) => Ok(Arc::new(message)),
            Err(error) => Err(SnapshotProblem::Message { index, error }),
        };
        let messages = messages.into_iter().enumerate().map(read).collect::<Result<_, _>>()?;
        Ok(Self {
            messages,
            team_task: object.take_text("teamTask")?,
            timestamp: object.take_some("timestamp").map(Json::from),
            unknown: object.rest(),
        })
    }
}

impl ContextManager {
    /// Returns the state as one value that shares the messages. This crate has no clock, so the caller passes the
    /// time.
    pub fn export_snapshot(&self, now_millis: i64) -> ContextSnapshot {
        ContextSnapshot {
            messages: self.get_messages(),
            team_task: self.team_task.clone(),
            timestamp: Json::parse(&now_millis.to_string()).ok(),
            unknown: self.unknown.clone(),
        }
    }

    /// Replaces the state by that of a snapshot. An invalid snapshot changes nothing.
    ///
    /// No message hook is called. If there is a cap, the messages beyond it are archived, oldest first.
    pub fn import_snapshot(&mut self, snapshot: ContextSnapshot) -> Result<(), SnapshotError> {
        for (index, message) in snapshot.messages.iter().enumerate() {
            let cause = |error| SnapshotProblem::Message { index, error };
            check_speaker(&message.message)
                .map_err(|error| SnapshotError { cause: cause(error) })?;
        }
        self.conversation = Conversation::from_messages(snapshot.messages);
        self.unknown = snapshot.unknown;
        let team_task = snapshot.team_task.map(|task| self.limited_task(task));
        self.change_team_task(team_task);
        self.archive_beyond_cap();
        Ok(())
    }
}

fn check_version(version: Option<&RawValue>) -> Result<(), SnapshotProblem> {
    let Some(raw) = version else {
        return Err(FieldError::missing("version", "the number 1").into());
    };
    if Kind::from(raw) == Kind::Number && raw.get().parse() == Ok(1.0) {
        return Ok(());
    }
    Err(SnapshotProblem::Version { got: raw.get().chars().take(40).collect() })
}
