//! Hostile and faulty input: deeply nested, long, incomplete characters, not text.

use crate::harness::{ask, request, rpc, tertulia, tertulia_chunked};

#[test]
fn nesting_of_any_depth_is_answered() {
    let deep = format!("{}{}", "[".repeat(500_000), "]".repeat(500_000));
    let objects = format!("{}1{}", r#"{"a":"#.repeat(200_000), "}".repeat(200_000));
    for value in [&deep, &objects] {
        assert_eq!(rpc(&[value]).len(), 1);
        let content = ask("addMessage", &format!(r#"{{"message":{{"content":{value}}}}}"#));
        assert!(content.contains("Message content must be a string"));
        let unknown =
            format!(r#"{{"message":{{"content":"x","speaker":{{"roleId":"u"}},"deep":{value}}}}}"#);
        assert!(ask("addMessage", &unknown).contains(value.as_str()), "an unknown field survives");
        assert_eq!(rpc(&[&request("getTeamTask", &format!(r#"{{"x":{value}}}"#))]).len(), 1);
    }
}

#[test]
fn a_line_beyond_the_limit_is_refused_and_the_next_is_answered() {
    let input = format!(
        "{}\n{}\n",
        request("stripAllMarkers", &format!(r#"{{"text":"{}"}}"#, "x".repeat(2000))),
        request("getTeamTask", "{}")
    );
    let outcome = tertulia(&["rpc", "--max-line-bytes", "1KiB"], &input);
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].contains(
        r#""code":-32700,"message":"Parse error","data":{"code":"LineTooLong","detail":"line 1 is longer than 1024 bytes; raise --max-line-bytes or split it"}"#
    ));
    assert!(lines[1].contains(r#""result":{"task":null}"#));
    let assembled = tertulia(&["assemble", "--max-line-bytes", "10"], "{\"contextMessages\":[]}\n");
    assert!(assembled.exits_with(1));
    assert!(assembled.stderr.contains("line 1 is longer than 10 bytes"));
}

#[test]
fn bytes_that_are_no_text_are_refused_with_their_place() {
    let outcome = tertulia_chunked(&["rpc"], b"{\"a\":\"\xff\"}\n{}\n", 4);
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert!(
        lines[0].contains("line 1 is not UTF-8: byte 7 of it is invalid; encode it as UTF-8"),
        "{}",
        lines[0]
    );
    assert_eq!(lines.len(), 2);
}

#[test]
fn half_a_surrogate_pair_is_refused_by_the_field_that_needs_it_and_kept_elsewhere() {
    let message = |content: &str, more: &str| {
        format!(r#"{{"message":{{"content":"{content}","speaker":{{"roleId":"u"}}{more}}}}}"#)
    };
    let refused = ask("addMessage", &message("\\ud83d", ""));
    assert!(refused.contains("Message content contains half a surrogate pair"), "{refused}");
    let kept = ask("addMessage", &message("x", r#","extra":"\ud83d""#));
    assert!(kept.contains(r#""extra":"\ud83d""#), "{kept}");
    let names = ask("addMessage", &message("x", r#","\ud83d":1"#));
    assert!(names.contains("Message has a field name with half a surrogate pair"), "{names}");
}

#[test]
fn a_nul_is_a_character_like_any_other() {
    let answer = ask("stripAllMarkers", r#"{"text":"a\u0000b"}"#);
    assert_eq!(answer, r#""result":{"text":"a\u0000b"}"#);
}

#[test]
fn ids_beyond_64_bits_and_repeated_ids_are_taken_as_they_are() {
    let message = |id: &str| format!(r#"{{"id":"{id}","content":"x","speaker":{{"roleId":"u"}}}}"#);
    let ids = ["msg-99999999999999999999", "twice", "twice", "msg-18446744073709551614"];
    let snapshot =
        format!(r#"{{"snapshot":{{"version":1,"messages":[{}]}}}}"#, ids.map(message).join(","));
    let add = request("addMessage", r#"{"message":{"content":"y","speaker":{"roleId":"u"}}}"#);
    let answers = rpc(&[&request("importSnapshot", &snapshot), &add]);
    assert!(answers[1].contains(r#""messageCount":4"#), "{answers:?}");
    assert!(answers[2].contains("Message ids are used up"), "{answers:?}");
}

#[test]
fn the_answers_of_a_batch_have_a_limit_beyond_which_nothing_is_carried_out() {
    let text = "x".repeat(10_000_000);
    let params = format!(r#"{{"message":{{"content":"{text}","speaker":{{"roleId":"u"}}}}}}"#);
    let get = r#"{"jsonrpc":"2.0","id":1,"method":"getMessages"}"#;
    let clear = r#"{"jsonrpc":"2.0","id":2,"method":"clear"}"#;
    let silent = r#"{"jsonrpc":"2.0","method":"clear"}"#;
    let batch = format!("[{},{clear},{silent},7]", [get; 9].join(","));
    let answers = rpc(&[&request("addMessage", &params), &batch, get]);
    let [.., batch, last] = answers.as_slice() else { panic!("two answers") };
    assert_eq!(batch.matches(r#""id":1,"result""#).count(), 7);
    assert_eq!(batch.matches("BatchTooLarge").count(), 3);
    assert_eq!(batch.matches("the request must be an object").count(), 1);
    assert!(last.len() > text.len(), "the message is still there");
}

#[test]
fn a_hundred_thousand_member_windows_are_read_in_one_pass() {
    let windows: Vec<String> = (0..100_000).map(|n| format!(r#""agent{n}":{n}"#)).collect();
    let params = format!(r#"{{"memberWindows":{{{}}}}}"#, windows.join(","));
    assert_eq!(ask("createConversation", &params), r#""result":{"conversation":"main"}"#);
}

#[test]
fn empty_and_blank_lines_are_passed_over() {
    let outcome = tertulia(&["rpc"], "\n  \n\r\n");
    assert_eq!(outcome.stdout, "");
    assert!(outcome.exits_with(0));
}
