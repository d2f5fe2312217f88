//! The protocol between the process that runs a session, the host, and processes that joined it, the clients. Pure: it
//! turns messages into lines of JSON and back. The chat crate has the socket.
//!
//! Every line is one JSON object with a `type`. A client first sends [`ClientMessage::Hello`]; the host answers with
//! [`HostMessage::Welcome`] and then sends every event. The welcome names the newest stored entry: the client reads the
//! log up to it from the store, and every later entry comes from the host. So no entry is missing or comes twice.
//! Requests of a client have numbers, and [`HostMessage::Done`] confirms each.
//!
//! Within a version, messages and fields may be added: a client ignores what it does not know. A host refuses messages
//! that it does not know, because a person waits for their effect. A new note or question needs a new version.

mod event;
mod field;
mod lines;
mod variants;

use tertulia_agent::PermissionAnswer;
use tertulia_session::EntryId;
use tertulia_session::json::{self, FieldError, Object, SyntaxError};

use crate::{Note, PermissionNumber, PermissionRequest, Question};
use field::Writer;
pub use lines::LineBuffer;
use variants::{Variants, variants};

/// The version of the protocol.
pub const VERSION: u32 = 2;
/// The maximum length of a line, without its line break.
pub const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A message of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientMessage {
    /// The first message. `folder` is the working folder of the client, and `speaker` the person of `--as`.
    Hello { version: u32, session: Box<str>, folder: Box<str>, speaker: Option<Box<str>> },
    /// Send a message of the person.
    Say { number: u64, text: Box<str> },
    /// Execute a command of the chat, such as `/why`.
    Command { number: u64, text: Box<str> },
    /// Cancel the running turn.
    Cancel { number: u64 },
    /// Continue paused turns.
    Continue { number: u64 },
    /// Retry a turn.
    Repeat { number: u64, turn: EntryId },
    /// Summarise the messages so far.
    Compact { number: u64 },
    /// Answer a permission request. Ignored if somebody else has answered it.
    Permit { number: u64, request: PermissionNumber, answer: PermissionAnswer },
    /// Ask whether a turn is running.
    Status { number: u64 },
}

/// A message of the host.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum HostMessage {
    /// The answer to [`ClientMessage::Hello`]. `tail` is the newest entry that is stored; later ones follow. `running` are
    /// the turns that are running; their output so far follows.
    Welcome {
        version: u32,
        session: Box<str>,
        process: u32,
        tail: Option<EntryId>,
        running: Vec<EntryId>,
    },
    /// An entry was stored.
    Stored {
        entry: StoredEntry,
    },
    /// An entry was stored that is too long for a line. The client reads it from the store.
    StoredLong {
        entry: EntryId,
    },
    Fed {
        turn: EntryId,
        member: Box<str>,
    },
    Text {
        turn: EntryId,
        member: Box<str>,
        text: Box<str>,
    },
    TextEnd {
        turn: EntryId,
        member: Box<str>,
    },
    TextWithdrawn {
        turn: EntryId,
        member: Box<str>,
    },
    Note {
        note: Note,
    },
    Asked {
        question: Question,
    },
    Permission {
        request: PermissionNumber,
        member: Box<str>,
        asks: PermissionRequest,
    },
    Rested,
    /// The output of a command, for the client that sent it.
    Lines {
        number: u64,
        lines: Vec<StyledLine>,
    },
    /// A request had no effect. `needs_person`: a person must decide something first. `is_closing`: the host is closing
    /// the session, so another process can execute the request afterwards.
    Refused {
        number: u64,
        text: Box<str>,
        needs_person: bool,
        is_closing: Option<bool>,
    },
    Status {
        number: u64,
        runs: bool,
    },
    /// The command forked the session, and the conversation of this client continues in the new one.
    Forked {
        number: u64,
        session: Box<str>,
    },
    /// The request with this number was executed, and everything that it stored was sent.
    Done {
        number: u64,
    },
    /// The host closes the connection.
    Bye {
        reason: ByeReason,
        text: Box<str>,
    },
}

/// The reason why a host closes a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByeReason {
    /// The host has ended.
    Ended,
    /// The client did not read fast enough. It can join again, and the log has everything that it missed.
    Behind,
    /// The client sent something that the host does not understand, or too much of it.
    Refused,
}

/// An entry in a message.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredEntry(pub std::sync::Arc<tertulia_session::Entry>);

/// A line of text for people: pieces, each with the name of its style.
pub type StyledLine = Vec<(Box<str>, Box<str>)>;

/// A line that is not a message of this protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    #[error("a line is longer than {LINE_BYTES_MAX} bytes")]
    TooLong,
    #[error("a line is not UTF-8")]
    NotUtf8,
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// Another program, or a later version, may know it.
    #[error("a message of the unknown type {0:?}")]
    UnknownType(Box<str>),
    #[error(transparent)]
    Field(#[from] FieldError),
}

variants! { ClientMessage:
    Hello = "hello" { version = "version", session = "session", folder = "folder", speaker = "as" }
    Say = "say" { number = "number", text = "text" }
    Command = "command" { number = "number", text = "text" }
    Cancel = "cancel" { number = "number" }
    Continue = "continue" { number = "number" }
    Repeat = "repeat" { number = "number", turn = "turn" }
    Compact = "compact" { number = "number" }
    Permit = "permit" { number = "number", request = "request", answer = "answer" }
    Status = "status" { number = "number" }
}

variants! { HostMessage:
    Welcome = "welcome" { version = "version", session = "session", process = "process", tail = "tail", running = "running" }
    Stored = "stored" { entry = "entry" }
    StoredLong = "storedLong" { entry = "entry" }
    Fed = "fed" { turn = "turn", member = "member" }
    Text = "text" { turn = "turn", member = "member", text = "text" }
    TextEnd = "textEnd" { turn = "turn", member = "member" }
    TextWithdrawn = "textWithdrawn" { turn = "turn", member = "member" }
    Note = "note" { note = "note" }
    Asked = "asked" { question = "question" }
    Permission = "permission" { request = "request", member = "member", asks = "asks" }
    Rested = "rested" {}
    Lines = "lines" { number = "number", lines = "lines" }
    Refused = "refused" { number = "number", text = "text", needs_person = "needsPerson", is_closing = "isClosing" }
    Status = "status" { number = "number", runs = "runs" }
    Forked = "forked" { number = "number", session = "session" }
    Done = "done" { number = "number" }
    Bye = "bye" { reason = "reason", text = "text" }
}

impl ClientMessage {
    /// Returns the message as a line without its line break.
    pub fn to_line(&self) -> String {
        line_of(self)
    }

    /// Reads a line.
    pub fn read(line: &str) -> Result<Self, WireError> {
        read_line(line)
    }
}

impl HostMessage {
    /// Returns the message as a line without its line break. An entry that is too long for a line is replaced by its id,
    /// and any other message by a refusal.
    pub fn to_line(&self) -> String {
        let line = line_of(self);
        if line.len() <= LINE_BYTES_MAX {
            return line;
        }
        let text = "the answer is too long to be sent to another process".into();
        line_of(&match self {
            Self::Stored { entry } => Self::StoredLong { entry: entry.0.id.clone() },
            _ => Self::Refused { number: 0, text, needs_person: false, is_closing: None },
        })
    }

    /// Reads a line.
    pub fn read(line: &str) -> Result<Self, WireError> {
        read_line(line)
    }
}

fn line_of(message: &impl Variants) -> String {
    let mut writer = Writer::default();
    message.write_object("type", &mut writer);
    writer.into_text()
}

fn read_line<M: Variants>(line: &str) -> Result<M, WireError> {
    let mut object = Object::try_from(json::parse(line)?)?;
    let name = object.need_text("type")?;
    M::read_fields(&name, &mut object)?.ok_or_else(|| WireError::UnknownType(name.into()))
}

#[cfg(test)]
mod tests;
