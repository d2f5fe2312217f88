//! Whether the programs of the team's members are there, their keys, and the folders they work in: each looked
//! for as a turn would, with the member's own settings. Nothing is started, for the file may not be trusted.

use std::io;
use std::path::Path;

use tertulia_team::file::{MemberFile, TeamFile};
use tertulia_team::{SignIn, Whereabouts, look_for};

use super::{Finding, Health, signed_in, without_folders};

/// What is found of every member that is answered for; `work` is where those without a `cwd` work.
pub(super) fn check(team: &TeamFile, base: &Path, work: &Path) -> Vec<Finding> {
    let agents = team.members.iter().filter(|member| member.agent.is_some());
    let first = agents.clone().next().map(|member| &member.name);
    // Whoever gets the messages that address nobody has to be able to answer.
    let first = team.default.as_ref().or(first);
    let of_member = |member: &MemberFile| {
        let is_needed = first == Some(&member.name);
        let lacking = if is_needed { Health::Broken } else { Health::Lacking };
        let about = format!("member {}", member.name);
        let folder = folder(member, base);
        let program = if folder.is_none() { program(member, base, work) } else { None };
        let found = key(member).or(program).into_iter().chain(folder);
        let finding = move |found: Found| match found {
            Found::There(text) => Finding::new(about.clone(), Health::Good, text),
            Found::SignedOut(text) => Finding::new(about.clone(), Health::Lacking, text),
            Found::Lacks(text, advice) => {
                Finding::new(about.clone(), lacking, text).advised(advice)
            }
        };
        found.map(finding).collect::<Vec<_>>()
    };
    agents.flat_map(of_member).collect()
}

enum Found {
    There(String),
    /// It is there, and has nothing to sign in with.
    SignedOut(String),
    /// What, and what to do.
    Lacks(String, String),
}

/// The folder that a member works in must be there.
fn folder(member: &MemberFile, base: &Path) -> Option<Found> {
    let cwd = member.cwd.as_deref()?;
    let folder = base.join(cwd);
    let what = match folder.metadata() {
        Ok(about) if about.is_dir() => return None,
        Ok(_) => "is no folder".to_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => "is not there".to_owned(),
        Err(error) => format!("cannot be used ({error})"),
    };
    let text = format!("its cwd {} {what}", folder.display());
    Some(Found::Lacks(
        text,
        "make the folder, or name another with cwd in the team file".to_owned(),
    ))
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
    Some(Found::There(format!("endpoint {place}, {key}; whether it answers was not tried")))
}

fn program(member: &MemberFile, base: &Path, work: &Path) -> Option<Found> {
    // What is wrong with the file is told already.
    let spec = member.agent_spec(base, work).ok().flatten()?;
    let is_usual = member.command.is_empty() && member.env.is_empty();
    match look_for(&spec)? {
        Err(error) => {
            let named = member.command.first().map(|name| format!(" {name}")).unwrap_or_default();
            let text = format!("its program{named} cannot be used");
            Some(Found::Lacks(text, without_folders(&error)))
        }
        // The agents that are known by name have lines of their own.
        Ok(_) if is_usual && member.agent.is_some_and(|agent| agent.product().is_some()) => None,
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
