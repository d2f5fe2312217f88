//! The usage of `codex app-server`, whose thread gets one turn after the other: that of the whole thread is reported, and
//! becomes that of each turn.

use tertulia_dialect::stream::{
    AgentPrompt, CodexSession, Exit, Scope, StreamEvent, TextOrigin, Usage,
};

use crate::stream_kept::{OPEN, PROMPT, SESSION, codex, codex_turn, end, notice, push, said, strs};

/// Returns the report of these totals of a thread.
fn codex_usage(turn: &str, [input, read, written, output]: [u64; 4]) -> String {
    notice(
        "thread/tokenUsage/updated",
        &format!(
            r#""turnId":"{turn}","tokenUsage":{{"total":{{"inputTokens":{input},"cachedInputTokens":{read},"cacheWriteInputTokens":{written},"outputTokens":{output}}}}}"#
        ),
    )
}

#[test]
fn each_turn_of_codex_has_its_own_answer_and_usage() {
    let mut client = codex(&SESSION);
    let message = AgentPrompt { context: "", ..PROMPT };
    client.begin(&message, &mut Vec::new());
    push(&mut client, &OPEN);
    let (_, events) = push(&mut client, &strs(&codex_turn(3, "n-1", "First.", 7)));
    let text = "First.".to_owned();
    assert!(events.contains(&StreamEvent::TextDelta { text: text.clone() }));
    assert_eq!(events.last(), Some(&StreamEvent::FinalText { text, origin: TextOrigin::Stated }));
    let output = end(&mut client);
    assert_eq!(said(&output), "First.");
    let first = output.usage.unwrap();
    assert_eq!((first.input, first.cache_read, first.output), (Some(60), Some(40), Some(7)));
    assert_eq!(first.scope, Scope::Turn);

    let sent = client.begin(&message, &mut Vec::new());
    assert!(sent[0].starts_with(r#"{"id":4,"method":"turn/start""#), "{sent:?}");
    // What is late from the turn before does not count.
    let late = notice("item/agentMessage/delta", r#""turnId":"n-1","delta":"late""#);
    let lines = codex_turn(4, "n-2", "Second.", 12);
    push(&mut client, &[lines[0].as_str(), &late]);
    push(&mut client, &strs(&lines[1..]));
    let output = end(&mut client);
    assert_eq!((said(&output), output.usage.unwrap().output), ("Second.", Some(5)));
    let total = Usage { output: Some(12), ..client.totals().usage.unwrap() };
    assert_eq!(client.totals().usage, Some(total));
}

#[test]
fn cached_and_written_tokens_of_codex_are_part_of_its_input() {
    let mut client = codex(&SESSION);
    client.begin(&AgentPrompt { context: "", ..PROMPT }, &mut Vec::new());
    push(&mut client, &OPEN);
    let mut lines = codex_turn(3, "n-1", "Yes.", 7);
    lines[5] = codex_usage("n-1", [100, 40, 50, 7]);
    push(&mut client, &strs(&lines));
    let usage = end(&mut client).usage.unwrap();
    let input = (usage.input, usage.cache_read, usage.cache_write);
    assert_eq!(input, (Some(10), Some(40), Some(50)));
}

#[test]
fn the_usage_of_codex_is_reported_while_the_turn_runs() {
    let mut client = codex(&SESSION);
    let message = AgentPrompt { context: "", ..PROMPT };
    client.begin(&message, &mut Vec::new());
    push(&mut client, &OPEN);
    push(&mut client, &strs(&codex_turn(3, "n-1", "First.", 7)));
    end(&mut client);
    client.begin(&message, &mut Vec::new());
    let started = r#"{"id":4,"result":{"turn":{"id":"n-2"}}}"#;
    let usage = |output| codex_usage("n-2", [100, 40, 0, output]);
    let (_, events) = push(&mut client, &[started, &usage(8), &usage(8), &usage(10)]);
    let outputs: Vec<Option<u64>> = events
        .iter()
        .filter_map(|event| match event {
            StreamEvent::Usage(usage) => Some(usage.output),
            _ => None,
        })
        .collect();
    assert_eq!(outputs, [Some(1), Some(3)]);
    // The process ends before it reports the end of the turn.
    let output = client.finish(Exit::Code(1), "", &mut Vec::new());
    assert!(output.error.is_some());
    assert_eq!(output.usage.unwrap().output, Some(3));
}

#[test]
fn the_usage_of_earlier_turns_of_a_thread_is_not_that_of_the_turn() {
    let mut client = codex(&CodexSession { resumed: Some("t-1"), ..SESSION });
    client.begin(&AgentPrompt { context: "", ..PROMPT }, &mut Vec::new());
    let earlier = &codex_turn(0, "n-0", "x", 30)[5];
    push(&mut client, &[OPEN[0], OPEN[1], earlier]);
    push(&mut client, &strs(&codex_turn(3, "n-1", "Now.", 34)));
    let usage = end(&mut client).usage.unwrap();
    assert_eq!((usage.output, usage.input), (Some(4), Some(0)));
}
