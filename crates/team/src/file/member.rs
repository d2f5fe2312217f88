//! Reads the TOML form: the team, its limits and its members, field by field. What the fields mean
//! together is judged in `check`.

use super::check::{Draft, DraftMember, Form};
use super::desk::{Desk, Unknown};
use super::fields::{
    KINDS, LIMITS, MEMORIES, OUTPUTS, PERMISSIONS, SCOPES, TEAM, agent_words, member_fields,
};
use super::problem::{Problems, Spot};
use super::tree::{Node, Value};
use super::{MemberFile, PreambleFile, ResourcesFile, rules};
use crate::table::{Limits, MemberKind};

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

/// The limits of the session and of each turn, and where the spending limit stands.
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

/// The words of a command: a list, or one string that is cut at its blanks. No shell reads it, so what
/// only a shell would understand is refused.
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
