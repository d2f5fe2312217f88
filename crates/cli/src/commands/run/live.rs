//! `tertulia run` on a terminal: answers stream in with colours and Markdown, and one line below them says who
//! works, how long, and who is next. The conversation is driven in a thread of its own; only this one writes.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use tertulia_chat::Shown;
use tertulia_chat::terminal::{counted, duration};
use tertulia_chat::{Heard, Line, Look, PENDING_ROWS, Teller, Voice, without_bell};
use tertulia_operations::names::{short, turn_of};
use tertulia_session::{Entry, EntryId, EntryKind, TurnState};
use tertulia_store::SessionId;
use tertulia_team::file::TeamFile;
use tertulia_team::{Audience, DriveError, Driver, Note, Pause, TableEvent, Team};

use super::asking::Asking;
use super::canvas::Canvas;
use crate::Streams;

/// How often the status line moves.
const TICK: Duration = Duration::from_millis(100);
/// How many of the members who are next are named.
const NEXT_SHOWN: usize = 3;
/// The frames of the spinner.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Shows what happens on a terminal.
pub(super) struct Live<'a, 's> {
    canvas: Canvas<'a, 's>,
    shown: &'a Shown,
    teller: Teller,
    voice: Voice,
    heard: Receiver<Heard>,
    asking: Asking,
    /// The turns that wait.
    queue: Vec<(EntryId, Box<str>)>,
    /// When the turn that runs began.
    began: Option<Instant>,
    /// What is to be shown with the next drawing.
    lines: Vec<Line>,
    is_over: bool,
}

impl<'a, 's> Live<'a, 's> {
    pub(super) fn new(
        streams: &'a mut Streams<'s>,
        team: &Team,
        file: &TeamFile,
        shown: &'a Shown,
    ) -> Self {
        let canvas = Canvas::new(streams);
        let teller = Teller::new(team, file, canvas.columns());
        let (voice, heard) = without_bell();
        let (asking, queue, lines) = (Asking::default(), Vec::new(), Vec::new());
        Self {
            canvas,
            shown,
            teller,
            voice,
            heard,
            asking,
            queue,
            began: None,
            lines,
            is_over: false,
        }
    }

    pub(super) fn opened(&mut self, session: &SessionId, is_new: bool) {
        match is_new {
            true => self.note(&format!("session {session}")),
            false => self.note(&format!("resuming session {session}")),
        }
    }

    pub(super) fn differ(&mut self, session: &str, differences: usize) {
        let what = counted(differences as u64, "past decision", "past decisions");
        self.note(&format!(
            "{what} would differ with the current team file (run `tertulia replay {session}` for details)"
        ));
    }

    /// Something to know, in its place among what happens.
    pub(super) fn note(&mut self, text: &str) {
        self.catch_up();
        self.remark(text);
    }

    fn remark(&mut self, text: &str) {
        let lines = self.teller.aside(&Line::all_of(&short(text), Look::Dim));
        self.lines.extend(lines);
    }

    pub(super) fn hear(&mut self, event: &TableEvent<'_>) {
        self.voice.hear(event);
    }

    /// Drives until nothing runs any more, and shows what happens meanwhile.
    pub(super) fn drive(&mut self, driver: &mut Driver) -> Result<Pause, DriveError> {
        self.catch_up();
        let waiting = driver.machine().waiting();
        self.queue = waiting.map(|one| (one.turn.clone(), one.member.into())).collect();
        let mut voice = self.voice.clone();
        let ended = std::thread::scope(|scope| {
            let work = scope.spawn(move || {
                let pause = driver.run(&mut voice);
                voice.say(Heard::Ended(Ok(())));
                pause
            });
            while !self.is_over && !work.is_finished() {
                match self.heard.recv_timeout(TICK) {
                    Ok(heard) => self.take(heard),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                self.catch_up();
                self.draw();
            }
            work.join()
        });
        self.catch_up();
        match ended {
            Ok(pause) => pause,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// Takes in what has happened so far.
    fn catch_up(&mut self) {
        while let Ok(heard) = self.heard.try_recv() {
            self.take(heard);
        }
    }

    fn take(&mut self, heard: Heard) {
        match heard {
            Heard::Asked(question) => {
                if let Some(line) = self.asking.asked(&question, self.shown) {
                    self.remark(&line);
                }
            }
            Heard::Permission { member, request, .. } => {
                let name = self.shown.name(&member);
                self.remark(&format!("{name} asks for permission: {}", request.title));
            }
            // The turn itself has said so.
            Heard::Note(Note::Failed { .. }) => {}
            Heard::Ended(_) => self.is_over = true,
            heard => {
                let is_own = matches!(&heard, Heard::Stored(entry) if self.follow(entry));
                let lines = self.teller.hear(heard, Instant::now());
                // What the person has just typed needs not be shown again.
                if !is_own {
                    self.lines.extend(lines);
                }
            }
        }
    }

    /// Keeps who runs and who waits; whether it is what a person said.
    fn follow(&mut self, entry: &Entry) -> bool {
        match &entry.kind {
            EntryKind::Message(message) => {
                self.asking.message(entry, message);
                message.speaker.as_deref().is_some_and(|speaker| !speaker.is_ai())
            }
            EntryKind::Turn(turn) => {
                let Some(id) = turn_of(entry) else { return false };
                self.queue.retain(|(waiting, _)| *waiting != id);
                match turn.state {
                    TurnState::Queued => self.queue.push((id, turn.member.clone())),
                    TurnState::Started => {
                        self.began = Some(Instant::now());
                        if let Some(question) = self.asking.passed() {
                            self.remark(&question);
                        }
                    }
                    _ => {}
                }
                false
            }
            _ => false,
        }
    }

    fn draw(&mut self) {
        self.teller.set_columns(self.canvas.columns());
        let mut below = self.teller.pending(PENDING_ROWS);
        below.extend(self.status());
        self.canvas.draw(std::mem::take(&mut self.lines), below);
    }

    /// Who works, how long, and who is next.
    fn status(&self) -> Option<Line> {
        let (name, is_stopping) = self.teller.running()?;
        let time = self.began?.elapsed();
        let picture = SPINNER.get((time.as_millis() / TICK.as_millis()) as usize % SPINNER.len());
        let mut text = format!(" · {}", duration(time));
        let next: Vec<&str> =
            self.queue.iter().take(NEXT_SHOWN).map(|(_, member)| self.shown.name(member)).collect();
        if is_stopping {
            text.push_str(" · stopping");
        } else if !next.is_empty() {
            let more = if self.queue.len() > next.len() { " …" } else { "" };
            text.push_str(&format!(" · then {}{more}", next.join(", ")));
        }
        let picture = Line::of(picture.unwrap_or(&""), Look::Dim).with(" ", Look::Plain);
        Some(picture.with(name, Look::Strong).with(&text, Look::Dim))
    }

    /// The end: nothing lies below any more. What could not be written is told.
    pub(super) fn close(mut self) -> io::Result<()> {
        self.finish();
        self.canvas.failure()
    }

    fn finish(&mut self) {
        self.catch_up();
        self.canvas.draw(std::mem::take(&mut self.lines), Vec::new());
    }
}

impl Drop for Live<'_, '_> {
    /// Also where an error ends the run: what has happened until then is shown, and the status line goes.
    fn drop(&mut self) {
        self.finish();
    }
}
