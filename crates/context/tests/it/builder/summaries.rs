//! The authors of summaries: the extractive compactor, a caller's own, or a model that is asked later. Also tests
//! what happens to a text that is refused.

use std::sync::Arc;

use tertulia_context::builder::{ContextBuilder, ContextConfig, ContextIndex, SummaryRequest};
use tertulia_context::compact::{Compactor, Summarize, SummaryFailure, SummaryTask};
use tertulia_session::{CompactionSummary, Entry, EntryKind};

use super::claim::{appended, build, builder, dropping, of_log, sent, with_entries};
use super::notation::{append, log};

/// An author who always returns the same text.
#[derive(Debug)]
struct Author(Result<&'static str, &'static str>);

impl Summarize for Author {
    fn author(&self) -> &str {
        "eva"
    }

    fn summarize(&self, _task: &SummaryTask<'_>) -> Result<String, SummaryFailure> {
        self.0.map(str::to_owned).map_err(|reason| SummaryFailure { reason: reason.into() })
    }
}

fn summary(entries: &[Entry]) -> &CompactionSummary {
    let mut summaries = entries.iter().filter_map(|entry| match &entry.kind {
        EntryKind::CompactionSummary(summary) => Some(&**summary),
        _ => None,
    });
    summaries.next().unwrap()
}

fn long_log() -> Vec<Entry> {
    log(&["u goal*900", "a one*900", "u two*900", "a three*900", "u last*100"])
}

fn custom(author: Author) -> ContextBuilder {
    dropping(ContextConfig::new(800)).with_compactor(Compactor::Custom(Arc::new(author)))
}

#[test]
fn a_text_that_passes_the_gate_is_taken_with_its_author() {
    let log = long_log();
    let result = build(&custom(Author(Ok("We agreed on one thing."))), &of_log(&log));
    let summary = summary(&result.entries_to_append);
    assert_eq!(&*summary.summary, "We agreed on one thing.");
    assert_eq!(summary.author.as_deref(), Some("eva"));
    assert_eq!((summary.strategy.as_deref(), &summary.refused), (Some("custom"), &None));
    assert_eq!(result.compaction_summary_entry, Some(result.entries_to_append[0].id.clone()));
}

#[test]
fn a_text_that_is_refused_is_reported_and_the_extractive_one_takes_over() {
    let log = long_log();
    let check = |author: Author, reason: &str| {
        let result = build(&custom(author), &of_log(&log));
        let summary = summary(&result.entries_to_append);
        assert_eq!(summary.refused.as_deref(), Some(reason));
        assert_eq!(summary.author.as_deref(), Some("extractive"));
        assert!(summary.summary.contains("goal"));
    };
    check(Author(Ok("  ")), "the summary is blank");
    check(Author(Err("no network")), "the summary could not be written: no network");
}

#[test]
fn what_a_summary_records_can_be_checked() {
    let log = long_log();
    let result = build(&builder(ContextConfig::new(800)), &of_log(&log));
    assert_eq!(appended(&result.entries_to_append), ["sum e0..e2 first=e3 kept="]);
    let summary = summary(&result.entries_to_append);
    assert_eq!(summary.covered_count, Some(3));
    let mut hash = tertulia_session::EntriesHash::default();
    log[..3].iter().for_each(|entry| hash.add(entry));
    assert_eq!(summary.covered_hash.as_deref(), Some(&*hash.finish()));
    assert_eq!(summary.tokens_after, Some(result.stats.input_tokens));
    assert!(summary.tokens_before > summary.tokens_after);
    assert_eq!(result.stats.dropped_messages_count, 3);
    assert_eq!(result.stats.summarized_messages_count, 3);
}

/// Returns a builder that requests summaries, its log with the extractive summary, and the request.
fn asked() -> (ContextBuilder, Vec<Entry>, SummaryRequest) {
    let mut config = ContextConfig::new(800);
    config.request_summaries = true;
    let (builder, log) = (builder(config), long_log());
    let result = build(&builder, &of_log(&log));
    let request = result.summary_request.unwrap();
    let log = with_entries(&log, &result.entries_to_append);
    (builder, log, request)
}

#[test]
fn a_summary_is_requested_only_if_the_input_allows_it() {
    let log = long_log();
    let result = build(&builder(ContextConfig::new(800)), &of_log(&log));
    assert_eq!(result.summary_request, None);
    let (_, _, request) = asked();
    assert_eq!(request.first_kept_entry_id.as_str(), "e3");
    assert_eq!(request.covered_from_id.as_ref().unwrap().as_str(), "e0");
    assert_eq!(request.covered_to_id.as_ref().unwrap().as_str(), "e2");
    assert_eq!((request.covered_count, request.max_tokens), (3, 100));
    assert!(request.text.contains("goal.0"));
}

#[test]
fn a_summary_of_a_model_replaces_the_extractive_one_from_then_on() {
    let (builder, log, request) = asked();
    let mut index = ContextIndex::new();
    let text = "The user wants goal.0, then two.1.";
    let taken = builder.accept_summary(&mut index, &log, &request, text, "model").unwrap();
    assert_eq!((taken.accepted, &taken.reason), (true, &None));
    let new = summary(&taken.entries_to_append);
    assert_eq!((&*new.summary, new.author.as_deref()), (text, Some("model")));
    let log = with_entries(&log, &taken.entries_to_append);
    let result = build(&builder, &of_log(&log));
    assert_eq!(sent(&result.model_messages), ["S +", "a three*900", "u last*100"]);
    assert!(result.model_messages[0].message.text().ends_with(text));
    assert_eq!(new.tokens_after, Some(result.stats.input_tokens));
    assert!(!result.compacted);
}

#[test]
fn a_models_text_that_is_refused_is_recorded_and_changes_nothing() {
    let (builder, log, request) = asked();
    let before = build(&builder, &of_log(&log));
    let mut index = ContextIndex::new();
    let long = "x".repeat(1_000);
    let refused = builder.accept_summary(&mut index, &log, &request, &long, "model").unwrap();
    let reason = "the summary has 250 tokens; 100 are allowed";
    assert_eq!((refused.accepted, refused.reason.as_deref()), (false, Some(reason)));
    let kept = summary(&refused.entries_to_append);
    assert_eq!(kept.refused.as_deref(), Some(format!("model: {reason}").as_str()));
    let log = with_entries(&log, &refused.entries_to_append);
    let after = build(&builder, &of_log(&log));
    let texts = |result: &tertulia_context::builder::ContextBuildResult<'_>| -> Vec<_> {
        result.model_messages.iter().map(|one| one.message.clone().into_owned()).collect()
    };
    assert_eq!(texts(&after), texts(&before));
}

#[test]
fn a_text_for_a_summary_that_is_not_the_newest_is_stale() {
    let stale = "coveredHash does not belong to the newest summary: first append entriesToAppend, \
        or build again if entries were redacted or cut since";
    let (builder, mut log, request) = asked();
    let mut index = ContextIndex::new();
    let not_yet = builder.accept_summary(&mut index, &long_log(), &request, "goal.0", "m");
    assert_eq!(not_yet.unwrap_err().to_string(), stale);
    append(&mut log, "redact 1");
    let mut index = ContextIndex::new();
    let redacted = builder.accept_summary(&mut index, &log, &request, "goal.0", "m");
    assert_eq!(redacted.unwrap_err().to_string(), stale);
}

#[test]
fn the_next_summary_goes_on_where_the_last_one_ended_and_carries_it() {
    let builder = builder(ContextConfig::new(800));
    let mut log = long_log();
    let first = build(&builder, &of_log(&log));
    log = with_entries(&log, &first.entries_to_append);
    for line in ["a four*900", "u five*900", "a six*400"] {
        append(&mut log, line);
    }
    let second = build(&builder, &of_log(&log));
    let summary = summary(&second.entries_to_append);
    assert_eq!(summary.covered_from_id.as_ref().unwrap().as_str(), "e3");
    assert!(summary.summary.contains("goal"), "{}", summary.summary);
    assert_eq!(second.stats.summarized_messages_count, second.stats.dropped_messages_count);
}
