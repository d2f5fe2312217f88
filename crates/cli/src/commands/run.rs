//! `tertulia run`: one request, until the table needs a person. How it ended becomes an exit code.

mod events;
mod live;
mod outcome;
mod talk;

use std::io;

use tertulia_chat::terminal::{is_dumb, visible};
use tertulia_chat::{Interrupt, OpenTable, Shown, narrate, nobody_called, stop_turn};
use tertulia_operations::names::{elsewhere, find_entry, short_session};
use tertulia_session::EntryId;
use tertulia_store::{SessionId, SessionStore};
use tertulia_team::{
    Command, DriveError, Driver, EventSink, Machine, Opened, Pause, PersonMessage, SessionEvent,
    SpeakerError, Table, Team, Why,
};

use super::files::read_text;
use crate::Streams;
use crate::advice::{SamePlace, same_place};
use crate::args::{RunArgs, SessionArg};
use crate::error::{CliError, Result};
use crate::open_table;
use crate::store_place::StorePlace;
use crate::team_place::{TeamPlace, agents_of, working_folder};
use events::JsonLines;
pub(crate) use events::write_wrong_usage;
use live::Live;
use outcome::End;
use talk::Talk;

trait Watcher: EventSink {
    /// Something for people; programs see it otherwise.
    fn remark(&mut self, text: &str);

    fn opened(&mut self, session: &SessionId, is_new: bool) {
        self.remark(&narrate::opened(session, is_new));
    }

    /// Something that is not as it was meant, perhaps.
    fn note(&mut self, text: &str, _: &EntryId) {
        self.remark(text);
    }

    /// Drives until nothing runs any more.
    fn drive(&mut self, driver: &mut Driver) -> Result<Pause, DriveError>;

    /// Ends the output and returns the first write error.
    fn close(self: Box<Self>) -> io::Result<()>;
}

/// Hears how a table is opened. Who rests there or is asked since the last time is no news: it is told when
/// what is wanted now has changed nothing about it.
struct Opening<'w>(&'w mut dyn EventSink);

struct Ended {
    pause: Pause,
    is_interrupted: bool,
    outcome: Result,
}

pub(crate) fn run(args: &RunArgs, streams: &mut Streams<'_>) -> Result {
    // The events have the error too.
    let ended = converse(args, streams).map_err(|error| error.at(place_of(args)));
    if args.json {
        // Whatever went wrong, whoever reads the events is told that no more will come.
        events::write_end(&ended, streams)?;
    }
    ended.and_then(|ended| ended.outcome)
}

pub(super) fn place_of(args: &RunArgs) -> SamePlace {
    SamePlace::of(Some(&args.team.file), &args.store)
}

/// Asks the table and waits. An error means that it did not come to a pause.
fn converse(args: &RunArgs, streams: &mut Streams<'_>) -> Result<Ended> {
    let text = text_to_say(args, streams)?;
    let TeamPlace { team, folder, file } = TeamPlace::trusted(&args.team, streams)?;
    let shown = Shown::new(&team, &file);
    let addressee = match &args.member {
        Some(name) => Some(addressee(&team, name, args.speaker.as_deref())?),
        None => None,
    };
    let message = text.map(|text| message_to(addressee.as_deref(), text, team.table()));
    let session = session_arg(args);
    let store = StorePlace::read(&args.store)?;
    let (there, id) = look_for(&session, &store, &folder)?;
    if let (Some(message), None) = (&message, &id) {
        // Nothing is created for a message that nobody may say.
        check_speaker(&Machine::new(team.table().clone()), args, message)?;
    }
    if let (Some(store), Some(id)) = (&there, &id)
        && let Some(line) = elsewhere(store, id, &folder)?
    {
        let _ = writeln!(streams.notes(), "tertulia: {}", visible(&line));
    }
    let is_forgotten = store.is_forgotten();
    let store = there.map_or_else(|| store.open(), Ok)?;
    let mut watcher = watcher(args, streams, &shown);
    if let Some(id) = &id {
        watcher.opened(id, false);
    }
    let mut opening = Opening(&mut *watcher);
    let OpenTable { opened: Opened { mut driver, differences, .. }, is_new } =
        open_table::open(&session, id.as_ref(), &store, team, false, &mut opening)?;
    driver.set_terms(Some(&folder), args.max_turns);
    if is_new {
        watcher.opened(driver.session(), true);
    }
    if !differences.is_empty() {
        let told = narrate::differences(differences.len());
        let place = same_place(&args.team.file, &args.store);
        let details = format!("tertulia replay {}{place}", driver.session());
        watcher.remark(&format!("{told} (run `{details}` for details)"));
    }
    if let (Some(message), false) = (&message, is_new) {
        check_speaker(driver.machine(), args, message)?;
    }
    let interrupt = Interrupt::watch(driver.door(), stop_turn);
    let asked = ask(&mut driver, message.as_ref(), args, &mut *watcher);
    let pause = asked.and_then(|()| watcher.drive(&mut driver).map_err(CliError::from))?;
    let is_interrupted = interrupt.happened();
    drop(interrupt);
    watcher.close().map_err(CliError::output)?;
    let only_goes_on = message.is_none() && args.repeat.is_none();
    let end =
        End { args, driver: &driver, shown: &shown, is_forgotten, is_interrupted, only_goes_on };
    let outcome = outcome::of(&pause, &end);
    Ok(Ended { pause, is_interrupted, outcome })
}

fn way_back(args: &RunArgs, session: &SessionId) -> String {
    let session = short_session(session);
    format!("{} --session {session}", same_place(&args.team.file, &args.store))
}

/// The store and the session that is resumed. A session is created with the first message, not before.
fn look_for(
    session: &SessionArg,
    place: &StorePlace,
    folder: &str,
) -> Result<(Option<SessionStore>, Option<SessionId>)> {
    if !session.go_on && session.session.is_none() {
        let store = match open_table::new_id(session)? {
            Some(_) => place.open_existing()?,
            None => None,
        };
        return Ok((store, None));
    }
    let store = open_table::store_to_resume(session, place)?;
    let id = open_table::resumed(session, &store, folder)?;
    Ok((Some(store), id))
}

fn session_arg(args: &RunArgs) -> SessionArg {
    let SessionArg { session, new, go_on } = &args.session;
    // A turn that is repeated is one of a session that exists.
    let go_on = *go_on || args.repeat.is_some();
    SessionArg { session: session.clone(), new: new.clone(), go_on }
}

/// What is to be said; `None` where a turn is repeated or the agents only continue.
fn text_to_say(args: &RunArgs, streams: &mut Streams<'_>) -> Result<Option<String>> {
    let text = match args.text.as_deref() {
        _ if args.repeat.is_some() => return Ok(None),
        None if args.session.go_on => return Ok(None),
        None => {
            return Err(CliError::Usage(
                "nothing to send; give a text, - for standard input, or --continue",
            ));
        }
        Some("-") => read_text("-".as_ref(), streams)?,
        Some(text) => text.to_owned(),
    };
    match text.trim().is_empty() {
        true => Err(CliError::Usage("nothing to send: the text is empty")),
        false => Ok(Some(text)),
    }
}

/// The exact name of who is to answer: anybody but the one who speaks.
fn addressee(team: &Team, name: &str, speaker: Option<&str>) -> Result<Box<str>> {
    let member = team.named(name);
    let member = member.map_err(|error| CliError::UnknownMember { flag: "--member", error })?;
    let name = member.member.name.clone();
    let people = team.members().iter().filter(|one| one.is_person()).count();
    let speaks = match speaker {
        Some(speaker) => team.named(speaker).is_ok_and(|one| one.member.name == name),
        None => people == 1 && member.is_person(),
    };
    match speaks {
        true => Err(CliError::OwnAnswer { name, agents: agents_of(team) }),
        false => Ok(name),
    }
}

fn check_speaker(machine: &Machine, args: &RunArgs, message: &PersonMessage) -> Result {
    let Some(flag) = args.speaker.as_deref() else {
        return match machine.speaker_of(message.sender()) {
            Ok(_) => Ok(()),
            Err(SpeakerError::Several { people }) => Err(CliError::NeedsPerson(format!(
                "the team has several people; name one with --as: {}",
                people.join(", ")
            ))),
            Err(error) => Err(DriveError::Speaker(error).into()),
        };
    };
    let named = machine.speaker_of(Some(flag)).map_err(CliError::Speaker)?;
    match message.sender() {
        Some(marker) if machine.speaker_of(Some(marker)) != Ok(named) => {
            Err(CliError::TwoSpeakers { flag: flag.to_owned(), marker: marker.to_owned() })
        }
        _ => Ok(()),
    }
}

fn ask(
    driver: &mut Driver,
    message: Option<&PersonMessage>,
    args: &RunArgs,
    watcher: &mut dyn Watcher,
) -> Result {
    let before = driver.entries().len();
    match (message, &args.repeat) {
        (Some(message), _) => {
            let said = driver.say_message(args.speaker.as_deref(), message, watcher)?;
            if let Some(note) = nobody_called(driver, &said, message, &working_folder()?) {
                watcher.note(&note, &said);
            }
        }
        (None, None) => {
            driver.obey(Command::Continue, watcher)?;
            // Nothing but that it was said.
            if driver.entries().len() <= before + 1 {
                watcher.remark("nothing to do: no turns are queued");
            }
        }
        (None, Some(given)) => {
            let turn = turn_to_repeat(driver, args, given)?;
            driver.obey(Command::Repeat(turn), watcher)?;
            if driver.entries().len() == before {
                // A note has told why.
                return Err(CliError::Failed(format!("{given} was not repeated")));
            }
        }
    }
    Ok(())
}

fn turn_to_repeat(driver: &Driver, args: &RunArgs, given: &str) -> Result<EntryId> {
    let session = driver.session();
    let found = find_entry(driver.entries(), given);
    let entry = found.map_err(|error| error.in_session(session))?;
    entry.turn_id().cloned().ok_or_else(|| {
        let given = entry.id.to_string();
        let why = format!("tertulia why {given}{}", way_back(args, session));
        CliError::NoTurn { given, why }
    })
}

/// The message, with its addressee in front if it names nobody: the log alone must tell who was meant.
fn message_to(addressee: Option<&str>, text: String, table: &Table) -> PersonMessage {
    let message = PersonMessage::new(text, table);
    let Some(name) = addressee.filter(|_| message.addresses_nobody()) else { return message };
    let is_word = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
    let text = message.text();
    let text = if is_word { format!("@{name} {text}") } else { format!("[NEXT: {name}] {text}") };
    PersonMessage::new(text, table)
}

fn watcher<'w>(
    args: &RunArgs,
    streams: &'w mut Streams<'_>,
    shown: &'w Shown,
) -> Box<dyn Watcher + 'w> {
    let is_terminal = streams.stdout_is_terminal && streams.stderr_is_terminal && !is_dumb();
    match args.json {
        true => Box::new(JsonLines::new(streams)),
        false if is_terminal => Box::new(Live::new(streams, shown)),
        false => Box::new(Talk::new(streams, shown)),
    }
}

impl EventSink for Opening<'_> {
    fn on_event(&mut self, event: SessionEvent) {
        match event {
            SessionEvent::Rested => {}
            SessionEvent::Asked(question) if !matches!(question.why, Why::Resumed { .. }) => {}
            event => self.0.on_event(event),
        }
    }
}
