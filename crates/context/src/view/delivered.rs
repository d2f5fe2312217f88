//! The view of a member whose agent keeps its own session: only what is new since its last turn.

use tertulia_session::Message;

use super::{Perspective, Recall, View, ViewItem, ViewSettings};
use crate::branch::Branch;
use crate::window::first_of_window;

/// What the session of a member's agent contains. The numbers are those of messages with text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The first message that it contains word for word. Passages of older ones are recalled.
    pub first: usize,
    /// The first message that it does not contain.
    pub until: usize,
    /// The index of the entry with which the member's last turn ended. The member's own messages before it are in the
    /// session too, because the agent wrote them there.
    pub ended: usize,
    /// The indexes of the member's own messages before `ended` that it wrote without this session.
    pub apart: Vec<usize>,
    /// The summary of new messages that do not fit, and the first message that it does not cover.
    pub summary: Option<(usize, usize)>,
}

impl Delivered {
    /// Returns whether the session contains the member's own message at this index, because the agent wrote it there.
    pub fn has_own(&self, index: usize) -> bool {
        index < self.ended && !self.apart.contains(&index)
    }
}

impl<'l> View<'l> {
    /// Chooses what a member gets whose agent has the rest. Every message of others is in exactly one such view, word
    /// for word or in a summary. The member also gets the answered message if it is an older one.
    pub fn since(
        branch: Branch<'l>,
        recall: &mut Recall,
        perspective: &Perspective<'_>,
        settings: &ViewSettings<'_>,
        delivered: &Delivered,
    ) -> Self {
        let count = branch.text_message_count();
        let answered = branch.number_of(settings.answers).or(count.checked_sub(1));
        let new = delivered.until.min(count);
        let window = first_of_window(count, settings.window, answered).max(new);
        let mut view = Self::default();
        let request = answered.and_then(|number| branch.text_message(number));
        if let Some((.., request)) = request.filter(|_| delivered.first > 0) {
            view.recall(branch, recall, perspective, settings, (delivered.first, request));
        }
        // The summary follows the passages, because what comes first is left out first.
        let first = view.summarize_missed(branch, delivered, new, window);
        let is_in_session = |index: usize, message: &Message| {
            delivered.has_own(index) && perspective.is_own(message)
        };
        view.take_in(first..count, answered, |number| {
            let (index, entry, message) = branch.text_message(number)?;
            let is_new = Some(number) == answered || !is_in_session(index, message);
            is_new.then(|| perspective.item(index, entry, message))
        });
        view.is_repeated = answered.is_some_and(|number| {
            let message = branch.text_message(number);
            (delivered.first..new).contains(&number)
                || message.is_some_and(|(index, _, message)| is_in_session(index, message))
        });
        view
    }

    /// Adds the summary of the new messages before the window. Returns the number of the first message that is
    /// included word for word.
    fn summarize_missed(
        &mut self,
        branch: Branch<'l>,
        delivered: &Delivered,
        new: usize,
        window: usize,
    ) -> usize {
        if let Some((index, until)) = delivered.summary.filter(|(_, until)| *until > new)
            && let Some(summary) = branch.summary_text(index)
        {
            self.covered = until - new;
            self.items.push(ViewItem::summary(index, summary, self.covered, 0));
            return until;
        }
        let Some((index, summary, until)) = branch.summary() else { return new };
        // Messages that no summary covers yet are included too.
        let first = window.min(until).max(new);
        if first > new {
            self.covered = branch.covered();
            self.items.push(ViewItem::summary(
                index,
                &summary.summary,
                self.covered,
                summary.older(),
            ));
        }
        first
    }
}
