//! Reads the TOML form: the team, its limits and its members, field by field. What the fields mean
//! together is judged in `check`.

use super::agent::{KINDS, MEMORIES, OUTPUTS, PERMISSIONS, SCOPES, agent_words};
use super::check::{self, Draft, DraftMember, Form};
use super::desk::{Desk, Unknown, as_text, as_texts, must_be};
use super::fields::{LIMITS, MEMBER, TEAM};
use super::problem::{FileErrors, Problems, Spot};
use super::tree::{self, Node, Value};
use super::{MemberFile, PreambleFile, ResourcesFile, TeamFile, read, rules};
use crate::table::{Limits, MemberKind};

/// Reads a team file in TOML.
pub(super) fn parse(text: &str, place: &str) -> Result<TeamFile, FileErrors> {
    read::check_size(text.len(), place)?;
    let mut problems = Problems::new(text, place);
    match tree::toml(text) {
        Ok(node) => {
            problems.hide(tree::secrets(&node));
            let draft = team(node, &mut problems);
            check::finish(draft, problems)
        }
        Err(broken) => Err(syntax_errors(broken, problems)),
    }
}

/// The errors of a text that is not what it should be.
pub(super) fn syntax_errors(broken: Vec<tree::Broken>, mut problems: Problems<'_>) -> FileErrors {
    for tree::Broken { at, what } in broken {
        problems.error(&Spot::at(at), what);
    }
    let none = || FileErrors { errors: Vec::new(), more: 0 };
    problems.finish().err().unwrap_or_else(none)
}

fn team(node: Node, problems: &mut Problems<'_>) -> Draft {
    let Some(mut desk) = Desk::of(Spot::default(), node, problems) else {
        return Draft::default();
    };
    let task = desk.text("task", problems);
    let default = desk.text("default", problems);
    let limits = desk.take("limits").map(|(spot, value)| limits(spot, value, problems));
    let (limits, resources, budget) = limits.unwrap_or_default();
    let members = members(&mut desk, problems);
    let (seen, _) = desk.finish(&TEAM.iter().copied(), Unknown::Refused, problems);
    Draft { task, default, limits, resources, budget, members, seen }
}

/// The limits of the session and of each turn, and where the spending limit stands.
fn limits(
    spot: Spot,
    value: Value,
    problems: &mut Problems<'_>,
) -> (Limits, ResourcesFile, Option<Spot>) {
    let usual = Limits::default();
    let node = Node { span: spot.span.clone(), value };
    let Some(mut desk) = Desk::of(spot, node, problems) else {
        return (usual, ResourcesFile::default(), None);
    };
    let limits = Limits {
        queue: desk.number("queue", rules::COUNT, problems).unwrap_or(usual.queue),
        branch: desk.number("branch", rules::COUNT, problems).unwrap_or(usual.branch),
        local: desk.number("local", rules::COUNT, problems).unwrap_or(usual.local),
        turns: desk.number("turns", rules::COUNT, problems).unwrap_or(usual.turns),
        pair: desk.number("pair", rules::COUNT, problems).unwrap_or(usual.pair),
        budget_usd: desk.dollars("budget_usd", problems),
        names: usual.names,
    };
    let resources = resources(&mut desk, problems);
    let (mut seen, _) = desk.finish(&LIMITS.iter().copied(), Unknown::Refused, problems);
    (limits, resources, seen.remove("budget_usd"))
}

/// What a turn may use, for the team or for one member.
fn resources(desk: &mut Desk, problems: &mut Problems<'_>) -> ResourcesFile {
    ResourcesFile {
        max_processes: desk.number("max_processes", rules::COUNT, problems),
        max_memory_mb: desk.number("max_memory_mb", rules::MEGABYTES, problems),
    }
}

fn members(desk: &mut Desk, problems: &mut Problems<'_>) -> Vec<DraftMember> {
    let items = match desk.take("member") {
        Some((_, Value::List(items))) => items,
        Some((spot, Value::Table(_))) => {
            problems.error(&spot, "must be a list; write [[member]] with two brackets");
            return Vec::new();
        }
        Some((spot, other)) => {
            problems.error(&spot, must_be("a list of tables, each under [[member]]", &other));
            return Vec::new();
        }
        None => return Vec::new(),
    };
    let mut members = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        let spot = Spot::of_member(index, &item, item.span.clone());
        members.extend(Desk::of(spot, item, problems).map(|desk| member(desk, problems)));
    }
    members
}

fn member(mut desk: Desk, problems: &mut Problems<'_>) -> DraftMember {
    let name = desk.text("name", problems).unwrap_or_default();
    let kind = desk.word("kind", KINDS, problems);
    let agent = desk.word("agent", &agent_words(), problems);
    desk.word("memory", MEMORIES, problems);
    let member = MemberFile {
        name,
        display_name: desk.text("display_name", problems),
        kind: kind.unwrap_or(if agent.is_some() { MemberKind::Ai } else { MemberKind::Human }),
        role: desk.text("role", problems),
        agent,
        model: desk.text("model", problems),
        instruction: desk.text("instruction", problems),
        instruction_file: desk.text("instruction_file", problems),
        preamble: preamble(&mut desk, problems),
        permissions: desk.word("permissions", PERMISSIONS, problems).unwrap_or_default(),
        window: desk.number("window", rules::WINDOW, problems),
        budget_bytes: desk.number("budget_bytes", rules::BYTES, problems),
        budget_tokens: desk.number("budget_tokens", rules::TOKENS, problems),
        budget_usd: desk.dollars("budget_usd", problems),
        timeout_s: desk.number("timeout_s", rules::SECONDS, problems),
        first_byte_s: desk.number("first_byte_s", rules::SECONDS, problems),
        silence_s: desk.number("silence_s", rules::SECONDS, problems),
        resources: resources(&mut desk, problems),
        inherited: ResourcesFile::default(),
        command: command(&mut desk, problems),
        args: desk.texts("args", problems).unwrap_or_default(),
        env: desk.text_table("env", problems),
        cwd: desk.text("cwd", problems),
        output: desk.word("output", OUTPUTS, problems).unwrap_or_default(),
        base_url: desk.text("base_url", problems),
        key_variable: desk.text("key_variable", problems),
        answers: desk.texts("answers", problems).unwrap_or_default(),
        script_file: desk.text("script_file", problems),
        scope: desk.word("scope", SCOPES, problems).unwrap_or_default(),
        color: desk.text("color", problems),
    };
    let here = desk.here.clone();
    let known = MEMBER.iter().map(|field| field.name);
    let (seen, meant) = desk.finish(&known, Unknown::Refused, problems);
    DraftMember { kind, here, seen, meant, form: Form::Toml, member }
}

/// `true`, `false`, or the file that holds the text.
fn preamble(desk: &mut Desk, problems: &mut Problems<'_>) -> PreambleFile {
    match desk.take("preamble") {
        None | Some((_, Value::Boolean(true))) => PreambleFile::BuiltIn,
        Some((_, Value::Boolean(false))) => PreambleFile::Off,
        Some((spot, value @ Value::Text(_))) => {
            as_text(&spot, value, problems).map_or(PreambleFile::BuiltIn, PreambleFile::File)
        }
        Some((spot, other)) => {
            problems.error(&spot, must_be("false, or the path of a file", &other));
            PreambleFile::BuiltIn
        }
    }
}

/// The words of a command: a list, or one string that is cut at its blanks. No shell reads it, so what
/// only a shell would understand is refused.
fn command(desk: &mut Desk, problems: &mut Problems<'_>) -> Vec<Box<str>> {
    match desk.take("command") {
        Some((spot, Value::List(items))) => as_texts(&spot, items, problems),
        Some((spot, value @ Value::Text(_))) => {
            let text = as_text(&spot, value, problems).unwrap_or_default();
            if let Some(sign) = text.chars().find(|c| rules::SHELL_SIGNS.contains(*c)) {
                let hint = "use a list, [\"program\", \"argument\"]";
                let what = format!("commands are not run through a shell, so {sign} has no effect");
                problems.error(&spot, format!("{what}; {hint}"));
            }
            text.split_whitespace().map(Box::from).collect()
        }
        Some((spot, other)) => {
            problems.error(&spot, must_be("a string or a list of strings", &other));
            Vec::new()
        }
        None => Vec::new(),
    }
}
