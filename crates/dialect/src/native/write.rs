//! Writes a conversation as a session of an agent, in the format that the agent's own resume command reads. Also
//! reports what became of every part of every message.
//!
//! `steps` puts the messages into an order that all agents accept. The file of each format writes the steps as its
//! records. Ids are derived from the session and the source entries, so the same conversation gives the same bytes.
//! They also distinguish the written records from those that the agent adds later.

mod answer;
mod claude;
mod codex;
mod copilot;
mod digest;
mod exchange;
mod gemini;
mod lines;
mod opencode;
mod outcome;
mod parts;
mod pi;
mod sha256;
mod steps;
mod turns;

use tertulia_session::{EntryId, Message, Timestamp, derived_uuid};

use super::NativeFormat;
use steps::{Profile, Steps};

pub(super) use codex::OURS;
pub use codex::codex_file;
pub use digest::{added_digests, digests};
pub(super) use opencode::NO_MODEL;
pub use outcome::{ItemOutcome, PartOutcome, part_bytes};

/// A conversation to write.
#[derive(Clone, Debug)]
pub struct WriteRequest<'a> {
    /// The id of the agent's session, see [`native_session_id`].
    pub session_id: &'a str,
    pub title: Option<&'a str>,
    /// The folder in which the agent will work.
    pub folder: &'a str,
    /// The model that the agent should use; `None` leaves it to the agent.
    pub model: Option<&'a str>,
    /// The messages to write, oldest first.
    pub messages: &'a [WriteMessage<'a>],
    /// The time of the last record. No record is later.
    pub now: Timestamp,
    /// The end of an existing session, to which the messages are added.
    pub continues: Option<Continuation>,
}

/// A message to write.
#[derive(Clone, Copy, Debug)]
pub struct WriteMessage<'a> {
    /// The entry from which the message comes.
    pub source: &'a EntryId,
    pub message: &'a Message,
    pub timestamp: Option<&'a Timestamp>,
}

/// The end of an existing session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Continuation {
    /// The agent's id of the last record of the current branch.
    pub last_record_id: Option<Box<str>>,
    /// Number of records of the main file.
    pub records: u64,
    pub last_timestamp: Option<Timestamp>,
}

/// A session as an agent's records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The new records: lines to append, or a whole document if [`Self::is_document`].
    pub text: String,
    /// Whether the text is a document for the agent's import command instead of lines.
    pub is_document: bool,
    /// Number of new records.
    pub records: u64,
    pub last_record_id: Option<Box<str>>,
    /// The outcomes, one for every part of every message, in order.
    pub items: Vec<ItemOutcome>,
}

/// The reason why a session cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    #[error(
        "sessions of {} can be read but not written; write for one of these: claude, codex, gemini, opencode, \
         copilot, pi", .format.agent_name()
    )]
    NotWritable { format: NativeFormat },
    #[error("there is nothing to write: no message has content")]
    Empty,
}

impl NativeFormat {
    /// Returns whether sessions of this agent can be written.
    pub fn is_writable(self) -> bool {
        match self {
            Self::Claude
            | Self::Codex
            | Self::Gemini
            | Self::Opencode
            | Self::Copilot
            | Self::Pi => true,
            Self::Goose | Self::Cline | Self::Aider => false,
        }
    }
}

/// Writes a conversation as a session of this agent.
pub fn write(format: NativeFormat, request: &WriteRequest<'_>) -> Result<Written, WriteError> {
    let profile = match format {
        NativeFormat::Claude => claude::profile(request),
        NativeFormat::Gemini => &gemini::PROFILE,
        NativeFormat::Copilot => &copilot::PROFILE,
        NativeFormat::Codex => &Profile::COMMON,
        NativeFormat::Opencode | NativeFormat::Pi => &Profile::OF_ANY_API,
        NativeFormat::Goose | NativeFormat::Cline | NativeFormat::Aider => {
            return Err(WriteError::NotWritable { format });
        }
    };
    let messages: Vec<&Message> = request.messages.iter().map(|one| one.message).collect();
    let steps = Steps::new(request, &messages, profile);
    if steps.steps.is_empty() {
        return Err(WriteError::Empty);
    }
    let mut written = match format {
        NativeFormat::Claude => claude::write(request, &steps),
        NativeFormat::Codex => codex::write(request, &steps),
        NativeFormat::Gemini => gemini::write(request, &steps),
        NativeFormat::Opencode => opencode::write(request, &steps),
        NativeFormat::Copilot => copilot::write(request, &steps),
        NativeFormat::Pi | NativeFormat::Goose | NativeFormat::Cline | NativeFormat::Aider => {
            pi::write(request, &steps)
        }
    };
    written.items = steps.outcomes;
    Ok(written)
}

/// Returns the id of an agent's session that is written from one of our sessions. The `number` distinguishes several
/// of them. The same input gives the same id, so the session is recognised later.
pub fn native_session_id(format: NativeFormat, our_session: &str, number: u32) -> String {
    let uuid = derived_uuid(&["session", format.as_str(), our_session, &number.to_string()]);
    match format {
        NativeFormat::Opencode => format!("ses_{}", uuid.replace('-', "")),
        _ => uuid,
    }
}

/// Returns the id of a record that is written for an entry, as a UUID. The `number` distinguishes several records of
/// one entry.
pub fn native_record_id(native_session: &str, source: &EntryId, number: usize) -> String {
    derived_uuid(&["record", native_session, source.as_str(), &number.to_string()])
}
