//! The budget stage that all formats share. It works on the sizes of sections, never on finished text. First the
//! oldest messages of the context are left out, then the current message is cut. The system text and the team task
//! are never changed.

use serde::Serialize;

use crate::escape::Body;

/// The result of fitting a prompt into the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptStatus {
    Fits,
    /// Messages of the context were left out, the oldest first.
    ContextTrimmed,
    /// No message of the context is in it, and the current one only in part.
    MessageTruncated,
    /// The current message is left out completely.
    MessageDropped,
    /// The system text and the team task alone are over the budget. They are kept whole.
    OverBudget,
}

/// The sizes of the sections of a prompt in bytes, headers included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SectionBytes {
    /// The system text, in the prompt or separate from it.
    pub system: usize,
    pub team_task: usize,
    pub context: usize,
    pub message: usize,
    pub separators: usize,
}

/// Something about a prompt that its sender should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PromptWarning {
    #[error("Message truncated: {kept_bytes} of {bytes} bytes fit the budget of {max_bytes} bytes")]
    MessageTruncated { kept_bytes: usize, bytes: usize, max_bytes: u64 },
    #[error("Message dropped: none of its {bytes} bytes fit the budget of {max_bytes} bytes")]
    MessageDropped { bytes: usize, max_bytes: u64 },
    #[error(
        "Over budget: system text and team task take {bytes} bytes, the budget is {max_bytes} bytes"
    )]
    OverBudget { bytes: usize, max_bytes: u64 },
    #[error(
        "System flag too long: {bytes} bytes cannot pass as one argument (at most 131071); pass it \
         as a file"
    )]
    SystemFlagTooLong { bytes: usize },
}

/// The error of a prompt that cannot contain its whole message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the prompt does not fit: even without context it takes {needed_bytes} bytes, the budget is \
     {max_bytes}; raise maxBytes or shorten instructions, task or message"
)]
pub struct OverBudget {
    pub status: PromptStatus,
    pub max_bytes: u64,
    /// The bytes of the system text, the team task and the whole message.
    pub needed_bytes: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes<'a> {
    /// The bytes that are sent separately from the prompt but count against the budget.
    pub(crate) flag: usize,
    /// The sections that are never changed: system text and team task; 0 if there is none.
    pub(crate) fixed: [usize; 2],
    pub(crate) context_header: usize,
    pub(crate) message_header: usize,
    /// The current message; empty if there is none.
    pub(crate) message: Body<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fit {
    /// The number of context messages that are kept, counted from the newest.
    pub(crate) context_kept: usize,
    /// The bytes of the current message that are kept, without indents.
    pub(crate) message_bytes: usize,
    /// The bytes that the kept part of the current message takes in the prompt.
    pub(crate) written_bytes: usize,
    pub(crate) status: PromptStatus,
    pub(crate) bytes: SectionBytes,
    /// The bytes of everything but the context.
    pub(crate) needed_bytes: usize,
}

const SEPARATOR: usize = "\n\n".len();

impl PromptStatus {
    /// Returns the word in JSON.
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
    /// Returns the number of bytes that count against the budget.
    pub fn total(&self) -> usize {
        self.system + self.team_task + self.context + self.message + self.separators
    }
}

impl Sizes<'_> {
    /// Returns the sizes of the sections for a context of this size and this many bytes of the current message.
    fn bytes(&self, context: usize, message_body: usize) -> SectionBytes {
        let [system, team_task] = self.fixed;
        let message = if message_body == 0 { 0 } else { self.message_header + message_body };
        let sections = [system, team_task, context, message].into_iter().filter(|size| *size > 0);
        let separators = SEPARATOR * sections.count().saturating_sub(1);
        SectionBytes { system: self.flag + system, team_task, context, message, separators }
    }

    /// Returns the size of the separator before another section; 0 if there is no section yet.
    fn separator(&self, total: usize) -> usize {
        if total > self.flag { SEPARATOR } else { 0 }
    }
}

/// Decides what stays. `lines` gives the sizes of the context's lines, newest first, and is read only as far as the
/// budget reaches.
pub(crate) fn fit(
    sizes: Sizes<'_>,
    lines: impl ExactSizeIterator<Item = usize>,
    max_bytes: u64,
) -> Fit {
    let budget = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    let written_bytes = sizes.message.len();
    let needed_bytes = sizes.bytes(0, written_bytes).total();
    if needed_bytes <= budget {
        let context_count = lines.len();
        let separator = sizes.separator(needed_bytes);
        let above = separator + sizes.context_header;
        let (context_kept, size) = newest_lines(lines, above, budget - needed_bytes);
        let context = if context_kept == 0 { 0 } else { size - separator };
        let whole = context_kept == context_count;
        return Fit {
            context_kept,
            message_bytes: sizes.message.text.len(),
            written_bytes,
            status: if whole { PromptStatus::Fits } else { PromptStatus::ContextTrimmed },
            bytes: sizes.bytes(context, written_bytes),
            needed_bytes,
        };
    }
    let fixed = sizes.bytes(0, 0).total();
    let above = fixed + sizes.separator(fixed) + sizes.message_header;
    let kept = sizes.message.beginning(budget.saturating_sub(above));
    let (message_bytes, written_bytes) = (kept.text.len(), kept.len());
    let status = match message_bytes {
        0 if fixed > budget => PromptStatus::OverBudget,
        0 => PromptStatus::MessageDropped,
        _ => PromptStatus::MessageTruncated,
    };
    let bytes = sizes.bytes(0, written_bytes);
    Fit { context_kept: 0, message_bytes, written_bytes, status, bytes, needed_bytes }
}

/// Returns how many lines fit into `room` together with the `above` bytes, and the bytes of both.
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
