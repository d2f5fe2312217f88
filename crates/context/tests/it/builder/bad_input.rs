//! Invalid input causes an error that names the entry, the field and the fix, or a recorded repair. It never causes
//! a panic, silence or a long wait.

use tertulia_context::builder::{
    ContextBuildInput, ContextBuilder, ContextConfig, ContextError, FloorPart, RepairKind,
};
use tertulia_session::{Entry, EntryId, EntryKind, NewEntry, Role};

use super::claim::{appended, build, builder, judged, of_log, refused, sent};
use super::notation::{log, message};

#[track_caller]
fn check_log(log: &[Entry], expected: &str) {
    let error = refused(&builder(ContextConfig::new(1_000)), &of_log(log));
    assert_eq!(error.to_string(), expected);
    assert_eq!(error.code(), "ContextInvalidInput");
}

fn entry(id: &str, parent: Option<&str>, line: &str) -> Entry {
    let mut new = NewEntry::new(EntryKind::Message(message(line)));
    new.parent_id = parent.map(EntryId::from);
    new.with_id(EntryId::from(id))
}

#[test]
fn a_parent_that_is_not_there_is_named() {
    let log = [entry("a", None, "u hi"), entry("b", Some("x"), "a yo")];
    check_log(
        &log,
        "Entry b: parentId names x, which is not in the log; add the missing entries, or leave \
         parentId out to start a branch",
    );
}

#[test]
fn parents_in_a_circle_are_named() {
    let log = [entry("a", Some("b"), "u hi"), entry("b", Some("a"), "a yo")];
    check_log(
        &log,
        "Entry a: parentId names b, which comes later in the log; name an earlier entry",
    );
    let log = [entry("a", Some("a"), "u hi")];
    check_log(
        &log,
        "Entry a: parentId names a, which comes later in the log; name an earlier entry",
    );
}

#[test]
fn two_entries_of_one_id_are_one_if_they_are_the_same_and_an_error_if_not() {
    let same = [entry("a", None, "u hi"), entry("b", Some("a"), "a yo"), entry("a", None, "u hi")];
    let result = build(&builder(ContextConfig::new(1_000)), &of_log(&same));
    assert_eq!(sent(&result.model_messages), ["u hi", "a yo"]);
    assert_eq!(judged(&result.verdicts), "kept kept");
    let other = [entry("a", None, "u hi"), entry("a", None, "u ho")];
    check_log(
        &other,
        "Entry a: two entries with different content have this id, at positions 0 and 1 of the \
         log; give each its own id",
    );
}

#[test]
fn a_summary_that_points_nowhere_is_named() {
    check_log(
        &log(&["u hi", "sum first=7 old"]),
        "Entry e1: payload.firstKeptEntryId names e7, which is not in the log; name an entry of the log",
    );
    check_log(
        &log(&["u hi", "a yo", "@0 a other", "sum first=1 kept= old"]),
        "Entry e3: payload.firstKeptEntryId names e1, which is not on this branch; name an entry \
         of this branch",
    );
    check_log(
        &log(&["u hi", "a yo", "@0 a other", "drop first=1"]),
        "Entry e3: payload.firstKeptEntryId names e1, which is not on this branch; name an entry \
         of this branch",
    );
    check_log(
        &log(&["u hi", "a yo", "elide 7"]),
        "Entry e2: payload.elidedIds names e7, which is not in the log; name an entry of the log",
    );
    let mut nameless = log(&["u hi", "a yo", "drop first=1"]);
    if let EntryKind::ContextCut(cut) = &mut nameless[2].kind {
        cut.first_kept_entry_id = None;
    }
    check_log(
        &nameless,
        "Entry e2: payload.firstKeptEntryId is missing; name the first entry that was not dropped",
    );
    check_log(
        &log(&["u hi", "a yo", "sum first=1 kept=9 old"]),
        "Entry e2: payload.keptIds names e9, which is not on this branch; name entries of this branch",
    );
    check_log(
        &log(&["u hi", "a yo", "@0 a other", "sum first=2 kept=1 old"]),
        "Entry e3: payload.keptIds names e1, which is not on this branch; name entries of this branch",
    );
}

#[test]
fn a_redaction_of_nothing_is_named() {
    check_log(
        &log(&["u hi", "redact 9"]),
        "Entry e1: payload.targetId names e9, which is not in the log; name an entry of the log",
    );
}

#[test]
fn a_result_before_its_call_is_left_out_and_reported() {
    let log = log(&["u go", "t =1", "a +1", "u well"]);
    let result = build(&builder(ContextConfig::new(1_000)), &of_log(&log));
    assert_eq!(sent(&result.model_messages), ["u go", "a +1", "t !1", "u well"]);
    assert_eq!(judged(&result.verdicts), "kept orphan kept kept");
    let told: Vec<_> =
        result.repairs.iter().map(|one| (one.entry.as_str(), one.kind.clone())).collect();
    let (orphan, missing) = (
        RepairKind::OrphanResult { call: "1".into() },
        RepairKind::MissingResult { call: "1".into() },
    );
    assert_eq!(told, [("e1", orphan), ("e2", missing)]);
}

#[test]
fn messages_without_anything_in_them_are_left_out_and_reported() {
    let log = log(&["u go", "t ", "a ~hm", "u _", "a ok"]);
    let result = build(&builder(ContextConfig::new(1_000)), &of_log(&log));
    assert_eq!(sent(&result.model_messages), ["u go", "a ok"]);
    assert_eq!(judged(&result.verdicts), "kept empty empty empty kept");
    assert!(result.repairs.iter().all(|one| one.kind == RepairKind::Empty));
    assert_eq!((result.repairs.len(), result.stats.dropped_messages_count), (3, 3));
}

#[test]
fn a_system_message_in_the_middle_and_unknown_parts_stay_where_they_are() {
    let lines = ["u go", "s rule", "a odd", "u img odd", "a ok"];
    let log = log(&lines);
    let result = build(&builder(ContextConfig::new(10_000)), &of_log(&log));
    assert_eq!(sent(&result.model_messages), lines);
    assert_eq!(result.model_messages[1].message.effective_role(), Role::System);
    // A picture that cannot be read is counted too.
    assert!(result.model_messages[3].tokens > 100);
}

/// The size of an input that a quadratic algorithm could never finish.
const MEGABYTES: usize = 5 << 20;

#[test]
fn five_megabytes_from_a_tool_become_a_stub() {
    let log = log(&["u go", "a +1", &format!("t =1*{MEGABYTES}")]);
    let result = build(&builder(ContextConfig::new(1_000)), &of_log(&log));
    assert_eq!(sent(&result.model_messages), ["u go", "a +1", "t %1"]);
    assert_eq!(appended(&result.entries_to_append), ["elide e2"]);
    assert_eq!(judged(&result.verdicts), "kept kept elided");
    assert_eq!(result.stats.elided_messages_count, 1);
}

#[test]
fn five_megabytes_from_a_user_are_an_overflow_that_names_them() {
    let log = log(&["a hi", &format!("u go*{MEGABYTES}")]);
    let error = refused(&builder(ContextConfig::new(1_000)), &of_log(&log));
    let tokens = MEGABYTES / 4 + 3;
    let floor = tokens + 3;
    assert_eq!(
        error.to_string(),
        format!(
            "the request needs at least {floor} tokens, and the limit is 1000; shorten the largest parts or \
             raise maxInputTokens: entry e1 {tokens}"
        )
    );
    let ContextError::Overflow(overflow) = error else { panic!("{error}") };
    assert_eq!(overflow.biggest[0].what, FloorPart::Entry(log[1].id.clone()));
}

#[test]
fn a_hundred_thousand_tiny_messages_cost_a_look_at_each() {
    let lines: Vec<&str> = ["u hi", "a yo"].into_iter().cycle().take(100_000).collect();
    let log = log(&lines);
    let result = build(&builder(ContextConfig::new(2_000)), &of_log(&log));
    assert!(result.compacted && result.stats.input_tokens <= 2_000);
    assert_eq!(result.verdicts.len(), 100_000);
}

#[test]
fn a_bad_configuration_is_refused_with_its_field() {
    let check = |change: &dyn Fn(&mut ContextConfig), expected: &str| {
        let mut config = ContextConfig::new(100);
        change(&mut config);
        let error = ContextBuilder::new(config).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.code(), "ContextInvalidInput");
    };
    check(&|config| config.max_input_tokens = 0, "maxInputTokens must be at least 1; got 0");
    let zero = "maxHistoryMessages must be at least 1; got 0";
    check(&|config| config.max_history_messages = Some(0), zero);
    let target = "targetPermille must be from 1 to 1,000; got 0";
    check(&|config| config.target_permille = 0, target);
    let target = "targetPermille must be from 1 to 1,000; got 1001";
    check(&|config| config.target_permille = 1_001, target);
    let protect = "protectPermille must be from 0 to 1,000; got 1001";
    check(&|config| config.protect_permille = 1_001, protect);
    let reserve = "reserveTokens must be less than maxInputTokens, 100; got 100";
    check(&|config| config.reserve_tokens = 100, reserve);
    let recall = "recallTokens must be less than maxInputTokens, 100; got 18446744073709551615";
    check(&|config| config.recall_tokens = Some(u64::MAX), recall);
    let both = "reserveTokens and recallTokens must be less than maxInputTokens, 100; got 100";
    check(&|config| (config.reserve_tokens, config.recall_tokens) = (60, Some(40)), both);
    let cap = "summaryTokens must be at least 1; leave it out for the usual cap; got 0";
    check(&|config| config.summary_tokens = Some(0), cap);
    let none = "strategies must name at least one of elide, summarize, drop";
    check(&|config| config.strategies.clear(), none);
}

#[test]
fn the_smallest_budget_is_an_overflow_and_an_empty_log_is_none() {
    let builder = builder(ContextConfig::new(1));
    let log = log(&["u hi"]);
    let error = refused(&builder, &of_log(&log));
    assert_eq!(error.code(), "ContextOverflow");
    let empty = super::claim::builder(ContextConfig::new(3));
    let result = build(&empty, &ContextBuildInput::default());
    assert_eq!((result.model_messages.len(), result.stats.input_tokens), (0, 3));
}
