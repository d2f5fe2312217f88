//! What was done and what failed: calls put together with their answers. Called by [`super::gather`].

use std::collections::{HashMap, HashSet};

use super::SummaryTask;
use super::calls::{Deed, deeds, failure, only_looks};
use super::gather::candidate;
use super::order::{Candidate, Lists};
use super::read::{Answer, Call, Reading};
use super::sections::one_line;

/// What stands before a file that was written, and before a command.
pub(super) const WROTE: &str = "wrote ";
pub(super) const RAN: &str = "ran ";

/// How much of the last line of an output stands behind a command.
const OUTCOME_MAX: usize = 60;

pub(super) fn worked<'a>(task: &SummaryTask<'a>, reading: &'a Reading<'a>, found: &mut Lists<'a>) {
    let mut work = Work { task, found, answers: HashMap::new(), told: HashSet::new() };
    for answer in &reading.answers {
        work.answers.insert(answer.call, answer);
    }
    let mut by_command = HashSet::new();
    // Newest first: what a file or a command came to in the end is what counts.
    for (place, call) in reading.calls.iter().enumerate().rev() {
        if work.call(place, call) {
            by_command.insert(call.id);
        }
    }
    for (place, answer) in reading.answers.iter().enumerate() {
        if let Some(line) = failure(answer, by_command.contains(answer.call)) {
            work.found.errors.push(candidate(task, answer.message, place, line));
        }
    }
}

struct Work<'t, 'a> {
    task: &'t SummaryTask<'a>,
    found: &'t mut Lists<'a>,
    answers: HashMap<&'a str, &'a Answer<'a>>,
    told: HashSet<&'a str>,
}

impl<'a> Work<'_, 'a> {
    fn call(&mut self, place: usize, call: &'a Call<'a>) -> bool {
        let mut ran = false;
        // Only the newest list of things to do is worth telling.
        let first_list = self.found.steps.is_empty() && self.found.closed.is_empty();
        for deed in deeds(call) {
            match deed {
                Deed::Wrote(path) => self.did(place, call, WROTE, path, String::new()),
                Deed::Ran(command) => {
                    ran = true;
                    if !only_looks(command) {
                        let tail = self.outcome(call);
                        self.did(place, call, RAN, command, tail);
                    }
                }
                Deed::Open(step) if first_list => {
                    self.found.steps.push(candidate(self.task, call.message, place, step));
                }
                Deed::Closed(step) => {
                    self.found.closed.insert(step);
                }
                Deed::Open(_) => {}
            }
        }
        ran
    }

    fn did(
        &mut self,
        place: usize,
        call: &'a Call<'a>,
        lead: &'static str,
        what: &'a str,
        tail: String,
    ) {
        if self.told.insert(what) {
            let line = candidate(self.task, call.message, place, what);
            self.found.done.push(Candidate { lead, tail, ..line });
        }
    }

    fn outcome(&self, call: &Call<'_>) -> String {
        let Some(answer) = self.answers.get(call.id) else { return String::new() };
        if failure(answer, true).is_some() {
            return " → failed".to_owned();
        }
        match answer.text.lines().next_back().map(str::trim) {
            Some(last) if !last.is_empty() && last.len() <= OUTCOME_MAX => {
                format!(" → ok: {}", one_line(last, OUTCOME_MAX))
            }
            _ => " → ok".to_owned(),
        }
    }
}

/// The file or the command that a carried line is about, so that newer news replaces it.
pub(super) fn subject(text: &str) -> &str {
    let what = text.strip_prefix(WROTE).or_else(|| text.strip_prefix(RAN)).unwrap_or(text);
    what.split(" → ").next().unwrap_or(what)
}
