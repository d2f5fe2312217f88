//! Events of a session as messages of the host, and back.

use super::{HostMessage, StoredEntry};
use crate::SessionEvent;

impl HostMessage {
    /// Returns the message for an event. A refusal has none: it concerns only the person who sent the command.
    pub fn from_event(event: &SessionEvent) -> Option<Self> {
        Some(match event.clone() {
            SessionEvent::Stored(entry) => Self::Stored { entry: StoredEntry(entry) },
            SessionEvent::Fed { turn, member } => Self::Fed { turn, member },
            SessionEvent::Text { turn, member, text } => {
                Self::Text { turn, member, text: text.into() }
            }
            SessionEvent::TextEnd { turn, member } => Self::TextEnd { turn, member },
            SessionEvent::TextWithdrawn { turn, member } => Self::TextWithdrawn { turn, member },
            SessionEvent::Note(note) => Self::Note { note },
            SessionEvent::Asked(question) => Self::Asked { question },
            SessionEvent::Permission { number, member, request } => {
                Self::Permission { request: number, member, asks: request }
            }
            SessionEvent::Rested => Self::Rested,
            SessionEvent::Refused(_) => return None,
        })
    }

    /// Returns the event of a message, or the message if it is no event.
    pub fn into_event(self) -> Result<SessionEvent, Self> {
        Ok(match self {
            Self::Stored { entry } => SessionEvent::Stored(entry.0),
            Self::Fed { turn, member } => SessionEvent::Fed { turn, member },
            Self::Text { turn, member, text } => {
                SessionEvent::Text { turn, member, text: text.into() }
            }
            Self::TextEnd { turn, member } => SessionEvent::TextEnd { turn, member },
            Self::TextWithdrawn { turn, member } => SessionEvent::TextWithdrawn { turn, member },
            Self::Note { note } => SessionEvent::Note(note),
            Self::Asked { question } => SessionEvent::Asked(question),
            Self::Permission { request, member, asks } => {
                SessionEvent::Permission { number: request, member, request: asks }
            }
            Self::Rested => SessionEvent::Rested,
            other => return Err(other),
        })
    }
}
