//! What a builder remembers of a log between builds, so that a build costs what is sent and not what
//! was ever said: where the branch turns, what messages cost, what recall can find. Kept by the
//! caller; any of it can be made again from the log alone.

use std::collections::{HashMap, HashSet};
use std::mem;

use tertulia_session::json::{self, Object};
use tertulia_session::{
    Entry, EntryError, EntryId, EntryIndex, EntryKind, Message, PartKind, Role, ViewEntry,
};

use super::recalled::LastRecall;
use super::repair::says_something;
use super::settled::Settled;
use super::{ContextError, LogIndex};
use crate::recall::RecallIndex;
use crate::tokens::{MessageCounter, TokenCache, TokenCount, ToolSpec};

/// What is known of a log. Starts empty, catches up with the log at every build.
#[derive(Debug, Default)]
pub struct ContextIndex {
    pub(super) entries: EntryIndex,
    /// The ids of the first and of the last entry that are known.
    ends: Option<[EntryId; 2]>,
    facts: Vec<Fact>,
    pub(super) settled: Settled,
    /// Entries whose parent was not there when they came.
    early: Vec<LogIndex>,
    known: HashMap<EntryId, u64>,
    counter: Option<MessageCounter>,
    frozen: Option<(Message, TokenCount)>,
    tools: Option<(Vec<ToolSpec>, TokenCount)>,
    texts: TokenCache,
    /// How many messages were counted that are not in `texts`.
    counted: u64,
    pub(super) recall: RecallIndex,
    /// How many entries recall has been shown.
    pub(super) recalled_until: usize,
    /// Those that it was shown beyond the log: messages that had arrived and were to be appended.
    pub(super) recalled_arrivals: Vec<EntryId>,
    pub(super) last_recall: Option<LastRecall>,
}

#[derive(Clone, Copy, Debug)]
struct Fact {
    trail: Trail,
    /// The first index of the run of entries that follow each other in the log as on the branch.
    run_start: u32,
    messages: u32,
    tokens: Option<TokenCount>,
    stub_tokens: Option<TokenCount>,
}

/// The nearest entry of each sign on the way back to the root, the entry itself included; `NOWHERE` if none.
#[derive(Clone, Copy, Debug)]
struct Trail([u32; 6]);

#[derive(Clone, Copy, Debug)]
pub(super) enum Sign {
    /// A summary or a cut.
    Mark,
    Summary,
    /// Another system prompt.
    Prompt,
    /// The data of a run.
    Init,
    /// A user's message.
    Request,
    Usage,
}

const NOWHERE: u32 = u32::MAX;

impl ContextIndex {
    /// An index of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes over counts that were made before, see [`counts`](Self::counts). They must have been made
    /// with the tokenizer of the builder.
    pub fn know_counts(&mut self, counts: impl IntoIterator<Item = (EntryId, u64)>) {
        // Larger ones are nonsense, and sums of them would be too.
        let counts = counts.into_iter().map(|(id, tokens)| (id, tokens.min(u64::from(u32::MAX))));
        self.known.extend(counts);
    }

    /// Returns how many texts of messages were counted so far, those that were remembered aside.
    pub fn counted(&self) -> u64 {
        self.counted + self.texts.misses()
    }

    /// The counts that were made so far, in the order of the log: of entries, and, under an id that
    /// ends in `#stub`, of their stubs.
    pub fn counts<'i>(&'i self, log: &'i [Entry]) -> impl Iterator<Item = (EntryId, u64)> + 'i {
        log.iter().zip(&self.facts).flat_map(|(entry, fact)| {
            let whole = fact.tokens.map(|count| (entry.id.clone(), count.tokens));
            let stub = fact.stub_tokens.map(|count| (stub_id(&entry.id), count.tokens));
            whole.into_iter().chain(stub)
        })
    }

    /// Takes in what was appended to the log since. All that is known of another log is forgotten.
    pub(super) fn catch_up(
        &mut self,
        log: &[Entry],
        counter: &MessageCounter,
    ) -> Result<(), ContextError> {
        if !self.knows(log) {
            let (known, texts) = (mem::take(&mut self.known), mem::take(&mut self.texts));
            *self = Self { known, texts, counted: self.counted, ..Self::default() };
        }
        if self.counter.as_ref() != Some(counter) {
            for fact in &mut self.facts {
                (fact.tokens, fact.stub_tokens) = (None, None);
            }
            (self.frozen, self.tools, self.last_recall) = (None, None, None);
            self.counter = Some(counter.clone());
        }
        let (before, known) = (self.facts.len(), self.entries.len());
        let result = self.entries.catch_up(log);
        if self.entries.len() > known {
            let last = self.entries.len() - 1;
            self.ends =
                log.first().zip(log.get(last)).map(|ends| [ends.0.id.clone(), ends.1.id.clone()]);
        }
        result?;
        for (at, entry) in log.iter().enumerate().skip(before) {
            let at = LogIndex(at);
            let fact = self.fact_of(log, at, entry);
            self.facts.push(fact);
            if entry.parent_id.is_some() && self.parent_before(log, at).is_none() {
                self.early.push(at);
            }
        }
        self.refuse_late_parents(log)?;
        let redactions = log.iter().skip(before).filter_map(|entry| match &entry.kind {
            EntryKind::Redaction(redaction) => Some(&redaction.target_id),
            _ => None,
        });
        let mut hidden = HashSet::new();
        for target in redactions {
            self.settled = Settled::default();
            hidden.extend(self.entries.place(target).filter(|hidden| *hidden < before));
        }
        if !hidden.is_empty() {
            self.last_recall = None;
            self.recall.retain(|place| !hidden.contains(&place));
        }
        Ok(())
    }

    /// Whether the log begins with the entries that are known. Ids of content name all before them, so the last
    /// one says it; other ids are compared at both ends.
    fn knows(&self, log: &[Entry]) -> bool {
        let Some([first, last]) = &self.ends else { return true };
        let newest = self.entries.len().checked_sub(1).and_then(|newest| log.get(newest));
        newest.is_some_and(|entry| entry.id == *last)
            && log.first().is_some_and(|entry| entry.id == *first)
    }

    /// What is known of an entry follows from its parent, so that must have been there before.
    fn refuse_late_parents(&self, log: &[Entry]) -> Result<(), ContextError> {
        let Some(tail) = self.newest() else { return Ok(()) };
        for early in self.early.iter().copied() {
            let parent = self.parent(log, early).and_then(|parent| log.get(parent.0));
            if let (Some(parent), true) = (parent, self.is_ancestor(log, early, tail)) {
                let (entry, parent) = (log[early.0].id.clone(), parent.id.clone());
                return Err(EntryError::ParentCycle { entry, parent }.into());
            }
        }
        Ok(())
    }

    fn parent_before(&self, log: &[Entry], of: LogIndex) -> Option<LogIndex> {
        self.parent(log, of).filter(|parent| *parent < of)
    }

    pub(super) fn newest(&self) -> Option<LogIndex> {
        self.entries.newest_place().map(LogIndex)
    }

    pub(super) fn find(&self, id: &EntryId) -> Option<LogIndex> {
        self.entries.place(id).map(LogIndex)
    }

    pub(super) fn parent(&self, log: &[Entry], of: LogIndex) -> Option<LogIndex> {
        self.entries.parent_place(log, of.0).map(LogIndex)
    }

    pub(super) fn see<'a>(&self, log: &'a [Entry], at: LogIndex) -> Option<ViewEntry<'a>> {
        self.entries.see(log, at.0)
    }

    fn fact(&self, of: LogIndex) -> Option<&Fact> {
        self.facts.get(of.0)
    }

    pub(super) fn signs<'i>(
        &'i self,
        log: &'i [Entry],
        from: Option<LogIndex>,
        sign: Sign,
    ) -> impl Iterator<Item = LogIndex> + 'i {
        let nearest = move |at: LogIndex| self.fact(at)?.trail.get(sign);
        let first = from.and_then(nearest);
        std::iter::successors(first, move |at| nearest(self.parent(log, *at)?))
    }

    /// The nearest of these signs whose content may be seen.
    pub(super) fn seen_sign(
        &self,
        log: &[Entry],
        from: Option<LogIndex>,
        sign: Sign,
    ) -> Option<LogIndex> {
        let may_be_seen =
            |at: &LogIndex| self.see(log, *at).is_some_and(|view| view.entry().is_some());
        self.signs(log, from, sign).find(may_be_seen)
    }

    pub(super) fn messages_until(&self, last: Option<LogIndex>) -> u64 {
        last.and_then(|last| self.fact(last)).map_or(0, |fact| u64::from(fact.messages))
    }

    /// Whether the first is on the way from the second to its root.
    pub(super) fn is_ancestor(&self, log: &[Entry], ancestor: LogIndex, of: LogIndex) -> bool {
        let mut at = of;
        // Every step goes back in the log, but for a parent that comes later than its child.
        for _ in 0..=self.facts.len() {
            let Some(fact) = self.fact(at) else { return false };
            let start = LogIndex(fact.run_start as usize);
            if (start..=at).contains(&ancestor) {
                return true;
            }
            match self.parent(log, start) {
                Some(parent) => at = parent,
                None => return false,
            }
        }
        false
    }

    pub(super) fn tokens(
        &mut self,
        entry: LogIndex,
        id: &EntryId,
        message: &Message,
        counter: &MessageCounter,
    ) -> TokenCount {
        if let Some(tokens) = self.fact(entry).and_then(|fact| fact.tokens) {
            return tokens;
        }
        let tokens = self.known(id, counter).unwrap_or_else(|| {
            self.counted += 1;
            counter.count_message(message).count
        });
        if let Some(fact) = self.facts.get_mut(entry.0) {
            fact.tokens = Some(tokens);
        }
        tokens
    }

    pub(super) fn stub_tokens(
        &mut self,
        entry: LogIndex,
        id: &EntryId,
        count: impl FnOnce() -> TokenCount,
    ) -> TokenCount {
        let known = self.fact(entry).and_then(|fact| fact.stub_tokens);
        known.unwrap_or_else(|| {
            let known = self.counter.as_ref().and_then(|own| self.known(&stub_id(id), own));
            let tokens = known.unwrap_or_else(count);
            if let Some(fact) = self.facts.get_mut(entry.0) {
                fact.stub_tokens = Some(tokens);
            }
            tokens
        })
    }

    /// What a message costs that is made anew at every build; its texts are looked up.
    pub(super) fn made_tokens(
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
        // An empty map is asked without hashing the id.
        let tokens = *self.known.get(id)?;
        Some(TokenCount { tokens, is_exact: counter.count_reply().is_exact })
    }

    fn fact_of(&self, log: &[Entry], at: LogIndex, entry: &Entry) -> Fact {
        let parent = self.parent_before(log, at);
        let above = parent.and_then(|parent| self.fact(parent));
        let here = u32::try_from(at.0).unwrap_or(NOWHERE);
        let follows = parent.is_some_and(|parent| parent.0 + 1 == at.0);
        let run_start = above.filter(|_| follows).map_or(here, |fact| fact.run_start);
        let is_message = matches!(entry.kind, EntryKind::Message(_));
        let mut trail = above.map_or(Trail([NOWHERE; 6]), |fact| fact.trail);
        trail.pass(here, entry);
        Fact {
            trail,
            run_start,
            messages: above.map_or(0, |fact| fact.messages) + u32::from(is_message),
            tokens: None,
            stub_tokens: None,
        }
    }
}

impl Trail {
    fn get(&self, sign: Sign) -> Option<LogIndex> {
        let nearest = self.0[sign as usize];
        (nearest != NOWHERE).then_some(LogIndex(nearest as usize))
    }

    fn pass(&mut self, here: u32, entry: &Entry) {
        let mut set = |sign: Sign| self.0[sign as usize] = here;
        match &entry.kind {
            EntryKind::CompactionSummary(_) => {
                set(Sign::Mark);
                set(Sign::Summary);
            }
            EntryKind::ContextCut(_) => set(Sign::Mark),
            EntryKind::SystemPromptOverride(_) => set(Sign::Prompt),
            EntryKind::RuntimeInit(_) => set(Sign::Init),
            EntryKind::Usage(_) => set(Sign::Usage),
            EntryKind::Message(message) => {
                if is_request(message) {
                    set(Sign::Request);
                }
                if reported_usage(message).is_some() {
                    set(Sign::Usage);
                }
            }
            _ => {}
        }
    }
}

fn stub_id(id: &EntryId) -> EntryId {
    EntryId::from(format!("{id}#stub"))
}

/// Whether somebody asks something with it. What a user's message cannot have is left out of it, so it asks nothing.
pub(super) fn is_request(message: &Message) -> bool {
    let is_misplaced =
        |kind: &PartKind| matches!(kind, PartKind::ToolCall(_) | PartKind::ToolResult(_));
    message.effective_role() == Role::User
        && message.parts.iter().any(|part| says_something(part) && !is_misplaced(&part.kind))
}

/// Whether the entry must always be sent as it is: `pinned: true` in its notes or its message's.
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

/// The tokens that the answer's request had, as its provider reported them in `meta.usage`.
pub(super) fn reported_usage(message: &Message) -> Option<u64> {
    let meta = message.meta.as_ref().filter(|meta| meta.as_str().contains("\"usage\""))?;
    let mut object = Object::try_from(meta.raw()).ok()?;
    let mut usage = Object::try_from(object.take("usage")?).ok()?;
    json::whole_number(usage.take("inputTokens")?).ok()
}
