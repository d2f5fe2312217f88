//! However an agent ends, its turn ends too, with an error class and advice.

use std::time::Duration;

use tertulia_agent::{AgentKind, AgentSpec, CommandOutput, Ended, Timeout, agents};

use crate::fake_agent::{FakeAgent, answer, failure, play};

const CLAUDE_START: &str = r#"{"type":"system","subtype":"init","session_id":"s-1","model":"m-1"}"#;
const CLAUDE_RESULT: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"Hello.","session_id":"s-1"}"#;

fn text(script: &str) -> (FakeAgent, AgentSpec) {
    let fake_agent = FakeAgent::new(script);
    let spec = fake_agent.spec(AgentKind::Command(CommandOutput::Text));
    (fake_agent, spec)
}

fn jsonl(script: &str) -> (FakeAgent, AgentSpec) {
    let fake_agent = FakeAgent::new(script);
    let spec = fake_agent.spec(AgentKind::Command(CommandOutput::Jsonl));
    (fake_agent, spec)
}

fn claude(script: &str) -> (FakeAgent, AgentSpec) {
    let fake_agent = FakeAgent::new(script);
    let spec = fake_agent.spec(AgentKind::Cli(agents::CLAUDE));
    (fake_agent, spec)
}

fn check(played: &(FakeAgent, AgentSpec), class: &str, words: &str) {
    let report = play(&played.1, "go");
    let (found, message) = failure(&report);
    assert_eq!(found, class, "{message}");
    assert!(message.contains(words), "{message}");
    assert_eq!(report.ended, Ended::ByItself);
}

#[test]
fn an_agent_that_was_killed_is_distinguished() {
    check(&text("echo part; kill -9 $$"), "crash", "ended by signal 9; it was killed");
    check(&text("exit 137"), "crash", "exit code 137; it was killed");
    check(&claude(&format!("echo '{CLAUDE_START}'; kill -9 $$")), "crash", "without a final event");
}

#[test]
fn half_a_line_at_the_end_is_not_an_answer() {
    let script = r#"printf '{"type":"text","text":"Hel'"#;
    check(&jsonl(script), "crash", "without a final event; lines that could not be read: 1");
}

#[test]
fn garbage_is_not_an_answer() {
    let (fake_agent, spec) = jsonl(r#"head -c 100000 /dev/urandom; echo; echo '[1]'; echo 'null'"#);
    check(&(fake_agent, spec), "crash", "lines that could not be read: ");
}

#[test]
fn garbage_around_an_answer_does_not_hide_it() {
    let (_stage, spec) = jsonl(
        r#"echo 'npm warn'; echo '{"type":"text","text":"ok"}'; echo; echo '{"type":"end"}'"#,
    );
    let report = play(&spec, "go");
    assert_eq!(answer(&report), "ok");
    assert_eq!(report.output.lines.unparsed, 1);
}

#[test]
fn an_exit_with_0_and_without_a_final_event_is_a_failure() {
    check(&claude(&format!("echo '{CLAUDE_START}'")), "crash", "exit code 0 without a final event");
    check(&claude("exit 0"), "crash", "exit code 0 without a final event");
    check(&text("exit 0"), "empty", "without any output");
}

#[test]
fn success_is_not_believed_if_the_exit_says_otherwise() {
    let script = format!("echo '{CLAUDE_START}'; echo '{CLAUDE_RESULT}'; exit 3");
    check(&claude(&script), "crash", "reported success, and then ended with exit code 3");
}

#[test]
fn stderr_gives_the_reason() {
    check(&claude("echo 'Error: Invalid API key' >&2; exit 1"), "auth", "Invalid API key");
}

#[test]
fn events_of_another_version_are_passed_over() {
    let script = format!(
        "echo '{CLAUDE_START}'\necho '{{\"type\":\"hologram\",\"session_id\":\"s-1\",\"x\":[1]}}'\n\
         echo '{{\"type\":\"system\",\"subtype\":\"new\"}}'\necho '{CLAUDE_RESULT}'"
    );
    let (_stage, spec) = claude(&script);
    let report = play(&spec, "go");
    assert_eq!(answer(&report), "Hello.");
    assert_eq!(report.output.native_session_id.as_deref(), Some("s-1"));
    assert!(report.output.lines.ignored >= 1);
}

#[test]
fn an_agent_that_says_nothing_is_ended() {
    let (_stage, mut spec) = text("sleep 300");
    spec.timeouts.first_byte = Duration::from_millis(300);
    let report = play(&spec, "go");
    assert_eq!(report.ended, Ended::TimedOut(Timeout::FirstByte));
    assert_eq!(failure(&report), ("limit", "it wrote nothing within 0.3 s of its start"));

    let (_stage, mut spec) = claude("sleep 300");
    spec.timeouts.first_byte = Duration::from_millis(300);
    assert_eq!(failure(&play(&spec, "go")).0, "network");
}

#[test]
fn an_agent_that_falls_silent_is_ended_and_its_text_kept() {
    let (_stage, mut spec) = text("echo part; sleep 300");
    spec.timeouts.silence = Duration::from_millis(300);
    let report = play(&spec, "go");
    assert_eq!(report.ended, Ended::TimedOut(Timeout::Silence));
    assert_eq!(failure(&report), ("limit", "it wrote nothing for 0.3 s"));
    assert_eq!(report.output.partial_text.as_deref(), Some("part\n"));
}

#[test]
fn a_turn_over_its_total_time_is_ended() {
    let (_stage, mut spec) = text("while :; do echo more; sleep 0.02; done");
    spec.timeouts.total = Duration::from_millis(500);
    let report = play(&spec, "go");
    assert_eq!(report.ended, Ended::TimedOut(Timeout::Total));
    assert_eq!(failure(&report), ("limit", "it took longer than 0.5 s"));
}

#[test]
fn a_turn_that_was_retrying_failed_for_the_reason_of_its_last_warning() {
    let retry = r#"{"type":"warning","message":"too many requests"}"#;
    let (_stage, mut spec) = jsonl(&format!("echo '{retry}'; sleep 300"));
    spec.timeouts.silence = Duration::from_millis(300);
    let report = play(&spec, "go");
    let (class, message) = failure(&report);
    assert_eq!(class, "quota");
    assert_eq!(message, "it wrote nothing for 0.3 s; before that: too many requests");
}

#[test]
fn an_agent_that_answered_and_hangs_has_answered() {
    for rest in ["sleep 300", "trap '' TERM; while :; do sleep 0.1; done", "exec >&-; sleep 300"] {
        let (_stage, mut spec) =
            claude(&format!("echo '{CLAUDE_START}'; echo '{CLAUDE_RESULT}'; {rest}"));
        spec.timeouts.after_final = Duration::from_millis(200);
        let report = play(&spec, "go");
        assert_eq!(report.ended, Ended::TimedOut(Timeout::AfterFinal));
        assert_eq!(answer(&report), "Hello.");
    }
}

#[test]
fn an_agent_that_failed_and_hangs_has_failed_for_its_own_reason() {
    let error = r#"{"type":"error","message":"no money","class":"quota"}"#;
    let (_stage, mut spec) = jsonl(&format!("echo '{error}'; sleep 300"));
    spec.timeouts.after_final = Duration::from_millis(200);
    let report = play(&spec, "go");
    assert_eq!(report.ended, Ended::TimedOut(Timeout::AfterFinal));
    assert_eq!(failure(&report), ("quota", "no money"));
}

#[test]
fn the_output_s_end_is_not_waited_for_once_the_agent_is_gone() {
    let (_stage, spec) =
        claude(&format!("echo '{CLAUDE_START}'; echo '{CLAUDE_RESULT}'; sleep 300 &"));
    let report = play(&spec, "go");
    assert_eq!((answer(&report), report.orphans_killed), ("Hello.", 1));
    assert_eq!(report.ended, Ended::ByItself);
}
