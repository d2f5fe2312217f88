//! The state that the newest cut left: the summary that replaces older messages, the first entry that is kept, the
//! entries that stay from before it, and the entries whose tool outputs are stubs. The search goes from the end of
//! the branch and skips entries that hide nothing of the window.

use std::collections::HashMap;

use tertulia_session::{CompactionSummary, ContextCut, CutStrategy, Entry, EntryId, EntryKind};

use super::index::ContextIndex;
use super::scale::Scale;
use super::{ContextError, LogIndex};
use crate::branch::Landmark;

#[derive(Clone, Debug, Default)]
pub(super) struct CutState<'a> {
    /// The newest summary.
    pub(super) summary: Option<(LogIndex, &'a CompactionSummary)>,
    /// The first entry that this summary does not replace.
    pub(super) summary_first_kept: Option<LogIndex>,
    /// The entry that determines what is kept: that summary, or a newer drop.
    pub(super) by: Option<LogIndex>,
    /// The first entry that is kept; `None` if all are.
    pub(super) first_kept: Option<LogIndex>,
    /// The entries that stay from before it; `None` if the log does not name them.
    pub(super) kept: Option<&'a [EntryId]>,
    /// The entries whose tool outputs are stubs, each with the cut that elided it. A stub only names entries from
    /// before that cut, so it never changes.
    pub(super) elided: HashMap<LogIndex, LogIndex>,
    /// How many real tokens a counted token was at the last cut, in thousandths.
    pub(super) scale_permille: Option<u64>,
    pub(super) newest: Option<LogIndex>,
    /// The newest recall that replaces all recalls before it.
    pub(super) recalled: Option<LogIndex>,
    /// The size that the model found too large, if the newest cut was made for that reason.
    pub(super) refused_tokens: Option<u64>,
    /// Whether the last two cuts made the context no smaller, with no message between them.
    pub(super) is_stuck: bool,
}

impl<'a> CutState<'a> {
    pub(super) fn of(
        index: &ContextIndex,
        log: &'a [Entry],
        tail: Option<LogIndex>,
        member: Option<&str>,
    ) -> Result<Self, ContextError> {
        let recalled = index.landmarks(Landmark::Recall, tail).next();
        let mut cut_state = Self { recalled, ..Self::default() };
        let mut idle = Vec::new();
        for at in index.landmarks(Landmark::Cut, tail) {
            if cut_state.first_kept.is_some_and(|first| at < first) {
                break;
            }
            let Some(entry) = seen(index, log, at, member) else { continue };
            if cut_state.newest.is_none() {
                (cut_state.newest, cut_state.refused_tokens) =
                    (Some(at), refused_tokens(&entry.kind));
            }
            match &entry.kind {
                EntryKind::CompactionSummary(summary) => {
                    idle.push((at, summary.tokens_before.zip(summary.tokens_after)));
                    cut_state.take_summary(index, entry, at, summary)?;
                }
                EntryKind::ContextCut(cut) => {
                    idle.push((at, Some((cut.tokens_before, cut.tokens_after))));
                    cut_state.take_cut(index, entry, at, cut)?;
                }
                _ => {}
            }
        }
        let older = index.landmarks(Landmark::Summary, tail);
        let mut older = older.filter_map(|at| match seen(index, log, at, member)? {
            entry @ Entry { kind: EntryKind::CompactionSummary(summary), .. } => {
                Some((entry, at, summary))
            }
            _ => None,
        });
        if cut_state.summary.is_none()
            && let Some((entry, at, summary)) = older.next()
        {
            cut_state.take_summary(index, entry, at, summary)?;
        }
        cut_state.is_stuck = is_stuck(index, &idle, tail);
        Ok(cut_state)
    }

    fn take_summary(
        &mut self,
        index: &ContextIndex,
        entry: &Entry,
        at: LogIndex,
        summary: &'a CompactionSummary,
    ) -> Result<(), ContextError> {
        // The newer summary includes the content of the older one.
        if self.summary.is_some() {
            return Ok(());
        }
        let first_kept = named_entry(index, entry, FIRST_KEPT, &summary.first_kept_entry_id)?;
        self.summary = Some((at, summary));
        self.summary_first_kept = Some(first_kept);
        self.scale_permille.get_or_insert(summary.scale_permille.unwrap_or(Scale::ONE.permille()));
        if self.by.is_none() {
            self.by = Some(at);
            self.first_kept = Some(first_kept);
            self.kept = summary.kept_ids.as_deref();
        }
        Ok(())
    }

    fn take_cut(
        &mut self,
        index: &ContextIndex,
        entry: &Entry,
        at: LogIndex,
        cut: &'a ContextCut,
    ) -> Result<(), ContextError> {
        self.scale_permille.get_or_insert(cut.scale_permille.unwrap_or(Scale::ONE.permille()));
        for id in cut.elided_ids.iter().flatten() {
            self.elided.insert(named_entry(index, entry, "payload.elidedIds", id)?, at);
        }
        if cut.strategy == CutStrategy::Drop && self.by.is_none() {
            let Some(first_kept) = &cut.first_kept_entry_id else {
                let problem = "is missing; name the first entry that was not dropped";
                return Err(ContextError::entry(&entry.id, FIRST_KEPT, problem));
            };
            self.by = Some(at);
            self.first_kept = Some(named_entry(index, entry, FIRST_KEPT, first_kept)?);
            self.kept = cut.kept_ids.as_deref();
        }
        Ok(())
    }
}

/// Returns the entry at an index, unless it is hidden or a cut of another member's context.
fn seen<'a>(
    index: &ContextIndex,
    log: &'a [Entry],
    at: LogIndex,
    member: Option<&str>,
) -> Option<&'a Entry> {
    let entry = index.view_entry(log, at)?.entry()?;
    let of = match &entry.kind {
        EntryKind::CompactionSummary(summary) => summary.member.as_deref(),
        EntryKind::ContextCut(cut) => cut.member.as_deref(),
        _ => None,
    };
    (of.is_none() || of == member).then_some(entry)
}

fn named_entry(
    index: &ContextIndex,
    entry: &Entry,
    field: &'static str,
    named: &EntryId,
) -> Result<LogIndex, ContextError> {
    index.find(named).ok_or_else(|| {
        let problem = format!("names {named}, which is not in the log; name an entry of the log");
        ContextError::entry(&entry.id, field, problem)
    })
}

/// Returns whether the two newest cuts made the context no smaller, and nothing was said since the older one.
fn is_stuck(
    index: &ContextIndex,
    cuts: &[(LogIndex, Option<(u64, u64)>)],
    tail: Option<LogIndex>,
) -> bool {
    let [(_, newest), (oldest, older), ..] = cuts else { return false };
    let idle = |tokens: &Option<(u64, u64)>| tokens.is_some_and(|(before, after)| after >= before);
    let messages = |until: LogIndex| index.messages_before(LogIndex(until.0 + 1));
    idle(newest) && idle(older) && tail.is_some_and(|tail| messages(*oldest) == messages(tail))
}

/// Returns the size that the model found too large, if this cut was made for that reason.
fn refused_tokens(cut: &EntryKind) -> Option<u64> {
    match cut {
        EntryKind::CompactionSummary(summary) => {
            let is_refused = summary.reason.as_deref() == Some(TOO_LARGE);
            is_refused.then_some(summary.tokens_before?)
        }
        EntryKind::ContextCut(cut) => {
            cut.reason.starts_with(TOO_LARGE).then_some(cut.tokens_before)
        }
        _ => None,
    }
}

/// The reason that is recorded if a context is cut although it is within its limit.
pub(super) const TOO_LARGE: &str = "the model found it too large";

pub(super) const FIRST_KEPT: &str = "payload.firstKeptEntryId";
