//! `tertulia run` on a terminal: answers stream in with colours and Markdown, and one line below them says who
//! works, how long, and who is next. The conversation is driven in a thread of its own; only this one writes.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use tertulia_chat::terminal::{duration, excerpt};
use tertulia_chat::{Line, Look, PENDING_ROWS, Shown, Teller, narrate, screen_size};
use tertulia_operations::names::short;
use tertulia_session::{Entry, EntryId, EntryKind, TurnState};
use tertulia_team::{DriveError, Driver, EventSink, Note, Pause, SessionEvent};

use super::Watcher;
use super::asking::Asking;
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
    lines: Vec<Line>,
}

impl<'a, 's> Live<'a, 's> {
    pub(super) fn new(streams: &'a mut Streams<'s>, shown: &'a Shown) -> Self {
        let canvas = Canvas::new(streams);
        let teller = Teller::new(shown.clone(), screen_size().1);
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
        self.teller.set_columns(screen_size().1);
        let mut below = self.teller.pending(PENDING_ROWS);
        below.extend(self.status());
        self.canvas.draw(std::mem::take(&mut self.lines), below);
    }

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
        self.canvas.failed.take().map_or(Ok(()), Err)
    }
}

impl Drop for Live<'_, '_> {
    /// Also where an error ends the run: what has happened until then is shown, and the status line goes.
    fn drop(&mut self) {
        self.finish();
    }
}

/// The screen of a run: lines that stay, and below them a few rows that are drawn anew. The terminal keeps its
/// mode, so that Ctrl-C and the scroll bar work as everywhere.
struct Canvas<'a, 's> {
    streams: &'a mut Streams<'s>,
    /// How wide the rows are that lie below and will be drawn anew.
    widths: Vec<usize>,
    below: Vec<Line>,
    /// Empty lines at the end, which are shown when something follows.
    blanks: usize,
    failed: Option<io::Error>,
}

impl<'a, 's> Canvas<'a, 's> {
    fn new(streams: &'a mut Streams<'s>) -> Self {
        Self { streams, widths: Vec::new(), below: Vec::new(), blanks: 0, failed: None }
    }

    /// Adds lines that stay, and draws anew what lies below them.
    fn draw(&mut self, mut lines: Vec<Line>, below: Vec<Line>) {
        if self.failed.is_some() || (lines.is_empty() && below == self.below) {
            return;
        }
        let (_, columns) = screen_size();
        let colour = self.streams.stdout_has_colour;
        let mut text = self.erased(columns);
        let is_blank = |line: &Line| line.width() == 0;
        let behind = lines.iter().rev().take_while(|line| is_blank(line)).count();
        lines.truncate(lines.len() - behind);
        if !lines.is_empty() {
            text.push_str(&"\r\n".repeat(std::mem::take(&mut self.blanks)));
        }
        self.blanks += behind;
        for line in &lines {
            text.push_str(&line.painted(colour));
            text.push_str("\r\n");
        }
        self.widths.clear();
        for (place, line) in below.iter().enumerate() {
            // A row that the terminal breaks would be two when it is erased.
            let room = columns.saturating_sub(1).max(1);
            let cut =
                (line.width() > room).then(|| Line::new(excerpt(&line.text(), room), Look::Dim));
            let line = cut.as_ref().unwrap_or(line);
            text.push_str(if place == 0 { "" } else { "\r\n" });
            text.push_str(&line.painted(colour));
            self.widths.push(line.width());
        }
        self.below = below;
        let out = &mut self.streams.stdout;
        self.failed = out.write_all(text.as_bytes()).and_then(|()| out.flush()).err();
    }

    /// What lies below is taken away. The cursor stands at the end of its last row; where the screen has become
    /// narrow, the terminal has broken the rows.
    fn erased(&self, columns: usize) -> String {
        let Some((last, before)) = self.widths.split_last() else { return String::new() };
        let columns = columns.max(1);
        let rows = before.iter().map(|width| width.div_ceil(columns).max(1)).sum::<usize>();
        match rows + last.saturating_sub(1) / columns {
            0 => "\r\x1b[J".to_owned(),
            above => format!("\r\x1b[{above}A\x1b[J"),
        }
    }
}
