//! Logs: read from a file, extended by the entries of a build, counted once; and hostile input.

use serde_json::{Value, json};

use super::{built, refused, talk, work};
use crate::harness::{repository_file, tertulia, tertulia_chunked};

fn append(input: &mut Value, result: &Value) {
    let new = result["entriesToAppend"].as_array().unwrap().clone();
    input["sessionEntries"].as_array_mut().unwrap().extend(new);
    input.as_object_mut().unwrap().remove("inputMessages");
}

#[test]
fn what_was_appended_gives_the_same_messages_and_nothing_new() {
    let long = json!({"config": {"maxInputTokens": 900}, "tokenizer": "bytes",
        "sessionEntries": work(12), "inputMessages": [{"role": "user", "content": "Go on with E4711."}]});
    let dropped = json!({"config": {"maxInputTokens": 900, "strategies": ["drop"]},
        "tokenizer": "bytes", "sessionEntries": work(12)});
    for mut input in [talk(), long, dropped] {
        let first = built(&[], &input);
        append(&mut input, &first);
        let again = built(&[], &input);
        assert_eq!(again["modelMessages"], first["modelMessages"]);
        assert_eq!(again["entriesToAppend"], json!([]));
        assert_eq!(again["compacted"], false);
        assert_eq!(again["stats"]["inputTokens"], first["stats"]["inputTokens"]);
    }
}

#[test]
fn counts_that_are_given_back_are_taken() {
    let mut input = json!({"config": {"maxInputTokens": 900}, "tokenizer": "bytes",
        "sessionEntries": work(12), "returnTokenCounts": true});
    let first = built(&[], &input);
    append(&mut input, &first);
    input["tokenCounts"] = first["tokenCounts"].clone();
    let again = built(&[], &input);
    assert_eq!(again["stats"]["inputTokens"], first["stats"]["inputTokens"]);
    // The build uses the given counts, even if they are wrong.
    input["tokenCounts"]["e-26"] = json!(500);
    let other = built(&[], &input);
    assert_ne!(other["stats"]["inputTokens"], first["stats"]["inputTokens"]);
}

#[test]
fn a_log_file_is_enough() {
    let path = repository_file("examples/session.jsonl").display().to_string();
    let flags = ["build", "--log", &path, "--budget", "2000"];
    let outcome = tertulia(&flags, "not read");
    assert!(outcome.exits_with(0), "{}", outcome.stderr);
    let lines: Vec<Value> = std::fs::read_to_string(&path)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let input = json!({"config": {"maxInputTokens": 2000}, "sessionEntries": lines});
    assert_eq!(outcome.stdout, tertulia(&["build"], &input.to_string()).stdout);
}

#[test]
fn a_log_wins_over_the_entries_of_an_input() {
    let path = repository_file("examples/session.jsonl").display().to_string();
    let result = built(&["--log", &path, "-"], &talk());
    let texts = result["modelMessages"].to_string();
    assert!(texts.contains("Why blue?") && !texts.contains("Which colour?"), "{texts}");
}

#[test]
fn a_line_that_is_no_entry_is_reported_with_its_number() {
    let reported = refused(
        &["--log", "-", "--budget", "10"],
        "{\"id\":\"a\",\"type\":\"custom\"}\n\n{\"id\":\"b\"}\n",
    );
    assert_eq!(
        reported,
        "tertulia: standard input: line 3: Entry b: type is missing; give a string\n"
    );
    let reported = refused(&["--log", "-", "--budget", "10"], "{\"id\":");
    assert!(reported.contains("line 1, column 6: invalid JSON"), "{reported}");
}

#[test]
fn nesting_of_any_depth_is_answered() {
    let deep = format!("{}{}", "[".repeat(300_000), "]".repeat(300_000));
    let objects = format!("{}1{}", r#"{"a":"#.repeat(200_000), "}".repeat(200_000));
    for value in [&deep, &objects] {
        let input = format!(
            r#"{{"config":{{"maxInputTokens":5000000}},"x":{value},"sessionEntries":[{{"id":"a","type":"custom","payload":{value}}}],"inputMessages":[{{"role":"user","content":"x","deep":{value}}}],"toolSpecs":[{{"name":"f","parameterSchema":{value}}}],"runtimeHints":{{"x":{value}}}}}"#
        );
        assert!(tertulia(&["build"], &input).exits_with(0));
        assert!(!tertulia(&["build", "--from", "anthropic", "--budget", "9"], value).exits_with(0));
    }
}

#[test]
fn a_tool_output_of_ten_megabytes_becomes_a_stub() {
    let mut entries = work(3);
    let output = "x".repeat(10_000_000);
    entries[2]["payload"]["parts"][0]["payload"]["content"] = json!(output);
    let input = json!({"config": {"maxInputTokens": 2000}, "sessionEntries": entries});
    let result = built(&["--model", "claude"], &input);
    assert!(result["stats"]["inputTokens"].as_u64() <= Some(2000));
    assert!(result.to_string().len() < 100_000);
}

#[test]
fn bytes_that_are_no_text_are_refused_with_their_place() {
    let outcome = tertulia_chunked(&["build"], b"{\"a\":\"\xff\"}", 4);
    assert!(outcome.exits_with(1));
    assert!(outcome.stderr.contains("standard input is not UTF-8: byte 7 is invalid"));
}

#[test]
fn a_byte_order_mark_is_no_json() {
    let input = format!("\u{feff}{}", talk());
    assert!(tertulia(&["build"], &input).exits_with(0));
}
