//! Processes that get one turn after the other: `codex app-server`, Claude Code with `stream-json` on its input, and
//! agents of the Agent Client Protocol.

use proptest::prelude::*;
use tertulia_dialect::stream::{
    AcpSession, AgentAsk, AgentClient, AgentPrompt, CodexSession, ErrorClass, Exit, Limits, Scope,
    SessionTotals, StreamEvent, TurnOutput,
};

pub(crate) const SESSION: CodexSession<'_> = CodexSession {
    cwd: "/project",
    model: None,
    sandbox: "read-only",
    instructions: Some("Be \"brief\"."),
    resumed: None,
};

pub(crate) const PROMPT: AgentPrompt<'_> =
    AgentPrompt { id: "u-1", context: "Eva said: no.\n", message: "Why?" };

pub(crate) fn codex(session: &CodexSession<'_>) -> AgentClient {
    AgentClient::codex(session, SessionTotals::default(), Limits::default())
}

fn claude(session: Option<&str>) -> AgentClient {
    AgentClient::claude(session, SessionTotals::default(), Limits::default())
}

/// Passes lines to a client. Returns the lines that it sends, its questions as `?title`, and the events.
pub(crate) fn push(client: &mut AgentClient, lines: &[&str]) -> (Vec<String>, Vec<StreamEvent>) {
    let (mut events, mut asks) = (Vec::new(), Vec::new());
    for line in lines {
        client.push(format!("{line}\n").as_bytes(), &mut events, &mut asks);
    }
    (asks.into_iter().map(shown).collect(), events)
}

fn shown(ask: AgentAsk) -> String {
    match ask {
        AgentAsk::Send(line) => line.trim_end().to_owned(),
        AgentAsk::Permit(permission) => format!("?{}", permission.request.title),
    }
}

pub(crate) fn end(client: &mut AgentClient) -> TurnOutput {
    client.finish(Exit::Code(0), "", &mut Vec::new())
}

#[track_caller]
pub(crate) fn said(output: &TurnOutput) -> &str {
    assert_eq!(output.error, None);
    &output.final_text.as_ref().unwrap().text
}

pub(crate) const OPEN: [&str; 2] = [
    r#"{"id":1,"result":{"userAgent":"x"}}"#,
    r#"{"id":2,"result":{"thread":{"id":"t-1","path":"/codex/t-1.jsonl"},"model":"m-1"}}"#,
];

pub(crate) fn notice(method: &str, fields: &str) -> String {
    format!(r#"{{"method":"{method}","params":{{"threadId":"t-1",{fields}}}}}"#)
}

/// Returns the lines of a turn of Codex with this answer and this total of output tokens.
pub(crate) fn codex_turn(request: u64, turn: &str, answer: &str, tokens: u64) -> Vec<String> {
    let item = |text: &str| {
        format!(r#""turnId":"{turn}","item":{{"type":"agentMessage","id":"m","text":"{text}"}}"#)
    };
    vec![
        format!(r#"{{"id":{request},"result":{{"turn":{{"id":"{turn}"}}}}}}"#),
        notice("turn/started", &format!(r#""turn":{{"id":"{turn}"}}"#)),
        notice("item/started", &item("")),
        notice("item/agentMessage/delta", &format!(r#""turnId":"{turn}","delta":"{answer}""#)),
        notice("item/completed", &item(answer)),
        notice(
            "thread/tokenUsage/updated",
            &format!(
                r#""turnId":"{turn}","tokenUsage":{{"total":{{"inputTokens":100,"cachedInputTokens":40,"outputTokens":{tokens}}}}}"#
            ),
        ),
        notice(
            "turn/completed",
            &format!(r#""turn":{{"id":"{turn}","status":"completed","error":null}}"#),
        ),
    ]
}

pub(crate) fn strs(lines: &[String]) -> Vec<&str> {
    lines.iter().map(String::as_str).collect()
}

#[test]
fn codex_opens_a_thread_and_gets_the_context_and_the_message() {
    let mut client = codex(&SESSION);
    let hello = client.begin(&PROMPT, &mut Vec::new()).concat();
    assert!(
        hello.starts_with(r#"{"id":1,"method":"initialize","params":{"clientInfo":"#),
        "{hello}"
    );
    assert!(!client.is_prompted());
    let (sent, _) = push(&mut client, &OPEN[..1]);
    assert_eq!(
        sent,
        [
            r#"{"method":"initialized","params":{}}"#,
            r#"{"id":2,"method":"thread/start","params":{"cwd":"/project","sandbox":"read-only","approvalPolicy":"never","developerInstructions":"Be \"brief\"."}}"#,
        ]
    );
    let (sent, _) = push(&mut client, &OPEN[1..]);
    assert_eq!(
        sent,
        [
            r#"{"id":3,"method":"thread/inject_items","params":{"threadId":"t-1","items":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Eva said: no.\n"}]}]}}"#
        ]
    );
    assert!(client.is_prompted());
    let (sent, _) = push(&mut client, &[r#"{"id":3,"result":{}}"#]);
    assert_eq!(
        sent,
        [
            r#"{"id":4,"method":"turn/start","params":{"threadId":"t-1","input":[{"type":"text","text":"Why?"}]}}"#
        ]
    );
    assert_eq!((client.session(), client.session_path()), (Some("t-1"), Some("/codex/t-1.jsonl")));
}

#[test]
fn a_thread_is_continued_by_its_id_and_by_no_other() {
    let resumed = CodexSession { resumed: Some("t-1"), ..SESSION };
    let mut client = codex(&resumed);
    client.begin(&PROMPT, &mut Vec::new());
    let (sent, _) = push(&mut client, &OPEN[..1]);
    assert!(sent[1].contains(r#""method":"thread/resume""#), "{sent:?}");
    assert!(sent[1].ends_with(r#""threadId":"t-1","excludeTurns":true}}"#), "{sent:?}");
    let other = r#"{"id":2,"result":{"thread":{"id":"t-2"}}}"#;
    push(&mut client, &[other]);
    assert!(client.is_ended() && !client.is_prompted());
    assert_eq!(end(&mut client).error.unwrap().class, ErrorClass::Setup);

    let mut client = codex(&resumed);
    client.begin(&PROMPT, &mut Vec::new());
    let refused =
        r#"{"id":2,"error":{"code":-32600,"message":"no rollout found for thread id t-1"}}"#;
    push(&mut client, &[OPEN[0], refused]);
    assert!(client.is_ended() && !client.is_prompted());
    assert_eq!(&*end(&mut client).error.unwrap().message, "no rollout found for thread id t-1");
}

#[test]
fn a_failure_of_codex_has_the_class_that_it_names() {
    let check = |info: &str, class: ErrorClass| {
        let mut client = codex(&SESSION);
        client.begin(&AgentPrompt { context: "", ..PROMPT }, &mut Vec::new());
        push(&mut client, &OPEN);
        let error = format!(r#"{{"message":"It failed.","codexErrorInfo":{info}}}"#);
        let retried =
            notice("error", &format!(r#""turnId":"n-1","willRetry":true,"error":{error}"#));
        let failed = notice(
            "turn/completed",
            &format!(r#""turn":{{"id":"n-1","status":"failed","error":{error}}}"#),
        );
        let started = r#"{"id":3,"result":{"turn":{"id":"n-1"}}}"#;
        let (_, events) = push(&mut client, &[started, &retried, &failed]);
        assert!(matches!(events[0], StreamEvent::Warning { .. }), "{events:?}");
        assert_eq!(end(&mut client).error.unwrap().class, class, "{info}");
    };
    check(r#"{"httpConnectionFailed":{"httpStatusCode":401}}"#, ErrorClass::Auth);
    check(r#"{"responseTooManyFailedAttempts":{"httpStatusCode":429}}"#, ErrorClass::Quota);
    check(r#""contextWindowExceeded""#, ErrorClass::Overflow);
    check(r#""usageLimitExceeded""#, ErrorClass::Quota);
    check("null", ErrorClass::Crash);
}

#[test]
fn every_request_of_codex_is_answered() {
    let mut client = codex(&SESSION);
    client.begin(&AgentPrompt { context: "", ..PROMPT }, &mut Vec::new());
    push(&mut client, &OPEN);
    let request = |method: &str, params: &str| {
        format!(r#"{{"id":"r-1","method":"{method}","params":{params}}}"#)
    };
    let command = request(
        "item/commandExecution/requestApproval",
        r#"{"itemId":"c-1","threadId":"t-1","turnId":"n-1","command":"rm -r build"}"#,
    );
    let mut asks = Vec::new();
    client.push(format!("{command}\n").as_bytes(), &mut Vec::new(), &mut asks);
    let Some(AgentAsk::Permit(asked)) = asks.pop() else { panic!("{asks:?}") };
    assert_eq!(&*asked.request.title, "rm -r build");
    assert_eq!(asked.request.tool.as_deref(), Some("command_execution"));
    let allows: Vec<bool> = asked.request.choices.iter().map(|choice| choice.allows).collect();
    assert_eq!(allows, [true, true, false]);
    let mut events = Vec::new();
    let yes = client.answer(&asked, Some("accept"), &mut events);
    assert_eq!(yes, "{\"id\":\"r-1\",\"result\":{\"decision\":\"accept\"}}\n");
    assert_eq!(events, []);
    let no = client.answer(&asked, Some("unknown"), &mut events);
    assert_eq!(no, "{\"id\":\"r-1\",\"result\":{\"decision\":\"decline\"}}\n");
    assert!(matches!(&events[..], [StreamEvent::ToolDenied(_)]), "{events:?}");
    for (method, answer) in [
        ("mcpServer/elicitation/request", r#""result":{"action":"decline"}"#),
        ("item/permissions/requestApproval", r#""result":{"permissions":{}}"#),
        ("item/tool/requestUserInput", r#""error":{"code":-32601"#),
        ("anything/else", r#""error":{"code":-32601"#),
    ] {
        let (sent, _) = push(&mut client, &[&request(method, "{}")]);
        assert!(sent[0].starts_with(&format!(r#"{{"id":"r-1",{answer}"#)), "{sent:?}");
    }
    // After the turn nobody can be asked.
    push(&mut client, &strs(&codex_turn(3, "n-1", "Done.", 1)));
    let (sent, _) = push(&mut client, &[&command]);
    assert_eq!(sent, [r#"{"id":"r-1","result":{"decision":"decline"}}"#]);
}

#[test]
fn tools_and_thoughts_of_codex_are_reported() {
    let mut client = codex(&SESSION);
    client.begin(&AgentPrompt { context: "", ..PROMPT }, &mut Vec::new());
    push(&mut client, &OPEN);
    let item =
        |method: &str, item: &str| notice(method, &format!(r#""turnId":"n-1","item":{item}"#));
    let lines = [
        r#"{"id":3,"result":{"turn":{"id":"n-1"}}}"#.to_owned(),
        item(
            "item/completed",
            r#"{"type":"reasoning","id":"r","summary":["Think."],"content":[]}"#,
        ),
        item(
            "item/started",
            r#"{"type":"commandExecution","id":"c","command":"ls","status":"inProgress"}"#,
        ),
        item(
            "item/completed",
            r#"{"type":"commandExecution","id":"c","command":"ls","status":"failed","aggregatedOutput":"no\n","exitCode":2}"#,
        ),
        item(
            "item/completed",
            r#"{"type":"fileChange","id":"f","changes":[],"status":"completed"}"#,
        ),
        item("item/completed", r#"{"type":"contextCompaction","id":"k"}"#),
        notice("item/completed", r#""turnId":"n-9","item":{"type":"webSearch","id":"w"}"#),
        notice("turn/completed", r#""turn":{"id":"n-1","status":"interrupted"}"#),
    ];
    let (_, events) = push(&mut client, &strs(&lines));
    assert_eq!(events[0], StreamEvent::Thinking { text: "Think.".into() });
    let tools: Vec<String> = events
        .iter()
        .filter_map(|event| match event {
            StreamEvent::ToolStarted { name, .. } => Some(format!("{name}")),
            StreamEvent::ToolFinished { output, is_error, .. } => {
                Some(format!("{output:?} {is_error}"))
            }
            _ => None,
        })
        .collect();
    assert_eq!(tools, ["command_execution", "Some(\"no\\n\") true", "file_change", "None false"]);
    assert!(client.is_compacted());
    assert_eq!(end(&mut client).error.unwrap().class, ErrorClass::Crash);
}

#[test]
fn codex_is_asked_to_stop_its_turn() {
    let mut client = codex(&SESSION);
    client.begin(&AgentPrompt { context: "", ..PROMPT }, &mut Vec::new());
    assert_eq!(client.cancel(), None);
    push(&mut client, &[OPEN[0], OPEN[1], r#"{"id":3,"result":{"turn":{"id":"n-1"}}}"#]);
    let line = client.cancel().unwrap();
    assert!(
        line.contains(r#""method":"turn/interrupt","params":{"threadId":"t-1","turnId":"n-1"}"#)
    );
}

fn claude_line(kind: &str, fields: &str) -> String {
    format!(r#"{{"type":"{kind}","session_id":"s-1",{fields}}}"#)
}

/// Returns the lines of a turn of Claude Code with this answer and this total cost.
fn claude_turn(prompt: &str, answer: &str, cost: f64) -> Vec<String> {
    vec![
        claude_line("command_lifecycle", &format!(r#""command_uuid":"{prompt}","state":"queued""#)),
        claude_line(
            "command_lifecycle",
            &format!(r#""command_uuid":"{prompt}","state":"started""#),
        ),
        claude_line("system", r#""subtype":"init","model":"m-1""#),
        claude_line(
            "assistant",
            &format!(r#""message":{{"content":[{{"type":"text","text":"{answer}"}}]}}"#),
        ),
        claude_line(
            "result",
            &format!(
                r#""subtype":"success","is_error":false,"result":"{answer}","total_cost_usd":{cost},"usage":{{"input_tokens":3,"output_tokens":2}}"#
            ),
        ),
        claude_line(
            "command_lifecycle",
            &format!(r#""command_uuid":"{prompt}","state":"completed""#),
        ),
    ]
}

#[test]
fn each_turn_of_claude_has_its_own_answer_and_cost() {
    let mut client = claude(None);
    let line = client.begin(&PROMPT, &mut Vec::new()).concat();
    assert_eq!(
        line,
        "{\"type\":\"user\",\"uuid\":\"u-1\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Eva said: no.\\nWhy?\"}]}}\n"
    );
    push(&mut client, &strs(&claude_turn("u-1", "First.", 0.5)));
    let output = end(&mut client);
    assert_eq!((said(&output), output.cost.unwrap().usd), ("First.", 0.5));
    client.begin(&AgentPrompt { id: "u-2", ..PROMPT }, &mut Vec::new());
    push(&mut client, &strs(&claude_turn("u-2", "Second.", 0.75)));
    let output = end(&mut client);
    let cost = output.cost.unwrap();
    assert_eq!((said(&output), cost.usd, cost.scope), ("Second.", 0.25, Scope::Turn));
    assert_eq!(client.totals().cost_usd, Some(0.75));
    assert_eq!((client.session(), client.trace()), (Some("s-1"), Some("u-2")));
}

#[test]
fn a_turn_that_claude_begins_by_itself_is_not_ours() {
    let mut client = claude(None);
    client.begin(&PROMPT, &mut Vec::new());
    push(&mut client, &strs(&claude_turn("u-1", "First.", 0.5)));
    end(&mut client);
    client.begin(&AgentPrompt { id: "u-2", ..PROMPT }, &mut Vec::new());
    let (_, events) = push(&mut client, &strs(&claude_turn("u-9", "Unasked.", 0.6)));
    assert_eq!((events, client.is_ended(), client.is_prompted()), (vec![], false, false));
    push(&mut client, &strs(&claude_turn("u-2", "Second.", 0.75)));
    assert_eq!(said(&end(&mut client)), "Second.");
}

#[test]
fn an_older_claude_begins_its_turns_with_init() {
    let mut client = claude(None);
    for number in 1..=2 {
        client.begin(&PROMPT, &mut Vec::new());
        assert!(!client.is_prompted());
        push(&mut client, &strs(&claude_turn("u-1", "Yes.", 0.5)[2..5]));
        assert_eq!(said(&end(&mut client)), "Yes.", "turn {number}");
    }
}

#[test]
fn a_session_that_claude_does_not_find_got_no_prompt() {
    let mut client = claude(Some("s-1"));
    client.begin(&PROMPT, &mut Vec::new());
    let failed = r#"{"type":"result","subtype":"error_during_execution","session_id":"s-9","is_error":true,"errors":["No conversation found with session ID: s-1"]}"#;
    push(&mut client, &[failed]);
    assert!(client.is_ended() && !client.is_prompted());
    assert_eq!(end(&mut client).error.unwrap().class, ErrorClass::Setup);
}

#[test]
fn claude_must_not_open_another_session_than_the_requested_one() {
    let other = |line: String| line.replace("s-1", "s-2");
    // Releases of before 2026 do not say which message a turn belongs to.
    for range in [0..2, 2..3] {
        let mut client = claude(Some("s-1"));
        client.begin(&PROMPT, &mut Vec::new());
        let lines: Vec<String> = claude_turn("u-1", "Yes.", 0.5).into_iter().map(other).collect();
        let (_, events) = push(&mut client, &strs(&lines[range]));
        assert!(client.is_ended(), "{events:?}");
        let is_violation = |event: &StreamEvent| matches!(event, StreamEvent::Violation { .. });
        assert!(!events.iter().any(is_violation), "{events:?}");
        assert_eq!(client.session(), Some("s-1"));
        let error = end(&mut client).error.unwrap();
        assert_eq!(error.class, ErrorClass::Setup);
        assert_eq!(
            &*error.message,
            "Claude Code opened the session s-2 instead of the requested one"
        );
    }
}

#[test]
fn a_question_of_claude_is_answered() {
    let mut client = claude(None);
    client.begin(&PROMPT, &mut Vec::new());
    let asked =
        r#"{"type":"control_request","request_id":"q-1","request":{"subtype":"can_use_tool"}}"#;
    let (sent, _) = push(&mut client, &[asked]);
    assert!(sent[0].contains(r#""subtype":"error","request_id":"q-1""#), "{sent:?}");
}

#[test]
fn an_agent_of_acp_gets_its_next_prompt_in_the_same_session() {
    let mut client =
        AgentClient::acp(&AcpSession { cwd: "/p", model: None, loaded: None }, Limits::default());
    client.begin(&PROMPT, &mut Vec::new());
    let chunk = |text: &str| {
        format!(
            r#"{{"method":"session/update","params":{{"sessionId":"s","update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{text}"}}}}}}}}"#
        )
    };
    let cost = |usd: f64| {
        format!(
            r#"{{"method":"session/update","params":{{"sessionId":"s","update":{{"sessionUpdate":"usage_update","cost":{{"amount":{usd},"currency":"USD"}}}}}}}}"#
        )
    };
    let open =
        [r#"{"id":1,"result":{"protocolVersion":1}}"#, r#"{"id":2,"result":{"sessionId":"s"}}"#];
    push(&mut client, &open);
    push(
        &mut client,
        &[&chunk("First."), &cost(0.5), r#"{"id":4,"result":{"stopReason":"end_turn"}}"#],
    );
    let output = end(&mut client);
    assert_eq!((said(&output), output.cost.unwrap().usd), ("First.", 0.5));
    let sent =
        client.begin(&AgentPrompt { message: "More?", ..AgentPrompt::default() }, &mut Vec::new());
    assert_eq!(
        sent.concat(),
        "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"s\",\"prompt\":[{\"type\":\"text\",\"text\":\"More?\"}]}}\n"
    );
    // A late answer to the first prompt is none to the second.
    push(
        &mut client,
        &[r#"{"id":4,"result":{"stopReason":"end_turn"}}"#, &chunk("Second."), &cost(0.75)],
    );
    assert!(!client.is_ended());
    push(&mut client, &[r#"{"id":8,"result":{"stopReason":"end_turn"}}"#]);
    let output = end(&mut client);
    assert_eq!((said(&output), output.cost.unwrap().usd), ("Second.", 0.25));
}

proptest! {
    #[test]
    fn chunks_make_no_difference(cuts in prop::collection::vec(1_usize..40, 1..200), is_codex in any::<bool>()) {
        let run = |chunks: &mut dyn FnMut(&[u8]) -> Vec<Vec<u8>>| {
            let mut client = if is_codex { codex(&SESSION) } else { claude(None) };
            let mut told = Vec::new();
            for turn in 1..=2_u64 {
                let prompt = AgentPrompt { id: "u-1", context: "", message: "Why?" };
                let (mut events, mut asks) = (Vec::new(), Vec::new());
                told.push(client.begin(&prompt, &mut events).concat());
                let mut lines = Vec::new();
                if is_codex && turn == 1 { lines.extend(OPEN.map(str::to_owned)) }
                lines.extend(if is_codex { codex_turn(turn + 2, &format!("n-{turn}"), "Yes.", 3 * turn) } else { claude_turn("u-1", "Yes.", turn as f64) });
                for chunk in chunks(format!("{}\n", lines.join("\n")).as_bytes()) {
                    client.push(&chunk, &mut events, &mut asks);
                }
                told.extend(asks.into_iter().map(shown));
                told.push(format!("{events:?} {:?}", client.finish(Exit::Code(0), "", &mut Vec::new())));
            }
            told
        };
        let whole = run(&mut |bytes| vec![bytes.to_vec()]);
        let mut cuts = cuts.iter().cycle().copied();
        let cut = run(&mut |mut bytes| {
            let mut chunks = Vec::new();
            while !bytes.is_empty() {
                let (chunk, rest) = bytes.split_at(cuts.next().unwrap().min(bytes.len()));
                chunks.push(chunk.to_vec());
                bytes = rest;
            }
            chunks
        });
        prop_assert_eq!(whole, cut);
    }

    #[test]
    fn any_output_ends_in_an_answer_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..400), kind in 0..3) {
        let mut client = match kind {
            0 => codex(&SESSION),
            1 => claude(None),
            _ => AgentClient::acp(&AcpSession { cwd: "/p", model: None, loaded: None }, Limits::default()),
        };
        for _ in 0..2 {
            client.begin(&PROMPT, &mut Vec::new());
            client.push(&bytes, &mut Vec::new(), &mut Vec::new());
            let output = client.finish(Exit::Code(1), "", &mut Vec::new());
            prop_assert_eq!(output.final_text.is_some(), output.error.is_none());
        }
    }
}
