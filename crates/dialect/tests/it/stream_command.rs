//! Output of any program that is a member of a team: plain text, or our JSON lines.

use tertulia_dialect::stream::{AgentStream, Exit, StreamParser};

use crate::stream_show::{joined, show};

#[track_caller]
fn check(stream: AgentStream, written: &[u8], exit: Exit, expected: &str) {
    let mut parser = StreamParser::new(stream);
    let mut events = Vec::new();
    parser.push(written, &mut events);
    let output = parser.finish(exit, "", &mut events);
    assert_eq!(show(&joined(events), &output), expected);
}

#[test]
fn all_of_a_plain_text_is_the_answer() {
    check(
        AgentStream::Text,
        b"{\"type\":\"end\"}\r\n\n\tdone\x00 \n",
        Exit::Code(0),
        r#"
text "{\"type\":\"end\"}\r\n\n\tdone\0 \n"
text ends
success Stated
=> "{\"type\":\"end\"}\r\n\n\tdone\0 \n"
"#,
    );
}

#[test]
fn bytes_that_are_no_text_are_marked_and_the_first_ones_reported() {
    check(
        AgentStream::Text,
        b"caf\xc3\xa9 \xe2\x82 \xff\xfe \xf0\x9f\x98",
        Exit::Code(0),
        r#"
text "café "
unparsed NotUtf8: \xe2\x82
text "� �� �"
text ends
success Stated
=> "café � �� �"
"#,
    );
}

#[test]
fn a_plain_text_fails_by_its_exit_code_and_what_came_is_kept() {
    check(
        AgentStream::Text,
        b"half an ans",
        Exit::Code(3),
        r#"
text "half an ans"
=> crash: ended with exit code 3
   so far "half an ans"
"#,
    );
    check(AgentStream::Text, b" \n", Exit::Code(0), EMPTY_TEXT);
}

const EMPTY_TEXT: &str = r#"
text " \n"
text ends
success Stated
=> empty: finished without any output
   so far " \n"
"#;

#[test]
fn json_lines_say_all_that_the_agents_say() {
    check(
        AgentStream::Jsonl,
        br#"{"type":"start","session_id":"s-1","model":"m"}
{"type":"thinking","text":"Hm."}
{"type":"text","text":"First I look."}
{"type":"tool_start","id":"1","name":"look","input":{"at":"it"}}
{"type":"tool_end","id":"1","output":"nothing","is_error":true}
{"type":"tool_denied","id":"2","name":"write","reason":"read only"}
{"type":"warning","message":"status 429, trying again"}
{"type":"text","text":"It is "}
{"type":"text","text":"gone."}
{"type":"usage","input":1,"cache_read":2,"cache_write":3,"output":4,"thinking":5}
{"type":"cost","usd":0.5}
{"type":"weather","text":"ignored"}
{"type":"end"}
"#,
        Exit::Code(0),
        r#"
started s-1 m
thinking "Hm."
text "First I look."
text ends
tool look 1 {"at":"it"}
tool look 1 failed Some("nothing")
tool write 2 denied
warning quota: status 429, trying again
text "It is gone."
usage 1 2 3 4 5 of the turn
cost 0.5 of the turn
text ends
success Stated
=> "It is gone."
"#,
    );
}

#[test]
fn the_end_may_state_the_answer() {
    check(
        AgentStream::Jsonl,
        br#"{"type":"text","text":"working"}
{"type":"end","text":"42"}"#,
        Exit::Code(0),
        r#"
text "working"
text ends
success Stated
=> "42"
"#,
    );
}

#[test]
fn without_an_end_there_is_no_answer() {
    check(
        AgentStream::Jsonl,
        b"{\"type\":\"text\",\"text\":\"so f",
        Exit::Code(0),
        r#"
unparsed NotJson: {\"type\":\"text\",\"text\":\"so f
=> crash: ended with exit code 0 without a final event
"#,
    );
}

#[test]
fn an_error_states_its_class_or_says_it_in_words() {
    check(
        AgentStream::Jsonl,
        br#"{"type":"error","class":"refused","message":"I will not"}"#,
        Exit::Code(1),
        "\nfailed refused: I will not\n=> refused: I will not\n",
    );
    check(
        AgentStream::Jsonl,
        br#"{"type":"error","message":"Invalid API key"}"#,
        Exit::Code(0),
        "\nfailed auth: Invalid API key\n=> auth: Invalid API key\n",
    );
}

#[test]
fn an_event_without_what_belongs_to_it_is_unparsed() {
    for line in [
        r#"{"type":"text"}"#,
        r#"{"type":"text","text":7}"#,
        r#"{"type":"cost","usd":-1}"#,
        r#"{"type":"cost","usd":1e999}"#,
        r#"{"type":"tool_start","id":"1"}"#,
        r#"{"type":"error"}"#,
        r#"{"type":7}"#,
        r#"{"text":"no type"}"#,
        "[]",
    ] {
        let shown = line.replace('"', "\\\"");
        let expected = format!(
            "\nunparsed WrongShape: {shown}\n=> crash: ended with exit code 0 without a final event\n"
        );
        check(AgentStream::Jsonl, line.as_bytes(), Exit::Code(0), &expected);
    }
}
