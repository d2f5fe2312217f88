//! Turns, their events and session settings as payloads. Causes, activities and settings have a `kind`; one with an
//! unknown kind is kept with all its fields.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::version_1;
use crate::json::{FieldError, Json, Kind, Object, RawValue};
use crate::record::field::{Field, Payload, take_later, write_unknown};
use crate::{Cause, Fields, SessionSetting, Setting, Turn, TurnActivity, TurnEvent};

impl Payload for Turn {
    fn take(object: &mut Object<'_>) -> Result<Self, FieldError> {
        let member = Field::take(object, "member")?;
        let state = Field::take(object, "state")?;
        let source = object.need("cause", "an object with a kind")?;
        let (turn_id, cause, cause_source) = match Kind::from(source) {
            Kind::String => version_1::read_cause(source).map_err(|error| error.within("cause"))?,
            _ => {
                let (cause, unknown) = read_cause(source).map_err(|error| error.within("cause"))?;
                let source = (!unknown.is_empty()).then(|| Json::from(source));
                (Field::take(object, "turnId")?, cause, source)
            }
        };
        Ok(Self {
            member,
            state,
            turn_id,
            cause,
            cause_source,
            error_class: Field::take(object, "errorClass")?,
            prompt_hash: Field::take(object, "promptHash")?,
            prompt_recipe: Field::take(object, "promptRecipe")?,
            native_session_id: Field::take(object, "nativeSessionId")?,
            memory: take_later(object, "memory"),
            native_head: take_later(object, "nativeHead"),
            unknown: std::mem::take(object).rest(),
        })
    }

    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let source = match &self.cause {
            Cause::Other(source) => Some(source),
            _ => self.cause_source.as_ref(),
        };
        self.member.write(map, "member")?;
        self.state.write(map, "state")?;
        // A cause of version 1 may already contain the id of the turn.
        if source.is_none_or(|source| source.kind() != Kind::String) {
            self.turn_id.write(map, "turnId")?;
        }
        match source {
            Some(source) => source.write(map, "cause")?,
            None => map.serialize_entry("cause", &CauseRecord(&self.cause))?,
        }
        self.error_class.write(map, "errorClass")?;
        self.prompt_hash.write(map, "promptHash")?;
        self.prompt_recipe.write(map, "promptRecipe")?;
        self.native_session_id.write(map, "nativeSessionId")?;
        self.memory.write(map, "memory")?;
        self.native_head.write(map, "nativeHead")?;
        write_unknown(map, &self.unknown)
    }
}

/// Reads the cause and its unknown fields.
fn read_cause(raw: &RawValue) -> Result<(Cause, Fields), FieldError> {
    let mut object = Object::try_from(raw)?;
    let kind = object.need_text("kind")?;
    Ok(match Cause::take(&kind, &mut object)? {
        Some(cause) => (cause, object.rest()),
        None => (Cause::Other(Json::from(raw)), Fields::NONE),
    })
}

struct CauseRecord<'a>(&'a Cause);

impl Serialize for CauseRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", self.0.kind())?;
        // `all` is written only if it is true.
        if *self.0 != (Cause::Cancelled { all: false }) {
            self.0.write(&mut map)?;
        }
        map.end()
    }
}

impl Payload for TurnEvent {
    fn take(object: &mut Object<'_>) -> Result<Self, FieldError> {
        let turn_id = Field::take(object, "turnId")?;
        let member = Field::take(object, "member")?;
        let kind: Box<str> = Field::take(object, "kind")?;
        let activity = TurnActivity::take(&kind, object)?;
        let activity = activity.unwrap_or(TurnActivity::Other { kind });
        let unknown = std::mem::take(object).rest();
        Ok(Self { turn_id, member, activity, source: None, unknown })
    }

    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        self.turn_id.write(map, "turnId")?;
        self.member.write(map, "member")?;
        map.serialize_entry("kind", self.activity.kind())?;
        self.activity.write(map)?;
        write_unknown(map, &self.unknown)
    }
}

impl Payload for SessionSetting {
    fn take(object: &mut Object<'_>) -> Result<Self, FieldError> {
        let kind: Box<str> = Field::take(object, "kind")?;
        let setting = Setting::take(&kind, object)?.unwrap_or(Setting::Other { kind });
        Ok(Self { setting, source: None, unknown: std::mem::take(object).rest() })
    }

    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("kind", self.setting.kind())?;
        self.setting.write(map)?;
        write_unknown(map, &self.unknown)
    }
}
