//! Streams of agents of the Agent Client Protocol: their events, our replies, and the results of the turns.

use proptest::prelude::*;
use tertulia_dialect::stream::{
    AcpSession, AgentAsk, AgentClient, AgentPrompt, ErrorClass, Exit, Limits, StreamEvent,
    ViolationKind,
};

use crate::stream_fixtures::Fixture;
use crate::stream_show::check;

#[test]
fn the_pieces_of_a_message_are_the_answer() {
    check(
        "acp-text",
        r#"
started s-1 m-1
thinking "Let me think."
text "Grüße 😀."
cost 0.25 of the turn
text ends
usage 20 5 3 7 ? of the turn
success Stated
=> "Grüße 😀."
"#,
    );
}

#[test]
fn a_tool_is_reported_with_its_input_and_the_text_behind_it_is_the_answer() {
    check(
        "acp-tool",
        r#"
started s-1 m-1
text "I will write it."
text ends
tool Bash oolu_1 {"command":"echo data"}
tool Bash oolu_1 done Some("data")
text "Wrote it."
text ends
usage 40 ? ? 9 ? of the turn
success Stated
=> "Wrote it."
"#,
    );
}

#[test]
fn what_a_command_prints_is_its_output_and_another_message_is_another_text() {
    check(
        "acp-command",
        r#"
started s-1 m-1
tool exec_command exec-1 {"command":"make"}
tool exec_command exec-1 failed Some("oops\n")
text "First thought."
text ends
text "It failed with 2."
text ends
usage 10 30 ? 9 4 of the turn
success Stated
=> "It failed with 2."
"#,
    );
}

#[test]
fn an_error_that_is_sent_as_an_answer_is_a_failure() {
    check(
        "acp-hidden-error",
        r#"
started s-1 m-1
text "The model: model not found\n\n"
text withdrawn
failed setup: The model: model not found
=> setup: The model: model not found
"#,
    );
}

#[test]
fn an_error_that_is_also_sent_as_text_is_withdrawn() {
    check(
        "acp-said-error",
        r#"
started s-1 m-1
text "Failed to authenticate. API Error: 401 invalid key"
text withdrawn
failed auth: Internal error: Failed to authenticate. API Error: 401 invalid key
=> auth: Internal error: Failed to authenticate. API Error: 401 invalid key
"#,
    );
}

#[test]
fn a_text_that_begins_again_is_marked() {
    check(
        "acp-repeated",
        r#"
started s-1 m-1
text "The partial answer of one tryThe partial answer of one try, and the whole of it."
text ends
usage 12 ? ? 6 ? of the turn
success Repeated
=> "The partial answer of one tryThe partial answer of one try, and the whole of it."
"#,
    );
}

#[test]
fn an_error_code_may_be_a_status() {
    check(
        "acp-auth",
        r#"
started s-1 m-1
failed auth: {"error":{"code":401}}
=> auth: {"error":{"code":401}}
"#,
    );
}

const SESSION: AcpSession<'_> = AcpSession { cwd: "/project", model: None, loaded: None };

/// Returns a client whose first turn has begun.
fn client_of(session: &AcpSession<'_>) -> AgentClient {
    let mut client = AgentClient::acp(session, Limits::default());
    let prompt = AgentPrompt { message: "Hello", ..AgentPrompt::default() };
    let lines = client.begin(&prompt, &mut Vec::new());
    assert!(lines.concat().contains(r#""id":1,"method":"initialize""#), "{lines:?}");
    client
}

/// Returns the lines and questions that a client produces for this output of an agent, and the events.
fn exchange(session: &AcpSession<'_>, chunks: &[&[u8]]) -> (Vec<AgentAsk>, Vec<StreamEvent>) {
    let mut client = client_of(session);
    let (mut events, mut asks) = (Vec::new(), Vec::new());
    for chunk in chunks {
        client.push(chunk, &mut events, &mut asks);
    }
    (asks, events)
}

#[test]
fn each_request_is_sent_when_the_one_before_was_answered() {
    let bytes = Fixture::named("acp-text").bytes;
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!(exchange(&SESSION, &[]).0, []);
    let send = |line: &str| AgentAsk::Send(format!("{line}\n"));
    let new = send(
        r#"{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/project","mcpServers":[]}}"#,
    );
    assert_eq!(exchange(&SESSION, &lines[..1]).0, std::slice::from_ref(&new));
    let prompt = send(
        r#"{"jsonrpc":"2.0","id":4,"method":"session/prompt","params":{"sessionId":"s-1","prompt":[{"type":"text","text":"Hello"}]}}"#,
    );
    assert_eq!(exchange(&SESSION, &[bytes]).0, [new, prompt]);
}

#[test]
fn a_model_is_set_as_the_agent_offers_it() {
    let hello: &[u8] = b"{\"id\":1,\"result\":{\"protocolVersion\":1}}\n";
    let requested = AcpSession { model: Some("m-2"), ..SESSION };
    let last = |session: &[u8]| exchange(&requested, &[hello, session]).0.pop();
    let sent = |needle: &str, ask: Option<AgentAsk>| match ask {
        Some(AgentAsk::Send(line)) => assert!(line.contains(needle), "{line}"),
        other => panic!("{other:?}"),
    };
    sent(
        r#""id":3,"method":"session/set_model","params":{"sessionId":"s","modelId":"m-2"}"#,
        last(b"{\"id\":2,\"result\":{\"sessionId\":\"s\",\"models\":{\"currentModelId\":\"m-1\"}}}\n"),
    );
    sent(
        r#""method":"session/set_config_option","params":{"sessionId":"s","configId":"model","value":"m-2"}"#,
        last(b"{\"id\":2,\"result\":{\"sessionId\":\"s\",\"configOptions\":[{\"id\":\"mode\"},{\"id\":\"model\"}]}}\n"),
    );
    sent(
        r#""method":"session/prompt""#,
        last(b"{\"id\":2,\"result\":{\"sessionId\":\"s\",\"models\":{\"currentModelId\":\"m-2\"}}}\n"),
    );
    let (_, events) =
        exchange(&requested, &[hello, b"{\"id\":2,\"result\":{\"sessionId\":\"s\"}}\n"]);
    assert!(
        matches!(events.last(), Some(StreamEvent::Failed(error)) if error.class == ErrorClass::Setup),
        "{events:?}"
    );
}

#[test]
fn every_request_of_the_agent_is_answered_once() {
    for (line, answer) in [
        (
            r#"{"id":9,"method":"fs\/read_text_file"}"#,
            r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32601,"#,
        ),
        (
            r#"{"id":"x","method":"session/request_permission"}"#,
            r#"{"jsonrpc":"2.0","id":"x","result":{"outcome":{"outcome":"cancelled"}}}"#,
        ),
    ] {
        let (asks, _) = exchange(&SESSION, &[line.as_bytes(), b"\n"]);
        let [AgentAsk::Send(sent)] = &asks[..] else { panic!("{asks:?}") };
        assert!(sent.starts_with(answer), "{sent}");
    }
    let bytes = Fixture::named("acp-tool").bytes;
    let end = bytes.len() - 2;
    let (mut asks, _) = exchange(
        &SESSION,
        &[&bytes[..end], b"}\n{\"id\":5,\"method\":\"session/request_permission\"}\n"],
    );
    assert!(matches!(asks.pop(), Some(AgentAsk::Send(_))), "{asks:?}");
    assert!(matches!(asks.pop(), Some(AgentAsk::Permit(_))), "{asks:?}");
}

/// Returns the result of a turn with these texts; `|` is a completed tool call, and `pending` one that never
/// completes.
fn answer_of(steps: &[&str]) -> Result<String, ErrorClass> {
    let mut lines = Fixture::named("acp-text").bytes.split_inclusive(|byte| *byte == b'\n');
    let mut client = client_of(&SESSION);
    let (mut events, mut asks) = (Vec::new(), Vec::new());
    let mut push = |line: &[u8]| client.push(line, &mut events, &mut asks);
    push(&lines.by_ref().take(2).collect::<Vec<_>>().concat());
    for (number, step) in steps.iter().enumerate() {
        let update = match *step {
            "|" => serde_json::json!({
                "sessionUpdate": "tool_call", "toolCallId": number.to_string(), "title": "ls",
                "rawInput": {"command": "ls"}, "status": "completed",
            }),
            "pending" => serde_json::json!({
                "sessionUpdate": "tool_call", "toolCallId": number.to_string(), "title": "ls",
                "rawInput": {}, "status": "pending",
            }),
            text => serde_json::json!({
                "sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text},
            }),
        };
        let line = serde_json::json!({
            "method": "session/update", "params": {"sessionId": "s-1", "update": update},
        });
        push(format!("{line}\n").as_bytes());
    }
    push(b"{\"id\":4,\"result\":{\"stopReason\":\"end_turn\"}}\n");
    let output = client.finish(Exit::Code(0), "", &mut events);
    let answer_text = events.iter().find_map(|event| match event {
        StreamEvent::FinalText { text, .. } => Some(text.clone()),
        _ => None,
    });
    let answer = output.final_text.map(|answer| answer.text);
    if answer.is_some() {
        assert_eq!(answer_text, answer);
    }
    answer.ok_or_else(|| output.error.unwrap().class)
}

#[test]
fn the_last_words_are_the_answer_also_where_tools_come_after_them() {
    let check = |steps: &[&str], expected: &str| assert_eq!(answer_of(steps).unwrap(), expected);
    check(&["It is done.", "|"], "It is done.");
    check(&["First.", "|", "It is ", "done.", "|", "|"], "It is done.");
    check(&["It is done.", "|", "\n", "|", " "], "It is done.");
    check(&["It is done.", "|", "\n\n"], "It is done.");
    check(&["pending", "It is done."], "It is done.");
    // As for other agents, the text after the last tool counts, with its whitespace.
    check(&["First.", "|", "\n", "Second."], "\nSecond.");
    assert_eq!(answer_of(&["|"]), Err(ErrorClass::Empty));
    assert_eq!(answer_of(&[" ", "|", "\n"]), Err(ErrorClass::Empty));
}

#[test]
fn what_nobody_asked_for_is_a_violation() {
    use ViolationKind::{AfterEnd, BeforeStart, ForeignSession, SecondStart};
    let bytes = Fixture::named("acp-text").bytes;
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let chunk = |session: &str| {
        format!(
            "{{\"method\":\"session/update\",\"params\":{{\"sessionId\":\"{session}\",\"update\":{{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{{\"type\":\"text\",\"text\":\"x\"}}}}}}}}\n"
        )
    };
    let [own, other] = [chunk("s-1"), chunk("s-2")];
    let reply: &[u8] = b"{\"id\":4,\"result\":{\"stopReason\":\"end_turn\"}}\n";
    for (after, line, kind) in [
        (0, own.as_bytes(), BeforeStart),
        (1, reply, BeforeStart),
        (2, lines[0], SecondStart),
        (2, other.as_bytes(), ForeignSession),
        (lines.len(), own.as_bytes(), AfterEnd),
        (lines.len(), reply, AfterEnd),
    ] {
        let (before, rest) = lines.split_at(after);
        let (_, events) = exchange(&SESSION, &[&before.concat(), line, &rest.concat()]);
        let kinds: Vec<_> = events
            .iter()
            .filter_map(|event| match event {
                StreamEvent::Violation { kind, .. } => Some(*kind),
                _ => None,
            })
            .collect();
        assert_eq!(kinds, [kind]);
        let text = events.iter().find_map(|event| match event {
            StreamEvent::FinalText { text, .. } => Some(text.as_str()),
            _ => None,
        });
        assert_eq!(text, Some("Grüße 😀."));
    }
}

#[test]
fn an_agent_that_ends_before_the_prompt_was_set_up_wrongly() {
    for (bytes, exit, class) in [
        (&b""[..], Exit::Code(1), ErrorClass::Setup),
        (b"", Exit::Signal(9), ErrorClass::Crash),
        (Fixture::named("acp-text").bytes.get(..300).unwrap(), Exit::Code(1), ErrorClass::Crash),
    ] {
        let mut client = client_of(&SESSION);
        let mut events = Vec::new();
        client.push(bytes, &mut events, &mut Vec::new());
        let error = client.finish(exit, "hm", &mut events).error.unwrap();
        assert_eq!(error.class, class, "{error}");
    }
}

proptest! {
    #[test]
    fn chunks_do_not_matter_to_what_is_reported(
        name in prop::sample::select(vec!["acp-text", "acp-tool", "acp-command", "acp-said-error"]),
        cut in any::<prop::sample::Index>(),
    ) {
        let bytes = Fixture::named(name).bytes;
        let (first, second) = bytes.split_at(cut.index(bytes.len()));
        prop_assert_eq!(exchange(&SESSION, &[bytes]), exchange(&SESSION, &[first, second]));
    }
}
