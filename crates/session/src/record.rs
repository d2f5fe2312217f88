//! The JSON format of messages and entries. It reads both spellings of speakers and addressees, writes the first
//! one, and keeps unknown fields. docs/session-record.md is its reference, and schema/entry-v2.schema.json is the
//! schema of an entry.
//!
//! ```json
//! {"id":"msg-1","content":"Hello","speaker":{"roleId":"ann","roleName":"Ann","type":"human"},
//!  "routing":{"resolvedAddressees":["max"]}}
//! ```
//!
//! A message that is more than one text also has `parts`. Its `content` then contains the text of the parts, for
//! readers that only support `content`.

mod entry;
pub(crate) mod field;
mod parts;
mod read;
mod write;

use crate::json::FieldError;

pub(crate) use entry::record_and_envelope;
pub use entry::{
    EntryReadError, EntryRecord, EnvelopeRecord, LineError, read_entry, read_entry_line,
    read_entry_message,
};
pub use read::{read_addressees, read_conversation_message, read_message};
pub use write::{ConversationMessageRecord, MessageRecord};

/// The reason why a value is not a message.
///
/// The first four texts never change, because callers compare them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    #[error("Message cannot be null or undefined")]
    Null,
    /// `content` is missing or not a string, and there are no `parts` either.
    #[error("Message content must be a string")]
    ContentNotString,
    #[error("Message speaker is required")]
    SpeakerMissing,
    #[error("Message speaker.roleId is required")]
    RoleIdMissing,
    #[error("Message {0}")]
    Field(#[from] FieldError),
}
