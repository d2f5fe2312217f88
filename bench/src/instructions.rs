//! Small, fixed pieces of work for callgrind. It counts instructions, so the load of the machine does not matter.
//!
//! Only the work in [`counted_work`] is counted: `valgrind --tool=callgrind --toggle-collect='*counted_work*'
//! tertulia-bench --instructions <case>` counts from the start of this function to its end. It would not be enough
//! to subtract the count of a run with only the set-up: storing 100,000 messages takes 8,000 times the instructions
//! of a window of 5, and one run in forty takes a million more, because hash maps have random seeds.

use std::error::Error;
use std::hint::black_box;
use std::io::{self, Write};

use tertulia_context::Assembler;

use crate::assemble::over_budget_input;
use crate::sample::{Addressed, conversation, marked_text};
use crate::strip::Reading;
use crate::window::{FEW_MESSAGES, context_and_prompt};

/// One piece of work.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Case {
    name: &'static str,
    work: Work,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    /// Context and prompt of a window of 5, in a conversation of this many messages.
    Window { messages: usize },
    /// A prompt with half the budget that a context of this many messages needs.
    Assemble { messages: usize },
    /// A text with markers and code of 64 KiB.
    Read(Reading),
}

static CASES: [Case; 7] = [
    Case::new("context-window-5-of-10", Work::Window { messages: FEW_MESSAGES }),
    Case::new("context-window-5-of-100k", Work::Window { messages: 100_000 }),
    Case::new("assemble-over-budget-4k", Work::Assemble { messages: 4_000 }),
    Case::new("assemble-over-budget-64k", Work::Assemble { messages: 64_000 }),
    Case::new("strip-compact", Work::Read(Reading::Compact)),
    Case::new("strip-preserve", Work::Read(Reading::Preserve)),
    Case::new("parse-markers", Work::Read(Reading::Parse)),
];

const TEXT_BYTES: usize = 64 * 1024;

/// Returns the case of this name.
pub(crate) fn find(name: &str) -> Option<&'static Case> {
    CASES.iter().find(|case| case.name == name)
}

/// Writes the names of all cases, one per line.
pub(crate) fn list(writer: &mut impl Write) -> io::Result<()> {
    CASES.iter().try_for_each(|case| writeln!(writer, "{}", case.name))
}

impl Case {
    const fn new(name: &'static str, work: Work) -> Self {
        Self { name, work }
    }

    /// Prepares the work, runs it once without counting to warm up the heap, and once with counting.
    pub(crate) fn run(&self) -> Result<(), Box<dyn Error>> {
        match self.work {
            Work::Window { messages } => {
                let manager = conversation(messages, Addressed::ToOne)?;
                twice(|| context_and_prompt(&manager));
            }
            Work::Assemble { messages } => {
                let input = over_budget_input(messages)?;
                let claude = Assembler::claude();
                twice(|| claude.assemble(&input));
            }
            Work::Read(reading) => {
                let text = marked_text(TEXT_BYTES);
                twice(|| reading.read(&text));
            }
        }
        Ok(())
    }
}

fn twice<T>(mut work: impl FnMut() -> T) {
    let mut once = || drop(black_box(work()));
    once();
    counted_work(&mut once);
}

/// The function that callgrind looks for. All cases use it, so that there is only one name.
#[inline(never)]
fn counted_work(work: &mut dyn FnMut()) {
    work();
    // Without an operation after the call, the compiler would turn the call into a jump, and the function would end
    // before the work.
    black_box(work);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_found_by_the_name_that_is_listed() {
        let mut names = Vec::new();
        list(&mut names).unwrap();
        let names = String::from_utf8(names).unwrap();
        assert_eq!(names.lines().count(), CASES.len());
        for (name, case) in names.lines().zip(&CASES) {
            assert_eq!(find(name), Some(case));
        }
    }
}
