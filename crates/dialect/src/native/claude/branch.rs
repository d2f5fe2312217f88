//! The end of a conversation: the records that a new record may name as its parent without starting a branch. Claude
//! Code runs the calls of an answer in parallel. Each result names the block with its call, so the tree of records
//! forks although the conversation does not.

use std::collections::HashSet;

use super::usage::Counted;

/// One conversation: the main one or that of a sub-agent.
#[derive(Debug, Default)]
pub(super) struct Branch {
    /// The records since the last prompt or the beginning of the last answer, including those outside the
    /// conversation.
    end: HashSet<Box<str>>,
    last: Option<Box<str>>,
    before_last: Option<Box<str>>,
    /// The id of the last answer.
    answer: Option<Box<str>>,
    /// The usage of the last answer that was already reported.
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

    /// Adds a record outside the conversation.
    pub(super) fn push_aside(&mut self, id: Option<&str>) {
        self.end.extend(id.map(Into::into));
    }

    /// Records the answer to which a record belongs. Returns whether it is a new answer. A record without an id
    /// belongs to the same answer.
    pub(super) fn begin_answer(&mut self, id: Option<Box<str>>) -> bool {
        if self.answer == id {
            return false;
        }
        self.answer = id;
        self.usage = Counted::default();
        true
    }
}
