//! The usage that a provider reported corrects the counts. The newest report of the right member and model is used,
//! and cuts record the correction.

use tertulia_context::builder::{ContextBuilder, ContextConfig};
use tertulia_session::{Entry, EntryKind};

use super::claim::{build, builder, of_log, with_entries};
use super::notation::{append, log};

fn scale(builder: &ContextBuilder, log: &[Entry]) -> u64 {
    build(builder, &of_log(log)).stats.scale_permille
}

fn large() -> ContextBuilder {
    builder(ContextConfig::new(100_000))
}

/// 1,000 tokens of words, 3 of the message and 3 of the reply.
const ASKED: &str = "u q*4000";

#[test]
fn a_report_in_an_answer_weighs_all_that_is_counted() {
    let log = log(&[ASKED, "a ok usage=2012", "u more"]);
    let result = build(&large(), &of_log(&log));
    assert_eq!(result.stats.scale_permille, 2_000);
    let counted: u64 = result.model_messages.iter().map(|one| one.tokens).sum();
    assert_eq!(result.stats.input_tokens, 2 * (counted + 3));
    assert!(!result.stats.exact);
}

#[test]
fn a_report_in_an_entry_is_about_the_answer_before_it() {
    assert_eq!(scale(&large(), &log(&[ASKED, "a ok", "usage m 1509", "u x*4000"])), 1_500);
    assert_eq!(scale(&large(), &log(&[ASKED, "a ok", "usage m 1509", "usage m 2012"])), 2_000);
}

#[test]
fn reports_of_other_members_are_ignored() {
    let lines = [ASKED, "a ok", "usage max 1509", "a so", "usage eva 4000"];
    assert_eq!(scale(&large().for_member("max"), &log(&lines)), 1_500);
    assert_eq!(scale(&large().for_member("tom"), &log(&lines)), 1_000);
    // A report of a model with another tokenizer is ignored.
    assert_eq!(scale(&large(), &log(&[ASKED, "a ok", "usage m 1509 gpt-4o"])), 1_000);
    assert_eq!(scale(&large(), &log(&[ASKED, "a ok", "usage m 1509 nobody-knows"])), 1_500);
}

#[test]
fn a_report_about_little_or_nothing_is_ignored() {
    assert_eq!(scale(&large(), &log(&["u hi", "a ok usage=400", "u x"])), 1_000);
    assert_eq!(scale(&large(), &log(&[ASKED, "usage m 1509"])), 1_000);
    assert_eq!(scale(&large(), &log(&["usage m 1509", "u hi"])), 1_000);
}

#[test]
fn a_report_that_was_redacted_is_ignored() {
    assert_eq!(scale(&large(), &log(&[ASKED, "a ok", "usage m 1509", "redact 2"])), 1_000);
}

#[test]
fn an_implausible_report_is_limited() {
    let wild = scale(&large(), &log(&[ASKED, "a ok usage=99999999"]));
    let none = scale(&large(), &log(&[ASKED, "a ok usage=0"]));
    assert_eq!((wild, none), (2_000, 500));
}

#[test]
fn a_cut_remembers_the_weight_and_the_next_report_replaces_it() {
    let builder = builder(ContextConfig::new(4_000));
    let mut log = log(&[ASKED, "a one*4000 usage=2012"]);
    append(&mut log, "u two*100");
    let cut = build(&builder, &of_log(&log));
    assert!(cut.compacted && cut.stats.scale_permille == 2_000, "{:?}", cut.stats);
    let recorded = cut.entries_to_append.iter().map(|entry| match &entry.kind {
        EntryKind::CompactionSummary(summary) => summary.scale_permille,
        EntryKind::ContextCut(cut) => cut.scale_permille,
        _ => None,
    });
    assert!(recorded.clone().count() > 0 && recorded.clone().all(|scale| scale == Some(2_000)));
    log = with_entries(&log, &cut.entries_to_append);
    append(&mut log, "a ok");
    assert_eq!(scale(&builder, &log), 2_000);
    append(&mut log, "u long*2400");
    append(&mut log, "a ok");
    let counted = build(&builder, &of_log(&log)).model_messages;
    let before: u64 = counted[..counted.len() - 1].iter().map(|one| one.tokens).sum();
    append(&mut log, &format!("usage m {}", before + 3));
    assert_eq!(scale(&builder, &log), 1_000);
}
