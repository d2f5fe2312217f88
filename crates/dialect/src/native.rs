//! The sessions that agents keep themselves. Reads their records as entries, and writes entries as records that the
//! agent's own resume command accepts. docs/native-sessions.md describes the formats.
//!
//! A native session is a sequence of records: the lines of a file, the pieces of a JSON document, or the rows of a
//! database. Finding and splitting them is IO, so other code does it; this module gets one [`Record`] at a time.
//! Every record becomes at least one entry. The first of them keeps the exact text of the record ([`NativeOrigin`]),
//! so a redaction of the entry removes both.

mod aider;
mod claude;
mod cline;
mod codex;
mod copilot;
mod detect;
mod document;
mod fields;
mod gemini;
mod goose;
mod item;
mod lookups;
mod opencode;
mod origin;
mod pi;
mod problem;
mod reader;
mod split;
mod tail;
pub mod write;

pub use detect::detect;
pub use origin::{NativeOrigin, original_bytes};
pub use problem::{ProblemKind, ReadProblem};
pub use reader::{Document, NativeReader, ReadSession};
pub use split::{Layout, layout, unfinished};
pub use tail::{Tail, read_tail};

tertulia_session::word_enum! {
    /// An agent whose sessions can be read. The words are those for `--format`, `--agent` and JSON.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum NativeFormat: "claude, codex, gemini, opencode, copilot, pi, goose, cline or aider" {
        Claude = "claude",
        Codex = "codex",
        Gemini = "gemini",
        Opencode = "opencode",
        Copilot = "copilot",
        Pi = "pi",
        Goose = "goose",
        Cline = "cline",
        Aider = "aider",
    }
}

impl NativeFormat {
    /// Returns the name of the agent for people.
    pub fn agent_name(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Opencode => "opencode",
            Self::Copilot => "Copilot CLI",
            Self::Pi => "pi",
            Self::Goose => "goose",
            Self::Cline => "Cline",
            Self::Aider => "aider",
        }
    }
}

/// One record of a native session. The texts and ends of all records of a file, in order, are the
/// bytes of the file.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The file within the session, such as `subagents/agent-1.jsonl`; empty for the main one.
    pub file: &'a str,
    /// The number of its first line in the file, or the number of the row in a database. Numbers start at 1.
    pub line: u64,
    /// The bytes, without those in `end`. They may be invalid UTF-8 or invalid JSON.
    pub bytes: &'a [u8],
    /// The line break after it: `\n`, `\r\n`, or nothing at the end of a file.
    pub end: &'a str,
}
