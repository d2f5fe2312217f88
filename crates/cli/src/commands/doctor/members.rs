//! Whether the programs of the team's members are there, their keys, and the folders they work in.

use std::io;
use std::path::Path;

use tertulia_team::file::{AgentFile, MemberFile, TeamFile};
use tertulia_team::find_program;

use super::{Finding, Health};

/// The members who lack something.
pub(super) fn check(team: &TeamFile, base: &Path) -> Vec<Finding> {
    let agents = team.members.iter().filter(|member| member.agent.is_some());
    let first = agents.clone().next().map(|member| &member.name);
    // Whoever gets the messages that address nobody has to be able to answer.
    let first = team.default.as_ref().or(first);
    agents
        .flat_map(|member| {
            let is_needed = first == Some(&member.name);
            let health = if is_needed { Health::Broken } else { Health::Lacking };
            let lacks = [program(member, base), folder(member, base)].into_iter().flatten();
            lacks.map(move |(text, advice)| {
                let about = format!("member {}", member.name);
                Finding::new(about, health, text).advised(advice)
            })
        })
        .collect()
}

/// The folder that a member works in must be there.
fn folder(member: &MemberFile, base: &Path) -> Option<(String, String)> {
    let cwd = member.cwd.as_deref()?;
    let folder = base.join(cwd);
    let what = match folder.metadata() {
        Ok(about) if about.is_dir() => return None,
        Ok(_) => "is no folder".to_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => "is not there".to_owned(),
        Err(error) => format!("cannot be used ({error})"),
    };
    let text = format!("its cwd {} {what}", folder.display());
    Some((text, "make the folder, or name another with cwd in the team file".to_owned()))
}

fn program(member: &MemberFile, base: &Path) -> Option<(String, String)> {
    let agent = member.agent?;
    if let Some(variable) = member.key_variable.as_deref()
        && std::env::var_os(variable).is_none_or(|value| value.is_empty())
    {
        return Some((format!("{variable} is not set"), format!("set {variable}")));
    }
    let usual = match agent {
        AgentFile::Claude => Some("claude"),
        AgentFile::Codex => Some("codex"),
        AgentFile::Gemini => Some("gemini"),
        _ => None,
    };
    let program = member.command.first().map(|word| &**word).or(usual)?;
    let is_there = match program.contains('/') {
        true => base.join(program).is_file(),
        false => find_program(program).is_some(),
    };
    let advice = "install it, or name another with command in the team file";
    (!is_there).then(|| (format!("its program {program} is not found"), advice.to_owned()))
}
