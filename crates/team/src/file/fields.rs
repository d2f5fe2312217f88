//! The fields of a team file and who may have them: one table for the reader, its errors, and the test
//! that compares them with the schema and the reference.

use tertulia_agent::agents::AgentDefinition;

use super::agent::known_agents;

/// One field of a member.
pub(super) struct Field {
    pub(super) name: &'static str,
    takers: Takers,
}

/// Which members may have a field.
#[derive(Clone, Copy)]
enum Takers {
    Everybody,
    /// Every agent, and no person.
    AnyAgent,
    /// The agents whose definition names it.
    SomeAgents,
}

const fn field(name: &'static str, takers: Takers) -> Field {
    Field { name, takers }
}

pub(super) const TEAM: &[&str] = &["task", "default", "limits", "member"];

pub(super) const LIMITS: &[&str] =
    &["queue", "branch", "local", "turns", "pair", "budget_usd", "max_processes", "max_memory_mb"];

pub(super) const MEMBER: &[Field] = &[
    field("name", Takers::Everybody),
    field("display_name", Takers::Everybody),
    field("kind", Takers::Everybody),
    field("role", Takers::Everybody),
    field("agent", Takers::AnyAgent),
    field("model", Takers::SomeAgents),
    field("instruction", Takers::SomeAgents),
    field("instruction_file", Takers::SomeAgents),
    field("preamble", Takers::SomeAgents),
    field("permissions", Takers::SomeAgents),
    field("window", Takers::SomeAgents),
    field("budget_bytes", Takers::SomeAgents),
    field("budget_tokens", Takers::SomeAgents),
    field("budget_usd", Takers::SomeAgents),
    field("timeout_s", Takers::SomeAgents),
    field("first_byte_s", Takers::SomeAgents),
    field("silence_s", Takers::SomeAgents),
    field("max_processes", Takers::SomeAgents),
    field("max_memory_mb", Takers::SomeAgents),
    field("command", Takers::SomeAgents),
    field("args", Takers::SomeAgents),
    field("env", Takers::SomeAgents),
    field("cwd", Takers::SomeAgents),
    field("output", Takers::SomeAgents),
    field("base_url", Takers::SomeAgents),
    field("key_variable", Takers::SomeAgents),
    field("answers", Takers::SomeAgents),
    field("script_file", Takers::SomeAgents),
    field("scope", Takers::SomeAgents),
    field("memory", Takers::SomeAgents),
    field("color", Takers::Everybody),
];

/// All fields of a team file in TOML, as `task`, `limits.turns`, `member.name`.
pub fn known_fields() -> impl Iterator<Item = String> {
    let team = TEAM.iter().map(|name| (*name).to_owned());
    let limits = LIMITS.iter().map(|name| format!("limits.{name}"));
    team.chain(limits).chain(MEMBER.iter().map(|field| format!("member.{}", field.name)))
}

impl Field {
    /// Whether a member with this agent, or a person, may have it.
    pub(super) fn is_for(&self, agent: Option<&AgentDefinition>) -> bool {
        match (self.takers, agent) {
            (Takers::Everybody, _) | (Takers::AnyAgent, Some(_)) => true,
            (Takers::AnyAgent | Takers::SomeAgents, None) => false,
            (Takers::SomeAgents, Some(agent)) => agent.fields.contains(&self.name),
        }
    }

    /// Who may have it, in words.
    pub(super) fn takers(&self) -> String {
        match self.takers {
            Takers::Everybody => "everybody".to_owned(),
            Takers::AnyAgent => "agents".to_owned(),
            Takers::SomeAgents => {
                let takers = known_agents().filter(|agent| self.is_for(Some(agent)));
                takers.map(|agent| agent.word).collect::<Vec<_>>().join(", ")
            }
        }
    }
}
