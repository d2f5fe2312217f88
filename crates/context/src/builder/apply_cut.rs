//! Makes a cut: stubs, a summary or a drop, each as an entry that later builds apply. The planner has already
//! decided about sizes.

use std::collections::{BTreeSet, HashSet};

use tertulia_session::{
    ContextCut, CutStrategy, Entry, EntryId, EntryKind, Fields, Recall, ViewEntry,
};

use super::build::{Build, entry_at, id_at};
use super::cut_state::TOO_LARGE;
use super::item::WindowIndex;
use super::new_messages::generated_entry;
use super::plan::Plan;
use super::request::{REQUEST_BYTES_MAX, SummaryRequest};
use super::window::{covered_of, message_of};
use super::{ContextError, Item, LogIndex, MessageRef};
use crate::compact::{Coverage, Covered, EXTRACTIVE, Summary, SummaryTask, request_text};

#[derive(Debug, Default)]
pub(super) struct Cut {
    pub(super) entries: Vec<Entry>,
    pub(super) summary: Option<EntryId>,
    pub(super) request: Option<SummaryRequest>,
    pub(super) is_new: bool,
}

/// A cut in progress: makes its entries and updates the build accordingly.
pub(super) struct CutWriter<'m, 'a, 'b> {
    pub(super) build: &'m mut Build<'a, 'b>,
    pub(super) tokens_before: u64,
    pub(super) cut: Cut,
}

struct Covering<'a> {
    /// The covered messages, oldest first.
    messages: Vec<(LogIndex, MessageRef<'a>)>,
    /// The first and the last entry of the range.
    range: Option<(EntryId, EntryId)>,
}

impl CutWriter<'_, '_, '_> {
    pub(super) fn elide(&mut self, items: &[WindowIndex]) {
        let build = &mut *self.build;
        let entries: BTreeSet<LogIndex> =
            items.iter().map(|item| build.window.items[item.0].entry).collect();
        let ids = entries.iter().map(|entry| id_at(build.log, &build.new_messages, *entry).clone());
        let ids = ids.collect();
        let now = LogIndex(build.log.len() + build.new_messages.messages.len());
        build.cut_state.elided.extend(entries.iter().map(|entry| (*entry, now)));
        for at in 0..build.window.items.len() {
            if entries.contains(&build.window.items[at].entry) {
                build.tokens[at] = build.count_item(WindowIndex(at)).tokens;
            }
        }
        let mut cut = self.context_cut(CutStrategy::Elide, self.reason());
        cut.elided_ids = Some(ids);
        self.append(EntryKind::ContextCut(cut));
    }

    /// Summarises or drops everything before this unit, except what must be sent.
    pub(super) fn cover(
        &mut self,
        unit: usize,
        summary: Result<Summary, Option<String>>,
        summary_cap: u64,
    ) -> Result<(), ContextError> {
        let Some(first_kept) = first_kept(self.build, unit) else { return Ok(()) };
        let kept = kept_before(self.build, unit);
        match summary {
            Ok(summary) => {
                let covering = gather(self.build, first_kept, &kept);
                self.keep_from(first_kept, &kept);
                let cap = text_cap(self.build, summary_cap);
                self.append_summary(summary, &covering, (first_kept, &kept), cap);
            }
            Err(refused) => {
                let mut reason = self.reason();
                if let Some(refused) = refused {
                    reason = format!("{reason}; no summary: {refused}");
                }
                self.keep_from(first_kept, &kept);
                let build = &*self.build;
                let id = |entry: LogIndex| id_at(build.log, &build.new_messages, entry).clone();
                let mut cut = self.context_cut(CutStrategy::Drop, reason);
                cut.first_kept_entry_id = Some(id(first_kept));
                cut.kept_ids = Some(kept.iter().map(|entry| id(*entry)).collect());
                self.append(EntryKind::ContextCut(cut));
            }
        }
        Ok(())
    }

    fn keep_from(&mut self, first_kept: LogIndex, kept: &[LogIndex]) {
        let build = &mut *self.build;
        build.window = build.window.cut(first_kept, kept, |entry| message_at(build, entry));
        build.cut_state.first_kept = Some(first_kept);
        build.count_window();
    }

    fn append_summary(
        &mut self,
        summary: Summary,
        covering: &Covering<'_>,
        (first_kept, kept): (LogIndex, &[LogIndex]),
        cap: u64,
    ) {
        let build = &mut *self.build;
        let previous = build.cut_state.summary;
        let older = build.older() as u64;
        build.cut_state.summary_first_kept = Some(first_kept);
        let message = build.summary_message(&summary.text);
        build.sums.summary = build.index.generated_tokens(&message, &build.builder.counter).tokens;
        let ids = |entries: &[LogIndex]| -> Vec<EntryId> {
            entries
                .iter()
                .map(|entry| id_at(build.log, &build.new_messages, *entry).clone())
                .collect()
        };
        let entries = covering.messages.iter();
        let entries = entries.map(|(entry, _)| entry_at(build.log, &build.new_messages, *entry));
        let mut coverage =
            Coverage::new(entries, id_at(build.log, &build.new_messages, first_kept).clone());
        coverage.range.clone_from(&covering.range);
        let mut payload = coverage.record(summary, (self.tokens_before, build.total()));
        payload.kept_ids = Some(ids(kept));
        payload.older_count = (older > 0).then_some(older);
        payload.member = build.member();
        payload.scale_permille = build.scale.recorded();
        payload.reason = build.input.overflow_hint.then(|| TOO_LARGE.into());
        if build.builder.config.request_summaries && payload.author.as_deref() == Some(EXTRACTIVE) {
            let covered = covered_list(build, covering);
            let mut task = task(build, &covered, cap);
            task.previous = previous.map(|(_, summary)| &*summary.summary);
            let text = request_text(&task, REQUEST_BYTES_MAX);
            self.cut.request = Some(SummaryRequest::of(&payload, task.max_tokens, text));
        }
        let entry = self.append(EntryKind::CompactionSummary(Box::new(payload)));
        self.build.summary = Some((entry.clone(), message));
        self.cut.summary = Some(entry);
    }

    /// Returns a cut of the build in its present state, which names no entries yet.
    fn context_cut(&self, strategy: CutStrategy, reason: String) -> ContextCut {
        ContextCut {
            strategy,
            first_kept_entry_id: None,
            elided_ids: None,
            tokens_before: self.tokens_before,
            tokens_after: self.build.total(),
            reason: reason.into(),
            kept_ids: None,
            scale_permille: self.build.scale.recorded(),
            member: self.build.member(),
            unknown: Fields::NONE,
        }
    }

    /// Appends recalled text. This does not count as a cut, because it removes nothing.
    pub(super) fn append_recall(&mut self, recall: Recall) -> EntryId {
        let is_new = self.cut.is_new;
        let id = self.append(EntryKind::Recall(Box::new(recall)));
        self.cut.is_new = is_new;
        id
    }

    fn append(&mut self, kind: EntryKind) -> EntryId {
        let build = &*self.build;
        let parent_id = build.next_parent(&self.cut.entries);
        let newest = build.new_messages.entries.last().or(build.log.last());
        let entry = generated_entry(kind, parent_id, newest);
        let id = entry.id.clone();
        self.cut.entries.push(entry);
        self.cut.is_new = true;
        id
    }

    fn reason(&self) -> String {
        let config = &self.build.builder.config;
        if self.build.input.overflow_hint {
            return TOO_LARGE.to_owned();
        }
        let trigger = self.build.trigger();
        match config.max_history_messages {
            Some(max) if self.tokens_before <= trigger => format!("over {max} messages"),
            _ => format!("over {trigger} tokens"),
        }
    }
}

fn message_at<'a>(build: &Build<'a, '_>, entry: LogIndex) -> Option<MessageRef<'a>> {
    match entry.0.checked_sub(build.log.len()) {
        Some(new) => build.new_messages.messages.get(new).map(MessageRef::Logged),
        None => message_of(build.index.view_entry(build.log, entry)?, build.input.perspective),
    }
}

/// Returns the first entry that stays.
fn first_kept(build: &Build<'_, '_>, unit: usize) -> Option<LogIndex> {
    let start = build.units().list.get(unit).map(|unit| build.window.items[unit.items.start].entry);
    // If everything that stays is from before the last cut, the first kept entry stays the same.
    start.or(build.cut_state.first_kept)
}

/// Returns the entries that stay from before the cut, in order. A result that was moved up to a call stays where it
/// is.
fn kept_before(build: &Build<'_, '_>, unit: usize) -> Vec<LogIndex> {
    let (window, units) = (&build.window, &build.units().list);
    let required = units[..unit].iter().filter(|unit| unit.is_required());
    let items = required.flat_map(|unit| &window.items[unit.items.clone()]);
    let start = units.get(unit).map(|unit| window.items[unit.items.start].entry);
    let is_before = |entry: &LogIndex| start.is_none_or(|start| *entry < start);
    let mut entries: Vec<LogIndex> = items.map(|item| item.entry).filter(is_before).collect();
    entries.sort_unstable();
    entries.dedup();
    entries
}

/// Returns the summary of what a plan cuts, or the reason why there is none. If the context must become smaller, a
/// summary that does not make it smaller is refused. Changes nothing yet.
pub(super) fn summarize(
    build: &mut Build<'_, '_>,
    plan: &Plan,
    tokens_before: u64,
) -> Result<Result<Summary, String>, ContextError> {
    let start = plan.cut.and_then(|unit| Some((unit, first_kept(build, unit)?)));
    let (Some((unit, first_kept)), Some(compactor)) = (start, &build.builder.compactor) else {
        return Ok(Err("there is no compactor".to_owned()));
    };
    let covering = gather(build, first_kept, &kept_before(build, unit));
    let mut tokens = build.sums.summary;
    for covered in &covering.messages {
        tokens += covered_tokens(build, covered);
    }
    let covered = covered_list(build, &covering);
    let task = task(build, &covered, text_cap(build, plan.summary_cap));
    let summary = match compactor.summarize(&task, tokens) {
        Ok(summary) => summary,
        Err(refusal) => return Ok(Err(refusal.to_string())),
    };
    let message = build.summary_message(&summary.text);
    let tokens = build.index.generated_tokens(&message, &build.builder.counter).tokens;
    let after = plan.left + build.scale.of_tokens(tokens);
    let must_shrink = after > build.trigger() || build.input.overflow_hint;
    if after >= tokens_before && must_shrink {
        return Ok(Err(format!(
            "it would not reduce the tokens: {after} with it, {tokens_before} before"
        )));
    }
    Ok(Ok(summary))
}

/// Returns how many tokens the text of a summary may have, if its message may have `summary_cap` tokens.
fn text_cap(build: &Build<'_, '_>, summary_cap: u64) -> u64 {
    let text = summary_cap.saturating_sub(build.summary_wrapper());
    let counted = text.saturating_mul(1_000) / build.scale.permille();
    counted.min(build.builder.config.summary_cap())
}

/// Collects all messages that the cut removes. They are between the last summary and the first kept entry, or an
/// earlier cut kept them but this one does not.
fn gather<'a>(build: &Build<'a, '_>, first_kept: LogIndex, kept: &[LogIndex]) -> Covering<'a> {
    let log = build.log;
    let kept: HashSet<LogIndex> = kept.iter().copied().collect();
    let mut found: Vec<(LogIndex, MessageRef<'a>)> = Vec::new();
    let (mut first, mut last) = (None, None);
    for offset in (0..first_kept.0.saturating_sub(log.len())).rev() {
        let id = &build.new_messages.entries[offset].id;
        (first, last) = (Some(id), last.or(Some(id)));
        let message = MessageRef::Logged(&build.new_messages.messages[offset]);
        found.push((LogIndex(log.len() + offset), message));
    }
    let until = build.cut_state.summary_first_kept;
    // The range begins where the last summary ended. If that is on another branch, or not before this cut, the range
    // begins at the root.
    let known = until.filter(|until| *until < first_kept && build.index.is_on_branch(*until));
    let is_new = |view: &ViewEntry<'_>| {
        until != Some(first_kept) && Some(LogIndex(view.position())) >= known
    };
    for view in build.index.before(log, first_kept).take_while(is_new) {
        (first, last) = (Some(view.id()), last.or(Some(view.id())));
        let message = covered_of(view, build.input.perspective);
        found.extend(message.map(|message| (LogIndex(view.position()), message)));
    }
    let range = first.cloned().zip(last.cloned());
    found.retain(|(entry, _)| !kept.contains(entry));
    found.reverse();
    let seen: HashSet<LogIndex> = found.iter().map(|(entry, _)| *entry).collect();
    let released = |item: &&Item<'a>| {
        !item.is_repaired && !kept.contains(&item.entry) && !seen.contains(&item.entry)
    };
    let units = build.units();
    let before = units.list[..units.kept_before].iter();
    let items = before.flat_map(|unit| &build.window.items[unit.items.clone()]);
    let released = items.filter(released).map(|item| (item.entry, item.message.clone()));
    Covering { messages: released.chain(found).collect(), range }
}

fn covered_tokens(build: &mut Build<'_, '_>, covered: &(LogIndex, MessageRef<'_>)) -> u64 {
    let counter = &build.builder.counter;
    match covered {
        (_, MessageRef::Generated(message) | MessageRef::ForMember(message)) => {
            build.index.generated_tokens(message, counter).tokens
        }
        (entry, MessageRef::Logged(message)) => {
            let id = id_at(build.log, &build.new_messages, *entry);
            build.index.tokens(*entry, id, message, counter).tokens
        }
    }
}

fn covered_list<'c>(build: &'c Build<'_, '_>, covering: &'c Covering<'_>) -> Vec<Covered<'c>> {
    let covered = covering.messages.iter().map(|(entry, message)| Covered {
        entry: id_at(build.log, &build.new_messages, *entry),
        message,
    });
    covered.collect()
}

fn task<'c>(build: &'c Build<'_, '_>, covered: &'c [Covered<'c>], cap: u64) -> SummaryTask<'c> {
    SummaryTask {
        previous: build.cut_state.summary.map(|(_, summary)| &*summary.summary),
        covered,
        max_tokens: cap,
        tokenizer: &build.builder.counter.tokenizer,
    }
}
