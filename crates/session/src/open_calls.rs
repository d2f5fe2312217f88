//! Pairs tool results with calls. All code that pairs them uses the same rules: a result belongs to the newest call
//! with its id, however late it comes. Calls of one answer with the same id get the results in order. If a later
//! answer reuses an id, earlier calls with this id get no more results.

use std::borrow::Borrow;
use std::collections::VecDeque;
use std::collections::hash_map::{Entry, HashMap};
use std::hash::Hash;

use crate::ToolResult;
use crate::json::Json;

/// The calls without a result, by their ids, each with data of the caller.
#[derive(Clone, Debug)]
pub struct OpenCalls<K, T> {
    answer: usize,
    open: HashMap<K, Waiting<T>>,
}

/// The calls of one id in one answer.
#[derive(Clone, Debug)]
struct Waiting<T> {
    answer: usize,
    first: T,
    others: VecDeque<T>,
}

impl<K, T> Default for OpenCalls<K, T> {
    fn default() -> Self {
        Self { answer: 0, open: HashMap::new() }
    }
}

impl<K: Borrow<str> + Eq + Hash, T> OpenCalls<K, T> {
    /// Begins an answer. Its calls are newer than all previous ones.
    pub fn begin_answer(&mut self) {
        self.answer += 1;
    }

    /// Adds a call of the newest answer.
    pub fn call(&mut self, id: K, call: T) {
        let answer = self.answer;
        match self.open.entry(id) {
            Entry::Occupied(mut waiting) if waiting.get().answer == answer => {
                waiting.get_mut().others.push_back(call);
            }
            entry => {
                entry.insert_entry(Waiting { answer, first: call, others: VecDeque::new() });
            }
        }
    }

    /// Removes and returns the call that a result with this id belongs to; `None` if there is none.
    pub fn answer(&mut self, id: &str) -> Option<T> {
        let waiting = self.open.get_mut(id)?;
        match waiting.others.pop_front() {
            Some(next) => Some(std::mem::replace(&mut waiting.first, next)),
            None => self.open.remove(id).map(|waiting| waiting.first),
        }
    }
}

impl ToolResult {
    /// The text in place of a result that was not recorded.
    pub const NOT_RECORDED: &'static str = "No result was recorded for this call.";

    /// Creates an error in place of a result that was not recorded.
    pub fn not_recorded(tool_call_id: impl Into<Box<str>>) -> Self {
        let content = Json::text(Self::NOT_RECORDED);
        Self { tool_call_id: tool_call_id.into(), is_error: true, content }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs a script: `+a` is a call, `=a` a result, `|` begins an answer. Returns the number of the call for each
    /// result.
    fn paired(script: &str) -> Vec<Option<usize>> {
        let (mut calls, mut number, mut found) = (OpenCalls::default(), 0, Vec::new());
        for word in script.split(' ') {
            match word.split_at(1) {
                ("+", id) => {
                    calls.call(id, number);
                    number += 1;
                }
                ("=", id) => found.push(calls.answer(id)),
                _ => calls.begin_answer(),
            }
        }
        found
    }

    #[test]
    fn a_result_finds_its_call_once_and_however_late() {
        assert_eq!(paired("+a +b =b =a =a"), [Some(1), Some(0), None]);
        assert_eq!(paired("+a | +b | =a"), [Some(0)]);
        assert_eq!(paired("=a +a"), [None]);
    }

    #[test]
    fn the_newest_answer_that_uses_an_id_has_it() {
        assert_eq!(paired("+a | +a =a =a"), [Some(1), None]);
        assert_eq!(paired("+a =a | +a =a"), [Some(0), Some(1)]);
    }

    #[test]
    fn calls_of_one_answer_that_share_an_id_take_results_in_order() {
        assert_eq!(paired("+a +a =a =a =a"), [Some(0), Some(1), None]);
    }
}
