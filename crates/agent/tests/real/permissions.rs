//! An agent cannot do what it may not do, and the turn reports the attempt.

use tertulia_agent::Permissions;
use tertulia_dialect::stream::StreamEvent;
use tertulia_fake_models::Step;

use crate::program::Program;
use crate::trial::{Outcome, Trial};

crate::for_each_program![
    who_may_only_read_cannot_write_and_it_is_reported,
    who_may_do_everything_writes,
];

/// Takes a moment, because Codex does not report a command that its sandbox stops at once.
const COMMAND: &str = "sleep 1; echo data > written.txt";

fn write(program: Program, permissions: Permissions) -> (Trial, Outcome) {
    let steps = [Step::Shell(COMMAND.into()), Step::text("I have tried.")];
    let mut trial = Trial::new(program, steps);
    trial.spec.permissions = permissions;
    let outcome = trial.run("Write the file.");
    assert_eq!(outcome.text(), "I have tried.");
    (trial, outcome)
}

fn who_may_only_read_cannot_write_and_it_is_reported(program: Program) {
    let (trial, outcome) = write(program, Permissions::Read);
    assert!(!trial.work().join("written.txt").exists());
    let failed =
        |event: &StreamEvent| matches!(event, StreamEvent::ToolFinished { is_error: true, .. });
    match program {
        Program::Claude | Program::Gemini | Program::Copilot | Program::Pi => {
            let denied = &outcome.report.output.denied_tools;
            assert_eq!(denied.len(), 1, "{:#?}", outcome.events);
        }
        // opencode does not treat the call as a tool call. Codex runs the command in its sandbox, where it fails.
        Program::OpenCode => {}
        Program::Codex => assert!(outcome.events.iter().any(failed), "{:#?}", outcome.events),
    }
}

fn who_may_do_everything_writes(program: Program) {
    let (trial, outcome) = write(program, Permissions::Full);
    let written = std::fs::read_to_string(trial.work().join("written.txt"));
    assert_eq!(written.ok().as_deref(), Some("data\n"), "{:#?}", outcome.events);
    assert!(outcome.report.output.denied_tools.is_empty());
}
