//! Whether the programs of the team's members are there, their keys, and the folders they work in: each looked
//! for as a turn would, with the member's own settings. No program that the file names is started, for the file
//! may not be trusted.

use std::io;
use std::path::Path;

use tertulia_team::agents::{AGENTS, AgentDefinition};
use tertulia_team::file::{MemberFile, TeamFile};
use tertulia_team::{SignIn, Unusable, Whereabouts, look_for};

use super::agents::{Known, signed_in, without_folders};
use super::{Finding, Health};

/// What is found of every member that is an agent; `work` is where those without a `cwd` work.
pub(super) fn check(team: &TeamFile, base: &Path, work: &Path, known: &mut Known) -> Vec<Finding> {
    let agents: Vec<&MemberFile> =
        team.members.iter().filter(|member| member.agent.is_some()).collect();
    // Whoever gets the messages that address nobody has to be able to answer.
    let first = team.default.as_ref().or(agents.first().map(|member| &member.name));
    let mut findings = Vec::new();
    for agent in AGENTS {
        let users: Vec<&str> = agents
            .iter()
            .filter(|member| usual(member) == Some(agent))
            .map(|member| &*member.name)
            .collect();
        let is_needed = first.is_some_and(|first| users.contains(&&**first));
        let about = match users.as_slice() {
            [] => continue,
            [one] => format!("member {one}"),
            several => format!("members {}", several.join(", ")),
        };
        findings.extend(known.used(agent, about, is_needed));
    }
    for member in agents {
        let is_needed = first == Some(&member.name);
        findings.extend(of_member(member, base, work, is_needed));
    }
    findings
}

/// The agent of a member that is started as usual: what is found of it holds for all such members.
fn usual(member: &MemberFile) -> Option<&'static AgentDefinition> {
    if !member.command.is_empty() || !member.env.is_empty() {
        return None;
    }
    member.agent.filter(|agent| agent.cli.is_some())
}

fn of_member(member: &MemberFile, base: &Path, work: &Path, is_needed: bool) -> Vec<Finding> {
    let about = format!("member {}", member.name);
    let folder = folder(member, base);
    let program = if folder.is_none() { program(member, base, work) } else { None };
    let found = key(member).or(program).into_iter().chain(folder);
    let finding = |found: Found| match found {
        Found::There(text) => Finding::new(about.clone(), Health::Ok, text),
        Found::SignedOut(text) => Finding::new(about.clone(), Health::Warning, text),
        Found::Lacks(text, advice) => {
            Finding::new(about.clone(), Health::Missing, text).advised(advice).blocking(is_needed)
        }
        Found::Broken(text, advice) => {
            Finding::new(about.clone(), Health::Error, text).advised(advice).blocking(is_needed)
        }
    };
    found.map(finding).collect()
}

enum Found {
    There(String),
    /// It is there, and has nothing to sign in with.
    SignedOut(String),
    /// What, and what to do.
    Lacks(String, String),
    /// The same for what is there and cannot be used.
    Broken(String, String),
}

/// The folder that a member works in must be there.
fn folder(member: &MemberFile, base: &Path) -> Option<Found> {
    let cwd = member.cwd.as_deref()?;
    let folder = base.join(cwd);
    let what = match folder.metadata() {
        Ok(about) if about.is_dir() => return None,
        Ok(_) => "is not a folder".to_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => "does not exist".to_owned(),
        Err(error) => format!("cannot be used ({error})"),
    };
    let text = format!("its cwd {} {what}", folder.display());
    Some(Found::Lacks(text, "create the folder, or correct cwd in the team file".to_owned()))
}

/// The key of an endpoint.
fn key(member: &MemberFile) -> Option<Found> {
    let variable = member.key_variable.as_deref();
    let is_unset = |name: &str| std::env::var_os(name).is_none_or(|value| value.is_empty());
    if let Some(variable) = variable.filter(|variable| is_unset(variable)) {
        return Some(Found::Lacks(format!("{variable} is not set"), format!("set {variable}")));
    }
    let place = member.base_url.as_deref()?;
    let key = variable.map_or("no key".to_owned(), |variable| format!("its key from {variable}"));
    Some(Found::There(format!("endpoint {place}, {key}; not contacted")))
}

fn program(member: &MemberFile, base: &Path, work: &Path) -> Option<Found> {
    if usual(member).is_some() {
        return None;
    }
    // What is wrong with the file is shown already.
    let spec = member.agent_spec(base, work).ok().flatten()?;
    match look_for(&spec)? {
        Err(Unusable { is_missing, reason }) => {
            let named = member.command.first().map(|name| format!(" {name}")).unwrap_or_default();
            let advice = without_folders(&reason);
            Some(match is_missing {
                true => Found::Lacks(format!("its program{named} was not found"), advice),
                false => Found::Broken(format!("its program{named} cannot be started"), advice),
            })
        }
        Ok(Whereabouts { path, sign_in }) => {
            let text = format!("its program is {}", path.display());
            Some(match sign_in {
                None => Found::There(text),
                Some(state @ SignIn::No(_)) => {
                    Found::SignedOut(format!("{text}, {}", signed_in(&state)))
                }
                Some(state) => Found::There(format!("{text}, {}", signed_in(&state))),
            })
        }
    }
}
