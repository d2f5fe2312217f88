//! What a person is asked during a run, in words: whose turn it is, and who waits for whom. Knows no stream.

use tertulia_session::{Entry, EntryId, Message};
use tertulia_team::{Question, Why};

use tertulia_chat::Shown;

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
    pub(super) fn message(&mut self, entry: &Entry, message: &Message) {
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
    pub(super) fn asked(&mut self, question: &Question, shown: &Shown) -> Option<String> {
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

    /// What was asked and is not the end, since the run goes on.
    pub(super) fn passed(&mut self) -> Option<String> {
        self.open.take()
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
