//! An index of the current branch of a log: its messages, and the newest entries that determine which of them are
//! sent. Views and builds start from it. Of a long branch, only the newest messages are read. Each of them that has
//! text gets a number, from 0 on. Every message, read or not, has an ordinal, which does not depend on how much was
//! read.

use std::collections::HashMap;
use std::ops::Range;

use tertulia_session::json::{self, Object};
use tertulia_session::{
    CompactionSummary, Entry, EntryId, EntryKind, Message, Part, PartKind, Role,
};

use crate::whitespace::trim;

/// The author of a summary that a person requested. The messages that such a summary covers are in no prompt word
/// for word.
pub const REQUESTED: &str = "compact";

/// The state of a branch, updated with each new entry. All lists contain indexes of the log in ascending order.
#[derive(Clone, Debug, Default)]
pub struct BranchIndex {
    /// The branch, as ranges of entries that are consecutive in the log too.
    ranges: Vec<Range<usize>>,
    indexes: HashMap<EntryId, usize>,
    messages: Vec<usize>,
    /// The messages with text, as far as they are read.
    text_messages: Vec<usize>,
    landmarks: [Vec<usize>; LANDMARK_COUNT],
}

/// An entry that affects the context and is not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Landmark {
    /// A summary or a cut.
    Cut,
    Summary,
    /// A summary that a person requested.
    RequestedSummary,
    /// Another system prompt.
    SystemPrompt,
    /// The data of a run.
    RuntimeInit,
    /// A user's message.
    Request,
    Usage,
    TeamTask,
    /// Recalled text that replaces everything recalled before.
    Recall,
}

const LANDMARK_COUNT: usize = Landmark::Recall as usize + 1;

/// The entries of a branch, from its root on, with their index.
#[derive(Clone, Copy, Debug)]
pub struct Branch<'l> {
    entries: &'l [Entry],
    index: &'l BranchIndex,
    /// Only the entries before this index belong to it.
    end: usize,
}

impl BranchIndex {
    /// Adds the next entry, so that it can be found by its id.
    pub fn push(&mut self, index: usize, entry: &Entry) {
        self.follow(index, entry);
        self.indexes.insert(entry.id.clone(), index);
    }

    /// Adds a message that is not read. It comes before all messages that are.
    pub fn push_unread(&mut self, index: usize) {
        self.messages.push(index);
    }

    /// Returns the index of an entry that is read.
    pub fn index_of(&self, id: &EntryId) -> Option<usize> {
        self.indexes.get(id).copied()
    }

    /// Adds the next entry, which cannot be found by its id.
    pub(crate) fn follow(&mut self, index: usize, entry: &Entry) {
        match self.ranges.last_mut() {
            Some(last) if last.end == index => last.end += 1,
            _ => self.ranges.push(index..index + 1),
        }
        match &entry.kind {
            EntryKind::Message(message) => {
                self.messages.push(index);
                if has_text(message) {
                    self.text_messages.push(index);
                }
                if is_request(message) {
                    self.add_landmark(Landmark::Request, index);
                }
                if reported_usage(message).is_some() {
                    self.add_landmark(Landmark::Usage, index);
                }
            }
            EntryKind::Purged(purged) if &*purged.type_name == "message" => {
                self.messages.push(index);
            }
            EntryKind::CompactionSummary(summary) => {
                self.add_landmark(Landmark::Cut, index);
                self.add_landmark(Landmark::Summary, index);
                if summary.member.is_none() && summary.author.as_deref() == Some(REQUESTED) {
                    self.add_landmark(Landmark::RequestedSummary, index);
                }
            }
            EntryKind::ContextCut(_) => self.add_landmark(Landmark::Cut, index),
            EntryKind::SystemPromptOverride(_) => self.add_landmark(Landmark::SystemPrompt, index),
            EntryKind::RuntimeInit(_) => self.add_landmark(Landmark::RuntimeInit, index),
            EntryKind::Usage(_) => self.add_landmark(Landmark::Usage, index),
            EntryKind::TeamTask(_) => self.add_landmark(Landmark::TeamTask, index),
            EntryKind::Recall(recall) if recall.replaces => {
                self.add_landmark(Landmark::Recall, index)
            }
            _ => {}
        }
    }

    /// Removes the entries after this one; all of them, for `None`. Only for entries that were added without their
    /// ids.
    pub(crate) fn truncate(&mut self, last: Option<usize>) {
        let end = last.map_or(0, |last| last + 1);
        self.ranges.truncate(self.ranges.partition_point(|range| range.start < end));
        if let Some(last) = self.ranges.last_mut() {
            last.end = last.end.min(end);
        }
        for list in
            [&mut self.messages, &mut self.text_messages].into_iter().chain(&mut self.landmarks)
        {
            list.truncate(list.partition_point(|index| *index < end));
        }
    }

    /// Returns whether an entry is on the branch.
    pub(crate) fn contains(&self, index: usize) -> bool {
        let after = self.ranges.partition_point(|range| range.start <= index);
        let range = after.checked_sub(1).and_then(|last| self.ranges.get(last));
        range.is_some_and(|range| range.contains(&index))
    }

    /// Returns the entries of the branch before an index, newest first.
    pub(crate) fn before(&self, end: usize) -> impl Iterator<Item = usize> {
        let ranges = self.ranges.partition_point(|range| range.start < end);
        let ranges = self.ranges[..ranges].iter().rev();
        ranges.flat_map(move |range| (range.start..range.end.min(end)).rev())
    }

    /// Returns the entries of this kind up to and including `last`, newest first.
    pub(crate) fn landmarks(&self, landmark: Landmark, last: usize) -> impl Iterator<Item = usize> {
        let landmarks = &self.landmarks[landmark as usize];
        let until = landmarks.partition_point(|index| *index <= last);
        landmarks[..until].iter().rev().copied()
    }

    fn add_landmark(&mut self, landmark: Landmark, index: usize) {
        self.landmarks[landmark as usize].push(index);
    }

    /// Returns the number of messages before an index.
    pub(crate) fn messages_before(&self, index: usize) -> usize {
        self.messages.partition_point(|message| *message < index)
    }
}

impl<'l> Branch<'l> {
    /// Creates a branch from its entries and their index.
    pub fn new(entries: &'l [Entry], index: &'l BranchIndex) -> Self {
        Self { entries, index, end: entries.len() }
    }

    /// Returns the branch as it was before the entry at this index.
    #[must_use]
    pub fn before(self, end: usize) -> Self {
        Self { end: end.min(self.end), ..self }
    }

    /// Returns the branch with all its entries.
    #[must_use]
    pub fn whole(self) -> Self {
        Self { end: self.entries.len(), ..self }
    }

    /// Returns the entries, from the root on.
    pub fn entries(self) -> &'l [Entry] {
        self.entries.get(..self.end).unwrap_or_default()
    }

    /// Returns the number of messages with text that are read.
    pub fn text_message_count(self) -> usize {
        self.index.text_messages.partition_point(|index| *index < self.end)
    }

    /// Returns the message of this number with its entry and the index of the entry.
    pub fn text_message(self, number: usize) -> Option<(usize, &'l Entry, &'l Message)> {
        self.message_at(*self.index.text_messages.get(number)?)
    }

    /// Returns the number of a message with text.
    pub fn number_of(self, id: &EntryId) -> Option<usize> {
        self.index.text_messages.binary_search(&self.index_of(id)?).ok()
    }

    /// Returns the index of an entry that is read.
    pub fn index_of(self, id: &EntryId) -> Option<usize> {
        self.index.index_of(id).filter(|index| *index < self.end)
    }

    /// Returns the number of all messages, read or not.
    pub fn message_count(self) -> usize {
        self.messages_before(self.end)
    }

    /// Returns the number of messages before an index.
    pub fn messages_before(self, index: usize) -> usize {
        self.index.messages_before(index.min(self.end))
    }

    /// Returns the index of the message of this ordinal.
    pub fn index_of_message(self, ordinal: usize) -> Option<usize> {
        self.index.messages.get(ordinal).copied().filter(|index| *index < self.end)
    }

    pub(crate) fn message(self, ordinal: usize) -> Option<(usize, &'l Entry, &'l Message)> {
        self.message_at(self.index_of_message(ordinal)?)
    }

    /// Returns the number of the first message with text whose ordinal is at least this one.
    pub fn first_text_message_from(self, ordinal: usize) -> usize {
        let from = self.index_of_message(ordinal).unwrap_or(self.end);
        self.index.text_messages.partition_point(|index| *index < from)
    }

    /// Returns the newest summary, its index, and the number of the first message that it does not cover.
    pub fn summary(self) -> Option<(usize, &'l CompactionSummary, usize)> {
        self.summary_at(self.newest_summary()?)
    }

    /// Returns the text of the summary at this index, also if it was written after the end of this branch.
    pub(crate) fn summary_text(self, index: usize) -> Option<&'l str> {
        Some(&self.whole().summary_at(index)?.1.summary)
    }

    /// Returns the number of messages, read or not, that the newest summary replaces: all before the first one
    /// that it keeps.
    pub fn covered(self) -> usize {
        let summary = self.newest_summary().and_then(|index| self.summary_and_kept(index));
        summary.map_or(0, |(_, kept)| self.messages_before(kept))
    }

    /// Returns how many messages are covered by a summary that a person requested. They are in no prompt word for
    /// word.
    pub fn compacted(self) -> usize {
        let summary =
            self.newest(Landmark::RequestedSummary).and_then(|index| self.summary_at(index));
        summary.map_or(0, |(.., covered)| covered)
    }

    /// Returns the team's task, and the index of the entry that sets it.
    pub fn team_task(self) -> Option<(usize, &'l str)> {
        let index = self.newest(Landmark::TeamTask)?;
        match &self.entries.get(index)?.kind {
            EntryKind::TeamTask(task) => Some((index, task.task.as_deref()?)),
            _ => None,
        }
    }

    fn newest(self, landmark: Landmark) -> Option<usize> {
        self.landmarks(landmark).next()
    }

    fn landmarks(self, landmark: Landmark) -> impl Iterator<Item = usize> {
        let last = self.end.checked_sub(1);
        last.into_iter().flat_map(move |last| self.index.landmarks(landmark, last))
    }

    /// Returns the newest summary of the whole session, not one of a single member's context.
    fn newest_summary(self) -> Option<usize> {
        let is_shared = |index: &usize| match self.entries.get(*index).map(|entry| &entry.kind) {
            Some(EntryKind::CompactionSummary(summary)) => summary.member.is_none(),
            _ => false,
        };
        self.landmarks(Landmark::Summary).find(is_shared)
    }

    fn message_at(self, index: usize) -> Option<(usize, &'l Entry, &'l Message)> {
        let entry = self.entries().get(index)?;
        match &entry.kind {
            EntryKind::Message(message) => Some((index, entry, message)),
            _ => None,
        }
    }

    fn summary_at(self, index: usize) -> Option<(usize, &'l CompactionSummary, usize)> {
        let (summary, kept) = self.summary_and_kept(index)?;
        Some((index, summary, self.index.text_messages.partition_point(|index| *index < kept)))
    }

    /// Returns a summary, and the index of the first entry that it does not cover.
    fn summary_and_kept(self, index: usize) -> Option<(&'l CompactionSummary, usize)> {
        let EntryKind::CompactionSummary(summary) = &self.entries.get(index)?.kind else {
            return None;
        };
        Some((summary, self.index_of(&summary.first_kept_entry_id)?))
    }
}

fn has_text(message: &Message) -> bool {
    let is_text = |kind: &PartKind| matches!(kind, PartKind::Text(text) if !text.trim().is_empty());
    message.parts.iter().any(|part| is_text(&part.kind))
}

/// Returns whether a message is a request. Parts that are not allowed in a user's message are ignored, because they
/// are not sent.
pub(crate) fn is_request(message: &Message) -> bool {
    let is_misplaced =
        |kind: &PartKind| matches!(kind, PartKind::ToolCall(_) | PartKind::ToolResult(_));
    message.effective_role() == Role::User
        && message.parts.iter().any(|part| says_something(part) && !is_misplaced(&part.kind))
}

/// Returns the input tokens of the request for this answer, as its provider reported them in `meta.usage`.
pub(crate) fn reported_usage(message: &Message) -> Option<u64> {
    let meta = message.meta.as_ref().filter(|meta| meta.as_str().contains("\"usage\""))?;
    let mut object = Object::try_from(meta.raw()).ok()?;
    let mut usage = Object::try_from(object.take("usage")?).ok()?;
    json::whole_number(usage.take("inputTokens")?).ok()
}

/// Returns whether a part contains something that a model reads. No provider accepts a message that is only
/// thinking.
pub(crate) fn says_something(part: &Part) -> bool {
    match &part.kind {
        PartKind::Text(text) => !trim(text).is_empty(),
        PartKind::Thinking(_) => false,
        PartKind::ToolCall(_)
        | PartKind::ToolResult(_)
        | PartKind::Image(_)
        | PartKind::FileRef(_)
        | PartKind::Other(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use tertulia_session::record::read_entry_line;

    use super::*;

    #[test]
    fn what_one_member_was_cut_to_is_no_summary_that_a_person_asked_for() {
        let summary = |member: &str| {
            format!(
                r#"{{"id":"s","type":"compaction_summary","payload":{{"summary":"s","author":"compact","firstKeptEntryId":"m2"{member}}}}}"#
            )
        };
        for (member, compacted) in [("", 1), (r#","member":"bob""#, 0)] {
            let said = |id| {
                format!(
                    r#"{{"id":"{id}","type":"message","payload":{{"role":"user","content":"a"}}}}"#
                )
            };
            let lines = [said("m1"), said("m2"), summary(member)];
            let entries: Vec<Entry> =
                lines.iter().map(|line| read_entry_line(1, line).unwrap()).collect();
            let mut index = BranchIndex::default();
            for (at, entry) in entries.iter().enumerate() {
                index.push(at, entry);
            }
            assert_eq!(Branch::new(&entries, &index).compacted(), compacted);
        }
    }

    #[test]
    fn a_branch_that_ends_earlier_shows_nothing_of_what_follows() {
        let said = |id: &str| {
            format!(r#"{{"id":"{id}","type":"message","payload":{{"role":"user","content":"a"}}}}"#)
        };
        let task = |task: &str| {
            format!(r#"{{"id":"{task}","type":"team_task","payload":{{"task":"{task}"}}}}"#)
        };
        let summary = |id: &str, kept: &str| {
            format!(
                r#"{{"id":"{id}","type":"compaction_summary","payload":{{"summary":"{id}","author":"compact","firstKeptEntryId":"{kept}"}}}}"#
            )
        };
        let lines = [
            said("m1"),
            task("t1"),
            said("m2"),
            summary("s1", "m2"),
            said("m3"),
            task("t2"),
            summary("s2", "m3"),
            said("m4"),
        ];
        let entries: Vec<Entry> =
            lines.iter().map(|line| read_entry_line(1, line).unwrap()).collect();
        let mut index = BranchIndex::default();
        for (at, entry) in entries.iter().enumerate() {
            index.push(at, entry);
        }
        let whole = Branch::new(&entries, &index);
        for end in 0..=entries.len() {
            // An index that knows only these entries gives the same.
            let mut short = BranchIndex::default();
            for (at, entry) in entries[..end].iter().enumerate() {
                short.push(at, entry);
            }
            let (cut, short) = (whole.before(end), Branch::new(&entries[..end], &short));
            assert_eq!(cut.entries(), short.entries());
            assert_eq!(cut.text_message_count(), short.text_message_count());
            assert_eq!(cut.message_count(), short.message_count());
            assert_eq!(cut.team_task(), short.team_task());
            assert_eq!(cut.compacted(), short.compacted());
            assert_eq!(cut.covered(), short.covered());
            assert_eq!(cut.summary().map(|(at, ..)| at), short.summary().map(|(at, ..)| at));
            for number in 0..5 {
                assert_eq!(cut.text_message(number), short.text_message(number));
                assert_eq!(cut.index_of_message(number), short.index_of_message(number));
                let first = Branch::first_text_message_from;
                assert_eq!(first(cut, number), first(short, number));
            }
            for entry in &entries {
                assert_eq!(cut.number_of(&entry.id), short.number_of(&entry.id));
                assert_eq!(cut.index_of(&entry.id), short.index_of(&entry.id));
            }
            assert_eq!(cut.whole().entries().len(), entries.len());
        }
    }
}
