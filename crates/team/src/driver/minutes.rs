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
/// A summary that a person asks for has no more than so many hundredths of what it covers.
const COMPACT_SHARE: u64 = 60;
/// Less is too short to say anything.
const COMPACT_TOKENS_MIN: u64 = 100;
/// About so many bytes are a token.
const TOKEN_BYTES: u64 = 4;
/// How many messages stay word for word when a person asks for a summary.
const COMPACT_KEEPS: usize = 2;
/// Who writes them, as the entry says: nobody asked, or a person did.
const AUTHOR: &str = "minutes";
const REQUESTED: &str = "compact";
const STRATEGY: &str = "extractive";

/// What became of a request to summarise the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compacted {
    /// The covered messages are in no prompt word for word any more.
    Done {
        /// How many messages are covered that were not before.
        messages: usize,
        /// How many bytes shorter the summary is than what it stands for.
        saved_bytes: usize,
    },
    /// Too little was said since the last summary, or at all.
    TooFew {
        /// How many of the newest ones always stay word for word.
        keeps: usize,
    },
    /// A summary would be as long as what it stands for.
    NotShorter {
        /// How many messages it would cover.
        messages: usize,
    },
}

/// Whether a person asked for this summary: what it covers is then in no prompt word for word.
pub(super) fn is_requested(summary: &CompactionSummary) -> bool {
    summary.author.as_deref() == Some(REQUESTED)
}

/// New minutes, if it is time: they cover all but the newest messages that a window holds.
pub(super) fn due(log: &TableLog, window: usize) -> Option<EntryKind> {
    let covered = log.minutes().map_or(0, |(_, covered)| covered);
    let until = log.said_count().saturating_sub(window.saturating_add(1));
    let summary = (until >= covered + GATHERED)
        .then(|| write(log, until, MINUTES_TOKENS, AUTHOR))
        .flatten()?;
    Some(EntryKind::CompactionSummary(Box::new(summary)))
}

/// A summary of all but the newest messages that a person asked for, if it makes prompts shorter.
pub(super) fn requested(log: &TableLog) -> (Compacted, Option<EntryKind>) {
    let (previous, from) =
        log.minutes().map_or((0, 0), |(minutes, covered)| (minutes.summary.len(), covered));
    let until = log.said_count().saturating_sub(COMPACT_KEEPS);
    let messages = until.saturating_sub(from);
    if messages == 0 {
        return (Compacted::TooFew { keeps: COMPACT_KEEPS }, None);
    }
    let said = (from..until).filter_map(|number| log.said(number));
    let covered = previous + said.map(|(_, message)| message.text().len()).sum::<usize>();
    let share = covered as u64 / TOKEN_BYTES * COMPACT_SHARE / 100;
    let max_tokens = share.clamp(COMPACT_TOKENS_MIN, MINUTES_TOKENS);
    match write(log, until, max_tokens, REQUESTED) {
        Some(summary) if summary.summary.len() < covered => {
            let saved_bytes = covered - summary.summary.len();
            let kind = EntryKind::CompactionSummary(Box::new(summary));
            (Compacted::Done { messages, saved_bytes }, Some(kind))
        }
        _ => (Compacted::NotShorter { messages }, None),
    }
}

fn write(log: &TableLog, until: usize, max_tokens: u64, author: &str) -> Option<CompactionSummary> {
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
    let task = SummaryTask { previous, covered: &new, max_tokens, tokenizer: &tokenizer };
    let summary = extract(&task);
    if summary.trim().is_empty() {
        return None;
    }
    let (first_kept, _) = log.said(until)?;
    // Counted on from the minutes before: adding up all of them again would cost the whole log.
    let before = log.minutes().and_then(|(minutes, _)| minutes.covered_count).unwrap_or(0);
    let count = before + new.len() as u64;
    Some(CompactionSummary {
        summary: summary.into(),
        first_kept_entry_id: first_kept.id.clone(),
        covered_from_id: log.said(0).map(|(entry, _)| entry.id.clone()),
        covered_to_id: log.said(until - 1).map(|(entry, _)| entry.id.clone()),
        covered_count: Some(count),
        covered_hash: None,
        tokens_before: None,
        tokens_after: None,
        strategy: Some(STRATEGY.into()),
        author: Some(author.into()),
        kept_ids: None,
        refused: None,
        scale_permille: None,
        unknown: Fields::NONE,
    })
}

#[cfg(test)]
mod tests {
    use tertulia_session::{Speaker, SpeakerType};
    use tertulia_store::{NewSession, SessionStore};

    use super::*;

    fn log() -> TableLog {
        let store = SessionStore::memory();
        let session = store.create(&NewSession::default()).unwrap().id;
        TableLog::open(&store, &session).unwrap()
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
            log.stage(EntryKind::Message(message), false);
            if let Some(minutes) = due(&log, WINDOW) {
                log.stage(minutes, false);
            }
        }
        let mut again = self::log();
        let mut summaries = 0;
        for entry in log.entries() {
            let mut entry = entry.clone();
            let written = due(&again, WINDOW);
            if matches!(entry.kind, EntryKind::CompactionSummary(_)) {
                summaries += 1;
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
