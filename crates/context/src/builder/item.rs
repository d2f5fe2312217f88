//! A message of a build: its origin, its content, and the messages that must stay together with it.

use std::ops::{Deref, Range};

use tertulia_session::{Message, PartKind, Role};

/// The index of an entry in the log. The indexes of new messages follow those of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogIndex(pub usize);

/// The index of a message in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WindowIndex(pub(super) usize);

/// A message of a build, and the entry that it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// Its entry; for a result that was made up, the entry of its call.
    pub entry: LogIndex,
    pub message: MessageRef<'a>,
    /// Whether it was kept from before a cut.
    pub is_before: bool,
    /// Whether it was repaired or made up, so that it differs from its entry.
    pub is_repaired: bool,
}

impl<'a> Item<'a> {
    /// Creates an item with the message of its entry.
    pub fn new(entry: LogIndex, message: MessageRef<'a>) -> Self {
        Self { entry, message, is_before: false, is_repaired: false }
    }
}

/// A message of the log, or one that was made from something else. It is only two words large, because all stages
/// pass it on.
#[derive(Clone, Debug)]
pub enum MessageRef<'a> {
    Logged(&'a Message),
    /// The message as a member reads it: without markers, and with a label if somebody else said it.
    ForMember(Box<Message>),
    /// A message that was made: the system message, a summary, a stub, a result that was made up and the like.
    Generated(Box<Message>),
}

impl MessageRef<'_> {
    /// Wraps a message that was made.
    pub fn generated(message: Message) -> Self {
        Self::Generated(Box::new(message))
    }

    /// Returns whether the message was made. A message that only differs by a member's perspective was not.
    pub fn is_generated(&self) -> bool {
        matches!(self, Self::Generated(_))
    }

    /// Returns an owned message.
    pub fn into_owned(self) -> Message {
        match self {
            Self::Logged(message) => message.clone(),
            Self::ForMember(message) | Self::Generated(message) => *message,
        }
    }
}

impl Deref for MessageRef<'_> {
    type Target = Message;

    fn deref(&self) -> &Message {
        match self {
            Self::Logged(message) => message,
            Self::ForMember(message) | Self::Generated(message) => message,
        }
    }
}

/// Messages are equal if their content is, whatever their origin.
impl PartialEq for MessageRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for MessageRef<'_> {}

/// Messages that stay together: a cut is always between two units. An answer with tool calls forms a unit with the
/// results after it. A single message is never divided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The indexes of its messages in the window.
    pub items: Range<usize>,
    /// Whether the newest request is one of them.
    pub is_request: bool,
    pub is_pinned: bool,
    pub is_newest: bool,
}

impl Unit {
    /// Returns whether the unit must be sent, whatever is cut.
    pub fn is_required(&self) -> bool {
        self.is_request || self.is_pinned || self.is_newest
    }
}

/// Returns whether a message calls a tool.
pub(super) fn has_calls(message: &Message) -> bool {
    message.parts.iter().any(|part| matches!(part.kind, PartKind::ToolCall(_)))
}

/// Divides a list that [`repair`](super::repair()) has repaired into units, in order.
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
