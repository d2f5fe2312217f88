//! A message on its way to a model: one of the log, borrowed, or one that a build made. Two words wide,
//! since every stage hands all of them on.

use std::ops::Deref;

use tertulia_session::Message;

/// A message of the log, or one that was made from something else.
#[derive(Clone, Debug)]
pub enum MessageRef<'a> {
    Said(&'a Message),
    /// As a member reads it: with its markers taken out, and labelled where somebody else said it.
    Read(Box<Message>),
    /// The system message, a summary, a stub, a result that was made up and the like.
    Made(Box<Message>),
}

impl MessageRef<'_> {
    /// A message that was made.
    pub fn made(message: Message) -> Self {
        Self::Made(Box::new(message))
    }

    /// Tells whether it was made, or changed on the way in more than how a member reads it.
    pub fn is_made(&self) -> bool {
        matches!(self, Self::Made(_))
    }

    /// The message for good.
    pub fn into_owned(self) -> Message {
        match self {
            Self::Said(message) => message.clone(),
            Self::Read(message) | Self::Made(message) => *message,
        }
    }
}

impl Deref for MessageRef<'_> {
    type Target = Message;

    fn deref(&self) -> &Message {
        match self {
            Self::Said(message) => message,
            Self::Read(message) | Self::Made(message) => message,
        }
    }
}

/// By what they say, wherever they come from.
impl PartialEq for MessageRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for MessageRef<'_> {}
