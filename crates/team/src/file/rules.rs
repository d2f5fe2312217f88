//! The rules for one member: required fields, forbidden fields, and valid values. `check` calls them for every member
//! after all fields were read.

use std::ops::RangeInclusive;

use tertulia_agent::{MemorySupport, agents};
use tertulia_session::MemoryMode;

use super::check::{DraftMember, Form};
use super::member::known_agents;
use super::problem::{Problems, did_you_mean, quoted};
use super::{MemberFile, PreambleFile};
use crate::roster::{Member, MemberKind, Roster};

pub(super) type Numbers = RangeInclusive<i64>;

pub(super) const COUNT: Numbers = 1..=100_000;
pub(super) const PARALLEL: Numbers = 1..=16;
pub(super) const WINDOW: Numbers = 0..=100_000;
pub(super) const BYTES: Numbers = 1..=1 << 30;
pub(super) const TOKENS: Numbers = 1..=100_000_000;
/// Valid memory limits. An agent needs at least the minimum to start.
pub(super) const MEGABYTES: Numbers = 64..=1 << 24;
/// Valid numbers of processes that wait for their next turn.
pub(super) const IDLE: Numbers = 0..=1_000;
/// Valid numbers of minutes: at most a week.
pub(super) const MINUTES: Numbers = 1..=10_080;
/// Valid time limits: at most a week.
pub(super) const SECONDS: Numbers = 1..=604_800;

/// Characters that have a meaning in a shell but not here.
pub(super) const SHELL_SIGNS: &str = "'\"`\\|&;<>$*?(){}#";

pub(super) const ROLE_CHARACTERS: usize = 100;

/// The named colours; others are written as `#rrggbb`.
pub(super) const COLORS: [&str; 7] = ["red", "green", "yellow", "blue", "magenta", "cyan", "white"];

pub(super) fn check(draft: &DraftMember, problems: &mut Problems<'_>) {
    name(draft, problems);
    let is_clear = kind_and_agent(draft, problems);
    if is_clear {
        fields_of_others(draft, problems);
        needed(draft, problems);
    }
    values(draft, problems);
}

fn name(draft: &DraftMember, problems: &mut Problems<'_>) {
    let name = &draft.member.name;
    match draft.seen.get("name") {
        None if draft.meant.contains("name") => {}
        None => problems.error(&draft.here, "has no name"),
        // A value that is not a text was reported when it was read.
        Some(_) if name.is_empty() => {}
        Some(spot) => {
            if let Err(error) = Roster::new([Member::ai(&**name)]) {
                problems.error(spot, error.to_string());
            } else if name.trim() != &**name {
                problems.error(spot, "begins or ends with a space; remove it");
            }
        }
    }
}

/// Returns whether the kind of the member is clear. If it is not, an error is reported here, or was reported when the
/// fields were read.
fn kind_and_agent(draft: &DraftMember, problems: &mut Problems<'_>) -> bool {
    let (kind, agent) = (draft.seen.get("kind"), draft.seen.get("agent"));
    let (person, named) = match draft.form {
        Form::Toml => {
            let words: Vec<_> = known_agents().map(|agent| agent.word).collect();
            let words = words.join(", ");
            ("kind = \"human\"", format!("agent = one of {words}"))
        }
        Form::Earlier => {
            ("\"type\": \"human\"", "\"agentType\": one of claude, codex, gemini".to_owned())
        }
    };
    match (kind, agent) {
        (_, None) if draft.meant.contains("agent") => false,
        (None, None) if draft.meant.contains("kind") => false,
        (None, None) => {
            let what = "is neither a person nor an agent";
            problems.error(&draft.here, format!("{what}; write {person}, or {named}"));
            false
        }
        (Some(kind), None) if draft.kind == Some(MemberKind::Ai) => {
            problems.error(kind, format!("the agent is missing; write {named}"));
            false
        }
        (_, Some(agent)) if draft.kind == Some(MemberKind::Human) => {
            problems.error(agent, format!("a person has no agent; remove agent, or {person}"));
            false
        }
        (kind, agent) => {
            kind.is_some() == draft.kind.is_some()
                && agent.is_some() == draft.member.agent.is_some()
        }
    }
}

fn fields_of_others(draft: &DraftMember, problems: &mut Problems<'_>) {
    let agent = draft.member.agent;
    for (field, spot) in &draft.seen {
        let takers = known_agents().filter(|agent| agent.takes(field));
        let takers: Vec<_> = takers.map(|agent| agent.word).collect();
        // Fields that belong to no agent are allowed for all members.
        if takers.is_empty() || agent.is_some_and(|agent| agent.takes(field)) {
            continue;
        }
        let what = match agent {
            Some(agent) if *field == "permissions" && agent == agents::COMMAND => {
                "has no effect on command agents, which run with your privileges; remove it"
                    .to_owned()
            }
            Some(agent) => {
                format!("has no effect on {agent}; it applies to {}", takers.join(", "))
            }
            None => "has no effect on a person; remove it".to_owned(),
        };
        problems.error(spot, what);
    }
}

fn needed(draft: &DraftMember, problems: &mut Problems<'_>) {
    let (seen, member) = (&draft.seen, &draft.member);
    let has = |field: &str| seen.contains_key(field) || draft.meant.contains(field);
    let mut missing = |what: &str| problems.error(&draft.here, what);
    let Some(agent) = member.agent else { return };
    for (field, complaint) in agent.required.iter().filter(|(field, _)| !has(field)) {
        debug_assert!(agent.takes(field), "{agent} needs {field} and accepts it");
        missing(complaint);
    }
    if agent == agents::SCRIPT {
        match (seen.get("answers"), seen.get("script_file")) {
            (None, None) if has("answers") || has("script_file") => {}
            (None, None) => missing("has no answers; write answers = [\"…\"], or script_file"),
            (Some(_), Some(file)) => {
                problems.error(file, "the team file also has `answers`; keep one of the two");
            }
            (Some(answers), None) if member.answers.is_empty() => {
                problems.error(answers, "is empty; a script needs at least one answer");
            }
            _ => {}
        }
    }
    if let (Some(spot), Some(MemoryMode::Native)) = (seen.get("memory"), member.memory)
        && let Some(MemorySupport::Unsupported { reason }) = member.memory_support()
    {
        let what = format!("{agent} cannot keep its own session: {reason}");
        problems.error(spot, format!("{what}; write memory = \"fresh\", or remove it"));
    }
    if agent == agents::OPENAI && !has("model") {
        problems.warn(&draft.here, "has no model; most endpoints require one");
    }
}

fn values(draft: &DraftMember, problems: &mut Problems<'_>) {
    let MemberFile { model, color, base_url, key_variable, .. } = &draft.member;
    let mut rule = |field: &str, value: &Option<Box<str>>, judge: fn(&str) -> Option<String>| {
        let complaint = value.as_deref().and_then(judge);
        if let (Some(spot), Some(complaint)) = (draft.seen.get(field), complaint) {
            problems.error(spot, complaint);
        }
    };
    rule("display_name", &draft.member.display_name, shown_name);
    rule("role", &draft.member.role, as_role);
    rule("model", model, as_argument);
    rule("color", color, as_color);
    rule("base_url", base_url, as_url);
    rule("key_variable", key_variable, as_variable);
    rule("instruction_file", &draft.member.instruction_file, as_path);
    if let PreambleFile::File(path) = &draft.member.preamble {
        rule("preamble", &Some(path.clone()), as_path);
    }
    rule("script_file", &draft.member.script_file, as_path);
    rule("cwd", &draft.member.cwd, as_path);
    words(draft, problems);
    variables(draft, problems);
    if let (Some(spot), Some(url), Some(_)) =
        (draft.seen.get("base_url"), base_url.as_deref(), key_variable)
        && url.starts_with("http://")
        && !is_on_this_machine(url)
    {
        problems.warn(spot, "the key is sent without encryption; write https://");
    }
}

fn words(draft: &DraftMember, problems: &mut Problems<'_>) {
    let MemberFile { command, args, .. } = &draft.member;
    for (field, words) in [("command", command), ("args", args)] {
        let Some(spot) = draft.seen.get(field) else { continue };
        if words.iter().any(|word| word.contains('\0')) {
            problems.error(spot, "contains a NUL character, which cannot be passed to a program");
        }
    }
    let Some(spot) = draft.seen.get("command") else { return };
    match command.first().map(|program| &**program) {
        // An empty string, or a value that is no string, was reported when it was read.
        None if spot.span.len() == 2 => problems.error(spot, "is empty; name the program"),
        Some(program) if program.trim().is_empty() => {
            problems.error(spot, "the name of the program is empty");
        }
        Some(program) => {
            if let Some(complaint) = as_path(program) {
                problems.error(spot, complaint);
            }
        }
        None => {}
    }
}

fn variables(draft: &DraftMember, problems: &mut Problems<'_>) {
    let Some(spot) = draft.seen.get("env") else { return };
    for (name, value) in &draft.member.env {
        let part = |name: &str| spot.part(name, spot.span.clone());
        if name.is_empty() || name.contains(['=', '\0']) {
            problems.error(spot, format!("{} is not a valid variable name", quoted(name)));
        } else if value.contains('\0') {
            problems.error(
                &part(name),
                "contains a NUL character, which cannot be passed to a program",
            );
        }
    }
}

fn shown_name(name: &str) -> Option<String> {
    name.contains(char::is_control).then(|| "contains a control character; remove it".to_owned())
}

/// Checks that a role is one short line, because every prompt of every agent contains it.
fn as_role(role: &str) -> Option<String> {
    let characters = role.chars().count();
    if role.contains(char::is_control) {
        return Some("must be one line; put longer texts into instruction".to_owned());
    }
    (characters > ROLE_CHARACTERS).then(|| {
        format!(
            "has {characters} characters; at most {ROLE_CHARACTERS} are allowed; put longer texts \
             into instruction"
        )
    })
}

/// Checks that a value that becomes an argument does not look like an option.
fn as_argument(text: &str) -> Option<String> {
    let is_odd = text.starts_with('-') || text.contains(|c: char| c.is_control() || c == ' ');
    is_odd.then(|| format!("{} is not a valid model name", quoted(text)))
}

fn as_path(path: &str) -> Option<String> {
    if path.contains('\0') {
        return Some("contains a NUL character, which a path cannot contain".to_owned());
    }
    let is_home = path == "~" || path.starts_with("~/");
    is_home.then(|| "~ is not supported; write the whole path".to_owned())
}

pub(super) fn as_color(color: &str) -> Option<String> {
    let is_hex = color
        .strip_prefix('#')
        .is_some_and(|hex| hex.len() == 6 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if is_hex || COLORS.contains(&color) {
        return None;
    }
    let (written, hint) = (quoted(color), did_you_mean(color, &COLORS));
    let expected = COLORS.join(", ");
    Some(format!("must be one of {expected}, or #rrggbb; got {written}{hint}"))
}

fn as_url(url: &str) -> Option<String> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let complaint = match rest {
        None => "must begin with https:// or http://",
        Some(rest) if rest.is_empty() || rest.starts_with('/') => "has no host",
        Some(_) if url.contains(|c: char| c.is_control() || c.is_whitespace()) => {
            "contains a space"
        }
        Some(rest) if rest.split('/').next().is_some_and(|host| host.contains('@')) => {
            "contains a user or a password; name a variable in key_variable instead"
        }
        Some(rest) if rest.trim_end_matches('/').ends_with("/chat/completions") => {
            "is too long; write it without /chat/completions"
        }
        Some(_) => return None,
    };
    Some(complaint.to_owned())
}

fn as_variable(name: &str) -> Option<String> {
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    (!is_name).then(|| {
        "must be the name of a variable, such as OPENAI_API_KEY; never write the key itself"
            .to_owned()
    })
}

fn is_on_this_machine(url: &str) -> bool {
    let host = url.trim_start_matches("http://");
    let host = host.split(['/', '?']).next().unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    matches!(name, "localhost" | "127.0.0.1" | "[::1]")
}
