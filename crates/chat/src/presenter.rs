//! Turns the events of a session into lines: names in their colours, answers as Markdown, tools, costs, questions. Keeps
//! the state of the running turn; independent of the terminal and the driver.

mod figures;
mod others;
mod questions;
mod recap;
mod run;
mod turns;

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Instant;

use tertulia_operations::names::short;
use tertulia_session::{
    Entry, EntryId, EntryKind, Message, Turn, TurnActivity, TurnEvent, TurnState,
};
use tertulia_team::{
    AskFollower, DriveError, Note, PauseReason, Question, SessionEvent, is_partial,
};

use super::engine::ChatEvent;
use super::markdown::Markdown;
use super::style::{Line, Look, wrap};
use super::{ANY_WIDTH, Ended};
use crate::asking::result_lines;
use crate::display_names::DisplayNames;
use crate::narrate;
pub use figures::Figures;
pub(crate) use questions::{Reply, parse_reply};
use run::QuestionContext;
use turns::{OpenPermission, RunningTurn};

/// Maximum width of a note, on any screen.
const NOTE_COLUMNS: usize = 160;
/// Number of rows shown of an unfinished line of an answer.
pub const PENDING_ROWS: usize = 6;

/// The destination of the lines.
#[derive(Default, PartialEq, Eq)]
enum OutputMode {
    #[default]
    Chat,
    /// A run on a terminal.
    Screen,
    /// A run whose answers go to a pipe: one line for every step.
    Pipe,
}

/// Turns events into lines: for a chat, or for a run.
#[derive(Default)]
pub struct Presenter {
    pub(crate) names: DisplayNames,
    columns: usize,
    mode: OutputMode,
    /// Information for questions in a run.
    question_context: QuestionContext,
    /// The turns that a person cancelled. Their end is not a failure of the agent.
    cancelled: HashSet<EntryId>,
    /// The turns that asked for permission. Their last message says what to do.
    asked_permission: HashSet<EntryId>,
    /// The turn that is shown live.
    running_turn: Option<RunningTurn>,
    /// The other turns that run, in the order of their start.
    others: Vec<RunningTurn>,
    /// The permissions that agents wait for; only the first is shown.
    permissions: VecDeque<OpenPermission>,
    /// The choices of this person, by the member that asked, until they are in the log; `None` in it for a denial.
    answered: HashMap<Box<str>, Option<Box<str>>>,
    /// The last question, if nobody has answered it.
    asked: Option<Question>,
    failure: Option<String>,
    /// The asks so far, whose results are shown in a chat.
    asks: AskFollower,
    newest: Option<LatestMessage>,
}

struct LatestMessage {
    entry: EntryId,
    speaker: Box<str>,
    /// The member, if it is a person.
    person: Option<Box<str>>,
}

impl Presenter {
    /// Creates a presenter for a chat.
    pub(crate) fn new(names: DisplayNames, columns: usize) -> Self {
        Self { names, columns, ..Self::default() }
    }

    /// Creates a presenter for a run on a screen of this width, or without one for a run in a pipe.
    pub fn for_run(names: DisplayNames, columns: Option<usize>) -> Self {
        let mode = if columns.is_some() { OutputMode::Screen } else { OutputMode::Pipe };
        Self { mode, ..Self::new(names, columns.unwrap_or(ANY_WIDTH)) }
    }

    /// Sets the width of the screen.
    pub fn set_columns(&mut self, columns: usize) {
        self.columns = columns;
    }

    /// Wraps our own sentences; a terminal would break them inside a word.
    pub(crate) fn fitted(&self, lines: &[Line]) -> Vec<Line> {
        let rows = |line: &Line| {
            let indent = line.indent();
            let indent = indent.get(..indent.len().min(self.columns / 2)).unwrap_or_default();
            wrap(line, indent, self.columns)
        };
        lines.iter().flat_map(rows).collect()
    }

    /// Returns lines that are not part of an answer. An open line of the answer stays open. When the answer
    /// continues, its speaker's name is shown again.
    pub fn aside(&mut self, lines: &[Line]) -> Vec<Line> {
        if !lines.is_empty() {
            self.somebody_else();
        }
        self.fitted(lines)
    }

    pub(crate) fn error_lines(&mut self, text: &str) -> Vec<Line> {
        self.aside(&Line::split(text, Look::Error))
    }

    /// Notes that the lines shown now do not belong to the running turn.
    fn somebody_else(&mut self) {
        if let Some(running_turn) = &mut self.running_turn {
            running_turn.is_named = false;
        }
    }

    /// Like [`Self::aside`], but first completes the open line of the agent's answer, because the agent waits.
    pub(crate) fn interrupts(&mut self, lines: &[Line]) -> Vec<Line> {
        let mut all = self.flush();
        all.extend(self.aside(lines));
        all
    }

    /// Returns how the chat ended: with the last failure, with a question, or normally.
    pub(crate) fn left_open(&self) -> Ended {
        // If a person has to answer, that is the normal end of a conversation, not an open question.
        let asked =
            self.asked.as_ref().filter(|one| !matches!(one.why, PauseReason::Answer { .. }));
        match (&self.failure, asked) {
            (Some(failure), _) => Ended::AgentFailed(failure.clone()),
            (None, Some(question)) => Ended::NeedsPerson(self.why(question)),
            (None, None) => Ended::Normally,
        }
    }

    /// Returns what the person can do while the session waits for them; `None` if it does not wait.
    pub(crate) fn waits_for(&self) -> Option<String> {
        if let Some(open) = self.permission() {
            return Some(questions::reminder(self.names.name(&open.member), &open.request));
        }
        questions::waits(self.asked.as_ref()?, &self.names)
    }

    /// Returns why a person is asked; the message to answer is shown above.
    fn why(&self, question: &Question) -> String {
        let Question { to, why } = question;
        match (why, &self.newest) {
            (PauseReason::Answer { entry, .. }, Some(newest)) if *entry == newest.entry => {
                format!("{} waits for your answer", newest.speaker)
            }
            // Another member has written a message since.
            (PauseReason::Answer { entry, .. }, Some(LatestMessage { speaker, person, .. }))
                if person.is_some() && person != to =>
            {
                format!("{speaker}'s message waits until you have answered {entry}")
            }
            _ => self.names.why(why),
        }
    }

    pub(crate) fn on_chat_event(&mut self, event: ChatEvent, now: Instant) -> Vec<Line> {
        match event {
            ChatEvent::Session(event) => self.on_event(event, now),
            ChatEvent::Past { entry, ago } => {
                self.on_event(SessionEvent::Stored(entry), now.checked_sub(ago).unwrap_or(now))
            }
            ChatEvent::Text { turn, text } => self.in_turn(Some(turn), |this| this.text(&text)),
            ChatEvent::Lines(lines) => self.aside(&lines),
            ChatEvent::Refused(text) | ChatEvent::NotForked(text) => self.error_lines(&text),
            ChatEvent::NotSaid(error) => self.error_lines(&error.to_string()),
            ChatEvent::Closing => self.error_lines(&DriveError::Closing.to_string()),
            ChatEvent::HostLost => self.host_lost(),
            ChatEvent::Status { .. }
            | ChatEvent::Forked(_)
            | ChatEvent::Ended(_)
            | ChatEvent::HostFound
            | ChatEvent::TakeOver => Vec::new(),
        }
    }

    /// Handles an event of the session; returns the lines to add.
    pub fn on_event(&mut self, event: SessionEvent, now: Instant) -> Vec<Line> {
        let turn = self.turn_of(&event);
        let mut lines = self.in_turn(turn, |this| match this.mode {
            OutputMode::Chat => this.on_screen(event, now),
            OutputMode::Screen | OutputMode::Pipe => this.in_run(event, now),
        });
        lines.extend(self.next_permission());
        lines
    }

    fn on_screen(&mut self, event: SessionEvent, now: Instant) -> Vec<Line> {
        match event {
            SessionEvent::Stored(entry) => self.stored(&entry, now),
            SessionEvent::Text { text, .. } => self.text(&text),
            SessionEvent::TextEnd { .. } => self.text_end(),
            SessionEvent::TextWithdrawn { .. } => self.withdrawn(),
            // A cut-off answer is marked where it ends.
            SessionEvent::Note(Note::Late { .. } | Note::Partial { .. })
            | SessionEvent::Fed { .. } => Vec::new(),
            SessionEvent::Note(note) => {
                self.aside(&Line::split(&short(&self.names.note(&note)), Look::Dim))
            }
            SessionEvent::Asked(question) => {
                let lines = questions::question(&question, &self.why(&question), &self.names);
                self.asked = Some(question);
                self.aside(&lines)
            }
            SessionEvent::Permission { number, member, request } => {
                self.asks_permission(number, member, request)
            }
            SessionEvent::Refused(error) => self.error_lines(&error.to_string()),
            SessionEvent::Rested => {
                self.asked = None;
                // Nothing is running, even if no event ended the turn.
                self.others.clear();
                self.end(now)
            }
        }
    }

    fn stored(&mut self, entry: &Entry, now: Instant) -> Vec<Line> {
        let mut lines = self.stored_entry(entry, now);
        if let Some(result) = self.asks.on_entry(entry).filter(|_| self.mode == OutputMode::Chat) {
            let result = result_lines(&result, &self.names);
            lines.extend(self.interrupts(&result));
        }
        lines
    }

    fn stored_entry(&mut self, entry: &Entry, now: Instant) -> Vec<Line> {
        match &entry.kind {
            EntryKind::Message(message) => self.message(entry, message, now),
            EntryKind::Turn(turn) => {
                let mut lines = self.turn(entry, turn, now);
                lines.extend(self.fresh_start(turn));
                lines
            }
            EntryKind::Usage(usage) => {
                if let Some(running_turn) = &mut self.running_turn {
                    running_turn.figures.add(usage);
                }
                Vec::new()
            }
            EntryKind::CompactionSummary(summary) if summary.member.is_none() => {
                self.aside(&[Line::new(narrate::summarised(summary.covered_count), Look::Dim)])
            }
            EntryKind::TeamTask(task) => {
                self.aside(&[Line::new(narrate::team_task(task.task.as_deref()), Look::Dim)])
            }
            EntryKind::TurnEvent(event) => self.turn_event(event, now),
            _ => Vec::new(),
        }
    }

    fn fresh_start(&mut self, turn: &Turn) -> Vec<Line> {
        let reported = narrate::fresh_start(self.names.name(&turn.member), turn);
        reported.map(|text| self.remark(&text)).unwrap_or_default()
    }

    fn turn_event(&mut self, note: &TurnEvent, now: Instant) -> Vec<Line> {
        if let TurnActivity::PermissionAnswered { choice, .. } = &note.activity {
            return self.answered_in_log(&note.member, choice.as_deref());
        }
        let mut reported = self.names.done(note, self.columns.min(NOTE_COLUMNS));
        if self.is_refused(note) {
            reported.truncate(1);
        }
        let is_end = matches!(note.activity, TurnActivity::Failed { .. });
        // A warning can arrive in the middle of a word.
        if matches!(note.activity, TurnActivity::Warned { .. }) {
            return self.aside(&reported);
        }
        let mut lines = if reported.is_empty() && !is_end { Vec::new() } else { self.flush() };
        // How a stopped agent ends is of no interest.
        if !(is_end && self.is_stopping()) {
            let reported = self.fitted(&reported);
            lines.extend(self.spoken(reported));
        }
        lines.extend(self.failed(note, now));
        lines
    }

    /// Returns whether a turn ends because its permission request was refused; its own message says what to do.
    fn is_refused(&mut self, note: &TurnEvent) -> bool {
        match &note.activity {
            TurnActivity::PermissionAsked { .. } => {
                self.asked_permission.insert(note.turn_id.clone());
                false
            }
            TurnActivity::Failed { class, .. } => {
                &**class == "refused" && self.asked_permission.contains(&note.turn_id)
            }
            _ => false,
        }
    }

    fn turn(&mut self, entry: &Entry, turn: &Turn, now: Instant) -> Vec<Line> {
        let Some(id) = entry.turn_id().cloned() else { return Vec::new() };
        let is_ours =
            self.running_turn.as_ref().is_some_and(|running_turn| running_turn.turn == id);
        match turn.state {
            // The question that follows shows this.
            TurnState::Started if self.names.is_person(&turn.member) == Some(true) => Vec::new(),
            TurnState::Started => {
                self.asked = None;
                self.failure = None;
                // The name is shown with the first words of the answer, so that notes about the message come before
                // it.
                self.begin(id, turn, now)
            }
            TurnState::Done | TurnState::Failed | TurnState::Interrupted if is_ours => {
                self.end(now)
            }
            TurnState::Cancelled => {
                if self.is_active(&id) {
                    self.permissions.retain(|one| one.member != turn.member);
                }
                self.cancelled.insert(id);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// Remembers a failure. A stopped turn ends here, because its state is already stored.
    fn failed(&mut self, note: &TurnEvent, now: Instant) -> Vec<Line> {
        let TurnActivity::Failed { .. } = &note.activity else { return Vec::new() };
        if self.running_turn.is_none() {
            return Vec::new();
        }
        if self.is_stopping() {
            return self.end(now);
        }
        let name = self.names.name(&note.member);
        self.failure = Some(narrate::note(name, &note.activity));
        Vec::new()
    }

    fn message(&mut self, entry: &Entry, message: &Message, now: Instant) -> Vec<Line> {
        self.remember(entry, message);
        let text = message.text();
        if message.is_from_human() {
            // An answer that is streaming meanwhile is not interrupted.
            self.somebody_else();
            return self.message_lines(message, &text, false);
        }
        let mut lines = self.flush();
        let is_streamed =
            self.running_turn.as_ref().is_some_and(|one| one.streamed.contains(text.trim()));
        if !is_streamed {
            let reported = self.message_lines(message, &text, self.running_turn.is_some());
            lines.extend(self.spoken(reported));
        }
        if is_partial(entry) {
            let cut_off = vec![Line::new("(cut off here)", Look::Dim)];
            lines.extend(self.spoken(cut_off));
        } else if self.is_stopping() {
            // The turn had finished before it was stopped, so no state follows.
            lines.extend(self.end(now));
        }
        lines
    }

    fn remember(&mut self, entry: &Entry, message: &Message) {
        let speaker = message.speaker.as_deref();
        self.newest = Some(LatestMessage {
            entry: entry.id.clone(),
            speaker: speaker.map_or("somebody", |speaker| &speaker.role_name).into(),
            person: speaker.filter(|_| message.is_from_human()).map(|one| one.role_id.clone()),
        });
    }

    /// Returns a message with this text; with the name first, unless it was shown already.
    fn message_lines(&self, message: &Message, text: &str, is_named: bool) -> Vec<Line> {
        let speaker = message.speaker.as_deref().map_or("?", |speaker| &speaker.role_id);
        let name = self.names.painted_name(speaker).with(":", Look::Dim);
        let mut markdown = Markdown::default();
        let mut body = markdown.push(text, self.columns);
        body.extend(markdown.finish(self.columns));
        if is_named {
            return body;
        }
        match body.as_slice() {
            [one] if message.is_from_human() && one.width() + name.width() < self.columns => {
                vec![name.with(" ", Look::Plain).with(&one.text(), Look::Plain)]
            }
            _ => std::iter::once(name).chain(body).collect(),
        }
    }
}

#[cfg(test)]
mod tests;
