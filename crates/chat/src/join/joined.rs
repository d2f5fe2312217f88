//! A chat in a session that another process runs. A thread keeps the connection to the host. Without a host, it follows
//! the log, looks for a new host, and offers to take the session over when nobody runs it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tertulia_operations::names::short;
use tertulia_session::{Entry, EntryId, Timestamp, TurnState};
use tertulia_store::{Range, SessionId, SessionStore, StoreError, now_millis};
use tertulia_team::wire::{ClientMessage, HostMessage};
use tertulia_team::{Command, SessionEvent, Team};

use super::client::{Client, ClientSender, JoinError};
use super::place::SocketPlace;
use super::unseen::{OwnSpeaker, PAGES, Unseen, unseen};
use crate::ChatSession;
use crate::engine::{ChatEvent, EventSender};
use crate::error::ChatError;
use crate::style::{Line, Look};
use crate::terminal::excerpt;

/// How often a client without a host looks at the log and for a host.
const LOOK_PAUSE: Duration = Duration::from_millis(500);
/// How often in a row nobody must run a session before it counts as free.
const FREE_LOOKS: u32 = 2;
/// The pause after an attempt to take over, in case another process is faster.
const TAKE_OVER_PAUSE: Duration = Duration::from_secs(2);
/// Maximum width of a message that was not sent.
const UNSENT_COLUMNS: usize = 300;

/// A session that another process runs.
pub(crate) struct JoinedSession {
    pub(crate) id: SessionId,
    pub(crate) link: Link,
    thread: JoinHandle<()>,
}

/// The connection to the host, if there is one. Shared with signals.
#[derive(Clone)]
pub(crate) struct Link(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    host: Option<ClientSender>,
    is_left: bool,
    /// The numbers of questions whether a turn is running, by the numbers of their requests.
    statuses: BTreeMap<u64, u64>,
    /// The request to fork the session.
    fork: Option<u64>,
}

/// A request that was not sent, with the reason.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unsent {
    #[error("not sent, because no process runs this session now; /takeover continues it here")]
    NoHost,
    #[error("not sent: {0}")]
    Join(#[from] JoinError),
}

impl Link {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn host(&self) -> Result<ClientSender, Unsent> {
        self.state().host.clone().ok_or(Unsent::NoHost)
    }

    /// Returns whether a host is connected.
    pub(crate) fn is_live(&self) -> bool {
        self.state().host.is_some()
    }

    /// Leaves the session. The host and its agents continue.
    pub(crate) fn leave(&self) {
        let host = {
            let mut state = self.state();
            state.is_left = true;
            self.0.changed.notify_all();
            state.host.take()
        };
        if let Some(host) = host {
            host.leave();
        }
    }

    fn is_left(&self) -> bool {
        self.state().is_left
    }

    /// Waits; returns whether the session was left.
    fn wait(&self, pause: Duration) -> bool {
        let waiting = self.0.changed.wait_timeout_while(self.state(), pause, |one| !one.is_left);
        waiting.unwrap_or_else(PoisonError::into_inner).0.is_left
    }

    pub(crate) fn say(&self, text: &str) -> Result<(), Unsent> {
        self.host()?.say(text)?;
        Ok(())
    }

    /// Sends a command of the chat, such as `/why`.
    pub(crate) fn command(&self, text: &str, is_fork: bool) -> Result<(), Unsent> {
        let host = self.host()?;
        // Held, so that the answer does not arrive before the number is known.
        let mut state = self.state();
        let sent = host.request(|number| ClientMessage::Command { number, text: text.into() })?;
        if is_fork {
            state.fork = Some(sent);
        }
        Ok(())
    }

    /// Sends a command that a key stands for.
    pub(crate) fn send(&self, command: Command) -> Result<(), Unsent> {
        let host = self.host()?;
        host.request(|number| match command {
            Command::Continue => ClientMessage::Continue { number },
            Command::Repeat(turn) => ClientMessage::Repeat { number, turn },
            Command::Compact => ClientMessage::Compact { number },
            Command::Permit(request, answer) => ClientMessage::Permit { number, request, answer },
            _ => ClientMessage::Cancel { number },
        })?;
        Ok(())
    }

    /// Asks whether a turn is running; `None` if there is nobody to ask.
    pub(crate) fn ask_status(&self, asked: u64) -> Option<()> {
        let host = self.host().ok()?;
        let mut state = self.state();
        let sent = host.request(|number| ClientMessage::Status { number }).ok()?;
        state.statuses.insert(sent, asked);
        Some(())
    }
}

impl JoinedSession {
    /// Starts the thread. `client` is the connection to the host; without it, the thread looks for one. `last` is the newest
    /// entry that was shown.
    pub(crate) fn start(
        chat: &ChatSession,
        id: &SessionId,
        client: Option<Client>,
        last: Option<EntryId>,
        sender: &EventSender,
    ) -> std::io::Result<Self> {
        let link = Link(Arc::default());
        if let Some(client) = &client {
            link.state().host = Some(client.sender().clone());
        }
        let keeper = Keeper {
            store: chat.store.clone(),
            session: id.clone(),
            place: chat.place(id),
            folder: chat.folder.clone(),
            speaker: chat.speaker.clone(),
            team: chat.team.clone(),
            takes_over: chat.takes_over,
            sender: sender.clone(),
            link: link.clone(),
            last,
            is_free_told: false,
            refusal: None,
        };
        let thread = thread::Builder::new()
            .name("tertulia-joined".to_owned())
            .spawn(move || keeper.run(client))?;
        Ok(Self { id: id.clone(), link, thread })
    }

    /// Waits for the thread of a session that was left.
    pub(crate) fn join(self) {
        let _ = self.thread.join();
    }
}

struct Keeper {
    store: SessionStore,
    session: SessionId,
    place: Option<SocketPlace>,
    folder: PathBuf,
    speaker: Option<Box<str>>,
    team: Team,
    /// Whether the person wants to take the session over without being asked.
    takes_over: bool,
    sender: EventSender,
    link: Link,
    /// The newest entry that was shown.
    last: Option<EntryId>,
    is_free_told: bool,
    /// The last reason why a host refused this client.
    refusal: Option<String>,
}

impl Keeper {
    fn run(mut self, mut client: Option<Client>) {
        if let Some(client) = &client {
            self.show_running(&client.running, &[]);
        }
        while !self.link.is_left() {
            client = match client {
                Some(client) => {
                    self.live(client);
                    None
                }
                None => self.follow(),
            };
        }
        self.sender.send(ChatEvent::Ended(Ok(())));
    }

    /// Passes on the messages of the host until the connection ends.
    fn live(&mut self, mut client: Client) {
        let (process, requests) = (client.process, client.sender().clone());
        let ended = loop {
            match client.receive() {
                Ok(message) => {
                    if let HostMessage::Stored { entry } = &message
                        && let Some(said) = entry.0.message()
                    {
                        requests.was_stored(said, &self.own_speaker());
                    }
                    self.pass(message);
                }
                Err(error) => break error,
            }
        };
        {
            let mut state = self.link.state();
            (state.host, state.fork) = (None, None);
            state.statuses.clear();
            if state.is_left {
                return;
            }
        }
        self.is_free_told = false;
        match ended {
            // The host still executes what it received, and the log shows it.
            JoinError::Behind => self.note("This chat fell behind and joins again."),
            error => {
                let new = self.catch_up(None);
                self.sender.send(ChatEvent::HostLost);
                self.tell_unsent(&requests, &new);
                match error {
                    JoinError::HostEnded => self.note(&format!(
                        "The process that ran this session has ended (process {process})."
                    )),
                    error => self.sender.send_error(&error),
                }
            }
        }
    }

    fn own_speaker(&self) -> OwnSpeaker<'_> {
        OwnSpeaker { team: &self.team, named: self.speaker.as_deref() }
    }

    /// Reports messages that the host neither confirmed nor stored.
    fn tell_unsent(&self, requests: &ClientSender, new: &[Entry]) {
        for message in new.iter().filter_map(Entry::message) {
            requests.was_stored(message, &self.own_speaker());
        }
        for unsent in requests.unconfirmed() {
            let text = excerpt(&unsent, UNSENT_COLUMNS);
            self.sender.send_error(&format!("This message was not sent: {text}"));
        }
    }

    fn pass(&mut self, message: HostMessage) {
        let message = match message.into_event() {
            Ok(event) => {
                if let SessionEvent::Stored(entry) = &event {
                    self.last = Some(entry.id.clone());
                }
                return self.sender.send(ChatEvent::Session(event));
            }
            Err(message) => message,
        };
        match message {
            HostMessage::StoredLong { entry } => match self.store.entry(&self.session, &entry) {
                Ok(stored) => self.show(&[stored.entry]),
                Err(error) => self.sender.send_error(&error),
            },
            HostMessage::Lines { lines, .. } => {
                let lines = lines.iter().map(Line::from_wire).collect();
                self.sender.send(ChatEvent::Lines(lines));
            }
            HostMessage::Refused { number, text, is_closing: Some(true), .. } => {
                self.host_closes(number, &text);
            }
            HostMessage::Refused { number, text, needs_person, .. } => {
                let text = String::from(text);
                let is_fork = self.link.state().fork == Some(number);
                self.sender.send(match (is_fork, needs_person) {
                    (true, _) => ChatEvent::NotForked(text),
                    (false, true) => ChatEvent::NotSaid(ChatError::NeedsPerson(text)),
                    (false, false) => ChatEvent::Refused(text),
                });
            }
            HostMessage::Status { number, runs } => {
                let asked = self.link.state().statuses.remove(&number);
                if let Some(number) = asked {
                    self.sender.send(ChatEvent::Status { number, runs });
                }
            }
            HostMessage::Forked { session, .. } => match session.parse() {
                Ok(session) => self.sender.send(ChatEvent::Forked(session)),
                Err(error) => self.sender.send_error(&error),
            },
            _ => {}
        }
    }

    /// Reports a request that the host refused because it is closing the session.
    fn host_closes(&self, request: u64, why: &str) {
        let unsent = self.link.host().ok().and_then(|host| host.unconfirmed_text(request));
        self.sender.send(match unsent {
            // The input line is already empty, so the text is shown.
            Some(unsent) => {
                let text = excerpt(unsent.trim(), UNSENT_COLUMNS);
                ChatEvent::NotSaid(ChatError::NeedsPerson(format!("{why}\n  {text}")))
            }
            None => ChatEvent::Closing,
        });
    }

    /// Follows the log until a host is found; `None` if the session was left.
    fn follow(&mut self) -> Option<Client> {
        let mut free_looks = 0;
        loop {
            if let Some(client) = self.look_for_host() {
                return Some(client);
            }
            self.catch_up(None);
            // A process whose connection to the server broke comes back at once.
            free_looks = if !self.is_free_told && self.is_free() { free_looks + 1 } else { 0 };
            if free_looks >= FREE_LOOKS {
                self.is_free_told = true;
                if self.takes_over {
                    self.sender.send(ChatEvent::TakeOver);
                    if self.link.wait(TAKE_OVER_PAUSE) {
                        return None;
                    }
                    self.is_free_told = false;
                } else {
                    self.note("Nobody runs this session now. /takeover continues it here.");
                }
            }
            if self.link.wait(LOOK_PAUSE) {
                return None;
            }
        }
    }

    fn look_for_host(&mut self) -> Option<Client> {
        let place = self.place.as_ref()?;
        match Client::join(place, &self.session, &self.folder, self.speaker.as_deref()) {
            Ok(client) => {
                let new = self.catch_up(client.tail.clone());
                self.show_running(&client.running, &new);
                self.refusal = None;
                self.is_free_told = false;
                {
                    let mut state = self.link.state();
                    if state.is_left {
                        return None;
                    }
                    state.host = Some(client.sender().clone());
                }
                self.note(&format!("Process {} runs this session.", client.process));
                self.sender.send(ChatEvent::HostFound);
                Some(client)
            }
            Err(JoinError::Refused(text)) => {
                let text = String::from(text);
                if self.refusal.as_ref() != Some(&text) {
                    self.sender.send_error(&JoinError::Refused(text.as_str().into()));
                    self.refusal = Some(text);
                }
                None
            }
            Err(_) => None,
        }
    }

    /// Returns whether nobody has the right to run the session.
    fn is_free(&self) -> bool {
        match self.store.holder(&self.session) {
            Ok(Some(holder)) => holder.has_ended(),
            Ok(None) => self.store.lock_session(&self.session).is_ok_and(|lock| lock.is_some()),
            Err(_) => false,
        }
    }

    /// Shows the entries up to this one, or to the newest one, that were not shown. Returns them.
    fn catch_up(&mut self, tail: Option<EntryId>) -> Vec<Entry> {
        match unseen(&self.store, &self.session, self.last.as_ref(), tail) {
            Ok(Unseen::After(new)) => {
                self.show(&new);
                new
            }
            Ok(Unseen::OtherBranch(tail)) => {
                self.last = Some(tail);
                self.note(
                    "The session continues on another branch; /why and /queue show its state.",
                );
                Vec::new()
            }
            Err(error @ StoreError::SessionNotFound(_)) => {
                // A new session without a message is deleted when its process ends.
                self.sender.send_error(&error);
                self.link.leave();
                Vec::new()
            }
            // The store may be unreachable for a while. The next look shows the entries.
            Err(_) => Vec::new(),
        }
    }

    fn show(&mut self, new: &[Entry]) {
        for entry in new {
            self.last = Some(entry.id.clone());
            self.show_past(entry.clone());
        }
    }

    /// Shows an entry that was stored some time ago, so that the time of a turn is right.
    fn show_past(&self, entry: Entry) {
        let stored = entry.timestamp.as_ref().map(Timestamp::millis);
        let ago = stored.map_or(0, |stored| now_millis().saturating_sub(stored));
        let ago = Duration::from_millis(u64::try_from(ago).unwrap_or(0));
        self.sender.send(ChatEvent::Past { entry: Arc::new(entry), ago });
    }

    /// Shows that these turns are running, unless the new entries have shown it.
    fn show_running(&self, running: &[EntryId], new: &[Entry]) {
        let is_start = |entry: &&Entry, turn: &EntryId| {
            entry.turn_id() == Some(turn)
                && entry.turn().is_some_and(|turn| turn.state == TurnState::Started)
        };
        for turn in running {
            if new.iter().any(|entry| is_start(&entry, turn)) {
                continue;
            }
            let found = PAGES.iter().find_map(|limit| {
                let range = limit.map_or(Range::All, Range::Tail);
                let read = self.store.load(&self.session, &range).ok()?;
                read.into_iter().rev().map(|one| one.entry).find(|entry| is_start(&entry, turn))
            });
            if let Some(entry) = found {
                self.show_past(entry);
            }
        }
    }

    fn note(&self, text: &str) {
        self.sender.send(ChatEvent::Lines(vec![Line::new(short(text), Look::Dim)]));
    }
}
