//! The payloads of entries: one reader per type. A field that is there must be of its kind; `null` in
//! an optional field counts as not there.

use std::str::FromStr;

use serde_json::value::RawValue;

use super::message::read_entry_message;
use super::turn::{read_session_setting, read_turn, read_turn_event};
use super::version_1::read_custom;
use crate::json::{FieldError, Json, Kind, Object, Problem, elements, text, whole_number};
use crate::record::read::lenient;
use crate::{
    BranchSummary, CompactionSummary, ContextCut, EntryId, EntryKind, Fields, ModelChange,
    OtherEntry, Purged, RecordHash, Redaction, RuntimeInit, SessionHeader, SystemPromptOverride,
    TeamTask, ThinkingLevelChange, UnknownWord, Usage, Usd,
};

const HASH: &str = "64 hex digits, in lower case";

type Reader = fn(&RawValue) -> Result<EntryKind, FieldError>;

/// Takes `payload` out and reads it as this type asks; an unknown type takes anything.
pub(super) fn read_kind(
    object: &mut Object<'_>,
    type_name: &str,
    id: &EntryId,
) -> Result<EntryKind, FieldError> {
    let read: Reader = match type_name {
        "session_header" => read_session_header,
        "message" => |raw| read_entry_message(raw).map(EntryKind::Message),
        "model_change" => read_model_change,
        "thinking_level_change" => read_thinking_level_change,
        "runtime_init" => read_runtime_init,
        "system_prompt_override" => read_system_prompt_override,
        "team_task" => read_team_task,
        "compaction_summary" => read_compaction_summary,
        "context_cut" => read_context_cut,
        "branch_summary" => read_branch_summary,
        "redaction" => read_redaction,
        "purged" => read_purged,
        "turn" => read_turn,
        "turn_event" => read_turn_event,
        "session_setting" => read_session_setting,
        "usage" => read_usage,
        "custom" => return Ok(read_custom(id, object.take("payload"))),
        _ => return Ok(read_other(object, type_name)),
    };
    let payload = object.need("payload", "an object")?;
    read(payload).map_err(|error| error.within("payload"))
}

fn read_other(object: &mut Object<'_>, type_name: &str) -> EntryKind {
    let payload = object.take("payload").map(Json::from);
    EntryKind::Other(OtherEntry { type_name: type_name.into(), payload })
}

fn read_session_header(raw: &RawValue) -> Result<EntryKind, FieldError> {
    let mut object = Object::try_from(raw)?;
    // The first form had no other before it that a missing version could stand for.
    let version = object.take_with("version", whole_number)?.unwrap_or(1);
    Ok(EntryKind::SessionHeader(SessionHeader { version, unknown: object.rest() }))
}

fn read_model_change(raw: &RawValue) -> Result<EntryKind, FieldError> {
    let mut object = Object::try_from(raw)?;
    let model = object.need_text("model")?.into();
    Ok(EntryKind::ModelChange(ModelChange { model, unknown: object.rest() }))
}

fn read_thinking_level_change(raw: &RawValue) -> Result<EntryKind, FieldError> {
    let mut object = Object::try_from(raw)?;
    let level = object.need_text("level")?.into();
    Ok(EntryKind::ThinkingLevelChange(ThinkingLevelChange { level, unknown: object.rest() }))
}

fn read_runtime_init(raw: &RawValue) -> Result<EntryKind, FieldError> {
    let mut object = Object::try_from(raw)?;
    let data = object.need("data", "an object")?;
    if Kind::from(data) != Kind::Object {
        return Err(FieldError::wrong_kind("an object", data).within("data"));
    }
    let data = Json::from(data);
    Ok(EntryKind::RuntimeInit(RuntimeInit { data, unknown: object.rest() }))
}

fn read_system_prompt_override(raw: &RawValue) -> Result<EntryKind, FieldError> {
    let mut object = Object::try_from(raw)?;
    let system_prompt = object.need_text("systemPrompt")?.into();
    let unknown = object.rest();
    Ok(EntryKind::SystemPromptOverride(SystemPromptOverride { system_prompt, unknown }))
}

fn read_team_task(raw: &RawValue) -> Result<EntryKind, FieldError> {
    let mut object = Object::try_from(raw)?;
    let task = object.need("task", "a string, or null to take the task away")?;
    let task = match Kind::from(task) {
        Kind::Null => None,
        _ => Some(text(task).map_err(|error| error.within("task"))?.into()),
    };
    Ok(EntryKind::TeamTask(TeamTask { task, unknown: object.rest() }))
}

fn read_compaction_summary(raw: &RawValue) -> Result<EntryKind, FieldError> {
    let mut object = Object::try_from(raw)?;
    let mut kept = Fields::NONE;
    let mut summary = CompactionSummary {
        summary: object.need_text("summary")?.into(),
        first_kept_entry_id: object.need_text("firstKeptEntryId")?.into(),
        covered_from_id: take_id(&mut object, "coveredFromId")?,
        covered_to_id: take_id(&mut object, "coveredToId")?,
        covered_count: object.take_with("coveredCount", whole_number)?,
        covered_hash: take_boxed(&mut object, "coveredHash")?,
        tokens_before: object.take_with("tokensBefore", whole_number)?,
        tokens_after: object.take_with("tokensAfter", whole_number)?,
        strategy: take_boxed(&mut object, "strategy")?,
        author: take_boxed(&mut object, "author")?,
        kept_ids: object.take_with("keptIds", read_ids)?,
        refused: take_boxed(&mut object, "refused")?,
        scale_permille: object.take_with("scalePermille", whole_number)?,
        // Version 1 did not define it.
        reason: lenient(&mut object, &mut kept, "reason", |raw| Some(text(raw).ok()?.into())),
        unknown: object.rest(),
    };
    summary.unknown.extend(kept);
    Ok(EntryKind::CompactionSummary(Box::new(summary)))
}

fn read_context_cut(raw: &RawValue) -> Result<EntryKind, FieldError> {
    let mut object = Object::try_from(raw)?;
    Ok(EntryKind::ContextCut(ContextCut {
        strategy: need_word(&mut object, "strategy")?,
        first_kept_entry_id: take_id(&mut object, "firstKeptEntryId")?,
        elided_ids: object.take_with("elidedIds", read_ids)?,
        tokens_before: need_count(&mut object, "tokensBefore")?,
        tokens_after: need_count(&mut object, "tokensAfter")?,
        reason: object.need_text("reason")?.into(),
        kept_ids: object.take_with("keptIds", read_ids)?,
        scale_permille: object.take_with("scalePermille", whole_number)?,
        unknown: object.rest(),
    }))
}

fn read_branch_summary(raw: &RawValue) -> Result<EntryKind, FieldError> {
    let mut object = Object::try_from(raw)?;
    Ok(EntryKind::BranchSummary(BranchSummary {
        source_session_id: object.need_text("sourceSessionId")?.into(),
        source_entry_id: object.need_text("sourceEntryId")?.into(),
        summary: take_boxed(&mut object, "summary")?,
        unknown: object.rest(),
    }))
}

fn read_redaction(raw: &RawValue) -> Result<EntryKind, FieldError> {
    let mut object = Object::try_from(raw)?;
    Ok(EntryKind::Redaction(Redaction {
        target_id: object.need_text("targetId")?.into(),
        reason: take_boxed(&mut object, "reason")?,
        unknown: object.rest(),
    }))
}

fn read_purged(raw: &RawValue) -> Result<EntryKind, FieldError> {
    let mut object = Object::try_from(raw)?;
    let type_name = object.need_text("type")?.into();
    let hash = object.need_text("hash")?;
    let wrong = |got| FieldError::new(Problem::NotOneOf { allowed: HASH, got }).within("hash");
    Ok(EntryKind::Purged(Purged {
        type_name,
        hash: hash.parse::<RecordHash>().map_err(|_| wrong(hash))?,
        by: object.need_text("by")?.into(),
        unknown: object.rest(),
    }))
}

fn read_usage(raw: &RawValue) -> Result<EntryKind, FieldError> {
    let mut object = Object::try_from(raw)?;
    Ok(EntryKind::Usage(Usage {
        member: object.need_text("member")?.into(),
        model: take_boxed(&mut object, "model")?,
        input_tokens: need_count(&mut object, "inputTokens")?,
        cached_tokens: object.take_with("cachedTokens", whole_number)?,
        output_tokens: need_count(&mut object, "outputTokens")?,
        cost_usd: object.take_with("costUsd", read_usd)?,
        unknown: object.rest(),
    }))
}

fn read_usd(raw: &RawValue) -> Result<Usd, FieldError> {
    Usd::from_json(Json::from(raw))
        .ok_or_else(|| FieldError::wrong_kind("a number of 0 or more", raw))
}

fn read_ids(raw: &RawValue) -> Result<Vec<EntryId>, FieldError> {
    let read = |(index, raw)| match text(raw) {
        Ok(id) => Ok(EntryId::from(id)),
        Err(error) => Err(error.at_index(index)),
    };
    elements(raw)?.into_iter().enumerate().map(read).collect()
}

pub(super) fn take_id(object: &mut Object<'_>, name: &str) -> Result<Option<EntryId>, FieldError> {
    Ok(object.take_text(name)?.map(EntryId::from))
}

pub(super) fn take_boxed(
    object: &mut Object<'_>,
    name: &str,
) -> Result<Option<Box<str>>, FieldError> {
    Ok(object.take_text(name)?.map(Into::into))
}

pub(super) fn need_count(object: &mut Object<'_>, name: &str) -> Result<u64, FieldError> {
    let raw = object.need(name, "a whole number of 0 or more")?;
    whole_number(raw).map_err(|error| error.within(name))
}

pub(super) fn need_word<T: FromStr<Err = UnknownWord>>(
    object: &mut Object<'_>,
    name: &str,
) -> Result<T, FieldError> {
    let got = object.need_text(name)?;
    got.parse().map_err(|UnknownWord { allowed, .. }| {
        FieldError::new(Problem::NotOneOf { allowed, got }).within(name)
    })
}
