//! The baselines: sending everything, or the newest messages that fit, with the oldest dropped at every step.
//! [`super::trim`] and [`super::lexical`] also use the list of messages with its sums.

use std::collections::HashMap;
use std::error::Error;
use std::ops::Range;

use tertulia_session::{Entry, Message, PartKind, Role};

use super::manager::{Manager, Piece, Sent, messages};

/// Messages as pieces with cumulative token counts, and the system prompt separately.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    system: Option<Piece>,
    pieces: Vec<Piece>,
    roles: Vec<Role>,
    /// For every index, the tokens of all pieces before it.
    sums: Vec<u64>,
}

/// Sends everything; has no budget.
#[derive(Debug, Default)]
pub(crate) struct Everything {
    backlog: Backlog,
}

/// Sends the newest messages that fit, and the system prompt. Does not split tool pairs.
#[derive(Debug)]
pub(crate) struct SlidingWindow {
    budget: u64,
    backlog: Backlog,
    /// For every index, whether the window may begin there.
    may_begin: Vec<bool>,
    /// The indexes of the calls by their ids.
    calls: HashMap<Box<str>, usize>,
    start: usize,
}

impl Backlog {
    /// Adds a message; returns whether it is now in the list. The first system message is the system prompt and is
    /// stored separately.
    pub(crate) fn push(&mut self, message: &Message) -> bool {
        let (piece, role) = (Piece::of(message), message.effective_role());
        if role == Role::System && self.pieces.is_empty() && self.system.is_none() {
            self.system = Some(piece);
            return false;
        }
        self.sums.push(self.total());
        self.pieces.push(piece);
        self.roles.push(role);
        true
    }

    pub(crate) fn len(&self) -> usize {
        self.pieces.len()
    }

    pub(crate) fn role(&self, place: usize) -> Option<Role> {
        self.roles.get(place).copied()
    }

    /// Returns the first index from which all messages and the system prompt fit.
    pub(crate) fn fitting(&self, budget: u64) -> usize {
        let system = self.system.as_ref().map_or(0, |piece| piece.tokens);
        let (room, total) = (budget.saturating_sub(system), self.total());
        self.sums.partition_point(|before| total - before > room)
    }

    /// Returns the system prompt and all messages from this index on.
    pub(crate) fn sent_from(&self, start: usize, cut: bool) -> Sent {
        let newest = self.pieces.get(start..).unwrap_or_default();
        let pieces = self.system.iter().chain(newest).cloned().collect();
        Sent { pieces, cut, overflow: newest.is_empty() && !self.pieces.is_empty() }
    }

    /// Returns the system prompt, the messages at these indexes, and all messages from a later index on.
    pub(crate) fn sent_with(&self, found: &[usize], newest: usize) -> Sent {
        let found = found.iter().filter_map(|place| self.pieces.get(*place));
        let newest = self.pieces.get(newest..).unwrap_or_default();
        let pieces = self.system.iter().chain(found).chain(newest).cloned().collect();
        Sent { pieces, cut: true, overflow: newest.is_empty() && !self.pieces.is_empty() }
    }

    /// Returns the text at this index, without the role.
    pub(crate) fn words(&self, place: usize) -> Option<&str> {
        let text = &self.pieces.get(place)?.text;
        Some(text.split_once('\n').map_or("", |(_, words)| words))
    }

    pub(crate) fn tokens(&self, place: usize) -> u64 {
        self.pieces.get(place).map_or(0, |piece| piece.tokens)
    }

    /// Returns the tokens of the system prompt and of all messages from this index on.
    pub(crate) fn tokens_from(&self, place: usize) -> u64 {
        let system = self.system.as_ref().map_or(0, |piece| piece.tokens);
        let before = self.sums.get(place).copied().unwrap_or_else(|| self.total());
        system + self.total() - before
    }

    fn total(&self) -> u64 {
        let last = self.pieces.last().map_or(0, |piece| piece.tokens);
        self.sums.last().copied().unwrap_or(0) + last
    }
}

impl Manager for Everything {
    fn name(&self) -> String {
        "everything".to_owned()
    }

    fn step(&mut self, new: &[Entry]) -> Result<Sent, Box<dyn Error>> {
        for message in messages(new) {
            self.backlog.push(message);
        }
        Ok(self.backlog.sent_from(0, false))
    }
}

impl SlidingWindow {
    pub(crate) fn new(budget: u64) -> Self {
        let (backlog, may_begin, calls) = Default::default();
        Self { budget, backlog, may_begin, calls, start: 0 }
    }

    fn push(&mut self, message: &Message) {
        if !self.backlog.push(message) {
            return;
        }
        let here = self.backlog.len() - 1;
        self.may_begin.push(true);
        for part in &message.parts {
            match &part.kind {
                PartKind::ToolCall(call) => {
                    self.calls.insert(call.tool_call_id.clone(), here);
                }
                PartKind::ToolResult(result) => {
                    if let Some(call) = self.calls.get(&result.tool_call_id) {
                        self.join(call + 1..here + 1);
                    }
                }
                _ => {}
            }
        }
    }

    /// Marks indexes at which a window would split a pair.
    fn join(&mut self, places: Range<usize>) {
        self.may_begin.get_mut(places).into_iter().flatten().for_each(|begin| *begin = false);
    }
}

impl Manager for SlidingWindow {
    fn name(&self) -> String {
        "sliding window".to_owned()
    }

    fn step(&mut self, new: &[Entry]) -> Result<Sent, Box<dyn Error>> {
        messages(new).for_each(|message| self.push(message));
        let fitting = self.backlog.fitting(self.budget);
        let rest = self.may_begin.iter().skip(fitting);
        let start = fitting + rest.take_while(|begin| !**begin).count();
        let cut = start != self.start;
        self.start = start;
        Ok(self.backlog.sent_from(start, cut))
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::Session;
    use super::super::log::Log;
    use super::*;

    /// Messages of eight bytes and a wrapper: five tokens each.
    fn session() -> Session {
        Session::of(&[
            ("system", "text", "Be nice."),
            ("user", "text", "mend it."),
            ("assistant", "tool_call", r#""call a1""#),
            ("tool", "tool_result", "result 1"),
            ("user", "text", "go on..."),
        ])
    }

    /// Returns the end of the text of each sent message, and whether nothing fits.
    fn sent(manager: &mut dyn Manager, session: &Session) -> (Vec<String>, bool) {
        let sent = manager.step(&Log::of_agent(session).entries).unwrap();
        let last = |piece: &Piece| piece.text.lines().last().unwrap_or_default().to_owned();
        (sent.pieces.iter().map(last).collect(), sent.overflow)
    }

    fn window(budget: u64) -> (Vec<String>, bool) {
        sent(&mut SlidingWindow::new(budget), &session())
    }

    #[test]
    fn everything_is_sent_by_whoever_has_no_budget() {
        assert_eq!(sent(&mut Everything::default(), &session()).0.len(), 5);
    }

    #[test]
    fn the_newest_messages_are_sent_beside_the_system_prompt() {
        assert_eq!(window(100).0.len(), 5);
        assert_eq!(window(10).0, ["Be nice.", "go on..."]);
    }

    #[test]
    fn a_result_is_not_sent_without_its_call() {
        // Call 3 + 3 + 3, result 3 + 3 + 2, the rest 5 each: from the newest 5, 13, 22, 27; system 5.
        assert_eq!(window(26).0, ["Be nice.", "go on..."]);
        assert_eq!(window(27).0, ["Be nice.", "call a1", "result 1", "go on..."]);
    }

    #[test]
    fn where_nothing_fits_the_system_prompt_is_alone() {
        assert_eq!(window(9), (vec!["Be nice.".to_owned()], true));
    }

    #[test]
    fn a_window_that_moves_says_so() {
        let log = Log::of_agent(&session());
        let mut window = SlidingWindow::new(15);
        let cuts: Vec<bool> = log
            .entries
            .iter()
            .map(|entry| window.step(std::slice::from_ref(entry)).unwrap().cut)
            .collect();
        // The user's message is dropped first, then the whole pair; the last message fits.
        assert_eq!(cuts, [false, false, false, true, true, false]);
    }
}
