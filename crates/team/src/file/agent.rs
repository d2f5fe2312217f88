//! The agents that a team file can name, by their words: those of the `agent` crate, and the house members. What
//! each of them takes stands in its definition.

use tertulia_agent::agents::{AGENTS, AgentDefinition};
use tertulia_agent::{CommandOutput, Permissions};

use crate::house::{LIBRARIAN, SCRIBE};
use crate::table::MemberKind;

/// All agents that a team file can name, in the order of the documentation.
pub fn known_agents() -> impl Iterator<Item = &'static AgentDefinition> {
    AGENTS.iter().copied().chain([SCRIBE, LIBRARIAN])
}

/// A value that is one of a few words.
pub(super) type Words<T> = &'static [(&'static str, T)];

pub(super) fn agent_words() -> Vec<(&'static str, &'static AgentDefinition)> {
    known_agents().map(|agent| (agent.word, agent)).collect()
}

/// The words for the agents in a file of the earlier form.
pub(super) fn earlier_words() -> Vec<(&'static str, &'static AgentDefinition)> {
    let words = |agent: &'static AgentDefinition| {
        agent.earlier_words.iter().map(move |word| (*word, agent))
    };
    known_agents().flat_map(words).collect()
}

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

pub(super) fn word_of<T: PartialEq>(words: Words<T>, value: &T) -> &'static str {
    words.iter().find(|(_, known)| known == value).map_or("", |(word, _)| word)
}
