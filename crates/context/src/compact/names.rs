//! The exact names in all covered messages, and how important each is. [`super::gather`] adds them while it reads,
//! and [`super::choose`] selects by importance relative to size.
//!
//! A name counts only once in each message, so that one long output does not make it important.

use std::collections::HashMap;

use super::known::without_position;
use super::read::Source;
use crate::identifiers::identifiers;

#[derive(Default)]
pub(super) struct Names<'a> {
    positions: HashMap<&'a str, usize>,
    names: Vec<Name<'a>>,
    messages: usize,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Name<'a> {
    pub(super) text: &'a str,
    /// The number of messages that contain it, by author.
    user: u32,
    assistant: u32,
    thinking: u32,
    calls: u32,
    /// The number of calls in which it is a whole argument.
    arguments: u32,
    results: u32,
    /// The newest message that contains it, and the source in that message. It ensures that a message counts once.
    newest: Option<(usize, Source)>,
    /// The weight of its position in the previous summary; 0 if it is not there.
    carried: u64,
}

/// The weights of the first and of the last position in the previous summary.
const CARRIED: (u64, u64) = (64, 16);

impl<'a> Names<'a> {
    pub(super) fn new(messages: usize) -> Self {
        Self { messages, ..Self::default() }
    }

    pub(super) fn read(&mut self, text: &'a str, source: Source, message: usize) {
        for name in identifiers(text) {
            let name = self.name(without_position(name));
            if name.newest == Some((message, source)) {
                continue;
            }
            name.newest = Some((message, source));
            let count = match source {
                Source::User | Source::System => &mut name.user,
                Source::Assistant => &mut name.assistant,
                Source::Thinking => &mut name.thinking,
                Source::Call => &mut name.calls,
                Source::Result => &mut name.results,
            };
            *count += 1;
        }
    }

    /// Adds the names of an argument of a call.
    pub(super) fn read_argument(&mut self, text: &'a str, message: usize) {
        self.read(text, Source::Call, message);
        let mut names = identifiers(text);
        let (first, second) = (names.next(), names.next());
        if let Some(name) = first.filter(|name| name.len() == text.len() && second.is_none()) {
            self.name(without_position(name)).arguments += 1;
        }
    }

    pub(super) fn carry(&mut self, names: &[&'a str]) {
        let (first, last) = CARRIED;
        let count = names.len().max(1) as u64;
        for (position, text) in names.iter().enumerate() {
            let worth = first - (first - last) * position as u64 / count;
            let name = self.name(without_position(text));
            name.carried = name.carried.max(worth);
        }
    }

    fn name(&mut self, text: &'a str) -> &mut Name<'a> {
        let next = self.names.len();
        let position = *self.positions.entry(text).or_insert(next);
        if position == next {
            self.names.push(Name { text, ..Name::default() });
        }
        // Cannot fail: every position in the map is a position in the list.
        &mut self.names[position]
    }

    /// Returns the weight of this name; 0 if it did not occur.
    pub(super) fn value(&self, text: &str) -> u64 {
        let name = self
            .positions
            .get(without_position(text))
            .and_then(|position| self.names.get(*position));
        name.map_or(0, |name| name.value(self.messages))
    }

    /// Returns the names in the order of their importance relative to their size.
    pub(super) fn ranked(&self) -> Vec<Name<'a>> {
        let mut ranked: Vec<(u64, usize)> = self
            .names
            .iter()
            .enumerate()
            .map(|(position, name)| {
                (name.value(self.messages) * 64 / rough_cost(name.text), position)
            })
            .filter(|(worth, _)| *worth > 0)
            .collect();
        ranked.sort_unstable_by(|left, right| right.0.cmp(&left.0).then(left.1.cmp(&right.1)));
        ranked.into_iter().filter_map(|(_, position)| self.names.get(position).copied()).collect()
    }
}

impl Name<'_> {
    /// Returns a weight that depends on who used the name, how often and how recently. Calls count most, because an
    /// agent needs again what it used.
    fn value(&self, messages: usize) -> u64 {
        if !self.text.bytes().any(|byte| byte.is_ascii_alphabetic() || byte >= 0x80) {
            return self.number_value(messages);
        }
        let used = 12 * logarithmic(self.calls)
            + 12 * logarithmic(self.arguments)
            + 6 * logarithmic(self.assistant)
            + 6 * logarithmic(self.user)
            + 4 * logarithmic(self.thinking)
            + 2 * logarithmic(self.results)
            + self.carried * 8;
        used * self.recency(messages) / 64
    }

    /// Returns the weight of a number. A number only counts if somebody said it, because numbers in tool output are
    /// often line numbers. A short number or a time of day does not count: without its sentence it is meaningless.
    fn number_value(&self, messages: usize) -> u64 {
        let digits = self.text.bytes().filter(u8::is_ascii_digit).count();
        let is_time = self.text.contains(':') && digits <= 6;
        let is_short = digits < 4 && !self.text.contains('.');
        if self.carried == 0 && self.calls == 0 && (is_short || is_time) {
            return 0;
        }
        // Timeouts, limits and offsets of calls are used again and need few tokens.
        let used = 24 * logarithmic(self.calls)
            + 12 * logarithmic(self.arguments)
            + 3 * logarithmic(self.assistant)
            + 4 * logarithmic(self.user)
            + self.carried * 16;
        used * self.recency(messages) / 64
    }

    /// Returns a weight from 128 for the oldest message to eight times that for the newest.
    fn recency(&self, messages: usize) -> u64 {
        let newest = self.newest.map_or(0, |(message, _)| message as u64 + 1);
        128 + 896 * newest / messages.max(1) as u64
    }

    pub(super) fn is_carried(&self) -> bool {
        self.carried > 0
    }
}

/// Returns a logarithmic weight: 8 for once, 12 for twice, 16 for three times, 20 for five times.
fn logarithmic(count: u32) -> u64 {
    match count {
        0 => 0,
        _ => 8 + 4 * u64::from((2 * count - 1).ilog2()),
    }
}

/// The number of digits in a token.
const DIGITS: usize = 3;

/// Returns roughly how many tokens a name needs, without a tokenizer. Punctuation and capital letters begin new
/// tokens.
fn rough_cost(name: &str) -> u64 {
    if name.bytes().all(|byte| byte.is_ascii_digit()) {
        return 1 + name.len().div_ceil(DIGITS) as u64;
    }
    let signs = name.bytes().filter(|byte| !byte.is_ascii_lowercase()).count();
    1 + (name.len() / 6 + signs / 2) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_a_call_had_as_an_argument_is_a_name_and_one_of_an_output_is_not() {
        let mut names = Names::new(2);
        names.read_argument("120", 0);
        names.read("line 130", Source::Result, 1);
        assert!(names.value("120") > 0);
        assert_eq!(names.value("130"), 0);
    }

    #[test]
    fn a_folder_that_is_a_whole_argument_counts_more_than_one_in_a_command() {
        let mut names = Names::new(1);
        names.read_argument("src/strategy/", 0);
        names.read_argument("ls src/checkpoint/ | head", 0);
        assert!(names.value("src/strategy/") > names.value("src/checkpoint/"));
        assert!(names.value("src/checkpoint/") > 0);
    }
}
