//! The agents that a team file can name, by their words. Closed set; the fields that each of them takes
//! are in `fields`.

use std::fmt;

use tertulia_agent::{CommandOutput, Permissions};

use crate::table::MemberKind;

/// Who answers for a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AgentFile {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// A program that speaks the Agent Client Protocol.
    Acp,
    /// Any program.
    Command,
    /// An endpoint that speaks Chat Completions.
    OpenAi,
    /// The house member that writes the minutes.
    Scribe,
    /// The house member that answers from past sessions.
    Librarian,
    /// Written answers.
    Script,
}

impl AgentFile {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 9] = [
        Self::Claude,
        Self::Codex,
        Self::Gemini,
        Self::Acp,
        Self::Command,
        Self::OpenAi,
        Self::Scribe,
        Self::Librarian,
        Self::Script,
    ];

    /// The word for it in the file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Acp => "acp",
            Self::Command => "command",
            Self::OpenAi => "openai",
            Self::Scribe => "scribe",
            Self::Librarian => "librarian",
            Self::Script => "script",
        }
    }

    /// The program that it is known by, for those that need not be named.
    pub fn product(self) -> Option<&'static str> {
        match self {
            Self::Claude => Some("Claude Code"),
            Self::Codex => Some("Codex"),
            Self::Gemini => Some("Gemini CLI"),
            Self::Acp | Self::Command | Self::OpenAi => None,
            Self::Scribe | Self::Librarian | Self::Script => None,
        }
    }

    /// Whether its stream may tell what a turn cost, so that a spending limit can hold it. The house and
    /// written answers cost nothing.
    pub(super) fn tells_cost(self, output: CommandOutput) -> bool {
        match self {
            Self::Claude | Self::Acp | Self::Scribe | Self::Librarian | Self::Script => true,
            Self::Command => output == CommandOutput::Jsonl,
            Self::Codex | Self::Gemini | Self::OpenAi => false,
        }
    }
}

impl fmt::Display for AgentFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A value that is one of a few words.
pub(super) type Words<T> = &'static [(&'static str, T)];

pub(super) const AGENTS: Words<AgentFile> = &[
    ("claude", AgentFile::Claude),
    ("codex", AgentFile::Codex),
    ("gemini", AgentFile::Gemini),
    ("acp", AgentFile::Acp),
    ("command", AgentFile::Command),
    ("openai", AgentFile::OpenAi),
    ("scribe", AgentFile::Scribe),
    ("librarian", AgentFile::Librarian),
    ("script", AgentFile::Script),
];

pub(super) const KINDS: Words<MemberKind> = &[("human", MemberKind::Human), ("ai", MemberKind::Ai)];

pub(super) const PERMISSIONS: Words<Permissions> =
    &[("read", Permissions::Read), ("edit", Permissions::Edit), ("full", Permissions::Full)];

pub(super) const OUTPUTS: Words<CommandOutput> =
    &[("text", CommandOutput::Text), ("jsonl", CommandOutput::Jsonl)];

/// Which past sessions the librarian searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LibrarianScope {
    /// Those of the same project.
    #[default]
    Project,
    /// Those of all projects, where a person asks for it.
    All,
}

pub(super) const SCOPES: Words<LibrarianScope> =
    &[("project", LibrarianScope::Project), ("all", LibrarianScope::All)];

/// An agent's memory of its earlier turns: it has none, and gets the conversation anew.
pub(super) const MEMORIES: Words<()> = &[("fresh", ())];

/// The word for a value.
pub(super) fn word_of<T: PartialEq>(words: Words<T>, value: &T) -> &'static str {
    words.iter().find(|(_, known)| known == value).map_or("", |(word, _)| word)
}
