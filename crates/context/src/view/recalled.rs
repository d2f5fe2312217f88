//! Recall in a view: passages of messages before the window that the newest ones are about. What is found follows
//! from the log and the question alone, not from what was asked before or how much of the log is read.

use tertulia_session::Message;

use crate::branch::Branch;
use crate::recall::{Passage, RECENT_MESSAGES, RecallIndex, RecallQuery};
use crate::tokens::Tokenizer;

/// The number of newest messages that are searched, at least.
const SEARCHED: usize = 8_192;
/// Older messages are forgotten in steps of this many.
const STEP: usize = 2_048;

/// Finds what is no longer in a window. Kept from turn to turn; takes new messages in as they come.
#[derive(Debug, Default)]
pub struct Recall {
    index: RecallIndex,
    /// The ordinals of the first message that is searched, and of the first that was not taken in.
    range: std::ops::Range<usize>,
}

impl Recall {
    /// Returns the ordinal of the first message that is searched where there are this many.
    pub fn first_searched(messages: usize) -> usize {
        messages.saturating_sub(SEARCHED) / STEP * STEP
    }

    /// Holds exactly the messages that may be found.
    fn catch_up(&mut self, branch: Branch<'_>, until: usize) {
        let first = Self::first_searched(branch.message_count());
        if first > self.range.start || until < self.range.end {
            self.index.retain(|ordinal| (first..until).contains(&ordinal));
        }
        for number in branch.said_from(self.range.end.max(first))..branch.said_count() {
            let Some((index, entry, message)) = branch.said(number) else { continue };
            let ordinal = branch.messages_before(index);
            if ordinal >= until {
                break;
            }
            self.index.add_said(ordinal, message, entry.timestamp.as_ref());
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
        let until = branch.said(first).map_or(all, |(index, ..)| branch.messages_before(index));
        self.catch_up(branch, until);
        let count = branch.said_count();
        let said = |number: usize| branch.said(number).map(|(.., message)| message);
        let recent: Vec<&Message> =
            (count.saturating_sub(RECENT_MESSAGES)..count).filter_map(said).collect();
        let query = RecallQuery { request: Some(request), recent: &recent };
        let message_at = |ordinal: usize| branch.message(ordinal).map(|(.., message)| message);
        self.index.search(&query, tokens, &Tokenizer::Claude, |_| true, message_at)
    }
}
