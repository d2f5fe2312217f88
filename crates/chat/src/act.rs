//! What commands do. Each becomes something to hand in at the table's door, or lines that can be said at
//! once. A command that would do nothing says so. Used by every way of showing a chat.

use std::fmt::Display;
use std::path::PathBuf;

use tertulia_operations::export_file::{ExportError, ExportFile};
use tertulia_session::EntryId;
use tertulia_session::record::EntryRecord;
use tertulia_store::{NewSession, Range, SessionId, SessionStore, StoreError};
use tertulia_team::{
    Command, DriveError, Driver, EventSink, PersonMessage, SpeakerError, Status, Visit,
};

use super::commands::{self, Slash, Typed};
use super::engine::{ChatEvent, Voice, several_people};
use super::style::{Line, Look};
use super::{Room, addressing, report};
use crate::error::{ChatError, Refusal};
use crate::terminal::{counted, excerpt};

/// How much of a command that nobody knows is said again.
const NAME_COLUMNS: usize = 40;

pub(crate) enum Act {
    Send(Command),
    Tell(Vec<Line>),
    Leave,
}

/// What commands need: where they are typed, and where answers go.
#[derive(Clone, Copy)]
pub(crate) struct Place<'p> {
    pub(crate) room: &'p Room,
    pub(crate) voice: &'p Voice,
}

impl Place<'_> {
    /// The person who types, if that was said.
    fn speaker(&self) -> Option<&str> {
        self.room.speaker.as_deref()
    }
}

pub(crate) fn act(typed: &Typed<'_>, place: &Place<'_>) -> Act {
    match *typed {
        Typed::Nothing => Act::Tell(Vec::new()),
        Typed::Words(words) => say(words, place),
        Typed::Command(slash, given) => command(slash, given, place),
        Typed::Unknown { name, nearest } => {
            let hint = match nearest {
                Some(nearest) => format!("did you mean /{nearest}?"),
                None => "/help shows all".to_owned(),
            };
            tell(&format!("there is no command /{}; {hint}", excerpt(name, NAME_COLUMNS)))
        }
    }
}

fn command(slash: Slash, given: &str, place: &Place<'_>) -> Act {
    let look = |lines: fn(&Driver) -> Vec<Line>| {
        visit(place, move |driver| Ok::<_, Refusal>(lines(driver)))
    };
    let given = given.to_owned();
    match slash {
        Slash::Next => next(&given, place),
        Slash::Drop => drop_turns(&given, place),
        Slash::Task => task(given, place),
        Slash::Context => visit(place, move |driver| report::context(driver, &given)),
        Slash::Why => visit(place, move |driver| report::why(driver, &given)),
        Slash::Compact => compact(place),
        Slash::Resume if given.is_empty() => {
            obey_if(place, Command::Continue, report::nothing_to_resume)
        }
        Slash::Resume => repeat(place, given),
        Slash::Fork => fork(place, given),
        Slash::Export if given.is_empty() => tell("say where to: /export FILE"),
        Slash::Export => {
            let store = place.room.store.clone();
            visit(place, move |driver| export(&store, driver.session(), &given))
        }
        Slash::Cancel => cancel(place),
        Slash::Members => Act::Tell(report::members(&place.room.team, &place.room.file)),
        Slash::Queue => look(report::queue),
        Slash::Cost => look(report::cost),
        Slash::Help => {
            Act::Tell(commands::help().iter().map(|line| Line::new(line, Look::Plain)).collect())
        }
        Slash::Quit => Act::Leave,
    }
}

fn tell(text: &str) -> Act {
    Act::Tell(Line::all_of(text, Look::Alarm))
}

fn say(text: &str, place: &Place<'_>) -> Act {
    let said = PersonMessage::new(text, place.room.team.table());
    if let Some(refused) = two_speakers(&said, place) {
        return refused;
    }
    let folder = place.room.folder.clone();
    let message = Box::new(said.clone());
    let command = Command::Say { member: place.speaker().map(Box::from), message };
    if addressing::stranger(&said, &folder).is_none() {
        return Act::Send(command);
    }
    at_table(place, move |driver, audience, voice| {
        let before = driver.entries().len();
        driver.obey(command, audience)?;
        let new = driver.entries().get(before..).unwrap_or_default();
        let entry = new.iter().rev().find(|entry| entry.message().is_some());
        let note =
            entry.and_then(|entry| addressing::nobody_called(driver, &entry.id, &said, &folder));
        if let Some(note) = note {
            voice.remark(&note);
        }
        Ok(())
    })
}

/// That a line names another person than the one who types.
fn two_speakers(message: &PersonMessage, place: &Place<'_>) -> Option<Act> {
    let flag = place.speaker()?;
    let marker = message.sender()?;
    let is_same = place.room.team.named(marker).is_ok_and(|one| *one.member.name == *flag);
    if is_same {
        return None;
    }
    let error = ChatError::TwoSpeakers { flag: flag.to_owned(), marker: marker.to_owned() };
    place.voice.say(ChatEvent::NotSaid(error));
    Some(Act::Tell(Vec::new()))
}

/// Something to be done at the table itself.
fn at_table(
    place: &Place<'_>,
    errand: impl FnOnce(&mut Driver, &mut dyn EventSink, &Voice) -> Result<(), DriveError>
    + Send
    + 'static,
) -> Act {
    let voice = place.voice.clone();
    Act::Send(Command::Visit(Visit::new(move |driver, audience| errand(driver, audience, &voice))))
}

/// Something to be said at the table itself, if `text` gives it: what a command stands for. No `[FROM: …]` can be put
/// before a command.
fn say_at_table(
    place: &Place<'_>,
    text: impl FnOnce(&Driver, &Voice) -> Option<String> + Send + 'static,
) -> Act {
    let member = place.speaker().map(Box::from);
    at_table(place, move |driver, audience, voice| {
        let Some(text) = text(driver, voice) else { return Ok(()) };
        let message = Box::new(PersonMessage::new(text, driver.machine().table()));
        match driver.obey(Command::Say { member, message }, audience) {
            Err(DriveError::Speaker(SpeakerError::Several { people })) => {
                let error = several_people("to use commands, open", &people);
                voice.say(ChatEvent::NotSaid(error));
                Ok(())
            }
            said => said,
        }
    })
}

fn visit<E: Display>(
    place: &Place<'_>,
    lines: impl FnOnce(&mut Driver) -> Result<Vec<Line>, E> + Send + 'static,
) -> Act {
    at_table(place, move |driver, _, voice| {
        match lines(driver) {
            Ok(lines) => voice.say(ChatEvent::Lines(lines)),
            Err(why) => voice.complain(&why),
        }
        Ok(())
    })
}

/// Does what the command is for, or tells why there is nothing to do.
fn obey_if(
    place: &Place<'_>,
    command: Command,
    idle: impl FnOnce(&Driver) -> Option<String> + Send + 'static,
) -> Act {
    at_table(place, move |driver, audience, voice| match idle(driver) {
        Some(why) => {
            voice.remark(&why);
            Ok(())
        }
        None => driver.obey(command, audience),
    })
}

fn next(given: &str, place: &Place<'_>) -> Act {
    let team = &place.room.team;
    match addressing::read(given, team) {
        Ok(to) if to.names.is_empty() => {
            tell("say who: /next NAME… [TEXT]; /members shows who is there")
        }
        // Before the text: an open code block would take the marker in.
        Ok(to) => {
            let said = format!("[NEXT: {}]\n{}", to.names.join(", "), to.text);
            let refused = two_speakers(&PersonMessage::new(&*said, team.table()), place);
            refused.unwrap_or_else(|| {
                say_at_table(place, move |_, _| Some(said.trim_end().to_owned()))
            })
        }
        Err(why) => tell(&why.to_string()),
    }
}

fn drop_turns(given: &str, place: &Place<'_>) -> Act {
    if given.trim_start_matches('@').eq_ignore_ascii_case("all") {
        return say_at_table(place, |driver, voice| {
            let is_waited_for = driver.machine().waiting().next().is_some();
            if !is_waited_for {
                voice.remark("nobody waits; Esc or /cancel stops the turn that runs");
            }
            is_waited_for.then(|| "[DROP: ALL]".to_owned())
        });
    }
    let names = match addressing::names(given, &place.room.team) {
        Ok(names) if names.is_empty() => return tell("say whose turns: /drop NAME, or /drop all"),
        Ok(names) => names,
        Err(why) => return tell(&why.to_string()),
    };
    say_at_table(place, move |driver, voice| {
        let waits = |name: &String| driver.machine().waiting().any(|turn| turn.member == name);
        let (waiting, idle): (Vec<String>, Vec<String>) = names.into_iter().partition(waits);
        for name in idle {
            voice.remark(&report::no_turn_waits(driver, &name));
        }
        (!waiting.is_empty()).then(|| format!("[DROP: {}]", waiting.join(", ")))
    })
}

fn task(given: String, place: &Place<'_>) -> Act {
    if given.contains([']', '\n']) {
        return tell("a task is one line without ]");
    }
    say_at_table(place, move |driver, voice| {
        match report::task(driver) {
            None if given.is_empty() => {
                voice.remark("the team has no task; /task TEXT sets one");
                return None;
            }
            // So that it can be set again by whoever only wanted to see it.
            Some(task) if given.is_empty() => voice.remark(&format!("the task was: {task}")),
            _ => {}
        }
        Some(format!("[TEAM_TASK: {given}]"))
    })
}

fn compact(place: &Place<'_>) -> Act {
    at_table(place, |driver, audience, voice| {
        let compacted = driver.compact(audience)?;
        voice.remark(&report::compacted(compacted));
        Ok(())
    })
}

fn cancel(place: &Place<'_>) -> Act {
    obey_if(place, Command::CancelRunning, |driver| match driver.machine().status() {
        Status::Running { .. } => None,
        Status::Stopping { .. } => Some("it is being stopped already".to_owned()),
        _ => Some("nobody speaks, so there is nothing to stop".to_owned()),
    })
}

fn repeat(place: &Place<'_>, given: String) -> Act {
    at_table(place, move |driver, audience, voice| match report::turn_named(driver, &given) {
        Ok(turn) => driver.obey(Command::Repeat(turn), audience),
        Err(why) => {
            voice.complain(&why);
            Ok(())
        }
    })
}

fn fork(place: &Place<'_>, given: String) -> Act {
    let store = place.room.store.clone();
    at_table(place, move |driver, _, voice| {
        match forked(driver, &store, &given) {
            Ok(session) => voice.say(ChatEvent::Forked(session)),
            Err(why) => voice.say(ChatEvent::NotForked(why.to_string())),
        }
        Ok(())
    })
}

fn forked(driver: &Driver, store: &SessionStore, given: &str) -> Result<SessionId, Refusal> {
    if matches!(driver.machine().status(), Status::Running { .. } | Status::Stopping { .. }) {
        return Err(Refusal::TurnRuns);
    }
    let from = fork_point(driver, given)?;
    Ok(store.fork(driver.session(), &from, &NewSession::default())?.id)
}

/// The entry that is meant; without one, the newest.
fn fork_point(driver: &Driver, given: &str) -> Result<EntryId, Refusal> {
    if !given.is_empty() {
        return report::named(driver, given).map(|entry| entry.id.clone());
    }
    let entries = driver.entries();
    let was_said = entries.iter().any(|entry| entry.message().is_some());
    let last = entries.last().filter(|_| was_said).ok_or(Refusal::NothingSaid)?;
    Ok(last.id.clone())
}

/// Exports the session to a file, one entry per line, and tells how many there are. An existing file is not changed.
fn export(
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
    let entries = counted(count, "entry is", "entries are");
    Ok(vec![Line::new(format!("{entries} in {}", path.display()), Look::Dim)])
}

/// No shell has read this, and people write `~/` all the same.
fn at_home(given: &str, home: Option<PathBuf>) -> PathBuf {
    match (given.strip_prefix("~/"), home) {
        (Some(inside), Some(home)) => home.join(inside),
        _ => PathBuf::from(given),
    }
}

#[derive(Debug, thiserror::Error)]
enum NotExported {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{}", in_words(.0))]
    File(#[from] ExportError),
}

/// What went wrong, without what only the command line has.
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
