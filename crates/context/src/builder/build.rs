//! One build, from the log to the messages: the stages in their order. Each stage is in its own file.

use std::cell::Cell;

use tertulia_session::{Entry, EntryId, Message, Part, Role};

use super::apply_cut::{self, Cut, CutWriter};
use super::cut_state::CutState;
use super::elide::{elided, has_outputs};
use super::excerpts;
use super::frozen::frozen_message;
use super::hints::hints_message;
use super::index::ContextIndex;
use super::item::{WindowIndex, has_calls};
use super::new_messages::{NewMessages, tail_id};
use super::plan::{NoPlan, Plan, plan};
use super::scale::Scale;
use super::window::{Units, Window, generated_message};
use super::{
    ContextBuildInput, ContextBuildResult, ContextBuilder, ContextError, LogIndex, MessageRef,
    Strategy,
};
use crate::compact::Summary;
use crate::files::Files;
use crate::tokens::TokenCount;
use crate::view::ViewItem;

pub(super) struct Build<'a, 'b> {
    pub(super) builder: &'b ContextBuilder,
    pub(super) index: &'b mut ContextIndex,
    pub(super) input: ContextBuildInput<'a>,
    pub(super) log: &'a [Entry],
    pub(super) new_messages: NewMessages<'a>,
    pub(super) cut_state: CutState<'a>,
    pub(super) window: Window<'a>,
    /// The tokens of every message of the window, as it would be sent.
    pub(super) tokens: Vec<u64>,
    pub(super) frozen: Option<Message>,
    pub(super) hints: Option<Message>,
    /// The summary that replaces the messages before the window.
    pub(super) summary: Option<(EntryId, Message)>,
    /// The text that this build recalled, with the id of the entry that will be appended for it.
    pub(super) fresh: Option<(EntryId, Message)>,
    /// The known lines of files, including those in new messages; `None` until they are needed.
    pub(super) files: Option<Files>,
    /// Whether the history must be cut although it fits now. It only fits because recalled text was removed from it.
    pub(super) must_cut: bool,
    pub(super) sums: Sums,
    pub(super) scale: Scale,
    pub(super) is_exact: bool,
}

/// A message with stubs in place of its tool outputs.
pub(super) struct Stub {
    pub(super) message: Message,
    pub(super) tokens: TokenCount,
    pub(super) names_newer: bool,
}

/// The counted tokens of everything that is sent besides the history.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub(super) frozen: u64,
    pub(super) tools: u64,
    pub(super) reply: u64,
    pub(super) hints: u64,
    pub(super) closing: u64,
    pub(super) summary: u64,
    pub(super) fresh: u64,
}

impl Sums {
    pub(super) fn fixed(&self) -> u64 {
        self.frozen + self.tools + self.reply + self.hints + self.closing
    }
}

impl<'a, 'b> Build<'a, 'b> {
    pub(super) fn read(
        builder: &'b ContextBuilder,
        index: &'b mut ContextIndex,
        input: &ContextBuildInput<'a>,
    ) -> Result<Self, ContextError> {
        let log = input.session_entries;
        index.catch_up(log, &builder.counter)?;
        let new_messages = NewMessages::of(index, log, input.input_messages);
        let (frozen, time) = frozen_message(index, input, builder.system_prompt.as_deref())?;
        let provided = match (input.runtime_hints, &builder.hints) {
            (None, Some(provider)) => provider.hints(),
            _ => None,
        };
        let hints = hints_message(input.runtime_hints.or(provided.as_ref()), time)?;
        let member = input.perspective.map(|perspective| perspective.member);
        let cut_state = CutState::of(index, log, index.newest(), member)?;
        let window = Window::of(index, input, &cut_state, &new_messages)?;
        let mut build = Self {
            builder,
            index,
            input: *input,
            log,
            new_messages,
            cut_state,
            window,
            tokens: Vec::new(),
            frozen,
            hints,
            summary: None,
            fresh: None,
            files: None,
            must_cut: false,
            sums: Sums::default(),
            scale: Scale::ONE,
            is_exact: true,
        };
        build.summary = build
            .cut_state
            .summary
            .map(|(at, summary)| (log[at.0].id.clone(), build.summary_message(&summary.summary)));
        build.count_sums();
        if !build.cut_state.elided.is_empty() {
            build.index.follow_files(log);
        }
        build.count_window();
        build.scale = Scale::of(&build);
        Ok(build)
    }

    /// Cuts what is too large and assembles the result.
    pub(super) fn finish(mut self) -> Result<ContextBuildResult<'a>, ContextError> {
        let before = self.total();
        let was_over = self.is_over() || self.input.overflow_hint;
        let had_recalled = was_over && self.take_recalled();
        self.must_cut = had_recalled;
        if was_over && self.shows_files() {
            self.index.follow_files(self.log);
        }
        let mut plan = self.plan(self.summarizes(), self.input.overflow_hint)?;
        let mut summary = Err(None);
        if plan.cut.is_some() && plan.summary_cap > 0 {
            summary = apply_cut::summarize(&mut self, &plan, before)?.map_err(Some);
        }
        if let Err(Some(refused)) = &summary {
            if !self.may_drop() {
                let problem = format!("no summary: {refused}; strategies does not contain drop");
                return Err(ContextError::failed(problem));
            }
            // A drop needs a new plan, because the existing summary keeps its size.
            plan = self.plan(false, self.input.overflow_hint)?;
        }
        if !plan.is_idle() {
            self.cut_state.refused_tokens = self.input.overflow_hint.then_some(before);
        }
        let mut cut = self.apply(&plan, summary, before, Cut::default())?;
        self.must_cut = false;
        // A cut between a call and its late result changes the repairs, so more may be left than was planned.
        while cut.is_new && self.is_over() {
            let (before, plan) = (self.total(), self.plan(false, false)?);
            if plan.is_idle() {
                break;
            }
            cut = self.apply(&plan, Err(None), before, cut)?;
        }
        let mut writer = CutWriter { build: &mut self, tokens_before: before, cut };
        excerpts::recall(&mut writer, had_recalled, was_over);
        let cut = writer.cut;
        self.assemble(cut)
    }

    fn count_sums(&mut self) {
        let (index, counter) = (&mut *self.index, &self.builder.counter);
        let frozen = self.frozen.as_ref();
        let frozen = frozen.map(|message| index.frozen_tokens(message, counter));
        let tools = index.tool_tokens(self.input.tool_specs, counter);
        let hints = self.hints.as_ref().map(|message| index.generated_tokens(message, counter));
        let closing = self.input.closing.map(|message| index.generated_tokens(message, counter));
        let summary = self.summary.as_ref().zip(self.cut_state.summary);
        let summary = summary.map(|((id, message), (at, _))| match self.input.perspective {
            Some(_) => index.generated_tokens(message, counter),
            None => index.tokens(at, id, message, counter),
        });
        let mut is_exact = true;
        let mut take = |count: Option<TokenCount>| {
            let count = count.unwrap_or(TokenCount::ZERO);
            is_exact &= count.is_exact;
            count.tokens
        };
        self.sums = Sums {
            frozen: take(frozen),
            tools: take(Some(tools)),
            reply: take(Some(counter.count_reply())),
            hints: take(hints),
            closing: take(closing),
            summary: take(summary),
            fresh: 0,
        };
        self.is_exact = is_exact;
    }

    /// Counts the history and replaces elided tool outputs by stubs.
    pub(super) fn count_window(&mut self) {
        // Pinned messages are sent whole, even if an earlier cut elided them.
        if !self.cut_state.elided.is_empty() {
            let units = self.window.units(self.log, &self.new_messages);
            for unit in units.list.iter().filter(|unit| unit.is_pinned) {
                for item in &self.window.items[unit.items.clone()] {
                    self.cut_state.elided.remove(&item.entry);
                }
            }
        }
        self.tokens = Vec::with_capacity(self.window.items.len());
        for at in 0..self.window.items.len() {
            let count = self.count_item(WindowIndex(at));
            self.is_exact &= count.is_exact;
            self.tokens.push(count.tokens);
        }
    }

    /// Returns the tokens of a message of the window. If its outputs were elided, replaces the message by its stub
    /// first.
    pub(super) fn count_item(&mut self, at: WindowIndex) -> TokenCount {
        let counter = &self.builder.counter;
        let item = &self.window.items[at.0];
        let id = id_at(self.log, &self.new_messages, item.entry);
        if let Some(cut) = self.cut_state.elided.get(&item.entry).copied()
            && has_outputs(&item.message)
        {
            let stub = self.stub(at, cut);
            if let Some(item) = self.window.items.get_mut(at.0) {
                item.message = MessageRef::generated(stub.message);
            }
            return stub.tokens;
        }
        if item.is_repaired || !matches!(item.message, MessageRef::Logged(_)) {
            return self.index.generated_tokens(&item.message, counter);
        }
        self.index.tokens(item.entry, id, &item.message, counter)
    }

    /// Returns a message with stubs in place of its outputs. A stub names a newer entry that superseded the output,
    /// but only one from before the cut that made the stub.
    pub(super) fn stub(&mut self, at: WindowIndex, cut: LogIndex) -> Stub {
        let (item, counter) = (&self.window.items[at.0], &self.builder.counter);
        let (log, new_messages) = (self.log, &self.new_messages);
        let id = id_at(log, new_messages, item.entry);
        let files = self.files.as_ref().unwrap_or(&self.index.files);
        // A stub for a member names no newer entry, because the member might not be allowed to see it.
        let newer = |call: &str| match self.input.perspective {
            Some(_) => None,
            None => files.newer(item.entry.0, call, cut.0),
        };
        let names_newer = Cell::new(false);
        let message = elided(&item.message, id, |call| {
            let newer = newer(call)?;
            names_newer.set(true);
            Some(id_at(log, new_messages, LogIndex(newer)))
        });
        let tokens = match names_newer.get() {
            true => self.index.generated_tokens(&message, counter),
            false => {
                self.index.stub_tokens(item.entry, id, || counter.count_message(&message).count)
            }
        };
        Stub { message, tokens, names_newer: names_newer.get() }
    }

    /// Updates the known lines of files, including those in new messages.
    pub(super) fn update_files(&mut self) {
        self.index.follow_files(self.log);
        if self.files.is_none() && !self.new_messages.messages.is_empty() {
            let mut files = self.index.files.clone();
            for (at, message) in (self.log.len()..).zip(self.new_messages.messages) {
                files.add(at, message);
            }
            self.files = Some(files);
        }
    }

    /// Returns the tokens that would be sent, as the provider would count them.
    pub(super) fn total(&self) -> u64 {
        let history: u64 = self.tokens.iter().sum();
        self.scale.of_tokens(self.sums.fixed() + self.sums.summary + self.sums.fresh + history)
    }

    fn is_over(&self) -> bool {
        let config = &self.builder.config;
        let count = self.tokens.len() as u64;
        let is_long = config.max_history_messages.is_some_and(|max| count > max);
        self.total() > self.trigger() || is_long
    }

    fn plan(&mut self, summarizes: bool, overflow_hint: bool) -> Result<Plan, ContextError> {
        if !self.is_over() && !overflow_hint && !self.must_cut {
            return Ok(Plan::default());
        }
        if self.cut_state.is_stuck {
            let reason = "the last two cuts did not make it smaller, and there are no new messages; raise maxInputTokens or shorten pinned entries";
            return Err(ContextError::failed(reason));
        }
        self.update_files();
        let sizes = self.sizes();
        let limits = self.limits(summarizes, overflow_hint);
        match plan(&sizes, self.units(), &limits) {
            Ok(plan) if plan.cut.is_some() && plan.summary_cap == 0 && !self.may_drop() => {
                let problem = "there is no room for a summary; strategies does not contain drop";
                Err(ContextError::failed(problem))
            }
            Ok(plan) => Ok(plan),
            // The existing summary may be smaller than a new one.
            Err(NoPlan::Stuck) if summarizes && self.may_drop() => self.plan(false, overflow_hint),
            Err(NoPlan::Stuck) => Err(self.overflow(self.total(), &limits, &sizes)),
            Err(NoPlan::Floor { floor }) => Err(self.overflow(floor, &limits, &sizes)),
        }
    }

    pub(super) fn units(&self) -> &Units {
        self.window.units(self.log, &self.new_messages)
    }

    fn summarizes(&self) -> bool {
        let config = &self.builder.config;
        config.enable_compaction
            && config.tries(Strategy::Summarize)
            && self.builder.compactor.is_some()
    }

    fn may_drop(&self) -> bool {
        self.builder.config.tries(Strategy::Drop) || !self.summarizes()
    }

    /// Performs the cut: makes entries for the log and updates the window.
    fn apply(
        &mut self,
        plan: &Plan,
        summary: Result<Summary, Option<String>>,
        tokens_before: u64,
        cut: Cut,
    ) -> Result<Cut, ContextError> {
        let mut writer = CutWriter { build: self, tokens_before, cut };
        if !plan.elide.is_empty() {
            writer.elide(&plan.elide);
        }
        if let Some(cut) = plan.cut {
            writer.cover(cut, summary, plan.summary_cap)?;
        }
        Ok(writer.cut)
    }

    /// Returns whether the newest message is a request that nobody has begun to answer. Then recall may add much.
    pub(super) fn has_new_request(&self) -> bool {
        let newest = self.newest_message().map(|item| item.entry);
        self.builder.config.recall_cap() > 0 && newest.is_some() && newest == self.window.request
    }

    /// Returns whether recall may use all free tokens. That is the case for a new request in a conversation without
    /// tools. Agents with tools look up what they need themselves.
    pub(super) fn may_fill_with_recall(&self) -> bool {
        let has_new_calls = self.new_messages.messages.iter().any(has_calls);
        self.has_new_request() && !self.index.has_calls && !has_new_calls
    }

    /// Returns the number of tokens above which a context is cut. For a new request it is lower, so that there is
    /// room for recalled text.
    pub(super) fn trigger(&self) -> u64 {
        let config = &self.builder.config;
        let recall = if self.has_new_request() { config.recall_cap() } else { 0 };
        config.max_input_tokens.saturating_sub(config.reserve_tokens.saturating_add(recall))
    }

    pub(super) fn summary_message(&self, summary: &str) -> Message {
        match self.input.perspective {
            Some(_) => {
                let (messages, older) = (self.summarized() as usize, self.older());
                let item = ViewItem::summary(0, summary, messages, older);
                generated_message(Role::User, SUMMARY_KIND, [Part::text(item.to_text())])
            }
            None => summary_message(summary),
        }
    }

    /// Returns the member whose context the cut is for.
    pub(super) fn member(&self) -> Option<Box<str>> {
        self.input.perspective.map(|perspective| perspective.member.into())
    }

    pub(super) fn next_parent(&self, made: &[Entry]) -> Option<EntryId> {
        let newest = made.last().or(self.new_messages.entries.last()).map(|entry| entry.id.clone());
        newest.or_else(|| tail_id(self.index, self.log))
    }
}

pub(super) fn id_at<'e>(
    log: &'e [Entry],
    new_messages: &'e NewMessages<'_>,
    at: LogIndex,
) -> &'e EntryId {
    &entry_at(log, new_messages, at).id
}

pub(super) fn entry_at<'e>(
    log: &'e [Entry],
    new_messages: &'e NewMessages<'_>,
    at: LogIndex,
) -> &'e Entry {
    log.get(at.0).unwrap_or_else(|| &new_messages.entries[at.0 - log.len()])
}

pub(super) fn summary_message(summary: &str) -> Message {
    let text = format!("{SUMMARY_HEAD}\n\n{summary}");
    generated_message(Role::User, SUMMARY_KIND, [Part::text(text)])
}

const SUMMARY_KIND: &str = "compaction_summary";

const SUMMARY_HEAD: &str = "[Summary of the conversation before this point]";
