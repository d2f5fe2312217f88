//! Checks the programs of agents: those known by name, each once, and those of the team's members, with
//! their keys and working folders. Finds them as a turn would, with the member's own settings. Starts no program
//! that the team file names, because the file may not be trusted.

use std::io;
use std::path::Path;

use tertulia_team::agents::{AGENTS, AgentDefinition};
use tertulia_team::file::{MemberFile, TeamFile};
use tertulia_team::{AuthState, Probe, ProgramLocation, Unusable, locate_program, probe};

use super::{Finding, Health, memory};

/// The probed agents that are known by name.
pub(super) struct Known {
    agents: Vec<KnownAgent>,
}

struct KnownAgent {
    agent: &'static AgentDefinition,
    probe: Probe,
    is_used: bool,
}

impl Known {
    pub(super) fn probe() -> Self {
        let one = |agent: &&'static AgentDefinition| {
            Some(KnownAgent { agent, probe: probe(agent, None)?, is_used: false })
        };
        Self { agents: AGENTS.iter().filter_map(one).collect() }
    }

    /// Returns the finding about an agent that members use. `is_needed` tells whether the default member is among
    /// them.
    fn used(&mut self, agent: &AgentDefinition, about: String, is_needed: bool) -> Option<Finding> {
        let one = self.agents.iter_mut().find(|one| one.agent == agent)?;
        one.is_used = true;
        let blocks = one.probe.path.is_none() && is_needed;
        Some(Finding { blocks, ..finding(about, agent, &one.probe) })
    }

    /// Returns findings about agents that the team does not use.
    pub(super) fn unused(&self) -> impl Iterator<Item = Finding> {
        self.agents.iter().filter(|one| !one.is_used).map(|KnownAgent { agent, probe, .. }| {
            let finding = finding(agent.to_string(), agent, probe);
            Finding { health: Health::Optional, blocks: false, ..finding }
        })
    }
}

fn finding(about: String, agent: &AgentDefinition, probe: &Probe) -> Finding {
    let advice = probe.advice.as_deref().map(without_folders);
    let of = if about == agent.word { String::new() } else { format!("{agent} ") };
    let (health, text) = match &probe.path {
        None if probe.is_installed => (Health::Error, format!("{of}cannot be started")),
        None => (Health::Missing, format!("{of}not found")),
        Some(path) => {
            let version = probe.version.as_deref().unwrap_or("version unknown");
            let health = if advice.is_some() { Health::Warning } else { Health::Ok };
            let signed_in = signed_in(&probe.sign_in);
            (health, format!("{of}{version} at {}, {signed_in}", path.display()))
        }
    };
    Finding { advice, ..Finding::new(about, health, text) }
}

fn signed_in(state: &AuthState) -> String {
    match state {
        AuthState::Yes(how) => format!("signed in ({how})"),
        AuthState::No(why) => format!("not signed in ({why})"),
        AuthState::Unknown(why) => format!("sign-in unknown ({why})"),
    }
}

/// The text after a program's name where the folders of `PATH` were removed.
const SHORTENED: &str = " in PATH; ";

/// Returns whether the folders of `PATH` were removed from an advice.
pub(super) fn is_shortened(advice: &str) -> bool {
    advice.contains(SHORTENED)
}

/// Removes the folders of `PATH` from an advice; they are shown once for all programs.
fn without_folders(advice: &str) -> String {
    let Some((before, rest)) = advice.split_once(" in PATH (") else { return advice.to_owned() };
    match rest.rsplit_once("); ") {
        Some((_, hint)) if !hint.is_empty() => format!("{before}{SHORTENED}{hint}"),
        _ => advice.to_owned(),
    }
}

/// Checks every agent of the team; `work` is the folder of agents without a `cwd`.
pub(super) fn check(team: &TeamFile, base: &Path, work: &Path, known: &mut Known) -> Vec<Finding> {
    let agents: Vec<&MemberFile> =
        team.members.iter().filter(|member| member.agent.is_some()).collect();
    // The default member must be able to answer.
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
        findings.extend(for_member(member, base, work, is_needed));
    }
    findings.extend(memory::check(team));
    findings
}

/// Returns the agent of a member with default settings; one finding covers all such members.
fn usual(member: &MemberFile) -> Option<&'static AgentDefinition> {
    if !member.command.is_empty() || !member.env.is_empty() {
        return None;
    }
    member.agent.filter(|agent| agent.cli.is_some())
}

fn for_member(member: &MemberFile, base: &Path, work: &Path, is_needed: bool) -> Vec<Finding> {
    let folder = folder(member, base);
    let program = if folder.is_none() { program(member, base, work) } else { None };
    let mut findings: Vec<Finding> = key(member).or(program).into_iter().chain(folder).collect();
    for finding in &mut findings {
        finding.blocks = is_needed && matches!(finding.health, Health::Missing | Health::Error);
    }
    findings
}

fn about(member: &MemberFile, health: Health, text: String) -> Finding {
    Finding::new(format!("member {}", member.name), health, text)
}

fn folder(member: &MemberFile, base: &Path) -> Option<Finding> {
    let cwd = member.cwd.as_deref()?;
    let folder = base.join(cwd);
    let what = match folder.metadata() {
        Ok(about) if about.is_dir() => return None,
        Ok(_) => "is not a folder".to_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => "does not exist".to_owned(),
        Err(error) => format!("cannot be used ({error})"),
    };
    let text = format!("its cwd {} {what}", folder.display());
    let finding = about(member, Health::Missing, text);
    Some(finding.advised("create the folder, or correct cwd in the team file"))
}

fn key(member: &MemberFile) -> Option<Finding> {
    let variable = member.key_variable.as_deref();
    let is_unset = |name: &str| std::env::var_os(name).is_none_or(|value| value.is_empty());
    if let Some(variable) = variable.filter(|variable| is_unset(variable)) {
        let finding = about(member, Health::Missing, format!("{variable} is not set"));
        return Some(finding.advised(format!("set {variable}")));
    }
    let url = member.base_url.as_deref()?;
    let key = variable.map_or("no key".to_owned(), |variable| format!("its key from {variable}"));
    Some(about(member, Health::Ok, format!("endpoint {url}, {key}; not contacted")))
}

fn program(member: &MemberFile, base: &Path, work: &Path) -> Option<Finding> {
    if usual(member).is_some() {
        return None;
    }
    // Errors in the file are already shown.
    let spec = member.agent_spec(base, work).ok().flatten()?;
    match locate_program(&spec)? {
        Err(Unusable { is_missing, reason }) => {
            let named = member.command.first().map(|name| format!(" {name}")).unwrap_or_default();
            let (health, what) = match is_missing {
                true => (Health::Missing, "was not found"),
                false => (Health::Error, "cannot be started"),
            };
            let finding = about(member, health, format!("its program{named} {what}"));
            Some(finding.advised(without_folders(&reason)))
        }
        Ok(ProgramLocation { path, sign_in }) => {
            let state = sign_in.as_ref().map(|state| format!(", {}", signed_in(state)));
            let text = format!("its program is {}{}", path.display(), state.unwrap_or_default());
            let is_out = matches!(sign_in, Some(AuthState::No(_)));
            Some(about(member, if is_out { Health::Warning } else { Health::Ok }, text))
        }
    }
}
