//! A member's view of a conversation: the messages that it gets word for word, and the summary and passages that
//! replace the others. The stages are, in order: branch → window → summary, recall → items → verdicts. A prompt
//! ([`crate::Assembler`]) or model messages ([`crate::builder`]) are made from a view within a budget. The cost
//! depends on the window, not on the log.

mod delivered;
mod perspective;
mod recalled;

use std::borrow::Cow;
use std::ops::Range;

use tertulia_session::{ConversationMessage, EntryId, Message, MessageId, Speaker};

use crate::branch::Branch;
use crate::escape::{Body, LineStart};
use crate::prompt::{ContextKind, ContextMessage, Prompt};
use crate::verdict::{DropReason, Outcome};
use crate::window::first_of_window;

pub use delivered::Delivered;
pub use perspective::{Labels, Perspective, Piece, Pieces, Stripping};
pub use recalled::Recall;

/// The default number of messages that a member of a team gets word for word. Older messages are summarised, and
/// recall finds passages of them.
pub const DEFAULT_WINDOW: usize = 20;

/// The maximum number of messages before the window that are included word for word while no summary covers them.
const UNCOVERED_MAX: usize = 256;

/// The settings of a member's view.
#[derive(Clone, Copy, Debug)]
pub struct ViewSettings<'s> {
    /// The number of messages that it gets word for word, besides the one that it answers.
    pub window: usize,
    /// The message that it answers. If it is not a message of the branch, the newest one is answered.
    pub answers: &'s EntryId,
    pub recall_tokens: u64,
}

/// The part of a conversation that one member gets, before it is formatted.
#[derive(Clone, Debug, Default)]
pub struct View<'l> {
    /// The summary, then the recalled passages, then the messages, each in the order of the log. In a view of what is
    /// new, the passages come before the summary.
    pub items: Vec<ViewItem<'l>>,
    pub current: Option<ViewItem<'l>>,
    /// The number of messages that the summary replaces; 0 if there is none.
    pub covered: usize,
    pub recalled: Vec<EntryId>,
    /// Whether the member got the message that it answers in an earlier prompt of the same session of its agent.
    pub is_repeated: bool,
    /// The index of a message that is left out because it repeats the answered one, and the id of the answered one.
    repeated: Option<(usize, MessageId)>,
}

/// One line of a view.
#[derive(Clone, Debug)]
pub struct ViewItem<'l> {
    /// The index of its entry in the log, or of its message in a conversation without a log.
    pub index: usize,
    pub line: ContextMessage<'l>,
    /// The sources of its content; `None` if they are not known.
    pub pieces: Option<Pieces>,
    pub is_from_person: bool,
    /// The number of bytes that were removed with the block form of a team task.
    pub(crate) task_block_bytes: usize,
}

impl<'l> View<'l> {
    /// Chooses the content of a member's view.
    pub fn new(
        branch: Branch<'l>,
        recall: &mut Recall,
        perspective: &Perspective<'_>,
        settings: &ViewSettings<'_>,
    ) -> Self {
        let count = branch.text_message_count();
        let answered = branch.number_of(settings.answers).or(count.checked_sub(1));
        let first = first_of_window(count, settings.window, answered);
        // Messages that no summary covers yet are included too, so that none is lost between the summary and the
        // window.
        let summary = branch.summary();
        let until = summary.map_or(0, |(.., covered)| covered);
        let before = first.min(until).max(first.saturating_sub(UNCOVERED_MAX));
        // Messages that a person had summarised are not included word for word, and are not recalled.
        let first = before.max(branch.compacted());
        let mut view = Self::default();
        let covered = branch.covered();
        if let Some((index, summary, _)) = summary.filter(|_| first > 0 && covered > 0) {
            view.covered = covered;
            view.items.push(ViewItem::summary(index, &summary.summary, covered, summary.older()));
        }
        let request = answered.and_then(|number| branch.text_message(number));
        if let Some((.., request)) = request.filter(|_| before > 0) {
            view.recall(branch, recall, perspective, settings, (before, request));
        }
        view.take_in(first..count, answered, |number| {
            let (index, entry, message) = branch.text_message(number)?;
            Some(perspective.item(index, entry, message))
        });
        view
    }

    /// Adds passages of messages before this number that relate to the request.
    fn recall(
        &mut self,
        branch: Branch<'l>,
        recall: &mut Recall,
        perspective: &Perspective<'_>,
        settings: &ViewSettings<'_>,
        (before, request): (usize, &Message),
    ) {
        for found in recall.passages(branch, before, request, settings.recall_tokens) {
            let Some((index, entry, _)) = branch.message(found.position) else { continue };
            self.items.extend(perspective.passage(index, entry, &found.text));
            self.recalled.push(entry.id.clone());
        }
    }

    /// Chooses the content of a view of a conversation without a log. The newest message is answered, and there is
    /// neither a summary nor recall.
    pub(crate) fn of_messages(
        count: usize,
        window: usize,
        item: impl Fn(usize) -> Option<ViewItem<'l>>,
    ) -> Self {
        let answered = count.checked_sub(1);
        let mut view = Self::default();
        view.take_in(first_of_window(count, window, answered)..count, answered, item);
        view
    }

    fn take_in(
        &mut self,
        numbers: Range<usize>,
        answered: Option<usize>,
        item: impl Fn(usize) -> Option<ViewItem<'l>>,
    ) {
        self.items.reserve(numbers.len());
        let others = numbers.filter(|number| Some(*number) != answered);
        self.items.extend(others.filter_map(&item));
        self.current = answered.and_then(item);
    }

    /// Leaves out the last message before the answered one if it repeats the answered one. Some agents pass on the
    /// message that they got. A repetition has the same id, or the same speaker's name and the same text without
    /// markers. Messages of people are never left out. Returns whether one was left out.
    pub(crate) fn leave_out_repetition(
        &mut self,
        last: &ConversationMessage,
        answered: &ConversationMessage,
    ) -> bool {
        let is_ai = answered.message.speaker.as_deref().is_some_and(Speaker::is_ai);
        let repeats = |item: &mut ViewItem<'l>| {
            let current = self.current.as_ref().map(|current| &current.line);
            let is_same = |now: &ContextMessage<'l>| {
                now.from == item.line.from && now.content == item.line.content
            };
            last.id == answered.id || current.is_some_and(is_same)
        };
        let repeated = if is_ai { self.items.pop_if(repeats) } else { None };
        self.repeated = repeated.map(|item| (item.index, answered.id.clone()));
        self.repeated.is_some()
    }

    /// Returns the number of items that are not messages: the summary and the recalled passages. They come first.
    pub fn extras(&self) -> usize {
        usize::from(self.covered > 0) + self.recalled.len()
    }

    /// Moves the lines out of the view, for an assembler. Their sources stay in it.
    pub fn take_lines(&mut self) -> Vec<ContextMessage<'l>> {
        self.items.iter_mut().map(|item| std::mem::take(&mut item.line)).collect()
    }

    /// Moves the text of the answered message out of the view, for an assembler.
    pub fn take_message(&mut self) -> Cow<'l, str> {
        let current = self.current.as_mut();
        current.map(|item| std::mem::take(&mut item.line.content)).unwrap_or_default()
    }

    /// Returns the outcome of each message in a prompt of this view, with its index, oldest first.
    pub fn outcomes(&self, prompt: &Prompt<'_>) -> impl Iterator<Item = (usize, Outcome)> {
        let messages = self.items.iter().enumerate().skip(self.extras());
        let lines = messages.map(|(line, item)| (item.index, prompt.line_outcome(line)));
        let repeated = self.repeated.iter().map(|(index, of)| {
            (*index, Outcome::Dropped { reason: DropReason::Duplicate { of: of.clone() } })
        });
        let current = self.current.iter().map(|item| (item.index, prompt.message_outcome()));
        lines.chain(repeated).chain(current)
    }
}

impl<'l> ViewItem<'l> {
    /// Returns the item of a summary that replaces `covered` messages; the `older` messages before them are in no
    /// summary.
    pub fn summary(index: usize, summary: &'l str, covered: usize, older: usize) -> Self {
        let kind = ContextKind::Summary { messages: covered.saturating_sub(older), older };
        let content = Cow::Borrowed(summary);
        let piece = Piece::Said { index, range: 0..summary.len() };
        Self {
            index,
            line: ContextMessage { from: Cow::Borrowed(""), to: None, content, kind },
            pieces: Some(vec![(piece, summary.len())]),
            is_from_person: false,
            task_block_bytes: 0,
        }
    }

    /// Returns the item as a separate text: a label, then the content with its further lines indented, so that one
    /// item cannot look like two.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        self.line.for_each_label_piece(|piece| text.push_str(piece.text()));
        self.body().for_each_piece(|piece| text.push_str(piece));
        text
    }

    /// Returns the content with the indentation that it has after a label.
    pub fn body(&self) -> Body<'_> {
        Body { text: &self.line.content, indent: Some(LineStart::Label) }
    }
}

/// The text before recalled passages in model messages.
pub const RECALL_HEAD: &str =
    "Earlier passages of this conversation that may matter now, oldest first:";

/// The text before each recalled passage.
pub const RECALL_LINE: &str = "\n- ";

pub(crate) fn recalled_text<'l>(passages: impl Iterator<Item = ViewItem<'l>>) -> String {
    passages.fold(String::from(RECALL_HEAD), |text, one| text + RECALL_LINE + &one.to_text())
}

pub(crate) fn name_of(message: &Message) -> Cow<'_, str> {
    let role = || message.effective_role().as_str();
    Cow::Borrowed(message.speaker.as_deref().map_or_else(role, |speaker| &*speaker.role_name))
}
