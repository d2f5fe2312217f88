//! Tests that rpc follows the JSON-RPC 2.0 standard: envelopes, ids, batches, notifications, error codes.

use insta::assert_snapshot;
use proptest::prelude::*;

use crate::harness::{ask, rpc, rpc_with_logs};

#[test]
fn an_id_comes_back_exactly_as_it_was_written() {
    for id in ["1", "\"a\\u0062\"", "null", "1.50", "-7", "123456789012345678901234567890"] {
        let answer = rpc(&[&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"getTeamTask"}}"#)]);
        assert_eq!(answer, [format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"task":null}}}}"#)]);
    }
}

#[test]
fn a_notification_is_never_answered_even_where_it_fails() {
    let silent = rpc(&[
        r#"{"jsonrpc":"2.0","method":"getMessages"}"#,
        r#"{"jsonrpc":"2.0","method":"noSuchMethod"}"#,
        r#"{"jsonrpc":"2.0","method":"addMessage","params":{"message":null}}"#,
        r#"{"jsonrpc":"2.0","method":"clear","params":[1]}"#,
        r#"{"jsonrpc":"2.0","method":"clear","params":null}"#,
        r#"{"jsonrpc":"2.0","method":"clear","params":{"\ud800":1}}"#,
        r#"{"jsonrpc":"2.0","method":"getMessages","params":{"conversation":"nowhere"}}"#,
        r#"[{"jsonrpc":"2.0","method":"getMessages"},{"jsonrpc":"2.0","method":"nothing"}]"#,
    ]);
    assert_eq!(silent, [""; 0]);
}

#[test]
fn what_is_not_json_is_a_parse_error_with_its_place() {
    assert_snapshot!(rpc(&[r#"{"jsonrpc":"2.0","#])[0], @r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error","data":{"code":"ParseError","detail":"not JSON at line 1, column 17: EOF while parsing an object"}}}"#);
}

#[test]
fn what_is_no_request_is_refused_with_the_reason() {
    let refused = [
        ("1", "the request must be an object; got a number"),
        ("\"x\"", "the request must be an object; got a string"),
        ("null", "the request must be an object; got null"),
        ("[]", "a batch must hold at least one request"),
        ("{}", "jsonrpc must be \\\"2.0\\\""),
        (r#"{"jsonrpc":2.0,"method":"clear"}"#, "jsonrpc must be \\\"2.0\\\""),
        (r#"{"jsonrpc":"2.0","method":5}"#, "method must be a string"),
        (
            r#"{"jsonrpc":"2.0","id":true,"method":"clear"}"#,
            "id must be a string, a number or null",
        ),
        (r#"{"jsonrpc":"2.0","id":{},"method":"clear"}"#, "id must be a string, a number or null"),
    ];
    for (line, reason) in refused {
        let answers = rpc(&[line]);
        let expected = format!(
            r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":-32600,"message":"Invalid Request","data":{{"code":"InvalidRequest","detail":"{reason}"}}}}}}"#
        );
        assert_eq!(answers, [expected], "{line}");
    }
}

#[test]
fn parameters_by_position_are_refused() {
    assert_snapshot!(ask("clear", "[1]"), @r#""error":{"code":-32602,"message":"params must be an object with named fields","data":{"code":"InvalidParams"}}"#);
}

#[test]
fn an_unknown_method_gets_the_nearest_name() {
    assert_snapshot!(ask("getContextForAgnet", "{}"), @r#""error":{"code":-32601,"message":"Method not found","data":{"code":"MethodNotFound","detail":"no method \"getContextForAgnet\"; did you mean getContextForAgent?"}}"#);
    assert_snapshot!(ask("zzz", "{}"), @r#""error":{"code":-32601,"message":"Method not found","data":{"code":"MethodNotFound","detail":"no method \"zzz\"; docs/rpc.md lists the methods"}}"#);
}

#[test]
fn a_batch_is_answered_in_order_on_one_line_without_its_notifications() {
    let answers = rpc(&[concat!(
        r#"[{"jsonrpc":"2.0","id":"a","method":"setTeamTask","params":{"task":"x"}},"#,
        r#"{"jsonrpc":"2.0","method":"clear"},"#,
        r#"{"jsonrpc":"2.0","id":"b","method":"getTeamTask"},1]"#
    )]);
    assert_snapshot!(answers.join("\n"), @r#"
    {"jsonrpc":"2.0","method":"teamTaskChanged","params":{"task":"x"}}
    {"jsonrpc":"2.0","method":"teamTaskChanged","params":{"task":null}}
    [{"jsonrpc":"2.0","id":"a","result":{"task":"x"}},{"jsonrpc":"2.0","id":"b","result":{"task":null}},{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request","data":{"code":"InvalidRequest","detail":"the request must be an object; got a number"}}}]
    "#);
}

#[test]
fn a_batch_beyond_the_limit_is_refused_whole() {
    let batch = format!("[{}1]", "1,".repeat(10_000));
    let answers = rpc(&[&batch]);
    assert!(answers[0].contains("a batch holds at most 10000 requests, this one 10001; split it"));
}

#[test]
fn unknown_parameters_are_passed_over_with_a_warning() {
    let line = r#"{"jsonrpc":"2.0","id":1,"method":"getTeamTask","params":{"taks":1}}"#;
    assert_snapshot!(rpc_with_logs(&[line]).join("\n"), @r#"
    {"jsonrpc":"2.0","method":"log","params":{"level":"warn","text":"[rpc] getTeamTask: unknown parameters ignored: taks"}}
    {"jsonrpc":"2.0","id":1,"result":{"task":null}}
    "#);
}

fn any_line() -> impl Strategy<Value = String> {
    let message = r#"{"content":"hi [NEXT: a]","speaker":{"roleId":"u"}}"#;
    prop::sample::select(vec![
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"addMessage","params":{{"message":{message}}}}}"#
        ),
        format!(r#"{{"jsonrpc":"2.0","method":"addMessage","params":{{"message":{message}}}}}"#),
        r#"{"jsonrpc":"2.0","id":2,"method":"setTeamTask","params":{"task":"t"}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":3,"method":"getMessages"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":4,"method":"exportSnapshot"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":5,"method":"clear"}"#.to_owned(),
        "nonsense".to_owned(),
    ])
}

proptest! {
    #[test]
    fn a_batch_does_what_its_requests_do_one_by_one(lines in prop::collection::vec(any_line(), 1..12)) {
        let requests: Vec<&str> =
            lines.iter().map(String::as_str).filter(|line| *line != "nonsense").collect();
        prop_assume!(!requests.is_empty());
        let singly = rpc_with_logs(&requests);
        let batch = rpc_with_logs(&[&format!("[{}]", requests.join(","))]);
        let (answers, mut reported): (Vec<_>, Vec<_>) =
            singly.into_iter().partition(|line| line.contains("\"id\":") && !line.contains("\"method\""));
        if !answers.is_empty() {
            reported.push(format!("[{}]", answers.join(",")));
        }
        prop_assert_eq!(batch, reported);
    }

    #[test]
    fn any_chunking_of_lines_gives_the_same_answers(
        lines in prop::collection::vec(any_line(), 0..8),
        chunk in 1usize..200,
    ) {
        let input = lines.join("\n");
        let whole = crate::harness::tertulia_chunked(&["rpc"], input.as_bytes(), 1 << 16).stdout;
        let chunked = crate::harness::tertulia_chunked(&["rpc"], input.as_bytes(), chunk).stdout;
        let without_clock = |text: &str| {
            text.lines().map(|line| line.split("\"timestamp\"").next().unwrap().to_owned()).collect::<Vec<_>>()
        };
        prop_assert_eq!(without_clock(&whole), without_clock(&chunked));
    }
}
