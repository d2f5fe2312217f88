//! Combinations of limits, pins, hints and reports. Each of them was once a bug.

use tertulia_context::builder::{
    ContextBuildInput, ContextConfig, ContextError, ContextIndex, FloorPart, Source,
};
use tertulia_session::json::Json;
use tertulia_session::{EntryId, EntryKind};

use super::claim::{build, builder, of_log, refused, sent, with_entries};
use super::notation::{log, messages};

/// Returns a configuration with recall.
fn recalling(max_input_tokens: u64, recall_tokens: u64) -> ContextConfig {
    let mut config = ContextConfig::new(max_input_tokens);
    config.recall_tokens = Some(recall_tokens);
    config
}

fn words(count: usize) -> Vec<String> {
    (0..count)
        .map(|place| format!("{} word{place}*150", if place % 2 == 0 { "u" } else { "a" }))
        .collect()
}

fn long_log(count: usize) -> Vec<tertulia_session::Entry> {
    let lines = words(count);
    log(&lines.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn a_model_may_write_no_more_than_there_is_room_for() {
    let mut config = ContextConfig::new(700);
    config.request_summaries = true;
    config.summary_tokens = Some(400);
    let builder = builder(config);
    let log = log(&["u goal*300", "!u rule*1900", "a one*800", "u two*100", "a three*100"]);
    let built = build(&builder, &of_log(&log));
    let request = built.summary_request.unwrap();
    assert!(request.max_tokens < 200, "{}", request.max_tokens);
    let log = with_entries(&log, &built.entries_to_append);
    let text = format!("The goal. {}", "word ".repeat(request.max_tokens as usize * 2 / 3));
    let mut index = ContextIndex::new();
    let accepted = builder.accept_summary(&mut index, &log, &request, &text, "max").unwrap();
    let log = with_entries(&log, &accepted.entries_to_append);
    assert!(build(&builder, &of_log(&log)).stats.input_tokens <= 700);
}

#[test]
fn a_pinned_message_that_arrives_is_pinned_at_once() {
    let mut input_messages = messages(&["u rule"]);
    input_messages[0].meta = Json::parse(r#"{"pinned":true}"#).ok();
    let lines = words(40);
    input_messages.extend(messages(&lines.iter().map(String::as_str).collect::<Vec<_>>()));
    let input = ContextBuildInput { input_messages: &input_messages, ..of_log(&[]) };
    let builder = builder(ContextConfig::new(500));
    let first = build(&builder, &input);
    assert!(first.compacted && sent(&first.model_messages).contains(&"u rule".to_owned()));
    let again = build(&builder, &of_log(&first.entries_to_append));
    assert!(sent(&again.model_messages).contains(&"u rule".to_owned()));
}

#[test]
fn what_a_model_found_too_large_does_not_come_back_by_recall() {
    let builder = builder(recalling(8_000, 1_000));
    let log = long_log(30);
    let before = build(&builder, &of_log(&log)).stats.input_tokens;
    let hinted = build(&builder, &ContextBuildInput { overflow_hint: true, ..of_log(&log) });
    assert!(hinted.stats.input_tokens < before);
    let log = with_entries(&log, &hinted.entries_to_append);
    let retried = build(&builder, &of_log(&log));
    assert_eq!(retried.model_messages, hinted.model_messages);
}

#[test]
fn counts_and_limits_without_measure_break_nothing() {
    let log = long_log(30);
    let mut index = ContextIndex::new();
    index.add_counts(log.iter().map(|entry| (entry.id.clone(), u64::MAX)));
    let error = builder(recalling(8_000, 100)).build_with(&mut index, &of_log(&log)).unwrap_err();
    assert!(matches!(error, ContextError::Overflow(_)), "{error}");
    let mut config = ContextConfig::new(1_000);
    config.summary_tokens = Some(u64::MAX);
    assert!(build(&builder(config), &of_log(&log)).compacted);
    let error = tertulia_context::builder::ContextBuilder::new(ContextConfig::new(u64::MAX));
    let text = "maxInputTokens must be at most 9,007,199,254,740,992; got 18446744073709551615";
    assert_eq!(error.unwrap_err().to_string(), text);
}

#[test]
fn an_honest_report_corrects_nothing_though_something_was_recalled() {
    let builder = builder(recalling(1_500, 300));
    let mut log = long_log(60);
    super::notation::append(&mut log, "u word3*20");
    let built = build(&builder, &of_log(&log));
    assert!(built.model_messages.iter().any(|one| one.source == Source::Recall));
    let reported = built.stats.input_tokens;
    log = with_entries(&log, &built.entries_to_append);
    super::notation::append(&mut log, &format!("a done usage={reported}"));
    assert_eq!(build(&builder, &of_log(&log)).stats.scale_permille, 1_000);
}

#[test]
fn the_biggest_items_are_named_with_what_they_cost() {
    let mut log = log(&["u go", "a +1", "t =1", "u next"]);
    let EntryKind::Message(message) = &mut log[2].kind else { panic!("no message") };
    let tertulia_session::PartKind::ToolResult(result) = &mut message.parts[0].kind else {
        panic!("no result")
    };
    result.content = Json::text(&"x".repeat(8_000));
    log[2].meta = Json::parse(r#"{"pinned":true}"#).ok();
    let error = refused(&builder(ContextConfig::new(500)), &of_log(&log));
    let ContextError::Overflow(overflow) = error else { panic!("{error}") };
    assert_eq!(overflow.biggest[0].what, FloorPart::Entry(EntryId::from("e2")));
    assert!(overflow.biggest[0].tokens > 2_000);
}

#[test]
fn an_output_that_was_repaired_can_be_elided() {
    let mut log = log(&["u go", "a +1", "t =1 =9"]);
    let EntryKind::Message(message) = &mut log[2].kind else { panic!("no message") };
    let tertulia_session::PartKind::ToolResult(result) = &mut message.parts[0].kind else {
        panic!("no result")
    };
    result.content = Json::text(&"x".repeat(8_000));
    let builder = builder(ContextConfig::new(500));
    let built = build(&builder, &of_log(&log));
    assert!(built.stats.input_tokens < 200);
    let again = build(&builder, &of_log(&with_entries(&log, &built.entries_to_append))).stats;
    assert_eq!((again.input_tokens, again.elided_messages_count), (built.stats.input_tokens, 1));
}

#[test]
fn large_fixed_parts_leave_room_for_more_than_the_newest_message() {
    let builder = builder({
        let mut config = ContextConfig::new(8_000);
        config.summary_tokens = Some(2_600);
        config
    });
    let prompt = "p".repeat(24_000);
    let log = long_log(60);
    let input = ContextBuildInput { system_prompt: Some(&prompt), ..of_log(&log) };
    let built = build(&builder, &input);
    let kept = built.model_messages.iter().filter(|one| matches!(one.source, Source::Entry(_)));
    assert!(built.compacted && kept.count() > 5);
}
