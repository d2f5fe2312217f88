//! The one budget stage of all formats. It works on the sizes of sections, never on finished text:
//! first the oldest messages of the context go, then the current message is cut, and what the system
//! and the team said is never touched.

/// What became of a prompt on its way into the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PromptStatus {
    /// Everything is in it.
    Fits,
    /// Messages of the context were left out, the oldest first.
    ContextTrimmed,
    /// No message of the context is in it, and the current one only in part.
    MessageTruncated,
    /// Not even a part of the current message is in it.
    MessageDropped,
    /// System text and team task alone are over the budget; they are kept whole.
    OverBudget,
}

/// The sizes of the sections of a prompt, headers included, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SectionBytes {
    /// The system text, in the prompt or apart from it.
    pub system: usize,
    /// The team task.
    pub team_task: usize,
    /// The messages of the context.
    pub context: usize,
    /// The current message.
    pub message: usize,
    /// The blank lines between sections.
    pub separators: usize,
}

/// Why a prompt that must hold its message as a whole cannot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the prompt does not fit: system text and team task take {fixed_bytes} bytes, the current \
     message {message_bytes}, the budget is {max_bytes}; raise maxBytes or shorten them"
)]
pub struct OverBudget {
    /// What would have become of it.
    pub status: PromptStatus,
    /// The budget.
    pub max_bytes: u64,
    /// System text and team task.
    pub fixed_bytes: usize,
    /// The current message with its header.
    pub message_bytes: usize,
}

/// The sizes that [`fit`] decides on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes<'a> {
    /// What travels apart from the prompt but counts.
    pub(crate) flag: usize,
    /// The sections that are never touched: system text and team task; 0 for none.
    pub(crate) fixed: [usize; 2],
    /// The header above the context.
    pub(crate) context_header: usize,
    /// The header above the current message.
    pub(crate) message_header: usize,
    /// The current message; empty for none.
    pub(crate) message: &'a str,
}

/// What [`fit`] decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fit {
    /// How many messages of the context stay, counted from the newest.
    pub(crate) context_kept: usize,
    /// How many bytes of the current message stay.
    pub(crate) message_bytes: usize,
    pub(crate) status: PromptStatus,
    pub(crate) bytes: SectionBytes,
}

const SEPARATOR: usize = "\n\n".len();

impl PromptStatus {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fits => "fits",
            Self::ContextTrimmed => "context_trimmed",
            Self::MessageTruncated => "message_truncated",
            Self::MessageDropped => "message_dropped",
            Self::OverBudget => "over_budget",
        }
    }
}

impl SectionBytes {
    /// All that counts against the budget.
    pub fn total(&self) -> usize {
        self.system + self.team_task + self.context + self.message + self.separators
    }
}

/// Decides what stays. `lines` gives the sizes of the context's lines from the newest to the oldest
/// and is read only as far as the budget reaches.
pub(crate) fn fit(
    sizes: Sizes<'_>,
    mut lines: impl ExactSizeIterator<Item = usize>,
    max_bytes: u64,
) -> Fit {
    let budget = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    let context_count = lines.len();
    let whole = |body: usize| {
        if body == 0 { 0 } else { sizes.message_header + body }
    };
    let [system, team_task] = sizes.fixed;
    let outcome = |context: usize, context_kept: usize, message_bytes: usize, status| {
        let message = whole(message_bytes);
        let sections = [system, team_task, context, message].into_iter().filter(|size| *size > 0);
        let separators = SEPARATOR * sections.count().saturating_sub(1);
        let bytes =
            SectionBytes { system: sizes.flag + system, team_task, context, message, separators };
        Fit { context_kept, message_bytes, status, bytes }
    };

    let without_context = outcome(0, 0, sizes.message.len(), PromptStatus::ContextTrimmed);
    let base = without_context.bytes.total();
    if base <= budget {
        let separator = if base > sizes.flag { SEPARATOR } else { 0 };
        let room = budget - base;
        let (kept, size) = newest_lines(&mut lines, separator + sizes.context_header, room);
        let context = if kept == 0 { 0 } else { size - separator };
        let status =
            if kept == context_count { PromptStatus::Fits } else { PromptStatus::ContextTrimmed };
        return outcome(context, kept, sizes.message.len(), status);
    }

    let fixed = outcome(0, 0, 0, PromptStatus::OverBudget);
    let taken = fixed.bytes.total();
    let separator = if taken > sizes.flag { SEPARATOR } else { 0 };
    let room = budget.saturating_sub(taken + separator + sizes.message_header);
    match sizes.message.floor_char_boundary(room) {
        0 if taken <= budget => Fit { status: PromptStatus::MessageDropped, ..fixed },
        0 => fixed,
        cut => outcome(0, 0, cut, PromptStatus::MessageTruncated),
    }
}

/// How many lines fit into the room below what stands above them, and the bytes of both.
fn newest_lines(lines: impl Iterator<Item = usize>, above: usize, room: usize) -> (usize, usize) {
    let (mut kept, mut size) = (0, above);
    for line in lines {
        let line_break = usize::from(kept > 0);
        let grown = size + line_break + line;
        if grown > room {
            break;
        }
        (kept, size) = (kept + 1, grown);
    }
    (kept, size)
}
