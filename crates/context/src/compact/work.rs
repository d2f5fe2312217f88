//! Finished and failed work: calls combined with their results. Called by [`super::gather`].

use std::collections::{HashMap, HashSet};

use super::SummaryTask;
use super::calls::{Action, actions, failures};
use super::gather::candidate;
use super::order::{Candidate, Lists};
use super::read::{Answer, Call, Reading};
use super::sections::{COMMAND_MAX, Section};
use crate::truncate::truncate_to_bytes;

/// Prefixes of files and commands in the summaries of earlier versions.
const WROTE: &str = "wrote ";
const RAN: &str = "ran ";

/// The suffix of a command that failed.
const FAILED: &str = " → failed";

pub(super) fn collect_work<'a>(
    task: &SummaryTask<'a>,
    reading: &'a Reading<'a>,
    found: &mut Lists<'a>,
) {
    let mut work = Work { task, found, answers: HashMap::new(), told: HashSet::new() };
    for answer in &reading.answers {
        work.answers.insert(answer.call, answer);
    }
    let mut by_command = HashSet::new();
    // Newest first: only the last result of a file or a command counts.
    for (position, call) in reading.calls.iter().enumerate().rev() {
        if work.call(position, call) {
            by_command.insert(call.id);
        }
    }
    for (position, answer) in reading.answers.iter().enumerate() {
        let is_command = by_command.contains(answer.call);
        for line in failures(answer, is_command) {
            let line = listed(task, answer.message, position, line);
            work.found.errors.push(line);
        }
    }
}

/// Returns a line of a list. It has no entry id, so that more lines fit.
fn listed<'a>(
    task: &SummaryTask<'a>,
    message: usize,
    position: usize,
    text: &'a str,
) -> Candidate<'a> {
    Candidate { id: "", ..candidate(task, message, position, text) }
}

struct Work<'t, 'a> {
    task: &'t SummaryTask<'a>,
    found: &'t mut Lists<'a>,
    answers: HashMap<&'a str, &'a Answer<'a>>,
    told: HashSet<&'a str>,
}

impl<'a> Work<'_, 'a> {
    fn call(&mut self, position: usize, call: &'a Call<'a>) -> bool {
        let mut ran = false;
        // Only the newest to-do list is used.
        let first_list = self.found.steps.is_empty() && self.found.closed.is_empty();
        for action in actions(call) {
            match action {
                Action::Wrote(path) => {
                    if self.told.insert(path) {
                        self.found.files.push(listed(self.task, call.message, position, path));
                    }
                }
                Action::Ran(command) => {
                    ran = true;
                    self.ran(position, call, beginning(command));
                }
                Action::Open(step) if first_list => {
                    self.found.steps.push(candidate(self.task, call.message, position, step));
                }
                Action::Closed(step) => {
                    self.found.closed.insert(step);
                }
                Action::Open(_) => {}
            }
        }
        ran
    }

    fn ran(&mut self, position: usize, call: &'a Call<'a>, command: &'a str) {
        if self.told.insert(command) {
            let answer = self.answers.get(call.id);
            let has_failed = answer.is_some_and(|answer| failures(answer, true).next().is_some());
            let tail = if has_failed { FAILED.to_owned() } else { String::new() };
            let line = listed(self.task, call.message, position, command);
            self.found.commands.push(Candidate { tail, ..line });
        }
    }
}

/// Returns the start of a command's first line, at most [`COMMAND_MAX`] bytes.
fn beginning(command: &str) -> &str {
    let line = command.lines().next().unwrap_or(command);
    truncate_to_bytes(line, COMMAND_MAX).trim_end()
}

/// Returns the command in a line of the previous summary, so that a newer run replaces it.
pub(super) fn subject(text: &str) -> &str {
    text.split(" → ").next().unwrap_or(text)
}

/// Returns the section and the text of a file or command that an earlier version listed under `Done`.
pub(super) fn of_done(text: &str) -> Option<(Section, &str)> {
    let wrote = text.strip_prefix(WROTE).map(|path| (Section::Files, path));
    wrote.or_else(|| text.strip_prefix(RAN).map(|command| (Section::Commands, command)))
}
