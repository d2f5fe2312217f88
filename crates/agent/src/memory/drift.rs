//! The reasons why a native session cannot be continued.

use std::fmt;
use std::path::PathBuf;

/// The reason why the session that an agent keeps itself cannot be continued, so that its next turn has to start
/// fresh. The text is for people.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Drift {
    /// The file or the session does not exist any more.
    Missing {
        path: Option<PathBuf>,
    },
    Shortened {
        path: PathBuf,
    },
    /// A part that was known has changed.
    Edited {
        path: Option<PathBuf>,
    },
    /// Somebody else has added messages.
    Continued {
        messages: u64,
    },
    /// Somebody else has continued it from an earlier message.
    Forked,
    /// The agent has replaced its history by a summary.
    Compacted,
    /// The file belongs to another session, or the agent opened another one.
    OtherSession {
        found: Box<str>,
    },
    /// The agent's program was updated or replaced.
    OtherVersion,
    /// Settings of the member have changed, such as its model or its instructions.
    Settings {
        changed: Box<str>,
    },
    /// Another turn or program is using the session.
    Busy,
    /// The session existed only in a process, and that process has ended.
    ProcessEnded,
    Unreadable {
        path: Option<PathBuf>,
        reason: Box<str>,
    },
    /// The agent did not open the session. Nothing was sent to its model.
    Refused {
        reason: Box<str>,
    },
    /// The agent did not begin a session that it could keep. Nothing was sent to its model.
    NotBegun {
        reason: Box<str>,
    },
    /// The agent cannot continue sessions.
    Unsupported {
        reason: Box<str>,
    },
}

impl Drift {
    /// Returns a word for the log that does not change between versions.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "missing",
            Self::Shortened { .. } => "shortened",
            Self::Edited { .. } => "edited",
            Self::Continued { .. } => "continued",
            Self::Forked => "forked",
            Self::Compacted => "compacted",
            Self::OtherSession { .. } => "other_session",
            Self::OtherVersion => "other_version",
            Self::Settings { .. } => "settings",
            Self::Busy => "busy",
            Self::ProcessEnded => "process_ended",
            Self::Unreadable { .. } => "unreadable",
            Self::Refused { .. } => "refused",
            Self::NotBegun { .. } => "not_begun",
            Self::Unsupported { .. } => "unsupported",
        }
    }
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |path: &Option<PathBuf>| match path {
            Some(path) => format!("its own session ({})", path.display()),
            None => "its own session".to_owned(),
        };
        match self {
            Self::Missing { path } => write!(f, "{} does not exist any more", of(path)),
            Self::Shortened { path } => {
                write!(f, "its own session ({}) is shorter than before", path.display())
            }
            Self::Edited { path } => write!(f, "{} was changed", of(path)),
            Self::Continued { messages: 1 } => {
                f.write_str("somebody else added a message to its own session")
            }
            Self::Continued { messages } => {
                write!(f, "somebody else added {messages} messages to its own session")
            }
            Self::Forked => {
                f.write_str("somebody else continued its own session from an earlier message")
            }
            Self::Compacted => f.write_str("the agent replaced its own history by a summary"),
            Self::OtherSession { found } => {
                write!(f, "its own session is now another one ({found})")
            }
            Self::OtherVersion => f.write_str("its program was updated or replaced"),
            Self::Settings { changed } => write!(f, "its settings have changed: {changed}"),
            Self::Busy => f.write_str("its own session is in use"),
            Self::ProcessEnded => {
                f.write_str("its own session existed only in a process that has ended")
            }
            Self::Unreadable { path, reason } => write!(f, "{} cannot be read: {reason}", of(path)),
            Self::Refused { reason } => write!(f, "it did not open its own session: {reason}"),
            Self::NotBegun { reason } => write!(f, "it could not keep a session: {reason}"),
            Self::Unsupported { reason } => {
                write!(f, "it cannot continue its own session: {reason}")
            }
        }
    }
}

impl std::error::Error for Drift {}
