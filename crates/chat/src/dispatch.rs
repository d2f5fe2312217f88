//! Dispatches typed lines. Each line becomes a command for the driver, or lines that are shown at once. A command
//! without effect prints a note. Used by the chat on a terminal and without one.

use std::fmt::Display;
use std::path::PathBuf;

use tertulia_operations::export_file::{ExportError, ExportFile};
use tertulia_session::EntryId;
use tertulia_session::record::EntryRecord;
use tertulia_store::{NewSession, Range, SessionId, SessionStore, StoreError};
use tertulia_team::{
    ActiveTurn, Call, Cancel, Command, DriveError, Driver, EventSink, PersonMessage, SpeakerError,
    TurnPhase,
};

use super::commands::{self, Slash, Typed};
use super::engine::{ChatEvent, EventSender, refused, several_people};
use super::style::{Line, Look};
use super::{ChatSession, addressing, asking, report};
use crate::display_names::DisplayNames;
use crate::error::{ChatError, Refusal};
use crate::terminal::{counted, excerpt};

/// Maximum width of an unknown command in its error.
const NAME_COLUMNS: usize = 40;

pub(crate) enum Action {
    Send(Command),
    Tell(Vec<Line>),
    Leave,
    /// Take over the session that another process ran.
    TakeOver,
}

/// The chat in which a person types a command, and the channel for its answer.
#[derive(Clone, Copy)]
pub(crate) struct CommandContext<'p> {
    pub(crate) chat: &'p ChatSession,
    pub(crate) sender: &'p EventSender,
}

impl CommandContext<'_> {
    /// Returns the person who types, if `--as` was given.
    fn speaker(&self) -> Option<&str> {
        self.chat.speaker.as_deref()
    }
}

pub(crate) fn dispatch(typed: &Typed<'_>, context: &CommandContext<'_>) -> Action {
    match *typed {
        Typed::Nothing => Action::Tell(Vec::new()),
        Typed::Words(words) => say(words, context),
        Typed::Command(slash, given) => command(slash, given, context),
        Typed::Unknown { name, nearest } => {
            let hint = match nearest {
                Some(nearest) => format!("did you mean /{nearest}?"),
                None => "/help lists all".to_owned(),
            };
            tell(&format!("there is no command /{}; {hint}", excerpt(name, NAME_COLUMNS)))
        }
    }
}

fn command(slash: Slash, given: &str, context: &CommandContext<'_>) -> Action {
    let look = |lines: fn(&Driver) -> Vec<Line>| {
        show_lines(context, move |driver| Ok::<_, Refusal>(lines(driver)))
    };
    let given = given.to_owned();
    match slash {
        Slash::Next => next(&given, context),
        Slash::Ask => ask(&given, context),
        Slash::Drop => drop_turns(&given, context),
        Slash::Task => task(given, context),
        Slash::Context => show_lines(context, move |driver| report::context(driver, &given)),
        Slash::Why => show_lines(context, move |driver| report::why(driver, &given)),
        Slash::Compact => compact(context),
        Slash::Resume if given.is_empty() => {
            obey_if(context, Command::Continue, report::nothing_to_resume)
        }
        Slash::Resume => repeat(context, given),
        Slash::Fork => fork(context, given),
        Slash::Export if given.is_empty() => tell("usage: /export FILE"),
        Slash::Export => {
            let store = context.chat.store.clone();
            show_lines(context, move |driver| export(&store, driver.session(), &given))
        }
        Slash::Cancel => cancel(&given, context),
        Slash::Members => Action::Tell(report::members(&context.chat.team, &context.chat.file)),
        Slash::Queue => look(report::queue),
        Slash::Cost => look(report::cost),
        Slash::Help => {
            Action::Tell(commands::help().iter().map(|line| Line::new(line, Look::Plain)).collect())
        }
        Slash::TakeOver => note("this process already runs the session"),
        Slash::Quit => Action::Leave,
    }
}

pub(crate) fn note(text: &str) -> Action {
    Action::Tell(vec![Line::new(text, Look::Dim)])
}

pub(crate) fn tell(text: &str) -> Action {
    Action::Tell(Line::split(text, Look::Error))
}

fn say(text: &str, context: &CommandContext<'_>) -> Action {
    let said = PersonMessage::new(text, context.chat.team.roster());
    if let Some(refused) = two_speakers(&said, context) {
        return refused;
    }
    let folder = context.chat.folder.clone();
    let message = Box::new(said.clone());
    let command = Command::Say { member: context.speaker().map(Box::from), message };
    if addressing::unknown_name(&said, &folder).is_none() {
        return Action::Send(command);
    }
    with_driver(context, move |driver, sink, sender| {
        let before = driver.entries().len();
        driver.execute(command, sink)?;
        let new = driver.entries().get(before..).unwrap_or_default();
        let entry = new.iter().rev().find(|entry| entry.message().is_some());
        let note = entry
            .and_then(|entry| addressing::unknown_name_note(driver, &entry.id, &said, &folder));
        if let Some(note) = note {
            sender.send_note(&note);
        }
        Ok(())
    })
}

/// Refuses a line whose `[FROM: …]` names another person than `--as`.
pub(crate) fn two_speakers(
    message: &PersonMessage,
    context: &CommandContext<'_>,
) -> Option<Action> {
    let flag = context.speaker()?;
    let marker = message.sender()?;
    let is_same = context.chat.team.named(marker).is_ok_and(|one| *one.member.name == *flag);
    if is_same {
        return None;
    }
    let error = ChatError::TwoSpeakers { flag: flag.to_owned(), marker: marker.to_owned() };
    context.sender.send(ChatEvent::NotSaid(error));
    Some(Action::Tell(Vec::new()))
}

/// Runs something in the driver's thread.
fn with_driver(
    context: &CommandContext<'_>,
    work: impl FnOnce(&mut Driver, &mut dyn EventSink, &EventSender) -> Result<(), DriveError>
    + Send
    + 'static,
) -> Action {
    let sender = context.sender.clone();
    Action::Send(Command::Call(Call::new(move |driver, sink| {
        match work(driver, sink, &sender) {
            // Only the person who typed the command needs to know.
            Err(error) if !error.is_fatal() => {
                sender.send(refused(&error));
                Ok(())
            }
            done => done,
        }
    })))
}

/// Says the text that a command stands for, if `text` returns one. A command cannot have a `[FROM: …]`.
fn say_with_driver(
    context: &CommandContext<'_>,
    text: impl FnOnce(&Driver, &EventSender) -> Option<String> + Send + 'static,
) -> Action {
    let member = context.speaker().map(Box::from);
    with_driver(context, move |driver, sink, sender| {
        let Some(text) = text(driver, sender) else { return Ok(()) };
        let message = Box::new(PersonMessage::new(text, driver.machine().roster()));
        match driver.execute(Command::Say { member, message }, sink) {
            Err(DriveError::Speaker(SpeakerError::Several { people })) => {
                let error = several_people("to use commands, open", &people);
                sender.send(ChatEvent::NotSaid(error));
                Ok(())
            }
            said => said,
        }
    })
}

fn show_lines<E: Display>(
    context: &CommandContext<'_>,
    lines: impl FnOnce(&mut Driver) -> Result<Vec<Line>, E> + Send + 'static,
) -> Action {
    with_driver(context, move |driver, _, sender| {
        match lines(driver) {
            Ok(lines) => sender.send(ChatEvent::Lines(lines)),
            Err(why) => sender.send_error(&why),
        }
        Ok(())
    })
}

/// Executes a command, unless `idle` returns a reason why it has no effect.
fn obey_if(
    context: &CommandContext<'_>,
    command: Command,
    idle: impl FnOnce(&Driver) -> Option<String> + Send + 'static,
) -> Action {
    with_driver(context, move |driver, sink, sender| match idle(driver) {
        Some(why) => {
            sender.send_note(&why);
            Ok(())
        }
        None => driver.execute(command, sink),
    })
}

fn next(given: &str, context: &CommandContext<'_>) -> Action {
    let team = &context.chat.team;
    match addressing::read(given, team) {
        Ok(to) if to.names.is_empty() => tell("usage: /next NAME… [TEXT]; /members lists the team"),
        // The marker comes first, because it would have no effect inside an open code block of the text.
        Ok(to) => {
            let said = format!("[NEXT: {}]\n{}", to.names.join(", "), to.text);
            let refused = two_speakers(&PersonMessage::new(&*said, team.roster()), context);
            refused.unwrap_or_else(|| {
                say_with_driver(context, move |_, _| Some(said.trim_end().to_owned()))
            })
        }
        Err(why) => tell(&why.to_string()),
    }
}

/// Asks several members. Without a question, shows the result of the newest ask.
fn ask(given: &str, context: &CommandContext<'_>) -> Action {
    let team = &context.chat.team;
    if given.is_empty() {
        let names = DisplayNames::new(team, &context.chat.file);
        return show_lines(context, move |driver| {
            driver.read_all()?;
            Ok::<_, Refusal>(asking::last(driver, &names))
        });
    }
    let (request, question) = match asking::read(given) {
        Ok(read) => read,
        Err(why) => return tell(&why),
    };
    match request.check(team) {
        Ok(ask) => {
            let said = PersonMessage::new(question, team.roster()).asking(ask);
            let member = context.speaker().map(Box::from);
            let refused = two_speakers(&said, context);
            let message = Box::new(said);
            refused.unwrap_or(Action::Send(Command::Say { member, message }))
        }
        Err(why) => tell(&why.to_string()),
    }
}

fn drop_turns(given: &str, context: &CommandContext<'_>) -> Action {
    if given.trim_start_matches('@').eq_ignore_ascii_case("all") {
        return say_with_driver(context, |driver, sender| {
            let is_waited_for = driver.machine().waiting().next().is_some();
            if !is_waited_for {
                sender.send_note("no turns are queued; Esc or /cancel stops the running turn");
            }
            is_waited_for.then(|| "[DROP: ALL]".to_owned())
        });
    }
    let names = match addressing::names(given, &context.chat.team) {
        Ok(names) if names.is_empty() => return tell("usage: /drop NAME…, or /drop all"),
        Ok(names) => names,
        Err(why) => return tell(&why.to_string()),
    };
    say_with_driver(context, move |driver, sender| {
        let waits = |name: &String| driver.machine().waiting().any(|turn| turn.member == name);
        let (waiting, idle): (Vec<String>, Vec<String>) = names.into_iter().partition(waits);
        for name in idle {
            sender.send_note(&report::no_turn_waits(driver, &name));
        }
        (!waiting.is_empty()).then(|| format!("[DROP: {}]", waiting.join(", ")))
    })
}

fn task(given: String, context: &CommandContext<'_>) -> Action {
    if given.contains([']', '\n']) {
        return tell("a task must be one line without ]");
    }
    say_with_driver(context, move |driver, sender| {
        match report::task(driver) {
            None if given.is_empty() => {
                sender.send_note("the team has no task; /task TEXT sets one");
                return None;
            }
            // Shown so that a person who only wanted to see the task can set it again.
            Some(task) if given.is_empty() => sender.send_note(&format!("the task was: {task}")),
            _ => {}
        }
        Some(format!("[TEAM_TASK: {given}]"))
    })
}

fn compact(context: &CommandContext<'_>) -> Action {
    with_driver(context, |driver, sink, sender| {
        let compacted = driver.compact(sink)?;
        sender.send_note(&report::compacted(compacted));
        Ok(())
    })
}

/// Stops the running turns, or those of these members. `all` also cancels the queued turns.
fn cancel(given: &str, context: &CommandContext<'_>) -> Action {
    if given.trim_start_matches('@').eq_ignore_ascii_case("all") {
        return obey_if(context, Command::Cancel(Cancel::All), |driver| {
            let machine = driver.machine();
            let is_idle = machine.active().next().is_none() && machine.waiting().next().is_none();
            is_idle.then(|| "no turn is running or queued".to_owned())
        });
    }
    match addressing::names(given, &context.chat.team) {
        Ok(names) if names.is_empty() => {
            obey_if(context, Command::CancelRunning, |driver| report::nothing_runs(driver, None))
        }
        Ok(names) => with_driver(context, move |driver, sink, sender| {
            for name in names {
                let theirs =
                    |one: &ActiveTurn<'_>| one.member == name && one.phase == TurnPhase::Running;
                let found = driver.machine().active().find(theirs).map(|one| one.turn.clone());
                match found {
                    Some(turn) => driver.execute(Command::Cancel(Cancel::Turn(turn)), sink)?,
                    None => {
                        let why = report::nothing_runs(driver, Some(&name));
                        sender.send_note(&why.unwrap_or_default());
                    }
                }
            }
            Ok(())
        }),
        Err(why) => tell(&why.to_string()),
    }
}

fn repeat(context: &CommandContext<'_>, given: String) -> Action {
    with_driver(context, move |driver, sink, sender| match report::turn_named(driver, &given) {
        Ok(turn) => driver.execute(Command::Repeat(turn), sink),
        Err(why) => {
            sender.send_error(&why);
            Ok(())
        }
    })
}

fn fork(context: &CommandContext<'_>, given: String) -> Action {
    let store = context.chat.store.clone();
    with_driver(context, move |driver, _, sender| {
        match forked(driver, &store, &given) {
            Ok(session) => sender.send(ChatEvent::Forked(session)),
            Err(why) => sender.send(ChatEvent::NotForked(why.to_string())),
        }
        Ok(())
    })
}

fn forked(driver: &Driver, store: &SessionStore, given: &str) -> Result<SessionId, Refusal> {
    if driver.machine().active().any(|active| active.phase != TurnPhase::Asking) {
        return Err(Refusal::TurnRuns);
    }
    let from = fork_point(driver, given)?;
    Ok(store.fork(driver.session(), &from, &NewSession::default())?.id)
}

/// Returns the entry to fork at: the given one, or the newest.
fn fork_point(driver: &Driver, given: &str) -> Result<EntryId, Refusal> {
    if !given.is_empty() {
        return report::named(driver, given).map(|entry| entry.id.clone());
    }
    let entries = driver.entries();
    let was_said = entries.iter().any(|entry| entry.message().is_some());
    let last = entries.last().filter(|_| was_said).ok_or(Refusal::NothingSaid)?;
    Ok(last.id.clone())
}

/// Exports the session to a file, one entry per line; returns the line with the count. An existing file is not changed.
pub(crate) fn export(
    store: &SessionStore,
    session: &SessionId,
    given: &str,
) -> Result<Vec<Line>, NotExported> {
    let path = at_home(given, std::env::home_dir());
    let mut file = ExportFile::open(&path, false)?;
    let mut count = 0;
    for stored in store.entries(session, &Range::All)? {
        file.write_line(&EntryRecord::new(&stored?.entry).to_json())?;
        count += 1;
    }
    file.finish()?;
    let entries = counted(count, "entry", "entries");
    Ok(vec![Line::new(format!("exported {entries} to {}", path.display()), Look::Dim)])
}

/// Expands `~/`, because no shell does it here.
fn at_home(given: &str, home: Option<PathBuf>) -> PathBuf {
    match (given.strip_prefix("~/"), home) {
        (Some(inside), Some(home)) => home.join(inside),
        _ => PathBuf::from(given),
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum NotExported {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{}", in_words(.0))]
    File(#[from] ExportError),
}

/// Returns the error without hints that only apply to the command line.
fn in_words(error: &ExportError) -> String {
    match error {
        ExportError::Exists { path } => {
            format!("{} already exists and was not changed; name another file", path.display())
        }
        ExportError::Write { path, source } => {
            let path = path.display();
            format!("cannot write {path}: {source}; name a file in an existing folder")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_tilde_is_the_home_folder_only_at_the_beginning() {
        let home = || Some(PathBuf::from("/somewhere"));
        assert_eq!(at_home("~/log.jsonl", home()), Path::new("/somewhere/log.jsonl"));
        for other in ["log.jsonl", "a~/b", "~bob/x", "~"] {
            assert_eq!(at_home(other, home()), Path::new(other));
        }
        assert_eq!(at_home("~/log.jsonl", None), Path::new("~/log.jsonl"));
    }
}
