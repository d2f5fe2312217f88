//! The payload of an entry, selected by its type, and payloads that are more than a list of fields. Turns are in a
//! separate file.

use serde::ser::SerializeMap;

use super::version_1::read_custom;
use crate::json::{FieldError, Json, Kind, Object, text, whole_number};
use crate::record::field::{Field, Payload, write_unknown};
use crate::{EntryId, EntryKind, OtherEntry, RuntimeInit, SessionHeader, TeamTask};

/// Takes `payload` and reads it as its type requires; an unknown type accepts anything.
pub(super) fn read_kind(
    object: &mut Object<'_>,
    type_name: &str,
    id: &EntryId,
) -> Result<EntryKind, FieldError> {
    if let Some(read) = EntryKind::reader(type_name) {
        return object.need_with("payload", "an object", read);
    }
    let payload = object.take("payload");
    if type_name == "custom" {
        return Ok(read_custom(id, payload));
    }
    let payload = payload.map(Json::from);
    Ok(EntryKind::Other(OtherEntry { type_name: type_name.into(), payload }))
}

impl Payload for SessionHeader {
    fn take(object: &mut Object<'_>) -> Result<Self, FieldError> {
        // The first version was the first format, so a missing version means version 1.
        let version = object.take_with("version", whole_number)?.unwrap_or(1);
        Ok(Self { version, unknown: std::mem::take(object).rest() })
    }

    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        self.version.write(map, "version")?;
        write_unknown(map, &self.unknown)
    }
}

impl Payload for RuntimeInit {
    fn take(object: &mut Object<'_>) -> Result<Self, FieldError> {
        let data = object.need_with("data", "an object", |raw| match Kind::from(raw) {
            Kind::Object => Ok(Json::from(raw)),
            _ => Err(FieldError::wrong_kind("an object", raw)),
        })?;
        Ok(Self { data, unknown: std::mem::take(object).rest() })
    }

    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        self.data.write(map, "data")?;
        write_unknown(map, &self.unknown)
    }
}

impl Payload for TeamTask {
    fn take(object: &mut Object<'_>) -> Result<Self, FieldError> {
        let expected = "a string, or null to remove the task";
        let task = object.need_with("task", expected, |raw| match Kind::from(raw) {
            Kind::Null => Ok(None),
            _ => Ok(Some(text(raw)?.into())),
        })?;
        Ok(Self { task, unknown: std::mem::take(object).rest() })
    }

    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        // A removed task is written as `null`.
        map.serialize_entry("task", &self.task)?;
        write_unknown(map, &self.unknown)
    }
}
