//! Recall in a view: passages of messages before the window that the newest ones are about.

use tertulia_session::Message;

use super::Branch;
use crate::recall::{Passage, RECENT_MESSAGES, RecallIndex, RecallQuery};
use crate::tokens::Tokenizer;

/// Finds what is no longer in a window. Kept from turn to turn; takes new messages in as they come.
#[derive(Debug, Default)]
pub struct Recall {
    index: RecallIndex,
    /// The number of messages that were taken in.
    until: usize,
}

impl Recall {
    fn catch_up(&mut self, branch: Branch<'_>, until: usize) {
        for number in self.until..until {
            if let Some((.., message)) = branch.said(number) {
                self.index.add(number, message);
            }
        }
        self.until = self.until.max(until);
    }

    /// Returns passages of messages before the number `first`, in the order of the log; their places are
    /// numbers of messages.
    pub(super) fn passages(
        &mut self,
        branch: Branch<'_>,
        first: usize,
        request: &Message,
        tokens: u64,
    ) -> Vec<Passage> {
        self.catch_up(branch, first);
        let count = branch.said_count();
        let message_at = |number: usize| branch.said(number).map(|(.., message)| message);
        let recent: Vec<&Message> =
            (count.saturating_sub(RECENT_MESSAGES)..count).filter_map(message_at).collect();
        let query = RecallQuery { request: Some(request), recent: &recent };
        let is_candidate = |number| number < first;
        self.index.search(&query, tokens, &Tokenizer::Claude, is_candidate, message_at)
    }
}
