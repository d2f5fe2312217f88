//! Finds the entry that superseded a tool's output: the same call made again, a later read of the same lines, or a
//! later change of the file. [`super::Files`] keeps it; it contains no texts.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use tertulia_session::ToolCall;

use super::OPEN_MAX;

/// The calls and lines of results, and the later events that may supersede them.
#[derive(Clone, Debug, Default)]
pub(super) struct Newer {
    /// Calls without a result: their position, and a hash of the call.
    open: HashMap<Box<str>, Called>,
    /// The results of equal calls.
    calls: HashMap<u64, Vec<Event>>,
    files: HashMap<Box<str>, Vec<Event>>,
    /// The call and the lines of a result, by its message and the id of its call.
    shown: HashMap<(usize, Box<str>), Shown>,
}

#[derive(Clone, Copy, Debug)]
struct Called {
    position: usize,
    /// The hash of the tool and its arguments.
    hash: u64,
}

#[derive(Clone, Debug)]
struct Shown {
    hash: u64,
    /// The lines of a file, if the call read a file.
    lines: Option<(Box<str>, Range<usize>)>,
}

/// An event that may supersede results.
#[derive(Clone, Debug)]
struct Event {
    called: usize,
    position: usize,
    /// The lines that were read; `None` for a change of the file or a repeated call.
    lines: Option<Range<usize>>,
}

/// The maximum number of events that are checked for one output.
const CHECKED_MAX: usize = 64;

impl Newer {
    pub(super) fn call(&mut self, position: usize, call: &ToolCall) {
        if self.open.len() >= OPEN_MAX {
            self.open.clear();
        }
        let mut hasher = DefaultHasher::new();
        (&*call.tool_name, call.arguments.as_str()).hash(&mut hasher);
        let called = Called { position, hash: hasher.finish() };
        self.open.insert(call.tool_call_id.clone(), called);
    }

    /// Adds a result, and returns the position of its call.
    pub(super) fn result(&mut self, position: usize, call: &str) -> Option<usize> {
        let Called { position: called, hash } = self.open.remove(call)?;
        self.calls.entry(hash).or_default().push(Event { called, position, lines: None });
        self.shown.insert((position, call.into()), Shown { hash, lines: None });
        Some(called)
    }

    /// Records that a result showed these lines of a file.
    pub(super) fn read(
        &mut self,
        (called, position): (usize, usize),
        call: &str,
        path: &str,
        lines: Range<usize>,
    ) {
        if let Some(shown) = self.shown.get_mut(&(position, call.into())) {
            shown.lines = Some((path.into(), lines.clone()));
        }
        self.event(path, Event { called, position, lines: Some(lines) });
    }

    /// Records that a file was changed.
    pub(super) fn changed(&mut self, (called, position): (usize, usize), path: &str) {
        self.event(path, Event { called, position, lines: None });
    }

    fn event(&mut self, path: &str, event: Event) {
        self.files.entry(path.into()).or_default().push(event);
    }

    /// Returns the position of the newest message before `end` that supersedes a result. Calls that were made before
    /// the result arrived do not count, because they ran in parallel.
    pub(super) fn newer(&self, position: usize, call: &str, end: usize) -> Option<usize> {
        let shown = self.shown.get(&(position, call.into()))?;
        let newest = |events: &[Event], counts: &dyn Fn(&Event) -> bool| {
            let before = events.partition_point(|event| event.position < end);
            let events = events.get(..before)?.iter().rev().take(CHECKED_MAX);
            let mut later = events.filter(|event| event.called > position);
            later.find(|event| counts(event)).map(|event| event.position)
        };
        let again = self.calls.get(&shown.hash).and_then(|events| newest(events, &|_| true));
        let of_file = shown.lines.as_ref().and_then(|(path, lines)| {
            let covers = |event: &Event| match &event.lines {
                Some(read) => read.start <= lines.start && lines.end <= read.end,
                None => true,
            };
            newest(self.files.get(path)?, &covers)
        });
        again.max(of_file)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::Work;

    /// Checks the position of the newest message before `end` that supersedes the result with this id.
    #[track_caller]
    fn check(work: &Work, (position, call): (usize, &str), end: usize, expected: Option<usize>) {
        assert_eq!(work.files.newer(position, call, end), expected);
    }

    fn run(work: &mut Work, id: &str, command: &str) {
        work.call(id, "bash", json!({ "command": command }));
        work.result(id, "done", false);
    }

    #[test]
    fn a_command_that_is_run_again_is_superseded_by_the_last_run_before_the_end() {
        let mut work = Work::default();
        for (id, command) in [("a", "make"), ("b", "make test"), ("c", "make"), ("d", "make")] {
            run(&mut work, id, command);
        }
        check(&work, (2, "a"), 99, Some(8));
        check(&work, (2, "a"), 8, Some(6));
        check(&work, (2, "a"), 6, None);
        check(&work, (4, "b"), 99, None);
        check(&work, (8, "d"), 99, None);
    }

    #[test]
    fn equal_calls_of_one_answer_do_not_supersede_each_other() {
        let mut work = Work::default();
        for id in ["a", "b"] {
            work.call(id, "bash", json!({ "command": "make" }));
        }
        for id in ["a", "b"] {
            work.result(id, "done", false);
        }
        check(&work, (3, "a"), 99, None);
    }

    #[test]
    fn a_read_is_superseded_by_a_change_and_by_a_read_of_the_same_lines() {
        let read = |work: &mut Work, id: &str, offset: usize, limit: usize| {
            let lines = (offset..offset + limit).map(|line| format!("{line:6}→line {line}\n"));
            work.call(id, "Read", json!({ "path": "f", "offset": offset, "limit": limit }));
            work.result(id, &lines.collect::<String>(), false);
        };
        let mut work = Work::default();
        read(&mut work, "a", 11, 5);
        read(&mut work, "b", 30, 5);
        check(&work, (2, "a"), 99, None);
        read(&mut work, "c", 10, 9);
        check(&work, (2, "a"), 99, Some(6));
        check(&work, (4, "b"), 99, None);
        work.call("d", "Edit", json!({ "path": "f", "old_string": "line 30", "new_string": "x" }));
        work.result("d", "Done.", false);
        check(&work, (4, "b"), 99, Some(8));
        work.call("e", "Edit", json!({ "path": "f", "old_string": "line 31", "new_string": "y" }));
        work.result("e", "Error: no match", true);
        check(&work, (4, "b"), 99, Some(8));
    }
}
