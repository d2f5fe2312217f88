//! What may stand in a team file: the names of the fields and who may have them, and the words of those that
//! take one of a few. One place for the reader, the writer, their errors, and the test that compares them with
//! the schema and the reference.

use tertulia_agent::agents::{AGENTS, AgentDefinition};
use tertulia_agent::{CommandOutput, Permissions};

use crate::house::{LIBRARIAN, SCRIBE};
use crate::table::MemberKind;

pub(super) const TEAM: &[&str] = &["task", "default", "limits", "member"];

pub(super) const LIMITS: &[&str] =
    &["queue", "branch", "local", "turns", "pair", "budget_usd", "max_processes", "max_memory_mb"];

/// The fields of a member: those of everybody, and those that the definitions of the agents name.
pub(super) fn member_fields() -> Vec<&'static str> {
    let mut fields = vec!["name", "display_name", "kind", "role", "agent", "color"];
    for field in known_agents().flat_map(AgentDefinition::fields) {
        if !fields.contains(&field) {
            fields.push(field);
        }
    }
    fields
}

/// All fields of a team file in TOML, as `task`, `limits.turns`, `member.name`.
pub fn known_fields() -> impl Iterator<Item = String> {
    let team = TEAM.iter().map(|name| (*name).to_owned());
    let limits = LIMITS.iter().map(|name| format!("limits.{name}"));
    let member = member_fields().into_iter().map(|name| format!("member.{name}"));
    team.chain(limits).chain(member)
}

/// All agents that a team file can name, in the order of the documentation.
pub fn known_agents() -> impl Iterator<Item = &'static AgentDefinition> {
    AGENTS.iter().copied().chain([SCRIBE, LIBRARIAN])
}

pub(super) type Words<T> = &'static [(&'static str, T)];

pub(super) fn agent_words() -> Vec<(&'static str, &'static AgentDefinition)> {
    known_agents().map(|agent| (agent.word, agent)).collect()
}

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
