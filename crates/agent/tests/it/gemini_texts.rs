//! Gemini's answer is replaced by the one in its transcript if the stream may contain repeated text.

use tertulia_agent::{AgentKind, CancelToken, TurnReport, agents, run};
use tertulia_dialect::stream::TextOrigin;

use crate::fake_agent::{FakeAgent, RecordingListener, answer, request};

/// Runs a turn whose stream has these pieces, and whose transcript, if any, contains this text.
fn play(pieces: &[&str], transcript: Option<(&str, &str)>) -> (TurnReport, String) {
    let mut script = String::from(
        "cat >/dev/null\necho '{\"type\":\"init\",\"session_id\":\"12345678-abcd\",\"model\":\"m\"}'\n",
    );
    for piece in pieces {
        script.push_str(&format!(
            "echo '{{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"{piece}\",\"delta\":true}}'\n"
        ));
    }
    script.push_str("echo '{\"type\":\"result\",\"status\":\"success\",\"stats\":{}}'\n");
    let fake_agent = FakeAgent::new(&script);
    let home = tempfile::tempdir().unwrap();
    if let Some((session, text)) = transcript {
        let folder = home.path().join(".gemini/tmp/some-project/chats");
        std::fs::create_dir_all(&folder).unwrap();
        let lines = format!(
            "{{\"sessionId\":\"{session}\",\"kind\":\"main\"}}\n\
             {{\"id\":\"a\",\"type\":\"user\",\"content\":[{{\"text\":\"go\"}}]}}\n\
             {{\"id\":\"b\",\"type\":\"gemini\",\"content\":\"{text}\"}}\n"
        );
        std::fs::write(folder.join("session-2026-11-16T00-00-12345678.jsonl"), lines).unwrap();
    }
    let mut spec = fake_agent.spec(AgentKind::Cli(agents::GEMINI));
    spec.env.insert("HOME".into(), home.path().to_str().unwrap().into());
    let mut listener = RecordingListener::default();
    let report = run(&spec, &request("go"), &CancelToken::new(), &mut listener);
    let received = listener.final_text().unwrap().to_owned();
    (report, received)
}

fn check(pieces: &[&str], transcript: Option<(&str, &str)>, expected: &str, origin: TextOrigin) {
    let (report, received) = play(pieces, transcript);
    assert_eq!((answer(&report), received.as_str()), (expected, expected));
    assert_eq!(report.output.final_text.unwrap().origin, origin);
}

#[test]
fn an_attempt_that_was_retried_is_taken_away() {
    let transcript = Some(("12345678-abcd", "Recovered after drop."));
    let pieces = ["partial answer before the failure", "Recovered ", "after drop."];
    check(&pieces, transcript, "Recovered after drop.", TextOrigin::Stated);
    check(&["Recovered after drop."], transcript, "Recovered after drop.", TextOrigin::Stated);
}

#[test]
fn without_a_fitting_transcript_the_pieces_stay() {
    check(&["Hello ", "there."], None, "Hello there.", TextOrigin::Pieced);
    let foreign = Some(("12345678-other", "there."));
    check(&["Hello ", "there."], foreign, "Hello there.", TextOrigin::Pieced);
    let other_text = Some(("12345678-abcd", "Something else."));
    check(&["Hello ", "there."], other_text, "Hello there.", TextOrigin::Pieced);
}
