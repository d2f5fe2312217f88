//! The last stage of a build: puts the three zones in their order and collects the figures, the repairs and the
//! positions where a provider should cache. It makes no decisions.

use tertulia_session::{EntryKind, Role};

use super::apply_cut::Cut;
use super::build::{Build, id_at};
use super::elide::has_outputs;
use super::repair::Repair;
use super::scale::Scale;
use super::{
    ContextBuildResult, ContextError, ContextStats, Item, LogIndex, MessageRef, ModelMessage,
    Source, recalled, verdict,
};

impl<'a> Build<'a, '_> {
    pub(super) fn assemble(mut self, cut: Cut) -> Result<ContextBuildResult<'a>, ContextError> {
        let recalled = recalled::recall(&mut self);
        let mut stats = self.stats();
        let repairs = self.repairs();
        let verdicts = match self.input.explain {
            true => verdict::verdicts(&self, &cut, recalled.as_ref()),
            false => Vec::new(),
        };
        let mut passages = Vec::new();
        let mut messages = Vec::with_capacity(self.window.items.len() + 5);
        let mut push = |message, tokens, source| {
            messages.push(ModelMessage { message, tokens, source });
        };
        if let Some(message) = self.frozen {
            push(MessageRef::generated(message), self.sums.frozen, Source::System);
        }
        if let Some((id, message)) = self.summary {
            push(MessageRef::generated(message), self.sums.summary, Source::Summary(id));
        }
        for (item, tokens) in self.window.items.into_iter().zip(&self.tokens) {
            let id = id_at(self.log, &self.new_messages, item.entry).clone();
            push(item.message, *tokens, Source::Entry(id));
        }
        if let Some((id, message)) = self.fresh {
            push(MessageRef::generated(message), self.sums.fresh, Source::Entry(id));
        }
        if let Some(recalled) = recalled {
            stats.input_tokens += self.scale.of_tokens(recalled.tokens);
            stats.recalled_entries_count = recalled.entries.len() as u64;
            passages = recalled.passages;
            push(MessageRef::generated(recalled.message), recalled.tokens, Source::Recall);
        }
        if let Some(message) = self.input.closing {
            push(MessageRef::Logged(message), self.sums.closing, Source::Closing);
        }
        if let Some(message) = self.hints {
            push(MessageRef::generated(message), self.sums.hints, Source::RuntimeHints);
        }
        stats.message_count = messages.len() as u64;
        let mut entries_to_append = self.new_messages.entries;
        entries_to_append.extend(cut.entries);
        Ok(ContextBuildResult {
            cache_breakpoints: breakpoints(&messages),
            model_messages: messages,
            model_tool_specs: self.input.tool_specs,
            compacted: cut.is_new,
            compaction_summary_entry: cut.summary,
            entries_to_append,
            stats,
            repairs,
            summary_request: cut.request,
            verdicts,
            recalled: passages,
        })
    }

    fn stats(&self) -> ContextStats {
        let on_branch = self.index.messages_before(LogIndex(self.log.len()));
        let on_branch = on_branch + self.new_messages.messages.len() as u64;
        let is_stub = |item: &&Item<'_>| {
            self.cut_state.elided.contains_key(&item.entry) && has_outputs(&item.message)
        };
        let elided = match self.cut_state.elided.is_empty() {
            true => 0,
            false => self.window.items.iter().filter(is_stub).count(),
        };
        ContextStats {
            input_tokens: self.total(),
            exact: self.is_exact && self.scale == Scale::ONE,
            message_count: 0,
            dropped_messages_count: on_branch.saturating_sub(self.sent_messages()),
            summarized_messages_count: self.summarized(),
            elided_messages_count: elided as u64,
            recalled_entries_count: 0,
            scale_permille: self.scale.permille(),
        }
    }

    /// Returns how many messages of the branch are sent. A result that was made up, or moved out of a message that
    /// stays, has the same entry as another item.
    fn sent_messages(&self) -> u64 {
        let mut entries = Vec::with_capacity(self.window.items.len());
        entries.extend(self.window.items.iter().map(|item| item.entry));
        entries.retain(|entry| self.is_message(*entry));
        entries.sort_unstable();
        entries.dedup();
        entries.len() as u64
    }

    fn is_message(&self, at: LogIndex) -> bool {
        let entry = self.log.get(at.0);
        entry.is_none_or(|entry| matches!(entry.kind, EntryKind::Message(_)))
    }

    /// Returns the number of a message on the branch, from 1.
    pub(super) fn message_number(&self, at: LogIndex) -> u64 {
        let new = at.0.saturating_sub(self.log.len()) as u64;
        self.index.messages_before(at) + new + 1
    }

    /// Returns how many messages are older than those that the summary covers.
    pub(super) fn older(&self) -> usize {
        self.cut_state.summary.map_or(0, |(_, summary)| summary.older())
    }

    /// Returns how many messages the summary replaces: those before the first kept entry that do not stay.
    pub(super) fn summarized(&self) -> u64 {
        let Some(first_kept) = self.cut_state.summary_first_kept else { return 0 };
        let new = first_kept.0.saturating_sub(self.log.len()) as u64;
        let before = self.window.items.iter().filter(|item| item.entry < first_kept);
        let stay = before.filter(|item| self.is_message(item.entry) && !item.is_repaired).count();
        (self.index.messages_before(first_kept) + new).saturating_sub(stay as u64)
    }

    fn repairs(&self) -> Vec<Repair> {
        // A call at the very end may still get its result. So a missing result is only repaired when something
        // follows the call.
        let mut repairs: Vec<_> = self.window.repairs.iter().collect();
        repairs.sort_by_key(|repair| repair.entry);
        let named = repairs.into_iter().map(|repair| Repair {
            entry: id_at(self.log, &self.new_messages, repair.entry).clone(),
            kind: repair.kind.clone(),
        });
        named.collect()
    }
}

/// Returns where a provider should cache: after the system message, where the last request ended, and at the end of
/// the history.
fn breakpoints(messages: &[ModelMessage<'_>]) -> Vec<usize> {
    let is_history = |message: &ModelMessage<'_>| {
        matches!(message.source, Source::Summary(_) | Source::Entry(_))
    };
    let system = messages.first().is_some_and(|first| first.source == Source::System).then_some(0);
    let last = messages.iter().rposition(is_history);
    let answer = messages.iter().rposition(|message| {
        is_history(message) && message.message.effective_role() == Role::Assistant
    });
    let before = answer.and_then(|answer| answer.checked_sub(1));
    let mut indexes: Vec<usize> = system.into_iter().chain(before).chain(last).collect();
    indexes.sort_unstable();
    indexes.dedup();
    indexes
}
