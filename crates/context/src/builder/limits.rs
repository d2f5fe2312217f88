//! The sizes of a build, as the planner needs them: limits, the size of every message, and the error if something
//! does not fit.

use super::build::{Build, id_at};
use super::elide::has_outputs;
use super::error::{FloorItem, FloorPart, Overflow};
use super::item::WindowIndex;
use super::plan::{Cover, Limits, Size, permille_of};
use super::{ContextError, LogIndex, Strategy, verdict};

/// The maximum size of the summary, in thousandths of the history after a cut.
const SUMMARY_PERMILLE_MAX: u64 = 600;

/// The size of the history after a cut for a new request, in thousandths.
const REQUEST_TARGET_PERMILLE: u64 = 250;

impl Build<'_, '_> {
    pub(super) fn limits(&self, summarizes: bool, overflow_hint: bool) -> Limits<'_> {
        let config = &self.builder.config;
        let cover = match (summarizes, config.tries(Strategy::Drop)) {
            (true, _) => Cover::Summarize { cap: self.summary_message_cap() },
            (false, true) => Cover::Drop,
            // Without a compactor, messages before a cut are dropped, whatever the list of strategies is.
            (false, false) if config.tries(Strategy::Summarize) => Cover::Drop,
            (false, false) => Cover::Never,
        };
        Limits {
            fixed: self.scale.of_tokens(self.sums.fixed()),
            summary: self.scale.of_tokens(self.sums.summary),
            trigger: self.trigger(),
            target_permille: self.target_permille(),
            config,
            overflow_hint,
            must_cut: self.must_cut,
            may_elide: config.tries(Strategy::Elide),
            cover,
        }
    }

    /// Returns the size of the history after a cut, in thousandths. A cut for a new request leaves room for recalled
    /// text.
    fn target_permille(&self) -> u64 {
        let usual = self.builder.config.target_permille;
        let usual = self.kept_permille(usual);
        if self.may_fill_with_recall() { usual.min(REQUEST_TARGET_PERMILLE) } else { usual }
    }

    /// Returns how many tokens the message with a summary may have. It is limited to a part of the history, so that
    /// it leaves room for messages even if much is always sent.
    fn summary_message_cap(&self) -> u64 {
        let config = &self.builder.config;
        let room = self.trigger().saturating_sub(self.scale.of_tokens(self.sums.fixed()));
        let share = permille_of(permille_of(room, self.target_permille()), SUMMARY_PERMILLE_MAX);
        let cap = config.summary_cap() / if self.may_fill_with_recall() { 2 } else { 1 };
        (cap + self.summary_wrapper()).min(share.max(self.summary_wrapper()))
    }

    pub(super) fn summary_wrapper(&self) -> u64 {
        let counter = &self.builder.counter;
        self.scale.of_tokens(counter.count_message(&self.summary_message("")).count.tokens) + 1
    }

    pub(super) fn sizes(&mut self) -> Vec<Size> {
        let min = self.builder.config.elide_min_tokens;
        let mut sizes = Vec::with_capacity(self.tokens.len());
        for (at, tokens) in self.tokens.clone().into_iter().enumerate() {
            let item = &self.window.items[at];
            let can_shrink = tokens >= min
                && !self.cut_state.elided.contains_key(&item.entry)
                && has_outputs(&item.message)
                && !verdict::is_inserted_result(self, item);
            let stub = can_shrink.then(|| self.stub_size(WindowIndex(at)));
            let (stub, is_superseded) = stub.unzip();
            sizes.push(Size {
                tokens: self.scale.of_tokens(tokens),
                stub: stub.map(|tokens| self.scale.of_tokens(tokens)),
                is_superseded: is_superseded.unwrap_or_default(),
            });
        }
        sizes
    }

    /// Returns the tokens of a stub, and whether it would name a newer entry.
    fn stub_size(&mut self, at: WindowIndex) -> (u64, bool) {
        let now = LogIndex(self.log.len() + self.new_messages.messages.len());
        let stub = self.stub(at, now);
        (stub.tokens.tokens, stub.names_newer)
    }

    pub(super) fn overflow(&self, floor: u64, limits: &Limits<'_>, sizes: &[Size]) -> ContextError {
        let fixed = [
            (FloorPart::SystemPrompt, self.sums.frozen),
            (FloorPart::Tools, self.sums.tools),
            (FloorPart::RuntimeHints, self.sums.hints),
        ];
        let fixed = fixed.map(|(what, tokens)| (what, self.scale.of_tokens(tokens)));
        let required = self.units().list.iter().filter(|unit| unit.is_required());
        let items = required.flat_map(|unit| unit.items.clone().map(|at| (unit.is_pinned, at)));
        let entries = items.map(|(is_pinned, at)| {
            let id = id_at(self.log, &self.new_messages, self.window.items[at].entry);
            let Size { tokens, stub, .. } = sizes[at];
            let least = stub.filter(|_| limits.may_elide && !is_pinned).unwrap_or(tokens);
            (FloorPart::Entry(id.clone()), least)
        });
        let mut biggest: Vec<FloorItem> = fixed
            .into_iter()
            .chain(entries)
            .filter(|(_, tokens)| *tokens > 0)
            .map(|(what, tokens)| FloorItem { what, tokens })
            .collect();
        biggest.sort_by_key(|item| std::cmp::Reverse(item.tokens));
        biggest.truncate(5);
        let limit = limits.config.max_input_tokens;
        ContextError::Overflow(Overflow { floor, limit, biggest })
    }
}
