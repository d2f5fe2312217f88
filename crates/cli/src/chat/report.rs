//! What the commands answer that look at the table: members, queue, causes, cost, context. Each takes the
//! driver and gives lines; called in the driver's thread by visits.

use std::collections::BTreeMap;

use tertulia_session::{EntryId, EntryKind};
use tertulia_team::{Answers, Driver, Status, TurnPrompt};

use super::short::short;
use super::style::{Line, Look};
use super::teller::Figures;
use crate::commands::{find_entry, turn_of};
use crate::terminal::{excerpt, grouped};

/// How much of a message is shown beside its id.
const EXCERPT_COLUMNS: usize = 50;

fn plain(text: &str) -> Line {
    Line::of(&short(text), Look::Plain)
}

/// Who sits at the table.
pub(crate) fn members(driver: &Driver) -> Vec<Line> {
    let rows = driver.team().members().iter().map(|one| {
        let what = match &one.answers {
            Answers::Person => "a person".to_owned(),
            Answers::Scribe => "writes the minutes".to_owned(),
            Answers::Librarian => "looks into past sessions".to_owned(),
            Answers::Agent(spec) => format!("{}, window {}", spec.kind.format_name(), one.window),
        };
        let default = if one.member.is_default { ", answers what addresses nobody" } else { "" };
        let shown = one.member.display_name.as_deref().map(|name| format!(" \"{name}\""));
        plain(&format!("@{}{}  {what}{default}", one.member.name, shown.unwrap_or_default()))
    });
    rows.collect()
}

/// Who speaks, who waits, and why.
pub(crate) fn queue(driver: &Driver) -> Vec<Line> {
    let machine = driver.machine();
    let mut lines = Vec::new();
    match machine.status() {
        Status::Resting => {}
        Status::Running { turn } => lines.extend(turn_lines(driver, "speaks", &turn)),
        Status::Stopping { turn } => lines.extend(turn_lines(driver, "is being stopped", &turn)),
        Status::Waiting { turn, .. } => lines.extend(turn_lines(driver, "is asked", &turn)),
        Status::Paused(why) => lines.push(plain(&format!("the table waits: {why}"))),
    }
    for waiting in machine.waiting() {
        lines.extend(turn_lines(driver, "waits", waiting.turn));
    }
    if lines.is_empty() {
        lines.push(plain("nobody speaks, and nobody waits"));
    }
    lines
}

fn turn_lines(driver: &Driver, does: &str, turn: &EntryId) -> Vec<Line> {
    let entry = driver.entries().iter().find(|entry| entry.id == *turn);
    let Some(EntryKind::Turn(queued)) = entry.map(|entry| &entry.kind) else {
        return vec![plain(&format!("turn {turn} {does}"))];
    };
    // Behind the words for programs stands a sentence.
    let why = queued.cause.split_once(": ").map_or(&*queued.cause, |(_, sentence)| sentence);
    vec![plain(&format!("{} {does}", queued.member)).with(&format!("  {}", short(why)), Look::Dim)]
}

/// Why an entry led where it did; without one, the newest message.
pub(crate) fn why(driver: &Driver, given: &str) -> Vec<Line> {
    let entries = driver.entries();
    let entry = if given.is_empty() {
        let mut messages = entries.iter().rev();
        messages.find(|entry| matches!(entry.kind, EntryKind::Message(_)))
    } else {
        match find_entry(entries.iter(), given) {
            Ok(entry) => Some(entry),
            Err(error) => return Line::all_of(&error.to_string(), Look::Alarm),
        }
    };
    let Some(entry) = entry else { return vec![plain("nothing was said yet")] };
    let mut lines = Vec::new();
    if let EntryKind::Message(message) = &entry.kind {
        let text = excerpt(&message.text(), EXCERPT_COLUMNS);
        lines.push(Line::of(&format!("{}  {text}", short(entry.id.as_str())), Look::Dim));
    }
    let decisions = driver.machine().why(entry.id.as_str());
    if decisions.is_empty() {
        lines.push(plain("nothing was decided because of it"));
    }
    lines.extend(decisions.iter().map(|decision| plain(&decision.to_string())));
    lines
}

/// Tokens and dollars of every member, and of all.
pub(crate) fn cost(driver: &Driver) -> Vec<Line> {
    let mut members: BTreeMap<&str, Figures> = BTreeMap::new();
    let mut all = Figures::default();
    for entry in driver.entries() {
        if let EntryKind::Usage(usage) = &entry.kind {
            members.entry(&usage.member).or_default().add(usage);
            all.add(usage);
        }
    }
    let row = |name: &str, figures: &Figures| {
        let counted = figures.counted().unwrap_or_default();
        let answers = if figures.answers == 1 { "answer" } else { "answers" };
        plain(&format!("{name}: {counted} · {} {answers}", figures.answers))
    };
    if all.answers == 0 {
        return vec![plain("no agent has told what its answers cost")];
    }
    let mut lines: Vec<Line> = members.iter().map(|(name, figures)| row(name, figures)).collect();
    if lines.len() > 1 {
        lines.push(row("all", &all));
    }
    lines
}

/// What a member would get now; without a name, the one that answers what addresses nobody.
pub(crate) fn context(driver: &mut Driver, given: &str) -> Vec<Line> {
    let given = given.trim_start_matches('@');
    let members = driver.team().members();
    let found = if given.is_empty() {
        let default = members.iter().find(|one| one.member.is_default);
        default.or_else(|| members.iter().find(|one| !one.is_person()))
    } else {
        members.iter().find(|one| one.member.name.eq_ignore_ascii_case(given))
    };
    let Some(member) = found else {
        return vec![Line::of(
            "nobody of this name answers; /members shows who is there",
            Look::Alarm,
        )];
    };
    let (name, window, budget) = (member.member.name.clone(), member.window, member.budget_bytes);
    match driver.prompt_for(&name) {
        Some(prompt) => context_lines(&name, window, budget, &prompt),
        None => vec![plain("nothing was said yet")],
    }
}

fn context_lines(name: &str, window: usize, budget: u64, prompt: &TurnPrompt) -> Vec<Line> {
    let system = prompt.system.as_deref().map_or(0, str::len) as u64;
    let bytes = prompt.text.len() as u64;
    let mut lines = vec![plain(&format!(
        "{name} would get {} of {} bytes ({})",
        grouped(bytes + system),
        grouped(budget),
        prompt.status.as_str(),
    ))];
    if system > 0 {
        lines.push(plain(&format!("  system text  {} bytes", grouped(system))));
    }
    lines.push(plain(&format!("  prompt       {} bytes", grouped(bytes))));
    let dropped = match prompt.dropped {
        0 => String::new(),
        dropped => format!(", {dropped} did not fit"),
    };
    lines.push(plain(&format!(
        "  word for word  the message to answer and {} before it, of a window of {window}{dropped}",
        prompt.kept,
    )));
    lines.push(match prompt.covered {
        0 => plain("  minutes      none"),
        covered => plain(&format!("  minutes      for {covered} earlier messages")),
    });
    let recalled: Vec<&str> = prompt.recalled.iter().map(EntryId::as_str).collect();
    lines.push(match recalled.as_slice() {
        [] => plain("  recalled     nothing"),
        ids => plain(&format!("  recalled     from {}", ids.join(", "))),
    });
    lines
}

/// The turn that is to be repeated.
pub(crate) fn turn_named(driver: &Driver, given: &str) -> Result<EntryId, Vec<Line>> {
    let complain = |text: &str| Line::all_of(text, Look::Alarm);
    let entry = find_entry(driver.entries().iter(), given);
    let entry = entry.map_err(|error| complain(&error.to_string()))?;
    turn_of(entry).ok_or_else(|| complain("this entry is no turn; /queue and /why name them"))
}
