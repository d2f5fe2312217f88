//! Writes the file for `tertulia init`: the agents found on this machine, each with a role, the person and the
//! scribe, and comments on the settings. Also suggests the first task. Pure.

use tertulia_agent::agents::{self, AgentDefinition};
use toml::Value;

use super::check;
use crate::built_in::SCRIBE;
use crate::names::fold;
use crate::roster::{Member, Roster};

/// An agent found on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundAgent {
    pub agent: &'static AgentDefinition,
    /// The command that starts it, if its name in `PATH` is not enough.
    pub command: Vec<Box<str>>,
    pub version: Option<Box<str>>,
}

const HEAD: &str = "\
# The team: its members and the agent behind each of them. docs/team-file.md lists every field.
# `tertulia chat` opens the conversation, `tertulia run \"…\"` sends one message.

# The task of the team. Every agent sees it with every prompt.
# task = \"Design the login page\"

# Who answers a message that addresses nobody. Address other members with @name.
";

const LIMITS: &str = "
# [limits]
# turns = 24          # turns of agents before they pause and ask a person
# budget_usd = 5.0    # dollars before they pause and ask a person
";

const PERSON: &str = "
# You.
";

const SCRIBE_COMMENT: &str = "
# Built in: summarises the conversation (decisions, open points, who does what). Needs no key and no network.
";

/// The roles of the agents, in the order in which they were found. All of them see all roles.
const ROLES: [Role; 3] = [
    Role {
        line: "author: designs the change and writes it",
        instruction: "Propose one solution and say why. When it is ready, ask the reviewer.",
    },
    Role {
        line: "reviewer: looks for bugs, risks and missing tests",
        instruction: "Check the author's work. List findings, most important first, or approve it.",
    },
    Role {
        line: "researcher: reads code and documents, and answers questions about them",
        instruction: "Answer with the file and line that shows it. Say what you could not find.",
    },
];

const HELPER: Role =
    Role { line: "helper: does what it is asked", instruction: "Answer what you are asked." };

struct Role {
    line: &'static str,
    instruction: &'static str,
}

const NOBODY: &str = "
# No coding agent was found on this machine. Install one, then add it:
# [[member]]
# name = \"claude\"
# agent = \"claude\"     # claude, codex, gemini, opencode, copilot, pi, acp, command, openai
";

/// Writes a new team file for these agents and this person. It always contains the person and the scribe. The first
/// agent is the default member; without agents, the scribe is. A user name that is not valid in a marker becomes
/// `you`.
pub fn write_new(found: &[FoundAgent], user: &str) -> String {
    let agents = usable(found);
    let mut page = HEAD.to_owned();
    let default = agents.first().map_or("scribe", |first| first.agent.word);
    page.push_str(&field("default", default));
    page.push_str(LIMITS);
    page.push_str(PERSON);
    page.push_str(&member(person(user, &agents)));
    page.push_str(&field("kind", "human"));
    for (index, FoundAgent { agent, command, version }) in agents.iter().enumerate() {
        let role = ROLES.get(index).unwrap_or(&HELPER);
        page.push_str(&format!("\n# {}\n", about(agent, version.as_deref())));
        page.push_str(&member(agent.word));
        page.push_str(&field("role", role.line));
        page.push_str(&field("agent", agent.word));
        if !command.is_empty() {
            let words: Vec<&str> = command.iter().map(|word| &**word).collect();
            page.push_str(&field("command", words));
        }
        page.push_str(&format!("# instruction = \"{}\"\n", role.instruction));
        page.push_str("# permissions = \"edit\"   # read (default), edit, or full\n");
    }
    if agents.is_empty() {
        page.push_str(NOBODY);
    }
    page.push_str(SCRIBE_COMMENT);
    page.push_str(&member("scribe"));
    page.push_str(&field("agent", SCRIBE.word));
    page
}

/// Returns a first task that makes the agents of such a team hand over to each other.
pub fn first_task(found: &[FoundAgent]) -> String {
    match usable(found).as_slice() {
        [] => "@scribe what can you do for me?".to_owned(),
        [only] => format!("@{} suggest one small improvement to this project", only.agent),
        [author, reviewer, ..] => format!(
            "@{} suggest one small improvement to this project, then ask {} to review it",
            author.agent, reviewer.agent
        ),
    }
}

fn member(name: &str) -> String {
    format!("[[member]]\n{}", field("name", name))
}

fn field(name: &str, value: impl Into<Value>) -> String {
    format!("{name} = {}\n", value.into())
}

/// Returns the agents under their own names, each once. Leaves out those that need more than a program.
fn usable(found: &[FoundAgent]) -> Vec<&FoundAgent> {
    let mut agents: Vec<&FoundAgent> = Vec::new();
    for one in found.iter().take(check::MEMBERS_MAX / 2) {
        let has_command = one.agent.takes("command") && !one.command.is_empty();
        let is_new = agents.iter().all(|other| other.agent != one.agent);
        if (one.agent.cli.is_some() || has_command) && is_new {
            agents.push(one);
        }
    }
    agents
}

fn about(agent: &AgentDefinition, version: Option<&str>) -> String {
    let what = match agent {
        agent if agent == agents::ACP => "An agent that speaks ACP",
        AgentDefinition { title, cli: Some(_), .. } => title,
        _ => "A program of yours",
    };
    // The version is printed by another program, so keep one line without control characters.
    let printed = version.and_then(|version| version.trim().lines().next()).unwrap_or_default();
    let printed: String = printed.chars().filter(|c| !c.is_control()).take(60).collect();
    if printed.is_empty() { what.to_owned() } else { format!("{what} ({printed})") }
}

/// Returns the name of the user, if it is valid in a marker and unique.
fn person<'u>(user: &'u str, agents: &[&FoundAgent]) -> &'u str {
    let user = user.trim();
    let is_writable = Roster::new([Member::human(user)]).is_ok() && user.chars().count() <= 40;
    let mut others = agents.iter().map(|one| one.agent.word).chain(["scribe"]);
    let is_free = others.all(|name| fold(name) != fold(user));
    if is_writable && is_free { user } else { "you" }
}
