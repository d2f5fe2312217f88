//! Tests what is cut, in which order, and at which position.

use tertulia_context::builder::{ContextConfig, Strategy};

use super::claim::{
    appended, build, builder, dropping, judged, of_log, refused, sent, with_entries,
};
use super::notation::{append, log};

fn by(max: u64, strategies: &[Strategy]) -> ContextConfig {
    let mut config = ContextConfig::new(max);
    config.strategies = strategies.to_vec();
    config
}

#[test]
fn old_tool_outputs_are_elided_first() {
    let lines = ["u go", "a +1", "t =1*1600", "a +2", "t =2*1600", "a +3", "t =3*400", "a ok"];
    let log = log(&lines);
    let result = build(&builder(ContextConfig::new(900)), &of_log(&log));
    let expected = ["u go", "a +1", "t %1", "a +2", "t =2*1600", "a +3", "t =3*400", "a ok"];
    assert_eq!(sent(&result.model_messages)[..3], expected[..3]);
    assert!(appended(&result.entries_to_append)[0].starts_with("elide e2"));
    assert!(judged(&result.verdicts).starts_with("kept kept elided"));
    let stub = result.model_messages[2].message.parts[0].clone();
    let shown = format!("{stub:?}");
    assert!(
        shown.contains("[elided: 1600 bytes, 1 lines, entry e2, newer e6] r1.0 r1.1"),
        "{shown}"
    );
    assert_eq!(result.stats.dropped_messages_count, 0);
}

#[test]
fn without_a_compactor_what_is_cut_is_dropped() {
    let log = log(&["u goal*900", "a one*900", "u two*900", "a three*900", "u last*100"]);
    let result = build(&dropping(ContextConfig::new(800)), &of_log(&log));
    assert_eq!(appended(&result.entries_to_append), ["drop first=e3 kept="]);
    assert_eq!(sent(&result.model_messages), ["a three*900", "u last*100"]);
    assert_eq!(judged(&result.verdicts), "cut cut cut kept kept");
    assert_eq!(result.stats.dropped_messages_count, 3);
    assert_eq!(result.stats.summarized_messages_count, 0);
}

#[test]
fn where_compaction_is_off_a_compactor_is_not_asked() {
    let log = log(&["u goal*900", "a one*900", "u two*900", "a three*900", "u last*100"]);
    for ways in
        [&Strategy::ALL[..], &[Strategy::Summarize], &[Strategy::Elide, Strategy::Summarize]]
    {
        let mut config = by(800, ways);
        config.enable_compaction = false;
        let result = build(&builder(config), &of_log(&log));
        assert_eq!(appended(&result.entries_to_append), ["drop first=e3 kept="], "{ways:?}");
    }
}

#[test]
fn where_only_stubs_are_allowed_nothing_else_goes() {
    let log = log(&["u goal*900", "a +1", "t =1*900", "a three*900", "u last*100"]);
    let builder = builder(by(700, &[Strategy::Elide]));
    let result = build(&builder, &of_log(&log));
    assert_eq!(appended(&result.entries_to_append), ["elide e2"]);
    let small = super::claim::builder(by(400, &[Strategy::Elide]));
    assert_eq!(refused(&small, &of_log(&log)).code(), "ContextOverflow");
}

#[test]
fn what_is_pinned_and_the_newest_request_stay_from_before_the_cut() {
    let mut lines = vec!["u goal*900", "!a rule*100", "a +1", "!t =1*100", "u ask*100"];
    lines.extend(["a +2", "t =2*90", "a +3", "t =3*90", "a long*900", "a end*900"]);
    let log = log(&lines);
    let result = build(&builder(ContextConfig::new(700)), &of_log(&log));
    assert_eq!(appended(&result.entries_to_append), ["sum e0..e9 first=e10 kept=e1,e2,e3,e4"]);
    let expected = ["S +", "a rule*100", "a +1", "t =1*100", "u ask*100", "a end*900"];
    assert_eq!(sent(&result.model_messages), expected);
}

#[test]
fn a_request_that_stayed_is_covered_once_there_is_a_newer_one() {
    let lines = ["u goal*900", "u ask*100", "a long*900", "a long*900", "a end*300"];
    let builder = builder(ContextConfig::new(700));
    let mut log = log(&lines);
    let first = build(&builder, &of_log(&log));
    assert_eq!(appended(&first.entries_to_append), ["sum e0..e3 first=e4 kept=e1"]);
    log = with_entries(&log, &first.entries_to_append);
    append(&mut log, "u newer*1200");
    append(&mut log, "a more*1200");
    let second = build(&builder, &of_log(&log));
    let judged = judged(&second.verdicts);
    assert!(judged.starts_with("summarized summarized"), "{judged}");
    assert_eq!(sent(&second.model_messages)[1], "u newer*1200");
}

#[test]
fn too_many_messages_are_cut_to_a_part_of_what_may_be_there() {
    let mut config = ContextConfig::new(100_000);
    config.max_history_messages = Some(10);
    let lines: Vec<String> =
        (0..10).map(|n| format!("{} m{n}", if n % 2 == 0 { "u" } else { "a" })).collect();
    let mut log = log(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let builder = dropping(config);
    assert!(!build(&builder, &of_log(&log)).compacted);
    append(&mut log, "u m10");
    let cut = build(&builder, &of_log(&log));
    assert_eq!(appended(&cut.entries_to_append), ["drop first=e5 kept="]);
    assert_eq!(cut.model_messages.len(), 6);
    log = with_entries(&log, &cut.entries_to_append);
    for n in 11..15 {
        append(&mut log, &format!("a m{n}"));
        assert!(!build(&builder, &of_log(&log)).compacted, "{n}");
    }
    append(&mut log, "a m15");
    assert!(build(&builder, &of_log(&log)).compacted);
}

#[test]
fn a_message_of_tool_results_under_the_wrong_role_is_no_request() {
    let log = log(&["u ask", "a +1", "u =1", "a long*900", "a end*900"]);
    let result = build(&builder(ContextConfig::new(400)), &of_log(&log));
    assert!(
        sent(&result.model_messages).contains(&"u ask".to_owned()),
        "{:?}",
        sent(&result.model_messages)
    );
}

#[test]
fn an_update_without_a_change_brings_no_messages() {
    use tertulia_context::builder::ContextUpdateRequest;
    let log = log(&["u hi", "a yo"]);
    let builder = builder(ContextConfig::new(1_000));
    let mut request = ContextUpdateRequest { session_entries: &log, ..Default::default() };
    let update = builder.compute_context_updates(&request).unwrap();
    assert_eq!((update.updated_messages, update.compacted), (None, false));
    let new = super::notation::messages(&["a yo", "u more"]);
    request.new_messages = &new;
    let update = builder.compute_context_updates(&request).unwrap();
    assert_eq!(appended(&update.entries_to_append), ["u more"]);
    assert_eq!(sent(&update.updated_messages.unwrap()), ["u hi", "a yo", "u more"]);
}

#[test]
fn nothing_that_could_go_is_left_is_an_overflow_not_a_loop() {
    let log = log(&["!u rule", "u ask", "a end"]);
    let mut input = of_log(&log);
    input.overflow_hint = true;
    let error = refused(&builder(ContextConfig::new(1_000)), &input);
    assert_eq!(error.code(), "ContextOverflow");
    let expected = "the request needs 15 tokens, which the model rejected as too many; shorten the \
                    largest parts: entry e0 4, entry e1 4, entry e2 4";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn the_request_before_a_redacted_one_comes_back() {
    let lines = ["u old*300", "a one*900", "u new*300", "drop first=2 kept=", "redact 2", "a so"];
    let log = log(&lines);
    let result = build(&builder(ContextConfig::new(1_000)), &of_log(&log));
    assert_eq!(sent(&result.model_messages), ["u old*300", "a so"]);
    assert_eq!(judged(&result.verdicts), "kept cut redacted no_message no_message kept");
}

#[test]
fn what_somebody_elided_is_sent_whole_if_it_is_pinned() {
    let log = log(&["u go", "a +1", "!t =1*300", "a +2", "t =2*300", "elide 2,4"]);
    let result = build(&builder(ContextConfig::new(1_000)), &of_log(&log));
    assert_eq!(sent(&result.model_messages), ["u go", "a +1", "t =1*300", "a +2", "t %2"]);
}

#[test]
fn where_all_that_stays_is_from_before_a_cut_the_cut_stays_where_it_is() {
    let lines = ["u a*900", "a b*900", "u c*900", "a gone", "a d", "drop first=4 kept=0,1,2"];
    let mut log = log(&lines);
    append(&mut log, "redact 4");
    let result = build(&dropping(ContextConfig::new(400)), &of_log(&log));
    assert_eq!(sent(&result.model_messages), ["u c*900"]);
    assert_eq!(appended(&result.entries_to_append), ["drop first=e4 kept=e2"]);
}

/// A late result belongs to its call. If the call is cut, the result is an orphan, in this build and in every later
/// one.
#[test]
fn a_late_result_goes_with_the_call_that_is_cut() {
    let log = log(&["a go*900 +1", "a two*900", "a three*400", "t =1", "u last*100"]);
    let builder = dropping(ContextConfig::new(500));
    let result = build(&builder, &of_log(&log));
    assert_eq!(appended(&result.entries_to_append), ["drop first=e2 kept="]);
    assert_eq!(judged(&result.verdicts), "cut cut kept orphan kept");
    let log = with_entries(&log, &result.entries_to_append);
    let again = build(&builder, &of_log(&log));
    assert_eq!(sent(&again.model_messages), sent(&result.model_messages));
    assert_eq!(again.repairs, result.repairs);
}

/// A cut names entries. So if a pinned call needs a result, the rest of the result's message stays too.
#[test]
fn a_message_whose_result_was_moved_stays_whole() {
    let log = log(&["!a +1", "u two*900", "a =1 rest", "a three*1600", "u last*900"]);
    let builder = dropping(ContextConfig::new(700));
    let result = build(&builder, &of_log(&log));
    assert_eq!(appended(&result.entries_to_append), ["drop first=e4 kept=e0,e2"]);
    assert_eq!(sent(&result.model_messages), ["a +1", "t =1", "a rest", "u last*900"]);
    let log = with_entries(&log, &result.entries_to_append);
    assert_eq!(sent(&build(&builder, &of_log(&log)).model_messages), sent(&result.model_messages));
}

/// The newest request was redacted after a cut, so the one before it is sent again. A newer request does not remove
/// it.
#[test]
fn a_request_that_came_back_stays() {
    let lines = ["u old*300", "u new*300", "a one*900", "a two*900", "u last*100"];
    let mut log = log(&lines);
    let builder = dropping(ContextConfig::new(500));
    let cut = build(&builder, &of_log(&log)).entries_to_append;
    log.extend(cut);
    append(&mut log, "redact 4");
    append(&mut log, "a ok");
    let before = sent(&build(&builder, &of_log(&log)).model_messages);
    assert_eq!(before, ["u new*300", "a two*900", "a ok"]);
    append(&mut log, "u next");
    let after = sent(&build(&builder, &of_log(&log)).model_messages);
    assert_eq!(after, [&before[..], &["u next".to_owned()]].concat());
}
