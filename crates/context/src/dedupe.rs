//! Leaving out a context message that repeats the current one. A guard for agents that hand on what
//! they were told; people are never deduplicated.

use tertulia_session::{ConversationMessage, MessageId};

use crate::ContextMessage;

/// Whether the last message of the context repeats the current one.
///
/// Only an agent's message is looked at. The same id decides; else the same name and the same words,
/// both without markers.
pub(crate) fn repeats(
    last: &ContextMessage<'_>,
    last_id: &MessageId,
    current: &ConversationMessage,
    current_text: &str,
) -> bool {
    let Some(speaker) = current.message.speaker.as_deref().filter(|speaker| speaker.is_ai()) else {
        return false;
    };
    *last_id == current.id || (*last.from == *speaker.role_name && last.content == current_text)
}
