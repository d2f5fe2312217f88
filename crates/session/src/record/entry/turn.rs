//! Turns, what happened during them, and settings of a session as payloads. Their cause, activity and setting have a
//! `kind`; one that this version does not know is kept with all its fields.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::payload::{need_count, need_word, take_boxed, take_id};
use super::version_1;
use super::write::write_id;
use crate::json::{FieldError, Json, Kind, Object, boolean, whole_number};
use crate::record::parts::write_some;
use crate::{
    Cause, EntryId, EntryKind, Fields, SessionSetting, Setting, Turn, TurnActivity, TurnEvent,
};

pub(super) fn read_turn(raw: &RawValue) -> Result<EntryKind, FieldError> {
    let mut object = Object::try_from(raw)?;
    let member = object.need_text("member")?.into();
    let state = need_word(&mut object, "state")?;
    let source = object.need("cause", "an object with a kind")?;
    let (turn_id, cause, cause_source) = match Kind::from(source) {
        Kind::String => version_1::read_cause(source).map_err(|error| error.within("cause"))?,
        _ => {
            let (cause, unknown) = read_cause(source).map_err(|error| error.within("cause"))?;
            let source = (!unknown.is_empty()).then(|| Json::from(source));
            (take_id(&mut object, "turnId")?, cause, source)
        }
    };
    Ok(EntryKind::Turn(Box::new(Turn {
        member,
        state,
        turn_id,
        cause,
        cause_source,
        error_class: take_boxed(&mut object, "errorClass")?,
        prompt_hash: take_boxed(&mut object, "promptHash")?,
        prompt_recipe: object.take_some("promptRecipe").map(Json::from),
        native_session_id: take_boxed(&mut object, "nativeSessionId")?,
        unknown: object.rest(),
    })))
}

/// The cause, and the fields of it that this version does not know.
fn read_cause(raw: &RawValue) -> Result<(Cause, Fields), FieldError> {
    let mut object = Object::try_from(raw)?;
    let from = &mut object;
    let cause = match from.need_text("kind")?.as_str() {
        "asked" => Cause::Asked {
            entry: from.need_text("entryId")?.into(),
            by: take_boxed(from, "by")?,
            route: need_word(from, "route")?,
            intent: need_word(from, "intent")?,
        },
        "repeated" => Cause::Repeated {
            turn: from.need_text("turnId")?.into(),
            entry: from.need_text("entryId")?.into(),
            by: take_boxed(from, "by")?,
            intent: need_word(from, "intent")?,
        },
        "chosen" => Cause::Chosen { rule: need_word(from, "rule")? },
        "answered" => Cause::Answered { entry: from.need_text("entryId")?.into() },
        "failed" => Cause::Failed { class: from.need_text("errorClass")?.into() },
        "cancelled" => {
            Cause::Cancelled { all: from.take_with("all", boolean)?.unwrap_or_default() }
        }
        "dropped" => {
            Cause::Dropped { entry: from.need_text("entryId")?.into(), by: take_boxed(from, "by")? }
        }
        "declined" => Cause::Declined {
            entry: from.need_text("entryId")?.into(),
            by: take_boxed(from, "by")?,
        },
        "passed_over" => Cause::PassedOver,
        "cut_off" => Cause::CutOff { entry: from.need_text("entryId")?.into() },
        "program_stopped" => Cause::ProgramStopped,
        _ => return Ok((Cause::Other(Json::from(raw)), Fields::NONE)),
    };
    Ok((cause, object.rest()))
}

pub(super) fn read_turn_event(raw: &RawValue) -> Result<EntryKind, FieldError> {
    let mut object = Object::try_from(raw)?;
    let from = &mut object;
    let turn_id = from.need_text("turnId")?.into();
    let member = from.need_text("member")?.into();
    let kind = from.need_text("kind")?;
    let activity = match kind.as_str() {
        "began" => TurnActivity::Began {
            session: from.need_text("nativeSessionId")?.into(),
            model: take_boxed(from, "model")?,
        },
        "tool_started" => TurnActivity::ToolStarted {
            id: from.need_text("toolCallId")?.into(),
            name: from.need_text("toolName")?.into(),
            input: Json::from(from.need("arguments", "the arguments as JSON")?),
        },
        "tool_finished" => TurnActivity::ToolFinished {
            id: from.need_text("toolCallId")?.into(),
            name: take_boxed(from, "toolName")?,
            output: take_boxed(from, "output")?,
            is_error: from.take_with("isError", boolean)?.unwrap_or_default(),
        },
        "tool_denied" => TurnActivity::ToolDenied {
            name: from.need_text("toolName")?.into(),
            reason: take_boxed(from, "reason")?,
        },
        "permission_asked" => {
            TurnActivity::PermissionAsked { title: from.need_text("title")?.into() }
        }
        "permission_answered" => TurnActivity::PermissionAnswered {
            title: from.need_text("title")?.into(),
            choice: take_boxed(from, "choice")?,
        },
        "thought" => TurnActivity::Thought { text: from.need_text("text")?.into() },
        "warned" => TurnActivity::Warned {
            class: take_boxed(from, "errorClass")?,
            message: from.need_text("message")?.into(),
        },
        "failed" => TurnActivity::Failed {
            class: from.need_text("errorClass")?.into(),
            message: from.need_text("message")?.into(),
            cure: from.need_text("cure")?.into(),
        },
        "retried" => TurnActivity::Retried { budget: need_count(from, "budget")? },
        "resent" => TurnActivity::Resent {
            prompt_hash: from.need_text("promptHash")?.into(),
            prompt_recipe: Json::from(from.need("promptRecipe", "how the prompt was made")?),
        },
        _ => TurnActivity::Other { kind: kind.into() },
    };
    let unknown = object.rest();
    Ok(EntryKind::TurnEvent(TurnEvent { turn_id, member, activity, source: None, unknown }))
}

pub(super) fn read_session_setting(raw: &RawValue) -> Result<EntryKind, FieldError> {
    let mut object = Object::try_from(raw)?;
    let from = &mut object;
    let kind = from.need_text("kind")?;
    let setting = match kind.as_str() {
        "continued" => Setting::Continued { count: need_count(from, "count")? },
        "reopened" => Setting::Reopened { count: need_count(from, "count")? },
        "folder" => Setting::Folder { path: from.need_text("path")?.into() },
        "turns_max" => {
            let turns = from.take_with("turns", whole_number)?;
            Setting::TurnsMax { turns: turns.map(|turns| u32::try_from(turns).unwrap_or(u32::MAX)) }
        }
        "title" => Setting::Title { title: from.need_text("title")?.into() },
        _ => Setting::Other { kind: kind.into() },
    };
    let unknown = object.rest();
    Ok(EntryKind::SessionSetting(SessionSetting { setting, source: None, unknown }))
}

pub(super) fn write_turn<'a, M: SerializeMap>(
    map: &mut M,
    turn: &'a Turn,
) -> Result<&'a Fields, M::Error> {
    let source = match &turn.cause {
        Cause::Other(source) => Some(source),
        _ => turn.cause_source.as_ref(),
    };
    map.serialize_entry("member", &turn.member)?;
    map.serialize_entry("state", turn.state.as_str())?;
    match source {
        // A text names the turn itself, if it does.
        Some(text) if text.kind() == Kind::String => map.serialize_entry("cause", text)?,
        _ => {
            write_id(map, "turnId", turn.turn_id.as_ref())?;
            match source {
                Some(source) => map.serialize_entry("cause", source)?,
                None => map.serialize_entry("cause", &CauseRecord(&turn.cause))?,
            }
        }
    }
    write_some(map, "errorClass", turn.error_class.as_ref())?;
    write_some(map, "promptHash", turn.prompt_hash.as_ref())?;
    write_some(map, "promptRecipe", turn.prompt_recipe.as_ref())?;
    write_some(map, "nativeSessionId", turn.native_session_id.as_ref())?;
    Ok(&turn.unknown)
}

/// A cause that this version knows.
struct CauseRecord<'a>(&'a Cause);

impl Serialize for CauseRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut record = serializer.serialize_map(None)?;
        let map = &mut record;
        match self.0 {
            Cause::Asked { entry, by, route, intent } => {
                begin(map, "asked", Some(entry), by.as_deref())?;
                map.serialize_entry("route", route.as_str())?;
                map.serialize_entry("intent", intent.as_str())?;
            }
            Cause::Repeated { turn, entry, by, intent } => {
                begin(map, "repeated", Some(entry), by.as_deref())?;
                write_id(map, "turnId", Some(turn))?;
                map.serialize_entry("intent", intent.as_str())?;
            }
            Cause::Chosen { rule } => {
                begin(map, "chosen", None, None)?;
                map.serialize_entry("rule", rule.as_str())?;
            }
            Cause::Answered { entry } => begin(map, "answered", Some(entry), None)?,
            Cause::Failed { class } => {
                begin(map, "failed", None, None)?;
                map.serialize_entry("errorClass", class)?;
            }
            Cause::Cancelled { all } => {
                begin(map, "cancelled", None, None)?;
                write_some(map, "all", all.then_some(&true))?;
            }
            Cause::Dropped { entry, by } => begin(map, "dropped", Some(entry), by.as_deref())?,
            Cause::Declined { entry, by } => begin(map, "declined", Some(entry), by.as_deref())?,
            Cause::PassedOver => begin(map, "passed_over", None, None)?,
            Cause::CutOff { entry } => begin(map, "cut_off", Some(entry), None)?,
            Cause::ProgramStopped => begin(map, "program_stopped", None, None)?,
            // Written as it was read.
            Cause::Other(_) => {}
        }
        record.end()
    }
}

/// Writes what several causes have.
fn begin<M: SerializeMap>(
    map: &mut M,
    kind: &str,
    entry: Option<&EntryId>,
    by: Option<&str>,
) -> Result<(), M::Error> {
    map.serialize_entry("kind", kind)?;
    write_id(map, "entryId", entry)?;
    write_some(map, "by", by)
}

pub(super) fn write_turn_event<'a, M: SerializeMap>(
    map: &mut M,
    event: &'a TurnEvent,
) -> Result<&'a Fields, M::Error> {
    write_id(map, "turnId", Some(&event.turn_id))?;
    map.serialize_entry("member", &event.member)?;
    map.serialize_entry("kind", event.activity.kind())?;
    match &event.activity {
        TurnActivity::Began { session, model } => {
            map.serialize_entry("nativeSessionId", session)?;
            write_some(map, "model", model.as_ref())?;
        }
        TurnActivity::ToolStarted { id, name, input } => {
            map.serialize_entry("toolCallId", id)?;
            map.serialize_entry("toolName", name)?;
            map.serialize_entry("arguments", input)?;
        }
        TurnActivity::ToolFinished { id, name, output, is_error } => {
            map.serialize_entry("toolCallId", id)?;
            write_some(map, "toolName", name.as_ref())?;
            write_some(map, "output", output.as_ref())?;
            map.serialize_entry("isError", is_error)?;
        }
        TurnActivity::ToolDenied { name, reason } => {
            map.serialize_entry("toolName", name)?;
            write_some(map, "reason", reason.as_ref())?;
        }
        TurnActivity::PermissionAsked { title } => map.serialize_entry("title", title)?,
        TurnActivity::PermissionAnswered { title, choice } => {
            map.serialize_entry("title", title)?;
            write_some(map, "choice", choice.as_ref())?;
        }
        TurnActivity::Thought { text } => map.serialize_entry("text", text)?,
        TurnActivity::Warned { class, message } => {
            write_some(map, "errorClass", class.as_ref())?;
            map.serialize_entry("message", message)?;
        }
        TurnActivity::Failed { class, message, cure } => {
            map.serialize_entry("errorClass", class)?;
            map.serialize_entry("message", message)?;
            map.serialize_entry("cure", cure)?;
        }
        TurnActivity::Retried { budget } => map.serialize_entry("budget", budget)?,
        TurnActivity::Resent { prompt_hash, prompt_recipe } => {
            map.serialize_entry("promptHash", prompt_hash)?;
            map.serialize_entry("promptRecipe", prompt_recipe)?;
        }
        TurnActivity::Other { .. } => {}
    }
    Ok(&event.unknown)
}

pub(super) fn write_session_setting<'a, M: SerializeMap>(
    map: &mut M,
    setting: &'a SessionSetting,
) -> Result<&'a Fields, M::Error> {
    map.serialize_entry("kind", setting.setting.kind())?;
    match &setting.setting {
        Setting::Continued { count } | Setting::Reopened { count } => {
            map.serialize_entry("count", count)?;
        }
        Setting::Folder { path } => map.serialize_entry("path", path)?,
        Setting::TurnsMax { turns } => write_some(map, "turns", turns.as_ref())?,
        Setting::Title { title } => map.serialize_entry("title", title)?,
        Setting::Other { .. } => {}
    }
    Ok(&setting.unknown)
}
