//! The minutes of a long conversation: when enough lies before every member's window, it is covered by
//! one summary, which is an entry. So a prompt costs no more at the hundred-thousandth message than at
//! the hundredth, and whoever opens the session again sees the same.

use std::borrow::Cow;

use tertulia_context::compact::{Covered, SummaryTask, extract};
use tertulia_context::tokens::Tokenizer;
use tertulia_session::{CompactionSummary, EntryId, EntryKind, Fields, Message};

use super::log::TableLog;
use crate::house::without_markers;

/// So many messages beyond the window are gathered before they are covered.
const GATHERED: usize = 16;
/// How long the minutes may be.
const MINUTES_TOKENS: u64 = 1_500;
/// Who writes them, as the entry says.
const AUTHOR: &str = "minutes";
const STRATEGY: &str = "extractive";

/// New minutes, if it is time: they cover all but the newest messages that a window holds.
pub(super) fn due(log: &TableLog, window: usize) -> Option<EntryKind> {
    let covered = log.minutes().map_or(0, |(_, covered)| covered);
    let until = log.said_count().saturating_sub(window.saturating_add(1));
    (until >= covered + GATHERED).then(|| write(log, until)).flatten()
}

/// Minutes of all but the newest messages, whether it is time or not.
pub(super) fn now(log: &TableLog, keep: usize) -> Option<EntryKind> {
    let covered = log.minutes().map_or(0, |(_, covered)| covered);
    let until = log.said_count().saturating_sub(keep);
    (until > covered).then(|| write(log, until)).flatten()
}

fn write(log: &TableLog, until: usize) -> Option<EntryKind> {
    let (previous, from) = match log.minutes() {
        Some((minutes, covered)) => (Some(&*minutes.summary), covered),
        None => (None, 0),
    };
    // Markers were for the router; as an open point or a decision they would only puzzle.
    let said: Vec<(&EntryId, Cow<'_, Message>)> = (from..until)
        .filter_map(|number| log.said(number))
        .map(|(entry, message)| (&entry.id, without_markers(message)))
        .collect();
    let new: Vec<Covered<'_>> =
        said.iter().map(|(entry, message)| Covered { entry, message }).collect();
    let tokenizer = Tokenizer::Claude;
    let task =
        SummaryTask { previous, covered: &new, max_tokens: MINUTES_TOKENS, tokenizer: &tokenizer };
    let summary = extract(&task);
    if summary.trim().is_empty() {
        return None;
    }
    let (first_kept, _) = log.said(until)?;
    // Counted on from the minutes before: adding up all of them again would cost the whole log.
    let before = log.minutes().and_then(|(minutes, _)| minutes.covered_count).unwrap_or(0);
    let count = before + new.len() as u64;
    Some(EntryKind::CompactionSummary(Box::new(CompactionSummary {
        summary: summary.into(),
        first_kept_entry_id: first_kept.id.clone(),
        covered_from_id: log.said(0).map(|(entry, _)| entry.id.clone()),
        covered_to_id: log.said(until - 1).map(|(entry, _)| entry.id.clone()),
        covered_count: Some(count),
        covered_hash: None,
        tokens_before: None,
        tokens_after: None,
        strategy: Some(STRATEGY.into()),
        author: Some(AUTHOR.into()),
        kept_ids: None,
        refused: None,
        scale_permille: None,
        unknown: Fields::NONE,
    })))
}
