//! The fields of a team file and who may have them: one table for the reader, its errors, and the test
//! that compares them with the schema and the reference.

use super::agent::AgentFile::{
    self, Acp, Claude, Codex, Command, Gemini, Librarian, OpenAi, Script,
};

/// One field of a member.
pub(super) struct Field {
    pub(super) name: &'static str,
    takers: Takers,
}

/// Which members may have a field.
enum Takers {
    Everybody,
    /// Every agent, and no person.
    AnyAgent,
    These(&'static [AgentFile]),
}

const VENDORS: Takers = Takers::These(&[Claude, Codex, Gemini, OpenAi]);
const HELD: Takers = Takers::These(&[Claude, Codex, Gemini, Acp]);
const PROGRAMS: Takers = Takers::These(&[Claude, Codex, Gemini, Acp, Command]);
const OUTSIDE: Takers = Takers::These(&[Claude, Codex, Gemini, Acp, Command, OpenAi]);
const PROMPTED: Takers = Takers::These(&[Claude, Codex, Gemini, Acp, Command, OpenAi, Script]);
const BY_BYTES: Takers = Takers::These(&[Claude, Codex, Gemini, Acp, Command, Script]);

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
    field("model", VENDORS),
    field("instruction", PROMPTED),
    field("instruction_file", PROMPTED),
    field("preamble", PROMPTED),
    field("permissions", HELD),
    field("window", PROMPTED),
    field("budget_bytes", BY_BYTES),
    field("budget_tokens", Takers::These(&[OpenAi])),
    field("budget_usd", PROMPTED),
    field("timeout_s", PROMPTED),
    field("first_byte_s", OUTSIDE),
    field("silence_s", OUTSIDE),
    field("max_processes", PROGRAMS),
    field("max_memory_mb", PROGRAMS),
    field("command", PROGRAMS),
    field("args", PROGRAMS),
    field("env", PROGRAMS),
    field("cwd", PROGRAMS),
    field("output", Takers::These(&[Command])),
    field("base_url", Takers::These(&[OpenAi])),
    field("key_variable", Takers::These(&[OpenAi])),
    field("answers", Takers::These(&[Script])),
    field("script_file", Takers::These(&[Script])),
    field("scope", Takers::These(&[Librarian])),
    field("memory", PROMPTED),
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
    pub(super) fn is_for(&self, agent: Option<AgentFile>) -> bool {
        match (&self.takers, agent) {
            (Takers::Everybody, _) | (Takers::AnyAgent, Some(_)) => true,
            (Takers::AnyAgent | Takers::These(_), None) => false,
            (Takers::These(these), Some(agent)) => these.contains(&agent),
        }
    }

    /// Who may have it, in words.
    pub(super) fn takers(&self) -> String {
        match &self.takers {
            Takers::Everybody => "everybody".to_owned(),
            Takers::AnyAgent => "agents".to_owned(),
            Takers::These(these) => {
                let words: Vec<_> = these.iter().map(|agent| agent.word()).collect();
                words.join(", ")
            }
        }
    }
}
