//! What happens at the table, as lines: who speaks in which colour, answers as Markdown, tools, figures,
//! questions. Keeps what it needs of the turn that runs; knows neither terminal nor driver.

mod asking;
mod figures;
mod recap;
mod run;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use tertulia_operations::names::short;
use tertulia_session::{
    Entry, EntryId, EntryKind, Message, Turn, TurnActivity, TurnEvent, TurnState,
};
use tertulia_team::{
    Note, PermissionNumber, PermissionRequest, Question, SessionEvent, Why, is_partial,
};

use super::engine::ChatEvent;
use super::markdown::Markdown;
use super::style::{Line, Look, wrap};
use super::{ANY_WIDTH, Ended};
use crate::narrate;
use crate::shown::Shown;
pub(crate) use asking::{Meant, meant};
pub use figures::Figures;
use run::Asking;

/// A note is no longer, however wide the screen is.
const NOTE_COLUMNS: usize = 160;
/// How many rows of an unfinished line of an answer are shown.
pub const PENDING_ROWS: usize = 6;

/// Where the lines go.
#[derive(Default, PartialEq, Eq)]
enum Manner {
    #[default]
    Chat,
    /// A run on a terminal.
    Screen,
    /// A run whose answers go elsewhere: one line for every step.
    Pipe,
}

/// Turns events into lines: for a chat, or for a run.
#[derive(Default)]
pub struct Teller {
    pub(crate) shown: Shown,
    columns: usize,
    manner: Manner,
    /// What a question of a run needs.
    asking: Asking,
    /// The turns that a person cancelled. What an agent says of its own end is no failure then.
    cancelled: HashSet<EntryId>,
    /// The turns that asked to be allowed something. What they end with says what to do.
    begging: HashSet<EntryId>,
    speaking: Option<Speaking>,
    /// What an agent wants to be allowed, with its member.
    pub(crate) wish: Option<(PermissionNumber, Box<str>, PermissionRequest)>,
    /// What the table asked last and nobody answered.
    asked: Option<Question>,
    failure: Option<String>,
    newest: Option<Newest>,
}

struct Newest {
    entry: EntryId,
    speaker: Box<str>,
    /// The member, if it is a person.
    person: Option<Box<str>>,
}

struct Speaking {
    turn: EntryId,
    member: Box<str>,
    since: Instant,
    markdown: Markdown,
    streamed: String,
    /// How much of it was there at the last end of a text.
    ended_at: usize,
    figures: Figures,
    /// Whether what was shown last is this turn's, with the name above it.
    is_named: bool,
}

impl Speaking {
    fn new(turn: EntryId, started: &Turn, now: Instant) -> Self {
        Self {
            turn,
            member: started.member.clone(),
            since: now,
            markdown: Markdown::default(),
            streamed: String::new(),
            ended_at: 0,
            figures: Figures::default(),
            is_named: false,
        }
    }

    fn time(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.since)
    }
}

impl Teller {
    /// A teller for a chat of these members.
    pub(crate) fn new(shown: Shown, columns: usize) -> Self {
        Self { shown, columns, ..Self::default() }
    }

    /// A teller for a run on a screen of this width; without one, for a run whose answers go elsewhere.
    pub fn of_run(shown: Shown, columns: Option<usize>) -> Self {
        let manner = if columns.is_some() { Manner::Screen } else { Manner::Pipe };
        Self { manner, ..Self::new(shown, columns.unwrap_or(ANY_WIDTH)) }
    }

    /// The screen has this width from now on.
    pub fn set_columns(&mut self, columns: usize) {
        self.columns = columns;
    }

    /// Our own sentences, wrapped: a terminal would break them inside a word.
    pub(crate) fn fitted(&self, lines: &[Line]) -> Vec<Line> {
        let rows = |line: &Line| {
            let indent = line.indent();
            let indent = indent.get(..indent.len().min(self.columns / 2)).unwrap_or_default();
            wrap(line, indent, self.columns)
        };
        lines.iter().flat_map(rows).collect()
    }

    /// Something that is no part of an answer. An open line of the answer stays open; where the answer
    /// goes on, its speaker is named again.
    pub fn aside(&mut self, lines: &[Line]) -> Vec<Line> {
        if !lines.is_empty() {
            self.somebody_else();
        }
        self.fitted(lines)
    }

    pub(crate) fn alarm(&mut self, text: &str) -> Vec<Line> {
        self.aside(&Line::all_of(text, Look::Alarm))
    }

    /// What is shown now is not of the turn that runs.
    fn somebody_else(&mut self) {
        if let Some(speaking) = &mut self.speaking {
            speaking.is_named = false;
        }
    }

    /// The same where the agent itself waits: what it said so far is said.
    pub(crate) fn interrupts(&mut self, lines: &[Line]) -> Vec<Line> {
        let mut all = self.flush();
        all.extend(self.aside(lines));
        all
    }

    /// Lines of the turn that runs, below the name of its speaker.
    fn spoken(&mut self, lines: Vec<Line>) -> Vec<Line> {
        let heading = self.heading().filter(|_| !lines.is_empty());
        if let (Some(_), Some(speaking)) = (&heading, &mut self.speaking) {
            speaking.is_named = true;
        }
        heading.into_iter().chain(lines).collect()
    }

    /// The name of who speaks, where it does not stand there yet.
    fn heading(&self) -> Option<Line> {
        let speaking = self.speaking.as_ref().filter(|speaking| !speaking.is_named)?;
        Some(self.shown.painted_name(&speaking.member).with(":", Look::Dim))
    }

    /// Whose turn runs, by the name that is shown, and whether it is being stopped.
    pub fn running(&self) -> Option<(&str, bool)> {
        let speaking = self.speaking.as_ref()?;
        let is_stopping = self.cancelled.contains(&speaking.turn);
        Some((self.shown.name(&speaking.member), is_stopping))
    }

    fn is_stopping(&self) -> bool {
        self.running().is_some_and(|(_, is_stopping)| is_stopping)
    }

    /// Since when the turn runs.
    pub fn since(&self) -> Option<Instant> {
        self.speaking.as_ref().map(|speaking| speaking.since)
    }

    /// What is left open for whoever leaves: what went wrong last, or what a person is to decide.
    pub(crate) fn left_open(&self) -> Ended {
        // That it is a person's turn is no question left open: it is how a talk goes.
        let asked = self.asked.as_ref().filter(|one| !matches!(one.why, Why::Answer { .. }));
        match (&self.failure, asked) {
            (Some(failure), _) => Ended::AgentFailed(failure.clone()),
            (None, Some(question)) => Ended::NeedsPerson(self.why(question)),
            (None, None) => Ended::Well,
        }
    }

    /// What the person can do while the table waits for them; `None` if it does not.
    pub(crate) fn waits_for(&self) -> Option<String> {
        if let Some((_, member, request)) = &self.wish {
            return Some(asking::reminder(self.shown.name(member), request));
        }
        asking::waits(self.asked.as_ref()?, &self.shown)
    }

    /// Why a person is asked, as it reads here: what they are to answer stands above.
    fn why(&self, question: &Question) -> String {
        let Question { to, why } = question;
        match (why, &self.newest) {
            (Why::Answer { entry, .. }, Some(newest)) if *entry == newest.entry => {
                format!("{} waits for your answer", newest.speaker)
            }
            // Somebody else has spoken meanwhile.
            (Why::Answer { entry, .. }, Some(Newest { speaker, person, .. }))
                if person.is_some() && person != to =>
            {
                format!("{speaker}'s message waits until you have answered {entry}")
            }
            _ => self.shown.why(why),
        }
    }

    /// The end of the answer that is not a whole line yet.
    pub fn pending(&self, rows_max: usize) -> Vec<Line> {
        let Some(speaking) = &self.speaking else { return Vec::new() };
        let rows = speaking.markdown.pending(self.columns, rows_max);
        let heading = self.heading().filter(|_| !rows.is_empty());
        heading.into_iter().chain(rows).collect()
    }

    pub(crate) fn hear(&mut self, heard: ChatEvent, now: Instant) -> Vec<Line> {
        match heard {
            ChatEvent::Session(event) => self.on_event(event, now),
            ChatEvent::Text(text) => self.text(&text),
            ChatEvent::Lines(lines) => self.aside(&lines),
            ChatEvent::Refused(text) | ChatEvent::NotForked(text) => self.alarm(&text),
            ChatEvent::NotSaid(error) => self.alarm(&error.to_string()),
            ChatEvent::Status { .. } | ChatEvent::Forked(_) | ChatEvent::Ended(_) => Vec::new(),
        }
    }

    /// Takes in what happened in the session; gives the lines that it adds.
    pub fn on_event(&mut self, event: SessionEvent, now: Instant) -> Vec<Line> {
        match self.manner {
            Manner::Chat => self.on_screen(event, now),
            Manner::Screen | Manner::Pipe => self.in_run(event, now),
        }
    }

    fn on_screen(&mut self, event: SessionEvent, now: Instant) -> Vec<Line> {
        match event {
            SessionEvent::Stored(entry) => self.stored(&entry, now),
            SessionEvent::Text { text, .. } => self.text(&text),
            SessionEvent::TextEnd { .. } => self.text_end(),
            SessionEvent::TextWithdrawn { .. } => self.withdrawn(),
            // That an answer was cut off is seen where it ends.
            SessionEvent::Note(Note::Late { .. } | Note::Partial { .. })
            | SessionEvent::Fed { .. } => Vec::new(),
            SessionEvent::Note(note) => {
                self.aside(&Line::all_of(&short(&self.shown.note(&note)), Look::Dim))
            }
            SessionEvent::Asked(question) => {
                let lines = asking::question(&question, &self.why(&question), &self.shown);
                self.asked = Some(question);
                self.aside(&lines)
            }
            SessionEvent::Permission { number, member, request } => {
                let lines =
                    self.interrupts(&asking::permission(self.shown.name(&member), &request));
                self.wish = Some((number, member, request));
                lines
            }
            SessionEvent::Refused(error) => self.alarm(&error.to_string()),
            SessionEvent::Rested => {
                self.asked = None;
                // Nothing runs, whatever was heard of the turn.
                self.end(now)
            }
        }
    }

    fn stored(&mut self, entry: &Entry, now: Instant) -> Vec<Line> {
        match &entry.kind {
            EntryKind::Message(message) => self.message(entry, message, now),
            EntryKind::Turn(turn) => self.turn(entry, turn, now),
            EntryKind::Usage(usage) => {
                if let Some(speaking) = &mut self.speaking {
                    speaking.figures.add(usage);
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

    fn turn_event(&mut self, note: &TurnEvent, now: Instant) -> Vec<Line> {
        let mut told = self.shown.done(note, self.columns.min(NOTE_COLUMNS));
        if self.is_refused(note) {
            told.truncate(1);
        }
        let is_end = matches!(note.activity, TurnActivity::Failed { .. });
        // It may come in the middle of a word.
        if matches!(note.activity, TurnActivity::Warned { .. }) {
            return self.aside(&told);
        }
        let mut lines = if told.is_empty() && !is_end { Vec::new() } else { self.flush() };
        // How an agent ends that was stopped is nobody's news.
        if !(is_end && self.is_stopping()) {
            let told = self.fitted(&told);
            lines.extend(self.spoken(told));
        }
        lines.extend(self.failed(note, now));
        lines
    }

    /// Whether a turn ends because nobody allowed what it had asked for: it says itself what to do.
    fn is_refused(&mut self, note: &TurnEvent) -> bool {
        match &note.activity {
            TurnActivity::PermissionAsked { .. } => {
                self.begging.insert(note.turn_id.clone());
                false
            }
            TurnActivity::Failed { class, .. } => {
                &**class == "refused" && self.begging.contains(&note.turn_id)
            }
            _ => false,
        }
    }

    fn turn(&mut self, entry: &Entry, turn: &Turn, now: Instant) -> Vec<Line> {
        let Some(id) = entry.turn_id().cloned() else { return Vec::new() };
        let is_ours = self.speaking.as_ref().is_some_and(|speaking| speaking.turn == id);
        match turn.state {
            // The question that follows says so.
            TurnState::Started if self.shown.is_person(&turn.member) == Some(true) => Vec::new(),
            TurnState::Started => {
                let lines = self.end(now);
                self.asked = None;
                self.failure = None;
                self.speaking = Some(Speaking::new(id, turn, now));
                // The name waits for the first words: what is noted of the message comes before them.
                lines
            }
            TurnState::Done | TurnState::Failed | TurnState::Interrupted if is_ours => {
                self.end(now)
            }
            TurnState::Cancelled => {
                self.cancelled.insert(id);
                self.wish = self.wish.take().filter(|_| !is_ours);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// A turn that failed has said why; one that was stopped ends with that, since its state is known already.
    fn failed(&mut self, note: &TurnEvent, now: Instant) -> Vec<Line> {
        let TurnActivity::Failed { .. } = &note.activity else { return Vec::new() };
        if self.speaking.is_none() {
            return Vec::new();
        }
        if self.is_stopping() {
            return self.end(now);
        }
        let name = self.shown.name(&note.member);
        self.failure = Some(narrate::note(name, &note.activity));
        Vec::new()
    }

    fn end(&mut self, now: Instant) -> Vec<Line> {
        let mut lines = self.flush();
        let Some(speaking) = &self.speaking else { return lines };
        let state = if self.is_stopping() { "cancelled · " } else { "" };
        let figures = format!("{state}{}", speaking.figures.sentence(speaking.time(now)));
        lines.extend(self.spoken(vec![Line::new(&figures, Look::Dim), Line::default()]));
        (self.speaking, self.wish) = (None, None);
        lines
    }

    fn text(&mut self, text: &str) -> Vec<Line> {
        let columns = self.columns;
        let Some(speaking) = &mut self.speaking else { return Vec::new() };
        speaking.streamed.push_str(text);
        let lines = speaking.markdown.push(text, columns);
        self.spoken(lines)
    }

    fn text_end(&mut self) -> Vec<Line> {
        let lines = self.flush();
        if let Some(speaking) = &mut self.speaking {
            speaking.streamed.push('\n');
            speaking.ended_at = speaking.streamed.len();
        }
        lines
    }

    fn withdrawn(&mut self) -> Vec<Line> {
        let mut lines = self.flush();
        if let Some(speaking) = &mut self.speaking
            && speaking.streamed.len() > speaking.ended_at
        {
            speaking.streamed.truncate(speaking.ended_at);
            let taken_back = Line::new("(the agent took this back and begins again)", Look::Dim);
            lines.extend(self.spoken(vec![taken_back]));
        }
        lines
    }

    /// What is left of a text that has ended.
    fn flush(&mut self) -> Vec<Line> {
        let columns = self.columns;
        let Some(speaking) = &mut self.speaking else { return Vec::new() };
        let lines = speaking.markdown.finish(columns);
        self.spoken(lines)
    }

    fn message(&mut self, entry: &Entry, message: &Message, now: Instant) -> Vec<Line> {
        self.remember(entry, message);
        let text = message.text();
        if message.is_of_human() {
            // What an agent says meanwhile is not broken off for it.
            self.somebody_else();
            return self.told(message, &text, false);
        }
        let mut lines = self.flush();
        let is_streamed =
            self.speaking.as_ref().is_some_and(|one| one.streamed.contains(text.trim()));
        if !is_streamed {
            let told = self.told(message, &text, self.speaking.is_some());
            lines.extend(self.spoken(told));
        }
        if is_partial(entry) {
            let cut_off = vec![Line::new("(cut off here)", Look::Dim)];
            lines.extend(self.spoken(cut_off));
        } else if self.is_stopping() {
            // It was stopped too late and came to its end: no state follows.
            lines.extend(self.end(now));
        }
        lines
    }

    fn remember(&mut self, entry: &Entry, message: &Message) {
        let speaker = message.speaker.as_deref();
        self.newest = Some(Newest {
            entry: entry.id.clone(),
            speaker: speaker.map_or("somebody", |speaker| &speaker.role_name).into(),
            person: speaker.filter(|_| message.is_of_human()).map(|one| one.role_id.clone()),
        });
    }

    /// A message with this text of it; with a name before it unless it stands there already.
    fn told(&self, message: &Message, text: &str, is_named: bool) -> Vec<Line> {
        let speaker = message.speaker.as_deref().map_or("?", |speaker| &speaker.role_id);
        let name = self.shown.painted_name(speaker).with(":", Look::Dim);
        let mut markdown = Markdown::default();
        let mut body = markdown.push(text, self.columns);
        body.extend(markdown.finish(self.columns));
        if is_named {
            return body;
        }
        match body.as_slice() {
            [one] if message.is_of_human() && one.width() + name.width() < self.columns => {
                vec![name.with(" ", Look::Plain).with(&one.text(), Look::Plain)]
            }
            _ => std::iter::once(name).chain(body).collect(),
        }
    }
}

#[cfg(test)]
mod tests;
