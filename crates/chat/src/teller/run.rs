//! What a run tells: nobody is there to answer, so a question says whose turn it is and who waits for whom. In a pipe
//! every step is a line or a few, and the answers go elsewhere.

use std::time::Instant;

use tertulia_operations::names::short;
use tertulia_session::{
    Entry, EntryId, EntryKind, Message, Turn, TurnActivity, TurnEvent, TurnState,
};
use tertulia_team::{Note, Question, SessionEvent, Why};

use super::{Manner, Speaking, Teller};
use crate::narrate;
use crate::shown::Shown;
use crate::style::{Line, Look};
use crate::terminal::excerpt;

/// How much is shown of what an agent did.
const LINE_COLUMNS: usize = 88;
/// How much of what went wrong is shown.
const TROUBLE_COLUMNS: usize = 400;

impl Teller {
    /// Something to know, in its place among what happens.
    pub fn remark(&mut self, text: &str) -> Vec<Line> {
        self.aside(&Line::all_of(&short(text), Look::Dim))
    }

    fn remark_if(&mut self, text: Option<String>) -> Vec<Line> {
        text.map(|text| self.remark(&text)).unwrap_or_default()
    }

    pub(super) fn in_run(&mut self, event: SessionEvent, now: Instant) -> Vec<Line> {
        match &event {
            SessionEvent::Asked(question) => {
                let asked = self.asking.asked(question, &self.shown);
                self.remark_if(asked)
            }
            SessionEvent::Permission { member, request, .. } => {
                self.remark(&narrate::permission(self.shown.name(member), &request.title))
            }
            // The turn itself has said so.
            SessionEvent::Note(Note::Failed { .. }) => Vec::new(),
            // What it had said until then, and no late answer.
            SessionEvent::Note(Note::Late { turn, entry: Some(_) })
                if self.cancelled.contains(turn) =>
            {
                Vec::new()
            }
            SessionEvent::Note(note) if self.is_piped() => self.remark(&self.shown.note(note)),
            SessionEvent::Stored(entry) => self.stored_in_run(entry, now),
            SessionEvent::Refused(error) if self.is_piped() => self.remark(&error.to_string()),
            _ if self.is_piped() => Vec::new(),
            _ => self.on_screen(event, now),
        }
    }

    fn is_piped(&self) -> bool {
        self.manner == Manner::Pipe
    }

    fn stored_in_run(&mut self, entry: &Entry, now: Instant) -> Vec<Line> {
        match &entry.kind {
            EntryKind::Message(message) => {
                self.asking.message(entry, message);
                let is_typed = message.speaker.as_deref().is_some_and(|one| !one.is_ai());
                if self.is_piped() {
                    return Vec::new();
                }
                let lines = self.message(entry, message, now);
                // What the person has just typed needs not be shown again.
                if is_typed { Vec::new() } else { lines }
            }
            EntryKind::Turn(turn) => {
                if self.is_piped() && self.shown.is_person(&turn.member) != Some(false) {
                    return Vec::new();
                }
                let is_start = turn.state == TurnState::Started;
                // What was asked and is not the end, since the run goes on.
                let passed = is_start.then(|| self.asking.open.take()).flatten();
                let mut lines = self.remark_if(passed);
                lines.extend(match self.is_piped() {
                    true => self.turn_in_pipe(entry, turn, now),
                    false => self.turn(entry, turn, now),
                });
                lines
            }
            EntryKind::TurnEvent(note) if self.is_piped() => {
                let told = self.activity_in_pipe(note, now);
                self.remark_if(told)
            }
            EntryKind::TeamTask(_) if self.is_piped() => Vec::new(),
            _ => self.stored(entry, now),
        }
    }

    fn turn_in_pipe(&mut self, entry: &Entry, turn: &Turn, now: Instant) -> Vec<Line> {
        let (name, id) = (self.shown.name(&turn.member), entry.turn_id());
        let told = match turn.state {
            TurnState::Started => {
                self.speaking = id.map(|id| Speaking::new(id.clone(), turn, now));
                format!("{name} is working")
            }
            TurnState::Done => {
                let figures = self.speaking.as_ref().map(|one| one.figures.sentence(one.time(now)));
                format!("{name} is done: {}", figures.unwrap_or_default())
            }
            TurnState::Cancelled => {
                self.cancelled.extend(id.cloned());
                format!("{name}'s turn is cancelled: {}", turn.cause.sentence(name))
            }
            TurnState::Interrupted => {
                format!("{name}'s turn was interrupted: {}", turn.cause.sentence(name))
            }
            // What failed has said so itself, with the reason.
            TurnState::Failed | TurnState::Queued => return Vec::new(),
        };
        self.remark(&told)
    }

    fn activity_in_pipe(&mut self, note: &TurnEvent, now: Instant) -> Option<String> {
        let is_refused = self.is_refused(note);
        let name = self.shown.name(&note.member);
        let told = narrate::note(name, &note.activity);
        match &note.activity {
            // That it is over was told, and nothing of the agent's is wrong.
            TurnActivity::Failed { .. } if self.cancelled.contains(&note.turn_id) => None,
            TurnActivity::Failed { class, message, cure } => {
                let message = excerpt(message, TROUBLE_COLUMNS);
                let after = self.speaking.as_ref().map(|one| one.time(now));
                let failed = narrate::failure(name, class, &message, after);
                let hint = self.shown.hint(&note.member, class, &message, cure);
                Some(match hint.filter(|_| !is_refused) {
                    Some(hint) => format!("{failed}; {hint}"),
                    None => failed,
                })
            }
            TurnActivity::Thought { .. } => None,
            _ if !narrate::is_live(note) => None,
            TurnActivity::Warned { .. } => Some(excerpt(&told, TROUBLE_COLUMNS)),
            _ => Some(excerpt(&told, LINE_COLUMNS)),
        }
    }
}

/// What is known of who said what, as far as a question needs it.
#[derive(Default)]
pub(super) struct Asking {
    speaker: Option<Box<str>>,
    /// What that person said, if nobody has said anything since.
    newest: Option<EntryId>,
    /// The newest answer, and the name of who gave it.
    answer: Option<(EntryId, Box<str>)>,
    /// What was asked last. If it ends the run, the end tells it.
    open: Option<String>,
}

impl Asking {
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

    /// What is to be told of a question at once.
    fn asked(&mut self, question: &Question, shown: &Shown) -> Option<String> {
        match (&question.why, &question.to) {
            (Why::Answer { entry, .. }, Some(name)) if self.is_for_another(name) => {
                let name = shown.name(name);
                Some(match &self.newest {
                    Some(newest) if newest != entry => {
                        format!("your message waits until {name} has answered{}", self.whom(entry))
                    }
                    _ => format!("waiting for {name} to answer{}", self.whom(entry)),
                })
            }
            (Why::Answer { entry, by, .. }, Some(name)) => {
                // The person of the built-in team has this name.
                let whose = match &**name {
                    "you" => "your turn".to_owned(),
                    name => format!("your turn, {}", shown.name(name)),
                };
                let by = by.as_deref().filter(|by| *by != &**name).map(|by| shown.name(by));
                let by = by.or(self.asker(entry));
                let asked = by.map(|who| format!(": {who} asked you a question"));
                Some(format!("{whose}{}", asked.unwrap_or_default()))
            }
            (Why::Resumed { .. }, _) => None,
            // What was asked before did not end the run, so it is shown now.
            (why, _) => self.open.replace(shown.why(why)),
        }
    }

    /// Whether somebody else than this person has spoken here.
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
