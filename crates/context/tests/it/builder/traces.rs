//! The ten golden traces of the contract (requirements 3.5), as lines in and lines out.

use tertulia_context::builder::{ContextBuildInput, ContextConfig, ContextUpdateRequest};

use super::claim::{appended, build, builder, judged, of_log, sent, with_entries};
use super::notation::{append, log, message, messages};

/// Checks that a log that fits is sent unchanged.
#[track_caller]
fn check_whole(lines: &[&str]) {
    let log = log(lines);
    let result = build(&builder(ContextConfig::new(10_000)), &of_log(&log));
    assert_eq!(sent(&result.model_messages), lines);
    assert_eq!(appended(&result.entries_to_append), [""; 0]);
    assert_eq!(judged(&result.verdicts), vec!["kept"; lines.len()].join(" "));
    assert_eq!((result.repairs, result.compacted), (vec![], false));
}

#[test]
fn trace_1_without_tools_the_system_prompt_and_the_request_are_sent() {
    let input = ContextBuildInput {
        system_prompt: Some("be"),
        input_messages: &messages(&["u hi"]),
        ..ContextBuildInput::default()
    };
    let result = build(&builder(ContextConfig::new(100)), &input);
    assert_eq!(sent(&result.model_messages), ["P be", "u hi"]);
    assert_eq!(appended(&result.entries_to_append), ["u hi"]);
    assert_eq!(result.entries_to_append[0].parent_id, None);
}

#[test]
fn trace_2_one_tool_stays_next_to_its_call() {
    check_whole(&["u go", "a look +1", "t =1", "a done"]);
}

#[test]
fn trace_3_tools_one_after_the_other_keep_their_order() {
    check_whole(&["u go", "a +1", "t =1", "a +2", "t =2", "a +1", "t =1", "a done"]);
}

#[test]
fn trace_4_parallel_tools_keep_the_order_of_their_results() {
    check_whole(&["u go", "a +1 +2 +3", "t =3", "t =1 =2", "a done"]);
}

#[test]
fn trace_5_a_failed_tool_is_sent_as_failed() {
    check_whole(&["u go", "a +1", "t #1", "a sorry"]);
}

#[test]
fn trace_6_and_7_an_approved_and_a_denied_tool_are_results_like_any_other() {
    check_whole(&["u go", "a +1", "t =1", "a +2", "t #2", "a denied"]);
}

#[test]
fn trace_8_an_overflow_leads_to_a_compaction_and_the_retry_succeeds() {
    let log = log(&["u goal*400", "a one*900", "u more*200", "a two*600", "u last*100"]);
    let builder = builder(ContextConfig::new(1_000));
    let first = build(&builder, &of_log(&log));
    assert!(!first.compacted);
    let tokens = first.stats.input_tokens;

    // The model rejects the request as too large; the loop requests an update.
    let request = ContextUpdateRequest {
        session_entries: &log,
        overflow_hint: true,
        ..ContextUpdateRequest::default()
    };
    let update = builder.compute_context_updates(&request).unwrap();
    assert_eq!(appended(&update.entries_to_append), ["sum e0..e2 first=e3 kept="]);
    let retried = update.updated_messages.unwrap();
    assert_eq!(sent(&retried), ["S +", "a two*600", "u last*100"]);
    assert!(update.compacted && update.stats.input_tokens < tokens);
    assert_eq!(update.stats.summarized_messages_count, 3);

    // The retry is built from the log alone, and only appends from then on.
    let mut log = with_entries(&log, &update.entries_to_append);
    let retry = build(&builder, &of_log(&log));
    assert_eq!(retry.model_messages, retried);
    assert!(!retry.compacted);
    assert_eq!(judged(&retry.verdicts), "summarized summarized summarized kept kept kept");
    drop(retry);
    append(&mut log, "a three");
    let next = build(&builder, &of_log(&log));
    assert_eq!(sent(&next.model_messages), ["S +", "a two*600", "u last*100", "a three"]);
}

#[test]
fn trace_9_a_call_at_the_very_end_waits_and_is_closed_once_somebody_speaks() {
    check_whole(&["u go", "a +1 +2", "t =2"]);
    let mut log = log(&["u go", "a +1 +2", "t =2"]);
    append(&mut log, "u stop");
    let result = build(&builder(ContextConfig::new(1_000)), &of_log(&log));
    assert_eq!(sent(&result.model_messages), ["u go", "a +1 +2", "t =2", "t !1", "u stop"]);
    assert_eq!(judged(&result.verdicts), "kept kept kept kept");
    assert_eq!(result.repairs.len(), 1);
    assert_eq!(result.repairs[0].entry.as_str(), "e1");
}

#[test]
fn trace_10_a_resumed_session_says_the_same_with_its_old_summary() {
    let log = log(&["u goal", "a one", "!u rule", "sum first=4 kept=2 old", "u more", "a two"]);
    let expected = ["S e3", "u rule", "u more", "a two"];
    let builder = builder(ContextConfig::new(1_000));
    let first = build(&builder, &of_log(&log));
    assert_eq!(sent(&first.model_messages), expected);
    assert_eq!(judged(&first.verdicts), "summarized summarized kept kept kept kept");
    let head = "[Summary of the conversation before this point]\n\nold";
    assert_eq!(first.model_messages[0].message.text(), head);

    // Another process continues the run: the bytes before the new messages are the same.
    let resumed = ContextBuildInput { input_messages: &[message("u next")], ..of_log(&log) };
    let second = build(&builder, &resumed);
    assert_eq!(second.model_messages[..4], first.model_messages);
    assert_eq!(sent(&second.model_messages[4..]), ["u next"]);
}

#[test]
fn an_old_summary_without_kept_ids_keeps_pinned_messages_and_the_request() {
    let log = log(&["u goal", "!a rule", "u ask", "a one", "sum first=3 old"]);
    let result = build(&builder(ContextConfig::new(1_000)), &of_log(&log));
    assert_eq!(sent(&result.model_messages), ["S e4", "a rule", "u ask", "a one"]);
    let log = super::notation::log(&["a +1", "!t =1*300", "a +1", "t =1", "sum first=2 old"]);
    let result = build(&builder(ContextConfig::new(1_000)), &of_log(&log));
    assert_eq!(sent(&result.model_messages), ["S e4", "a +1", "t =1*300", "a +1", "t =1"]);
}

#[test]
fn a_branch_is_sent_from_its_tail_and_the_other_one_is_hidden() {
    let log = log(&["u go", "a left", "u on", "@0 a right", "u ok"]);
    let result = build(&builder(ContextConfig::new(1_000)), &of_log(&log));
    assert_eq!(sent(&result.model_messages), ["u go", "a right", "u ok"]);
    assert_eq!(judged(&result.verdicts), "kept other_branch other_branch kept kept");
}

#[test]
fn a_summary_of_another_branch_is_sent_as_what_somebody_said() {
    let log = log(&["branch tried", "u go"]);
    let result = build(&builder(ContextConfig::new(1_000)), &of_log(&log));
    assert_eq!(sent(&result.model_messages), ["u tried", "u go"]);
    let meta = result.model_messages[0].message.meta.as_ref().unwrap();
    assert_eq!(meta.as_str(), r#"{"kind":"branch_summary"}"#);
}
