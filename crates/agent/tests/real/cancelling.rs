//! A cancelled turn leaves no process behind, at whatever point it was cancelled.

use std::sync::atomic::{AtomicU32, Ordering};

use tertulia_agent::{Containment, Ended, Permissions};
use tertulia_dialect::stream::StreamEvent;
use tertulia_fake_models::Step;

use crate::program::Program;
use crate::traces::processes_of;
use crate::trial::{Outcome, Trial};

crate::for_each_program![
    a_turn_that_is_cancelled_while_it_speaks_leaves_nothing,
    a_turn_that_is_cancelled_while_a_tool_runs_leaves_nothing,
    what_a_tool_put_into_the_background_ends_with_the_turn,
];

/// Runs a check with the strongest containment of this machine, and with the one that works everywhere.
fn each_containment(check: impl Fn(Containment)) {
    check(Containment::Descendants);
    let strongest = tertulia_agent::containment();
    if strongest != Containment::Descendants {
        check(strongest);
    }
}

/// A number of seconds for each `sleep`. No other process on the machine has the same number.
static SECONDS: AtomicU32 = AtomicU32::new(71_001);

#[track_caller]
fn check_cancelled(trial: &Trial, outcome: &Outcome, word: &str) {
    assert_eq!(outcome.report.ended, Ended::Cancelled, "{:#?}", outcome.report);
    assert_eq!(outcome.report.output.final_text, None);
    assert!(outcome.report.output.error.is_some());
    let left = processes_of(&trial.home(), word);
    assert!(left.is_empty(), "left behind: {left:#?}");
}

fn a_turn_that_is_cancelled_while_it_speaks_leaves_nothing(program: Program) {
    each_containment(|containment| {
        let mut trial = Trial::new(program, [Step::Stall("The beginning of an answer".into())]);
        trial.containment = Some(containment);
        let outcome = trial.run_until("Speak.", || !trial.models.asked().is_empty());
        check_cancelled(&trial, &outcome, "no such word");
    });
}

fn a_turn_that_is_cancelled_while_a_tool_runs_leaves_nothing(program: Program) {
    each_containment(|containment| {
        let sleep = format!("sleep {}", SECONDS.fetch_add(1, Ordering::Relaxed));
        // One process stays in the session of the tool, and one leaves it.
        let command = format!("setsid {sleep} & touch started; {sleep}");
        let mut trial = Trial::new(program, [Step::Shell(command), Step::text("Slept.")]);
        trial.spec.permissions = Permissions::Full;
        trial.containment = Some(containment);
        let started = trial.work().join("started");
        let outcome = trial.run_until("Sleep.", || started.exists());
        assert!(started.exists(), "the tool never ran: {:#?}", outcome.events);
        check_cancelled(&trial, &outcome, &sleep);
    });
}

fn what_a_tool_put_into_the_background_ends_with_the_turn(program: Program) {
    each_containment(|containment| {
        let sleep = format!("sleep {}", SECONDS.fetch_add(1, Ordering::Relaxed));
        let command = format!("nohup setsid {sleep} >/dev/null 2>&1 & echo in the background");
        let mut trial = Trial::new(program, [Step::Shell(command), Step::text("It sleeps.")]);
        trial.spec.permissions = Permissions::Full;
        trial.containment = Some(containment);
        let outcome = trial.run("Sleep in the background.");
        assert_eq!(outcome.text(), "It sleeps.");
        let finished = |event: &StreamEvent| matches!(event, StreamEvent::ToolFinished { .. });
        assert!(outcome.events.iter().any(finished), "{:#?}", outcome.events);
        let left = processes_of(&trial.home(), &sleep);
        assert!(left.is_empty(), "left behind: {left:#?}");
    });
}
