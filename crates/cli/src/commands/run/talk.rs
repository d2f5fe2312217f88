//! What happens, for people: progress on standard error, answers on standard output. All of it comes from
//! agents, so nothing goes to a terminal as it is.

use std::collections::HashSet;
use std::io::{self, Write};
use std::time::Instant;

use tertulia_chat::terminal::{excerpt, visible};
use tertulia_chat::{Figures, Shown, narrate};
use tertulia_operations::names::short;
use tertulia_session::{
    Entry, EntryId, EntryKind, Message, Turn, TurnActivity, TurnEvent, TurnState,
};
use tertulia_team::{DriveError, Driver, EventSink, Note, Pause, SessionEvent, is_partial};

use super::Watcher;
use super::asking::Asking;
use crate::Streams;

/// How much is shown of what an agent did.
const LINE_COLUMNS: usize = 88;
/// How much of what went wrong is shown.
const TROUBLE_COLUMNS: usize = 400;

pub(super) struct Talk<'a, 's> {
    streams: &'a mut Streams<'s>,
    shown: &'a Shown,
    began: Instant,
    figures: Figures,
    answers: usize,
    /// The turns that a person cancelled. What an agent says of its own end is no failure then.
    cancelled: HashSet<EntryId>,
    /// The turns that asked to be allowed something. What they end with says what to do.
    begging: HashSet<EntryId>,
    asking: Asking,
    failed: Option<io::Error>,
}

impl EventSink for Talk<'_, '_> {
    fn on_event(&mut self, event: SessionEvent) {
        match event {
            SessionEvent::Stored(entry) => self.stored(&entry),
            SessionEvent::Note(note) => self.note(&note),
            SessionEvent::Asked(question) => {
                if let Some(line) = self.asking.asked(&question, self.shown) {
                    self.say(&line);
                }
            }
            SessionEvent::Refused(error) => self.say(&error.to_string()),
            SessionEvent::Permission { member, request, .. } => {
                let name = self.shown.name(&member);
                self.say(&narrate::permission(name, &request.title));
            }
            SessionEvent::Fed { .. }
            | SessionEvent::Text { .. }
            | SessionEvent::TextEnd { .. }
            | SessionEvent::TextWithdrawn { .. }
            | SessionEvent::Rested => {}
        }
    }
}

impl Watcher for Talk<'_, '_> {
    fn remark(&mut self, text: &str) {
        self.say(text);
    }

    fn drive(&mut self, driver: &mut Driver) -> Result<Pause, DriveError> {
        driver.run(self)
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        self.failed.map_or(Ok(()), Err)
    }
}

impl<'a, 's> Talk<'a, 's> {
    pub(super) fn new(streams: &'a mut Streams<'s>, shown: &'a Shown) -> Self {
        Self {
            streams,
            shown,
            began: Instant::now(),
            figures: Figures::default(),
            answers: 0,
            cancelled: HashSet::new(),
            begging: HashSet::new(),
            asking: Asking::default(),
            failed: None,
        }
    }

    fn note(&mut self, note: &Note) {
        match note {
            // What it had said until then, and no late answer.
            Note::Late { turn, entry: Some(_) } if self.cancelled.contains(turn) => {}
            // The turn itself has said so.
            Note::Failed { .. } => {}
            other => self.say(&short(&self.shown.note(other))),
        }
    }

    fn stored(&mut self, entry: &Entry) {
        match &entry.kind {
            EntryKind::Message(message) => self.message(entry, message),
            EntryKind::Turn(turn) => self.turn(entry, turn),
            EntryKind::Usage(usage) => self.figures.add(usage),
            EntryKind::TurnEvent(event) => self.turn_event(event),
            EntryKind::CompactionSummary(minutes) if minutes.member.is_none() => {
                self.say(&narrate::summarised(minutes.covered_count));
            }
            _ => {}
        }
    }

    fn message(&mut self, entry: &Entry, message: &Message) {
        self.asking.message(entry, message);
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

    fn turn(&mut self, entry: &Entry, turn: &Turn) {
        if self.shown.is_person(&turn.member) != Some(false) {
            return;
        }
        let name = self.shown.name(&turn.member);
        match turn.state {
            TurnState::Started => {
                if let Some(question) = self.asking.passed() {
                    self.say(&question);
                }
                self.began = Instant::now();
                self.figures = Figures::default();
                self.say(&format!("{name} is working"));
            }
            TurnState::Done => {
                let figures = self.figures.sentence(self.began.elapsed());
                self.say(&format!("{name} is done: {figures}"));
            }
            // Its note has said so, with the reason.
            TurnState::Failed => {}
            TurnState::Cancelled => {
                self.cancelled.extend(entry.turn_id().cloned());
                self.say(&format!("{name}'s turn is cancelled{}", why(turn, name)));
            }
            TurnState::Interrupted => {
                self.say(&format!("{name}'s turn was interrupted{}", why(turn, name)));
            }
            TurnState::Queued => {}
        }
    }

    fn turn_event(&mut self, note: &TurnEvent) {
        let member = self.shown.name(&note.member);
        let told = narrate::note(member, &note.activity);
        let line = match &note.activity {
            // That it asks was told already.
            TurnActivity::PermissionAsked { .. } => {
                self.begging.insert(note.turn_id.clone());
                return;
            }
            // That it is over was told, and nothing of the agent's is wrong.
            TurnActivity::Failed { .. } if self.cancelled.contains(&note.turn_id) => return,
            TurnActivity::Failed { class, message, cure } => {
                let message = excerpt(message, TROUBLE_COLUMNS);
                let failed = narrate::failure(member, class, &message, Some(self.began.elapsed()));
                // Whoever asked to be allowed something is told what to do by the end.
                let is_begging = &**class == "refused" && self.begging.contains(&note.turn_id);
                match self.shown.hint(&note.member, class, &message, cure) {
                    Some(hint) if !is_begging => format!("{failed}; {hint}"),
                    _ => failed,
                }
            }
            TurnActivity::Thought { .. } => return,
            _ if !narrate::is_live(note) => return,
            TurnActivity::Warned { .. } => excerpt(&told, TROUBLE_COLUMNS),
            _ => excerpt(&told, LINE_COLUMNS),
        };
        self.say(&line);
    }

    fn say(&mut self, line: &str) {
        // With standard error gone there is nobody left to tell.
        let _ = writeln!(self.streams.notes(), "tertulia: {}", visible(&short(line)));
    }
}

/// Why a turn of somebody who is shown by this name is over, as the log says it.
fn why(turn: &Turn, name: &str) -> String {
    format!(": {}", turn.cause.sentence(name))
}
