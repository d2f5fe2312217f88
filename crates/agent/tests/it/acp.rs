//! Turns of an agent of the Agent Client Protocol, played by a shell script: what the agent receives, what counts as
//! its answer, who is asked for permissions, and how each failure ends.

use std::time::Duration;

use tertulia_agent::{
    AgentKind, AgentSpec, CancelToken, Ended, Mentions, PermissionAnswer, Permissions, Timeout,
    TurnReport, TurnRequest, run,
};
use tertulia_dialect::stream::{ErrorClass, StreamEvent, ViolationKind};
use tertulia_session::json::Json;

use crate::fake_acp::{agent, rude_agent};
use crate::fake_agent::{FakeAgent, is_alive, with_growing_time};
use crate::recorder::{Recorder, error_of, text_of};

fn spec_of(fake_agent: &FakeAgent) -> AgentSpec {
    fake_agent.spec(AgentKind::Acp)
}

/// Returns the spec of an agent that ends by itself after a cancellation, and may take time for it.
fn patient_spec_of(fake_agent: &FakeAgent) -> AgentSpec {
    let mut spec = spec_of(fake_agent);
    spec.timeouts.grace = Duration::from_secs(10);
    spec
}

fn play(fake_agent: &FakeAgent, recorder: &mut Recorder) -> TurnReport {
    recorder.run(&spec_of(fake_agent), &CancelToken::new())
}

#[test]
fn an_agent_is_initialised_prompted_and_read() {
    let fake_agent = agent(
        r#"
update '{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"Hm."}}'
chunk 'Hel'; chunk 'lo.'
say '{"jsonrpc":"2.0","id":4,"result":{"stopReason":"end_turn","usage":{"inputTokens":7,"outputTokens":2,"totalTokens":9}}}'
hear"#,
    );
    let mut recorder = Recorder::default();
    let report = play(&fake_agent, &mut recorder);
    assert_eq!(text_of(&report), "Hello.");
    assert_eq!((report.ended, report.orphans_killed), (Ended::ByItself, 0));
    assert_eq!(recorder.text(), "Hello.");
    assert!(recorder.is_fed);
    assert!(recorder.events.contains(&StreamEvent::Thinking { text: "Hm.".to_owned() }));
    assert_eq!(report.output.usage.unwrap().output, Some(2));
    assert_eq!(report.output.native_session_id.as_deref(), Some("s-1"));
    let cwd = spec_of(&fake_agent).cwd;
    let received = fake_agent.note("received");
    let received: Vec<&str> = received.lines().collect();
    assert_eq!(received.len(), 3, "and then its stdin was closed");
    assert!(received[0].contains(r#""method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false}"#));
    assert_eq!(
        received[1],
        format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"session/new","params":{{"cwd":"{}","mcpServers":[]}}}}"#,
            cwd.display()
        )
    );
    assert_eq!(
        received[2],
        r#"{"jsonrpc":"2.0","id":4,"method":"session/prompt","params":{"sessionId":"s-1","prompt":[{"type":"text","text":"<instructions>\nBe brief.\n</instructions>\n\nWhat is it?"}]}}"#
    );
}

#[test]
fn a_long_prompt_arrives_byte_for_byte() {
    let fake_agent = agent("chunk 'Read.'; stop end_turn; hear");
    let prompt = "é \"quoted\" \\ \u{2028} [NEXT: x]\n\t".repeat(10_000);
    let request = TurnRequest {
        turn: "t",
        number: 0,
        prompt: &prompt,
        mentions: Mentions::none(),
        system: None,
        body: None,
        memory: tertulia_agent::Memory::Fresh,
        message_start: 0,
    };
    let report =
        run(&spec_of(&fake_agent), &request, &CancelToken::new(), &mut Recorder::default());
    assert_eq!(text_of(&report), "Read.");
    let received = fake_agent.note("received");
    let line = received.lines().nth(2).unwrap();
    assert!(line.contains(Json::text(&prompt).as_str()));
}

#[test]
fn a_model_is_asked_for_before_the_prompt() {
    let fake_agent = agent(
        r#"
say '{"jsonrpc":"2.0","id":3,"result":{}}'
hear; chunk 'Yes.'; stop end_turn"#,
    );
    let mut spec = spec_of(&fake_agent);
    spec.model = Some("m-9".into());
    let report = Recorder::default().run(&spec, &CancelToken::new());
    assert_eq!(text_of(&report), "Yes.");
    assert_eq!(report.output.model.as_deref(), Some("m-9"));
    let received = fake_agent.note("received");
    assert!(
        received.lines().nth(2).unwrap().contains(
            r#""method":"session/set_model","params":{"sessionId":"s-1","modelId":"m-9"}"#
        )
    );

    let fake_agent =
        agent(r#"say '{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no m-9"}}'; hear"#);
    spec.args = spec_of(&fake_agent).args;
    spec.env = spec_of(&fake_agent).env;
    let report = Recorder::default().run(&spec, &CancelToken::new());
    assert_eq!(error_of(&report), (ErrorClass::Setup, "no m-9"));
}

#[test]
fn a_request_for_an_unsupported_method_gets_an_error() {
    let fake_agent = agent(
        r#"
say '{"jsonrpc":"2.0","id":77,"method":"fs/read_text_file","params":{"sessionId":"s-1","path":"/etc/passwd"}}'
hear; chunk 'Then not.'; stop end_turn; hear"#,
    );
    assert_eq!(text_of(&play(&fake_agent, &mut Recorder::default())), "Then not.");
    let received = fake_agent.note("received");
    let last = received.lines().last().unwrap();
    assert!(last.starts_with(r#"{"jsonrpc":"2.0","id":77,"error":{"code":-32601,"#), "{last}");
}

/// Runs an agent that asks for a permission. Returns the report, the recorded events and the reply that the agent
/// received.
fn asked(permissions: Permissions, answer: PermissionAnswer) -> (TurnReport, Recorder, String) {
    let fake_agent = agent("may; hear; chunk 'Done.'; stop end_turn; hear");
    let mut spec = spec_of(&fake_agent);
    spec.permissions = permissions;
    let mut recorder = Recorder { answer, ..Recorder::default() };
    let report = recorder.run(&spec, &CancelToken::new());
    let received = fake_agent.note("received");
    (report, recorder, received.lines().nth(3).unwrap().to_owned())
}

#[test]
fn with_full_permissions_the_first_choice_that_allows_is_taken() {
    let (report, recorder, received) = asked(Permissions::Full, PermissionAnswer::EndTurn);
    assert_eq!(text_of(&report), "Done.");
    assert_eq!(recorder.asked, []);
    assert_eq!(
        received,
        r#"{"jsonrpc":"2.0","id":"p-1","result":{"outcome":{"outcome":"selected","optionId":"always"}}}"#
    );
}

#[test]
fn otherwise_the_person_is_asked() {
    let (report, recorder, received) =
        asked(Permissions::Edit, PermissionAnswer::Choose("once".into()));
    assert_eq!(text_of(&report), "Done.");
    let [request] = &recorder.asked[..] else { panic!("{:?}", recorder.asked) };
    assert_eq!((&*request.title, request.tool.as_deref()), ("rm -r build", Some("execute")));
    assert_eq!(request.input.as_ref().unwrap().as_str(), r#"{"command":"rm -r build"}"#);
    let choices: Vec<_> = request.choices.iter().map(|it| (&*it.id, it.allows)).collect();
    assert_eq!(choices, [("always", true), ("once", true), ("no", false)]);
    assert!(received.contains(r#""optionId":"once""#), "{received}");
    assert_eq!(report.output.denied_tools, []);

    let (report, _, received) = asked(Permissions::Read, PermissionAnswer::Deny);
    assert_eq!(text_of(&report), "Done.");
    assert!(received.contains(r#""optionId":"no""#), "{received}");
    assert_eq!(report.output.denied_tools.len(), 1);

    let (.., received) = asked(Permissions::Read, PermissionAnswer::Choose("made up".into()));
    assert!(received.contains(r#""optionId":"no""#), "{received}");
}

#[test]
fn where_nobody_can_answer_the_turn_ends_and_says_so() {
    let fake_agent = agent("trap '' TERM; chunk 'I will.'; may; hear; hear; stop cancelled; hear");
    let mut recorder = Recorder { answer: PermissionAnswer::EndTurn, ..Recorder::default() };
    let report = recorder.run(&patient_spec_of(&fake_agent), &CancelToken::new());
    assert_eq!(report.ended, Ended::NeedsPerson);
    let (class, message) = error_of(&report);
    assert_eq!(class, ErrorClass::Refused);
    assert!(message.contains("the agent asks for permission: "), "{message}");
    assert!(message.contains("rm -r build"), "{message}");
    assert_eq!(report.output.partial_text.as_deref(), Some("I will."));
    let received = fake_agent.note("received");
    let received: Vec<&str> = received.lines().skip(3).collect();
    assert!(received[0].contains(r#"{"outcome":"cancelled"}"#), "{received:?}");
    assert!(received[1].contains(r#""method":"session/cancel""#), "{received:?}");
}

#[test]
fn the_clocks_stand_still_while_a_person_is_asked() {
    with_growing_time(|time| {
        let fake_agent = agent("may; hear; chunk 'Done.'; stop end_turn; hear");
        let mut spec = spec_of(&fake_agent);
        spec.timeouts.total = time;
        spec.timeouts.silence = time;
        let answer = PermissionAnswer::Choose("once".into());
        // The person takes longer than the time limit of the whole turn.
        let delay = time + Duration::from_millis(100);
        let mut recorder = Recorder { answer, delay, ..Recorder::default() };
        let report = recorder.run(&spec, &CancelToken::new());
        report.output.error.is_none() && text_of(&report) == "Done."
    });
}

#[test]
fn every_stop_reason_has_its_class() {
    for (reason, class) in [
        ("max_tokens", ErrorClass::Limit),
        ("max_turn_requests", ErrorClass::Limit),
        ("refusal", ErrorClass::Refused),
        ("cancelled", ErrorClass::Crash),
        ("tired", ErrorClass::Crash),
    ] {
        let fake_agent = agent(&format!("chunk 'So far.'; stop {reason}; hear"));
        let report = play(&fake_agent, &mut Recorder::default());
        let (found, message) = error_of(&report);
        assert_eq!(found, class, "{message}");
        assert!(message.contains(reason), "{message}");
        assert_eq!(report.output.partial_text.as_deref(), Some("So far."));
    }
    let report = play(&agent("stop end_turn; hear"), &mut Recorder::default());
    assert_eq!(error_of(&report).0, ErrorClass::Empty);
}

#[test]
fn only_what_is_said_between_the_prompt_and_its_answer_counts() {
    let fake_agent = rude_agent(
        r#"chunk 'Too early.'; greet; hear; chunk 'Now.'; stop end_turn; chunk 'Too late.'; stop end_turn; hear"#,
    );
    let mut recorder = Recorder::default();
    let report = play(&fake_agent, &mut recorder);
    assert_eq!(text_of(&report), "Now.");
    assert_eq!(recorder.text(), "Now.");
    let violations: Vec<_> = recorder
        .events
        .iter()
        .filter_map(|event| match event {
            StreamEvent::Violation { kind, .. } => Some(*kind),
            _ => None,
        })
        .collect();
    use ViolationKind::{AfterEnd, BeforeStart};
    assert_eq!(violations, [BeforeStart, AfterEnd, AfterEnd]);
}

#[test]
fn an_error_has_the_class_of_its_code_or_words() {
    for (error, class) in [
        (r#"{"code":401,"message":"no"}"#, ErrorClass::Auth),
        (r#"{"code":-32000,"message":"Authentication required"}"#, ErrorClass::Auth),
        (
            r#"{"code":-32603,"message":"Internal error","data":{"errorKind":"rate_limit"}}"#,
            ErrorClass::Quota,
        ),
        (r#"{"code":-32603,"message":"Prompt is too long"}"#, ErrorClass::Overflow),
        (r#"{"code":-32603,"message":"oh"}"#, ErrorClass::Crash),
    ] {
        let fake_agent =
            agent(&format!(r#"say '{{"jsonrpc":"2.0","id":4,"error":{error}}}'; hear"#));
        let report = play(&fake_agent, &mut Recorder::default());
        assert_eq!(error_of(&report).0, class, "{error}");
    }
}

#[test]
fn an_agent_that_ends_before_it_answers_leaves_its_last_words() {
    let report = play(&rude_agent("echo 'no such option' >&2; exit 3"), &mut Recorder::default());
    let (class, message) = error_of(&report);
    assert_eq!(class, ErrorClass::Setup);
    assert!(message.contains("exit code 3") && message.contains("no such option"), "{message}");
    assert_eq!(report.ended, Ended::ByItself);

    let fake_agent = agent("chunk 'Half'; echo 'out of luck' >&2; exit 3");
    let report = play(&fake_agent, &mut Recorder::default());
    let (class, message) = error_of(&report);
    assert_eq!(class, ErrorClass::Crash);
    assert!(message.contains("out of luck"), "{message}");
    assert_eq!(report.output.partial_text.as_deref(), Some("Half"));

    let fake_agent = rude_agent("echo 'Error: Not logged in' >&2; exit 1");
    assert_eq!(error_of(&play(&fake_agent, &mut Recorder::default())).0, ErrorClass::Auth);

    let mut spec = spec_of(&fake_agent);
    spec.program = Some("/no/such/agent".into());
    let report = Recorder::default().run(&spec, &CancelToken::new());
    assert_eq!(error_of(&report).0, ErrorClass::Setup);
    spec.program = None;
    let report = Recorder::default().run(&spec, &CancelToken::new());
    assert_eq!(error_of(&report).0, ErrorClass::Setup);
}

#[test]
fn another_version_of_the_protocol_is_setup() {
    let fake_agent =
        rude_agent(r#"hear; say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":2}}'; hear"#);
    let report = play(&fake_agent, &mut Recorder::default());
    let (class, message) = error_of(&report);
    assert_eq!(class, ErrorClass::Setup);
    assert!(message.contains("version 2"), "{message}");
}

#[test]
fn a_cancelled_agent_is_told_and_its_processes_are_ended() {
    let fake_agent = agent(
        r#"trap '' TERM; sleep 300 & echo $! >"$OUT/pid"; chunk 'Half'; hear; stop cancelled"#,
    );
    let cancel = CancelToken::new();
    let mut recorder = Recorder { cancel_on_text: Some(cancel.clone()), ..Recorder::default() };
    let report = recorder.run(&patient_spec_of(&fake_agent), &cancel);
    assert_eq!(report.ended, Ended::Cancelled);
    assert_eq!(report.output.final_text, None);
    assert_eq!(report.output.partial_text.as_deref(), Some("Half"));
    assert!(fake_agent.note("received").lines().last().unwrap().contains("session/cancel"));
    assert!(!is_alive(&fake_agent.note("pid")));
}

#[test]
fn an_agent_that_ignores_a_cancel_is_ended() {
    let fake_agent = agent(r#"trap '' TERM; chunk 'Half'; while :; do sleep 1; done"#);
    let cancel = CancelToken::new();
    let mut recorder = Recorder { cancel_on_text: Some(cancel.clone()), ..Recorder::default() };
    let report = recorder.run(&spec_of(&fake_agent), &cancel);
    assert_eq!(report.ended, Ended::Cancelled);
    assert_eq!(error_of(&report).0, ErrorClass::Cancelled);
}

#[test]
fn each_time_that_is_up_ends_the_turn() {
    let short = Duration::from_millis(300);
    let mute = rude_agent("sleep 300");
    let mut spec = spec_of(&mute);
    spec.timeouts.first_byte = short;
    let report = Recorder::default().run(&spec, &CancelToken::new());
    assert_eq!(report.ended, Ended::TimedOut(Timeout::FirstByte));
    assert_eq!(error_of(&report).0, ErrorClass::Network);

    with_growing_time(|time| {
        let stuck = agent("chunk 'Half'; sleep 300");
        let mut spec = spec_of(&stuck);
        spec.timeouts.silence = time;
        let report = Recorder::default().run(&spec, &CancelToken::new());
        assert_eq!(report.ended, Ended::TimedOut(Timeout::Silence));
        report.output.partial_text.as_deref() == Some("Half")
    });

    let lingering = agent("chunk 'All.'; stop end_turn; sleep 300");
    let mut spec = spec_of(&lingering);
    spec.timeouts.after_final = short;
    let report = Recorder::default().run(&spec, &CancelToken::new());
    assert_eq!(report.ended, Ended::TimedOut(Timeout::AfterFinal));
    assert_eq!(text_of(&report), "All.");
}

#[test]
fn an_agent_that_floods_us_with_requests_and_reads_nothing_is_ended() {
    let fake_agent = rude_agent(
        r#"while :; do say '{"jsonrpc":"2.0","id":5,"method":"terminal/create","params":{}}'; done"#,
    );
    let report = play(&fake_agent, &mut Recorder::default());
    assert_eq!(report.ended, Ended::OverLimit);
}
