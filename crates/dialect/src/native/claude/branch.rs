//! The end of a conversation: which records a new one may name as its parent without starting a
//! branch. Claude Code runs the calls of an answer at the same time, so the results name the block
//! with their call, and the tree forks where the conversation does not.

use std::collections::HashSet;

use super::usage::Counted;

/// One conversation: the main one or that of a sub-agent.
#[derive(Debug, Default)]
pub(super) struct Branch {
    /// The records since the last prompt or the begin of the last answer, with all beside them.
    end: HashSet<Box<str>>,
    last: Option<Box<str>>,
    before_last: Option<Box<str>>,
    /// The id of the last answer.
    answer: Option<Box<str>>,
    /// Usage of the last answer that was already told.
    pub usage: Counted,
}

impl Branch {
    /// Returns whether a record that follows this one continues the conversation.
    pub(super) fn ends_with(&self, id: &str) -> bool {
        self.end.contains(id)
    }

    /// Returns the last record of the conversation.
    pub(super) fn last(&self) -> Option<&str> {
        self.last.as_deref()
    }

    /// Returns the record before the last one.
    pub(super) fn before_last(&self) -> Option<&str> {
        self.before_last.as_deref()
    }

    /// Adds a record of the conversation.
    pub(super) fn push(&mut self, id: Option<&str>, is_new: bool) {
        if is_new {
            self.end.clear();
        }
        self.push_aside(id);
        self.before_last = self.last.take();
        self.last = id.map(Into::into).or_else(|| self.before_last.clone());
    }

    /// Adds a record beside the conversation.
    pub(super) fn push_aside(&mut self, id: Option<&str>) {
        self.end.extend(id.map(Into::into));
    }

    /// Notes the answer that a record belongs to. Returns whether it is another one than before;
    /// records without an id belong to the same one.
    pub(super) fn begin_answer(&mut self, id: Option<Box<str>>) -> bool {
        if self.answer == id {
            return false;
        }
        self.answer = id;
        self.usage = Counted::default();
        true
    }
}
