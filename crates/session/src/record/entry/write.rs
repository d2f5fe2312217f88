//! Entries to JSON: borrowed views that serialise, fields in the order of docs/session-record.md. What
//! is written here is what [`Entry::content_id`] hashes: a change of one byte changes every new id.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::message::EntryMessageRecord;
use super::turn::{write_session_setting, write_turn, write_turn_event};
use crate::record::parts::{write_kept, write_some, write_unknown};
use crate::record::write::TimestampRecord;
use crate::{
    BranchSummary, CompactionSummary, ContextCut, Entry, EntryId, EntryKind, Fields, Purged,
    Redaction, SessionSetting, TurnEvent, Usage, Usd,
};

/// An entry as JSON.
pub struct EntryRecord<'a> {
    entry: &'a Entry,
    id: Option<&'a EntryId>,
}

impl<'a> EntryRecord<'a> {
    /// The whole entry.
    pub fn new(entry: &'a Entry) -> Self {
        Self { entry, id: Some(&entry.id) }
    }

    /// All but the id.
    pub(crate) fn without_id(entry: &'a Entry) -> Self {
        Self { entry, id: None }
    }

    /// The JSON text, on one line.
    pub fn to_json(&self) -> String {
        to_json(self, 512)
    }
}

/// What of an entry always shows, also after its bytes were purged: id, parent, type and time.
pub struct EnvelopeRecord<'a>(pub &'a Entry);

impl EnvelopeRecord<'_> {
    /// The JSON text, on one line.
    pub fn to_json(&self) -> String {
        to_json(self, 256)
    }
}

/// Writes into room that suffices for most records, so that few grow.
fn to_json(record: &impl Serialize, room: usize) -> String {
    let mut json = Vec::with_capacity(room);
    // Writing texts under text names into memory cannot fail, and JSON is UTF-8: the fallbacks are never
    // needed.
    match serde_json::to_writer(&mut json, record) {
        Ok(()) => String::from_utf8(json).unwrap_or_default(),
        Err(_) => String::new(),
    }
}

impl Serialize for EnvelopeRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let timestamp = self.0.timestamp.as_ref().map(TimestampRecord);
        let mut map = serializer.serialize_map(None)?;
        write_id(&mut map, "id", Some(&self.0.id))?;
        write_id(&mut map, "parentId", self.0.parent_id.as_ref())?;
        map.serialize_entry("type", self.0.kind.shown_type_name())?;
        write_some(&mut map, "timestamp", timestamp.as_ref())?;
        map.end()
    }
}

impl Serialize for EntryRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entry = self.entry;
        let timestamp = entry.timestamp.as_ref().map(TimestampRecord);
        let mut map = serializer.serialize_map(None)?;
        write_some(&mut map, "id", self.id.map(EntryId::as_str))?;
        write_id(&mut map, "parentId", entry.parent_id.as_ref())?;
        map.serialize_entry("type", entry.kind.type_name())?;
        write_some(&mut map, "timestamp", timestamp.as_ref())?;
        write_some(&mut map, "runId", entry.run_id.as_ref())?;
        write_payload(&mut map, &entry.kind)?;
        write_some(&mut map, "meta", entry.meta.as_ref())?;
        // Behind the fields of the first programs: these take it for one that they do not know, and so
        // write the same bytes.
        write_some(&mut map, "salt", entry.salt.map(|salt| salt.to_string()).as_ref())?;
        let written = [
            ("timestamp", entry.timestamp.is_some()),
            ("runId", entry.run_id.is_some()),
            ("meta", entry.meta.is_some()),
            ("salt", entry.salt.is_some()),
        ];
        write_kept(&mut map, &entry.unknown, &written)?;
        map.end()
    }
}

fn write_payload<M: SerializeMap>(map: &mut M, kind: &EntryKind) -> Result<(), M::Error> {
    match kind {
        EntryKind::Message(message) => map.serialize_entry("payload", &EntryMessageRecord(message)),
        EntryKind::Custom(payload)
        | EntryKind::TurnEvent(TurnEvent { source: payload @ Some(_), .. })
        | EntryKind::SessionSetting(SessionSetting { source: payload @ Some(_), .. }) => {
            write_some(map, "payload", payload.as_ref())
        }
        EntryKind::Other(other) => write_some(map, "payload", other.payload.as_ref()),
        _ => map.serialize_entry("payload", &PayloadRecord(kind)),
    }
}

/// The payload of an entry whose fields are known.
struct PayloadRecord<'a>(&'a EntryKind);

impl Serialize for PayloadRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let unknown = match self.0 {
            EntryKind::SessionHeader(header) => {
                map.serialize_entry("version", &header.version)?;
                &header.unknown
            }
            EntryKind::ModelChange(change) => {
                map.serialize_entry("model", &change.model)?;
                &change.unknown
            }
            EntryKind::ThinkingLevelChange(change) => {
                map.serialize_entry("level", &change.level)?;
                &change.unknown
            }
            EntryKind::RuntimeInit(init) => {
                map.serialize_entry("data", &init.data)?;
                &init.unknown
            }
            EntryKind::SystemPromptOverride(other) => {
                map.serialize_entry("systemPrompt", &other.system_prompt)?;
                &other.unknown
            }
            EntryKind::TeamTask(team_task) => {
                map.serialize_entry("task", &team_task.task)?;
                &team_task.unknown
            }
            EntryKind::CompactionSummary(summary) => write_compaction_summary(&mut map, summary)?,
            EntryKind::ContextCut(cut) => write_context_cut(&mut map, cut)?,
            EntryKind::BranchSummary(summary) => write_branch_summary(&mut map, summary)?,
            EntryKind::Redaction(redaction) => write_redaction(&mut map, redaction)?,
            EntryKind::Purged(purged) => write_purged(&mut map, purged)?,
            EntryKind::Turn(turn) => write_turn(&mut map, turn)?,
            EntryKind::TurnEvent(event) => write_turn_event(&mut map, event)?,
            EntryKind::SessionSetting(setting) => write_session_setting(&mut map, setting)?,
            EntryKind::Usage(usage) => write_usage(&mut map, usage)?,
            EntryKind::Message(_) | EntryKind::Custom(_) | EntryKind::Other(_) => &Fields::NONE,
        };
        write_unknown(&mut map, unknown)?;
        map.end()
    }
}

fn write_compaction_summary<'a, M: SerializeMap>(
    map: &mut M,
    summary: &'a CompactionSummary,
) -> Result<&'a Fields, M::Error> {
    map.serialize_entry("summary", &summary.summary)?;
    write_id(map, "firstKeptEntryId", Some(&summary.first_kept_entry_id))?;
    write_id(map, "coveredFromId", summary.covered_from_id.as_ref())?;
    write_id(map, "coveredToId", summary.covered_to_id.as_ref())?;
    write_some(map, "coveredCount", summary.covered_count.as_ref())?;
    write_some(map, "coveredHash", summary.covered_hash.as_ref())?;
    write_some(map, "tokensBefore", summary.tokens_before.as_ref())?;
    write_some(map, "tokensAfter", summary.tokens_after.as_ref())?;
    write_some(map, "strategy", summary.strategy.as_ref())?;
    write_some(map, "author", summary.author.as_ref())?;
    write_ids(map, "keptIds", summary.kept_ids.as_deref())?;
    write_some(map, "refused", summary.refused.as_ref())?;
    write_some(map, "scalePermille", summary.scale_permille.as_ref())?;
    write_some(map, "reason", summary.reason.as_ref())?;
    Ok(&summary.unknown)
}

fn write_context_cut<'a, M: SerializeMap>(
    map: &mut M,
    cut: &'a ContextCut,
) -> Result<&'a Fields, M::Error> {
    map.serialize_entry("strategy", cut.strategy.as_str())?;
    write_id(map, "firstKeptEntryId", cut.first_kept_entry_id.as_ref())?;
    write_ids(map, "elidedIds", cut.elided_ids.as_deref())?;
    map.serialize_entry("tokensBefore", &cut.tokens_before)?;
    map.serialize_entry("tokensAfter", &cut.tokens_after)?;
    map.serialize_entry("reason", &cut.reason)?;
    write_ids(map, "keptIds", cut.kept_ids.as_deref())?;
    write_some(map, "scalePermille", cut.scale_permille.as_ref())?;
    Ok(&cut.unknown)
}

fn write_branch_summary<'a, M: SerializeMap>(
    map: &mut M,
    summary: &'a BranchSummary,
) -> Result<&'a Fields, M::Error> {
    map.serialize_entry("sourceSessionId", &summary.source_session_id)?;
    write_id(map, "sourceEntryId", Some(&summary.source_entry_id))?;
    write_some(map, "summary", summary.summary.as_ref())?;
    Ok(&summary.unknown)
}

fn write_redaction<'a, M: SerializeMap>(
    map: &mut M,
    redaction: &'a Redaction,
) -> Result<&'a Fields, M::Error> {
    write_id(map, "targetId", Some(&redaction.target_id))?;
    write_some(map, "reason", redaction.reason.as_ref())?;
    Ok(&redaction.unknown)
}

fn write_purged<'a, M: SerializeMap>(
    map: &mut M,
    purged: &'a Purged,
) -> Result<&'a Fields, M::Error> {
    map.serialize_entry("type", &purged.type_name)?;
    map.serialize_entry("hash", &purged.hash.to_string())?;
    write_id(map, "by", Some(&purged.by))?;
    Ok(&purged.unknown)
}

fn write_usage<'a, M: SerializeMap>(map: &mut M, usage: &'a Usage) -> Result<&'a Fields, M::Error> {
    map.serialize_entry("member", &usage.member)?;
    write_some(map, "model", usage.model.as_ref())?;
    map.serialize_entry("inputTokens", &usage.input_tokens)?;
    write_some(map, "cachedTokens", usage.cached_tokens.as_ref())?;
    map.serialize_entry("outputTokens", &usage.output_tokens)?;
    write_some(map, "costUsd", usage.cost_usd.as_ref().map(Usd::as_json))?;
    Ok(&usage.unknown)
}

pub(super) fn write_id<M: SerializeMap>(
    map: &mut M,
    name: &str,
    id: Option<&EntryId>,
) -> Result<(), M::Error> {
    write_some(map, name, id.map(EntryId::as_str))
}

fn write_ids<M: SerializeMap>(
    map: &mut M,
    name: &str,
    ids: Option<&[EntryId]>,
) -> Result<(), M::Error> {
    let ids: Option<Vec<&str>> = ids.map(|ids| ids.iter().map(EntryId::as_str).collect());
    write_some(map, name, ids.as_ref())
}
