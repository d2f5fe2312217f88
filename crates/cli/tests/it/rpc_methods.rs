//! Tests the rpc methods: formats, hooks, and the error texts of the contract.

use insta::assert_snapshot;

use crate::harness::{ask, request, rpc, rpc_with_logs};

fn said(text: &str) -> String {
    format!(
        r#"{{"message":{{"content":"{text}","speaker":{{"roleId":"u","roleName":"U","type":"human"}}}}}}"#
    )
}

#[test]
fn a_message_is_announced_and_then_answered_with_its_id() {
    assert_snapshot!(rpc_with_logs(&[&request("addMessage", &said("hi"))]).join("\n"), @r#"
    {"jsonrpc":"2.0","method":"log","params":{"level":"debug","text":"[ContextManager] Message added: msg-1"}}
    {"jsonrpc":"2.0","method":"messageAdded","params":{"message":{"id":"msg-1","content":"hi","speaker":{"roleId":"u","roleName":"U","type":"human"}}}}
    {"jsonrpc":"2.0","id":1,"result":{"id":"msg-1","content":"hi","speaker":{"roleId":"u","roleName":"U","type":"human"}}}
    "#);
}

#[test]
fn a_message_that_is_none_gets_the_contracts_text() {
    let speaker = r#""speaker":{"roleId":"u"}"#;
    let refused = [
        ("{}".to_owned(), "Message cannot be null or undefined"),
        (r#"{"message":null}"#.to_owned(), "Message cannot be null or undefined"),
        (r#"{"message":0}"#.to_owned(), "Message cannot be null or undefined"),
        (r#"{"message":"hi"}"#.to_owned(), "Message content must be a string"),
        (format!(r#"{{"message":{{{speaker}}}}}"#), "Message content must be a string"),
        (format!(r#"{{"message":{{"content":5,{speaker}}}}}"#), "Message content must be a string"),
        (r#"{"message":{"content":"x"}}"#.to_owned(), "Message speaker is required"),
        (r#"{"message":{"content":"x","speaker":null}}"#.to_owned(), "Message speaker is required"),
        (
            r#"{"message":{"content":"x","speaker":{}}}"#.to_owned(),
            "Message speaker.roleId is required",
        ),
        (
            r#"{"message":{"content":"x","speaker":"u"}}"#.to_owned(),
            "Message speaker.roleId is required",
        ),
        (
            r#"{"message":{"content":"x","speaker":{"roleId":5}}}"#.to_owned(),
            "Message speaker.roleId must be a string; got a number",
        ),
        (
            format!(
                r#"{{"message":{{"content":"x",{speaker},"routing":{{"resolvedAddressees":"max"}}}}}}"#
            ),
            "Message routing.resolvedAddressees must be a list; got a string",
        ),
    ];
    for (params, text) in refused {
        let error = ask("addMessage", &params);
        assert!(error.contains(r#""code":-32602"#), "{params}: {error}");
        assert!(error.contains(&format!(r#""message":"{text}""#)), "{params}: {error}");
    }
}

/// Checks that each call is refused because of a wrong parameter, with this text.
fn check_refused(wrong: &[(&str, &str, &str)]) {
    for (method, params, text) in wrong {
        let error = ask(method, params);
        assert!(error.contains(r#""code":-32602"#), "{method} {params}: {error}");
        assert!(error.contains(&format!(r#""message":"{text}""#)), "{method} {params}: {error}");
    }
}

#[test]
fn windows_and_budgets_must_be_whole_and_not_negative() {
    check_refused(&[
        (
            "createConversation",
            r#"{"contextWindowSize":-1}"#,
            "contextWindowSize must be a whole number of 0 or more; got -1",
        ),
        (
            "createConversation",
            r#"{"contextWindowSize":"5"}"#,
            "contextWindowSize must be a whole number of 0 or more; got a string",
        ),
        (
            "createConversation",
            r#"{"maxBytes":1.5}"#,
            "maxBytes must be a whole number of 0 or more; got 1.5",
        ),
        ("createConversation", r#"{"maxMessages":0}"#, "maxMessages must be 1 or more; got 0"),
        (
            "createConversation",
            r#"{"whitespace":"none"}"#,
            "whitespace must be \\\"compact\\\" or \\\"preserve\\\"; got \\\"none\\\"",
        ),
        (
            "createConversation",
            r#"{"memberWindows":{"max":-2}}"#,
            "memberWindows.max must be a whole number of 0 or more; got -2",
        ),
        (
            "getContextForAgent",
            r#"{"agentId":"a","agentType":"b","options":{"windowSizeOverride":-2}}"#,
            "options.windowSizeOverride must be a whole number of 0 or more; got -2",
        ),
        (
            "getContextForAgent",
            r#"{"agentId":"a","agentType":"b","options":{"windowSizeOverride":0.5}}"#,
            "options.windowSizeOverride must be a whole number of 0 or more; got 0.5",
        ),
    ]);
}

#[test]
fn parameters_that_are_missing_or_of_the_wrong_kind_are_named() {
    check_refused(&[
        ("getContextForAgent", r#"{"agentType":"b"}"#, "agentId is missing; give a string"),
        ("assemblePrompt", r#"{"agentType":"b"}"#, "input is missing; give an AssemblerInput"),
        (
            "assemblePrompt",
            r#"{"agentType":"b","input":{"contextMessages":[{"from":1}],"currentMessage":""}}"#,
            "input.contextMessages[0].from must be a string; got a number",
        ),
        ("setTeamTask", "{}", "task is missing; give a string, or null for none"),
        ("setTeamTask", r#"{"task":5}"#, "task must be a string; got a number"),
        (
            "truncateToBytes",
            r#"{"text":"a","maxBytes":"1"}"#,
            "maxBytes must be a number of bytes; got a string",
        ),
        (
            "formatAddressees",
            r#"{"addressees":[5]}"#,
            "addressees[0] must be a name or an object with an identifier; got a number",
        ),
        ("estimateTokens", "{}", "messages is missing; give a list of messages, [] for none"),
        (
            "estimateTokens",
            r#"{"messages":[{"content":"x"}]}"#,
            "messages[0].role is missing; give system, user, assistant or tool, or a speaker",
        ),
        (
            "estimateTokens",
            r#"{"messages":[],"tokenizer":"x"}"#,
            "tokenizer must be o200k, cl100k, gemma, claude or bytes; got \\\"x\\\"",
        ),
        (
            "estimateTokens",
            r#"{"messages":[],"toolSpecs":[{"name":"a"}]}"#,
            "toolSpecs[0].parameterSchema is missing; give a JSON Schema",
        ),
        ("stripAllMarkers", r#"{"text":"a","mode":7}"#, "mode must be a string; got a number"),
    ]);
}

#[test]
fn a_conversation_goes_from_messages_to_a_prompt() {
    let answers = rpc(&[
        &request("setTeamTask", r#"{"task":"T"}"#),
        &request("addMessage", &said("one [NEXT: max]")),
        &request("addMessage", &said("two")),
        &request(
            "getContextForAgent",
            r#"{"agentId":"max","agentType":"claude","options":{"systemInstruction":"S"}}"#,
        ),
        &request("getLatestMessage", "{}"),
        &request("getMessages", "{}"),
    ]);
    let results: Vec<&str> = answers
        .iter()
        .filter_map(|line| line.split_once("\"result\":").map(|(_, result)| result))
        .collect();
    assert_snapshot!(results[3..].join("\n"), @r#"
    {"contextMessages":[{"from":"U","to":"all","content":"one"}],"currentMessage":"two","teamTask":"T","systemInstruction":"S","maxBytes":786432}}
    {"id":"msg-2","content":"two","speaker":{"roleId":"u","roleName":"U","type":"human"}}}
    {"messages":[{"id":"msg-1","content":"one [NEXT: max]","speaker":{"roleId":"u","roleName":"U","type":"human"}},{"id":"msg-2","content":"two","speaker":{"roleId":"u","roleName":"U","type":"human"}}]}}
    "#);
}

#[test]
fn an_empty_conversation_has_no_latest_message_and_an_empty_context() {
    assert_eq!(ask("getLatestMessage", "{}"), r#""result":null"#);
    assert_eq!(
        ask("getContextForAgent", r#"{"agentId":"a","agentType":"claude"}"#),
        r#""result":{"contextMessages":[],"currentMessage":"","teamTask":null,"maxBytes":786432}"#
    );
}

#[test]
fn conversations_are_apart_and_name_themselves_unless_they_are_the_main_one() {
    let answers = rpc(&[
        &request("createConversation", r#"{"conversation":"b","contextWindowSize":1}"#),
        &request("setTeamTask", r#"{"conversation":"b","task":"of b"}"#),
        &request("getTeamTask", "{}"),
        &request("getTeamTask", r#"{"conversation":"b"}"#),
        &request("getTeamTask", r#"{"conversation":"c"}"#),
    ]);
    assert_snapshot!(answers.join("\n"), @r#"
    {"jsonrpc":"2.0","id":1,"result":{"conversation":"b"}}
    {"jsonrpc":"2.0","method":"teamTaskChanged","params":{"conversation":"b","task":"of b"}}
    {"jsonrpc":"2.0","id":1,"result":{"task":"of b"}}
    {"jsonrpc":"2.0","id":1,"result":{"task":null}}
    {"jsonrpc":"2.0","id":1,"result":{"task":"of b"}}
    {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no conversation \"c\"; call createConversation first","data":{"code":"ConversationNotFound"}}}
    "#);
}

#[test]
fn creating_a_conversation_again_replaces_it_and_reports_what_was_lost() {
    let answers = rpc_with_logs(&[
        &request("addMessage", &said("gone")),
        &request("createConversation", "{}"),
        &request("getMessages", "{}"),
    ]);
    assert!(
        answers[3].contains(r#"[rpc] Conversation replaced: 1 messages of \"main\" are lost"#),
        "{answers:?}"
    );
    assert!(answers[5].contains(r#""result":{"messages":[]}"#));
}

#[test]
fn members_have_windows_of_their_own_by_id_or_type() {
    let context = |agent: &str, kind: &str| {
        let mut lines = vec![request(
            "createConversation",
            r#"{"memberWindows":{"max":1,"google-gemini":2,"codex":0}}"#,
        )];
        lines.extend((1..=4).map(|n| request("addMessage", &said(&format!("m{n}")))));
        lines.push(request(
            "getContextForAgent",
            &format!(r#"{{"agentId":"{agent}","agentType":"{kind}"}}"#),
        ));
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        rpc(&lines).last().unwrap().matches("\"content\"").count()
    };
    assert_eq!(context("max", "gemini"), 1);
    assert_eq!(context("eve", "gemini"), 2);
    assert_eq!(context("eve", "codex"), 0);
    assert_eq!(context("eve", "claude"), 3);
}

#[test]
fn a_message_beyond_the_cap_is_handed_out_before_the_answer() {
    let answers = rpc(&[
        &request("createConversation", r#"{"maxMessages":1}"#),
        &request("addMessage", &said("one")),
        &request("addMessage", &said("two")),
    ]);
    let archived = answers.iter().position(|line| line.contains("messageArchived")).unwrap();
    assert!(answers[archived].contains(r#""id":"msg-1","content":"one""#));
    assert_eq!(archived, answers.len() - 2);
}

#[test]
fn a_snapshot_goes_out_and_in_and_out_the_same() {
    let exported = rpc(&[&request("addMessage", &said("x")), &request("exportSnapshot", "{}")]);
    let snapshot =
        exported.last().unwrap().split_once("\"result\":").unwrap().1.strip_suffix('}').unwrap();
    let params = format!(r#"{{"snapshot":{snapshot}}}"#);
    let answers = rpc(&[&request("importSnapshot", &params), &request("exportSnapshot", "{}")]);
    assert!(answers[1].contains(r#""result":{"messageCount":1}"#), "{answers:?}");
    assert!(answers[2].contains(snapshot));
}

#[test]
fn a_wrong_snapshot_is_refused_and_nothing_changes() {
    for (snapshot, detail) in [
        ("null", "the snapshot must be an object; got null"),
        ("{}", "version is missing; give the number 1"),
        (r#"{"version":2}"#, "version must be the number 1; got 2"),
        (r#"{"version":"1","messages":[]}"#, r#"version must be the number 1; got \"1\""#),
        (r#"{"version":1}"#, "messages is missing; give a list of messages"),
        (r#"{"version":1,"messages":{}}"#, "messages must be a list; got an object"),
        (r#"{"version":1,"messages":[null]}"#, "messages[0]: Message cannot be null or undefined"),
        (
            r#"{"version":1,"messages":[{"id":1}]}"#,
            "messages[0]: Message id must be a string; got a number",
        ),
        (
            r#"{"version":1,"messages":[{"id":"a","content":"b"}]}"#,
            "messages[0]: Message speaker is required",
        ),
        (r#"{"version":1,"messages":[],"teamTask":5}"#, "teamTask must be a string; got a number"),
    ] {
        let before =
            [request("addMessage", &said("kept")), request("setTeamTask", r#"{"task":"kept"}"#)];
        let import = request("importSnapshot", &format!(r#"{{"snapshot":{snapshot}}}"#));
        let answers = rpc(&[
            &before[0],
            &before[1],
            &import,
            &request("getMessages", "{}"),
            &request("getTeamTask", "{}"),
        ]);
        let [.., error, messages, task] = answers.as_slice() else { panic!("five answers") };
        assert!(error.contains(r#""code":-32000,"message":"Invalid snapshot format""#), "{error}");
        assert!(error.contains(&format!(r#""detail":"{detail}""#)), "{error}");
        assert!(messages.contains("kept") && task.contains("kept"), "{snapshot}");
    }
}

#[test]
fn messages_and_tools_are_counted_together() {
    let count = |params: &str| -> u64 {
        let result = ask("estimateTokens", params);
        let digits =
            result.strip_prefix("\"result\":{\"tokens\":").and_then(|rest| rest.strip_suffix('}'));
        digits.unwrap_or_else(|| panic!("{result}")).parse().unwrap()
    };
    assert_eq!(count(r#"{"messages":[]}"#), 0);
    let message = r#"{"role":"user","parts":[{"kind":"text","payload":{"text":"Hello, world!"}}]}"#;
    let one = count(&format!(r#"{{"messages":[{message}],"tokenizer":"o200k"}}"#));
    assert!(one >= 4, "{one}");
    assert_eq!(
        count(&format!(r#"{{"messages":[{message},{message}],"tokenizer":"o200k"}}"#)),
        2 * one
    );
    let tool = r#"[{"name":"ls","description":"lists","parameterSchema":{"type":"object"}}]"#;
    assert!(
        count(&format!(r#"{{"messages":[{message}],"toolSpecs":{tool},"tokenizer":"o200k"}}"#))
            > one
    );
}

#[test]
fn sections_are_reported_on_request() {
    let input = r#"{"contextMessages":[],"currentMessage":"Hello","teamTask":"T"}"#;
    let params = format!(r#"{{"agentType":"claude","input":{input},"explain":true}}"#);
    assert_snapshot!(ask("assemblePrompt", &params), @r#""result":{"prompt":"[TEAM_TASK]\nT\n\n[MESSAGE]\nHello","status":"fits","bytes":30,"keptContext":0,"droppedContext":0,"sections":{"system":0,"teamTask":13,"context":0,"message":15,"separators":2}}"#);
}

#[test]
fn names_inside_of_options_that_say_nothing_are_reported() {
    let params = r#"{"agentId":"a","agentType":"b","options":{"windowSize":3}}"#;
    let answers = rpc_with_logs(&[&request("getContextForAgent", params)]);
    assert!(answers[0].contains("unknown parameters ignored: options.windowSize"), "{answers:?}");
}

#[test]
fn the_block_form_of_a_team_task_is_text_for_the_parser() {
    assert_eq!(
        ask("parseMarkers", r#"{"text":"[TEAM_TASK] Build X [NEXT: a]"}"#),
        r#""result":{"next":[{"name":"a","intent":"P2"}],"drop":[],"cleanText":"[TEAM_TASK] Build X"}"#
    );
}

#[test]
fn texts_go_through_the_small_methods() {
    for (method, params, result) in [
        ("stripAllMarkers", r#"{"text":"[NEXT:a]  b\n\n  c"}"#, r#"{"text":"b\nc"}"#),
        (
            "stripAllMarkers",
            r#"{"text":"[NEXT:a]  b\n\n  c","mode":"preserve"}"#,
            r#"{"text":"b\n\n  c"}"#,
        ),
        ("parseMarkers", r#"{"text":"plain"}"#, r#"{"next":[],"drop":[],"cleanText":"plain"}"#),
        ("normalizeAgentType", r#"{"type":"CODEX"}"#, r#"{"type":"openai-codex"}"#),
        ("normalizeAgentType", r#"{"type":"__proto__"}"#, r#"{"type":"__proto__"}"#),
        ("truncateToBytes", r#"{"text":"héllo","maxBytes":2.9}"#, r#"{"text":"h"}"#),
        ("truncateToBytes", r#"{"text":"abc","maxBytes":-1}"#, r#"{"text":""}"#),
        ("truncateToBytes", r#"{"text":"abc","maxBytes":1e99}"#, r#"{"text":"abc"}"#),
        ("formatAddressees", "{}", r#"{"text":"all"}"#),
        ("formatAddressees", r#"{"addressees":null}"#, r#"{"text":"all"}"#),
        ("formatAddressees", r#"{"addressees":["a",{"identifier":"b"}]}"#, r#"{"text":"a, b"}"#),
    ] {
        assert_eq!(ask(method, params), format!("\"result\":{result}"), "{method} {params}");
    }
}

#[test]
fn an_unknown_agent_gets_plain_text_and_a_warning() {
    let input = r#"{"contextMessages":[],"currentMessage":"Hello","teamTask":null}"#;
    let line =
        request("assemblePrompt", &format!(r#"{{"agentType":"custom-agent","input":{input}}}"#));
    let answers = rpc_with_logs(&[&line]);
    assert!(answers[0].contains(
        r#""text":"[ContextManager] Unknown agentType \"custom-agent\" (normalized: \"custom-agent\"), using PlainTextAssembler""#
    ));
    assert!(answers[1].contains(
        r#""prompt":"Hello","status":"fits","bytes":5,"keptContext":0,"droppedContext":0"#
    ));
}
