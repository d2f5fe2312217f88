//! The answers of chat commands that look at the session: queue, decisions, cost, contexts, members. Most take the
//! driver and return lines; they run in the driver's thread.

use std::collections::BTreeMap;

use tertulia_operations::decisions::{story, unfinished_turn};
use tertulia_operations::names::{find_entry, newest_message, own_newest_message, short};
use tertulia_session::{Entry, EntryId, EntryKind, Intent};
use tertulia_team::agents::AgentDefinition;
use tertulia_team::file::{MemberFile, TeamFile, TrustReason};
use tertulia_team::{
    Compacted, Driver, LIBRARIAN, Responder, SCRIBE, Status, Team, TeamMember, TurnPhase,
    TurnPrompt,
};

use super::presenter::Figures;
use super::style::{Line, Look};
use crate::error::Refusal;
use crate::terminal::{counted, excerpt, grouped};

/// Maximum width of a message next to its ID.
const EXCERPT_COLUMNS: usize = 50;
/// Maximum width of a command, a path or an address.
const SHOWN_COLUMNS: usize = 60;

fn plain(text: &str) -> Line {
    Line::new(short(text), Look::Plain)
}

pub(crate) fn compacted(compacted: Compacted) -> String {
    let count = |messages: usize| counted(messages as u64, "message", "messages");
    match compacted {
        Compacted::Done { saved_bytes, .. } => {
            format!("prompts are {} bytes shorter from now on", grouped(saved_bytes as u64))
        }
        Compacted::TooFew { keeps } => {
            format!("Nothing to summarise yet: the newest {} always stay verbatim.", count(keeps))
        }
        Compacted::NotShorter { messages } => format!(
            "Nothing to summarise yet: a summary of {} would not be shorter than they are.",
            count(messages)
        ),
    }
}

pub(crate) fn queue(driver: &Driver) -> Vec<Line> {
    let machine = driver.machine();
    let mut lines = Vec::new();
    for active in machine.active() {
        let does = match active.phase {
            TurnPhase::Running => "is answering",
            TurnPhase::Stopping => "is being stopped",
            TurnPhase::Asking => "is asked",
        };
        lines.extend(turn_lines(driver, does, active.turn));
    }
    if let Status::Paused(why) = machine.status() {
        lines.push(plain(&format!("paused: {why}")));
    }
    // Turns run in this order, unless others are addressed or a turn waits too long.
    let mut waiting: Vec<_> = machine.waiting().collect();
    waiting.sort_by_key(|waiting| waiting.intent.as_str());
    for waiting in waiting {
        let does = if waiting.is_paused { "is paused" } else { "waits" };
        let does = match waiting.intent {
            Intent::Reply => does.to_owned(),
            intent => format!("{does} ({})", intent.as_str()),
        };
        lines.extend(turn_lines(driver, &does, waiting.turn));
    }
    if lines.is_empty() {
        lines.push(plain("no turn is running or queued"));
    }
    lines
}

fn turn_lines(driver: &Driver, does: &str, turn: &EntryId) -> Vec<Line> {
    let entry = driver.entries().iter().find(|entry| entry.id == *turn);
    let Some(queued) = entry.and_then(Entry::turn) else {
        return vec![plain(&format!("turn {turn} {does}"))];
    };
    let why = queued.cause.sentence(&queued.member);
    vec![plain(&format!("{} {does}", queued.member)).with(&format!("  {}", short(&why)), Look::Dim)]
}

/// Explains the decisions about an entry, or about the newest message.
pub(crate) fn why(driver: &mut Driver, given: &str) -> Result<Vec<Line>, Refusal> {
    let entry = if given.is_empty() {
        newest_message(driver.entries())
    } else {
        // The entry may be an old one that is not loaded.
        driver.read_all()?;
        Some(named(driver, given)?)
    };
    let Some(entry) = entry else { return Ok(vec![plain("the session has no messages yet")]) };
    let mut lines = Vec::new();
    if let Some(message) = entry.message() {
        let text = excerpt(&message.text(), EXCERPT_COLUMNS);
        lines.push(Line::new(format!("{}  {text}", short(entry.id.as_str())), Look::Dim));
    }
    let machine = driver.machine();
    let decisions = story(&entry.id, |about| machine.why(about.as_str()));
    if decisions.is_empty() {
        lines.push(plain("it caused no decision"));
    }
    lines.extend(decisions.iter().map(|decision| plain(&decision.to_string())));
    Ok(lines)
}

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
        let took = figures.counted().unwrap_or_else(|| "not reported".to_owned());
        plain(&format!("{name}: {took} · {}", counted(figures.answers, "answer", "answers")))
    };
    if all.counted().is_none() {
        return vec![plain("no agent has reported costs")];
    }
    let mut lines: Vec<Line> = members.iter().map(|(name, figures)| row(name, figures)).collect();
    if lines.len() > 1 {
        lines.push(row("all", &all));
    }
    lines
}

pub(crate) fn task(driver: &Driver) -> Option<&str> {
    let newest = driver.entries().iter().rev().find_map(|entry| match &entry.kind {
        EntryKind::TeamTask(task) => Some(task.task.as_deref()),
        _ => None,
    });
    newest.flatten()
}

/// Returns why there is nothing to resume; `None` if there is something.
pub(crate) fn nothing_to_resume(driver: &Driver) -> Option<String> {
    let machine = driver.machine();
    match machine.status() {
        Status::Waiting { .. } | Status::Paused(_) => None,
        Status::Resting if machine.is_stopped_at_limit() => None,
        Status::Stopping { .. } if machine.waiting().next().is_some() => None,
        Status::Running { .. } if machine.waiting().any(|waiting| waiting.is_paused) => None,
        Status::Running { turn } => {
            let member = member_of(driver, &turn).unwrap_or("somebody");
            Some(format!("{member} is answering; nothing is paused"))
        }
        Status::Resting | Status::Stopping { .. } => {
            let unfinished = unfinished_turn(driver.entries(), driver.team());
            let turn = unfinished.and_then(|(entry, turn)| Some((entry.turn_id()?, &turn.member)));
            Some(match turn {
                Some((turn, member)) => {
                    format!("no turns are queued; /resume {turn} retries {member}'s turn")
                }
                None => "no turns are queued".to_owned(),
            })
        }
    }
}

/// Returns why no turn can be stopped: no turn, or none of this member, is running. `None` if one is.
pub(crate) fn nothing_runs(driver: &Driver, member: Option<&str>) -> Option<String> {
    let is_any = |phase| {
        let mut active = driver.machine().active();
        active.any(|one| one.phase == phase && member.is_none_or(|member| one.member == member))
    };
    let whose = member.map_or_else(|| "the turn".to_owned(), |member| format!("{member}'s turn"));
    if is_any(TurnPhase::Running) {
        None
    } else if is_any(TurnPhase::Stopping) {
        Some(format!("{whose} is already stopping"))
    } else {
        Some(member.map_or_else(
            || "no turn is running".to_owned(),
            |member| format!("{member} has no running turn; /queue shows who has"),
        ))
    }
}

/// Returns the line for a member without a queued turn.
pub(crate) fn no_turn_waits(driver: &Driver, member: &str) -> String {
    let is_theirs = |active: tertulia_team::ActiveTurn<'_>| {
        active.phase == TurnPhase::Running && active.member == member
    };
    match driver.machine().active().any(is_theirs) {
        true => format!("{member} is already answering; Esc or /cancel stops it"),
        false => format!("{member} has no queued turn; /queue shows who has"),
    }
}

fn member_of<'d>(driver: &'d Driver, turn: &EntryId) -> Option<&'d str> {
    let entry = driver.entries().iter().rev().find(|entry| entry.id == *turn)?;
    entry.turn().map(|turn| &*turn.member)
}

/// Finds an entry by its ID or a prefix of it.
pub(crate) fn named<'d>(driver: &'d Driver, given: &str) -> Result<&'d Entry, Refusal> {
    Ok(find_entry(driver.entries(), given)?)
}

/// Finds the turn to retry: by its ID, or the newest one of a member.
pub(crate) fn turn_named(driver: &Driver, given: &str) -> Result<EntryId, Refusal> {
    let Ok(member) = driver.team().named(given) else {
        return named(driver, given)?.turn_id().cloned().ok_or(Refusal::NoTurn);
    };
    let member = &member.member.name;
    let is_theirs = |entry: &&Entry| entry.turn().is_some_and(|turn| turn.member == *member);
    let newest = driver.entries().iter().rev().find(is_theirs);
    let turn = newest.and_then(Entry::turn_id).cloned();
    turn.ok_or_else(|| Refusal::NoTurnYet { member: member.clone() })
}

/// Describes the prompt that a member would get now; without a name, the default member.
pub(crate) fn context(driver: &mut Driver, given: &str) -> Result<Vec<Line>, Refusal> {
    let member = member_meant(driver, given)?.clone();
    let name = &member.member.name;
    if member.is_person() {
        return Ok(vec![plain(&format!("{name} is a person and gets no prompt"))]);
    }
    let own = own_newest_message(driver.entries(), name).map(|entry| entry.id.clone());
    let Some(prompt) = driver.prompt_for(name) else {
        return Ok(vec![plain("the session has no messages yet")]);
    };
    let mut lines: Vec<Line> = built_in_note(&member).iter().map(|text| plain(text)).collect();
    lines.extend(context_lines(&member, own.as_ref(), &prompt));
    Ok(lines)
}

fn member_meant<'d>(driver: &'d Driver, given: &str) -> Result<&'d TeamMember, Refusal> {
    let team = driver.team();
    if !given.is_empty() {
        return Ok(team.named(given)?);
    }
    let members = team.members();
    let default = members.iter().find(|one| one.member.is_default);
    let found = default.or_else(|| members.iter().find(|one| !one.is_person()));
    found.ok_or(Refusal::OnlyPeople)
}

fn context_lines(one: &TeamMember, own: Option<&EntryId>, prompt: &TurnPrompt) -> Vec<Line> {
    let (name, window, budget) = (&one.member.name, one.window, one.budget_bytes);
    let mut lines = Vec::new();
    if let Some(own) = own {
        lines.push(plain(&format!(
            "the latest message ({own}) is {name}'s own; if asked to continue,"
        )));
    }
    let system = prompt.system.as_deref().map_or(0, str::len) as u64;
    let bytes = prompt.text.len() as u64;
    lines.push(plain(&format!(
        "{name} would get {} of {} bytes ({})",
        grouped(bytes + system),
        grouped(budget),
        prompt.status.as_str(),
    )));
    if system > 0 {
        lines.push(plain(&format!("  system text  {}", counted(system, "byte", "bytes"))));
    }
    lines.push(plain(&format!("  prompt       {}", counted(bytes, "byte", "bytes"))));
    lines.push(plain(&format!("  verbatim     {}", word_for_word(window, own.is_some(), prompt))));
    lines.push(match prompt.covered as u64 {
        0 => plain("  summary      none"),
        covered => {
            let messages = counted(covered, "earlier message", "earlier messages");
            plain(&format!("  summary      of {messages}"))
        }
    });
    let recalled: Vec<&str> = prompt.recalled.iter().map(EntryId::as_str).collect();
    lines.push(match recalled.as_slice() {
        [] => plain("  recalled     nothing"),
        ids => plain(&format!("  recalled     from {}", ids.join(", "))),
    });
    lines
}

fn word_for_word(window: usize, is_own: bool, prompt: &TurnPrompt) -> String {
    let newest = if is_own { "its own newest message" } else { "the message to answer" };
    let before = match prompt.kept {
        0 => "nothing before it".to_owned(),
        kept => format!("{kept} before it"),
    };
    let dropped = match prompt.dropped {
        0 => String::new(),
        dropped => format!("; {dropped} did not fit"),
    };
    format!("{newest} and {before}, of a window of {window}{dropped}")
}

/// Returns a note about the sources of a built-in member's answers; `None` for other members.
pub fn built_in_note(member: &TeamMember) -> Option<String> {
    let name = &member.member.name;
    let does = match &member.responder {
        Responder::Scribe => "reads the whole log",
        Responder::Librarian => "searches past sessions",
        Responder::Person | Responder::Agent(_) => return None,
    };
    Some(format!("{name} is built in and {does}; showing what a regular agent would receive"))
}

/// Lists the members: their agents, permissions and folders.
pub(crate) fn members(team: &Team, file: &TeamFile) -> Vec<Line> {
    team.members()
        .iter()
        .map(|one| plain(&member_row(one, file.member(&one.member.name))))
        .collect()
}

fn member_row(one: &TeamMember, file: Option<&MemberFile>) -> String {
    let mut row = format!("@{}", one.member.name);
    if let Some(shown) = one.member.display_name.as_deref() {
        row.push_str(&format!(" \"{shown}\""));
    }
    row.push_str("  ");
    row.push_str(&member_kind(one, file));
    if one.member.is_default {
        row.push_str("; answers messages that address nobody");
    }
    row
}

fn member_kind(one: &TeamMember, file: Option<&MemberFile>) -> String {
    let Some((file, agent)) = file.and_then(|file| Some((file, file.agent?))) else {
        return "a person".to_owned();
    };
    if agent == SCRIBE {
        return "summarises the conversation".to_owned();
    }
    if agent == LIBRARIAN {
        return "searches past sessions".to_owned();
    }
    let command =
        (!file.command.is_empty()).then(|| format!("`{}`", shown(&file.command.join(" "))));
    let path = file.script_file.as_deref().or(file.base_url.as_deref()).map(shown);
    let mut parts = vec![match command.or(path) {
        Some(more) => format!("{agent} {more}"),
        None => agent.to_string(),
    }];
    parts.extend(file.model.as_deref().map(|model| format!("model {}", shown(model))));
    parts.push(format!("window {}", one.window));
    parts.extend(may(file, agent));
    parts.extend(file.cwd.as_deref().map(|cwd| format!("works in {}", shown(cwd))));
    parts.join(", ")
}

/// Returns the permissions of an agent, if they are enforced.
fn may(file: &MemberFile, agent: &AgentDefinition) -> Option<String> {
    let is_held = agent.takes("permissions");
    let (member, permissions) = ("it".into(), file.permissions);
    is_held.then(|| TrustReason::Permissions { member, permissions }.to_string())
}

fn shown(text: &str) -> String {
    excerpt(text, SHOWN_COLUMNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_member_is_reported_as_what_it_is() {
        let text = r#"
default = "max"
[[member]]
name = "ann"
kind = "human"
[[member]]
name = "max"
agent = "claude"
model = "opus"
permissions = "edit"
cwd = "src"
[[member]]
name = "eva"
display_name = "Eva"
agent = "script"
answers = ["Yes."]
[[member]]
name = "tests"
agent = "command"
command = ["sh", "run.sh"]
window = 1
[[member]]
name = "fake"
agent = "acp"
command = ["my-agent"]
[[member]]
name = "near"
agent = "openai"
base_url = "http://127.0.0.1:8080/v1"
model = "small"
[[member]]
name = "scribe"
agent = "scribe"
"#;
        let file = TeamFile::parse(text, "tertulia.toml").unwrap();
        let team = Team::from_file(&file, std::path::Path::new(".")).unwrap();
        let rows: Vec<String> = members(&team, &file).iter().map(Line::text).collect();
        assert_eq!(
            rows,
            [
                "@ann  a person",
                "@max  claude, model opus, window 20, it may edit files, works in src; answers \
                 messages that address nobody",
                "@eva \"Eva\"  script, window 20",
                "@tests  command `sh run.sh`, window 1",
                "@fake  acp `my-agent`, window 20, it may read files",
                "@near  openai http://127.0.0.1:8080/v1, model small, window 20",
                "@scribe  summarises the conversation",
            ]
        );
    }
}
