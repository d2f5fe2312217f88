//! The text that `tertulia init` writes: the agents found on this machine, each with a role of its own, the
//! person and the scribe, and comments on what can be changed. Also the first task that it suggests. Pure.

use tertulia_agent::agents::{self, AgentDefinition};

use super::{MemberFile, TeamFile, check, write};
use crate::house::SCRIBE;
use crate::names::fold;
use crate::table::{Member, Table};

/// An agent that was found on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundAgent {
    pub agent: &'static AgentDefinition,
    /// How it is started, if its own name in `PATH` is not enough.
    pub command: Vec<Box<str>>,
    /// What it said of itself, for the comment.
    pub version: Option<Box<str>>,
}

const HEAD: &str = "\
# The team: its members and the agent behind each of them. docs/team-file.md lists every field.
# `tertulia chat` opens the conversation, `tertulia run \"…\"` sends one message.

# The task of the team. Every agent sees it with every prompt.
# task = \"Design the login page\"

# Who answers a message that addresses nobody. Address others with @name.
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

/// What the agents do, in the order in which they were found. All of them learn all roles.
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

/// A new team file for these agents and this person. Always with the person and the scribe; the first
/// agent is the default, else the scribe. A user name that cannot stand in a marker becomes `you`.
pub fn write_new(found: &[FoundAgent], user: &str) -> String {
    let agents = members(found);
    let default = agents.first().map_or("scribe", |(member, _)| &*member.name);
    let mut page = HEAD.to_owned();
    let top = TeamFile { default: Some(default.into()), ..TeamFile::new(Vec::new()) };
    page.push_str(&top.to_toml());
    page.push_str(LIMITS);
    page.push_str(PERSON);
    page.push_str(&write::member(&MemberFile::human(person(user, &agents))));
    for (index, (member, version)) in agents.iter().enumerate() {
        page.push_str(&format!("\n# {}\n", about(member, version.as_deref())));
        page.push_str(&write::member(member));
        let instruction = ROLES.get(index).unwrap_or(&HELPER).instruction;
        page.push_str(&format!("# instruction = \"{instruction}\"\n"));
        page.push_str("# permissions = \"edit\"   # read (default), edit, or full\n");
    }
    if agents.is_empty() {
        page.push_str(NOBODY);
    }
    page.push_str(SCRIBE_COMMENT);
    page.push_str(&write::member(&MemberFile::ai("scribe", SCRIBE)));
    page
}

/// A first task that lets the agents of such a team hand over to each other.
pub fn first_task(found: &[FoundAgent]) -> String {
    let agents = members(found);
    let names: Vec<&str> = agents.iter().map(|(member, _)| &*member.name).collect();
    match names.as_slice() {
        [] => "@scribe what can you do for me?".to_owned(),
        [only] => format!("@{only} suggest one small improvement to this project"),
        [author, reviewer, ..] => format!(
            "@{author} suggest one small improvement to this project, then ask {reviewer} to review it"
        ),
    }
}

/// The agents under their own names, each once; those that need more than a program are left out.
fn members(found: &[FoundAgent]) -> Vec<(MemberFile, Option<Box<str>>)> {
    let mut members: Vec<(MemberFile, Option<Box<str>>)> = Vec::new();
    for FoundAgent { agent, command, version } in found.iter().take(check::MEMBERS_MAX / 2) {
        let needs_command = agent.takes("command");
        let stands_alone = agent.cli.is_some() || (needs_command && !command.is_empty());
        let is_new = members.iter().all(|(member, _)| member.agent != Some(agent));
        if stands_alone && is_new {
            let command = command.clone();
            let role = Some(ROLES.get(members.len()).unwrap_or(&HELPER).line.into());
            let member = MemberFile { command, role, ..MemberFile::ai(agent.word, agent) };
            members.push((member, version.clone()));
        }
    }
    members
}

fn about(member: &MemberFile, version: Option<&str>) -> String {
    let what = match member.agent {
        Some(agent) if agent == agents::ACP => "An agent that speaks ACP",
        Some(AgentDefinition { title, cli: Some(_), .. }) => title,
        _ => "A program of yours",
    };
    // A version is what a program printed: one line of it, without control characters.
    let printed = version.and_then(|version| version.trim().lines().next()).unwrap_or_default();
    let printed: String = printed.chars().filter(|c| !c.is_control()).take(60).collect();
    if printed.is_empty() { what.to_owned() } else { format!("{what} ({printed})") }
}

/// The user's name, if it can stand in a marker and is nobody else's.
fn person(user: &str, agents: &[(MemberFile, Option<Box<str>>)]) -> Box<str> {
    let user = user.trim();
    let is_writable = Table::new([Member::human(user)]).is_ok() && user.chars().count() <= 40;
    let mut others = agents.iter().map(|(member, _)| &*member.name).chain(["scribe"]);
    let is_free = others.all(|name| fold(name) != fold(user));
    if is_writable && is_free { user.into() } else { "you".into() }
}
