//! Reads the team file of the earlier system (JSON, `schemaVersion` 1.1 and 1.2) into the same draft as the TOML
//! form. Settings without an equivalent cause a warning; settings that the earlier system ignored are ignored.

use tertulia_agent::agents::AgentDefinition;

use super::check::{Draft, DraftMember, Form};
use super::fields::{FieldReader, Seen, Unknown};
use super::member::{KINDS, Words, earlier_words};
use super::problem::{Problems, Spot};
use super::tree::{Node, Value};
use super::{MemberFile, rules};
use crate::roster::{Limits, MemberKind};

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

/// Maps field names to the names that the rules use.
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
    let Some(mut reader) = FieldReader::new(here.clone(), node.value, problems) else {
        return Draft::default();
    };
    reader.word("schemaVersion", VERSIONS);
    if !reader.seen.contains_key("schemaVersion") {
        reader.problems.error(&here, "has no schemaVersion; 1.1 and 1.2 can be read");
    }
    let mut shared = Shared { args: agents(&mut reader), ..Shared::default() };
    let mut limits = Limits::default();
    limits.turns = reader.number("maxRounds", rules::COUNT).unwrap_or(limits.turns);
    if let Some((spot, value)) = reader.take("conversation") {
        shared.timeout_s = conversation(spot, value, reader.problems);
    }
    let team = reader.take("team");
    if team.is_none() {
        reader.problems.error(&here, "has no team");
    }
    let team = team.and_then(|(spot, value)| FieldReader::new(spot, value, reader.problems));
    let (members, spot) = team.map(|reader| self::team(reader, shared)).unwrap_or_default();
    reader.finish(ROOT, Unknown::Ignored);
    let seen = spot.map(|spot| ("member", spot)).into_iter().collect();
    Draft { limits, members, seen, ..Draft::default() }
}

fn conversation(spot: Spot, value: Value, problems: &mut Problems<'_>) -> Option<u32> {
    let mut reader = FieldReader::new(spot, value, problems)?;
    let range = 1000..=rules::SECONDS.end() * 1000;
    let milliseconds: Option<u32> = reader.number("maxAgentResponseTime", range);
    reader.take("showThinkingTimer");
    reader.take("allowEscCancel");
    reader.finish(CONVERSATION, Unknown::Ignored);
    milliseconds.map(|milliseconds| milliseconds.div_ceil(1000))
}

/// Reads the arguments from the agent registry inside the file: a list with names, or a table by name.
fn agents(reader: &mut FieldReader<'_, '_>) -> Vec<(&'static AgentDefinition, Vec<Box<str>>)> {
    let mut named = Vec::new();
    match reader.take("agents") {
        Some((spot, Value::List(items))) => {
            for (index, node) in items.into_iter().enumerate() {
                let spot = spot.part(&format!("[{index}]"), node.span);
                let Some(mut reader) = FieldReader::new(spot, node.value, reader.problems) else {
                    continue;
                };
                if let Some(agent) = reader.word("name", &earlier_words()) {
                    named.push((agent, registered(reader)));
                }
            }
        }
        Some((spot, Value::Table(fields))) => {
            for (key, node) in fields {
                let spot = spot.part(&key.name, key.span);
                let agent = earlier_words().into_iter().find(|(word, _)| *word == key.name);
                let Some(reader) = FieldReader::new(spot, node.value, reader.problems) else {
                    continue;
                };
                if let Some((_, agent)) = agent {
                    named.push((agent, registered(reader)));
                }
            }
        }
        Some((spot, other)) => {
            return reader.refuse(&spot, "a list or a table", &other).unwrap_or_default();
        }
        None => {}
    }
    named
}

fn registered(mut reader: FieldReader<'_, '_>) -> Vec<Box<str>> {
    let args = reader.texts("args").unwrap_or_default();
    if let Some((spot, _)) = reader.take("command") {
        reader.problems.error(&spot, "a team file cannot set the program of an agent; remove it");
    }
    reader.take("usePty");
    reader.finish(&["name", "args", "usePty"], Unknown::Ignored);
    args
}

fn team(mut reader: FieldReader<'_, '_>, mut shared: Shared) -> (Vec<DraftMember>, Option<Spot>) {
    for unused in ["name", "description", "displayName", "roleDefinitions"] {
        reader.take(unused);
    }
    shared.instruction_file = reader.text("instructionFile");
    let (spot, items) = match reader.take("members") {
        Some((spot, Value::List(items))) => (spot, Some(items)),
        Some((spot, other)) => {
            let refused = reader.refuse(&spot, "a list", &other);
            (spot, refused)
        }
        None => (reader.here.clone(), Some(Vec::new())),
    };
    let mut members = Vec::new();
    for (index, node) in items.into_iter().flatten().enumerate() {
        let span = node.span.start..node.span.start + 1;
        let spot = Spot::of_member(index, &node, span);
        let Some(mut reader) = FieldReader::new(spot, node.value, reader.problems) else {
            continue;
        };
        let order = reader.number("order", 0..=i64::from(u32::MAX));
        members.push((order.unwrap_or(index as u64), member(reader, &shared)));
    }
    members.sort_by_key(|(order, _)| *order);
    if !members.is_empty() {
        let what = "the agents may only read here";
        let advice = "set permissions and instruction in a tertulia.toml for more";
        reader.problems.warn(&spot, format!("{what}; {advice}"));
    }
    reader.finish(TEAM, Unknown::Ignored);
    (members.into_iter().map(|(_, member)| member).collect(), Some(spot))
}

fn member(mut reader: FieldReader<'_, '_>, shared: &Shared) -> DraftMember {
    let kind = reader.word("type", KINDS);
    let agent = reader.word("agentType", &earlier_words());
    let name = reader.text("name").unwrap_or_default();
    // The earlier system allowed and ignored agent fields of a person.
    let is_person = kind == Some(MemberKind::Human);
    let agent = agent.filter(|_| !is_person);
    let kind_or_agent = if agent.is_some() { MemberKind::Ai } else { MemberKind::Human };
    let mut file = MemberFile::new(name, kind.unwrap_or(kind_or_agent), agent);
    file.display_name = reader.text("displayName");
    file.color = color(&mut reader);
    file.role = role(&mut reader);
    let instruction = instruction(&mut reader);
    let instruction_file = reader.text("instructionFile");
    let cwd = reader.text("baseDir");
    let env = reader.text_table("env").unwrap_or_default();
    let args = reader.texts("additionalArgs").unwrap_or_default();
    if let Some(agent) = file.agent {
        file.instruction = instruction;
        file.instruction_file = instruction_file.or_else(|| shared.instruction_file.clone());
        (file.cwd, file.env, file.timeout_s) = (cwd, env, shared.timeout_s);
        let registered = shared.args.iter().filter(|(name, _)| *name == agent);
        file.args = registered.flat_map(|(_, args)| args.iter().cloned()).chain(args).collect();
    }
    let here = reader.here.clone();
    let (seen, meant) = reader.finish(MEMBER, Unknown::Ignored);
    let seen = called_here(seen, is_person);
    DraftMember { kind, here, seen, meant, form: Form::Earlier, member: file }
}

/// Returns the positions under the names that the rules use. For a person, returns only fields that a person may
/// have.
fn called_here(seen: Seen, is_person: bool) -> Seen {
    let renamed = seen.into_iter().map(|(name, spot)| {
        let known = CALLED_HERE.iter().find(|(theirs, _)| *theirs == name);
        (known.map_or(name, |(_, ours)| *ours), spot)
    });
    let concerns = |name| matches!(name, "name" | "display_name" | "kind" | "color");
    renamed.filter(|(name, _)| !is_person || concerns(*name)).collect()
}

/// Reads a text, or a list of texts: empty ones are dropped and the others become lines.
fn instruction(reader: &mut FieldReader<'_, '_>) -> Option<Box<str>> {
    let text = match reader.take("systemInstruction")? {
        (spot, Value::List(items)) => {
            let lines = reader.as_texts(&spot, items);
            let lines = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
            lines.collect::<Vec<_>>().join("\n")
        }
        (_, Value::Text(text)) => text,
        (spot, other) => return reader.as_text(&spot, other),
    };
    (!text.trim().is_empty()).then(|| text.into())
}

fn role(reader: &mut FieldReader<'_, '_>) -> Option<Box<str>> {
    let (_, Value::Text(text)) = reader.take("role")? else { return None };
    let line = text.trim().lines().next()?.chars().filter(|c| !c.is_control());
    let line: String = line.take(rules::ROLE_CHARACTERS).collect();
    (!line.is_empty()).then(|| line.into())
}

fn color(reader: &mut FieldReader<'_, '_>) -> Option<Box<str>> {
    let color = reader.text("themeColor")?;
    let complaint = rules::as_color(&color);
    if let (Some(spot), Some(complaint)) = (reader.seen.get("themeColor"), &complaint) {
        reader.problems.warn(spot, format!("is ignored: {complaint}"));
    }
    complaint.is_none().then_some(color)
}
