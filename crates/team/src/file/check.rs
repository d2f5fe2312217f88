//! Reads a team file in either form into a draft. Then checks the team as a whole: names are unique, the default
//! member exists, and at least one member answers. Returns the file, or all its errors.

use std::collections::BTreeMap;

use tertulia_agent::agents::AgentDefinition;
use tertulia_agent::{CommandOutput, agents};

use super::fields::{Meant, Seen};
use super::problem::{FileErrors, Problems, Spot, did_you_mean, quoted};
use super::{IdleFile, MemberFile, ResourcesFile, TeamFile, earlier, member, read, rules, tree};
use crate::names::fold;
use crate::prices::PriceTable;
use crate::roster::{FallbackProblem, Limits, MemberKind, RosterError, fallback_problems};

pub(super) const MEMBERS_MAX: usize = 100;
/// Size limit of a task in the conversation.
const TASK_BYTES: usize = 5120;

#[derive(Default)]
pub(super) struct Draft {
    pub(super) task: Option<Box<str>>,
    pub(super) default: Option<Box<str>>,
    pub(super) limits: Limits,
    pub(super) resources: ResourcesFile,
    pub(super) idle: IdleFile,
    pub(super) prices: Option<PriceTable>,
    /// The spending limits of the team that are not 0.
    pub(super) budgets: Vec<Spot>,
    pub(super) members: Vec<DraftMember>,
    pub(super) seen: Seen,
}

pub(super) struct DraftMember {
    pub(super) kind: Option<MemberKind>,
    pub(super) here: Spot,
    pub(super) seen: Seen,
    pub(super) meant: Meant,
    pub(super) form: Form,
    pub(super) member: MemberFile,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Toml,
    Earlier,
}

impl TeamFile {
    /// Parses a team file: JSON of the earlier system (`schemaVersion` 1.1 or 1.2) if its first character is `{`,
    /// else TOML. `file_name` is used in errors.
    pub fn parse(text: &str, file_name: &str) -> Result<Self, FileErrors> {
        read::check_size(text.len(), file_name)?;
        let (text, tree, read): (_, _, fn(_, &mut Problems<'_>) -> Draft) = match is_json(text) {
            false => (text, tree::toml(text), member::team),
            true => {
                // JSON does not allow a byte order mark.
                let text = text.strip_prefix('\u{feff}').unwrap_or(text);
                (text, tree::json(text), earlier::root)
            }
        };
        let mut problems = Problems::new(text, file_name);
        let draft = match tree {
            Ok(node) => {
                problems.secrets = tree::secrets(&node);
                read(node, &mut problems)
            }
            Err(broken) => {
                for tree::Broken { at, what } in broken {
                    problems.error(&Spot::at(at), what);
                }
                Draft::default()
            }
        };
        finish(draft, problems)
    }
}

pub(super) fn is_json(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
}

fn finish(draft: Draft, mut problems: Problems<'_>) -> Result<TeamFile, FileErrors> {
    task(&draft, &mut problems);
    for member in draft.members.iter().take(MEMBERS_MAX) {
        rules::check(member, &mut problems);
    }
    names(&draft, &mut problems);
    default(&draft, &mut problems);
    fallbacks(&draft, &mut problems);
    somebody(&draft, &mut problems);
    budget(&draft, &mut problems);
    let Draft { task, default, limits, resources, idle, prices, budgets: _, members, seen } = draft;
    let members = members.into_iter().map(|draft| draft.member);
    let members = members.map(|member| MemberFile { inherited: resources, ..member }).collect();
    let warnings = Vec::new();
    let team = TeamFile { task, default, limits, resources, idle, prices, members, warnings };
    // The checks above include those of the roster. If one is missing, the error of the roster is reported.
    if let (false, Err(error)) = (problems.has_errors(), team.roster()) {
        problems.error(&seen.get("member").cloned().unwrap_or_default(), error.to_string());
    }
    problems.finish().map(|warnings| TeamFile { warnings, ..team })
}

fn task(draft: &Draft, problems: &mut Problems<'_>) {
    let bytes = draft.task.as_deref().map_or(0, str::len);
    if let (Some(spot), true) = (draft.seen.get("task"), bytes > TASK_BYTES) {
        problems.warn(spot, format!("has {bytes} bytes; only the first {TASK_BYTES} are kept"));
    }
}

fn names(draft: &Draft, problems: &mut Problems<'_>) {
    if let Some(extra) = draft.members.get(MEMBERS_MAX) {
        let count = draft.members.len();
        problems.error(&extra.here, format!("{count} members; at most {MEMBERS_MAX} are allowed"));
    }
    let mut known: BTreeMap<String, &str> = BTreeMap::new();
    for DraftMember { member, seen, .. } in &draft.members {
        let folded = fold(&member.name);
        let Some(spot) = seen.get("name").filter(|_| !folded.is_empty()) else { continue };
        if let Some(twin) = known.insert(folded, &member.name) {
            let error = RosterError::TwoOfOneName(twin.into(), member.name.clone());
            problems.error(spot, error.to_string());
        }
    }
}

fn default(draft: &Draft, problems: &mut Problems<'_>) {
    let (Some(name), Some(spot)) = (&draft.default, draft.seen.get("default")) else { return };
    match draft.members.iter().find(|draft| draft.member.name == *name) {
        None => {
            let known: Vec<&str> = draft.members.iter().map(|one| &*one.member.name).collect();
            let hint = did_you_mean(name, &known);
            problems.error(spot, format!("{} is not a member{hint}", quoted(name)));
        }
        Some(draft) if draft.kind == Some(MemberKind::Human) => {
            problems.error(spot, RosterError::HumanDefault(name.clone()).to_string());
        }
        Some(_) => {}
    }
}

fn fallbacks(draft: &Draft, problems: &mut Problems<'_>) {
    let kind_of = |name: &str| {
        let mut members = draft.members.iter().map(|draft| &draft.member);
        members.find(|member| *member.name == *name).map(|member| member.kind)
    };
    for DraftMember { member, seen, .. } in &draft.members {
        let Some(spot) = seen.get("fallback") else { continue };
        for (name, problem) in fallback_problems(&member.name, &member.fallback, kind_of) {
            let hint = match problem {
                FallbackProblem::Unknown => {
                    let known: Vec<&str> =
                        draft.members.iter().map(|one| &*one.member.name).collect();
                    did_you_mean(name, &known)
                }
                _ => String::new(),
            };
            problems.error(spot, format!("{} {problem}{hint}", quoted(name)));
        }
    }
}

/// Warns about a spending limit for an agent whose cost is never known. A limit of 0 stops every agent.
fn budget(draft: &Draft, problems: &mut Problems<'_>) {
    const ALTERNATIVE: &str = "use limits.turns, which limits all agents";
    let mut silent = Vec::new();
    for DraftMember { member, seen, .. } in &draft.members {
        let Some(agent) = member.agent else { continue };
        let Some((cause, cure)) = cause_of_unknown_cost(agent, member) else { continue };
        let own = [("budget_usd", member.budget_usd), ("budget_usd_turn", member.budget_usd_turn)];
        let own = own.into_iter().filter(|(_, limit)| *limit > Some(0.0));
        for spot in own.filter_map(|(name, _)| seen.get(name)) {
            let what = format!("this limit never applies to {agent}, which {cause}; {ALTERNATIVE}");
            problems.warn(spot, what);
        }
        // A program of the user may cost nothing.
        if agent != agents::COMMAND && !member.name.is_empty() {
            silent.push(format!("{} ({agent}{cure})", quoted(&member.name)));
        }
    }
    let names = silent.join(", ");
    let what = format!("does not count members whose cost is unknown: {names}; {ALTERNATIVE}");
    for spot in draft.budgets.iter().filter(|_| !silent.is_empty()) {
        problems.warn(spot, what.clone());
    }
}

/// Returns why the cost of a member's answers is never known, if that is so, and how to change it.
fn cause_of_unknown_cost(
    agent: &AgentDefinition,
    member: &MemberFile,
) -> Option<(&'static str, &'static str)> {
    if agent.reports_cost || member.output == CommandOutput::Jsonl {
        None
    } else if !agent.reports_tokens {
        Some(("reports neither costs nor tokens", ""))
    } else if !agent.reports_model && member.model.is_none() {
        Some(("reports neither costs nor its model; set model", ": set model"))
    } else {
        None
    }
}

fn somebody(draft: &Draft, problems: &mut Problems<'_>) {
    let found = draft.seen.get("member");
    // A list of members that could not be read was already reported.
    if draft.members.is_empty() && problems.has_errors() {
        return;
    }
    let spot = found.cloned().unwrap_or_default();
    let answers = |draft: &DraftMember| {
        draft.seen.contains_key("agent") || draft.kind != Some(MemberKind::Human)
    };
    if !draft.members.iter().any(answers) {
        let advice = "add a [[member]] with an agent; agent = \"scribe\" needs nothing installed";
        problems.error(&spot, format!("no agent is configured; {advice}"));
    }
    if draft.members.iter().all(|draft| draft.member.kind != MemberKind::Human) {
        let advice = "add a [[member]] with kind = \"human\" to take part";
        problems.warn(&spot, format!("the team has no person; {advice}"));
    }
}
