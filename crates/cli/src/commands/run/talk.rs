//! What happens, for people: progress on standard error, answers on standard output. All of it comes from
//! agents, so nothing goes to a terminal as it is.

use std::collections::HashSet;
use std::io::{self, Write};
use std::time::Instant;

use tertulia_chat::Shown;
use tertulia_chat::terminal::{duration, excerpt, grouped, visible};
use tertulia_operations::names::{short, turn_of};
use tertulia_session::{Entry, EntryId, EntryKind, Message, Turn, TurnState, Usage};
use tertulia_store::SessionId;
use tertulia_team::{Cause, Note, Question, SessionEvent, Team, TurnNote, What, is_partial};

use super::asking::Asking;
use crate::Streams;
use crate::commands::sessions::counted;

/// How much of a tool's input is shown.
const INPUT_COLUMNS: usize = 72;
/// How much of what went wrong is shown.
const TROUBLE_COLUMNS: usize = 400;

/// Shows what happens.
pub(super) struct Talk<'a, 's> {
    streams: &'a mut Streams<'s>,
    agents: HashSet<Box<str>>,
    shown: &'a Shown,
    /// When the turn that runs began.
    began: Instant,
    /// The figures of the turn that ends.
    usage: Option<Usage>,
    answers: usize,
    /// The turns that a person cancelled. What an agent says of its own end is no failure then.
    cancelled: HashSet<EntryId>,
    /// The turns that asked to be allowed something. What they end with says what to do.
    begging: HashSet<EntryId>,
    asking: Asking,
    /// Why nothing more can be written.
    failed: Option<io::Error>,
}

impl<'a, 's> Talk<'a, 's> {
    pub(super) fn new(streams: &'a mut Streams<'s>, team: &Team, shown: &'a Shown) -> Self {
        let agents = team.members().iter().filter(|one| !one.is_person());
        let agents = agents.map(|one| one.member.name.clone()).collect();
        Self {
            streams,
            agents,
            shown,
            began: Instant::now(),
            usage: None,
            answers: 0,
            cancelled: HashSet::new(),
            begging: HashSet::new(),
            asking: Asking::default(),
            failed: None,
        }
    }

    pub(super) fn opened(&mut self, session: &SessionId, is_new: bool) {
        match is_new {
            true => self.say(&format!("session {session}")),
            false => self.say(&format!("resuming session {session}")),
        }
    }

    pub(super) fn differ(&mut self, session: &str, differences: usize) {
        let what = match differences {
            1 => "one past decision would differ".to_owned(),
            many => format!("{many} past decisions would differ"),
        };
        self.say(&format!(
            "{what} with the current team file (run `tertulia replay {session}` for details)"
        ));
    }

    pub(super) fn close(self) -> io::Result<()> {
        self.failed.map_or(Ok(()), Err)
    }

    pub(super) fn on_event(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::Stored(entry) => self.stored(entry),
            SessionEvent::Note(note) => self.note(note),
            SessionEvent::Asked(question) => self.asked(question),
            SessionEvent::Refused(error) => self.say(&error.to_string()),
            SessionEvent::Permission { member, request, .. } => {
                let name = self.shown.name(member);
                self.say(&format!("{name} asks for permission: {}", request.title));
            }
            SessionEvent::Fed { .. }
            | SessionEvent::Text { .. }
            | SessionEvent::TextEnd { .. }
            | SessionEvent::TextWithdrawn { .. }
            | SessionEvent::Rested => {}
        }
    }

    fn asked(&mut self, question: &Question) {
        if let Some(line) = self.asking.asked(question, self.shown) {
            self.say(&line);
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
            EntryKind::Usage(usage) => self.usage = Some(usage.clone()),
            EntryKind::Custom(_) => {
                if let Some(note) = TurnNote::of(entry) {
                    self.turn_note(&note);
                }
            }
            EntryKind::CompactionSummary(minutes) => {
                let count = minutes.covered_count.unwrap_or_default();
                let messages = counted(count, "message", "messages");
                self.say(&format!("summarised {messages}"));
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
        if !self.agents.contains(&turn.member) {
            return;
        }
        let name = self.shown.name(&turn.member);
        match turn.state {
            TurnState::Started => {
                if let Some(question) = self.asking.passed() {
                    self.say(&question);
                }
                self.began = Instant::now();
                self.usage = None;
                self.say(&format!("{name} is working"));
            }
            TurnState::Done => self.figures(name, "is done"),
            // Its note has said so, with the reason.
            TurnState::Failed => {}
            TurnState::Cancelled => {
                self.cancelled.extend(turn_of(entry));
                self.say(&format!("{name}'s turn is cancelled{}", why(turn, name)));
            }
            TurnState::Interrupted => {
                self.say(&format!("{name}'s turn was interrupted{}", why(turn, name)));
            }
            TurnState::Queued => {}
        }
    }

    /// The end of a turn, with what it took.
    fn figures(&mut self, name: &str, what: &str) {
        let mut line = format!("{name} {what} after {}", duration(self.began.elapsed()));
        if let Some(usage) = self.usage.take() {
            // An agent that tells no figures has used some all the same.
            if usage.input_tokens > 0 || usage.output_tokens > 0 {
                let read = counted(usage.input_tokens, "token", "tokens");
                line.push_str(&format!(", {read} in"));
                if let Some(cached) = usage.cached_tokens.filter(|cached| *cached > 0) {
                    line.push_str(&format!(" ({} of them cached)", grouped(cached)));
                }
                line.push_str(&format!(", {} out", grouped(usage.output_tokens)));
            }
            if let Some(cost) = &usage.cost_usd {
                line.push_str(&format!(", ${:.4}", cost.amount()));
            }
        }
        self.say(&line);
    }

    fn turn_note(&mut self, note: &TurnNote) {
        let member = self.shown.name(&note.member);
        let line = match &note.what {
            What::ToolStarted { name, input, .. } => {
                format!("{member}: {name} {}", excerpt(input, INPUT_COLUMNS))
            }
            What::ToolFinished { name, output, is_error: true, .. } => {
                let name = name.as_deref().unwrap_or("a tool");
                let output = excerpt(output.as_deref().unwrap_or_default(), INPUT_COLUMNS);
                format!("{member}: {name} failed: {output}")
            }
            What::ToolDenied { name, reason } => {
                let reason = reason.as_deref().map(|reason| format!(": {reason}"));
                format!("{member} may not use {name}{}", reason.unwrap_or_default())
            }
            What::Warned { message, .. } => {
                format!("{member}: {}", excerpt(message, TROUBLE_COLUMNS))
            }
            // That it is over was told, and nothing of the agent's is wrong.
            What::Failed { .. } if self.cancelled.contains(&note.turn) => return,
            What::Failed { class, message, cure } => {
                let message = excerpt(message, TROUBLE_COLUMNS);
                let time = duration(self.began.elapsed());
                let failed = format!("{member} failed after {time}: {message}");
                // Whoever asked to be allowed something is told what to do by the end.
                let is_begging = &**class == "refused" && self.begging.contains(&note.turn);
                match self.shown.hint(&note.member, class, &message, cure) {
                    Some(hint) if !is_begging => format!("{failed} ({class}); {hint}"),
                    _ => failed,
                }
            }
            What::Retried { budget } => {
                format!("{member} found it too long; again with {} bytes", grouped(*budget))
            }
            // That it asks was told already.
            What::PermissionAsked { .. } => {
                self.begging.insert(note.turn.clone());
                return;
            }
            What::PermissionAnswered { .. }
            | What::ToolFinished { .. }
            | What::Thought { .. }
            // For whoever looks for the agent's own record of the turn later.
            | What::Began { .. } => return,
        };
        self.say(&line);
    }

    pub(super) fn say(&mut self, line: &str) {
        // With standard error gone there is nobody left to tell.
        let _ = writeln!(self.streams.notes(), "tertulia: {}", visible(&short(line)));
    }
}

/// Why a turn of somebody who is shown by this name is over, as the log says it.
fn why(turn: &Turn, name: &str) -> String {
    let cause = Cause::parse(&turn.cause).map(|cause| cause.sentence(name));
    cause.map(|sentence| format!(": {sentence}")).unwrap_or_default()
}
