//! `tertulia run`: sends one message and runs until a person is needed. The outcome becomes an exit code.

mod events;
mod joined;
mod live;
mod outcome;
mod plain;
mod result;

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tertulia_chat::join::{Broadcast, EMPTY_MESSAGE, Host, SharedSink};
use tertulia_chat::terminal::{is_dumb, visible};
use tertulia_chat::{
    ChatSession, DisplayNames, Interrupt, OpenSession, narrate, stop_turn, unknown_name_note,
};
use tertulia_operations::names::{elsewhere, find_entry, short_session};
use tertulia_session::{Entry, EntryId};
use tertulia_store::{SessionId, SessionStore};
use tertulia_team::{
    AskRequest, AskResult, Command, DriveError, Driver, EventSink, Machine, Opened, PauseReason,
    PersonMessage, Roster, SessionEvent, SpeakerError, StopReason, Team,
};

use super::files::read_text;
use crate::Streams;
use crate::args::{RunArgs, SessionArg};
use crate::error::{CliError, Result};
use crate::load_team::{LoadedTeam, agents_of, working_folder};
use crate::open_session;
use crate::store_location::{self, StoreLocation};
use crate::suggested_flags::{SuggestedFlags, team_and_store_flags};
use events::JsonLines;
pub(crate) use events::write_wrong_usage;
use live::LiveOutput;
use outcome::End;
use plain::PlainOutput;

/// How long a run tries to open a session that another process uses, or to join that process. A process that starts
/// has the session before it listens on its socket, and one that ends has it a little longer.
const ENTER_MAX: Duration = Duration::from_secs(10);
/// The pause between two attempts.
const ENTER_PAUSE: Duration = Duration::from_millis(50);

trait RunOutput: EventSink {
    /// Prints a note for people. Programs get the same information as an event.
    fn remark(&mut self, text: &str);

    fn opened(&mut self, session: &SessionId, is_new: bool) {
        self.remark(&narrate::opened(session, is_new));
    }

    /// Prints a note about an entry.
    fn note(&mut self, text: &str, _: &EntryId) {
        self.remark(text);
    }

    /// Gets the turns that wait, with their members, before they are driven.
    fn waits(&mut self, _: Vec<(EntryId, Box<str>)>) {}

    /// Shows the events of the work, which runs until no turn is running.
    fn drive(&mut self, work: Work<'_>) -> Result<StopReason>;

    /// Shows the result of an ask.
    fn result(&mut self, result: &AskResult, names: &DisplayNames);

    /// Ends the output and returns the first write error.
    fn close(self: Box<Self>) -> io::Result<()>;
}

/// Filters the events of opening a session. Does not repeat earlier questions and ends; they are shown only if they
/// still apply at the end.
struct Opening<'w>(&'w mut dyn EventSink);

/// Runs turns and passes on their events.
type Work<'w> = Box<dyn FnOnce(&mut dyn EventSink) -> Result<StopReason> + Send + 'w>;

struct Ended {
    pause: StopReason,
    is_interrupted: bool,
    outcome: Result,
}

/// Runs `run`, or `ask` with the members that are asked.
pub(crate) fn run(
    args: &RunArgs,
    request: Option<&AskRequest>,
    streams: &mut Streams<'_>,
) -> Result {
    // The events contain the error, too.
    let ended = converse(args, request, streams).map_err(|error| error.at(flags_for(args)));
    if args.json {
        // The last event marks the end of the output, even after an error.
        events::write_end(&ended, streams)?;
    }
    ended.and_then(|ended| ended.outcome)
}

pub(super) fn flags_for(args: &RunArgs) -> SuggestedFlags {
    SuggestedFlags::new(Some(&args.team.file), &args.store)
}

/// Sends the message and runs until a pause. An error means that the run did not reach one.
fn converse(
    args: &RunArgs,
    request: Option<&AskRequest>,
    streams: &mut Streams<'_>,
) -> Result<Ended> {
    let text = text_to_say(args, streams)?;
    let LoadedTeam { team, folder, file } = LoadedTeam::trusted(&args.team, streams)?;
    let names = DisplayNames::new(&team, &file);
    let addressee = match &args.member {
        Some(name) => Some(addressee(&team, name, args.speaker.as_deref())?),
        None => None,
    };
    let ask = request.map(|request| request.check(&team)).transpose().map_err(CliError::Ask)?;
    let message = text.map(|text| message_to(addressee.as_deref(), text, team.roster()));
    let message = match (message, ask) {
        (Some(message), Some(ask)) => Some(message.asking(ask)),
        (message, _) => message,
    };
    let session = session_arg(args);
    let store = StoreLocation::read(&args.store)?;
    let (there, id) = look_for(&session, &store, &folder)?;
    if let (Some(message), None) = (&message, &id) {
        // Checked before a session is created, so that an invalid speaker creates none.
        check_speaker(&Machine::new(team.roster().clone()), args, message)?;
    }
    if let (Some(store), Some(id)) = (&there, &id)
        && let Some(line) = elsewhere(store, id, &folder)?
    {
        let _ = writeln!(streams.notes(), "tertulia: {}", visible(&line));
    }
    let is_ephemeral = store.is_ephemeral();
    let store = there.map_or_else(|| store.open(), Ok)?;
    let chat = ChatSession {
        store,
        team,
        file,
        folder: working_folder()?,
        home: store_location::home().ok(),
        speaker: args.speaker.as_deref().map(Box::from),
        back: None,
        attended: false,
        takes_over: false,
    };
    let run = Conversation { args, request, chat, names, session, folder, is_ephemeral };
    let mut output = output(args, streams, &run.names);
    if let Some(id) = &id {
        output.opened(id, false);
    }
    run.hold(id.as_ref(), message.as_ref(), output)
}

/// A run, and what it needs.
struct Conversation<'r> {
    args: &'r RunArgs,
    /// Whom the message asks, for `ask`.
    request: Option<&'r AskRequest>,
    chat: ChatSession,
    names: DisplayNames,
    session: SessionArg,
    /// The folder of the project.
    folder: String,
    is_ephemeral: bool,
}

impl Conversation<'_> {
    /// Runs the session, or joins the process that runs it.
    fn hold(
        &self,
        id: Option<&SessionId>,
        message: Option<&PersonMessage>,
        mut output: Box<dyn RunOutput + '_>,
    ) -> Result<Ended> {
        let until = Instant::now() + ENTER_MAX;
        loop {
            let mut opening = Opening(&mut *output);
            let (team, store) = (self.chat.team.clone(), &self.chat.store);
            let opened = open_session::open(&self.session, id, store, team, false, &mut opening);
            let id = match (opened, id) {
                (Err(CliError::Drive(DriveError::SessionInUse)), Some(id)) => id,
                (opened, _) => return self.run_here(opened?, message, output),
            };
            if let Some(client) = self.reach_host(id)? {
                return self.join(id, client, message, output);
            }
            if Instant::now() > until {
                return Err(DriveError::SessionInUse.into());
            }
            thread::sleep(ENTER_PAUSE);
        }
    }

    /// Runs the session in this process.
    fn run_here(
        &self,
        session: OpenSession,
        message: Option<&PersonMessage>,
        mut output: Box<dyn RunOutput + '_>,
    ) -> Result<Ended> {
        let args = self.args;
        let OpenSession { opened: Opened { mut driver, differences, .. }, is_new } = session;
        driver.update_settings(Some(&self.folder), args.max_turns);
        if is_new {
            output.opened(driver.session(), true);
        }
        if !differences.is_empty() {
            let reported = narrate::differences(differences.len());
            let flags = team_and_store_flags(&args.team.file, &args.store);
            let details = format!("tertulia replay {}{flags}", driver.session());
            output.remark(&format!("{reported} (run `{details}` for details)"));
        }
        if let (Some(message), false) = (message, is_new) {
            check_speaker(driver.machine(), args, message)?;
        }
        let broadcast = Arc::new(Broadcast::default());
        // Without it, nobody can join this run.
        let place = self.chat.place(driver.session());
        let host = place
            .and_then(|place| Host::start(&place, &broadcast, &driver, self.client_chat()).ok());
        let interrupt = Interrupt::watch(driver.handle(), stop_turn);
        let before = driver.entries().len();
        ask(&mut driver, message, args, &mut *output, &broadcast)?;
        let waiting = driver.machine().waiting();
        output.waits(waiting.map(|one| (one.turn.clone(), one.member.into())).collect());
        let pause = output.drive(Box::new(|sink| {
            Ok(driver.run(&mut SharedSink { broadcast: &broadcast, sink })?)
        }))?;
        let is_interrupted = interrupt.happened();
        drop(interrupt);
        let results = self.show_results(driver.entries(), before, &mut *output);
        output.close().map_err(CliError::output)?;
        let waiting = driver.machine().waiting().map(|turn| turn.member.into()).collect();
        let end = End {
            args,
            session: driver.session(),
            team: driver.team(),
            entries: driver.entries(),
            waiting,
            names: &self.names,
            is_ephemeral: self.is_ephemeral,
            is_interrupted,
            only_resumes: message.is_none() && args.repeat.is_none(),
        };
        let outcome = outcome::result(&pause, &end).and_then(|()| result::check(&results));
        // Those who joined can take the session over as soon as they learn that this run has ended.
        drop(driver);
        drop(host);
        Ok(Ended { pause, is_interrupted, outcome })
    }

    /// Shows the results of the asks that have ended with the entries from this index on.
    fn show_results(
        &self,
        entries: &[Entry],
        first: usize,
        output: &mut dyn RunOutput,
    ) -> Vec<AskResult> {
        let results = result::ended(entries, first);
        results.iter().for_each(|result| output.result(result, &self.names));
        results
    }

    /// Returns the chat as it is for a process that joins.
    fn client_chat(&self) -> ChatSession {
        ChatSession { speaker: None, ..self.chat.clone() }
    }
}

fn resume_flags(args: &RunArgs, session: &SessionId) -> String {
    let session = short_session(session);
    format!("{} --session {session}", team_and_store_flags(&args.team.file, &args.store))
}

/// Returns the store and the session to resume. A new session is created with the first message, not here.
fn look_for(
    session: &SessionArg,
    location: &StoreLocation,
    folder: &str,
) -> Result<(Option<SessionStore>, Option<SessionId>)> {
    if !session.resume && session.session.is_none() {
        let store = match open_session::new_id(session)? {
            Some(_) => location.open_existing()?,
            None => None,
        };
        return Ok((store, None));
    }
    let store = open_session::store_to_resume(session, location)?;
    let id = open_session::resumed(session, &store, folder)?;
    Ok((Some(store), id))
}

fn session_arg(args: &RunArgs) -> SessionArg {
    let SessionArg { session, new, resume } = &args.session;
    // `--repeat` needs an existing session.
    let resume = *resume || args.repeat.is_some();
    SessionArg { session: session.clone(), new: new.clone(), resume }
}

/// Returns the text to send; `None` if a turn is retried or the agents only continue.
fn text_to_say(args: &RunArgs, streams: &mut Streams<'_>) -> Result<Option<String>> {
    let text = match args.text.as_deref() {
        _ if args.repeat.is_some() => return Ok(None),
        None if args.session.resume => return Ok(None),
        None => {
            return Err(CliError::Usage(
                "nothing to send; give a text, - for standard input, or --continue",
            ));
        }
        Some("-") => read_text("-".as_ref(), streams)?,
        Some(text) => text.to_owned(),
    };
    match text.trim().is_empty() {
        true => Err(CliError::Usage(EMPTY_MESSAGE)),
        false => Ok(Some(text)),
    }
}

/// Returns the exact name of the member who should answer, who cannot be the speaker.
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
    output: &mut dyn RunOutput,
    broadcast: &Broadcast,
) -> Result {
    let before = driver.entries().len();
    match (message, &args.repeat) {
        (Some(message), _) => {
            let sink = &mut SharedSink { broadcast, sink: &mut *output };
            let said = driver.say_message(args.speaker.as_deref(), message, sink)?;
            if let Some(note) = unknown_name_note(driver, &said, message, &working_folder()?) {
                output.note(&note, &said);
            }
        }
        (None, None) => {
            let is_stopped = driver.machine().is_stopped_at_limit();
            driver.execute(Command::Continue, &mut SharedSink { broadcast, sink: &mut *output })?;
            // No turn has started: only the command itself was stored.
            let is_idle = driver.machine().waiting().next().is_none();
            if is_idle && is_stopped {
                output.remark("continued without the stopped turn; no turns are queued");
            } else if is_idle && driver.entries().len() <= before + 1 {
                output.remark("nothing to do: no turns are queued");
            }
        }
        (None, Some(given)) => {
            let turn = turn_to_repeat(driver.session(), driver.entries(), args, given)?;
            let sink = &mut SharedSink { broadcast, sink: &mut *output };
            driver.execute(Command::Repeat(turn), sink)?;
            if driver.entries().len() == before {
                // A note has already named the reason.
                return Err(CliError::Failed(format!("turn {given} was not retried")));
            }
        }
    }
    Ok(())
}

fn turn_to_repeat(
    session: &SessionId,
    entries: &[Entry],
    args: &RunArgs,
    given: &str,
) -> Result<EntryId> {
    let found = find_entry(entries, given);
    let entry = found.map_err(|error| error.in_session(session))?;
    entry.turn_id().cloned().ok_or_else(|| {
        let given = entry.id.to_string();
        let why = format!("tertulia why {given}{}", resume_flags(args, session));
        CliError::NoTurn { given, why }
    })
}

/// Returns the message, with the addressee added if it addresses nobody, so that the log shows who was asked.
fn message_to(addressee: Option<&str>, text: String, roster: &Roster) -> PersonMessage {
    let message = PersonMessage::new(text, roster);
    let Some(name) = addressee.filter(|_| message.addresses_nobody()) else { return message };
    let is_word = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
    let text = message.text();
    let text = if is_word { format!("@{name} {text}") } else { format!("[NEXT: {name}] {text}") };
    PersonMessage::new(text, roster)
}

fn output<'w>(
    args: &RunArgs,
    streams: &'w mut Streams<'_>,
    names: &'w DisplayNames,
) -> Box<dyn RunOutput + 'w> {
    let is_terminal = streams.stdout_is_terminal && streams.stderr_is_terminal && !is_dumb();
    match args.json {
        true => Box::new(JsonLines::new(streams)),
        false if is_terminal => Box::new(LiveOutput::new(streams, names)),
        false => Box::new(PlainOutput::new(streams, names)),
    }
}

impl EventSink for Opening<'_> {
    fn on_event(&mut self, event: SessionEvent) {
        match event {
            SessionEvent::Rested => {}
            SessionEvent::Asked(question)
                if !matches!(
                    question.why,
                    PauseReason::Resumed { .. } | PauseReason::ResumedSeveral { .. }
                ) => {}
            event => self.0.on_event(event),
        }
    }
}
