//! Summaries of a long conversation. When enough messages precede the windows of all members, one summary covers
//! them. It is an entry, so every process that opens the session uses the same one. A prompt therefore costs no more
//! at the hundred-thousandth message than at the hundredth.

use std::borrow::Cow;

use tertulia_context::branch::{Branch, REQUESTED};
use tertulia_context::compact::{Compactor, Coverage, Covered, SummaryTask};
use tertulia_context::messages_of_window;
use tertulia_context::tokens::{MessageCounter, Tokenizer};
use tertulia_session::{CompactionSummary, Entry, EntryId, EntryKind, Message};

use crate::built_in::without_markers;

/// Number of messages beyond the window after which a new summary is written.
const GATHERED: usize = 16;
/// Maximum number of messages before the window that one summary is made from. Only the first summary of an imported
/// session can have more messages before it.
pub(super) const SUMMARISED_MAX: usize = 2_048;
const SUMMARY_TOKENS_MAX: u64 = 1_500;
/// Maximum size of a summary as a percentage of what it covers.
const SHARE: u64 = 60;
/// Minimum number of bytes per token that is assumed for a summary.
const TOKEN_BYTES: u64 = 4;
/// Minimum size of a summary.
const TOKENS_MIN: u64 = 100;
/// Number of messages that stay verbatim when a person asks for a summary.
const COMPACT_KEEPS: usize = 2;
/// Author in entries of automatic summaries.
const AUTHOR: &str = "minutes";

/// The result of a request to summarise the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compacted {
    /// The summary covers this many further messages, and is this much shorter than what it replaces.
    Done { messages: usize, saved_bytes: usize },
    /// There are too few messages since the last summary: the newest `keeps` messages always stay verbatim.
    TooFew { keeps: usize },
    /// A summary would be as long as what it replaces.
    NotShorter { messages: usize },
}

/// Returns a new summary if one is due. It covers all but the newest messages that a window holds.
pub(super) fn due(branch: Branch<'_>, window: usize) -> Option<EntryKind> {
    let covered = branch.summary().map_or(0, |(.., covered)| covered);
    let until = until(branch, window);
    let summary = (until >= covered + GATHERED).then(|| write(branch, until, AUTHOR)).flatten()?;
    Some(EntryKind::CompactionSummary(Box::new(summary)))
}

/// Returns the number of the first message that a new summary does not cover.
fn until(branch: Branch<'_>, window: usize) -> usize {
    branch.text_message_count().saturating_sub(messages_of_window(window))
}

/// Returns the ordinal of the first message that a summary with this window needs, if nothing is covered yet.
pub(super) fn first_needed(branch: Branch<'_>, window: usize) -> usize {
    let until = branch.text_message(until(branch, window));
    let ordinal = until.map_or(0, |(index, ..)| branch.messages_before(index));
    ordinal.saturating_sub(SUMMARISED_MAX)
}

/// Returns a summary of all but the newest messages, requested by a person, if it makes prompts shorter.
pub(super) fn requested(branch: Branch<'_>) -> (Compacted, Option<EntryKind>) {
    let previous = branch.summary().map_or(0, |(_, last, _)| last.summary.len());
    let until = branch.text_message_count().saturating_sub(COMPACT_KEEPS);
    let from = first_summarised(branch, until);
    let messages = until.saturating_sub(from);
    if messages == 0 {
        return (Compacted::TooFew { keeps: COMPACT_KEEPS }, None);
    }
    let said = (from..until).filter_map(|number| branch.text_message(number));
    let covered = previous + said.map(|(.., message)| message.text().len()).sum::<usize>();
    match write(branch, until, REQUESTED) {
        Some(summary) if summary.summary.len() < covered => {
            let saved_bytes = covered - summary.summary.len();
            let kind = EntryKind::CompactionSummary(Box::new(summary));
            (Compacted::Done { messages, saved_bytes }, Some(kind))
        }
        _ => (Compacted::NotShorter { messages }, None),
    }
}

/// Returns the number of the first message from which a summary of the messages before `until` is made.
fn first_summarised(branch: Branch<'_>, until: usize) -> usize {
    let covered = branch.summary().map_or(0, |(.., covered)| covered);
    let Some((index, ..)) = branch.text_message(until) else { return covered };
    let oldest = branch.messages_before(index).saturating_sub(SUMMARISED_MAX);
    covered.max(branch.first_text_message_from(oldest))
}

/// Returns the number of messages before `from` that no summary contains, because a summary is made from the newest
/// ones.
fn older(branch: Branch<'_>, from: usize, until: usize) -> usize {
    let older = branch.summary().map_or(0, |(_, last, _)| last.older());
    let ordinal =
        |number| branch.text_message(number).map_or(0, |(index, ..)| branch.messages_before(index));
    let is_whole = ordinal(until) <= branch.covered() + SUMMARISED_MAX;
    if is_whole { older } else { older + ordinal(from).saturating_sub(branch.covered()) }
}

fn write(branch: Branch<'_>, until: usize, author: &str) -> Option<CompactionSummary> {
    let previous = branch.summary().map(|(_, last, _)| &*last.summary);
    let from = first_summarised(branch, until);
    let said = said(branch, from..until);
    let (_, first_kept, _) = branch.text_message(until)?;
    let share = |carried: u64, new: u64| match author {
        REQUESTED => (carried + new) * SHARE / 100,
        _ => carried + new * SHARE / 100,
    };
    let mut record = record(&said, previous, (author, &first_kept.id), |carried, new| {
        share(carried, new).clamp(TOKENS_MIN, SUMMARY_TOKENS_MAX)
    })?;
    let older = older(branch, from, until);
    record.older_count = (older > 0).then_some(older as u64);
    Some(record)
}

/// Returns a summary of these messages for one member, whose agent has all messages before them.
pub(super) fn missed(
    branch: Branch<'_>,
    member: &str,
    numbers: &[usize],
    bytes_max: u64,
) -> Option<CompactionSummary> {
    let said = said(branch, numbers.iter().copied());
    let after = numbers.last()? + 1;
    let last = branch.text_message_count().checked_sub(1)?;
    let (_, first_kept, _) = branch.text_message(after.min(last))?;
    let tokens_max = (bytes_max / TOKEN_BYTES).min(SUMMARY_TOKENS_MAX);
    let mut record = record(&said, None, (AUTHOR, &first_kept.id), |_, new| {
        (new * SHARE / 100).max(TOKENS_MIN).min(tokens_max)
    })?;
    record.member = Some(member.into());
    Some(record)
}

type Said<'l> = Vec<(&'l Entry, Cow<'l, Message>)>;

/// Returns the messages of these numbers without their markers. A summary with markers would be confusing: they are
/// meant for the router.
fn said(branch: Branch<'_>, numbers: impl Iterator<Item = usize>) -> Said<'_> {
    let messages = numbers.filter_map(|number| branch.text_message(number));
    messages.map(|(_, entry, message)| (entry, without_markers(message))).collect()
}

fn record(
    said: &Said<'_>,
    previous: Option<&str>,
    (author, first_kept): (&str, &EntryId),
    tokens_max: impl FnOnce(u64, u64) -> u64,
) -> Option<CompactionSummary> {
    let covered: Vec<Covered<'_>> =
        said.iter().map(|(entry, message)| Covered { entry: &entry.id, message }).collect();
    let counter = MessageCounter::new(Tokenizer::Claude);
    let tokenizer = &counter.tokenizer;
    let carried = previous.map_or(0, |text| tokenizer.count(text).tokens);
    let counts = said.iter().map(|(_, message)| counter.count_message(message).count.tokens);
    let new: u64 = counts.sum();
    let max_tokens = tokens_max(carried, new);
    let task = SummaryTask { previous, covered: &covered, max_tokens, tokenizer };
    let tokens = carried + new;
    let mut summary = Compactor::Extractive.summarize(&task, tokens).ok()?;
    summary.author = author.into();
    let tokens = (tokens, summary.tokens);
    let entries = said.iter().map(|(entry, _)| *entry);
    Some(Coverage::new(entries, first_kept.clone()).record(summary, tokens))
}

#[cfg(test)]
mod tests {
    use tertulia_session::{Speaker, SpeakerType};
    use tertulia_store::{NewSession, SessionStore};

    use super::super::log::{Reading, SessionLog};
    use super::*;

    fn log() -> SessionLog {
        let store = SessionStore::memory();
        let session = store.create(&NewSession::default()).unwrap().id;
        SessionLog::open(&store, &session, Reading::All).unwrap()
    }

    /// Checks that range, count and hash are those of the messages between the last summary and the first kept message.
    fn assert_covers(before: &SessionLog, entry: &Entry) {
        let EntryKind::CompactionSummary(summary) = &entry.kind else { panic!("{entry:?}") };
        let branch = before.branch();
        let from = branch.summary().map_or(0, |(.., covered)| covered);
        let until = branch.number_of(&summary.first_kept_entry_id).unwrap();
        let covered: Vec<&Entry> =
            (from..until).map(|number| branch.text_message(number).unwrap().1).collect();
        assert_eq!(summary.covered_from_id.as_ref(), covered.first().map(|entry| &entry.id));
        assert_eq!(summary.covered_to_id.as_ref(), covered.last().map(|entry| &entry.id));
        assert_eq!(summary.covered_count, Some(covered.len() as u64));
        let mut hash = tertulia_session::EntriesHash::default();
        covered.into_iter().for_each(|entry| hash.add(entry));
        assert_eq!(summary.covered_hash.as_deref(), Some(&*hash.finish()));
        assert!(summary.tokens_after < summary.tokens_before);
    }

    #[test]
    fn summaries_that_were_deleted_are_written_the_same_again() {
        const WINDOW: usize = 4;
        let mut log = log();
        for number in 0..90 {
            let (name, kind) =
                [("ann", SpeakerType::Human), ("max", SpeakerType::Ai)][number % 2].clone();
            let text = format!("We decided: gateway_{number} has port 4{number:03}.");
            let message = Message::said(Speaker::new(name, name, kind), text);
            log.stage(EntryKind::Message(message));
            if let Some(summary) = due(log.branch(), WINDOW) {
                log.stage(summary);
            }
        }
        let mut again = self::log();
        let mut summaries = 0;
        for entry in log.entries() {
            let mut entry = entry.clone();
            let written = due(again.branch(), WINDOW);
            if matches!(entry.kind, EntryKind::CompactionSummary(_)) {
                summaries += 1;
                assert_covers(&again, &entry);
                assert_eq!(written.as_ref(), Some(&entry.kind));
                entry.kind = written.unwrap();
            } else {
                assert_eq!(written, None);
            }
            again.take(entry);
        }
        assert!(summaries >= 4, "{summaries}");
    }
}
