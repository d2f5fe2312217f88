//! The chat. `engine` runs the session in its own thread and sends events; `presenter` turns events into lines;
//! `interactive` shows them on a terminal, `plain` without one. Input goes through `keys`, `editor`, `commands` and
//! `dispatch` back to the engine. Used by the command `chat`; `run` shares the presenter.

#![expect(
    clippy::disallowed_methods,
    reason = "an outer layer: it reads the terminal, files, the clock and the environment"
)]

mod addressing;
mod asking;
mod commands;
mod complete;
mod dispatch;
mod display_names;
mod editor;
mod engine;
mod error;
mod history;
mod interactive;
pub mod join;
mod keys;
mod markdown;
pub mod narrate;
mod opening;
mod plain;
mod presenter;
mod report;
mod screen;
mod signals;
mod style;
pub mod terminal;

use std::io::{BufRead, Write};
use std::path::PathBuf;

use tertulia_operations::decisions::unfinished_turn;
use tertulia_operations::lines::{LINE_BYTES_MAX, Lines};
use tertulia_operations::names::short_session;
use tertulia_store::{Range, SessionId, SessionStore, StoredEntry};
use tertulia_team::file::TeamFile;
use tertulia_team::{Command, EventSink, Opened, Team, Undecided};

pub use addressing::unknown_name_note;
pub use asking::{ask_command, result_lines};
pub use display_names::DisplayNames;
use editor::Editor;
use engine::{EventSender, LiveSession, Opening, Session};
pub use error::ChatError;
pub use history::History;
use interactive::{State, TerminalChat};
use join::SocketPlace;
use plain::PlainChat;
pub use presenter::{Figures, PENDING_ROWS, Presenter};
pub use report::built_in_note;
pub use screen::Screen;
pub use signals::{Interrupt, SessionHandle, stop_turn};
pub use style::{Line, Look};

/// Number of messages shown when a session is resumed.
const RECAP: usize = 6;
/// The width of lines without a terminal: effectively unlimited.
const ANY_WIDTH: usize = usize::MAX / 4;

/// The settings and resources of one chat.
#[derive(Clone)]
pub struct ChatSession {
    pub store: SessionStore,
    pub team: Team,
    pub file: TeamFile,
    /// The working folder. Files that messages mention are looked up there.
    pub folder: PathBuf,
    /// The data folder, for the input history and for the sockets on which other processes join.
    pub home: Option<PathBuf>,
    /// The person who types; `None` if `--as` was not given.
    pub speaker: Option<Box<str>>,
    /// The flags of the suggested resume command; `None` if the store is in memory.
    pub back: Option<String>,
    /// Whether a person can answer permission requests.
    pub attended: bool,
    /// Whether to run the session here, without a question, when the process that runs it has ended.
    pub takes_over: bool,
}

/// An open session.
pub struct OpenSession {
    pub opened: Opened,
    pub is_new: bool,
}

/// A session to chat in.
pub enum Entered {
    /// This process runs it.
    Own(Box<OpenSession>),
    /// Another process runs it.
    InUse(SessionId),
}

impl From<OpenSession> for Entered {
    fn from(session: OpenSession) -> Self {
        Self::Own(Box::new(session))
    }
}

struct StartedChat {
    session: Session,
    /// The session, if it was just created.
    new: Option<SessionId>,
    sender: EventSender,
    lines: Vec<Line>,
}

/// How a chat without a terminal ended.
pub enum Ended {
    /// No question or failure is left.
    Normally,
    Interrupted,
    /// A person needs to decide this.
    NeedsPerson(String),
    /// An agent could not answer, with the reason.
    AgentFailed(String),
    NotSaid(ChatError),
}

impl ChatSession {
    /// Returns the names of the members, each with this prefix.
    fn names(&self, sign: &str) -> Vec<String> {
        let members = self.team.members().iter();
        members.map(|one| format!("{sign}{}", one.member.name)).collect()
    }

    /// Returns the place of the socket on which other processes join a session.
    pub fn place(&self, session: &SessionId) -> Option<SocketPlace> {
        SocketPlace::new(&self.store, session, self.home.as_deref())
    }

    fn open<E: From<ChatError>>(
        &self,
        sender: EventSender,
        presenter: &mut Presenter,
        follows: bool,
        open: impl FnOnce(&mut dyn EventSink) -> Result<Entered, E>,
    ) -> Result<StartedChat, E> {
        let mut opening = Opening { sender, is_asked: false };
        let session = open(&mut opening)?;
        let Opening { sender, is_asked } = opening;
        let session = match session {
            Entered::Own(session) => *session,
            Entered::InUse(id) => return Ok(self.join(&id, sender, presenter, follows)?),
        };
        let lines = self.greeting(&session, is_asked, presenter);
        let OpenSession { opened: Opened { driver, .. }, is_new } = session;
        let new = is_new.then(|| driver.session().clone());
        let session = LiveSession::start(driver, self, &sender).map_err(ChatError::Input)?;
        Ok(StartedChat { session: Session::Own(session), new, sender, lines })
    }

    /// Runs the chat on a terminal. Returns the line to print after the screen is restored.
    pub fn on_terminal<E: From<ChatError>>(
        &self,
        stdout: &mut dyn Write,
        colour: bool,
        open: impl FnOnce(&mut dyn EventSink) -> Result<Entered, E>,
    ) -> Result<Option<String>, E> {
        let (sender, events, waker) = engine::with_waker().map_err(ChatError::Input)?;
        let screen = Screen::new(stdout, colour);
        let mut presenter =
            Presenter::new(DisplayNames::new(&self.team, &self.file), screen.size().1);
        let StartedChat { session, new, sender, lines } =
            self.open(sender, &mut presenter, true, open)?;
        let project = self.team.project.as_deref().unwrap_or_default();
        let history = History::in_folder(self.home.clone(), project);
        let state = State::new(Editor::new(history.load()), lines);
        let chat = TerminalChat {
            chat: self,
            session,
            screen,
            presenter,
            sender,
            events,
            waker,
            history,
            state,
        };
        let ended = chat.run();
        let is_discarded = new.is_some_and(|new| self.discard_if_empty(&new));
        let session = ended?;
        Ok(match &self.back {
            _ if is_discarded => Some("No message was sent, so no session was stored.".to_owned()),
            back => back.as_ref().map(|back| {
                let session = short_session(&session);
                format!("Resume with: tertulia chat --session {session}{back}")
            }),
        })
    }

    /// Runs the chat without a terminal. `prompts`: whether to print a prompt, because a person types.
    pub fn by_lines<E: From<ChatError>>(
        &self,
        stdin: &mut dyn BufRead,
        stdout: &mut dyn Write,
        prompts: bool,
        open: impl FnOnce(&mut dyn EventSink) -> Result<Entered, E>,
    ) -> Result<Ended, E> {
        let (sender, events) = engine::without_waker();
        let mut presenter = Presenter::new(DisplayNames::new(&self.team, &self.file), ANY_WIDTH);
        let StartedChat { session, new, sender, lines } =
            self.open(sender, &mut presenter, self.takes_over, open)?;
        let lines_in = Lines::new(stdin, LINE_BYTES_MAX);
        let mut chat = PlainChat {
            chat: self,
            session,
            presenter,
            sender,
            events,
            lines_in,
            stdout,
            prompts,
            asked: 0,
            is_over: false,
            refused: None,
            not_said: None,
        };
        let ended = match chat.print(&lines) {
            Ok(()) => chat.run(),
            Err(error) => {
                chat.session.send(Command::Close);
                chat.session.join();
                Err(error)
            }
        };
        if let Some(new) = new {
            self.discard_if_empty(&new);
        }
        Ok(ended?)
    }

    /// Deletes a session that was created here, if it has no messages. Returns whether it was deleted.
    fn discard_if_empty(&self, session: &SessionId) -> bool {
        // Another process may have opened the session since.
        let Ok(Some(_hold)) = self.store.lock_session(session) else { return false };
        let was_said = |stored: &StoredEntry| stored.entry.message().is_some();
        let is_empty = self
            .store
            .load(session, &Range::All)
            .is_ok_and(|entries| !entries.iter().any(was_said));
        is_empty && self.store.delete(session).is_ok()
    }

    fn greeting(
        &self,
        session: &OpenSession,
        is_asked: bool,
        presenter: &mut Presenter,
    ) -> Vec<Line> {
        let OpenSession { opened: Opened { driver, differences, undecided }, is_new } = session;
        let dim = |text: &str| [Line::new(text, Look::Dim)];
        let mut lines = self.title(driver.session(), presenter);
        if let Some(other) = driver.project().filter(|_| driver.is_other_project()) {
            let text = format!("This session belongs to another project: {other}");
            lines.extend(presenter.fitted(&dim(&text)));
        }
        if !is_new {
            lines.extend(presenter.recap(driver.entries(), RECAP));
            // If the turn was interrupted just now, a question about it follows.
            let unfinished = unfinished_turn(driver.entries(), driver.team());
            if let Some((_, turn)) = unfinished.filter(|_| !is_asked) {
                lines.extend(presenter.unfinished(turn));
            }
        }
        if !differences.is_empty() {
            lines.extend(presenter.fitted(&dim(&narrate::differences(differences.len()))));
        }
        if let Some(undecided) = undecided {
            lines.extend(presenter.fitted(&[not_asked(undecided)]));
        }
        lines
    }

    /// Returns the first line of a chat.
    fn title(&self, session: &SessionId, presenter: &Presenter) -> Vec<Line> {
        let names = self.names("@").join(" ");
        let you = match (&self.speaker, self.team.members()) {
            (Some(name), members) if members.iter().filter(|one| one.is_person()).count() > 1 => {
                format!(" · you are {name}")
            }
            _ => String::new(),
        };
        let session = short_session(session);
        let title = format!("session {session} · {names}{you} · /help");
        presenter.fitted(&[Line::new(&title, Look::Dim)])
    }
}

/// Returns the line that says who was not asked, if the session was forked at a message to somebody.
fn not_asked(undecided: &Undecided) -> Line {
    let names = undecided.members.join(", ");
    let asks = format!("Nobody has been asked in this session yet; to ask, type /next {names}.");
    Line::new(format!("The last message is for {names}. {asks}"), Look::Dim)
}
