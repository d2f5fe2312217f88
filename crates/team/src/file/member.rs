//! The fields of a team file, which members may have them, and the reader of the TOML form. `check` validates the
//! result.

use tertulia_agent::agents::{AGENTS, AgentDefinition};
use tertulia_agent::{CommandOutput, Permissions};
use tertulia_session::MemoryMode;

use super::check::{Draft, DraftMember, Form};
use super::fields::{FieldReader, Unknown};
use super::problem::{Problems, Spot};
use super::tree::{Node, Value};
use super::{IdleFile, MemberFile, PreambleFile, ResourcesFile, prices, rules};
use crate::built_in::{LIBRARIAN, SCRIBE};
use crate::roster::{Limits, MemberKind};

pub(super) const TEAM: &[&str] = &["task", "default", "limits", "prices", "member"];

pub(super) const LIMITS: &[&str] = &[
    "queue",
    "branch",
    "local",
    "turns",
    "pair",
    "parallel",
    "budget_usd",
    "budget_usd_turn",
    "budget_usd_day",
    "max_processes",
    "max_memory_mb",
    "idle_agents",
    "idle_minutes",
];

/// Returns the fields of a member: those of all members, and those that the definitions of the agents name.
pub(super) fn member_fields() -> Vec<&'static str> {
    let mut fields = vec!["name", "display_name", "kind", "role", "agent", "color"];
    for field in known_agents().flat_map(AgentDefinition::fields) {
        if !fields.contains(&field) {
            fields.push(field);
        }
    }
    fields
}

/// Returns all fields of a team file in TOML, such as `task`, `limits.turns`, `member.name`.
pub fn known_fields() -> impl Iterator<Item = String> {
    let team = TEAM.iter().map(|name| (*name).to_owned());
    let limits = LIMITS.iter().map(|name| format!("limits.{name}"));
    let member = member_fields().into_iter().map(|name| format!("member.{name}"));
    team.chain(limits).chain(member)
}

/// Returns all agents that a team file can name, in the order of the documentation.
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

/// The past sessions that the librarian searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LibrarianScope {
    /// Sessions of the same project.
    #[default]
    Project,
    /// Sessions of all projects, if a person asks.
    All,
}

pub(super) const SCOPES: Words<LibrarianScope> =
    &[("project", LibrarianScope::Project), ("all", LibrarianScope::All)];

/// Values for an agent's memory of its earlier turns. `native`: it keeps its own session. `fresh`: it has none, and gets
/// the conversation again.
pub(super) const MEMORIES: Words<MemoryMode> =
    &[("native", MemoryMode::Native), ("fresh", MemoryMode::Fresh)];

pub(super) fn team(node: Node, problems: &mut Problems<'_>) -> Draft {
    let Some(mut reader) = FieldReader::new(Spot::default(), node.value, problems) else {
        return Draft::default();
    };
    let task = reader.text("task");
    let default = reader.text("default");
    let limits =
        reader.take("limits").and_then(|(spot, value)| limits(spot, value, reader.problems));
    let (limits, resources, idle, budgets) = limits.unwrap_or_default();
    let prices = reader.take("prices");
    let prices = prices.and_then(|(spot, value)| prices::read(spot, value, reader.problems));
    let members = members(&mut reader);
    let (seen, _) = reader.finish(TEAM, Unknown::Refused);
    Draft { task, default, limits, resources, idle, prices, budgets, members, seen }
}

fn limits(
    spot: Spot,
    value: Value,
    problems: &mut Problems<'_>,
) -> Option<(Limits, ResourcesFile, IdleFile, Vec<Spot>)> {
    let mut reader = FieldReader::new(spot, value, problems)?;
    let usual = Limits::default();
    let limits = Limits {
        queue: reader.number("queue", rules::COUNT).unwrap_or(usual.queue),
        branch: reader.number("branch", rules::COUNT).unwrap_or(usual.branch),
        local: reader.number("local", rules::COUNT).unwrap_or(usual.local),
        turns: reader.number("turns", rules::COUNT).unwrap_or(usual.turns),
        pair: reader.number("pair", rules::COUNT).unwrap_or(usual.pair),
        parallel: reader.number("parallel", rules::PARALLEL).unwrap_or(usual.parallel),
        budget_usd: reader.dollars("budget_usd"),
        budget_usd_turn: reader.dollars("budget_usd_turn"),
        budget_usd_day: reader.dollars("budget_usd_day"),
        names: usual.names,
    };
    let resources = resources(&mut reader);
    let idle = IdleFile {
        agents: reader.number("idle_agents", rules::IDLE),
        minutes: reader.number("idle_minutes", rules::MINUTES),
    };
    let (mut seen, _) = reader.finish(LIMITS, Unknown::Refused);
    let budgets = [
        ("budget_usd", limits.budget_usd),
        ("budget_usd_turn", limits.budget_usd_turn),
        ("budget_usd_day", limits.budget_usd_day),
    ];
    let budgets = budgets.into_iter().filter(|(_, limit)| *limit > Some(0.0));
    let spots = budgets.filter_map(|(name, _)| seen.remove(name)).collect();
    Some((limits, resources, idle, spots))
}

fn resources(reader: &mut FieldReader<'_, '_>) -> ResourcesFile {
    ResourcesFile {
        max_processes: reader.number("max_processes", rules::COUNT),
        max_memory_mb: reader.number("max_memory_mb", rules::MEGABYTES),
    }
}

fn members(reader: &mut FieldReader<'_, '_>) -> Vec<DraftMember> {
    let items = match reader.take("member") {
        Some((_, Value::List(items))) => items,
        Some((spot, Value::Table(_))) => {
            reader.problems.error(&spot, "must be a list; write [[member]] with two brackets");
            return Vec::new();
        }
        Some((spot, other)) => {
            let expected = "a list of tables, each under [[member]]";
            return reader.refuse(&spot, expected, &other).unwrap_or_default();
        }
        None => return Vec::new(),
    };
    let mut members = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        let spot = Spot::of_member(index, &item, item.span.clone());
        members.extend(FieldReader::new(spot, item.value, reader.problems).map(member));
    }
    members
}

fn member(mut reader: FieldReader<'_, '_>) -> DraftMember {
    let name = reader.text("name").unwrap_or_default();
    let kind = reader.word("kind", KINDS);
    let agent = reader.word("agent", &agent_words());
    let member = MemberFile {
        name,
        display_name: reader.text("display_name"),
        kind: kind.unwrap_or(if agent.is_some() { MemberKind::Ai } else { MemberKind::Human }),
        role: reader.text("role"),
        agent,
        model: reader.text("model"),
        instruction: reader.text("instruction"),
        instruction_file: reader.text("instruction_file"),
        preamble: preamble(&mut reader).unwrap_or_default(),
        permissions: reader.word("permissions", PERMISSIONS).unwrap_or_default(),
        window: reader.number("window", rules::WINDOW),
        budget_bytes: reader.number("budget_bytes", rules::BYTES),
        budget_tokens: reader.number("budget_tokens", rules::TOKENS),
        budget_usd: reader.dollars("budget_usd"),
        budget_usd_turn: reader.dollars("budget_usd_turn"),
        fallback: reader.texts("fallback").unwrap_or_default(),
        timeout_s: reader.number("timeout_s", rules::SECONDS),
        first_byte_s: reader.number("first_byte_s", rules::SECONDS),
        silence_s: reader.number("silence_s", rules::SECONDS),
        resources: resources(&mut reader),
        inherited: ResourcesFile::default(),
        command: command(&mut reader).unwrap_or_default(),
        args: reader.texts("args").unwrap_or_default(),
        env: reader.text_table("env").unwrap_or_default(),
        cwd: reader.text("cwd"),
        worktree: reader.boolean("worktree").unwrap_or_default(),
        output: reader.word("output", OUTPUTS).unwrap_or_default(),
        base_url: reader.text("base_url"),
        key_variable: reader.text("key_variable"),
        answers: reader.texts("answers").unwrap_or_default(),
        script_file: reader.text("script_file"),
        scope: reader.word("scope", SCOPES).unwrap_or_default(),
        memory: reader.word("memory", MEMORIES),
        color: reader.text("color"),
    };
    let here = reader.here.clone();
    let (seen, meant) = reader.finish(&member_fields(), Unknown::Refused);
    DraftMember { kind, here, seen, meant, form: Form::Toml, member }
}

/// Reads `true`, `false`, or the file that contains the text.
fn preamble(reader: &mut FieldReader<'_, '_>) -> Option<PreambleFile> {
    match reader.take("preamble")? {
        (_, Value::Boolean(true)) => Some(PreambleFile::BuiltIn),
        (_, Value::Boolean(false)) => Some(PreambleFile::Off),
        (spot, value @ Value::Text(_)) => reader.as_text(&spot, value).map(PreambleFile::File),
        (spot, other) => reader.refuse(&spot, "false, or the path of a file", &other),
    }
}

/// Reads a list of words, or one string that is split at spaces. Rejects shell syntax, because no shell reads the
/// command.
fn command(reader: &mut FieldReader<'_, '_>) -> Option<Vec<Box<str>>> {
    match reader.take("command")? {
        (spot, Value::List(items)) => Some(reader.as_texts(&spot, items)),
        (spot, value @ Value::Text(_)) => {
            let text = reader.as_text(&spot, value)?;
            if let Some(sign) = text.chars().find(|c| rules::SHELL_SIGNS.contains(*c)) {
                let hint = "use a list, [\"program\", \"argument\"]";
                let what = format!("commands are not run through a shell, so {sign} has no effect");
                reader.problems.error(&spot, format!("{what}; {hint}"));
            }
            Some(text.split_whitespace().map(Box::from).collect())
        }
        (spot, other) => reader.refuse(&spot, "a string or a list of strings", &other),
    }
}
