//! Helpers of these tests: read and write messages as programs do, from and to JSON text.

use tertulia_session::json;
use tertulia_session::record::{
    ConversationMessageRecord, MessageError, MessageRecord, read_conversation_message, read_message,
};
use tertulia_session::{ConversationMessage, Message};

/// Reads a message; the text must be JSON.
pub(crate) fn read(text: &str) -> Result<Message, MessageError> {
    read_message(json::parse(text).unwrap())
}

/// Reads a message with its id; the text must be JSON.
pub(crate) fn read_with_id(text: &str) -> Result<ConversationMessage, MessageError> {
    read_conversation_message(json::parse(text).unwrap())
}

pub(crate) fn write(message: &Message) -> String {
    serde_json::to_string(&MessageRecord(message)).unwrap()
}

pub(crate) fn write_with_id(message: &ConversationMessage) -> String {
    serde_json::to_string(&ConversationMessageRecord(message)).unwrap()
}

/// Checks that a text is read and how it is written, and that reading the result again changes nothing.
#[track_caller]
pub(crate) fn check(text: &str, written: &str) {
    let message = read(text).unwrap();
    assert_eq!(write(&message), written);
    assert_eq!(read(written).unwrap(), message);
}

/// Checks that a text is written exactly as it was read.
#[track_caller]
pub(crate) fn check_same(text: &str) {
    check(text, text);
}

/// Checks the error for a text that is not a message.
#[track_caller]
pub(crate) fn check_error(text: &str, sentence: &str) {
    assert_eq!(read(text).unwrap_err().to_string(), sentence, "{text}");
}

/// Returns a message of Ann with more fields after the usual ones.
pub(crate) fn ann_with(more: &str) -> String {
    format!(r#"{{"content":"hi","speaker":{{"roleId":"ann","roleName":"Ann"}},{more}}}"#)
}
