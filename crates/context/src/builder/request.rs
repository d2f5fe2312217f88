//! Summaries that a model writes: the request to the model, and how its text gets into the log. The text must pass
//! the same gate as every other summary.

use std::collections::HashSet;

use tertulia_session::{CompactionSummary, Entry, EntryId, EntryKind};

use super::build::summary_message;
use super::cut_state::CutState;
use super::index::ContextIndex;
use super::new_messages::{generated_entry, tail_id};
use super::scale::Scale;
use super::window::covered_of;
use super::{ContextBuilder, ContextError, LogIndex, MessageRef};
use crate::branch::Landmark;
use crate::compact::{CUSTOM, Covered, SummaryTask, accept};

/// A request to a model for a summary, and the part of the log that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryRequest {
    pub covered_from_id: Option<EntryId>,
    pub covered_to_id: Option<EntryId>,
    pub first_kept_entry_id: EntryId,
    pub covered_count: u64,
    pub covered_hash: Box<str>,
    /// The entries that stay from before the first kept entry.
    pub kept_ids: Vec<EntryId>,
    pub max_tokens: u64,
    pub text: String,
}

/// The result of offering a text that a model wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedSummary {
    pub accepted: bool,
    /// The reason if the text was refused.
    pub reason: Option<String>,
    /// The entries to append to the log: the summary to use from now on, with the reason if the text was refused.
    pub entries_to_append: Vec<Entry>,
}

/// The maximum length of the request to the model, which fits into the window of a small model.
pub(super) const REQUEST_BYTES_MAX: usize = 400_000;

impl SummaryRequest {
    pub(super) fn of(summary: &CompactionSummary, max_tokens: u64, text: String) -> Self {
        Self {
            covered_from_id: summary.covered_from_id.clone(),
            covered_to_id: summary.covered_to_id.clone(),
            first_kept_entry_id: summary.first_kept_entry_id.clone(),
            covered_count: summary.covered_count.unwrap_or_default(),
            covered_hash: summary.covered_hash.clone().unwrap_or_default(),
            kept_ids: summary.kept_ids.clone().unwrap_or_default(),
            max_tokens,
            text,
        }
    }
}

impl ContextBuilder {
    /// Replaces the extractive summary that was made with the request by a text that a model wrote, if the text
    /// passes the gate. The log must already contain the extractive summary. A refused text is recorded too: the
    /// existing summary is appended again with the reason.
    pub fn accept_summary(
        &self,
        index: &mut ContextIndex,
        session_entries: &[Entry],
        request: &SummaryRequest,
        text: &str,
        author: &str,
    ) -> Result<AcceptedSummary, ContextError> {
        let (log, counter) = (session_entries, &self.counter);
        index.catch_up(log, counter)?;
        let (summary, previous) = find(index, log, request)?;
        let covered = covered(index, log, summary)?;
        let list: Vec<Covered<'_>> =
            covered.iter().map(|(entry, message)| Covered { entry, message }).collect();
        let task = SummaryTask {
            previous,
            covered: &list,
            max_tokens: request.max_tokens.min(self.config.summary_cap()),
            tokenizer: &counter.tokenizer,
        };
        let mut tokens = previous.map_or(0, |text| counter.tokenizer.count(text).tokens);
        for (entry, message) in &covered {
            let at = index.find(entry).unwrap_or(LogIndex(usize::MAX));
            tokens += index.tokens(at, entry, message, counter).tokens;
        }
        let refusal = accept(text, &task, tokens).err();
        let mut summary = summary.clone();
        match &refusal {
            None => {
                let scale = summary.scale_permille.map_or(Scale::ONE, Scale::of_permille);
                let sent = |text: &str| {
                    scale.of_tokens(counter.count_message(&summary_message(text)).count.tokens)
                };
                let (old, new) = (sent(&summary.summary), sent(text));
                summary.tokens_after =
                    summary.tokens_after.map(|after| after.saturating_add(new).saturating_sub(old));
                summary.summary = text.into();
                (summary.author, summary.strategy) = (Some(author.into()), Some(CUSTOM.into()));
                summary.refused = None;
            }
            Some(refusal) => summary.refused = Some(format!("{author}: {refusal}").into()),
        }
        let kind = EntryKind::CompactionSummary(Box::new(summary));
        Ok(AcceptedSummary {
            accepted: refusal.is_none(),
            reason: refusal.as_ref().map(ToString::to_string),
            entries_to_append: vec![generated_entry(kind, tail_id(index, log), log.last())],
        })
    }
}

/// Returns the summary that the request is about, and the text of the previous one.
fn find<'a>(
    index: &ContextIndex,
    log: &'a [Entry],
    request: &SummaryRequest,
) -> Result<(&'a CompactionSummary, Option<&'a str>), ContextError> {
    let tail = index.newest();
    let cut_state = CutState::of(index, log, tail, None)?;
    // A drop after the summary removed more messages. They must not come back.
    let is_overtaken = cut_state.by != cut_state.summary.map(|(at, _)| at);
    let summaries = index.landmarks(Landmark::Summary, tail);
    let mut summaries = summaries.filter_map(|at| match index.view_entry(log, at)?.kind()? {
        EntryKind::CompactionSummary(summary) if summary.member.is_none() => Some(&**summary),
        _ => None,
    });
    let newest = summaries.next().filter(|summary| {
        !is_overtaken
            && summary.covered_hash.as_deref() == Some(&*request.covered_hash)
            && summary.first_kept_entry_id == request.first_kept_entry_id
    });
    let Some(summary) = newest else {
        let problem = "does not belong to the newest summary: first append entriesToAppend, or \
            build again if entries were redacted or cut since";
        return Err(ContextError::field("coveredHash", problem));
    };
    // A replaced summary has the same range as its replacement, so it is not the previous one.
    let previous = summaries.find(|older| older.covered_hash != summary.covered_hash);
    Ok((summary, previous.map(|older| &*older.summary)))
}

fn covered<'a>(
    index: &ContextIndex,
    log: &'a [Entry],
    summary: &CompactionSummary,
) -> Result<Vec<(&'a EntryId, MessageRef<'a>)>, ContextError> {
    let kept: HashSet<&EntryId> = summary.kept_ids.iter().flatten().collect();
    let mut messages = Vec::new();
    let mut is_met = false;
    for view in index.entries.walk(log)? {
        let view = view?;
        is_met |= summary.covered_to_id.as_ref() == Some(view.id());
        if is_met && !kept.contains(view.id()) {
            messages.extend(covered_of(view, None).map(|message| (view.id(), message)));
        }
        if summary.covered_from_id.as_ref() == Some(view.id()) {
            break;
        }
    }
    messages.reverse();
    Ok(messages)
}
