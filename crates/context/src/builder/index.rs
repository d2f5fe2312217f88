//! The index that a builder keeps for a log between builds: the branch, the token counts of messages, and the index
//! of recall. With it, the cost of a build depends only on new messages and on those that are sent, not on the whole
//! log. The caller keeps the index. All of it can be computed again from the log.

use std::collections::{HashMap, HashSet};
use std::mem;

use tertulia_session::json::Object;
use tertulia_session::{Entry, EntryError, EntryId, EntryIndex, EntryKind, Message, ViewEntry};

use super::item::has_calls;
use super::recalled::LastRecall;
use super::settled::Settled;
use super::{ContextError, LogIndex};
use crate::branch::{BranchIndex, Landmark};
use crate::files::Files;
use crate::recall::RecallIndex;
use crate::tokens::{MessageCounter, TokenCache, TokenCount, ToolSpec};

/// The index of a log. It starts empty and is updated at every build.
#[derive(Debug, Default)]
pub struct ContextIndex {
    pub(super) entries: EntryIndex,
    pub(super) branch: BranchIndex,
    /// The ids of the first and of the last entry that the index has read.
    ends: Option<[EntryId; 2]>,
    /// The token counts of every entry and of its stub, as far as they were counted.
    counts: Vec<Counts>,
    pub(super) settled: Settled,
    /// Entries that were appended before their parent.
    early: Vec<usize>,
    known: HashMap<EntryId, u64>,
    counter: Option<MessageCounter>,
    frozen: Option<(Message, TokenCount)>,
    tools: Option<(Vec<ToolSpec>, TokenCount)>,
    texts: TokenCache,
    /// How many messages were counted that are not in `texts`.
    counted: u64,
    pub(super) recall: RecallIndex,
    /// The number of entries of the log that recall has indexed.
    pub(super) recalled_until: usize,
    /// The ids of new messages that recall has indexed before they were appended to the log.
    pub(super) recalled_new_messages: Vec<EntryId>,
    pub(super) last_recall: Option<LastRecall>,
    /// Whether any message of the log calls a tool.
    pub(super) has_calls: bool,
    pub(super) files: Files,
    /// The newest entry of the branch that was read for the known lines of files.
    files_until: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    whole: Option<TokenCount>,
    stub: Option<TokenCount>,
}

impl ContextIndex {
    /// Creates an empty index.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds counts that were made before, see [`counts`](Self::counts). The tokenizer must be that of the builder.
    pub fn add_counts(&mut self, counts: impl IntoIterator<Item = (EntryId, u64)>) {
        // Larger counts are wrong, and their sums could overflow.
        let counts = counts.into_iter().map(|(id, tokens)| (id, tokens.min(u64::from(u32::MAX))));
        self.known.extend(counts);
    }

    /// Returns how many texts of messages were counted so far. Counts that were remembered are not included.
    pub fn counted(&self) -> u64 {
        self.counted + self.texts.misses()
    }

    /// Returns the counts that were made so far, in the order of the log: those of entries, and those of their stubs
    /// under an id that ends in `#stub`.
    pub fn counts<'i>(&'i self, log: &'i [Entry]) -> impl Iterator<Item = (EntryId, u64)> + 'i {
        log.iter().zip(&self.counts).flat_map(|(entry, counts)| {
            let whole = counts.whole.map(|count| (entry.id.clone(), count.tokens));
            let stub = counts.stub.map(|count| (stub_id(&entry.id), count.tokens));
            whole.into_iter().chain(stub)
        })
    }

    /// Reads the entries that were appended since the last call. If it is another log, forgets everything first.
    pub(super) fn catch_up(
        &mut self,
        log: &[Entry],
        counter: &MessageCounter,
    ) -> Result<(), ContextError> {
        if !self.starts_with_read_entries(log) {
            let (known, texts) = (mem::take(&mut self.known), mem::take(&mut self.texts));
            *self = Self { known, texts, counted: self.counted, ..Self::default() };
        }
        if self.counter.as_ref() != Some(counter) {
            self.counts.fill(Counts::default());
            (self.frozen, self.tools, self.last_recall) = (None, None, None);
            self.counter = Some(counter.clone());
        }
        let (before, known) = (self.counts.len(), self.entries.len());
        let result = self.entries.catch_up(log);
        if self.entries.len() > known {
            let last = self.entries.len() - 1;
            self.ends =
                log.first().zip(log.get(last)).map(|ends| [ends.0.id.clone(), ends.1.id.clone()]);
        }
        result?;
        self.counts.resize(log.len(), Counts::default());
        for (at, entry) in log.iter().enumerate().skip(before) {
            if entry.parent_id.is_some() && self.parent_before(log, at).is_none() {
                self.early.push(at);
            }
            if let EntryKind::Message(message) = &entry.kind {
                self.has_calls |= has_calls(message);
            }
        }
        self.follow_branch(log);
        self.check_parent_order(log)?;
        let redactions = log.iter().skip(before).filter_map(|entry| match &entry.kind {
            EntryKind::Redaction(redaction) => Some(&redaction.target_id),
            _ => None,
        });
        let mut hidden = HashSet::new();
        for target in redactions {
            self.settled = Settled::default();
            hidden.extend(self.entries.position(target).filter(|hidden| *hidden < before));
        }
        if !hidden.is_empty() {
            self.last_recall = None;
            (self.files, self.files_until) = Default::default();
            self.recall.retain(|place| !hidden.contains(&place));
        }
        Ok(())
    }

    /// Returns whether the log begins with the entries that were read. If ids are computed from content, the last
    /// one depends on all entries before it, so comparing it is enough. Other ids are compared at both ends.
    fn starts_with_read_entries(&self, log: &[Entry]) -> bool {
        let Some([first, last]) = &self.ends else { return true };
        let newest = self.entries.len().checked_sub(1).and_then(|newest| log.get(newest));
        newest.is_some_and(|entry| entry.id == *last)
            && log.first().is_some_and(|entry| entry.id == *first)
    }

    /// Updates the branch. The cost depends on the number of new entries and, if the newest entry is on another
    /// branch, on the entries that the two branches do not share.
    fn follow_branch(&mut self, log: &[Entry]) {
        let mut new = Vec::new();
        let mut shared = self.entries.newest_position();
        while let Some(at) = shared.filter(|at| !self.branch.contains(*at)) {
            new.push(at);
            shared = self.parent_before(log, at);
        }
        self.branch.truncate(shared);
        for at in new.into_iter().rev() {
            self.branch.follow(at, &log[at]);
        }
    }

    /// Updates the known lines of files.
    pub(super) fn follow_files(&mut self, log: &[Entry]) {
        let newest = self.entries.newest_position();
        if self.files_until == newest {
            return;
        }
        if self.files_until.is_some_and(|until| !self.branch.contains(until)) {
            (self.files, self.files_until) = Default::default();
        }
        let until = self.files_until;
        let new = self.branch.before(log.len()).take_while(|at| Some(*at) > until);
        let new: Vec<usize> = new.collect();
        for at in new.into_iter().rev() {
            let view = self.entries.view_entry(log, at);
            if let Some(EntryKind::Message(message)) = view.and_then(|view| view.kind()) {
                self.files.add(at, message);
            }
        }
        self.files_until = newest;
    }

    /// Returns an error if a parent comes later than its child. The index of a branch requires that its entries are
    /// in the order of the log.
    fn check_parent_order(&self, log: &[Entry]) -> Result<(), ContextError> {
        for early in self.early.iter().copied().filter(|early| self.branch.contains(*early)) {
            if let Some(parent) = self.entries.parent_position(log, early) {
                let (entry, parent) = (log[early].id.clone(), log[parent].id.clone());
                return Err(EntryError::ParentCycle { entry, parent }.into());
            }
        }
        Ok(())
    }

    fn parent_before(&self, log: &[Entry], of: usize) -> Option<usize> {
        self.entries.parent_position(log, of).filter(|parent| *parent < of)
    }

    pub(super) fn newest(&self) -> Option<LogIndex> {
        self.entries.newest_position().map(LogIndex)
    }

    pub(super) fn find(&self, id: &EntryId) -> Option<LogIndex> {
        self.entries.position(id).map(LogIndex)
    }

    pub(super) fn view_entry<'a>(&self, log: &'a [Entry], at: LogIndex) -> Option<ViewEntry<'a>> {
        self.entries.view_entry(log, at.0)
    }

    /// Returns the entries of the branch of this kind up to and including `last`, newest first.
    pub(super) fn landmarks(
        &self,
        landmark: Landmark,
        last: Option<LogIndex>,
    ) -> impl Iterator<Item = LogIndex> {
        let landmarks = last.map(|last| self.branch.landmarks(landmark, last.0));
        landmarks.into_iter().flatten().map(LogIndex)
    }

    /// Returns the newest of these entries that is not hidden.
    pub(super) fn visible_landmark(
        &self,
        log: &[Entry],
        landmark: Landmark,
        last: Option<LogIndex>,
    ) -> Option<LogIndex> {
        let may_be_seen =
            |at: &LogIndex| self.view_entry(log, *at).is_some_and(|view| view.entry().is_some());
        self.landmarks(landmark, last).find(may_be_seen)
    }

    /// Returns the visible part of the entries of the branch before this one, newest first.
    pub(super) fn before<'a>(
        &self,
        log: &'a [Entry],
        end: LogIndex,
    ) -> impl Iterator<Item = ViewEntry<'a>> {
        self.branch.before(end.0).filter_map(|at| self.entries.view_entry(log, at))
    }

    pub(super) fn is_on_branch(&self, at: LogIndex) -> bool {
        self.branch.contains(at.0)
    }

    pub(super) fn messages_before(&self, at: LogIndex) -> u64 {
        self.branch.messages_before(at.0) as u64
    }

    pub(super) fn tokens(
        &mut self,
        entry: LogIndex,
        id: &EntryId,
        message: &Message,
        counter: &MessageCounter,
    ) -> TokenCount {
        if let Some(tokens) = self.counts.get(entry.0).and_then(|counts| counts.whole) {
            return tokens;
        }
        let tokens = self.known(id, counter).unwrap_or_else(|| {
            self.counted += 1;
            counter.count_message(message).count
        });
        if let Some(counts) = self.counts.get_mut(entry.0) {
            counts.whole = Some(tokens);
        }
        tokens
    }

    pub(super) fn stub_tokens(
        &mut self,
        entry: LogIndex,
        id: &EntryId,
        count: impl FnOnce() -> TokenCount,
    ) -> TokenCount {
        let known = self.counts.get(entry.0).and_then(|counts| counts.stub);
        known.unwrap_or_else(|| {
            let known = self.counter.as_ref().and_then(|own| self.known(&stub_id(id), own));
            let tokens = known.unwrap_or_else(count);
            if let Some(counts) = self.counts.get_mut(entry.0) {
                counts.stub = Some(tokens);
            }
            tokens
        })
    }

    /// Counts a message that is made anew at every build. The counts of its texts are cached.
    pub(super) fn generated_tokens(
        &mut self,
        message: &Message,
        counter: &MessageCounter,
    ) -> TokenCount {
        counter.count_message_cached(message, &mut self.texts).count
    }

    pub(super) fn frozen_tokens(
        &mut self,
        message: &Message,
        counter: &MessageCounter,
    ) -> TokenCount {
        match &self.frozen {
            Some((frozen, tokens)) if frozen == message => *tokens,
            _ => {
                self.counted += 1;
                let tokens = counter.count_message(message).count;
                self.frozen = Some((message.clone(), tokens));
                tokens
            }
        }
    }

    pub(super) fn tool_tokens(
        &mut self,
        tools: &[ToolSpec],
        counter: &MessageCounter,
    ) -> TokenCount {
        match &self.tools {
            Some((known, tokens)) if known == tools => *tokens,
            _ => {
                let tokens = counter.count_tools(tools);
                self.tools = Some((tools.to_vec(), tokens));
                tokens
            }
        }
    }

    fn known(&self, id: &EntryId, counter: &MessageCounter) -> Option<TokenCount> {
        // If the map is empty, the id is not hashed.
        let tokens = *self.known.get(id)?;
        Some(TokenCount { tokens, is_exact: counter.count_reply().is_exact })
    }
}

fn stub_id(id: &EntryId) -> EntryId {
    EntryId::from(format!("{id}#stub"))
}

/// Returns whether the entry must always be sent whole: its notes, or those of its message, contain `pinned: true`.
pub(super) fn is_pinned(entry: &Entry) -> bool {
    let notes = match &entry.kind {
        EntryKind::Message(message) => [entry.meta.as_ref(), message.meta.as_ref()],
        _ => [None, None],
    };
    notes.into_iter().flatten().any(|meta| {
        let pinned = || Object::try_from(meta.raw()).ok()?.take("pinned");
        meta.as_str().contains("\"pinned\"") && pinned().is_some_and(|raw| raw.get() == "true")
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tertulia_session::{NewEntry, Part};

    use super::*;

    /// Returns entries numbered from 0. The parent of each is the entry of the given number, or the previous one.
    fn tree(parents: &[usize]) -> Vec<Entry> {
        let id = |number: usize| EntryId::from(format!("e-{number}"));
        let entry = |(number, parent): (usize, &usize)| {
            let parts = std::iter::once(Part::text("Shall we?")).collect();
            let message = Message::with_role(tertulia_session::Role::User, parts);
            let new = NewEntry::new(EntryKind::Message(message));
            match number.checked_sub(1) {
                Some(last) => new.with_parent(id((*parent).min(last))).with_id(id(number)),
                None => new.with_id(id(number)),
            }
        };
        parents.iter().enumerate().map(entry).collect()
    }

    fn path(log: &[Entry]) -> Vec<usize> {
        let number = |id: &EntryId| log.iter().position(|entry| entry.id == *id);
        let parent = |at: &usize| log[*at].parent_id.as_ref().and_then(number);
        std::iter::successors(log.len().checked_sub(1), parent).collect()
    }

    proptest! {
        #[test]
        fn a_branch_is_known_the_same_however_often_it_changed(
            parents in proptest::collection::vec(0_usize..40, 1..40),
        ) {
            let (log, counter) = (tree(&parents), MessageCounter::new(Default::default()));
            let mut kept = ContextIndex::new();
            for end in 1..=log.len() {
                let log = &log[..end];
                kept.catch_up(log, &counter).unwrap();
                let mut fresh = ContextIndex::new();
                fresh.catch_up(log, &counter).unwrap();
                prop_assert_eq!(format!("{:?}", kept.branch), format!("{:?}", fresh.branch));
                let path = path(log);
                prop_assert_eq!(&kept.branch.before(end).collect::<Vec<_>>(), &path);
                for at in 0..end {
                    prop_assert_eq!(kept.is_on_branch(LogIndex(at)), path.contains(&at));
                    let before = path.iter().filter(|message| **message < at).count();
                    prop_assert_eq!(kept.messages_before(LogIndex(at)), before as u64);
                }
            }
        }
    }
}
