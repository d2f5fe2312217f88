//! A message on its way to a model: where it comes from, what it says, and with which others it stays together.

use std::ops::{Deref, Range};

use tertulia_session::{Message, PartKind, Role};

/// The index of an entry in the log. Messages that arrived come behind the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogIndex(pub usize);

/// The index of a message in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WindowIndex(pub(super) usize);

/// A message on its way to a model, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// Its entry; for a result that was made up, that of its call.
    pub entry: LogIndex,
    pub message: MessageRef<'a>,
    /// Whether it stays from before a cut.
    pub is_before: bool,
    /// Whether it is not what the entry says, but what was mended or made up.
    pub is_mended: bool,
}

impl<'a> Item<'a> {
    /// A message as its entry says it.
    pub fn new(entry: LogIndex, message: MessageRef<'a>) -> Self {
        Self { entry, message, is_before: false, is_mended: false }
    }
}

/// A message of the log, or one that was made from something else. Two words wide, since every stage hands all of
/// them on.
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

/// Messages that stay together: a cut falls between units. An answer with tool calls and the results behind it stay
/// together; so does everything inside one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Their window indexes.
    pub items: Range<usize>,
    /// Whether the newest request is among them.
    pub is_request: bool,
    pub is_pinned: bool,
    pub is_newest: bool,
}

impl Unit {
    /// Whether they have to be sent whatever is cut.
    pub fn is_must(&self) -> bool {
        self.is_request || self.is_pinned || self.is_newest
    }
}

/// Whether a message calls a tool.
pub(super) fn has_calls(message: &Message) -> bool {
    message.parts.iter().any(|part| matches!(part.kind, PartKind::ToolCall(_)))
}

/// The units of a list that [`repair`](super::repair()) mended, in order: together they are the list.
pub fn units(items: &[Item<'_>]) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::with_capacity(items.len());
    let mut in_calls = false;
    for (at, item) in items.iter().enumerate() {
        let follows_call = in_calls && item.message.effective_role() == Role::Tool;
        match units.last_mut() {
            Some(unit) if follows_call => unit.items.end = at + 1,
            _ => {
                let items = at..at + 1;
                units.push(Unit { items, is_request: false, is_pinned: false, is_newest: false });
                in_calls = has_calls(&item.message);
            }
        }
    }
    units
}
