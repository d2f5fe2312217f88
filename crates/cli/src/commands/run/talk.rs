//! What happens, for people: progress on standard error, answers on standard output. All of it comes from
//! agents, so nothing goes to a terminal as it is.

use std::io::{self, Write};
use std::time::Instant;

use tertulia_chat::terminal::visible;
use tertulia_chat::{Line, Shown, Teller};
use tertulia_session::Entry;
use tertulia_team::{DriveError, Driver, EventSink, Pause, SessionEvent, is_partial};

use super::Watcher;
use crate::Streams;

pub(super) struct Talk<'a, 's> {
    streams: &'a mut Streams<'s>,
    teller: Teller,
    answers: usize,
    failed: Option<io::Error>,
}

impl EventSink for Talk<'_, '_> {
    fn on_event(&mut self, event: SessionEvent) {
        if let SessionEvent::Stored(entry) = &event {
            self.answer(entry);
        }
        let lines = self.teller.on_event(event, Instant::now());
        self.say(&lines);
    }
}

impl Watcher for Talk<'_, '_> {
    fn remark(&mut self, text: &str) {
        let lines = self.teller.remark(text);
        self.say(&lines);
    }

    fn drive(&mut self, driver: &mut Driver) -> Result<Pause, DriveError> {
        driver.run(self)
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        self.failed.map_or(Ok(()), Err)
    }
}

impl<'a, 's> Talk<'a, 's> {
    pub(super) fn new(streams: &'a mut Streams<'s>, shown: &Shown) -> Self {
        let teller = Teller::of_run(shown.clone(), None);
        Self { streams, teller, answers: 0, failed: None }
    }

    /// Writes what an agent said, as it is.
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
            // With standard error gone there is nobody left to tell.
            let _ = writeln!(self.streams.notes(), "tertulia: {}", line.text());
        }
    }
}
