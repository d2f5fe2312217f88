//! What of a session's log a team's conversation can hold: who said which words. Used where a stored session
//! becomes a prompt or a snapshot; decides nothing about windows.

use std::sync::Arc;

use tertulia_session::{
    ConversationMessage, Entry, EntryKind, Message, MessageId, Part, Parts, Role, Speaker,
    SpeakerType,
};

/// An entry in the eyes of a team's conversation.
pub enum Spoken {
    /// A message, and how many of its parts were left out: calls of tools, pictures, thinking.
    Said(Box<ConversationMessage>, usize),
    /// A message without words.
    Wordless,
    /// Something that was redacted.
    Hidden,
    /// The team's task from here on.
    Task(Option<Box<str>>),
    /// Nothing that is said: settings, cuts, figures.
    Silent,
}

/// What is left of an entry. In a store what is redacted is purged, so its text cannot get here.
impl From<Entry> for Spoken {
    fn from(entry: Entry) -> Self {
        let time = entry.timestamp;
        match entry.kind {
            EntryKind::Message(mut message) => {
                let all = message.parts.len();
                message.parts.retain(|part| Part::as_text(part).is_some());
                if message.parts.is_empty() {
                    return Self::Wordless;
                }
                let left_out = all - message.parts.len();
                if message.parts.len() > 1 {
                    message.parts = Parts::from([Part::text(message.text())]);
                }
                if message.speaker.is_none() {
                    message.speaker = Some(Arc::new(speaker_of(message.effective_role())));
                }
                message.timestamp = message.timestamp.take().or(time);
                let id = MessageId::from(entry.id.as_str());
                Self::Said(Box::new(ConversationMessage { id, message }), left_out)
            }
            EntryKind::Purged(_) => Self::Hidden,
            EntryKind::TeamTask(task) => Self::Task(task.task),
            _ => Self::Silent,
        }
    }
}

/// A message of a model's log has a role and no speaker; a conversation needs one.
fn speaker_of(role: Role) -> Speaker {
    let kind = match role {
        Role::User => SpeakerType::Human,
        Role::Assistant => SpeakerType::Ai,
        Role::System | Role::Tool => SpeakerType::System,
    };
    Speaker::new(role.as_str(), role.as_str(), kind)
}

/// Who said a message, for people.
pub fn name_of(message: &Message) -> &str {
    match message.speaker.as_deref() {
        Some(speaker) => &speaker.role_name,
        None => message.effective_role().as_str(),
    }
}
