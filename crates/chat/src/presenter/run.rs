//! The lines of `run`. Nobody can answer there, so a question shows whose turn it is and who waits for whom. In a
//! pipe every step is one line or a few, and the answers go to standard output.

use std::time::Instant;

use tertulia_operations::names::short;
use tertulia_session::{
    Entry, EntryId, EntryKind, Message, Turn, TurnActivity, TurnEvent, TurnState,
};
use tertulia_team::{Note, PauseReason, Question, SessionEvent};

use super::{OutputMode, Presenter};
use crate::display_names::DisplayNames;
use crate::narrate;
use crate::style::{Line, Look};
use crate::terminal::excerpt;

/// Maximum width of an agent's activity.
const LINE_COLUMNS: usize = 88;
/// Maximum width of an error.
const ERROR_COLUMNS: usize = 400;

impl Presenter {
    /// Returns a note as lines.
    pub fn remark(&mut self, text: &str) -> Vec<Line> {
        self.aside(&Line::split(&short(text), Look::Dim))
    }

    fn remark_if(&mut self, text: Option<String>) -> Vec<Line> {
        text.map(|text| self.remark(&text)).unwrap_or_default()
    }

    pub(super) fn in_run(&mut self, event: SessionEvent, now: Instant) -> Vec<Line> {
        match &event {
            SessionEvent::Asked(question) => {
                let asked = self.question_context.asked(question, &self.names);
                self.remark_if(asked)
            }
            SessionEvent::Permission { member, request, .. } => {
                self.remark(&narrate::permission(self.names.name(member), &request.title))
            }
            // The turn has already reported it.
            SessionEvent::Note(Note::Failed { .. }) => Vec::new(),
            // This is the partial answer of a cancelled turn, not a late one.
            SessionEvent::Note(Note::Late { turn, entry: Some(_) })
                if self.cancelled.contains(turn) =>
            {
                Vec::new()
            }
            SessionEvent::Note(note) if self.is_piped() => self.remark(&self.names.note(note)),
            SessionEvent::Stored(entry) => self.stored_in_run(entry, now),
            SessionEvent::Refused(error) if self.is_piped() => self.remark(&error.to_string()),
            _ if self.is_piped() => Vec::new(),
            _ => self.on_screen(event, now),
        }
    }

    fn is_piped(&self) -> bool {
        self.mode == OutputMode::Pipe
    }

    fn stored_in_run(&mut self, entry: &Entry, now: Instant) -> Vec<Line> {
        match &entry.kind {
            EntryKind::Message(message) => {
                self.question_context.message(entry, message);
                let is_typed = message.speaker.as_deref().is_some_and(|one| !one.is_ai());
                if self.is_piped() {
                    return Vec::new();
                }
                let lines = self.message(entry, message, now);
                // The person has just typed it; it need not be shown again.
                if is_typed { Vec::new() } else { lines }
            }
            EntryKind::Turn(turn) => {
                if self.is_piped() && self.names.is_person(&turn.member) != Some(false) {
                    return Vec::new();
                }
                let is_start = turn.state == TurnState::Started;
                // The last question did not end the run, so it is shown now.
                let passed = is_start.then(|| self.question_context.open.take()).flatten();
                let mut lines = self.remark_if(passed);
                lines.extend(match self.is_piped() {
                    true => self.turn_in_pipe(entry, turn, now),
                    false => self.turn(entry, turn, now),
                });
                lines.extend(self.fresh_start(turn));
                lines
            }
            EntryKind::TurnEvent(note) if self.is_piped() => {
                let reported = self.activity_in_pipe(note, now);
                self.remark_if(reported)
            }
            EntryKind::TeamTask(_) if self.is_piped() => Vec::new(),
            _ => self.stored(entry, now),
        }
    }

    fn turn_in_pipe(&mut self, entry: &Entry, turn: &Turn, now: Instant) -> Vec<Line> {
        let (name, id) = (self.names.name(&turn.member).to_owned(), entry.turn_id());
        let reported = match turn.state {
            TurnState::Started => {
                if let Some(id) = id {
                    self.begin(id.clone(), turn, now);
                }
                format!("{name} is working")
            }
            TurnState::Done => {
                let ended = self.running_turn.take();
                let figures = ended.map(|one| one.figures.sentence(one.time(now)));
                format!("{name} is done: {}", figures.unwrap_or_default())
            }
            TurnState::Cancelled => {
                self.cancelled.extend(id.cloned());
                format!("{name}'s turn is cancelled: {}", turn.cause.sentence(&name))
            }
            TurnState::Interrupted => {
                self.running_turn = None;
                format!("{name}'s turn was interrupted: {}", turn.cause.sentence(&name))
            }
            // A failed turn has reported the reason itself.
            TurnState::Failed => {
                self.running_turn = None;
                return Vec::new();
            }
            TurnState::Queued => return Vec::new(),
        };
        self.remark(&reported)
    }

    fn activity_in_pipe(&mut self, note: &TurnEvent, now: Instant) -> Option<String> {
        let is_refused = self.is_refused(note);
        let name = self.names.name(&note.member);
        let reported = narrate::note(name, &note.activity);
        match &note.activity {
            // The cancellation was reported, and the agent did not fail.
            TurnActivity::Failed { .. } if self.cancelled.contains(&note.turn_id) => None,
            TurnActivity::Failed { class, message, cure: advice } => {
                let message = excerpt(message, ERROR_COLUMNS);
                let after = self.running_turn.as_ref().map(|one| one.time(now));
                let failed = narrate::failure(name, class, &message, after);
                let hint = self.names.hint(&note.member, class, &message, advice);
                Some(match hint.filter(|_| !is_refused) {
                    Some(hint) => format!("{failed}; {hint}"),
                    None => failed,
                })
            }
            TurnActivity::Thought { .. } => None,
            _ if !narrate::is_live(note) => None,
            TurnActivity::Warned { .. } => Some(excerpt(&reported, ERROR_COLUMNS)),
            _ => Some(excerpt(&reported, LINE_COLUMNS)),
        }
    }
}

/// The speakers and messages that a question refers to.
#[derive(Default)]
pub(super) struct QuestionContext {
    speaker: Option<Box<str>>,
    /// The message of that person, if it is the newest.
    newest: Option<EntryId>,
    /// The newest answer, and the name of its author.
    answer: Option<(EntryId, Box<str>)>,
    /// The last question. If it ends the run, the outcome shows it.
    open: Option<String>,
}

impl QuestionContext {
    fn message(&mut self, entry: &Entry, message: &Message) {
        let Some(speaker) = message.speaker.as_deref() else { return };
        if speaker.is_ai() {
            self.newest = None;
            self.answer = Some((entry.id.clone(), speaker.role_name.clone()));
        } else {
            self.newest = Some(entry.id.clone());
            self.speaker = Some(speaker.role_id.clone());
        }
    }

    /// Returns the line to show at once for a question.
    fn asked(&mut self, question: &Question, names: &DisplayNames) -> Option<String> {
        match (&question.why, &question.to) {
            (PauseReason::Answer { entry, .. }, Some(name)) if self.is_for_another(name) => {
                let name = names.name(name);
                Some(match &self.newest {
                    Some(newest) if newest != entry => {
                        format!("your message waits until {name} has answered{}", self.whom(entry))
                    }
                    _ => format!("waiting for {name} to answer{}", self.whom(entry)),
                })
            }
            (PauseReason::Answer { entry, by, .. }, Some(name)) => {
                // The person of the built-in team has this name.
                let whose = match &**name {
                    "you" => "your turn".to_owned(),
                    name => format!("your turn, {}", names.name(name)),
                };
                let by = by.as_deref().filter(|by| *by != &**name).map(|by| names.name(by));
                let by = by.or(self.asker(entry));
                let asked = by.map(|who| format!(": {who} asked you a question"));
                Some(format!("{whose}{}", asked.unwrap_or_default()))
            }
            (PauseReason::Resumed { .. } | PauseReason::ResumedSeveral { .. }, _) => None,
            // The earlier question did not end the run, so it is shown now.
            (why, _) => self.open.replace(names.why(why)),
        }
    }

    /// Returns whether somebody other than this person has spoken here.
    fn is_for_another(&self, name: &str) -> bool {
        self.speaker.as_deref().is_some_and(|speaker| speaker != name)
    }

    fn asker(&self, entry: &EntryId) -> Option<&str> {
        self.answer.as_ref().filter(|(id, _)| id == entry).map(|(_, name)| &**name)
    }

    fn whom(&self, entry: &EntryId) -> String {
        self.asker(entry).map(|who| format!(" {who}")).unwrap_or_default()
    }
}
