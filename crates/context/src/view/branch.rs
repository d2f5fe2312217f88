//! The current branch of a log, and what is known of it: messages with words, the summary, the team's task.
//! Of a long branch only the newest messages are read. Those of them that have words are numbered from 0; all
//! messages, read or not, have an ordinal, which is the same however much is read.

use std::collections::HashMap;

use tertulia_session::{CompactionSummary, Entry, EntryId, EntryKind, Message};

/// The author of a summary that a person asked for: what it covers is in no prompt word for word.
pub const REQUESTED: &str = "compact";

/// What is known of a branch. Takes in entries as they come.
#[derive(Clone, Debug, Default)]
pub struct BranchIndex {
    indexes: HashMap<EntryId, usize>,
    /// The indexes of all messages, by their ordinals.
    messages: Vec<usize>,
    /// The indexes of messages with words, as far as they are read.
    said: Vec<usize>,
    team_task: Option<usize>,
    summary: Option<usize>,
    requested: Option<usize>,
}

/// The entries of a branch, from its root on, with their index.
#[derive(Clone, Copy, Debug)]
pub struct Branch<'l> {
    entries: &'l [Entry],
    index: &'l BranchIndex,
}

impl BranchIndex {
    /// Takes in the entry that comes next.
    pub fn push(&mut self, index: usize, entry: &Entry) {
        match &entry.kind {
            EntryKind::Message(message) => {
                self.messages.push(index);
                if !message.text().trim().is_empty() {
                    self.said.push(index);
                }
            }
            EntryKind::Purged(purged) if &*purged.type_name == "message" => {
                self.messages.push(index);
            }
            EntryKind::TeamTask(_) => self.team_task = Some(index),
            // What one member's context was cut to is no summary of the session.
            EntryKind::CompactionSummary(summary) if summary.member.is_none() => {
                self.summary = Some(index);
                if summary.author.as_deref() == Some(REQUESTED) {
                    self.requested = Some(index);
                }
            }
            _ => {}
        }
        self.indexes.insert(entry.id.clone(), index);
    }

    /// Takes in a message that is not read: it comes before all that are.
    pub fn push_unread(&mut self, index: usize) {
        self.messages.push(index);
    }

    /// Returns the index of an entry that is read.
    pub fn index_of(&self, id: &EntryId) -> Option<usize> {
        self.indexes.get(id).copied()
    }
}

impl<'l> Branch<'l> {
    /// A branch whose entries the index has taken in.
    pub fn new(entries: &'l [Entry], index: &'l BranchIndex) -> Self {
        Self { entries, index }
    }

    /// Returns the entries, from the root on.
    pub fn entries(self) -> &'l [Entry] {
        self.entries
    }

    /// Returns the number of messages with words that are read.
    pub fn said_count(self) -> usize {
        self.index.said.len()
    }

    /// Returns the message of this number, with its entry and the index of that.
    pub fn said(self, number: usize) -> Option<(usize, &'l Entry, &'l Message)> {
        self.message_at(*self.index.said.get(number)?)
    }

    /// Returns the number of a message with words.
    pub fn number_of(self, id: &EntryId) -> Option<usize> {
        self.index.said.binary_search(self.index.indexes.get(id)?).ok()
    }

    /// Returns the index of an entry that is read.
    pub fn index_of(self, id: &EntryId) -> Option<usize> {
        self.index.index_of(id)
    }

    /// Returns the number of all messages, read or not.
    pub fn message_count(self) -> usize {
        self.index.messages.len()
    }

    /// Returns the number of messages before an index.
    pub fn messages_before(self, index: usize) -> usize {
        self.index.messages.partition_point(|message| *message < index)
    }

    /// Returns the index of the message of this ordinal.
    pub fn index_of_message(self, ordinal: usize) -> Option<usize> {
        self.index.messages.get(ordinal).copied()
    }

    pub(super) fn message(self, ordinal: usize) -> Option<(usize, &'l Entry, &'l Message)> {
        self.message_at(self.index_of_message(ordinal)?)
    }

    /// Returns the number of the first message with words that is not before this ordinal.
    pub fn said_from(self, ordinal: usize) -> usize {
        let from = self.index_of_message(ordinal).unwrap_or(usize::MAX);
        self.index.said.partition_point(|index| *index < from)
    }

    /// Returns the newest summary, its index, and the number of the first message that it does not cover.
    pub fn summary(self) -> Option<(usize, &'l CompactionSummary, usize)> {
        self.summary_at(self.index.summary?)
    }

    /// Returns the number of messages, read or not, that the newest summary stands for: all before the first one
    /// that it keeps.
    pub fn covered(self) -> usize {
        let summary = self.index.summary.and_then(|index| self.summary_and_kept(index));
        summary.map_or(0, |(_, kept)| self.messages_before(kept))
    }

    /// Returns the number of messages that go into no prompt word for word, because a person had them summarised.
    pub fn compacted(self) -> usize {
        let summary = self.index.requested.and_then(|index| self.summary_at(index));
        summary.map_or(0, |(.., covered)| covered)
    }

    /// Returns the team's task, and the index of the entry that sets it.
    pub fn team_task(self) -> Option<(usize, &'l str)> {
        let index = self.index.team_task?;
        match &self.entries.get(index)?.kind {
            EntryKind::TeamTask(task) => Some((index, task.task.as_deref()?)),
            _ => None,
        }
    }

    fn message_at(self, index: usize) -> Option<(usize, &'l Entry, &'l Message)> {
        let entry = self.entries.get(index)?;
        match &entry.kind {
            EntryKind::Message(message) => Some((index, entry, message)),
            _ => None,
        }
    }

    fn summary_at(self, index: usize) -> Option<(usize, &'l CompactionSummary, usize)> {
        let (summary, kept) = self.summary_and_kept(index)?;
        Some((index, summary, self.index.said.partition_point(|index| *index < kept)))
    }

    /// Returns a summary, and the index of the first entry that it does not cover.
    fn summary_and_kept(self, index: usize) -> Option<(&'l CompactionSummary, usize)> {
        let EntryKind::CompactionSummary(summary) = &self.entries.get(index)?.kind else {
            return None;
        };
        Some((summary, self.index.index_of(&summary.first_kept_entry_id)?))
    }
}
