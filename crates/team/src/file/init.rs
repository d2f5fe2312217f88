//! The text that `tertulia init` writes: the agents found on this machine, the person and the scribe, with
//! a word on what can be changed. Called by the door; it looks for nothing itself.

use super::agent::AgentFile;
use super::{MemberFile, TeamFile, check, write};
use crate::names::fold;
use crate::table::{Member, Table};

/// An agent that was found on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundAgent {
    /// What it is.
    pub agent: AgentFile,
    /// How it is started, if its own name in `PATH` is not enough.
    pub command: Vec<Box<str>>,
    /// What it said of itself, for the comment.
    pub version: Option<Box<str>>,
}

const HEAD: &str = "\
# The table: who sits at it, and who answers for them. Every field: docs/team-file.md
# `tertulia chat` opens it, `tertulia run \"…\"` asks it once.

# What the team is to do. Everybody is told.
# task = \"Design the login page\"

# Who gets a message that addresses nobody. Others are addressed with @name.
";

const LIMITS: &str = "
# [limits]
# turns = 24          # turns of agents before a person is asked
# budget_usd = 5.0    # what the session may cost before a person is asked
";

const PERSON: &str = "
# You.
";

const SCRIBE: &str = "
# Writes the minutes: decisions, open points, who does what. Needs no key and no network.
";

const FIELDS: &str = "\
# instruction = \"You are an architect.\"   # or instruction_file = \"docs/architect.md\"
# permissions = \"edit\"                    # read (as it is now), edit, or full
";

const NOBODY: &str = "
# No coding agent was found on this machine. Once there is one:
# [[member]]
# name = \"claude\"
# agent = \"claude\"     # claude, codex, gemini, acp, command, openai
";

/// A new team file for these agents and this person. Always with the person and the scribe; the first
/// agent is the default, else the scribe. A user name that cannot stand in a marker becomes `you`.
pub fn write_new(found: &[FoundAgent], user: &str) -> String {
    let agents = members(found);
    let default = agents.first().map_or("scribe", |(member, _)| &*member.name);
    let mut page = HEAD.to_owned();
    let top = TeamFile { default: Some(default.into()), ..TeamFile::of(Vec::new()) };
    page.push_str(&top.to_toml());
    page.push_str(LIMITS);
    page.push_str(PERSON);
    page.push_str(&write::member(&MemberFile::human(person(user, &agents))));
    for (member, version) in &agents {
        page.push_str(&format!("\n# {}\n", about(member, version.as_deref())));
        page.push_str(&write::member(member));
        page.push_str(FIELDS);
    }
    if agents.is_empty() {
        page.push_str(NOBODY);
    }
    page.push_str(SCRIBE);
    page.push_str(&write::member(&MemberFile::ai("scribe", AgentFile::Scribe)));
    page
}

/// The agents under their own names, each once; those that need more than a program are left out.
fn members(found: &[FoundAgent]) -> Vec<(MemberFile, Option<Box<str>>)> {
    let mut members: Vec<(MemberFile, Option<Box<str>>)> = Vec::new();
    for FoundAgent { agent, command, version } in found.iter().take(check::MEMBERS_MAX / 2) {
        let stands_alone = match agent {
            AgentFile::Claude | AgentFile::Codex | AgentFile::Gemini => true,
            AgentFile::Acp | AgentFile::Command => !command.is_empty(),
            AgentFile::OpenAi | AgentFile::Scribe | AgentFile::Librarian | AgentFile::Script => {
                false
            }
        };
        let is_new = members.iter().all(|(member, _)| member.agent != Some(*agent));
        if stands_alone && is_new {
            let command = command.clone();
            let member = MemberFile { command, ..MemberFile::ai(agent.word(), *agent) };
            members.push((member, version.clone()));
        }
    }
    members
}

fn about(member: &MemberFile, version: Option<&str>) -> String {
    let what = match member.agent {
        Some(AgentFile::Acp) => "An agent that speaks ACP",
        agent => agent.and_then(AgentFile::product).unwrap_or("A program of yours"),
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
