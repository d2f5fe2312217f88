//! The supported agents. Everything specific to one agent (its name in a team file, program, flags, stream, sign-in,
//! settings and limits) is in its own file here, as an [`AgentDefinition`]. To add an agent, write such a file and
//! add it to [`AGENTS`]. An agent with its own stream format also needs a parser in `dialect`.

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
use std::path::{Path, PathBuf};

use tertulia_dialect::native::NativeFormat;
use tertulia_dialect::stream::{AgentStream, TurnOutput};

use crate::kept::{CliMemory, Export, Store, Transcript, folder_in};
use crate::process::environment::Environment;
use crate::process::escape::PromptSyntax;
use crate::process::{CommandLine, LiveAgent, Prepared, StartError};
use crate::{AgentSpec, Job, NativeHead, Permissions, TurnRequest};

/// All agents, in the order of the documentation.
pub const AGENTS: &[&AgentDefinition] =
    &[CLAUDE, CODEX, GEMINI, OPENCODE, COPILOT, PI, ACP, COMMAND, OPENAI, SCRIPT];

/// Everything that is specific to one agent. Two definitions are equal if their `word` is equal.
#[derive(Debug)]
pub struct AgentDefinition {
    pub word: &'static str,
    pub earlier_words: &'static [&'static str],
    pub title: &'static str,
    /// Fields that it accepts in a team file, in groups, besides those that every member has.
    fields: &'static [&'static [&'static str]],
    /// Required fields, each with the error text for its absence.
    pub required: &'static [(&'static str, &'static str)],
    pub prompt_format: &'static str,
    /// Context window of its model in tokens, if it is known; otherwise a cautious default.
    pub window_tokens: u64,
    /// Whether it may report the cost of a turn.
    pub reports_cost: bool,
    /// Whether it reports the tokens of a turn, so that the cost can be computed if its model is known.
    pub reports_tokens: bool,
    /// Whether it reports its model.
    pub reports_model: bool,
    pub settings: ProjectSettings,
    pub(crate) prompt_syntax: PromptSyntax,
    pub(crate) system_text: SystemText,
    /// Program of a coding agent; `None` for agents whose program the team file names, and for
    /// agents without one.
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
    reports_tokens: true,
    reports_model: true,
    settings: ProjectSettings { folders: &[], files: &[], skipped: &[] },
    prompt_syntax: PromptSyntax::Plain,
    system_text: SystemText::Separate,
    cli: None,
};

/// Program of a coding agent that is known by name.
#[derive(Debug)]
pub struct Cli {
    pub program: &'static str,
    pub package: &'static str,
    /// Variables of our own environment that it inherits, besides the common ones and those for its sign-in. A name
    /// that ends in `*` is a prefix.
    pub(crate) variables: &'static [&'static str],
    /// Variables by which the programs that it starts can tell that they run inside it.
    pub(crate) nested_variables: &'static [&'static str],
    /// Word that identifies its adapters for the Agent Client Protocol, and the prompt syntax of these adapters.
    pub(crate) adapter: Option<(&'static str, PromptSyntax)>,
    pub(crate) sign_in: SignInSources,
    pub(crate) stream: AgentStream,
    pub(crate) prepare: fn(&AgentSpec, &TurnRequest<'_>) -> Result<Prepared, StartError>,
    pub(crate) memory: CliMemory,
    /// Whether a process that stays alive gets the text before the message separately.
    pub(crate) takes_context: bool,
    /// Corrects the final text of a successful turn, for agents whose stream does not contain it exactly.
    pub(crate) correct: Option<fn(&mut TurnOutput, &CommandLine)>,
}

/// Possible ways to sign in to a coding agent. Only their names are checked. The agent itself gets the variables.
#[derive(Debug)]
pub(crate) struct SignInSources {
    pub(crate) variables: &'static [&'static str],
    pub(crate) files: &'static [HomeFile],
    /// Variables that point to another service, whose sign-in is unknown.
    pub(crate) other_services: &'static [&'static str],
    pub(crate) settings: &'static [HomeFile],
    pub(crate) is_in_keychain: bool,
    /// Advice on how to sign in; `{}` is replaced by the program.
    pub(crate) advice: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct HomeFile {
    /// Variable that names the folder, and a path below it.
    pub(crate) variable: (&'static str, &'static str),
    /// Folder in the home folder, if that variable is not set.
    pub(crate) folder: &'static str,
    pub(crate) name: &'static str,
}

/// Settings of a project that an agent applies: hooks, MCP servers, plugins, variables.
#[derive(Debug)]
pub struct ProjectSettings {
    /// Folders that are read completely.
    pub folders: &'static [&'static str],
    pub files: &'static [&'static str],
    /// Folders below these that contain no settings, such as checkouts of the project.
    pub skipped: &'static [&'static str],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SystemText {
    /// Passed separately, by a flag or a file.
    Separate,
    InFront,
    /// In front of the prompt, in `<instructions>`.
    Instructions,
}

const PROMPT_FIELDS: &[&str] = &[
    "instruction",
    "instruction_file",
    "preamble",
    "window",
    "budget_usd",
    "budget_usd_turn",
    "fallback",
    "timeout_s",
    "memory",
];

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
    "worktree",
];

const CLI_FIELDS: &[&[&str]] = &[PROMPT_FIELDS, PROGRAM_FIELDS, &["model", "permissions"]];

/// Returns the folder of an agent: below its variable if set, otherwise in the home folder.
fn home_folder(environment: &Environment, variable: (&str, &str), folder: &str) -> Option<PathBuf> {
    let home = || environment.get("HOME").map(|home| PathBuf::from(home).join(folder));
    folder_in(environment, variable).or_else(home)
}

/// Returns the file of this name in one of the folders of a folder.
fn in_any_folder(folder: &Path, is_named: impl Fn(&str) -> bool) -> Option<PathBuf> {
    std::fs::read_dir(folder).ok()?.flatten().find_map(|one| {
        let files = std::fs::read_dir(one.path()).ok()?.flatten();
        let mut found = files.filter(|file| file.file_name().to_str().is_some_and(&is_named));
        found.next().map(|file| file.path())
    })
}

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
    /// Defines a built-in member. It has no program and costs nothing, and this crate does not run it.
    pub const fn built_in(
        word: &'static str,
        title: &'static str,
        fields: &'static [&'static [&'static str]],
    ) -> Self {
        Self { word, title, fields, ..GENERIC }
    }

    /// Returns the fields that it accepts in a team file, besides those that every member has.
    pub fn fields(&self) -> impl Iterator<Item = &'static str> {
        self.fields.iter().copied().flatten().copied()
    }

    /// Returns whether it accepts this field.
    pub fn takes(&self, field: &str) -> bool {
        self.fields().any(|own| own == field)
    }

    /// Returns the coding agent whose name is part of the name of a program, such as an adapter for the Agent Client
    /// Protocol.
    pub(crate) fn for_adapter(program: &str) -> Option<&'static Self> {
        let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy();
        let adapter = |agent: &Self| agent.cli.as_ref().and_then(|cli| cli.adapter);
        let is_named = |agent: &&&Self| adapter(agent).is_some_and(|(word, _)| name.contains(word));
        AGENTS.iter().find(is_named).copied()
    }

    /// Returns whether it reads `@name` in a prompt as a file. A marker is then the better way to address a member.
    pub fn takes_mentions_for_files(&self) -> bool {
        self.prompt_syntax == PromptSyntax::Gemini
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
        let program = |name| AgentDefinition::for_adapter(name).map(|agent| agent.word);
        assert_eq!(program("/opt/bin/claude-agent-acp"), Some("claude"));
        assert_eq!(program("codex-acp"), Some("codex"));
        assert_eq!(program("gemini"), Some("gemini"));
        assert_eq!(program("copilot"), Some("copilot"));
        assert_eq!(program("pipx"), None);
        assert_eq!(program("/opt/claude/bin/bot"), None);
    }
}
