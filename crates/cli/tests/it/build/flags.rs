//! The output, and the effect of each flag.

use insta::assert_snapshot;
use serde_json::json;

use super::{built, talk, work};
use crate::harness::{repository_file, tertulia, tertulia_on_terminal};

#[test]
fn a_talk_comes_out_as_messages_with_what_to_append() {
    let outcome = tertulia(&["build"], &talk().to_string());
    assert!(outcome.exits_with(0));
    assert_eq!(outcome.stderr, "");
    assert_snapshot!(outcome.stdout, @r#"{"modelMessages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Which colour?"},{"role":"assistant","content":"Blue."},{"role":"user","content":"Why blue?"}],"compacted":false,"entriesToAppend":[{"id":"e-82b3ed2e7b55e4b0bae205de0db343f2","parentId":"e-2","type":"message","payload":{"role":"user","parts":[{"kind":"text","payload":{"text":"Why blue?"}}]}}],"stats":{"inputTokens":27,"exact":false,"limit":1000,"messageCount":4,"droppedMessagesCount":0,"summarizedMessagesCount":0,"elidedMessagesCount":0,"recalledEntriesCount":0},"cacheBreakpoints":[0,1,3]}"#);
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let input = json!({"config": {"maxInputTokens": 900}, "tokenizer": "bytes", "explain": true,
        "sessionEntries": work(12), "returnTokenCounts": true})
    .to_string();
    let first = tertulia(&["build"], &input).stdout;
    assert!(first.contains("\"compacted\":true"));
    assert_eq!(tertulia(&["build"], &input).stdout, first);
}

#[test]
fn flags_win_over_the_fields_of_the_input() {
    let flags = ["--budget", "500", "--system", "Rhyme.", "--recall", "7", "--model", "gpt-4o"];
    let result = built(&flags, &talk());
    assert_eq!(result["stats"]["limit"], 500);
    assert_eq!(result["stats"]["exact"], true, "the model's tokenizer counts, not the input's");
    assert_eq!(result["modelMessages"][0]["content"], "Rhyme.");
}

#[test]
fn recall_is_on_and_can_be_turned_off() {
    let input = json!({"config": {"maxInputTokens": 900}, "tokenizer": "bytes",
        "sessionEntries": work(12)});
    let count = |flags: &[&str]| built(flags, &input)["stats"]["recalledEntriesCount"].as_u64();
    assert!(count(&[]) > Some(0));
    assert_eq!(count(&["--recall", "0"]), Some(0));
}

#[test]
fn a_model_with_a_known_window_needs_no_budget() {
    let limit = |model: &str| {
        let input = json!({"model": model, "inputMessages": [{"role": "user", "content": "hi"}]});
        built(&[], &input)["stats"]["limit"].as_u64()
    };
    assert_eq!(limit("claude-sonnet-4-5"), Some(200_000 - 16_384));
    assert_eq!(limit("gpt-4"), Some(8_192 - 1_024));
}

#[test]
fn without_a_compactor_what_is_cut_is_dropped() {
    for none in [json!(null), json!("none")] {
        let input = json!({"config": {"maxInputTokens": 900, "strategies": ["summarize"]},
            "tokenizer": "bytes", "compactor": none, "sessionEntries": work(12)});
        let result = built(&[], &input);
        assert_eq!(result["compactionSummaryEntry"], json!(null));
        assert_eq!(result["entriesToAppend"][0]["type"], "context_cut");
        assert_eq!(result["stats"]["summarizedMessagesCount"], 0);
    }
}

#[test]
fn the_summary_is_the_entry_among_those_to_append() {
    let input = json!({"config": {"maxInputTokens": 900}, "tokenizer": "bytes",
        "sessionEntries": work(12)});
    let result = built(&[], &input);
    let made = &result["compactionSummaryEntry"];
    assert_eq!(made["type"], "compaction_summary");
    assert!(result["entriesToAppend"].as_array().unwrap().contains(made));
    assert!(made["payload"]["summary"].as_str().unwrap().contains("E4711"));
}

#[test]
fn every_setting_reaches_the_builder() {
    let config = json!({"maxInputTokens": 900, "maxHistoryMessages": 6, "enableCompaction": false,
        "reserveTokens": 100, "targetRatio": 0.5, "strategies": ["drop"], "summaryTokens": 50,
        "recallTokens": 0, "requestSummaries": true, "elideMinTokens": 10, "protectRatio": 0});
    let input = json!({"config": config, "tokenizer": "bytes", "sessionEntries": work(12)});
    let result = built(&[], &input);
    assert_eq!(result["entriesToAppend"][0]["payload"]["strategy"], "drop");
    assert!(result["stats"]["messageCount"].as_u64().unwrap() <= 6);
    assert_eq!(tertulia(&["build"], &input.to_string()).stderr, "", "no setting is unknown");
}

#[test]
fn the_table_shows_zones_and_verdicts() {
    let mut input = talk();
    input["runtimeHints"] = json!({"time": "10:00"});
    input["toolSpecs"] = json!([{"name": "ls", "parameterSchema": {"type": "object"}}]);
    let outcome = tertulia(&["build", "--explain"], &input.to_string());
    assert_snapshot!(outcome.stdout, @"
    bytes  ~65 of 1,000 tokens  everything is sent

    zone       part                 tokens
    frozen     system                    6    9 %  ██▎
    frozen     tools                    32   49 %  ███████████▉
    history    messages                 18   28 %  ██████▊
    volatile   hints                     6    9 %  ██▎
    reply      prefix                    3    5 %  █▏

    entry        role           text                                    tokens  outcome
    e-1          user           Which colour?                                7  kept
    e-2          assistant      Blue.                                        5  kept
    e-82b3ed2e   user           Why blue?                                    6  kept
    ");
}

#[test]
fn the_table_shows_the_effect_of_a_cut_and_nothing_that_is_hidden() {
    let said = |id: &str, parent: &str| {
        let payload = json!({"role": "user", "content": "the \u{1b}[31mpassword"});
        json!({"id": id, "type": "message", "parentId": parent, "payload": payload})
    };
    let redacted = |id: &str, parent: &str, target: &str| {
        let payload = json!({"targetId": target});
        json!({"id": id, "type": "redaction", "parentId": parent, "payload": payload})
    };
    let mut entries = work(5);
    entries.insert(1, said("e-other", "e-0"));
    entries.extend([
        said("e-13", "e-12"),
        redacted("e-14", "e-13", "e-other"),
        redacted("e-15", "e-14", "e-13"),
    ]);
    let config = json!({"maxInputTokens": 320, "strategies": ["elide", "drop"],
        "elideMinTokens": 20, "protectRatio": 0.2});
    let input = json!({"config": config, "tokenizer": "bytes", "sessionEntries": entries});
    let outcome = tertulia(&["build", "--explain", "--recall", "0"], &input.to_string());
    assert!(!outcome.stdout.contains("password"));
    assert_snapshot!(outcome.stdout, @r#"
    bytes  ~186 of 320 tokens  history was cut; append the new entries to the log

    zone       part                 tokens
    history    messages                183   98 %  ███████████████████████▋
    reply      prefix                    3    2 %  ▌

    entry        role           text                                    tokens  outcome
    e-0          user           The login fails with E4711 in src/l…        16  dropped: cut
    e-other      user                                                        –  hidden: other_branch
    e-1          assistant      read {"path":"src/part0.rs"}                13  dropped: cut
    e-2          tool           fn part0() -> u32 { 0 } // a long o…        83  dropped: cut
    e-3          assistant      read {"path":"src/part1.rs"}                13  dropped: cut
    e-4          tool           fn part1() -> u32 { 1 } // a long o…        83  dropped: cut
    e-5          assistant      read {"path":"src/part2.rs"}                13  kept
    e-6          tool           fn part2() -> u32 { 2 } // a long o…        42  elided
    e-7          assistant      read {"path":"src/part3.rs"}                13  kept
    e-8          tool           fn part3() -> u32 { 3 } // a long o…        42  elided
    e-9          assistant      read {"path":"src/part4.rs"}                13  kept
    e-10         tool           fn part4() -> u32 { 4 } // a long o…        42  elided
    e-11         assistant      I read all parts.                            8  kept
    e-12         user           And what was E4711 about?                   10  kept
    e-13         user                                                        –  hidden: redacted
    e-14         redaction                                                   –  hidden: no_message
    e-15         redaction                                                   –  hidden: no_message
    "#);
}

#[test]
fn control_characters_are_shown_as_signs_in_the_table() {
    let input = json!({"config": {"maxInputTokens": 420},
        "inputMessages": [{"role": "user", "content": "a\u{1b}]52;c;x\u{7}b"}]});
    let outcome = tertulia(&["build", "--explain"], &input.to_string());
    assert!(outcome.stdout.contains("a␛]52;c;x␇b"), "{}", outcome.stdout);
}

#[test]
fn on_a_terminal_no_message_can_move_the_cursor() {
    let input = json!({"config": {"maxInputTokens": 420},
        "inputMessages": [{"role": "user", "content": "a\u{9b}2J\u{202e}b"}]})
    .to_string();
    for flags in [&["build"][..], &["build", "--format", "gemini"]] {
        assert!(tertulia_on_terminal(flags, &input).stdout.contains("a�2J�b"));
        assert!(tertulia(flags, &input).stdout.contains("a\u{9b}2J\u{202e}b"));
    }
}

#[test]
fn an_input_can_be_a_file() {
    let path = repository_file("examples/build.json").display().to_string();
    let outcome = tertulia(&["build", &path], "");
    assert!(outcome.exits_with(0), "{}", outcome.stderr);
    assert_eq!(outcome.stderr, "");
}
