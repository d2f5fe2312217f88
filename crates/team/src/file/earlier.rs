//! Reads the team file of the earlier system (JSON, `schemaVersion` 1.1 and 1.2) into the same draft as
//! the TOML form. What has no place here is told as a warning; what that system ignored is ignored.

use tertulia_agent::agents::AgentDefinition;

use super::agent::{KINDS, Words, earlier_words};
use super::check::{self, Draft, DraftMember, Form};
use super::desk::{Desk, Seen, Unknown, as_text, as_texts, must_be};
use super::problem::{FileErrors, Problems, Spot};
use super::tree::{self, Node, Value};
use super::{MemberFile, TeamFile, member as toml_form, read, rules};
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

/// What the file says of all members.
#[derive(Default)]
struct Shared {
    timeout_s: Option<u32>,
    instruction_file: Option<Box<str>>,
    /// Arguments by the agent's name.
    args: Vec<(&'static AgentDefinition, Vec<Box<str>>)>,
}

/// Reads a team file of the earlier system.
pub(super) fn parse(text: &str, place: &str) -> Result<TeamFile, FileErrors> {
    read::check_size(text.len(), place)?;
    // A byte order mark is no JSON.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut problems = Problems::new(text, place);
    match tree::json(text) {
        Ok(node) => {
            problems.hide(tree::secrets(&node));
            let draft = root(node, &mut problems);
            check::finish(draft, problems)
        }
        Err(broken) => Err(toml_form::syntax_errors(vec![broken], problems)),
    }
}

fn root(node: Node, problems: &mut Problems<'_>) -> Draft {
    let here = Spot::at(node.span.start..node.span.start + 1);
    let Some(mut desk) = Desk::of(here.clone(), node, problems) else {
        return Draft::default();
    };
    desk.word("schemaVersion", VERSIONS, problems);
    if !desk.seen.contains_key("schemaVersion") {
        problems.error(&here, "has no schemaVersion; 1.1 and 1.2 can be read");
    }
    let mut shared = Shared { args: agents(&mut desk, problems), ..Shared::default() };
    let mut limits = Limits::default();
    limits.turns = desk.number("maxRounds", rules::COUNT, problems).unwrap_or(limits.turns);
    if let Some((spot, value)) = desk.take("conversation") {
        shared.timeout_s = conversation(spot, value, problems);
    }
    let team = desk.take("team");
    if team.is_none() {
        problems.error(&here, "has no team");
    }
    let (members, spot) = team.map_or_else(Default::default, |(spot, value)| {
        let node = Node { span: spot.span.clone(), value };
        let desk = Desk::of(spot, node, problems);
        desk.map_or_else(Default::default, |desk| self::team(desk, shared, problems))
    });
    desk.finish(&ROOT.iter().copied(), Unknown::Ignored, problems);
    let seen = spot.map(|spot| ("member", spot)).into_iter().collect();
    Draft { limits, members, seen, ..Draft::default() }
}

fn conversation(spot: Spot, value: Value, problems: &mut Problems<'_>) -> Option<u32> {
    let node = Node { span: spot.span.clone(), value };
    let mut desk = Desk::of(spot, node, problems)?;
    let range = 1000..=rules::SECONDS.end() * 1000;
    let milliseconds: Option<u32> = desk.number("maxAgentResponseTime", range, problems);
    desk.take("showThinkingTimer");
    desk.take("allowEscCancel");
    desk.finish(&CONVERSATION.iter().copied(), Unknown::Ignored, problems);
    milliseconds.map(|milliseconds| milliseconds.div_ceil(1000))
}

/// The arguments of the file's own registry of agents: a list with names, or a table by name.
fn agents(
    desk: &mut Desk,
    problems: &mut Problems<'_>,
) -> Vec<(&'static AgentDefinition, Vec<Box<str>>)> {
    let Some((spot, value)) = desk.take("agents") else {
        return Vec::new();
    };
    let mut named = Vec::new();
    match value {
        Value::List(items) => {
            for (index, node) in items.into_iter().enumerate() {
                let spot = spot.part(&format!("[{index}]"), node.span.clone());
                let Some(mut desk) = Desk::of(spot, node, problems) else { continue };
                if let Some(agent) = desk.word("name", &earlier_words(), problems) {
                    named.push((agent, registered(desk, problems)));
                }
            }
        }
        Value::Table(fields) => {
            for (key, node) in fields {
                let spot = spot.part(&key.name, key.span);
                let agent = earlier_words().into_iter().find(|(word, _)| *word == key.name);
                let Some(desk) = Desk::of(spot, node, problems) else { continue };
                if let Some((_, agent)) = agent {
                    named.push((agent, registered(desk, problems)));
                }
            }
        }
        other => problems.error(&spot, must_be("a list or a table", &other)),
    }
    named
}

fn registered(mut desk: Desk, problems: &mut Problems<'_>) -> Vec<Box<str>> {
    let args = desk.texts("args", problems).unwrap_or_default();
    if let Some((spot, _)) = desk.take("command") {
        problems.error(&spot, "a team file cannot set the program of an agent; remove it");
    }
    desk.take("usePty");
    desk.finish(&["name", "args", "usePty"].into_iter(), Unknown::Ignored, problems);
    args
}

fn team(
    mut desk: Desk,
    mut shared: Shared,
    problems: &mut Problems<'_>,
) -> (Vec<DraftMember>, Option<Spot>) {
    for unused in ["name", "description", "displayName", "roleDefinitions"] {
        desk.take(unused);
    }
    shared.instruction_file = desk.text("instructionFile", problems);
    let here = desk.here.clone();
    let taken = desk.take("members");
    desk.finish(&TEAM.iter().copied(), Unknown::Ignored, problems);
    let (spot, items) = match taken {
        Some((spot, Value::List(items))) => (spot, items),
        Some((spot, other)) => {
            problems.error(&spot, must_be("a list", &other));
            return (Vec::new(), Some(spot));
        }
        None => (here, Vec::new()),
    };
    let mut members = Vec::with_capacity(items.len());
    for (index, node) in items.into_iter().enumerate() {
        let span = node.span.start..node.span.start + 1;
        let place = Spot::of_member(index, &node, span);
        let Some(mut desk) = Desk::of(place, node, problems) else { continue };
        let order = desk.number("order", 0..=i64::from(u32::MAX), problems);
        members.push((order.unwrap_or(index as u64), member(desk, &shared, problems)));
    }
    members.sort_by_key(|(order, _)| *order);
    if !members.is_empty() {
        let what = "the agents may only read here";
        let cure = "set permissions and instruction in a tertulia.toml for more";
        problems.warn(&spot, format!("{what}; {cure}"));
    }
    (members.into_iter().map(|(_, member)| member).collect(), Some(spot))
}

fn member(mut desk: Desk, shared: &Shared, problems: &mut Problems<'_>) -> DraftMember {
    let kind = desk.word("type", KINDS, problems);
    let agent = desk.word("agentType", &earlier_words(), problems);
    let name = desk.text("name", problems).unwrap_or_default();
    // What a person could not use, that system allowed and ignored.
    let is_person = kind == Some(MemberKind::Human);
    let agent = agent.filter(|_| !is_person);
    let kind_or_agent = if agent.is_some() { MemberKind::Ai } else { MemberKind::Human };
    let mut file = MemberFile::new(name, kind.unwrap_or(kind_or_agent), agent);
    file.display_name = desk.text("displayName", problems);
    file.color = color(&mut desk, problems);
    file.role = role(&mut desk);
    let instruction = instruction(&mut desk, problems);
    let instruction_file = desk.text("instructionFile", problems);
    let cwd = desk.text("baseDir", problems);
    let env = desk.text_table("env", problems);
    let args = desk.texts("additionalArgs", problems).unwrap_or_default();
    if let Some(agent) = file.agent {
        file.instruction = instruction;
        file.instruction_file = instruction_file.or_else(|| shared.instruction_file.clone());
        (file.cwd, file.env, file.timeout_s) = (cwd, env, shared.timeout_s);
        let registered = shared.args.iter().filter(|(name, _)| *name == agent);
        file.args = registered.flat_map(|(_, args)| args.iter().cloned()).chain(args).collect();
    }
    let here = desk.here.clone();
    let (seen, meant) = desk.finish(&MEMBER.iter().copied(), Unknown::Ignored, problems);
    let seen = called_here(seen, is_person);
    DraftMember { kind, here, seen, meant, form: Form::Earlier, member: file }
}

/// The places under the names that the rules use; of a person, only what concerns a person.
fn called_here(seen: Seen, is_person: bool) -> Seen {
    let mut renamed = Seen::new();
    for (name, spot) in seen {
        let known = CALLED_HERE.iter().find(|(theirs, _)| *theirs == name);
        let name = known.map_or(name, |(_, ours)| *ours);
        if !is_person || matches!(name, "name" | "display_name" | "kind" | "color") {
            renamed.insert(name, spot);
        }
    }
    renamed
}

/// A text, or a list of texts of which the empty ones are dropped and the others become lines.
fn instruction(desk: &mut Desk, problems: &mut Problems<'_>) -> Option<Box<str>> {
    let text = match desk.take("systemInstruction")? {
        (spot, Value::List(items)) => {
            let lines = as_texts(&spot, items, problems);
            let lines = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
            lines.collect::<Vec<_>>().join("\n")
        }
        (_, Value::Text(text)) => text,
        (spot, other) => {
            as_text(&spot, other, problems);
            String::new()
        }
    };
    (!text.trim().is_empty()).then(|| text.into())
}

/// The role, if it is a text; one line of it.
fn role(desk: &mut Desk) -> Option<Box<str>> {
    let (_, Value::Text(text)) = desk.take("role")? else { return None };
    let line: String = text.trim().lines().next()?.chars().filter(|c| !c.is_control()).collect();
    let line: String = line.chars().take(rules::ROLE_CHARACTERS).collect();
    (!line.is_empty()).then(|| line.into())
}

/// The colour, if it has a name here too.
fn color(desk: &mut Desk, problems: &mut Problems<'_>) -> Option<Box<str>> {
    let color = desk.text("themeColor", problems)?;
    let complaint = rules::as_color(&color);
    if let (Some(spot), Some(complaint)) = (desk.seen.get("themeColor"), &complaint) {
        problems.warn(spot, format!("is ignored: {complaint}"));
    }
    complaint.is_none().then_some(color)
}
