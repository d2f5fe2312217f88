//! Recall in a build: passages that relate to the newest messages and are no longer sent are added at the end,
//! within their limit. [`crate::recall`] searches; this code decides which messages may be found and how passages
//! are shown.

use std::collections::HashSet;

use tertulia_session::{EntryId, EntryKind, Message, Part, Role};

use super::build::{Build, entry_at};
use super::window::generated_message;
use super::{LogIndex, MessageRef, RecalledPassage};
use crate::branch::is_request;
use crate::recall::{Passage, RECENT_MESSAGES, RecallBudget, RecallQuery, RecallStatus};
use crate::view::{RECALL_HEAD, recalled_text};

#[derive(Clone, Debug)]
pub(super) struct Recalled {
    pub(super) message: Message,
    pub(super) tokens: u64,
    pub(super) entries: Vec<LogIndex>,
    pub(super) passages: Vec<RecalledPassage>,
}

/// The last query and its result, so that the same query is not run twice.
pub(super) type LastRecall = (QueryKey, Option<Recalled>);

/// Everything that determines what is recalled from one log.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct QueryKey {
    entries: usize,
    budget: u64,
    member: Option<Box<str>>,
    request: Option<LogIndex>,
    /// The messages that are sent, and whether each is sent whole.
    sent: Vec<(LogIndex, bool)>,
}

/// How many of the best passages are considered, as a multiple of the budget. Passages that are sent anyway are
/// included.
const SCOPE: u64 = 4;

/// The maximum number of tokens that a new request recalls if they are free. It may exceed the limit for other
/// steps.
const REQUEST_TOKENS_MAX: u64 = 6_144;

/// The estimated tokens of the line above a passage. The whole message is counted at the end.
const PASSAGE_HEAD_TOKENS: u64 = 24;

pub(super) fn recall(build: &mut Build<'_, '_>) -> Option<Recalled> {
    let mut found = find(build)?;
    if build.input.explain {
        explain(build, &mut found);
    }
    Some(found)
}

fn find(build: &mut Build<'_, '_>) -> Option<Recalled> {
    let config = &build.builder.config;
    let is_whole = build.cut_state.first_kept.is_none() && build.cut_state.elided.is_empty();
    if config.recall_cap() == 0 || is_whole || !build.has_new_request() {
        return None;
    }
    // Recalled text must not bring the request back to the size that the model found too large.
    let refused = build.cut_state.refused_tokens.map(|tokens| tokens.saturating_sub(1));
    let limit = (config.max_input_tokens - config.reserve_tokens).min(refused.unwrap_or(u64::MAX));
    let free = limit.saturating_sub(build.total());
    let most = match build.may_fill_with_recall() {
        true => config.recall_cap().max(REQUEST_TOKENS_MAX),
        false => config.recall_cap(),
    };
    let budget = free.min(most).saturating_mul(1_000) / build.scale.permille();
    catch_up(build);
    if build.shows_files() {
        build.index.follow_files(build.log);
    }
    let is_whole = |item: &super::Item<'_>| (item.entry, !item.message.is_generated());
    let key = QueryKey {
        entries: build.log.len(),
        budget,
        member: build.member(),
        request: request_at(build).map(|item| item.entry),
        sent: build.window.items.iter().map(is_whole).collect(),
    };
    if let Some((_, found)) = build.index.last_recall.as_ref().filter(|last| last.0 == key) {
        return found.clone();
    }
    let passages = search(build, budget.saturating_sub(PASSAGE_HEAD_TOKENS));
    let found = fit(build, &passages, budget);
    if build.new_messages.entries.is_empty() {
        build.index.last_recall = Some((key, found.clone()));
    }
    found
}

pub(super) fn request_at<'b, 'a>(build: &'b Build<'a, '_>) -> Option<&'b super::Item<'a>> {
    let answered = build.input.answers.and_then(|id| build.index.find(id));
    let mut newest = build.window.items.iter().rev();
    newest.find(|item| match answered {
        Some(answered) => item.entry == answered,
        None => !build.is_recall(item) && is_request(&item.message),
    })
}

/// Returns the newest messages that somebody said, oldest first.
pub(super) fn recent<'b, 'a>(build: &'b Build<'a, '_>) -> Vec<&'b super::Item<'a>> {
    let said = build.window.items.iter().rev().filter(|item| !build.is_recall(item));
    let mut recent: Vec<_> = said.take(RECENT_MESSAGES).collect();
    recent.reverse();
    recent
}

/// Adds the entries that are new to the index of recall. Also adds the new messages under the positions that they
/// will get in the log, so that recall finds the same once they are appended.
pub(super) fn catch_up(build: &mut Build<'_, '_>) {
    let (index, log) = (&mut *build.index, build.log);
    let shown = std::mem::take(&mut index.recalled_new_messages);
    let is_appended = |(at, id): (usize, &EntryId)| {
        log.get(at).is_some_and(|entry| entry.id == *id)
            && index.view_entry(log, LogIndex(at)).is_some_and(|view| view.entry().is_some())
    };
    let appended = (index.recalled_until..).zip(&shown).take_while(|one| is_appended(*one)).count();
    let until = index.recalled_until + appended;
    if appended < shown.len() {
        index.recall.retain(|at| at < until);
    }
    for at in until..log.len() {
        let view = index.view_entry(log, LogIndex(at));
        if let Some(EntryKind::Message(message)) = view.and_then(|view| view.kind()) {
            index.recall.add_with_time(
                at,
                message,
                log.get(at).and_then(|entry| entry.timestamp.as_ref()),
            );
        }
    }
    index.recalled_until = log.len();
    let new = build.new_messages.messages.iter().zip(&build.new_messages.entries);
    for (at, (message, entry)) in (log.len()..).zip(new) {
        index.recall.add_with_time(at, message, entry.timestamp.as_ref());
    }
    index.recalled_new_messages =
        build.new_messages.entries.iter().map(|entry| entry.id.clone()).collect();
}

fn search(build: &Build<'_, '_>, budget: u64) -> Vec<Passage> {
    let tokenizer = &build.builder.counter.tokenizer;
    let scope_tokens = budget.saturating_mul(SCOPE);
    let budget = RecallBudget { max_tokens: budget, scope_tokens };
    ask(build, |query, status, message_at| {
        build.index.recall.search_with_status(query, budget, tokenizer, status, message_at)
    })
}

/// Stores in each passage the words that matched.
fn explain(build: &Build<'_, '_>, found: &mut Recalled) {
    let positions = found.passages.iter().map(|one| build.index.find(&one.entry).map(|at| at.0));
    let positions: Vec<usize> = positions.map(Option::unwrap_or_default).collect();
    let texts = found.passages.iter().map(|passage| passage.text.as_str());
    let passages: Vec<(usize, &str)> = positions.into_iter().zip(texts).collect();
    let matches = ask(build, |query, status, message_at| {
        let is_candidate = |at| status(at) == RecallStatus::Candidate;
        build.index.recall.matches(query, is_candidate, message_at, &passages)
    });
    for (passage, matches) in found.passages.iter_mut().zip(matches) {
        passage.matches = matches;
    }
}

/// Calls `work` with the query, with a function that tells whether a message may be recalled, and with a function
/// that returns messages.
fn ask<'a, T>(
    build: &Build<'a, '_>,
    work: impl FnOnce(
        &RecallQuery<'_>,
        &dyn Fn(usize) -> RecallStatus,
        &dyn Fn(usize) -> Option<&'a Message>,
    ) -> T,
) -> T {
    let items = &build.window.items;
    let is_whole = |message: &MessageRef<'_>| !message.is_generated();
    let sent: HashSet<LogIndex> =
        items.iter().filter(|item| is_whole(&item.message)).map(|item| item.entry).collect();
    let message_at = |at: usize| match at.checked_sub(build.log.len()) {
        Some(new) => build.new_messages.messages.get(new),
        None => match build.index.view_entry(build.log, LogIndex(at))?.kind()? {
            EntryKind::Message(message) => Some(message),
            _ => None,
        },
    };
    let is_on_branch = |at: usize| at >= build.log.len() || build.index.is_on_branch(LogIndex(at));
    let recent = recent(build);
    let status = |at: usize| {
        if sent.contains(&LogIndex(at)) {
            // A message of the query cannot be a result.
            let asks = recent.iter().any(|item| item.entry == LogIndex(at));
            return if asks { RecallStatus::Excluded } else { RecallStatus::Sent };
        }
        // The current lines of files are shown instead.
        let is_superseded = build.shows_files() && build.index.files.is_superseded(at);
        match is_on_branch(at) && message_at(at).is_some() && !is_superseded {
            true => RecallStatus::Candidate,
            false => RecallStatus::Excluded,
        }
    };
    let request = request_at(build);
    let recent: Vec<&Message> = recent.iter().map(|item| &*item.message).collect();
    let query = RecallQuery { request: request.map(|item| &*item.message), recent: &recent };
    work(&query, &status, &message_at)
}

/// Returns the message with as many passages as fit. The search only estimates the lines above passages. If they
/// need more tokens, the passages with the lowest scores are removed, as few as possible.
fn fit(build: &Build<'_, '_>, passages: &[Passage], budget: u64) -> Option<Recalled> {
    let mut worst_first: Vec<usize> = (0..passages.len()).collect();
    worst_first.sort_by_key(|passage| passages[*passage].score);
    // A binary search finds how many to remove: counting again for each passage would be quadratic.
    let (mut fewest, mut enough) = (0, passages.len());
    let mut best = None;
    while fewest < enough {
        // The first attempt removes none, because usually all fit.
        let gone = fewest.checked_sub(1).map_or(0, |too_few| too_few.midpoint(enough));
        let recalled = without(build, passages, &worst_first[..gone]);
        if recalled.tokens <= budget {
            (enough, best) = (gone, Some(recalled));
        } else {
            fewest = gone + 1;
        }
    }
    best
}

fn without(build: &Build<'_, '_>, passages: &[Passage], gone: &[usize]) -> Recalled {
    let mut stays = vec![true; passages.len()];
    for passage in gone {
        stays[*passage] = false;
    }
    let left = passages.iter().zip(&stays).filter(|(_, stays)| **stays);
    let left: Vec<&Passage> = left.map(|(passage, _)| passage).collect();
    let message = shown(build, &left);
    let tokens = build.builder.counter.count_message(&message).count.tokens;
    let mut entries: Vec<LogIndex> = left.iter().map(|one| LogIndex(one.position)).collect();
    entries.dedup();
    let passages = left.into_iter().map(|passage| RecalledPassage {
        entry: entry_at(build.log, &build.new_messages, LogIndex(passage.position)).id.clone(),
        text: passage.text.clone(),
        matches: Vec::new(),
    });
    Recalled { message, tokens, entries, passages: passages.collect() }
}

fn shown(build: &Build<'_, '_>, passages: &[&Passage]) -> Message {
    if let Some(perspective) = build.input.perspective {
        let entries = passages.iter().map(|one| (&build.log[one.position], one.text.as_str()));
        let items = entries.filter_map(|(entry, passage)| perspective.passage(0, entry, passage));
        return generated_message(Role::System, "recall", [Part::text(recalled_text(items))]);
    }
    let mut text = String::from(RECALL_HEAD);
    let mut last: Option<(usize, &str)> = None;
    for passage in passages {
        let entry = entry_at(build.log, &build.new_messages, LogIndex(passage.position));
        let role = match &entry.kind {
            EntryKind::Message(message) => message.effective_role().as_str(),
            _ => Role::System.as_str(),
        };
        match last {
            Some((last, _)) if last == passage.position => text.push_str("\n[…]\n"),
            // A passage right after another one of the same role gets no line of its own, because that line is often
            // longer than the passage.
            Some((last, same)) if last + 1 == passage.position && same == role => text.push('\n'),
            Some((last, _)) if last + 1 == passage.position => {
                text.push_str(&format!("\n[{role}]\n"));
            }
            _ => {
                let number = build.message_number(LogIndex(passage.position));
                text.push_str(&format!("\n\n[{number} {role}]\n"));
            }
        }
        text.push_str(passage.text.trim_end());
        last = Some((passage.position, role));
    }
    generated_message(Role::System, "recall", [Part::text(text)])
}
