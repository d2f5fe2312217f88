//! Lists what each agent of the team remembers from turn to turn, and why.

use std::collections::BTreeMap;

use tertulia_session::MemoryMode;
use tertulia_team::MemorySupport;
use tertulia_team::file::{MemberFile, TeamFile};

use super::{Finding, Health};

/// Returns one finding for all members with the same kind of memory.
pub(super) fn check(team: &TeamFile) -> Vec<Finding> {
    let mut kinds: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for member in &team.members {
        if let Some(text) = describe(member) {
            kinds.entry(text).or_default().push(&member.name);
        }
    }
    let finding = |(text, members): (String, Vec<&str>)| {
        Finding::new(format!("memory of {}", members.join(", ")), Health::Ok, text)
    };
    kinds.into_iter().map(finding).collect()
}

/// Describes the memory of a member; `None` for people and built-in members.
fn describe(member: &MemberFile) -> Option<String> {
    let support = member.memory_support()?;
    Some(match (support, member.memory) {
        (MemorySupport::Unsupported { reason }, _) => {
            format!("none, each turn gets the whole prompt: {reason}")
        }
        (_, Some(MemoryMode::Fresh)) => {
            "none, each turn gets the whole prompt: the team file says memory = \"fresh\""
                .to_owned()
        }
        (MemorySupport::Kept, _) => {
            "its own session, in a process that waits for the next turn".to_owned()
        }
        (MemorySupport::Loaded, _) => {
            "its own session, in a process that waits for the next turn; after the process has ended, a new one \
             continues it only if the agent can load it and replays exactly what was said, else the turn starts fresh"
                .to_owned()
        }
        (MemorySupport::Resumed, _) => {
            "its own session, which a new process continues in each turn".to_owned()
        }
    })
}
