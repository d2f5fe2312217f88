//! Checks that texts of agents cannot control the terminal of a person who reads a session.

use proptest::prelude::*;

use crate::harness::{Outcome, TestStore, tertulia_on_terminal};

#[test]
fn no_control_sequence_of_a_context_in_json_reaches_the_terminal() {
    let store = TestStore::new();
    let text = "a\u{9b}2J\u{7f}\u{202e}\u{e0041}\u{200b}\u{e0100}b";
    store.import("tricks", &crate::harness::said("m", "user", text));
    let arguments =
        ["context", "--session", "tricks", "--json", "--explain", "--store", &store.url()];
    let Outcome { stdout, .. } = tertulia_on_terminal(&arguments, "");
    assert!(stdout.starts_with('{'), "{stdout:?}");
    for hidden in text.chars().filter(|c| !c.is_ascii_graphic()) {
        assert!(!stdout.contains(hidden), "{hidden:?} in {stdout:?}");
    }
}

#[test]
fn no_control_sequence_of_a_session_reaches_the_terminal() {
    let store = TestStore::new();
    let tricks = "\u{1b}]52;c;eA==\u{7}\u{9b}2J\r\u{202e}x";
    let call = serde_json::json!({"role": "assistant", "parts": [
        {"kind": "thinking", "payload": {"text": tricks}},
        {"kind": "tool_call", "payload": {"toolCallId": tricks, "toolName": tricks, "arguments": {}}},
        {"kind": tricks}]});
    let log = [
        serde_json::json!({"id": tricks, "type": "message", "payload": {"content": tricks,
            "speaker": {"roleId": tricks, "roleName": tricks}}}),
        serde_json::json!({"id": "b", "type": "message", "payload": call}),
        serde_json::json!({"id": "c", "type": "team_task", "payload": {"task": tricks}}),
        serde_json::json!({"id": "d", "type": tricks}),
    ];
    let log: Vec<String> = log.iter().map(ToString::to_string).collect();
    store.import("tricks", &log.join("\n"));
    let url = store.url();
    for arguments in [
        ["show", "tricks"].as_slice(),
        &["show", "tricks", "--json"],
        &["list"],
        &["list", "--json"],
        &["export", "tricks"],
        &["export", "tricks", "--format", "snapshot"],
        &["export", "tricks", "--format", "markdown"],
        &["search", "x"],
        &["search", "x", "--json"],
        &["branch", "tricks", tricks],
        &["redact", "tricks", tricks],
        &["verify"],
    ] {
        let arguments = [&["sessions", "--store", &url], arguments].concat();
        let Outcome { stdout, stderr, .. } = tertulia_on_terminal(&arguments, "");
        for text in [&stdout, &stderr] {
            let hidden = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
            assert!(!text.contains(hidden), "{arguments:?}: {text:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn whatever_was_said_a_transcript_only_appends_lines(
        texts in prop::collection::vec("[\\PC\\x00-\\x1f\\x7f-\\x9f\\u{202a}-\\u{202e}]{0,40}", 1..6),
    ) {
        let store = TestStore::new();
        let log: Vec<String> = texts.iter().enumerate().map(|(place, text)| {
            serde_json::json!({"id": format!("{place}"), "type": "message", "payload": {
                "content": text, "speaker": {"roleId": "x", "roleName": text}}}).to_string()
        }).collect();
        store.import("one", &log.join("\n"));
        let shown = store.prints(&["show", "one"], "");
        let may_pass = |c: char| !c.is_control() || c == '\n' || c == '\t';
        prop_assert!(shown.chars().all(may_pass), "{:?}", shown);
        prop_assert!(!shown.contains(|c| ('\u{202a}'..='\u{202e}').contains(&c)), "{:?}", shown);
    }
}
