//! A real program that supports the Agent Client Protocol: Gemini CLI with `--acp`.

use tertulia_agent::{
    AgentKind, Drift, Ended, KeptAgents, Memory, MemorySupport, Permissions, memory_support,
};
use tertulia_dialect::stream::{ErrorClass, StreamEvent};
use tertulia_fake_models::Step;

use crate::program::Program;
use crate::traces::processes_of;
use crate::trial::Trial;

const ANSWER: &str =
    "Done:\n\n```rust\nlet 名前 = \"世界 🙂\";\n```\n\n[NEXT: nobody]\n    indented.";

fn trial(steps: impl IntoIterator<Item = Step>) -> Trial {
    let mut trial = Trial::new(Program::Gemini, steps);
    trial.spec.kind = AgentKind::Acp;
    trial.spec.program = Some("gemini".into());
    let model = trial.spec.model.take();
    trial.spec.args = vec!["--acp".into(), "--model".into(), model.expect("a model")];
    trial
}

#[test]
fn an_answer_arrives_byte_for_byte() {
    let outcome = trial([Step::text(ANSWER)]).run("Show me the code.\n  And no more.");
    assert_eq!(outcome.text(), ANSWER);
    assert_eq!(outcome.pieces().concat(), ANSWER);
    assert_eq!(outcome.only_request().user, "Show me the code.\n  And no more.");
    assert!(outcome.report.output.native_session_id.is_some(), "{:#?}", outcome.report);
    assert_eq!(outcome.report.orphans_killed, 0, "{:#?}", outcome.report);
}

#[test]
fn a_prompt_that_looks_like_a_command_is_none() {
    for prompt in ["/memory show", "\n /help", "\u{feff}/about", "$memory show"] {
        let outcome = trial([Step::text("It is a word.")]).run(prompt);
        assert_eq!(outcome.text(), "It is a word.", "{prompt}");
        let asked = outcome.only_request().user.replace('\\', "");
        assert_eq!(asked, prompt);
    }
}

#[test]
fn an_at_sign_in_a_prompt_is_left_alone_and_names_no_file() {
    let trial = trial([Step::text("No.")]);
    std::fs::write(trial.work().join("secret.txt"), "what-is-in-the-file\n").unwrap();
    let prompt = "Have you read @secret.txt, @(/../secret.txt or @\u{85}/../secret.txt?";
    let outcome = trial.run(prompt);
    assert_eq!(outcome.text(), "No.");
    let asked = outcome.only_request();
    assert!(!asked.body.contains("what-is-in-the-file"), "{}", asked.user);
    assert_eq!(asked.user, prompt);
}

#[test]
fn what_is_asked_for_and_not_allowed_is_not_done() {
    let steps = [Step::Shell("echo data > written.txt".into()), Step::text("I have tried.")];
    let trial = trial(steps);
    let outcome = trial.run("Write the file.");
    assert!(!trial.work().join("written.txt").exists(), "{:#?}", outcome.events);
    let denied = &outcome.report.output.denied_tools;
    assert_eq!(denied.len(), 1, "{:#?}", outcome.events);
}

#[test]
fn full_permissions_allow_tools_without_asking() {
    let steps = [Step::Shell("echo data > written.txt".into()), Step::text("It is written.")];
    let mut trial = trial(steps);
    trial.spec.permissions = Permissions::Full;
    let outcome = trial.run("Write the file.");
    assert_eq!(outcome.text(), "It is written.");
    let written = std::fs::read_to_string(trial.work().join("written.txt"));
    assert_eq!(written.ok().as_deref(), Some("data\n"), "{:#?}", outcome.events);
    let started = |event: &&StreamEvent| matches!(event, StreamEvent::ToolStarted { .. });
    assert_eq!(outcome.events.iter().filter(started).count(), 1, "{:#?}", outcome.events);
}

#[test]
fn a_key_that_is_refused_is_reported_as_such() {
    let outcome = trial([Step::Status(401)]).run("Hello?");
    assert_eq!(outcome.class(), ErrorClass::Auth, "{:#?}", outcome.report);
}

#[test]
fn a_turn_that_is_cancelled_while_it_speaks_leaves_nothing() {
    let trial = trial([Step::Stall("The beginning of an answer".into())]);
    let outcome = trial.run_until("Speak.", || !trial.models.asked().is_empty());
    assert_eq!(outcome.report.ended, Ended::Cancelled, "{:#?}", outcome.report);
    let left = processes_of(&trial.home(), "no such word");
    assert!(left.is_empty(), "left behind: {left:#?}");
}

#[test]
fn a_session_goes_on_in_the_process_that_is_kept() {
    let trial = trial([]);
    let kept = KeptAgents::new();
    assert_eq!(memory_support(&trial.spec), MemorySupport::Loaded);
    let begin = Memory::Begin { kept: &kept, member: "max" };
    let outcome = trial.run_with(("First. say: one", 0), begin, || false);
    assert_eq!(outcome.text(), "one");
    let first = processes_of(&trial.home(), "no such word");
    let mut head = outcome.report.native.expect("a head");
    for number in ["two", "three"] {
        let memory = Memory::Continue { kept: &kept, member: "max", head: &head };
        let outcome = trial.run_with((&format!("More. say: {number}"), 0), memory, || false);
        assert_eq!(outcome.text(), number);
        assert!(outcome.asked.last().expect("a request").body.contains("First. say: one"));
        head = outcome.report.native.expect("a head");
    }
    let second = processes_of(&trial.home(), "no such word");
    assert!(second.contains(&first[0]), "another process answers: {first:#?} {second:#?}");
    kept.end("max");
    assert_eq!(kept.check("max", &trial.spec, None, &head), Err(Drift::ProcessEnded));
    let memory = Memory::Continue { kept: &kept, member: "max", head: &head };
    let outcome = trial.run_with(("More. say: four", 0), memory, || false);
    assert_eq!(outcome.report.drift, Some(Drift::ProcessEnded));
    let left = processes_of(&trial.home(), "no such word");
    assert!(left.is_empty(), "left behind: {left:#?}");
}
