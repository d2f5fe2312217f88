//! `tertulia run` on a terminal: answers stream in with colours and Markdown, and one line below them says who
//! works, how long, and who is next. The conversation is driven in a thread of its own; only this one writes.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use tertulia_chat::Shown;
use tertulia_chat::terminal::duration;
use tertulia_chat::{Line, Look, PENDING_ROWS, Teller, narrate};
use tertulia_operations::names::short;
use tertulia_session::{Entry, EntryId, EntryKind, TurnState};
use tertulia_team::{DriveError, Driver, EventSink, Note, Pause, SessionEvent};

use super::Watcher;
use super::asking::Asking;
use super::canvas::Canvas;
use crate::Streams;

/// How often the status line moves.
const TICK: Duration = Duration::from_millis(100);
/// How many of the members who are next are named.
const NEXT_SHOWN: usize = 3;
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

pub(super) struct Live<'a, 's> {
    canvas: Canvas<'a, 's>,
    shown: &'a Shown,
    teller: Teller,
    asking: Asking,
    queue: Vec<(EntryId, Box<str>)>,
    began: Option<Instant>,
    /// What is to be shown with the next drawing.
    lines: Vec<Line>,
}

impl<'a, 's> Live<'a, 's> {
    pub(super) fn new(streams: &'a mut Streams<'s>, shown: &'a Shown) -> Self {
        let canvas = Canvas::new(streams);
        let teller = Teller::new(shown.clone(), canvas.columns());
        Self {
            canvas,
            shown,
            teller,
            asking: Asking::default(),
            queue: Vec::new(),
            began: None,
            lines: Vec::new(),
        }
    }

    /// Something to know, in its place among what happens.
    fn note(&mut self, text: &str) {
        let lines = self.teller.aside(&Line::all_of(&short(text), Look::Dim));
        self.lines.extend(lines);
    }

    /// Keeps who runs and who waits; whether it is what a person said.
    fn follow(&mut self, entry: &Entry) -> bool {
        match &entry.kind {
            EntryKind::Message(message) => {
                self.asking.message(entry, message);
                message.speaker.as_deref().is_some_and(|speaker| !speaker.is_ai())
            }
            EntryKind::Turn(turn) => {
                let Some(id) = entry.turn_id().cloned() else { return false };
                self.queue.retain(|(waiting, _)| *waiting != id);
                match turn.state {
                    TurnState::Queued => self.queue.push((id, turn.member.clone())),
                    TurnState::Started => {
                        self.began = Some(Instant::now());
                        if let Some(question) = self.asking.passed() {
                            self.note(&question);
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
        let picture = Line::new(picture.unwrap_or(&""), Look::Dim).with(" ", Look::Plain);
        Some(picture.with(name, Look::Strong).with(&text, Look::Dim))
    }

    fn finish(&mut self) {
        self.canvas.draw(std::mem::take(&mut self.lines), Vec::new());
    }
}

impl EventSink for Live<'_, '_> {
    /// Takes in what has happened; it is shown with the next drawing.
    fn on_event(&mut self, event: SessionEvent) {
        match event {
            SessionEvent::Asked(question) => {
                if let Some(line) = self.asking.asked(&question, self.shown) {
                    self.note(&line);
                }
            }
            SessionEvent::Permission { member, request, .. } => {
                let name = self.shown.name(&member);
                self.note(&narrate::permission(name, &request.title));
            }
            // The turn itself has said so.
            SessionEvent::Note(Note::Failed { .. }) => {}
            event => {
                let is_own = matches!(&event, SessionEvent::Stored(entry) if self.follow(entry));
                let lines = self.teller.on_event(event, Instant::now());
                // What the person has just typed needs not be shown again.
                if !is_own {
                    self.lines.extend(lines);
                }
            }
        }
    }
}

impl Watcher for Live<'_, '_> {
    fn remark(&mut self, text: &str) {
        self.note(text);
    }

    /// Drives until nothing runs any more, and shows what happens meanwhile.
    fn drive(&mut self, driver: &mut Driver) -> Result<Pause, DriveError> {
        let waiting = driver.machine().waiting();
        self.queue = waiting.map(|one| (one.turn.clone(), one.member.into())).collect();
        let (mut sender, events) = mpsc::channel();
        let ended = std::thread::scope(|scope| {
            // The sender ends with the work, and the loop with the sender.
            let work = scope.spawn(move || driver.run(&mut sender));
            loop {
                match events.recv_timeout(TICK) {
                    Ok(event) => self.on_event(event),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                events.try_iter().for_each(|event| self.on_event(event));
                self.draw();
            }
            work.join()
        });
        match ended {
            Ok(pause) => pause,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    fn close(mut self: Box<Self>) -> io::Result<()> {
        self.finish();
        self.canvas.failure()
    }
}

impl Drop for Live<'_, '_> {
    /// Also where an error ends the run: what has happened until then is shown, and the status line goes.
    fn drop(&mut self) {
        self.finish();
    }
}
