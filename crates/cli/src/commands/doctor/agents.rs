//! The agents that are known by name: which are installed, and which of them the team uses. Each is looked at
//! once, whoever uses it.

use tertulia_team::agents::{AGENTS, AgentDefinition};
use tertulia_team::{Probe, SignIn, probe};

use super::{Finding, Health};

/// What was found of the agents that are known by name.
pub(super) struct Known {
    agents: Vec<One>,
}

struct One {
    agent: &'static AgentDefinition,
    probe: Probe,
    is_used: bool,
}

impl Known {
    /// Looks at all of them.
    pub(super) fn look() -> Self {
        let one = |agent: &&'static AgentDefinition| {
            Some(One { agent, probe: probe(agent, None)?, is_used: false })
        };
        Self { agents: AGENTS.iter().filter_map(one).collect() }
    }

    /// The finding about an agent that members use. `is_needed`: the default member is among them.
    pub(super) fn used(
        &mut self,
        agent: &AgentDefinition,
        about: String,
        is_needed: bool,
    ) -> Option<Finding> {
        let one = self.agents.iter_mut().find(|one| one.agent == agent)?;
        one.is_used = true;
        let finding = finding(about, agent, &one.probe);
        let is_unusable = one.probe.path.is_none();
        Some(finding.blocking(is_unusable && is_needed))
    }

    /// Those that nobody of the team uses.
    pub(super) fn unused(&self) -> impl Iterator<Item = Finding> {
        self.agents.iter().filter(|one| !one.is_used).map(|One { agent, probe, .. }| {
            let finding = finding(agent.to_string(), agent, probe);
            Finding { health: Health::Optional, blocks: false, ..finding }
        })
    }
}

/// An agent as it was found.
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

/// Whether an agent is signed in, in words.
pub(super) fn signed_in(state: &SignIn) -> String {
    match state {
        SignIn::Yes(how) => format!("signed in ({how})"),
        SignIn::No(why) => format!("not signed in ({why})"),
        SignIn::Unknown(why) => format!("sign-in unknown ({why})"),
    }
}

/// How an advice goes on where the folders of `PATH` were left out.
const SHORTENED: &str = " in PATH; ";

/// Whether the folders of `PATH` were left out of an advice.
pub(super) fn is_shortened(advice: &str) -> bool {
    advice.contains(SHORTENED)
}

/// An advice without all the folders of `PATH`: they are shown once for all programs.
pub(super) fn without_folders(advice: &str) -> String {
    let Some((before, rest)) = advice.split_once(" in PATH (") else { return advice.to_owned() };
    match rest.rsplit_once("); ") {
        Some((_, hint)) if !hint.is_empty() => format!("{before}{SHORTENED}{hint}"),
        _ => advice.to_owned(),
    }
}
