//! What commands do. Each becomes something to hand in at the table's door, or lines that can be said at
//! once. Used by every way of showing a chat.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::path::Path;

use tertulia_session::EntryId;
use tertulia_session::record::EntryRecord;
use tertulia_store::{NewSession, Range, SessionId, SessionStore};
use tertulia_team::{Command, Driver, Status, Visit};

use super::commands::{self, Slash};
use super::engine::{Heard, Voice};
use super::report;
use super::style::{Line, Look};
use crate::commands::find_entry;
use crate::error::CliError;

/// What follows from a command.
pub(crate) enum Act {
    /// To be handed in.
    Send(Command),
    /// To be said.
    Tell(Vec<Line>),
    /// The person leaves.
    Leave,
}

/// What commands need.
pub(crate) struct Place<'p> {
    /// Where answers go.
    pub(crate) voice: &'p Voice,
    /// The store.
    pub(crate) store: &'p SessionStore,
    /// The names of the members.
    pub(crate) members: &'p [String],
}

/// What a command does.
pub(crate) fn act(slash: Slash, given: &str, place: &Place<'_>) -> Act {
    let look = |lines: fn(&Driver) -> Vec<Line>| visit(place, move |driver| lines(driver));
    let given = given.to_owned();
    match slash {
        Slash::Next => next(&given, place),
        Slash::Drop if given.is_empty() => tell("say whose turns: /drop NAME, or /drop all"),
        Slash::Drop => say(format!("[DROP: {}]", given.trim_start_matches('@'))),
        Slash::Task if given.contains([']', '\n']) => tell("a task is one line without ]"),
        Slash::Task => say(format!("[TEAM_TASK: {given}]")),
        Slash::Context => visit(place, move |driver| report::context(driver, &given)),
        Slash::Why => visit(place, move |driver| report::why(driver, &given)),
        Slash::Compact => Act::Send(Command::Compact),
        Slash::Resume if given.is_empty() => Act::Send(Command::Continue),
        Slash::Resume => repeat(place, given),
        Slash::Fork => fork(place, given),
        Slash::Export if given.is_empty() => tell("say where to: /export FILE"),
        Slash::Export => export(place, given),
        Slash::Cancel => Act::Send(Command::CancelRunning),
        Slash::Members => look(report::members),
        Slash::Queue => look(report::queue),
        Slash::Cost => look(report::cost),
        Slash::Help => {
            Act::Tell(commands::help().iter().map(|line| Line::of(line, Look::Plain)).collect())
        }
        Slash::Quit => Act::Leave,
    }
}

fn tell(text: &str) -> Act {
    Act::Tell(Line::all_of(text, Look::Alarm))
}

/// Somebody says something.
pub(crate) fn say(text: String) -> Act {
    Act::Send(Command::Say { member: None, text })
}

/// A look at the table.
fn visit(place: &Place<'_>, lines: impl FnOnce(&mut Driver) -> Vec<Line> + Send + 'static) -> Act {
    let voice = place.voice.clone();
    Act::Send(Command::Visit(Visit::new(move |driver, _| {
        voice.say(Heard::Lines(lines(driver)));
        Ok(())
    })))
}

fn next(given: &str, place: &Place<'_>) -> Act {
    let is_member =
        |name: &str| place.members.iter().any(|member| member.eq_ignore_ascii_case(name));
    let (names, text) = commands::names_and_text(given, is_member);
    if names.is_empty() {
        return tell("say who: /next NAME… [TEXT]; /members shows who is there");
    }
    let marker = format!("[NEXT: {}]", names.join(", "));
    say(if text.is_empty() { marker } else { format!("{text}\n{marker}") })
}

fn repeat(place: &Place<'_>, given: String) -> Act {
    let voice = place.voice.clone();
    Act::Send(Command::Visit(Visit::new(move |driver, audience| {
        match report::turn_named(driver, &given) {
            Ok(turn) => driver.obey(Command::Repeat(turn), audience),
            Err(lines) => {
                voice.say(Heard::Lines(lines));
                Ok(())
            }
        }
    })))
}

fn fork(place: &Place<'_>, given: String) -> Act {
    let (voice, store) = (place.voice.clone(), place.store.clone());
    Act::Send(Command::Visit(Visit::new(move |driver, _| {
        match forked(driver, &store, &given) {
            Ok(session) => voice.say(Heard::Forked(session)),
            Err(error) => voice.complain(&error),
        }
        Ok(())
    })))
}

fn forked(driver: &Driver, store: &SessionStore, given: &str) -> Result<SessionId, CliError> {
    if matches!(driver.machine().status(), Status::Running { .. } | Status::Stopping { .. }) {
        return Err(CliError::Usage("a turn runs; wait for it, or /cancel it, then fork"));
    }
    let from = fork_point(driver, given)?;
    Ok(store.fork(driver.session(), &from, &NewSession::default())?.id)
}

/// The entry that is meant; without one, the newest.
fn fork_point(driver: &Driver, given: &str) -> Result<EntryId, CliError> {
    let entries = driver.entries();
    if given.is_empty() {
        let last = entries.last().map(|entry| entry.id.clone());
        return last.ok_or(CliError::Usage("nothing was said yet; there is nothing to fork"));
    }
    Ok(find_entry(entries.iter(), given)?.id.clone())
}

fn export(place: &Place<'_>, given: String) -> Act {
    let store = place.store.clone();
    visit(place, move |driver| match write_log(&store, driver.session(), Path::new(&given)) {
        Ok(count) => {
            vec![Line::of(&format!("{count} entries are in {given}"), Look::Dim)]
        }
        Err(error) => Line::all_of(&error.to_string(), Look::Alarm),
    })
}

/// Writes all entries of a session, one per line. A file that is there stays as it is.
fn write_log(store: &SessionStore, session: &SessionId, path: &Path) -> Result<u64, CliError> {
    let failed = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::AlreadyExists => CliError::FileExists { path: path.to_owned() },
        _ => CliError::WriteFile { path: path.to_owned(), source },
    };
    let file = OpenOptions::new().write(true).create_new(true).open(path).map_err(failed)?;
    let mut file = BufWriter::new(file);
    let mut count = 0;
    for stored in store.entries(session, &Range::All)? {
        writeln!(file, "{}", EntryRecord::new(&stored?.entry).to_json()).map_err(failed)?;
        count += 1;
    }
    file.flush().map_err(failed)?;
    Ok(count)
}
