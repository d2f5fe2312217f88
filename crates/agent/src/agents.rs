//! The agents. What is specific to one of them (its word in a team file, its program, flags, stream, sign-in,
//! settings and limits) stands in its own file here, as an [`AgentDefinition`]. To add an agent, write such a
//! file and list it in [`AGENTS`]; one with a stream of its own also gets a parser in `dialect`.

pub(crate) mod acp;
mod claude;
mod codex;
mod command;
mod copilot;
mod gemini;
pub(crate) mod openai;
mod opencode;
mod pi;
pub(crate) mod script;

pub use acp::ACP;
pub use claude::CLAUDE;
pub use codex::CODEX;
pub use command::COMMAND;
pub use copilot::COPILOT;
pub use gemini::GEMINI;
pub use openai::OPENAI;
pub use opencode::OPENCODE;
pub use pi::PI;
pub use script::SCRIPT;

use std::fmt;
use std::path::Path;

use tertulia_dialect::stream::{AgentStream, TurnOutput};

use crate::process::neutral::Reader;
use crate::process::{CommandLine, Prepared, StartError};
use crate::{AgentSpec, Permissions, TurnRequest};

/// All agents, in the order of the documentation.
pub const AGENTS: &[&AgentDefinition] =
    &[CLAUDE, CODEX, GEMINI, OPENCODE, COPILOT, PI, ACP, COMMAND, OPENAI, SCRIPT];

/// What is specific to one agent. Two definitions are equal if their words are.
#[derive(Debug)]
pub struct AgentDefinition {
    pub word: &'static str,
    pub earlier_words: &'static [&'static str],
    pub title: &'static str,
    /// The fields of a team file that it takes, in groups, besides those that every member has.
    fields: &'static [&'static [&'static str]],
    /// The fields that it cannot do without, each with the complaint about its absence.
    pub required: &'static [(&'static str, &'static str)],
    pub prompt_format: &'static str,
    /// How many tokens the model behind it reads, as far as that is known.
    pub window_tokens: u64,
    /// Whether it may report what a turn cost, so that a spending limit can hold it.
    pub reports_cost: bool,
    pub settings: ProjectSettings,
    pub(crate) reader: Reader,
    pub(crate) system_text: SystemText,
    /// The program of a coding agent; `None` for those whose program the team file names, and for those that have none.
    pub cli: Option<Cli>,
}

const GENERIC: AgentDefinition = AgentDefinition {
    word: "",
    earlier_words: &[],
    title: "",
    fields: &[],
    required: &[],
    prompt_format: "text",
    window_tokens: 128_000,
    reports_cost: true,
    settings: ProjectSettings { folders: &[], files: &[], skipped: &[] },
    reader: Reader::Plain,
    system_text: SystemText::Separate,
    cli: None,
};

/// The program of a coding agent that is known by name.
#[derive(Debug)]
pub struct Cli {
    pub program: &'static str,
    pub package: &'static str,
    /// The variables of our own environment that it inherits besides the common ones and those that it is signed in
    /// with; a name that ends in `*` stands for all that begin with it.
    pub(crate) variables: &'static [&'static str],
    /// The variables by which it tells the programs that it starts that they run inside of it.
    pub(crate) nested_variables: &'static [&'static str],
    /// The word by which its adapters for the Agent Client Protocol are known, and what they interpret in a prompt.
    pub(crate) adapter: Option<(&'static str, Reader)>,
    pub(crate) sign_in: SignInSources,
    pub(crate) stream: AgentStream,
    pub(crate) prepare: fn(&AgentSpec, &TurnRequest<'_>) -> Result<Prepared, StartError>,
    /// Corrects the final text of a turn that succeeded, where the stream does not state it exactly.
    pub(crate) correct: Option<fn(&mut TurnOutput, &CommandLine)>,
}

/// What a coding agent can be signed in with. Only names are looked at; the variables are handed on to the agent.
#[derive(Debug)]
pub(crate) struct SignInSources {
    pub(crate) variables: &'static [&'static str],
    pub(crate) files: &'static [HomeFile],
    /// Variables that point to another service, of which nothing is known.
    pub(crate) other_services: &'static [&'static str],
    pub(crate) settings: &'static [HomeFile],
    pub(crate) is_in_keychain: bool,
    /// How to sign in; `{}` stands for the program.
    pub(crate) advice: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct HomeFile {
    /// The variable that names the folder, and what is below it.
    pub(crate) variable: (&'static str, &'static str),
    /// The folder without that variable, in the home folder.
    pub(crate) folder: &'static str,
    pub(crate) name: &'static str,
}

/// The settings of a project that an agent obeys: hooks, MCP servers, plugins, variables.
#[derive(Debug)]
pub struct ProjectSettings {
    /// Folders, all of which is read.
    pub folders: &'static [&'static str],
    pub files: &'static [&'static str],
    /// Folders below the former that hold no settings, such as checkouts of the project.
    pub skipped: &'static [&'static str],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SystemText {
    /// Its own way, by a flag or a file.
    Separate,
    InFront,
    /// In front of the prompt, in `<instructions>`.
    Instructions,
}

const PROMPT_FIELDS: &[&str] =
    &["instruction", "instruction_file", "preamble", "window", "budget_usd", "timeout_s", "memory"];

const PROGRAM_FIELDS: &[&str] = &[
    "budget_bytes",
    "first_byte_s",
    "silence_s",
    "max_processes",
    "max_memory_mb",
    "command",
    "args",
    "env",
    "cwd",
];

const CLI_FIELDS: &[&[&str]] = &[PROMPT_FIELDS, PROGRAM_FIELDS, &["model", "permissions"]];

impl HomeFile {
    const fn new(
        variable: (&'static str, &'static str),
        folder: &'static str,
        name: &'static str,
    ) -> Self {
        Self { variable, folder, name }
    }
}

impl AgentDefinition {
    /// A member that is built in: it is no program, costs nothing, and this crate does not run it.
    pub const fn built_in(
        word: &'static str,
        title: &'static str,
        fields: &'static [&'static [&'static str]],
    ) -> Self {
        Self { word, title, fields, ..GENERIC }
    }

    /// The fields of a team file that it takes, besides those that every member has.
    pub fn fields(&self) -> impl Iterator<Item = &'static str> {
        self.fields.iter().copied().flatten().copied()
    }

    /// Whether it takes this field.
    pub fn takes(&self, field: &str) -> bool {
        self.fields().any(|own| own == field)
    }

    /// The coding agent that a program belongs to by its name, as adapters for the Agent Client Protocol do.
    pub(crate) fn of_adapter(program: &str) -> Option<&'static Self> {
        let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy();
        let adapter = |agent: &Self| agent.cli.as_ref().and_then(|cli| cli.adapter);
        let is_named = |agent: &&&Self| adapter(agent).is_some_and(|(word, _)| name.contains(word));
        AGENTS.iter().find(is_named).copied()
    }

    /// Whether it takes `@name` in a prompt for a file, so that members are better addressed by a marker.
    pub fn takes_mentions_for_files(&self) -> bool {
        self.reader == Reader::Gemini
    }
}

impl fmt::Display for AgentDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word)
    }
}

impl PartialEq for AgentDefinition {
    fn eq(&self, other: &Self) -> bool {
        self.word == other.word
    }
}

impl Eq for AgentDefinition {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_word_names_one_agent() {
        let words: BTreeSet<_> =
            AGENTS.iter().flat_map(|one| one.earlier_words.iter().chain([&one.word])).collect();
        let count: usize = AGENTS
            .iter()
            .map(|one| 1 + one.earlier_words.iter().filter(|word| **word != one.word).count())
            .sum();
        assert_eq!(words.len(), count);
    }

    #[test]
    fn a_program_s_name_says_whose_adapter_it_is() {
        let program = |name| AgentDefinition::of_adapter(name).map(|agent| agent.word);
        assert_eq!(program("/opt/bin/claude-agent-acp"), Some("claude"));
        assert_eq!(program("codex-acp"), Some("codex"));
        assert_eq!(program("gemini"), Some("gemini"));
        assert_eq!(program("copilot"), Some("copilot"));
        assert_eq!(program("pipx"), None);
        assert_eq!(program("/opt/claude/bin/bot"), None);
    }
}
