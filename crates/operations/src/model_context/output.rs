//! The output of a build: JSON with its fields in a fixed order, so that the same input gives the same bytes.

use std::collections::{HashMap, HashSet};

use serde::ser::{Serialize, SerializeMap, Serializer};
use tertulia_context::builder::{
    ContextBuildResult, ContextIndex, ContextStats, MessageRef, ModelMessage, Repair, Source,
};
use tertulia_context::recall::RecallMatch;
use tertulia_context::{Outcome, Verdict};
use tertulia_dialect::{Dialect, Fragment, ModelContext, Note, Rendering};
use tertulia_session::json::Json;
use tertulia_session::record::{EntryRecord, MessageRecord};
use tertulia_session::{Entry, EntryId};

use super::summary::SummaryRequestRecord;
use super::{BuildError, BuildInput};
use crate::to_json;

/// A context, ready to be written.
pub struct BuildOutput<'a> {
    pub input: &'a BuildInput,
    pub index: &'a ContextIndex,
    pub result: &'a ContextBuildResult<'a>,
}

impl Serialize for BuildOutput<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { input, index, result } = self;
        let made = result.compaction_summary_entry.as_ref();
        let made = result.entries_to_append.iter().find(|entry| Some(&entry.id) == made);
        let rendered = input.format.map(|dialect| render(dialect, result, &input.tools));
        let record = BuildRecord {
            model_messages: messages(&result.model_messages),
            model_tool_specs: &input.tools,
            compacted: result.compacted,
            compaction_summary_entry: made.map(EntryRecord::new),
            entries_to_append: entries(&result.entries_to_append),
            stats: StatsRecord(&result.stats, input.setup.limit()),
            cache_breakpoints: &result.cache_breakpoints,
            repairs: result.repairs.iter().map(RepairRecord::new).collect(),
            summary_request: result.summary_request.as_ref().map(SummaryRequestRecord),
            verdicts: verdicts(result),
            token_counts: counts(input, index, &result.model_messages),
            notes: rendered.as_ref().map(|one| one.notes.iter().map(NoteRecord::new).collect()),
            request: rendered.as_ref().map(|rendered| &rendered.fragment),
        };
        record.serialize(serializer)
    }
}

impl BuildInput {
    /// Builds the context, after adding the counts of the input to the index.
    pub fn build(&self, index: &mut ContextIndex) -> Result<ContextBuildResult<'_>, BuildError> {
        index.add_counts(self.token_counts.iter().cloned());
        Ok(self.setup.builder.build_with(index, &self.as_input())?)
    }

    /// Returns the JSON of the context.
    pub fn build_json(&self, index: &mut ContextIndex) -> Result<String, BuildError> {
        let result = self.build(index)?;
        Ok(to_json(&BuildOutput { input: self, index, result: &result }))
    }

    /// Returns the JSON of the changes in the middle of a run.
    pub fn update_json(&self, index: &mut ContextIndex) -> Result<String, BuildError> {
        index.add_counts(self.token_counts.iter().cloned());
        let result = self.setup.builder.update_with(index, &self.as_update())?;
        let updated = result.updated_messages.as_deref();
        Ok(to_json(&UpdateRecord {
            updated_messages: updated.map(messages),
            compacted: result.compacted,
            entries_to_append: entries(&result.entries_to_append),
            stats: StatsRecord(&result.stats, self.setup.limit()),
            summary_request: result.summary_request.as_ref().map(SummaryRequestRecord),
            token_counts: counts(self, index, updated.unwrap_or_default()),
        }))
    }
}

fn messages<'a>(messages: &'a [ModelMessage<'_>]) -> Vec<MessageRecord<'a>> {
    messages.iter().map(|sent| MessageRecord(&sent.message)).collect()
}

pub(super) fn entries(entries: &[Entry]) -> Vec<EntryRecord<'_>> {
    entries.iter().map(EntryRecord::new).collect()
}

/// Returns the known token counts of entries if the input requests them: those of the log, then those of new entries.
fn counts(
    input: &BuildInput,
    index: &ContextIndex,
    sent: &[ModelMessage<'_>],
) -> Option<CountsRecord> {
    if !input.return_token_counts {
        return None;
    }
    let mut counts: Vec<_> = index.counts(&input.session_entries).collect();
    let mut known: HashSet<EntryId> = counts.iter().map(|(id, _)| id.clone()).collect();
    for sent in sent {
        // The count of a repaired message is not the count of its entry.
        if let (Source::Entry(id), MessageRef::Logged(_)) | (Source::Summary(id), _) =
            (&sent.source, &sent.message)
            && known.insert(id.clone())
        {
            counts.push((id.clone(), sent.tokens));
        }
    }
    Some(CountsRecord(counts))
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct BuildRecord<'a> {
    model_messages: Vec<MessageRecord<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    model_tool_specs: &'a [Json],
    compacted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    compaction_summary_entry: Option<EntryRecord<'a>>,
    entries_to_append: Vec<EntryRecord<'a>>,
    stats: StatsRecord<'a>,
    cache_breakpoints: &'a [usize],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    repairs: Vec<RepairRecord<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary_request: Option<SummaryRequestRecord<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    verdicts: Vec<VerdictRecord<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_counts: Option<CountsRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<&'a Fragment<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notes: Option<Vec<NoteRecord>>,
}

#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct UpdateRecord<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_messages: Option<Vec<MessageRecord<'a>>>,
    compacted: bool,
    entries_to_append: Vec<EntryRecord<'a>>,
    stats: StatsRecord<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary_request: Option<SummaryRequestRecord<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_counts: Option<CountsRecord>,
}

struct StatsRecord<'a>(&'a ContextStats, u64);

impl Serialize for StatsRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(stats, limit) = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("inputTokens", &stats.input_tokens)?;
        map.serialize_entry("exact", &stats.exact)?;
        map.serialize_entry("limit", limit)?;
        map.serialize_entry("messageCount", &stats.message_count)?;
        map.serialize_entry("droppedMessagesCount", &stats.dropped_messages_count)?;
        map.serialize_entry("summarizedMessagesCount", &stats.summarized_messages_count)?;
        map.serialize_entry("elidedMessagesCount", &stats.elided_messages_count)?;
        map.serialize_entry("recalledEntriesCount", &stats.recalled_entries_count)?;
        // A factor of a thousand is left out, because it changes nothing.
        if stats.scale_permille != 1_000 {
            map.serialize_entry("scalePermille", &stats.scale_permille)?;
        }
        map.end()
    }
}

#[derive(serde::Serialize)]
struct RepairRecord<'a> {
    entry: &'a str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<&'a str>,
}

impl<'a> RepairRecord<'a> {
    fn new(repair: &'a Repair) -> Self {
        let Repair { entry, kind } = repair;
        Self { entry: entry.as_str(), kind: kind.as_str(), call: kind.call() }
    }
}

#[derive(serde::Serialize)]
struct VerdictRecord<'a> {
    entry: &'a str,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    recalled: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    matches: Vec<MatchRecord<'a>>,
}

/// A word that caused the recall of an entry.
#[derive(serde::Serialize)]
struct MatchRecord<'a> {
    word: &'a str,
    weight: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    added: bool,
}

/// Returns the verdicts, each with the words that caused the recall of its entry.
fn verdicts<'a>(result: &'a ContextBuildResult<'_>) -> Vec<VerdictRecord<'a>> {
    let mut by_entry: HashMap<&EntryId, Vec<&RecallMatch>> = HashMap::new();
    for passage in &result.recalled {
        by_entry.entry(&passage.entry).or_default().extend(&passage.matches);
    }
    let records = result.verdicts.iter().map(|verdict| {
        let matches = by_entry.remove(&verdict.entry).unwrap_or_default();
        VerdictRecord::new(verdict, &matches)
    });
    records.collect()
}

impl<'a> MatchRecord<'a> {
    /// Returns the words of an entry, each once. Several of its passages may have the same word.
    fn all(matches: &[&'a RecallMatch]) -> Vec<Self> {
        let mut seen = HashSet::new();
        let new = matches.iter().filter(|one| seen.insert(one.word.to_lowercase()));
        new.map(|one| Self { word: &one.word, weight: one.weight, added: one.is_added }).collect()
    }
}

impl<'a> VerdictRecord<'a> {
    fn new(verdict: &'a Verdict, matches: &[&'a RecallMatch]) -> Self {
        let (by, reason) = match &verdict.outcome {
            Outcome::Summarized { by } => (Some(by.as_str()), None),
            Outcome::Dropped { reason } => (None, Some(reason.as_str())),
            Outcome::Hidden { reason } => (None, Some(reason.as_str())),
            _ => (None, None),
        };
        let (entry, state) = (verdict.entry.as_str(), verdict.outcome.as_str());
        let matches = MatchRecord::all(matches);
        Self { entry, state, by, reason, recalled: verdict.recalled, matches }
    }
}

struct CountsRecord(Vec<(EntryId, u64)>);

impl Serialize for CountsRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(id, tokens)| (id.as_str(), tokens)))
    }
}

/// Renders a context as a request of this vendor. The rendering borrows the messages of the context.
pub fn render<'a>(
    dialect: Dialect,
    result: &'a ContextBuildResult<'_>,
    tools: &'a [Json],
) -> Rendering<'a> {
    dialect.render(&ModelContext {
        tool_specs: tools,
        cache_breakpoints: &result.cache_breakpoints,
        ..ModelContext::new(result.model_messages.iter().map(|sent| &*sent.message))
    })
}

#[derive(serde::Serialize)]
struct NoteRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<usize>,
    code: &'static str,
    text: String,
}

impl NoteRecord {
    fn new(note: &Note) -> Self {
        Self { message: note.message, code: note.kind.code(), text: note.kind.to_string() }
    }
}
