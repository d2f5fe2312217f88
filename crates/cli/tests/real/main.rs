//! A team of the real agent programs, as a user runs it: `tertulia run` with a team file, against a model server on
//! loopback; and sessions that continue in other programs. `cargo xtask agents` installs the programs and runs this
//! in an isolated network; `cargo test` does not run it.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "tests that start programs and read the folders they leave"
)]

mod agents;
mod captured;
mod failover;
mod files;
mod handing_over;
mod memory;
mod other_agents;
mod workspace;

use std::time::Duration;

use tertulia_fake_models::{Script, Step};
use workspace::Workspace;

const CLAUDE: &str = "claude-sonnet-4-5";
const CODEX: &str = "gpt-5-codex";
const GEMINI: &str = "gemini-3-pro-preview";
/// The model that Gemini CLI requests if it gets that name.
const GEMINI_ASKED: &str = "gemini-3.1-pro-preview";
const OPENCODE: &str = "model-of-opencode";
const COPILOT: &str = "gpt-5.5";
const PI: &str = "model-of-pi";

#[test]
fn a_conversation_goes_from_person_to_agent_to_agent_to_person() {
    let workspace = Workspace::new();
    workspace.says(CLAUDE, "Use a queue:\n\n```rust\n    let q = Queue::new();\n```\n[NEXT: eva]");
    workspace.says(CODEX, "The queue needs a limit. [NEXT: leo]");
    workspace.says(GEMINI_ASKED, "Agreed, 50 is enough. [NEXT: ann]");
    let run = workspace.run(&["@max how do we buffer the events?"]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    assert_eq!(
        workspace.said(),
        [
            "ann: @max how do we buffer the events?",
            "max: Use a queue:\n\n```rust\n    let q = Queue::new();\n```\n[NEXT: eva]",
            "eva: The queue needs a limit. [NEXT: leo]",
            "leo: Agreed, 50 is enough. [NEXT: ann]",
        ]
    );
    let asked = workspace.models.asked();
    let of = |model: &str| asked.iter().find(|one| one.model.contains(model)).expect(model);
    assert!(of(CLAUDE).user.contains("how do we buffer the events?"));
    assert!(of(CLAUDE).system.contains("You are Max."), "{}", of(CLAUDE).system);
    // The next agent gets the code with its indentation, but without the markers.
    assert!(of(CODEX).user.contains("    let q = Queue::new();"), "{}", of(CODEX).user);
    let (_, said) = of(CODEX).user.split_once("[CONTEXT]").expect("a context");
    assert!(!said.contains("[NEXT"), "{said}");
    assert!(of("gemini").user.contains("The queue needs a limit."), "{}", of("gemini").user);
    assert!(workspace.replay_is_equal());
    assert_eq!(workspace.processes(), [] as [String; 0]);
}

#[test]
fn one_that_is_not_signed_in_does_not_stop_the_others() {
    let workspace = Workspace::new();
    workspace.models.script_for(CLAUDE, Script::new([Step::Status(401)]));
    workspace.says(CODEX, "I am here.");
    let run = workspace.run(&["Both of you: [NEXT: max, eva]"]);
    assert!(run.talk.contains("auth"), "{run:#?}");
    assert!(workspace.said().contains(&"eva: I am here.".to_owned()), "{run:#?}");
    assert!(workspace.replay_is_equal());
}

#[test]
fn a_prompt_that_is_too_large_is_sent_once_more_and_no_more() {
    let workspace = Workspace::new();
    workspace.models.script_for(CLAUDE, Script::new([Step::Overflow]));
    let run = workspace.run(&["@max read this."]);
    assert_eq!(run.code, Some(1), "{run:#?}");
    assert!(run.talk.contains("overflow"), "{run:#?}");
    let requests = workspace.models.asked().iter().filter(|one| one.model.contains(CLAUDE)).count();
    assert_eq!(requests, 2, "{run:#?}");
}

#[test]
fn a_message_of_700_kb_arrives_whole() {
    let workspace = Workspace::new();
    workspace.says(CODEX, "Read.");
    let words = "0123456789 abcdefghijklmnop\n".repeat(25_000);
    let run = workspace.run_with_input(&["--member", "eva", "-"], &words);
    assert_eq!(run.code, Some(0), "{}", run.talk);
    let asked = workspace.models.asked();
    let indented = words.trim_end().replace('\n', "\n  ");
    assert!(asked[0].user.contains(&indented), "{} bytes", asked[0].user.len());
}

#[test]
fn an_interrupted_turn_keeps_its_beginning_and_leaves_no_process() {
    let workspace = Workspace::new();
    let slow = Step::Slow { text: "word ".repeat(600), pause: Duration::from_millis(50) };
    workspace.models.script_for(CLAUDE, Script::new([slow]));
    let run = workspace.interrupt_after_text(&["@max tell me a story."]);
    assert_eq!(run.code, Some(130), "{run:#?}");
    let said = workspace.said();
    assert!(said.last().unwrap().starts_with("max: word word"), "{said:?}");
    assert_eq!(workspace.processes(), [] as [String; 0]);
    // The session continues, and the turn is not retried automatically.
    workspace.says(CODEX, "Shorter, then.");
    let run = workspace.run(&["--continue", "@eva you try."]);
    assert_eq!(run.code, Some(0), "{run:#?}");
    let stories = workspace.models.asked().iter().filter(|one| one.model.contains(CLAUDE)).count();
    assert_eq!(stories, 1);
    assert!(workspace.replay_is_equal());
}
