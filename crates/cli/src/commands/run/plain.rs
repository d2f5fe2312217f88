//! The output of `run` in a pipe: progress on standard error, answers on standard output. On a terminal, control
//! characters of agents are made visible.

use std::io::{self, Write};
use std::time::Instant;

use tertulia_chat::terminal::visible;
use tertulia_chat::{DisplayNames, Line, Presenter, result_lines};
use tertulia_session::Entry;
use tertulia_team::{AskResult, EventSink, SessionEvent, StopReason, is_partial};

use super::{RunOutput, Work};
use crate::Streams;
use crate::error::Result;

pub(super) struct PlainOutput<'a, 's> {
    streams: &'a mut Streams<'s>,
    presenter: Presenter,
    answers: usize,
    failed: Option<io::Error>,
}

impl EventSink for PlainOutput<'_, '_> {
    fn on_event(&mut self, event: SessionEvent) {
        if let SessionEvent::Stored(entry) = &event {
            self.answer(entry);
        }
        let lines = self.presenter.on_event(event, Instant::now());
        self.say(&lines);
    }
}

impl RunOutput for PlainOutput<'_, '_> {
    fn remark(&mut self, text: &str) {
        let lines = self.presenter.remark(text);
        self.say(&lines);
    }

    fn drive(&mut self, work: Work<'_>) -> Result<StopReason> {
        work(self)
    }

    fn result(&mut self, result: &AskResult, names: &DisplayNames) {
        let blank = if self.answers > 0 { "\n" } else { "" };
        let lines = result_lines(result, names);
        let text: String = lines.iter().map(|line| line.text() + "\n").collect();
        let text = if self.streams.stdout_is_terminal { visible(&text) } else { text.into() };
        self.answers += 1;
        if self.failed.is_none() {
            let out = &mut self.streams.stdout;
            self.failed = write!(out, "{blank}{text}").and_then(|()| out.flush()).err();
        }
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        self.failed.map_or(Ok(()), Err)
    }
}

impl<'a, 's> PlainOutput<'a, 's> {
    pub(super) fn new(streams: &'a mut Streams<'s>, names: &DisplayNames) -> Self {
        let presenter = Presenter::for_run(names.clone(), None);
        Self { streams, presenter, answers: 0, failed: None }
    }

    /// Writes an agent's answer.
    fn answer(&mut self, entry: &Entry) {
        let Some(message) = entry.message() else { return };
        let Some(speaker) = message.speaker.as_deref().filter(|speaker| speaker.is_ai()) else {
            return;
        };
        let blank = if self.answers > 0 { "\n" } else { "" };
        let cut = if is_partial(entry) { " (cut off)" } else { "" };
        let name = visible(&speaker.role_name).into_owned();
        let text = message.text();
        let text = if self.streams.stdout_is_terminal { visible(&text) } else { text };
        self.answers += 1;
        if self.failed.is_none() {
            let out = &mut self.streams.stdout;
            let end = if text.ends_with('\n') { "" } else { "\n" };
            let written =
                write!(out, "{blank}{name}{cut}:\n{text}{end}").and_then(|()| out.flush());
            self.failed = written.err();
        }
    }

    fn say(&mut self, lines: &[Line]) {
        for line in lines {
            // If standard error is closed, nobody can read it.
            let _ = writeln!(self.streams.notes(), "tertulia: {}", line.text());
        }
    }
}
