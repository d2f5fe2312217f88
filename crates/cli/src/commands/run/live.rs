//! `tertulia run` on a terminal: shows answers as agents write them, with colours and Markdown. One line below them
//! shows who works, how long, and who is next. The session runs in its own thread; only this thread writes.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use tertulia_chat::terminal::duration;
use tertulia_chat::{DisplayNames, Line, Look, PENDING_ROWS, Presenter, Screen, result_lines};
use tertulia_session::{Entry, EntryId, TurnState};
use tertulia_team::{AskResult, EventSink, SessionEvent, StopReason};

use super::{RunOutput, Work};
use crate::Streams;
use crate::error::Result;

/// Interval of status line updates.
const TICK: Duration = Duration::from_millis(100);
/// Number of queued members that are named.
const NEXT_SHOWN: usize = 3;
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The terminal keeps its mode, so that Ctrl-C and the scroll bar work as everywhere.
pub(super) struct LiveOutput<'a> {
    screen: Screen<'a>,
    names: &'a DisplayNames,
    presenter: Presenter,
    queue: Vec<(EntryId, Box<str>)>,
    lines: Vec<Line>,
    /// The rows below the finished lines.
    below: Vec<Line>,
    failed: Option<io::Error>,
}

impl<'a> LiveOutput<'a> {
    pub(super) fn new(streams: &'a mut Streams<'_>, names: &'a DisplayNames) -> Self {
        let screen = Screen::new(streams.stdout, streams.stdout_has_colour);
        let presenter = Presenter::for_run(names.clone(), Some(screen.size().1));
        let (queue, lines, below) = (Vec::new(), Vec::new(), Vec::new());
        Self { screen, names, presenter, queue, lines, below, failed: None }
    }

    /// Updates the queue from an entry.
    fn follow(&mut self, entry: &Entry) {
        if let (Some(turn), Some(id)) = (entry.turn(), entry.turn_id()) {
            self.queue.retain(|(waiting, _)| waiting != id);
            if turn.state == TurnState::Queued {
                self.queue.push((id.clone(), turn.member.clone()));
            }
        }
    }

    fn draw(&mut self) {
        self.screen.measure();
        self.presenter.set_columns(self.screen.size().1);
        let mut below = self.presenter.pending(PENDING_ROWS);
        below.extend(self.status());
        self.show(below);
    }

    /// Adds the lines, and redraws the rows below them. Empty lines at the end are only written when something
    /// follows.
    fn show(&mut self, below: Vec<Line>) {
        let is_blank = |line: &Line| line.width() == 0;
        let count = self.lines.iter().rposition(|line| !is_blank(line)).map_or(0, |last| last + 1);
        if self.failed.is_some() {
            // The terminal was closed.
            self.lines.clear();
            self.below.clear();
            return;
        }
        if count == 0 && below == self.below {
            return;
        }
        let lines: Vec<Line> = self.lines.drain(..count).collect();
        self.failed = self.screen.draw(&lines, &below).err();
        self.below = below;
    }

    fn status(&self) -> Option<Line> {
        let (name, is_stopping) = self.presenter.running()?;
        let time = self.presenter.since()?.elapsed();
        let picture = SPINNER.get((time.as_millis() / TICK.as_millis()) as usize % SPINNER.len());
        let mut text = format!(" · {}", duration(time));
        let next: Vec<&str> =
            self.queue.iter().take(NEXT_SHOWN).map(|(_, member)| self.names.name(member)).collect();
        if is_stopping {
            text.push_str(" · stopping");
        } else if !next.is_empty() {
            let more = if self.queue.len() > next.len() { " …" } else { "" };
            text.push_str(&format!(" · then {}{more}", next.join(", ")));
        }
        let picture = Line::new(picture.unwrap_or(&""), Look::Dim).with(" ", Look::Plain);
        let name = match self.presenter.others() {
            0 => name.to_owned(),
            others => format!("{name} and {others} more"),
        };
        Some(picture.with(&name, Look::Strong).with(&text, Look::Dim))
    }

    fn finish(&mut self) {
        self.screen.measure();
        self.show(Vec::new());
    }
}

impl EventSink for LiveOutput<'_> {
    /// Handles an event; the next drawing shows it.
    fn on_event(&mut self, event: SessionEvent) {
        if let SessionEvent::Stored(entry) = &event {
            self.follow(entry);
        }
        self.lines.extend(self.presenter.on_event(event, Instant::now()));
    }
}

impl RunOutput for LiveOutput<'_> {
    fn remark(&mut self, text: &str) {
        self.lines.extend(self.presenter.remark(text));
    }

    fn waits(&mut self, turns: Vec<(EntryId, Box<str>)>) {
        self.queue = turns;
    }

    /// Does the work in another thread, and shows the events meanwhile.
    fn drive(&mut self, work: Work<'_>) -> Result<StopReason> {
        let (mut sender, events) = mpsc::channel();
        let ended = std::thread::scope(|scope| {
            // The thread drops the sender when it ends, which ends the loop.
            let work = scope.spawn(move || work(&mut sender));
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

    fn result(&mut self, result: &AskResult, names: &DisplayNames) {
        if self.lines.last().is_none_or(|last| last.width() > 0) {
            self.lines.push(Line::default());
        }
        let lines = result_lines(result, names);
        self.lines.extend(self.presenter.aside(&lines));
    }

    fn close(mut self: Box<Self>) -> io::Result<()> {
        self.finish();
        self.failed.take().map_or(Ok(()), Err)
    }
}

impl Drop for LiveOutput<'_> {
    /// Shows the remaining lines and removes the status line, also after an error.
    fn drop(&mut self) {
        self.finish();
    }
}
