//! The chat: people and agents at one table, by lines. `engine` lets the table run in its own thread and
//! says what happens; `teller` makes lines of it; `interactive` shows them on a terminal, `plain` without
//! one. What is typed goes through `keys`, `editor`, `commands` and `act` back to the engine. Called by
//! the command `chat`; `run` shares the lines.

#![expect(
    clippy::disallowed_methods,
    reason = "an edge: the terminal, files, the clock and the environment of the process come in here"
)]

mod act;
mod addressing;
mod commands;
mod complete;
mod editor;
mod engine;
mod error;
mod history;
mod interactive;
mod keys;
mod markdown;
pub mod narrate;
mod plain;
mod report;
mod screen;
mod shown;
mod signals;
mod style;
mod teller;
pub mod terminal;

use std::io::{BufRead, Write};
use std::path::PathBuf;

use tertulia_operations::decisions::unfinished_turn;
use tertulia_operations::lines::{LINE_BYTES_MAX, Lines};
use tertulia_operations::names::short_session;
use tertulia_store::{Range, SessionId, SessionStore, StoredEntry};
use tertulia_team::file::TeamFile;
use tertulia_team::{Command, Driver, EventSink, Opened, Team, Undecided};

pub use addressing::nobody_called;
use editor::Editor;
use engine::{Opening, Table, Voice};
pub use error::ChatError;
pub use history::History;
use interactive::{State, TerminalChat};
use plain::PlainChat;
pub use report::of_house;
pub use screen::Screen;
pub use shown::Shown;
pub use signals::{Interrupt, stop_turn};
pub use style::{Line, Look};
pub use teller::{Figures, PENDING_ROWS, Teller};

/// How many messages of a session that is gone on with are shown.
const RECAP: usize = 6;
/// The width of lines without a terminal: that of whoever reads them.
const ANY_WIDTH: usize = usize::MAX / 4;

/// What belongs to a chat as long as it lasts.
pub struct Room {
    pub store: SessionStore,
    pub team: Team,
    pub file: TeamFile,
    /// Where the chat runs: files that messages name are looked for there.
    pub folder: PathBuf,
    /// Where the lines that were typed are kept.
    pub home: Option<PathBuf>,
    /// The person who types; `None` where nobody said so.
    pub speaker: Option<Box<str>>,
    /// The flags that lead back here; `None` where nothing is kept.
    pub back: Option<String>,
    /// Whether somebody can be asked.
    pub attended: bool,
}

/// A session that is open.
pub struct OpenTable {
    pub opened: Opened,
    pub is_new: bool,
}

struct Begun {
    table: Table,
    /// The session, if it was begun just now.
    new: Option<SessionId>,
    voice: Voice,
    lines: Vec<Line>,
}

/// How a chat without a terminal ended.
pub enum Ended {
    /// Nothing is left open.
    Well,
    Interrupted,
    /// A person is to decide what this says.
    NeedsPerson(String),
    /// An agent could not answer, for this reason.
    AgentFailed(String),
    NotSaid(ChatError),
}

impl Room {
    /// The names of the members, each behind this sign.
    fn names(&self, sign: &str) -> Vec<String> {
        let members = self.team.members().iter();
        members.map(|one| format!("{sign}{}", one.member.name)).collect()
    }

    /// Opens the session that was forked from this one, and says so.
    fn reopen(&self, session: &SessionId, voice: &Voice) -> Result<(Table, Vec<Line>), ChatError> {
        let mut voice = voice.clone();
        let team = self.team.clone();
        let Opened { driver, undecided, .. } =
            Driver::reopen(&self.store, session, team, self.attended, &mut voice)?;
        let text = format!("Forked. You are now in session {}.", short_session(session));
        let mut lines = vec![Line::new(&text, Look::Dim)];
        lines.extend(undecided.as_ref().map(not_asked));
        Ok((Table::start(driver, &voice).map_err(ChatError::Input)?, lines))
    }

    fn open<E: From<ChatError>>(
        &self,
        voice: Voice,
        teller: &mut Teller,
        open: impl FnOnce(&mut dyn EventSink) -> Result<OpenTable, E>,
    ) -> Result<Begun, E> {
        let mut opening = Opening { voice, is_asked: false };
        let table = open(&mut opening)?;
        let Opening { voice, is_asked } = opening;
        let lines = self.greeting(&table, is_asked, teller);
        let OpenTable { opened: Opened { driver, .. }, is_new } = table;
        let new = is_new.then(|| driver.session().clone());
        let table = Table::start(driver, &voice).map_err(ChatError::Input)?;
        Ok(Begun { table, new, voice, lines })
    }

    /// Chats on a terminal; what is left to say once the screen is free again.
    pub fn on_terminal<E: From<ChatError>>(
        &self,
        stdout: &mut dyn Write,
        colour: bool,
        open: impl FnOnce(&mut dyn EventSink) -> Result<OpenTable, E>,
    ) -> Result<Option<String>, E> {
        let (voice, heard, bell) = engine::with_bell().map_err(ChatError::Input)?;
        let screen = Screen::new(stdout, colour);
        let mut teller = Teller::new(Shown::new(&self.team, &self.file), screen.size().1);
        let Begun { table, new, voice, lines } = self.open(voice, &mut teller, open)?;
        let project = self.team.project.as_deref().unwrap_or_default();
        let history = History::in_folder(self.home.clone(), project);
        let state = State::new(Editor::new(history.load()), lines);
        let chat =
            TerminalChat { room: self, table, screen, teller, voice, heard, bell, history, state };
        let ended = chat.run();
        let is_discarded = new.is_some_and(|new| self.discard_if_empty(&new));
        let session = ended?;
        Ok(match &self.back {
            _ if is_discarded => Some("Nothing was said, so no session was stored.".to_owned()),
            back => back.as_ref().map(|back| {
                let session = short_session(&session);
                format!("Resume with: tertulia chat --session {session}{back}")
            }),
        })
    }

    /// Chats without a terminal. `prompts`: a person types, and is shown where.
    pub fn by_lines<E: From<ChatError>>(
        &self,
        stdin: &mut dyn BufRead,
        stdout: &mut dyn Write,
        prompts: bool,
        open: impl FnOnce(&mut dyn EventSink) -> Result<OpenTable, E>,
    ) -> Result<Ended, E> {
        let (voice, heard) = engine::without_bell();
        let mut teller = Teller::new(Shown::new(&self.team, &self.file), ANY_WIDTH);
        let Begun { table, new, voice, lines } = self.open(voice, &mut teller, open)?;
        let lines_in = Lines::new(stdin, LINE_BYTES_MAX);
        let mut chat = PlainChat {
            room: self,
            table,
            teller,
            voice,
            heard,
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
                chat.table.send(Command::Close);
                chat.table.join();
                Err(error)
            }
        };
        if let Some(new) = new {
            self.discard_if_empty(&new);
        }
        Ok(ended?)
    }

    /// Deletes a session that was begun here, if nothing was said in it; whether it did.
    fn discard_if_empty(&self, session: &SessionId) -> bool {
        // Somebody else may have opened it since.
        let Ok(Some(_hold)) = self.store.hold(session) else { return false };
        let was_said = |stored: &StoredEntry| stored.entry.message().is_some();
        let is_empty = self
            .store
            .load(session, &Range::All)
            .is_ok_and(|entries| !entries.iter().any(was_said));
        is_empty && self.store.delete(session).is_ok()
    }

    fn greeting(&self, table: &OpenTable, is_asked: bool, teller: &mut Teller) -> Vec<Line> {
        let OpenTable { opened: Opened { driver, differences, undecided }, is_new } = table;
        let names = self.names("@").join(" ");
        let you = match (&self.speaker, self.team.members()) {
            (Some(name), members) if members.iter().filter(|one| one.is_person()).count() > 1 => {
                format!(" · you are {name}")
            }
            _ => String::new(),
        };
        let session = short_session(driver.session());
        let dim = |text: &str| [Line::new(text, Look::Dim)];
        let mut lines = teller.fitted(&dim(&format!("session {session} · {names}{you} · /help")));
        if let Some(other) = driver.project().filter(|_| driver.is_elsewhere()) {
            let text = format!("This session belongs to another project: {other}");
            lines.extend(teller.fitted(&dim(&text)));
        }
        if !is_new {
            lines.extend(teller.recap(driver.entries(), RECAP));
            // A turn that was cut off just now is asked about.
            let unfinished = unfinished_turn(driver.entries(), driver.team());
            if let Some((_, turn)) = unfinished.filter(|_| !is_asked) {
                lines.extend(teller.unfinished(turn));
            }
        }
        if !differences.is_empty() {
            lines.extend(teller.fitted(&dim(&narrate::differences(differences.len()))));
        }
        if let Some(undecided) = undecided {
            lines.extend(teller.fitted(&[not_asked(undecided)]));
        }
        lines
    }
}

/// That the message which the session was forked at is for somebody who was not asked here.
fn not_asked(undecided: &Undecided) -> Line {
    let names = undecided.members.join(", ");
    let asks = format!("Nobody was asked in this session yet; /next {names} asks.");
    Line::new(format!("The last message is for {names}. {asks}"), Look::Dim)
}
