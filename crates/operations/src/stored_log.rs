//! The log of a stored session in memory with its indexes, so that the next context only processes new entries.
//! `tertulia build --session` uses it once, and `tertulia rpc` as long as it runs.

use std::collections::HashSet;
use std::mem;

use tertulia_context::builder::ContextIndex;
use tertulia_context::tokens::MessageCounter;
use tertulia_session::{ChainLink, Entry, EntryId, EntryKind};
use tertulia_store::{Range, Seq, SessionId, SessionStore, StoreError, StoredEntry, TokenCount};

use crate::model_context::BuildInput;

/// The log of a session.
pub struct StoredLog {
    session: SessionId,
    /// All entries, not only those of one branch, because a redaction may be on another branch than its target.
    entries: Vec<Entry>,
    counts: Vec<(EntryId, TokenCount)>,
    last: Option<Last>,
    index: ContextIndex,
    counter: Option<MessageCounter>,
}

#[derive(Clone, PartialEq, Eq)]
struct Last {
    id: EntryId,
    seq: Seq,
    link: ChainLink,
}

impl StoredLog {
    /// Reads a whole session.
    pub fn load(store: &SessionStore, session: &SessionId) -> Result<Self, StoreError> {
        let mut log = Self {
            session: session.clone(),
            entries: Vec::new(),
            counts: Vec::new(),
            last: None,
            index: ContextIndex::new(),
            counter: None,
        };
        for stored in store.entries(session, &Range::All)? {
            log.push(stored?);
        }
        Ok(log)
    }

    /// Reads the new entries. Reads all entries again after a redaction, because redacted text must not stay in
    /// memory, and if another session has the same id now.
    pub fn catch_up(&mut self, store: &SessionStore) -> Result<(), StoreError> {
        if !self.read_new(store)? {
            *self = Self::load(store, &self.session)?;
        }
        Ok(())
    }

    fn read_new(&mut self, store: &SessionStore) -> Result<bool, StoreError> {
        let Some(last) = self.last.clone() else { return Ok(false) };
        let new = match store.load(&self.session, &Range::From(last.id.clone())) {
            Err(StoreError::EntryNotFound { .. }) => return Ok(false),
            new => new?,
        };
        let mut new = new.into_iter();
        if new.next().as_ref().map(Last::new) != Some(last) {
            return Ok(false);
        }
        for stored in new {
            if matches!(stored.entry.kind, EntryKind::Redaction(_)) {
                return Ok(false);
            }
            self.push(stored);
        }
        Ok(true)
    }

    fn push(&mut self, stored: StoredEntry) {
        self.last = Some(Last::new(&stored));
        if let Some(count) = stored.count {
            if self.counter.as_ref().is_some_and(|counter| counter_name(counter) == count.tokenizer)
            {
                self.index.add_counts([(stored.entry.id.clone(), count.tokens)]);
            }
            self.counts.push((stored.entry.id.clone(), count));
        }
        self.entries.push(stored.entry);
    }

    /// Returns all entries, of every branch.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the newest entry, which the next entry follows.
    pub fn tail(&self) -> Option<&EntryId> {
        self.last.as_ref().map(|last| &last.id)
    }

    /// Passes the log and its index to a build. The input contains the log until the build returns.
    pub fn lend<T>(
        &mut self,
        input: &mut BuildInput,
        build: impl FnOnce(&BuildInput, &mut ContextIndex) -> T,
    ) -> T {
        if self.counter.as_ref() != Some(&input.setup.counter) {
            self.counter = Some(input.setup.counter.clone());
            self.index = self.fresh_index();
        }
        input.session_entries = mem::take(&mut self.entries);
        let built = if input.token_counts.is_empty() {
            build(input, &mut self.index)
        } else {
            // Counts from the caller are used only for the caller's own request.
            build(input, &mut self.fresh_index())
        };
        self.entries = mem::take(&mut input.session_entries);
        built
    }

    fn fresh_index(&self) -> ContextIndex {
        let mut index = ContextIndex::new();
        let name = self.counter.as_ref().map(counter_name);
        let known = self.counts.iter().filter(|(_, count)| Some(&count.tokenizer) == name.as_ref());
        index.add_counts(known.map(|(id, count)| (id.clone(), count.tokens)));
        index
    }

    /// Stores the token counts that the store does not have.
    pub fn store_counts(&mut self, store: &SessionStore) -> Result<(), StoreError> {
        let Some(tokenizer) = self.counter.as_ref().map(counter_name) else { return Ok(()) };
        let counts = self.counts.iter().filter(|(_, count)| count.tokenizer == tokenizer);
        let known: HashSet<&EntryId> = counts.map(|(id, _)| id).collect();
        let counted = self.index.counts(&self.entries);
        let new: Vec<_> = counted
            // The size of a stub is not the size of its entry.
            .filter(|(id, _)| !id.as_str().ends_with("#stub") && !known.contains(id))
            .map(|(id, tokens)| (id, TokenCount { tokenizer: tokenizer.clone(), tokens }))
            .collect();
        if !new.is_empty() {
            store.store_token_counts(&self.session, &new)?;
            self.counts.extend(new);
        }
        Ok(())
    }
}

impl Last {
    fn new(stored: &StoredEntry) -> Self {
        Self { id: stored.entry.id.clone(), seq: stored.seq, link: stored.link }
    }
}

/// Returns the name under which counts are stored: the tokenizer, and the vendor if it is not the usual one.
fn counter_name(counter: &MessageCounter) -> Box<str> {
    let id = counter.tokenizer.id();
    if *counter == MessageCounter::new(counter.tokenizer.clone()) {
        return id.into();
    }
    format!("{id}/{:?}", counter.vendor).into()
}
