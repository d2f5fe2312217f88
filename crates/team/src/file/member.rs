//! What may stand in a team file, and who may have it; and reading the TOML form, field by field. `check` judges it.

use tertulia_agent::agents::{AGENTS, AgentDefinition};
use tertulia_agent::{CommandOutput, Permissions};

use super::check::{Draft, DraftMember, Form};
use super::desk::{Desk, Unknown};
use super::problem::{Problems, Spot};
use super::tree::{Node, Value};
use super::{MemberFile, PreambleFile, ResourcesFile, rules};
use crate::house::{LIBRARIAN, SCRIBE};
use crate::table::{Limits, MemberKind};

pub(super) const TEAM: &[&str] = &["task", "default", "limits", "member"];

pub(super) const LIMITS: &[&str] =
    &["queue", "branch", "local", "turns", "pair", "budget_usd", "max_processes", "max_memory_mb"];

/// The fields of a member: those of everybody, and those that the definitions of the agents name.
pub(super) fn member_fields() -> Vec<&'static str> {
    let mut fields = vec!["name", "display_name", "kind", "role", "agent", "color"];
    for field in known_agents().flat_map(AgentDefinition::fields) {
        if !fields.contains(&field) {
            fields.push(field);
        }
    }
    fields
}

/// All fields of a team file in TOML, as `task`, `limits.turns`, `member.name`.
pub fn known_fields() -> impl Iterator<Item = String> {
    let team = TEAM.iter().map(|name| (*name).to_owned());
    let limits = LIMITS.iter().map(|name| format!("limits.{name}"));
    let member = member_fields().into_iter().map(|name| format!("member.{name}"));
    team.chain(limits).chain(member)
}

/// All agents that a team file can name, in the order of the documentation.
pub fn known_agents() -> impl Iterator<Item = &'static AgentDefinition> {
    AGENTS.iter().copied().chain([SCRIBE, LIBRARIAN])
}

pub(super) type Words<T> = &'static [(&'static str, T)];

pub(super) fn agent_words() -> Vec<(&'static str, &'static AgentDefinition)> {
    known_agents().map(|agent| (agent.word, agent)).collect()
}

pub(super) fn earlier_words() -> Vec<(&'static str, &'static AgentDefinition)> {
    let words = |agent: &'static AgentDefinition| {
        agent.earlier_words.iter().map(move |word| (*word, agent))
    };
    known_agents().flat_map(words).collect()
}

pub(super) const KINDS: Words<MemberKind> = &[("human", MemberKind::Human), ("ai", MemberKind::Ai)];

pub(super) const PERMISSIONS: Words<Permissions> =
    &[("read", Permissions::Read), ("edit", Permissions::Edit), ("full", Permissions::Full)];

pub(super) const OUTPUTS: Words<CommandOutput> =
    &[("text", CommandOutput::Text), ("jsonl", CommandOutput::Jsonl)];

/// Which past sessions the librarian searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LibrarianScope {
    /// Those of the same project.
    #[default]
    Project,
    /// Those of all projects, where a person asks for it.
    All,
}

pub(super) const SCOPES: Words<LibrarianScope> =
    &[("project", LibrarianScope::Project), ("all", LibrarianScope::All)];

/// An agent's memory of its earlier turns: it has none, and gets the conversation anew.
pub(super) const MEMORIES: Words<()> = &[("fresh", ())];

pub(super) fn team(node: Node, problems: &mut Problems<'_>) -> Draft {
    let Some(mut desk) = Desk::of(Spot::default(), node.value, problems) else {
        return Draft::default();
    };
    let task = desk.text("task");
    let default = desk.text("default");
    let limits = desk.take("limits").and_then(|(spot, value)| limits(spot, value, desk.problems));
    let (limits, resources, budget) = limits.unwrap_or_default();
    let members = members(&mut desk);
    let (seen, _) = desk.finish(TEAM, Unknown::Refused);
    Draft { task, default, limits, resources, budget, members, seen }
}

fn limits(
    spot: Spot,
    value: Value,
    problems: &mut Problems<'_>,
) -> Option<(Limits, ResourcesFile, Option<Spot>)> {
    let mut desk = Desk::of(spot, value, problems)?;
    let usual = Limits::default();
    let limits = Limits {
        queue: desk.number("queue", rules::COUNT).unwrap_or(usual.queue),
        branch: desk.number("branch", rules::COUNT).unwrap_or(usual.branch),
        local: desk.number("local", rules::COUNT).unwrap_or(usual.local),
        turns: desk.number("turns", rules::COUNT).unwrap_or(usual.turns),
        pair: desk.number("pair", rules::COUNT).unwrap_or(usual.pair),
        budget_usd: desk.dollars("budget_usd"),
        names: usual.names,
    };
    let resources = resources(&mut desk);
    let (mut seen, _) = desk.finish(LIMITS, Unknown::Refused);
    Some((limits, resources, seen.remove("budget_usd")))
}

fn resources(desk: &mut Desk<'_, '_>) -> ResourcesFile {
    ResourcesFile {
        max_processes: desk.number("max_processes", rules::COUNT),
        max_memory_mb: desk.number("max_memory_mb", rules::MEGABYTES),
    }
}

fn members(desk: &mut Desk<'_, '_>) -> Vec<DraftMember> {
    let items = match desk.take("member") {
        Some((_, Value::List(items))) => items,
        Some((spot, Value::Table(_))) => {
            desk.problems.error(&spot, "must be a list; write [[member]] with two brackets");
            return Vec::new();
        }
        Some((spot, other)) => {
            let expected = "a list of tables, each under [[member]]";
            return desk.refuse(&spot, expected, &other).unwrap_or_default();
        }
        None => return Vec::new(),
    };
    let mut members = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        let spot = Spot::of_member(index, &item, item.span.clone());
        members.extend(Desk::of(spot, item.value, desk.problems).map(member));
    }
    members
}

fn member(mut desk: Desk<'_, '_>) -> DraftMember {
    let name = desk.text("name").unwrap_or_default();
    let kind = desk.word("kind", KINDS);
    let agent = desk.word("agent", &agent_words());
    desk.word("memory", MEMORIES);
    let member = MemberFile {
        name,
        display_name: desk.text("display_name"),
        kind: kind.unwrap_or(if agent.is_some() { MemberKind::Ai } else { MemberKind::Human }),
        role: desk.text("role"),
        agent,
        model: desk.text("model"),
        instruction: desk.text("instruction"),
        instruction_file: desk.text("instruction_file"),
        preamble: preamble(&mut desk).unwrap_or_default(),
        permissions: desk.word("permissions", PERMISSIONS).unwrap_or_default(),
        window: desk.number("window", rules::WINDOW),
        budget_bytes: desk.number("budget_bytes", rules::BYTES),
        budget_tokens: desk.number("budget_tokens", rules::TOKENS),
        budget_usd: desk.dollars("budget_usd"),
        timeout_s: desk.number("timeout_s", rules::SECONDS),
        first_byte_s: desk.number("first_byte_s", rules::SECONDS),
        silence_s: desk.number("silence_s", rules::SECONDS),
        resources: resources(&mut desk),
        inherited: ResourcesFile::default(),
        command: command(&mut desk).unwrap_or_default(),
        args: desk.texts("args").unwrap_or_default(),
        env: desk.text_table("env").unwrap_or_default(),
        cwd: desk.text("cwd"),
        output: desk.word("output", OUTPUTS).unwrap_or_default(),
        base_url: desk.text("base_url"),
        key_variable: desk.text("key_variable"),
        answers: desk.texts("answers").unwrap_or_default(),
        script_file: desk.text("script_file"),
        scope: desk.word("scope", SCOPES).unwrap_or_default(),
        color: desk.text("color"),
    };
    let here = desk.here.clone();
    let (seen, meant) = desk.finish(&member_fields(), Unknown::Refused);
    DraftMember { kind, here, seen, meant, form: Form::Toml, member }
}

/// `true`, `false`, or the file that holds the text.
fn preamble(desk: &mut Desk<'_, '_>) -> Option<PreambleFile> {
    match desk.take("preamble")? {
        (_, Value::Boolean(true)) => Some(PreambleFile::BuiltIn),
        (_, Value::Boolean(false)) => Some(PreambleFile::Off),
        (spot, value @ Value::Text(_)) => desk.as_text(&spot, value).map(PreambleFile::File),
        (spot, other) => desk.refuse(&spot, "false, or the path of a file", &other),
    }
}

/// A list of words, or one string that is split at spaces. No shell reads it, so shell syntax is refused.
fn command(desk: &mut Desk<'_, '_>) -> Option<Vec<Box<str>>> {
    match desk.take("command")? {
        (spot, Value::List(items)) => Some(desk.as_texts(&spot, items)),
        (spot, value @ Value::Text(_)) => {
            let text = desk.as_text(&spot, value)?;
            if let Some(sign) = text.chars().find(|c| rules::SHELL_SIGNS.contains(*c)) {
                let hint = "use a list, [\"program\", \"argument\"]";
                let what = format!("commands are not run through a shell, so {sign} has no effect");
                desk.problems.error(&spot, format!("{what}; {hint}"));
            }
            Some(text.split_whitespace().map(Box::from).collect())
        }
        (spot, other) => desk.refuse(&spot, "a string or a list of strings", &other),
    }
}
