//! Routing markers in messages: `[FROM: …]`, `[NEXT: …]`, `[DROP: …]`, `[TEAM_TASK: …]` and the block form
//! `[TEAM_TASK] …`. They are stripped for prompts and parsed for routing; a stored message keeps them. The functions
//! are pure and take time linear in the length of the text.

mod authorship;
mod code;
mod compact;
mod html;
mod line;
mod markdown;
mod parse;
mod preserve;
mod scan;

use std::borrow::Cow;

pub use authorship::Authorship;
pub use parse::{
    Markers, Next, authorship_of, kept_ranges_where, parse_markers, parse_markers_where,
};

/// How to remove markers from a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Strip {
    /// The rule of the contract: runs of spaces become one, lines are trimmed, empty lines are removed, and code is
    /// treated like other text.
    Compact(TaskBlock),
    /// Removes only markers and the spaces that they leave. Text in code is never a marker, so this is for prompts
    /// that contain code. A block ends at a blank line.
    Preserve,
}

/// The end of `[TEAM_TASK] …` without a colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskBlock {
    /// At the next `[` or at the end of the message.
    ToBracket,
    /// At a blank line, at the next marker or at the end.
    ToBlankLine,
}

/// A text without its markers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stripped<'a> {
    /// The text; borrowed if nothing was removed.
    pub text: Cow<'a, str>,
    /// The bytes that were removed with the block form of a team task. They include its text, not only its label.
    pub task_block_bytes: usize,
}

impl Strip {
    /// The rule of the contract, followed exactly.
    pub const COMPACT: Self = Self::Compact(TaskBlock::ToBracket);
}

/// Removes all markers from a text.
pub fn strip_markers(text: &str, strip: Strip) -> Stripped<'_> {
    match strip {
        Strip::Compact(task_block) => compact::strip(text, task_block),
        Strip::Preserve => preserve::strip(text),
    }
}

/// Removes all markers from a text by the rule of the contract.
///
/// ```
/// assert_eq!(tertulia_context::strip_all_markers("[NEXT:sarah] Hello [FROM:max]"), "Hello");
/// ```
pub fn strip_all_markers(text: &str) -> Cow<'_, str> {
    strip_markers(text, Strip::COMPACT).text
}
