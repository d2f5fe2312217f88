//! Shows a context as lines: the messages that are sent, the entries to append, and the outcome of every entry.

use tertulia_context::builder::{
    ContextBuildInput, ContextBuildResult, ContextBuilder, ContextConfig, ContextError,
    ModelMessage, Source,
};
use tertulia_context::compact::Compactor;
use tertulia_context::tokens::{MessageCounter, Tokenizer};
use tertulia_context::{Outcome, Verdict};
use tertulia_session::{CutStrategy, Entry, EntryId, EntryKind};

use super::notation::shown;

/// Returns a builder that counts a quarter of the bytes and summarises without a model.
pub(super) fn builder(config: ContextConfig) -> ContextBuilder {
    dropping(config).with_compactor(Compactor::Extractive)
}

/// Returns the same builder without a compactor.
pub(super) fn dropping(mut config: ContextConfig) -> ContextBuilder {
    // These tests are about cuts. So a summary gets the same share of every budget, and recall is off unless a test
    // turns it on.
    config.recall_tokens = config.recall_tokens.or(Some(0));
    config.summary_tokens = config.summary_tokens.or(Some((config.max_input_tokens / 8).max(1)));
    let counter = MessageCounter::new(Tokenizer::Bytes);
    ContextBuilder::new(config).unwrap().with_counter(counter).without_compactor()
}

pub(super) fn of_log(log: &[Entry]) -> ContextBuildInput<'_> {
    ContextBuildInput { session_entries: log, explain: true, ..ContextBuildInput::default() }
}

#[track_caller]
pub(super) fn build<'a>(
    builder: &ContextBuilder,
    input: &ContextBuildInput<'a>,
) -> ContextBuildResult<'a> {
    match builder.build_context(input) {
        Ok(result) => result,
        Err(error) => panic!("{error}"),
    }
}

#[track_caller]
pub(super) fn refused(builder: &ContextBuilder, input: &ContextBuildInput<'_>) -> ContextError {
    match builder.build_context(input) {
        Ok(result) => panic!("built: {:?}", sent(&result.model_messages)),
        Err(error) => error,
    }
}

/// Returns the messages as lines; `S` is a summary, `R` recall, `H` hints, `P` the system message.
pub(super) fn sent(messages: &[ModelMessage<'_>]) -> Vec<String> {
    messages.iter().map(sent_line).collect()
}

fn sent_line(sent: &ModelMessage<'_>) -> String {
    let text = sent.message.text().replace('\n', "|");
    match &sent.source {
        Source::System => {
            let texts = sent.message.parts.iter().filter_map(|part| part.as_text());
            format!("P {}", texts.collect::<Vec<_>>().join(" / ").replace('\n', "|"))
        }
        Source::Summary(id) => format!("S {}", short_id(id)),
        Source::Recall => "R".to_owned(),
        Source::RuntimeHints => format!("H {text}"),
        Source::Closing => format!("C {text}"),
        Source::Entry(_) => shown(&sent.message),
    }
}

/// Returns an id of the notation unchanged; an id that is computed from content as `+`.
fn short_id(id: &EntryId) -> &str {
    if id.as_str().starts_with("e-") { "+" } else { id.as_str() }
}

fn short_ids<'i>(ids: impl IntoIterator<Item = &'i EntryId>) -> String {
    ids.into_iter().map(short_id).collect::<Vec<_>>().join(",")
}

/// Returns the entries to append as lines.
pub(super) fn appended(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(appended_line).collect()
}

fn appended_line(entry: &Entry) -> String {
    match &entry.kind {
        EntryKind::Message(message) => shown(message),
        EntryKind::CompactionSummary(summary) => {
            let range = [&summary.covered_from_id, &summary.covered_to_id];
            let range = range.map(|id| id.as_ref().map_or("-", short_id)).join("..");
            let first = short_id(&summary.first_kept_entry_id);
            let kept = short_ids(summary.kept_ids.iter().flatten());
            format!("sum {range} first={first} kept={kept}")
        }
        EntryKind::ContextCut(cut) if cut.strategy == CutStrategy::Drop => {
            let first = cut.first_kept_entry_id.as_ref().map_or("-", short_id);
            format!("drop first={first} kept={}", short_ids(cut.kept_ids.iter().flatten()))
        }
        EntryKind::ContextCut(cut) => {
            format!("elide {}", short_ids(cut.elided_ids.iter().flatten()))
        }
        other => other.type_name().to_owned(),
    }
}

/// Returns the verdicts as words, in the order of the log.
pub(super) fn judged(verdicts: &[Verdict]) -> String {
    verdicts.iter().map(judged_word).collect::<Vec<_>>().join(" ")
}

fn judged_word(verdict: &Verdict) -> String {
    let recalled = if verdict.recalled { "+recalled" } else { "" };
    match &verdict.outcome {
        Outcome::Dropped { reason } => format!("{}{recalled}", reason.as_str()),
        Outcome::Hidden { reason } => format!("{}{recalled}", reason.as_str()),
        outcome => format!("{}{recalled}", outcome.as_str()),
    }
}

/// Returns the log with the entries of a build appended.
pub(super) fn with_entries(log: &[Entry], entries: &[Entry]) -> Vec<Entry> {
    log.iter().chain(entries).cloned().collect()
}
