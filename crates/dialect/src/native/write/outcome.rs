//! The outcomes of the parts of messages when they were written as a session of an agent.

use tertulia_session::json::Json;
use tertulia_session::{ImageSource, Message, Part, PartKind};

/// The outcome of one part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemOutcome {
    /// The index of the message in the request.
    pub message: usize,
    /// The index of the part in the message.
    pub part: usize,
    /// The size of the part, see [`part_bytes`].
    pub bytes: u64,
    pub outcome: PartOutcome,
}

/// What became of a part, and the reason if it changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartOutcome {
    Kept,
    /// The part is complete, in another form.
    Reshaped {
        reason: &'static str,
    },
    /// Some of its content is missing.
    Shortened {
        /// The number of bytes that are left.
        kept: u64,
        reason: &'static str,
    },
    LeftOut {
        reason: &'static str,
    },
}

impl PartOutcome {
    /// Returns the more severe of two outcomes; the first one if they are equal.
    pub(super) fn or_worse(self, other: Self) -> Self {
        let rank = |outcome: &Self| match outcome {
            Self::Kept => 0,
            Self::Reshaped { .. } => 1,
            Self::Shortened { .. } => 2,
            Self::LeftOut { .. } => 3,
        };
        if rank(&other) > rank(&self) { other } else { self }
    }
}

/// Returns the size of a part: the bytes of its text, its arguments and its name, the JSON of its
/// result, or the data of its picture.
pub fn part_bytes(part: &Part) -> u64 {
    let length = match &part.kind {
        PartKind::Text(text) | PartKind::Thinking(text) => text.len(),
        PartKind::ToolCall(call) => {
            let arguments =
                call.raw_args_text.as_deref().map_or(call.arguments.as_str(), |raw| raw);
            call.tool_name.len() + arguments.len()
        }
        PartKind::ToolResult(result) => result.content.as_str().len(),
        PartKind::Image(image) => match &image.source {
            ImageSource::Data(data) | ImageSource::Url(data) => data.len(),
        },
        PartKind::FileRef(file) => file.path.len(),
        PartKind::Other(other) => {
            other.payload.as_ref().map_or(0, |json: &Json| json.as_str().len())
        }
    };
    length as u64
}

/// Returns outcomes that keep every part of every message.
pub(super) fn all_kept(messages: &[&Message]) -> Vec<ItemOutcome> {
    let of_message = |(message, one): (usize, &&Message)| {
        let parts = one.parts.iter().enumerate();
        let outcome = move |(part, content): (usize, &Part)| ItemOutcome {
            message,
            part,
            bytes: part_bytes(content),
            outcome: PartOutcome::Kept,
        };
        parts.map(outcome).collect::<Vec<_>>()
    };
    messages.iter().enumerate().flat_map(of_message).collect()
}
