//! Reads the team file of the earlier system (JSON, `schemaVersion` 1.1 and 1.2) into the same draft as
//! the TOML form. What has no place here is told as a warning; what that system ignored is ignored.

use tertulia_agent::agents::AgentDefinition;

use super::check::{Draft, DraftMember, Form};
use super::desk::{Desk, Seen, Unknown};
use super::member::{KINDS, Words, earlier_words};
use super::problem::{Problems, Spot};
use super::tree::{Node, Value};
use super::{MemberFile, rules};
use crate::table::{Limits, MemberKind};

const VERSIONS: Words<()> = &[("1.1", ()), ("1.2", ())];

const ROOT: &[&str] = &["schemaVersion", "agents", "team", "maxRounds", "conversation"];

const TEAM: &[&str] =
    &["name", "description", "displayName", "instructionFile", "roleDefinitions", "members"];

const CONVERSATION: &[&str] = &["maxAgentResponseTime", "showThinkingTimer", "allowEscCancel"];

const MEMBER: &[&str] = &[
    "displayName",
    "name",
    "role",
    "type",
    "agentType",
    "baseDir",
    "systemInstruction",
    "instructionFile",
    "env",
    "additionalArgs",
    "themeColor",
    "order",
];

/// Under which name a rule finds the place of a field.
const CALLED_HERE: &[(&str, &str)] = &[
    ("displayName", "display_name"),
    ("type", "kind"),
    ("agentType", "agent"),
    ("baseDir", "cwd"),
    ("systemInstruction", "instruction"),
    ("instructionFile", "instruction_file"),
    ("additionalArgs", "args"),
    ("themeColor", "color"),
];

#[derive(Default)]
struct Shared {
    timeout_s: Option<u32>,
    instruction_file: Option<Box<str>>,
    args: Vec<(&'static AgentDefinition, Vec<Box<str>>)>,
}

pub(super) fn root(node: Node, problems: &mut Problems<'_>) -> Draft {
    let here = Spot::at(node.span.start..node.span.start + 1);
    let Some(mut desk) = Desk::of(here.clone(), node.value, problems) else {
        return Draft::default();
    };
    desk.word("schemaVersion", VERSIONS);
    if !desk.seen.contains_key("schemaVersion") {
        desk.problems.error(&here, "has no schemaVersion; 1.1 and 1.2 can be read");
    }
    let mut shared = Shared { args: agents(&mut desk), ..Shared::default() };
    let mut limits = Limits::default();
    limits.turns = desk.number("maxRounds", rules::COUNT).unwrap_or(limits.turns);
    if let Some((spot, value)) = desk.take("conversation") {
        shared.timeout_s = conversation(spot, value, desk.problems);
    }
    let team = desk.take("team");
    if team.is_none() {
        desk.problems.error(&here, "has no team");
    }
    let team = team.and_then(|(spot, value)| Desk::of(spot, value, desk.problems));
    let (members, spot) = team.map(|desk| self::team(desk, shared)).unwrap_or_default();
    desk.finish(ROOT, Unknown::Ignored);
    let seen = spot.map(|spot| ("member", spot)).into_iter().collect();
    Draft { limits, members, seen, ..Draft::default() }
}

fn conversation(spot: Spot, value: Value, problems: &mut Problems<'_>) -> Option<u32> {
    let mut desk = Desk::of(spot, value, problems)?;
    let range = 1000..=rules::SECONDS.end() * 1000;
    let milliseconds: Option<u32> = desk.number("maxAgentResponseTime", range);
    desk.take("showThinkingTimer");
    desk.take("allowEscCancel");
    desk.finish(CONVERSATION, Unknown::Ignored);
    milliseconds.map(|milliseconds| milliseconds.div_ceil(1000))
}

/// The arguments of the file's own registry of agents: a list with names, or a table by name.
fn agents(desk: &mut Desk<'_, '_>) -> Vec<(&'static AgentDefinition, Vec<Box<str>>)> {
    let mut named = Vec::new();
    match desk.take("agents") {
        Some((spot, Value::List(items))) => {
            for (index, node) in items.into_iter().enumerate() {
                let spot = spot.part(&format!("[{index}]"), node.span);
                let Some(mut desk) = Desk::of(spot, node.value, desk.problems) else { continue };
                if let Some(agent) = desk.word("name", &earlier_words()) {
                    named.push((agent, registered(desk)));
                }
            }
        }
        Some((spot, Value::Table(fields))) => {
            for (key, node) in fields {
                let spot = spot.part(&key.name, key.span);
                let agent = earlier_words().into_iter().find(|(word, _)| *word == key.name);
                let Some(desk) = Desk::of(spot, node.value, desk.problems) else { continue };
                if let Some((_, agent)) = agent {
                    named.push((agent, registered(desk)));
                }
            }
        }
        Some((spot, other)) => {
            return desk.refuse(&spot, "a list or a table", &other).unwrap_or_default();
        }
        None => {}
    }
    named
}

fn registered(mut desk: Desk<'_, '_>) -> Vec<Box<str>> {
    let args = desk.texts("args").unwrap_or_default();
    if let Some((spot, _)) = desk.take("command") {
        desk.problems.error(&spot, "a team file cannot set the program of an agent; remove it");
    }
    desk.take("usePty");
    desk.finish(&["name", "args", "usePty"], Unknown::Ignored);
    args
}

fn team(mut desk: Desk<'_, '_>, mut shared: Shared) -> (Vec<DraftMember>, Option<Spot>) {
    for unused in ["name", "description", "displayName", "roleDefinitions"] {
        desk.take(unused);
    }
    shared.instruction_file = desk.text("instructionFile");
    let (spot, items) = match desk.take("members") {
        Some((spot, Value::List(items))) => (spot, Some(items)),
        Some((spot, other)) => {
            let refused = desk.refuse(&spot, "a list", &other);
            (spot, refused)
        }
        None => (desk.here.clone(), Some(Vec::new())),
    };
    let mut members = Vec::new();
    for (index, node) in items.into_iter().flatten().enumerate() {
        let span = node.span.start..node.span.start + 1;
        let place = Spot::of_member(index, &node, span);
        let Some(mut desk) = Desk::of(place, node.value, desk.problems) else { continue };
        let order = desk.number("order", 0..=i64::from(u32::MAX));
        members.push((order.unwrap_or(index as u64), member(desk, &shared)));
    }
    members.sort_by_key(|(order, _)| *order);
    if !members.is_empty() {
        let what = "the agents may only read here";
        let cure = "set permissions and instruction in a tertulia.toml for more";
        desk.problems.warn(&spot, format!("{what}; {cure}"));
    }
    desk.finish(TEAM, Unknown::Ignored);
    (members.into_iter().map(|(_, member)| member).collect(), Some(spot))
}

fn member(mut desk: Desk<'_, '_>, shared: &Shared) -> DraftMember {
    let kind = desk.word("type", KINDS);
    let agent = desk.word("agentType", &earlier_words());
    let name = desk.text("name").unwrap_or_default();
    // What a person could not use, that system allowed and ignored.
    let is_person = kind == Some(MemberKind::Human);
    let agent = agent.filter(|_| !is_person);
    let kind_or_agent = if agent.is_some() { MemberKind::Ai } else { MemberKind::Human };
    let mut file = MemberFile::new(name, kind.unwrap_or(kind_or_agent), agent);
    file.display_name = desk.text("displayName");
    file.color = color(&mut desk);
    file.role = role(&mut desk);
    let instruction = instruction(&mut desk);
    let instruction_file = desk.text("instructionFile");
    let cwd = desk.text("baseDir");
    let env = desk.text_table("env").unwrap_or_default();
    let args = desk.texts("additionalArgs").unwrap_or_default();
    if let Some(agent) = file.agent {
        file.instruction = instruction;
        file.instruction_file = instruction_file.or_else(|| shared.instruction_file.clone());
        (file.cwd, file.env, file.timeout_s) = (cwd, env, shared.timeout_s);
        let registered = shared.args.iter().filter(|(name, _)| *name == agent);
        file.args = registered.flat_map(|(_, args)| args.iter().cloned()).chain(args).collect();
    }
    let here = desk.here.clone();
    let (seen, meant) = desk.finish(MEMBER, Unknown::Ignored);
    let seen = called_here(seen, is_person);
    DraftMember { kind, here, seen, meant, form: Form::Earlier, member: file }
}

/// The places under the names that the rules use; of a person, only what concerns a person.
fn called_here(seen: Seen, is_person: bool) -> Seen {
    let renamed = seen.into_iter().map(|(name, spot)| {
        let known = CALLED_HERE.iter().find(|(theirs, _)| *theirs == name);
        (known.map_or(name, |(_, ours)| *ours), spot)
    });
    let concerns = |name| matches!(name, "name" | "display_name" | "kind" | "color");
    renamed.filter(|(name, _)| !is_person || concerns(*name)).collect()
}

/// A text, or a list of texts of which the empty ones are dropped and the others become lines.
fn instruction(desk: &mut Desk<'_, '_>) -> Option<Box<str>> {
    let text = match desk.take("systemInstruction")? {
        (spot, Value::List(items)) => {
            let lines = desk.as_texts(&spot, items);
            let lines = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
            lines.collect::<Vec<_>>().join("\n")
        }
        (_, Value::Text(text)) => text,
        (spot, other) => return desk.as_text(&spot, other),
    };
    (!text.trim().is_empty()).then(|| text.into())
}

fn role(desk: &mut Desk<'_, '_>) -> Option<Box<str>> {
    let (_, Value::Text(text)) = desk.take("role")? else { return None };
    let line = text.trim().lines().next()?.chars().filter(|c| !c.is_control());
    let line: String = line.take(rules::ROLE_CHARACTERS).collect();
    (!line.is_empty()).then(|| line.into())
}

fn color(desk: &mut Desk<'_, '_>) -> Option<Box<str>> {
    let color = desk.text("themeColor")?;
    let complaint = rules::as_color(&color);
    if let (Some(spot), Some(complaint)) = (desk.seen.get("themeColor"), &complaint) {
        desk.problems.warn(spot, format!("is ignored: {complaint}"));
    }
    complaint.is_none().then_some(color)
}
