//! Recall in a view: finds passages of messages before the window that relate to the newest messages. The result
//! depends only on the log and the query, not on earlier queries or on how much of the log is read.

use tertulia_session::Message;

use crate::branch::Branch;
use crate::recall::{Passage, RECENT_MESSAGES, RecallIndex, RecallQuery};
use crate::tokens::Tokenizer;

/// The minimum number of newest messages that are searched.
const SEARCHED: usize = 8_192;
/// Older messages are removed from the index in steps of this many.
const STEP: usize = 2_048;

/// An index of the messages before a window. It is kept from turn to turn and updated with new messages.
#[derive(Debug, Default)]
pub struct Recall {
    index: RecallIndex,
    /// The range of indexed messages, by their ordinals.
    range: std::ops::Range<usize>,
}

impl Recall {
    /// Returns the ordinal of the first message that is searched in a branch of this many messages.
    pub fn first_searched(messages: usize) -> usize {
        messages.saturating_sub(SEARCHED) / STEP * STEP
    }

    /// Updates the index, so that it contains exactly the messages that may be found.
    fn catch_up(&mut self, branch: Branch<'_>, until: usize) {
        let first = Self::first_searched(branch.message_count());
        if first < self.range.start {
            // The branch ends earlier than before, so older messages may be found again.
            (self.index, self.range) = (RecallIndex::default(), first..first);
        } else if first > self.range.start || until < self.range.end {
            self.index.retain(|ordinal| (first..until).contains(&ordinal));
        }
        for number in
            branch.first_text_message_from(self.range.end.max(first))..branch.text_message_count()
        {
            let Some((index, entry, message)) = branch.text_message(number) else { continue };
            let ordinal = branch.messages_before(index);
            if ordinal >= until {
                break;
            }
            self.index.add_with_time(ordinal, message, entry.timestamp.as_ref());
        }
        self.range = first..until;
    }

    /// Returns passages of messages before the number `first`, in the order of the log; their positions are
    /// ordinals of messages.
    pub(super) fn passages(
        &mut self,
        branch: Branch<'_>,
        first: usize,
        request: &Message,
        tokens: u64,
    ) -> Vec<Passage> {
        let all = branch.message_count();
        let until =
            branch.text_message(first).map_or(all, |(index, ..)| branch.messages_before(index));
        self.catch_up(branch, until);
        let count = branch.text_message_count();
        let said = |number: usize| branch.text_message(number).map(|(.., message)| message);
        let recent: Vec<&Message> =
            (count.saturating_sub(RECENT_MESSAGES)..count).filter_map(said).collect();
        let query = RecallQuery { request: Some(request), recent: &recent };
        let message_at = |ordinal: usize| branch.message(ordinal).map(|(.., message)| message);
        self.index.search(&query, tokens, &Tokenizer::Claude, |_| true, message_at)
    }
}
