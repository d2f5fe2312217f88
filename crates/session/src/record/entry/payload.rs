//! The payloads of entries, each with the names of its fields. Turns have a file of their own.

use serde::ser::SerializeMap;

use super::message::read_entry_message;
use super::version_1::read_custom;
use crate::json::{FieldError, Json, Kind, Object, RawValue, text, whole_number};
use crate::record::field::{Field, Payload, fields, write_unknown};
use crate::record::read::{lenient, read_text};
use crate::{
    BranchSummary, CompactionSummary, ContextCut, EntryId, EntryKind, Fields, ModelChange,
    OtherEntry, Purged, Redaction, RuntimeInit, SessionHeader, SystemPromptOverride, TeamTask,
    ThinkingLevelChange, Usage,
};

/// Takes `payload` out and reads it as this type asks; an unknown type takes anything.
pub(super) fn read_kind(
    object: &mut Object<'_>,
    type_name: &str,
    id: &EntryId,
) -> Result<EntryKind, FieldError> {
    let read: fn(&RawValue) -> Result<EntryKind, FieldError> = match type_name {
        "session_header" => |raw| read(raw).map(EntryKind::SessionHeader),
        "message" => |raw| read_entry_message(raw).map(EntryKind::Message),
        "model_change" => |raw| read(raw).map(EntryKind::ModelChange),
        "thinking_level_change" => |raw| read(raw).map(EntryKind::ThinkingLevelChange),
        "runtime_init" => |raw| read_runtime_init(raw).map(EntryKind::RuntimeInit),
        "system_prompt_override" => |raw| read(raw).map(EntryKind::SystemPromptOverride),
        "team_task" => |raw| read(raw).map(EntryKind::TeamTask),
        "compaction_summary" => |raw| read_summary(raw).map(EntryKind::CompactionSummary),
        "context_cut" => |raw| read_cut(raw).map(EntryKind::ContextCut),
        "branch_summary" => |raw| read(raw).map(EntryKind::BranchSummary),
        "redaction" => |raw| read(raw).map(EntryKind::Redaction),
        "purged" => |raw| read(raw).map(EntryKind::Purged),
        "turn" => |raw| Ok(EntryKind::Turn(Box::new(read(raw)?))),
        "turn_event" => |raw| read(raw).map(EntryKind::TurnEvent),
        "session_setting" => |raw| read(raw).map(EntryKind::SessionSetting),
        "usage" => |raw| read(raw).map(EntryKind::Usage),
        "custom" => return Ok(read_custom(id, object.take("payload"))),
        _ => {
            let payload = object.take("payload").map(Json::from);
            return Ok(EntryKind::Other(OtherEntry { type_name: type_name.into(), payload }));
        }
    };
    object.need_with("payload", "an object", read)
}

fn read<T: Payload>(raw: &RawValue) -> Result<T, FieldError> {
    T::take(&mut Object::try_from(raw)?)
}

fn read_runtime_init(raw: &RawValue) -> Result<RuntimeInit, FieldError> {
    let init: RuntimeInit = read(raw)?;
    match init.data.kind() {
        Kind::Object => Ok(init),
        _ => Err(FieldError::wrong_kind("an object", init.data.raw()).within("data")),
    }
}

fn read_summary(raw: &RawValue) -> Result<Box<CompactionSummary>, FieldError> {
    let mut object = Object::try_from(raw)?;
    let mut kept = Fields::NONE;
    // Earlier versions did not define these.
    let reason = lenient(&mut object, &mut kept, "reason", read_text);
    let older_count = lenient(&mut object, &mut kept, "olderCount", |raw| whole_number(raw).ok());
    let member = lenient(&mut object, &mut kept, "member", read_text);
    let taken = Payload::take(&mut object)?;
    let mut summary = CompactionSummary { reason, older_count, member, ..taken };
    summary.unknown.extend(kept);
    Ok(Box::new(summary))
}

fn read_cut(raw: &RawValue) -> Result<ContextCut, FieldError> {
    let mut object = Object::try_from(raw)?;
    let mut kept = Fields::NONE;
    // Earlier versions did not define it.
    let member = lenient(&mut object, &mut kept, "member", read_text);
    let mut cut = ContextCut { member, ..Payload::take(&mut object)? };
    cut.unknown.extend(kept);
    Ok(cut)
}

pub(super) fn write_payload<M: SerializeMap>(
    map: &mut M,
    kind: &EntryKind,
) -> Result<(), M::Error> {
    match kind {
        EntryKind::SessionHeader(payload) => payload.write(map),
        EntryKind::ModelChange(payload) => payload.write(map),
        EntryKind::ThinkingLevelChange(payload) => payload.write(map),
        EntryKind::RuntimeInit(payload) => payload.write(map),
        EntryKind::SystemPromptOverride(payload) => payload.write(map),
        EntryKind::TeamTask(payload) => payload.write(map),
        EntryKind::CompactionSummary(payload) => payload.write(map),
        EntryKind::ContextCut(payload) => payload.write(map),
        EntryKind::BranchSummary(payload) => payload.write(map),
        EntryKind::Redaction(payload) => payload.write(map),
        EntryKind::Purged(payload) => payload.write(map),
        EntryKind::Turn(payload) => payload.write(map),
        EntryKind::TurnEvent(payload) => payload.write(map),
        EntryKind::SessionSetting(payload) => payload.write(map),
        EntryKind::Usage(payload) => payload.write(map),
        EntryKind::Message(_) | EntryKind::Custom(_) | EntryKind::Other(_) => Ok(()),
    }
}

fields!(ModelChange { model: "model", ..unknown });
fields!(ThinkingLevelChange { level: "level", ..unknown });
fields!(RuntimeInit { data: "data", ..unknown });
fields!(SystemPromptOverride { system_prompt: "systemPrompt", ..unknown });
fields!(CompactionSummary {
    summary: "summary",
    first_kept_entry_id: "firstKeptEntryId",
    covered_from_id: "coveredFromId",
    covered_to_id: "coveredToId",
    covered_count: "coveredCount",
    covered_hash: "coveredHash",
    tokens_before: "tokensBefore",
    tokens_after: "tokensAfter",
    strategy: "strategy",
    author: "author",
    kept_ids: "keptIds",
    refused: "refused",
    scale_permille: "scalePermille",
    reason: "reason",
    older_count: "olderCount",
    member: "member",
    ..unknown
});
fields!(ContextCut {
    strategy: "strategy",
    first_kept_entry_id: "firstKeptEntryId",
    elided_ids: "elidedIds",
    tokens_before: "tokensBefore",
    tokens_after: "tokensAfter",
    reason: "reason",
    kept_ids: "keptIds",
    scale_permille: "scalePermille",
    member: "member",
    ..unknown
});
fields!(BranchSummary {
    source_session_id: "sourceSessionId",
    source_entry_id: "sourceEntryId",
    summary: "summary",
    ..unknown
});
fields!(Redaction { target_id: "targetId", reason: "reason", ..unknown });
fields!(Purged { type_name: "type", hash: "hash", by: "by", ..unknown });
fields!(Usage {
    member: "member",
    model: "model",
    input_tokens: "inputTokens",
    cached_tokens: "cachedTokens",
    output_tokens: "outputTokens",
    cost_usd: "costUsd",
    ..unknown
});

impl Payload for SessionHeader {
    fn take(object: &mut Object<'_>) -> Result<Self, FieldError> {
        // The first form had no other before it that a missing version could stand for.
        let version = object.take_with("version", whole_number)?.unwrap_or(1);
        Ok(Self { version, unknown: std::mem::take(object).rest() })
    }

    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        self.version.write(map, "version")?;
        write_unknown(map, &self.unknown)
    }
}

impl Payload for TeamTask {
    fn take(object: &mut Object<'_>) -> Result<Self, FieldError> {
        let expected = "a string, or null to take the task away";
        let task = object.need_with("task", expected, |raw| match Kind::from(raw) {
            Kind::Null => Ok(None),
            _ => Ok(Some(text(raw)?.into())),
        })?;
        Ok(Self { task, unknown: std::mem::take(object).rest() })
    }

    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        // A task that is taken away is `null`.
        map.serialize_entry("task", &self.task)?;
        write_unknown(map, &self.unknown)
    }
}
