//! LangChain's `trim_messages` with `strategy="last", include_system=True, allow_partial=False`: keeps the newest
//! messages that fit, wherever the cut is. With `start_on="human"`, it also drops those before the first message of
//! the user; after a long run of calls without a message of the user, only the system prompt is left.

use std::error::Error;

use tertulia_session::{Entry, Role};

use super::baselines::Backlog;
use super::manager::{Manager, Sent, messages};

/// Trims as LangChain does.
#[derive(Debug)]
pub(crate) struct TrimMessages {
    budget: u64,
    start_on: StartOn,
    backlog: Backlog,
    /// The indexes of the user's messages.
    human: Vec<usize>,
    start: usize,
}

/// Where the sent messages may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartOn {
    /// With any message, as is the default of LangChain, even with a result whose call is dropped.
    Any,
    /// With a message of the user.
    Human,
}

impl TrimMessages {
    pub(crate) fn new(budget: u64, start_on: StartOn) -> Self {
        let (backlog, human) = Default::default();
        Self { budget, start_on, backlog, human, start: 0 }
    }
}

impl StartOn {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Any => "trim_messages",
            Self::Human => "trim_messages from a human",
        }
    }
}

impl Manager for TrimMessages {
    fn name(&self) -> String {
        self.start_on.name().to_owned()
    }

    fn step(&mut self, new: &[Entry]) -> Result<Sent, Box<dyn Error>> {
        for message in messages(new) {
            let place = self.backlog.len();
            if self.backlog.push(message) && self.backlog.role(place) == Some(Role::User) {
                self.human.push(place);
            }
        }
        let fitting = self.backlog.fitting(self.budget);
        let next = self.human.partition_point(|place| *place < fitting);
        let start = match self.start_on {
            StartOn::Any => fitting,
            StartOn::Human => self.human.get(next).copied().unwrap_or(self.backlog.len()),
        };
        let cut = start != self.start;
        self.start = start;
        Ok(self.backlog.sent_from(start, cut))
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::Session;
    use super::super::log::Log;
    use super::*;

    /// Every message has five tokens. The expected values below are the results of langchain-core 1.7.2 for the
    /// same lists.
    #[track_caller]
    fn check(start_on: StartOn, budget: u64, expected: &[&str]) {
        let session = Session::of(&[
            ("system", "text", "Be nice."),
            ("user", "text", "mend it."),
            ("assistant", "text", "I did it"),
            ("user", "text", "go on..."),
            ("assistant", "text", "I went.."),
        ]);
        let entries = Log::of_agent(&session).entries;
        let sent = TrimMessages::new(budget, start_on).step(&entries).unwrap();
        let words = sent.pieces.iter().map(|piece| piece.text.lines().last().unwrap_or_default());
        assert_eq!(words.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_newest_messages_that_fit_are_kept() {
        check(StartOn::Any, 20, &["Be nice.", "I did it", "go on...", "I went.."]);
        check(StartOn::Any, 19, &["Be nice.", "go on...", "I went.."]);
    }

    #[test]
    fn what_stands_before_the_first_word_of_the_user_goes_too() {
        check(StartOn::Human, 20, &["Be nice.", "go on...", "I went.."]);
        check(StartOn::Human, 14, &["Be nice."]);
    }

    #[test]
    fn a_system_prompt_over_the_budget_is_kept_alone() {
        check(StartOn::Any, 2, &["Be nice."]);
    }
}
