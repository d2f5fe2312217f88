//! One build, from the log to the messages: the stages in their order. What each stage decides is in
//! its own file.

use tertulia_session::{Entry, EntryId, Message, Part, Role};

use super::arrivals::{Arrivals, tail_id};
use super::cover::{self, Cut, Maker};
use super::elide::{elided, has_outputs};
use super::error::{FloorItem, FloorPart, Overflow};
use super::frozen::Frozen;
use super::hints::hints_message;
use super::index::ContextIndex;
use super::marks::Marks;
use super::message_ref::MessageRef;
use super::plan::{Cover, Limits, NoPlan, Plan, Size, permille_of, plan};
use super::repair::Repair;
use super::scale::Scale;
use super::window::{Window, made_message};
use super::{
    ContextBuildInput, ContextBuildResult, ContextBuilder, ContextError, ContextStats,
    ModelMessage, Source, Strategy, recalled, verdict,
};
use crate::compact::Summary;
use crate::tokens::TokenCount;

/// All that a build knows, stage by stage.
pub(super) struct Build<'a, 'b> {
    pub(super) builder: &'b ContextBuilder,
    pub(super) index: &'b mut ContextIndex,
    pub(super) input: ContextBuildInput<'a>,
    pub(super) log: &'a [Entry],
    pub(super) arrivals: Arrivals<'a>,
    pub(super) marks: Marks<'a>,
    pub(super) window: Window<'a>,
    /// What every message of the window costs, as it would be sent.
    pub(super) tokens: Vec<u64>,
    frozen: Option<Message>,
    hints: Option<Message>,
    /// The summary that stands for what is before the window.
    pub(super) summary: Option<(EntryId, Message)>,
    pub(super) sums: Sums,
    pub(super) scale: Scale,
    is_exact: bool,
}

/// What is sent besides the history, in counted tokens.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub(super) frozen: u64,
    pub(super) tools: u64,
    pub(super) reply: u64,
    pub(super) hints: u64,
    pub(super) summary: u64,
}

impl Sums {
    pub(super) fn fixed(&self) -> u64 {
        self.frozen + self.tools + self.reply + self.hints
    }
}

impl<'a, 'b> Build<'a, 'b> {
    /// Reads all that there is; decides nothing yet.
    pub(super) fn read(
        builder: &'b ContextBuilder,
        index: &'b mut ContextIndex,
        input: &ContextBuildInput<'a>,
    ) -> Result<Self, ContextError> {
        let log = input.session_entries;
        index.catch_up(log, &builder.counter)?;
        let arrivals = Arrivals::of(index, log, input.input_messages)?;
        let Frozen { message: frozen, time } =
            Frozen::of(index, input, builder.system_prompt.as_deref())?;
        let provided = match (input.runtime_hints, &builder.hints) {
            (None, Some(provider)) => provider.hints(),
            _ => None,
        };
        let hints = hints_message(input.runtime_hints.or(provided.as_ref()), time)?;
        let marks = Marks::of(index, log, index.entries.newest_place())?;
        let window = Window::of(index, log, &marks, &arrivals)?;
        let summary = marks
            .summary
            .map(|(place, summary)| (log[place].id.clone(), summary_message(&summary.summary)));
        let mut build = Self {
            builder,
            index,
            input: *input,
            log,
            arrivals,
            marks,
            window,
            tokens: Vec::new(),
            frozen,
            hints,
            summary,
            sums: Sums::default(),
            scale: Scale::ONE,
            is_exact: true,
        };
        build.count();
        build.scale = Scale::of(&build);
        Ok(build)
    }

    /// Cuts what is too large and puts the rest together.
    pub(super) fn finish(mut self) -> Result<ContextBuildResult<'a>, ContextError> {
        let before = self.total();
        let mut plan = self.plan(self.summarizes())?;
        let mut summary = Err(None);
        if plan.cut.is_some() && plan.summary_cap > 0 {
            summary = cover::summarize(&mut self, &plan, before)?.map_err(Some);
        }
        if let Err(Some(refused)) = &summary {
            if !self.may_drop() {
                let problem = format!("no summary: {refused}; and drop is not among strategies");
                return Err(ContextError::failed(problem));
            }
            // What is dropped is planned anew: a summary that is there stays as large as it is.
            plan = self.plan(false)?;
        }
        if plan.cut.is_some() || !plan.elide.is_empty() {
            self.marks.refused_tokens = self.input.overflow_hint.then_some(before);
        }
        let cut = self.apply(&plan, summary, before)?;
        self.assemble(cut)
    }

    fn count(&mut self) {
        let counter = &self.builder.counter;
        let mut exact = true;
        let mut take = |count: TokenCount| {
            exact &= count.is_exact();
            count.tokens
        };
        self.sums = Sums {
            frozen: match &self.frozen {
                Some(message) => take(self.index.frozen_tokens(message, counter)),
                None => 0,
            },
            tools: take(self.index.tool_tokens(self.input.tool_specs, counter)),
            reply: take(counter.count_reply()),
            hints: match &self.hints {
                Some(message) => take(self.index.made_tokens(message, counter)),
                None => 0,
            },
            summary: match (&self.summary, self.marks.summary) {
                (Some((id, message)), Some((place, _))) => {
                    take(self.index.tokens(place, id, message, counter))
                }
                _ => 0,
            },
        };
        // Whoever elided it: what is pinned is sent as it is.
        if !self.marks.elided.is_empty() {
            for unit in self.window.units.iter().filter(|unit| unit.is_pinned) {
                for item in &self.window.items[unit.items.clone()] {
                    self.marks.elided.remove(&item.place);
                }
            }
        }
        self.tokens = Vec::with_capacity(self.window.items.len());
        for place in 0..self.window.items.len() {
            let count = self.count_item(place);
            exact &= count.is_exact();
            self.tokens.push(count.tokens);
        }
        self.is_exact = exact;
    }

    /// What a message of the window costs; one whose outputs were elided before becomes its stub.
    fn count_item(&mut self, place: usize) -> TokenCount {
        let counter = &self.builder.counter;
        let item = &mut self.window.items[place];
        let id = id_at(self.log, &self.arrivals, item.place);
        if !self.marks.elided.is_empty()
            && self.marks.elided.contains(&item.place)
            && has_outputs(&item.message)
        {
            item.message = MessageRef::made(elided(&item.message, id));
            let (index, message) = (&mut *self.index, &item.message);
            return index.stub_tokens(item.place, id, || counter.count_message(message).count);
        }
        if item.is_mended || item.message.is_made() {
            return self.index.made_tokens(&item.message, counter);
        }
        self.index.tokens(item.place, id, &item.message, counter)
    }

    /// What would be sent, in tokens as the provider would count them.
    pub(super) fn total(&self) -> u64 {
        let history: u64 = self.tokens.iter().sum();
        self.scale.of_tokens(self.sums.fixed() + self.sums.summary + history)
    }

    fn plan(&mut self, summarizes: bool) -> Result<Plan, ContextError> {
        let config = &self.builder.config;
        let count = self.tokens.len() as u64;
        let is_long = config.max_history_messages.is_some_and(|max| count > max);
        if self.total() <= config.trigger() && !is_long && !self.input.overflow_hint {
            return Ok(Plan::default());
        }
        if self.marks.is_stuck {
            let reason = "the last two cuts made it no smaller and nothing was said since; raise \
                          maxInputTokens or shorten what is pinned";
            return Err(ContextError::failed(reason));
        }
        let (limits, sizes) = (self.limits(summarizes), self.sizes());
        let (units, before) = (&self.window.units, self.window.kept_before);
        match plan(&sizes, units, before, &limits) {
            Ok(plan) if plan.cut.is_some() && plan.summary_cap == 0 && !self.may_drop() => {
                let problem = "no room for a summary; and drop is not among strategies";
                Err(ContextError::failed(problem))
            }
            Ok(plan) => Ok(plan),
            // The summary that is there may be smaller than a new one.
            Err(NoPlan::Stuck) if summarizes && self.may_drop() => self.plan(false),
            Err(NoPlan::Stuck) => Err(self.overflow(self.total(), &limits, &sizes)),
            Err(NoPlan::Floor { floor }) => Err(self.overflow(floor, &limits, &sizes)),
        }
    }

    /// Whether what is cut is summarised.
    fn summarizes(&self) -> bool {
        let config = &self.builder.config;
        config.enable_compaction
            && config.tries(Strategy::Summarize)
            && self.builder.compactor.is_some()
    }

    /// Whether what is cut may be left out without a summary.
    fn may_drop(&self) -> bool {
        self.builder.config.tries(Strategy::Drop) || !self.summarizes()
    }

    fn limits(&self, summarizes: bool) -> Limits {
        let config = &self.builder.config;
        let cover = match (summarizes, config.tries(Strategy::Drop)) {
            (true, _) => Cover::Summarize { cap: self.summary_message_cap() },
            (false, true) => Cover::Drop,
            // Without a compactor what is cut is dropped, whatever the list says.
            (false, false) if config.tries(Strategy::Summarize) => Cover::Drop,
            (false, false) => Cover::Never,
        };
        let limit = config.max_input_tokens;
        Limits {
            fixed: self.scale.of_tokens(self.sums.fixed()),
            summary: self.scale.of_tokens(self.sums.summary),
            trigger: config.trigger(),
            limit,
            target_permille: config.target_permille,
            protect_permille: config.protect_permille,
            max_messages: config.max_history_messages,
            overflow_hint: self.input.overflow_hint,
            may_elide: config.tries(Strategy::Elide),
            cover,
        }
    }

    /// How many tokens the message with a summary may have. It must not take all the room that a cut
    /// makes, however much of the whole is taken by what is always sent.
    fn summary_message_cap(&self) -> u64 {
        let config = &self.builder.config;
        let room = config.trigger().saturating_sub(self.scale.of_tokens(self.sums.fixed()));
        let share = permille_of(permille_of(room, config.target_permille), SUMMARY_PERMILLE_MAX);
        (config.summary_cap() + self.summary_wrapper()).min(share.max(self.summary_wrapper()))
    }

    /// What the message around a summary costs.
    pub(super) fn summary_wrapper(&self) -> u64 {
        let counter = &self.builder.counter;
        self.scale.of_tokens(counter.count_message(&summary_message("")).count.tokens) + 1
    }

    /// What every message costs, and what it would cost as a stub.
    fn sizes(&mut self) -> Vec<Size> {
        let min = self.builder.config.elide_min_tokens;
        let mut sizes = Vec::with_capacity(self.tokens.len());
        for (place, tokens) in self.tokens.clone().into_iter().enumerate() {
            let item = &self.window.items[place];
            let can_shrink = tokens >= min
                && !self.marks.elided.contains(&item.place)
                && has_outputs(&item.message)
                && !verdict::is_made_up(self, item);
            let stub = can_shrink.then(|| self.scale.of_tokens(self.stub_tokens(place)));
            sizes.push(Size { tokens: self.scale.of_tokens(tokens), stub });
        }
        sizes
    }

    fn stub_tokens(&mut self, place: usize) -> u64 {
        let (item, counter) = (&self.window.items[place], &self.builder.counter);
        let id = id_at(self.log, &self.arrivals, item.place);
        let count = || counter.count_message(&elided(&item.message, id)).count;
        self.index.stub_tokens(item.place, id, count).tokens
    }

    fn overflow(&self, floor: u64, limits: &Limits, sizes: &[Size]) -> ContextError {
        let fixed = [
            (FloorPart::SystemPrompt, self.sums.frozen),
            (FloorPart::Tools, self.sums.tools),
            (FloorPart::RuntimeHints, self.sums.hints),
        ];
        let fixed = fixed.map(|(what, tokens)| (what, self.scale.of_tokens(tokens)));
        let musts = self.window.units.iter().filter(|unit| unit.is_must());
        let places = musts.flat_map(|unit| unit.items.clone());
        let entries = places.map(|place| {
            let id = id_at(self.log, &self.arrivals, self.window.items[place].place);
            let Size { tokens, stub } = sizes[place];
            let is_pinned = self.is_pinned_item(place);
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
        ContextError::Overflow(Overflow { floor, limit: limits.limit, biggest })
    }

    fn is_pinned_item(&self, place: usize) -> bool {
        self.window.units.iter().any(|unit| unit.is_pinned && unit.items.contains(&place))
    }

    /// Makes the cut: entries for the log, and the window as it is from now on.
    fn apply(
        &mut self,
        plan: &Plan,
        summary: Result<Summary, Option<String>>,
        tokens_before: u64,
    ) -> Result<Cut, ContextError> {
        let mut maker = Maker::new(self, tokens_before);
        if !plan.elide.is_empty() {
            maker.elide(&plan.elide);
        }
        if let Some(cut) = plan.cut {
            maker.cover(cut, summary, plan.summary_cap)?;
        }
        Ok(maker.done())
    }

    fn assemble(mut self, cut: Cut) -> Result<ContextBuildResult<'a>, ContextError> {
        let recalled = recalled::recall(&mut self);
        let mut stats = self.stats();
        let repairs = self.repairs();
        let verdicts = match self.input.explain {
            true => verdict::verdicts(&self, &cut, recalled.as_ref())?,
            false => Vec::new(),
        };
        let mut messages = Vec::with_capacity(self.window.items.len() + 4);
        let mut push = |message, tokens, source| {
            messages.push(ModelMessage { message, tokens, source });
        };
        if let Some(message) = self.frozen {
            push(MessageRef::made(message), self.sums.frozen, Source::System);
        }
        if let Some((id, message)) = self.summary {
            push(MessageRef::made(message), self.sums.summary, Source::Summary(id));
        }
        for (item, tokens) in self.window.items.into_iter().zip(&self.tokens) {
            let id = id_at(self.log, &self.arrivals, item.place).clone();
            push(item.message, *tokens, Source::Entry(id));
        }
        if let Some(recalled) = recalled {
            stats.input_tokens += self.scale.of_tokens(recalled.tokens);
            stats.recalled_entries_count = recalled.places.len() as u64;
            push(MessageRef::made(recalled.message), recalled.tokens, Source::Recall);
        }
        if let Some(message) = self.hints {
            push(MessageRef::made(message), self.sums.hints, Source::RuntimeHints);
        }
        stats.message_count = messages.len() as u64;
        let mut entries_to_append = self.arrivals.entries;
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
        })
    }

    fn stats(&self) -> ContextStats {
        let tail = self.index.entries.newest_place();
        let on_branch = self.index.messages_until(tail) + self.arrivals.messages.len() as u64;
        let items = &self.window.items;
        // A result that was made up stands right behind those of its call, under the same place.
        let is_own = |item: &super::Item<'_>| self.is_message(item.place);
        let mut sent: Vec<usize> =
            items.iter().filter(|item| is_own(item)).map(|item| item.place).collect();
        sent.sort_unstable();
        sent.dedup();
        let is_stub = |item: &&super::Item<'_>| {
            self.marks.elided.contains(&item.place) && has_outputs(&item.message)
        };
        ContextStats {
            input_tokens: self.total(),
            exact: self.is_exact && self.scale == Scale::ONE,
            message_count: 0,
            dropped_messages_count: on_branch.saturating_sub(sent.len() as u64),
            summarized_messages_count: self.summarized(),
            elided_messages_count: items.iter().filter(is_stub).count() as u64,
            recalled_entries_count: 0,
            scale_permille: self.scale.permille(),
        }
    }

    fn is_message(&self, place: usize) -> bool {
        let entry = self.log.get(place);
        entry.is_none_or(|entry| matches!(entry.kind, tertulia_session::EntryKind::Message(_)))
    }

    /// How many messages the summary stands for: those before what it kept, but for those that stay.
    fn summarized(&self) -> u64 {
        let Some(first_kept) = self.marks.summary_first_kept else { return 0 };
        let parent = match first_kept.checked_sub(self.log.len()) {
            None => self.index.entries.parent_place(self.log, first_kept),
            Some(_) => self.index.entries.newest_place(),
        };
        let arrived = first_kept.saturating_sub(self.log.len()) as u64;
        let before = self.window.items.iter().filter(|item| item.place < first_kept);
        let stay = before.filter(|item| self.is_message(item.place) && !item.is_mended).count();
        (self.index.messages_until(parent) + arrived).saturating_sub(stay as u64)
    }

    fn repairs(&self) -> Vec<Repair> {
        // A call is found to have no result only when something follows it.
        let mut mended: Vec<_> = self.window.mended.iter().collect();
        mended.sort_by_key(|mended| mended.place);
        let named = mended.into_iter().map(|mended| Repair {
            entry: id_at(self.log, &self.arrivals, mended.place).clone(),
            kind: mended.kind.clone(),
        });
        named.collect()
    }

    /// The id that the next entry follows.
    pub(super) fn next_parent(&self, made: &[Entry]) -> Option<EntryId> {
        let newest = made.last().or(self.arrivals.entries.last()).map(|entry| entry.id.clone());
        newest.or_else(|| tail_id(self.index, self.log))
    }
}

/// The id of the entry at a place; those that arrived come behind the log.
pub(super) fn id_at<'e>(log: &'e [Entry], arrivals: &'e Arrivals<'_>, place: usize) -> &'e EntryId {
    &entry_at(log, arrivals, place).id
}

pub(super) fn entry_at<'e>(
    log: &'e [Entry],
    arrivals: &'e Arrivals<'_>,
    place: usize,
) -> &'e Entry {
    log.get(place).unwrap_or_else(|| &arrivals.entries[place - log.len()])
}

/// How much of what a cut leaves may be the summary.
const SUMMARY_PERMILLE_MAX: u64 = 600;

/// A summary as the model reads it.
pub(super) fn summary_message(summary: &str) -> Message {
    let text = format!("{SUMMARY_HEAD}\n\n{summary}");
    made_message(Role::User, "compaction_summary", [Part::text(text)])
}

const SUMMARY_HEAD: &str = "[Summary of the conversation before this point]";

/// Where a provider should cache: behind the system message, where the last request ended, and at the
/// end of the history.
fn breakpoints(messages: &[ModelMessage<'_>]) -> Vec<usize> {
    let is_history = |message: &ModelMessage<'_>| {
        matches!(message.source, Source::Summary(_) | Source::Entry(_))
    };
    let system = messages.iter().rposition(|message| message.source == Source::System);
    let last = messages.iter().rposition(is_history);
    let answer = messages.iter().rposition(|message| {
        is_history(message) && message.message.effective_role() == Role::Assistant
    });
    let before = answer.and_then(|answer| answer.checked_sub(1));
    let mut places: Vec<usize> = system.into_iter().chain(before).chain(last).collect();
    places.sort_unstable();
    places.dedup();
    places
}
