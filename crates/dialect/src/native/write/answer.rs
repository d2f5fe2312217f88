//! Splits an answer so that every agent can continue it. An answer must not end with thinking. A call without a
//! result ends an answer, because some agents send the texts of an answer before its calls.

use std::cmp::Ordering;

use tertulia_session::{Part, PartKind};

use crate::normalize::{Answer, Call, MessageParts};

/// An answer, split.
#[derive(Debug)]
pub(super) struct SplitAnswer<'c, 'a> {
    pub pieces: Vec<AnswerPiece<'c, 'a>>,
    /// The calls whose results follow the last piece.
    pub calls: &'c [Call<'a>],
}

/// The part of an answer that comes from one message.
#[derive(Debug)]
pub(super) struct AnswerPiece<'c, 'a> {
    /// Calls before it that have no result. The text after them is another answer.
    pub open: &'c [Call<'a>],
    pub message_parts: &'c MessageParts<'a>,
    /// The number of parts up to the last text or call. Thinking is written only up to there, because something
    /// follows it.
    pub thinks_until: usize,
}

impl<'c, 'a> SplitAnswer<'c, 'a> {
    pub(super) fn new(answer: &'c Answer<'a>) -> Self {
        let (mut begun, mut closed) = (0, 0);
        let last = answer.messages.iter().rposition(|message_parts| words_end(message_parts) > 0);
        let piece = |(at, message_parts): (usize, &'c MessageParts<'a>)| {
            let waiting = answer.calls.get(closed..begun).unwrap_or_default();
            let is_open =
                has_text(message_parts) && waiting.iter().all(|call| call.result.is_none());
            let open = if is_open { waiting } else { &[] };
            closed += open.len();
            begun += message_parts.parts.iter().filter(|part| is_call(part)).count();
            let thinks_until = match Some(at).cmp(&last) {
                Ordering::Less => message_parts.parts.len(),
                Ordering::Equal => words_end(message_parts),
                Ordering::Greater => 0,
            };
            AnswerPiece { open, message_parts, thinks_until }
        };
        let pieces = answer.messages.iter().enumerate().map(piece).collect();
        Self { pieces, calls: answer.calls.get(closed..).unwrap_or_default() }
    }
}

/// Returns the number of parts up to the last text or call.
fn words_end(message_parts: &MessageParts<'_>) -> usize {
    let is_said =
        |part: &Part| is_text(part) || is_call(part) || matches!(part.kind, PartKind::FileRef(_));
    message_parts.parts.iter().rposition(is_said).map_or(0, |at| at + 1)
}

fn has_text(message_parts: &MessageParts<'_>) -> bool {
    message_parts.parts.iter().any(is_text)
}

fn is_text(part: &Part) -> bool {
    part.as_text().is_some_and(|text| !text.trim().is_empty())
}

fn is_call(part: &Part) -> bool {
    matches!(part.kind, PartKind::ToolCall(_))
}
