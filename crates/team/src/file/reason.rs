//! Why a team file has to be trusted: what it would do that reading a conversation does not. Pure; the
//! doors show the reasons to the person.

use tertulia_agent::Permissions;
use tertulia_agent::agents::AgentDefinition;

use super::spec::leads_out;
use super::{LibrarianScope, MemberFile, PreambleFile, TeamFile};
use crate::table::Limits;

/// One thing that a team file wants, in words for the person who is asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrustReason {
    /// It starts a coding agent. Such a program obeys the settings of the folder it works in, and the flags
    /// with which it answers without a person spare it the question whether it may.
    #[error(
        "{} is {}; it also obeys the project's own settings (hooks, MCP servers)",
        shown(member),
        agent.title
    )]
    Agent { member: Box<str>, agent: &'static AgentDefinition },
    #[error("{} starts {}", shown(member), words(command))]
    Starts { member: Box<str>, command: Vec<Box<str>> },
    #[error("{} is given the arguments {}", shown(member), words(args))]
    Arguments { member: Box<str>, args: Vec<Box<str>> },
    #[error("{} is given the variables {}", shown(member), words(names))]
    Variables { member: Box<str>, names: Vec<Box<str>> },
    #[error("{} {}", shown(member), match permissions {
        Permissions::Read => "may read files",
        Permissions::Edit => "may edit files",
        Permissions::Full => "may do whatever you may, without asking",
    })]
    Permissions { member: Box<str>, permissions: Permissions },
    #[error("{} sends the conversation to {}{}", shown(member), shown(base_url), match key_variable {
        Some(variable) => format!(" with the key in {}", shown(variable)),
        None => String::new(),
    })]
    Endpoint { member: Box<str>, base_url: Box<str>, key_variable: Option<Box<str>> },
    /// It names a path outside of its folder.
    #[error("{} {} {}", shown(member), match *field {
        "cwd" => "works in",
        _ => "is given the file",
    }, shown(path))]
    Outside { member: Box<str>, field: &'static str, path: Box<str> },
    #[error("{} searches the sessions of all projects when you ask it", shown(member))]
    AllProjects { member: Box<str> },
    /// The agents may go on longer without a person than usual.
    #[error("the agents may take {turns} turns before a person is asked")]
    Turns { turns: u32 },
}

/// All that a team file wants and that a person has to allow, in the order of its members.
pub fn needs_trust(team: &TeamFile) -> Vec<TrustReason> {
    let mut reasons = Vec::new();
    // Whatever else is raised, this one bounds it.
    let turns = team.limits.turns;
    if turns > Limits::default().turns {
        reasons.push(TrustReason::Turns { turns });
    }
    for member in &team.members {
        of_member(member, &mut reasons);
    }
    reasons
}

fn of_member(file: &MemberFile, reasons: &mut Vec<TrustReason>) {
    let member = || file.name.clone();
    if let Some(agent) = file.agent.filter(|agent| agent.cli.is_some()) {
        reasons.push(TrustReason::Agent { member: member(), agent });
    }
    if !file.command.is_empty() {
        reasons.push(TrustReason::Starts { member: member(), command: file.command.clone() });
    }
    if !file.args.is_empty() {
        reasons.push(TrustReason::Arguments { member: member(), args: file.args.clone() });
    }
    if !file.env.is_empty() {
        let names = file.env.keys().cloned().collect();
        reasons.push(TrustReason::Variables { member: member(), names });
    }
    if file.permissions > Permissions::Read {
        let permissions = file.permissions;
        reasons.push(TrustReason::Permissions { member: member(), permissions });
    }
    if file.scope == LibrarianScope::All {
        reasons.push(TrustReason::AllProjects { member: member() });
    }
    if let Some(base_url) = file.base_url.clone() {
        let key_variable = file.key_variable.clone();
        reasons.push(TrustReason::Endpoint { member: member(), base_url, key_variable });
    }
    let paths = [
        ("instruction_file", file.instruction_file.as_deref()),
        ("preamble", preamble_path(&file.preamble)),
        ("script_file", file.script_file.as_deref()),
        ("cwd", file.cwd.as_deref()),
    ];
    for (field, path) in paths {
        if let Some(path) = path.filter(|path| leads_out(path)) {
            reasons.push(TrustReason::Outside { member: member(), field, path: path.into() });
        }
    }
}

fn preamble_path(preamble: &PreambleFile) -> Option<&str> {
    match preamble {
        PreambleFile::File(path) => Some(path),
        PreambleFile::BuiltIn | PreambleFile::Off => None,
    }
}

fn words(words: &[Box<str>]) -> String {
    let shown: Vec<_> = words.iter().map(|word| shown(word)).collect();
    shown.join(" ")
}

/// The whole of a word: who decides must see all of it. In quotes where it would not be one word on a
/// screen.
fn shown(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=+,@%~".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("\"{}\"", word.escape_debug()),
    }
}
