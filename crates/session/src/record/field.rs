//! The fields of records. A payload is defined by a list of fields with their names in JSON, in the order in which
//! they are read and written. A field must have the defined type; `null` in an optional field counts as missing.

use std::borrow::Cow;
use std::str::FromStr;

use serde::ser::{Serialize, SerializeMap};
use serde_json::value::RawValue;

use super::read::lenient;
use crate::json::{FieldError, Json, Object, Problem, boolean, each, text, whole_number};
use crate::{EntryId, Fields, RecordHash, Timestamp, UnknownWord, Usd};

/// The value of a field, which is required unless it is an [`Option`].
pub(crate) trait Value: Serialize + Sized {
    /// Returns the expected value for the error about a missing field of this name.
    fn expected(_name: &str) -> &'static str {
        "a string"
    }

    fn read(raw: &RawValue) -> Result<Self, FieldError>;
}

pub(crate) trait Field: Sized {
    fn take(object: &mut Object<'_>, name: &str) -> Result<Self, FieldError>;

    /// Writes the field, if it has a value.
    fn write<M: SerializeMap>(&self, map: &mut M, name: &str) -> Result<(), M::Error>;
}

/// A value whose fields are those of an object.
pub(crate) trait Payload: Sized {
    fn read(raw: &RawValue) -> Result<Self, FieldError> {
        Self::take(&mut Object::try_from(raw)?)
    }

    fn take(object: &mut Object<'_>) -> Result<Self, FieldError>;

    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;
}

/// Defines structs that are payloads: `field: type = "name in JSON"`. Fields in `later` were added after the first
/// versions; one that cannot be read is kept. `..unknown` contains the other fields of the object.
macro_rules! payloads {
    ($(
        $(#[$attribute:meta])*
        pub struct $type:ident {
            $($(#[$about:meta])* pub $field:ident: $kind:ty = $name:literal,)+
            $(later {
                $($(#[$later_about:meta])* pub $later:ident: $later_kind:ty = $later_name:literal,)+
            })?
            $(..$unknown:ident)?
        }
    )+) => {$(
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $type {
            $($(#[$about])* pub $field: $kind,)+
            $($($(#[$later_about])* pub $later: $later_kind,)+)?
            $(pub $unknown: $crate::Fields,)?
        }

        impl $crate::record::field::Payload for $type {
            fn take(object: &mut $crate::json::Object<'_>) -> Result<Self, $crate::json::FieldError> {
                Ok(Self {
                    $($field: $crate::record::field::Field::take(object, $name)?,)+
                    $($($later: $crate::record::field::take_later(object, $later_name),)+)?
                    $($unknown: std::mem::take(object).rest(),)?
                })
            }

            fn write<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                $($crate::record::field::Field::write(&self.$field, map, $name)?;)+
                $($($crate::record::field::Field::write(&self.$later, map, $later_name)?;)+)?
                $($crate::record::field::write_unknown(map, &self.$unknown)?;)?
                Ok(())
            }
        }
    )+};
}

/// Defines an enum whose variants have a `kind` and fields in JSON. `..` is the variant for unknown kinds, with the
/// code that returns its `kind`.
macro_rules! kinds {
    (
        $(#[$attribute:meta])*
        pub enum $type:ident {
            $(
                $(#[$about:meta])*
                $variant:ident = $kind:literal $({ $($field:ident: $value:ty = $name:literal),+ $(,)? })?,
            )+
            .. {
                $(#[$other_about:meta])*
                $other:ident $other_fields:tt: $other_pattern:pat => $other_kind:expr
            }
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $type {
            $($(#[$about])* $variant $({ $($field: $value),+ })?,)+
            $(#[$other_about])*
            $other $other_fields,
        }

        impl $type {
            /// Returns the word in `kind`.
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$variant { .. } => $kind,)+
                    $other_pattern => $other_kind,
                }
            }

            /// Takes the fields of this kind from an object; `None` if the kind is unknown.
            pub(crate) fn take(
                kind: &str,
                object: &mut $crate::json::Object<'_>,
            ) -> Result<Option<Self>, $crate::json::FieldError> {
                Ok(Some(match kind {
                    $($kind => Self::$variant {
                        $($($field: $crate::record::field::Field::take(object, $name)?),+)?
                    },)+
                    _ => return Ok(None),
                }))
            }

            pub(crate) fn write<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                match self {
                    $(Self::$variant $({ $($field),+ })? => {
                        $($($crate::record::field::Field::write($field, map, $name)?;)+)?
                    })+
                    _ => {}
                }
                Ok(())
            }
        }
    };
}

pub(crate) use {kinds, payloads};

impl<T: Payload> Payload for Box<T> {
    fn take(object: &mut Object<'_>) -> Result<Self, FieldError> {
        T::take(object).map(Self::new)
    }

    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        T::write(self, map)
    }
}

/// Reads a field that was added after the first versions. If it cannot be read, it is kept.
pub(crate) fn take_later<T: Value>(object: &mut Object<'_>, name: &'static str) -> Option<T> {
    lenient(object, name, |raw| T::read(raw).ok())
}

impl<T: Value> Field for T {
    fn take(object: &mut Object<'_>, name: &str) -> Result<Self, FieldError> {
        object.need_with(name, T::expected(name), T::read)
    }

    fn write<M: SerializeMap>(&self, map: &mut M, name: &str) -> Result<(), M::Error> {
        map.serialize_entry(name, self)
    }
}

impl<T: Value> Field for Option<T> {
    fn take(object: &mut Object<'_>, name: &str) -> Result<Self, FieldError> {
        object.take_with(name, T::read)
    }

    fn write<M: SerializeMap>(&self, map: &mut M, name: &str) -> Result<(), M::Error> {
        write_some(map, name, self.as_ref())
    }
}

/// A missing field is `false`.
impl Field for bool {
    fn take(object: &mut Object<'_>, name: &str) -> Result<Self, FieldError> {
        Ok(object.take_with(name, boolean)?.unwrap_or_default())
    }

    fn write<M: SerializeMap>(&self, map: &mut M, name: &str) -> Result<(), M::Error> {
        map.serialize_entry(name, self)
    }
}

impl Value for Box<str> {
    fn read(raw: &RawValue) -> Result<Self, FieldError> {
        Ok(text(raw)?.into())
    }
}

impl Value for Cow<'static, str> {
    fn read(raw: &RawValue) -> Result<Self, FieldError> {
        Ok(text(raw)?.into())
    }
}

impl Value for EntryId {
    fn read(raw: &RawValue) -> Result<Self, FieldError> {
        Ok(text(raw)?.into())
    }
}

impl Value for Vec<EntryId> {
    fn expected(_name: &str) -> &'static str {
        "a list of strings"
    }

    fn read(raw: &RawValue) -> Result<Self, FieldError> {
        each(raw, EntryId::read)
    }
}

impl Value for Vec<Box<str>> {
    fn expected(_name: &str) -> &'static str {
        "a list of strings"
    }

    fn read(raw: &RawValue) -> Result<Self, FieldError> {
        each(raw, <Box<str>>::read)
    }
}

impl Value for Timestamp {
    fn expected(_name: &str) -> &'static str {
        "a date with its offset, or milliseconds since 1970"
    }

    fn read(raw: &RawValue) -> Result<Self, FieldError> {
        super::read::read_timestamp(raw)
            .ok_or_else(|| FieldError::wrong_kind(Self::expected(""), raw))
    }
}

impl Value for u64 {
    fn expected(_name: &str) -> &'static str {
        "a whole number of 0 or more"
    }

    fn read(raw: &RawValue) -> Result<Self, FieldError> {
        whole_number(raw)
    }
}

/// Numbers beyond 32 bits become the largest 32-bit number.
impl Value for u32 {
    fn read(raw: &RawValue) -> Result<Self, FieldError> {
        Ok(Self::try_from(whole_number(raw)?).unwrap_or(Self::MAX))
    }
}

impl Value for Json {
    fn expected(name: &str) -> &'static str {
        match name {
            "arguments" => "the arguments as JSON",
            "promptRecipe" => "how the prompt was made",
            _ => "the tool's answer as JSON",
        }
    }

    fn read(raw: &RawValue) -> Result<Self, FieldError> {
        Ok(Self::from(raw))
    }
}

impl Value for RecordHash {
    fn read(raw: &RawValue) -> Result<Self, FieldError> {
        let allowed = "64 hex digits, in lower case";
        let got = text(raw)?;
        got.parse().map_err(|_| FieldError::new(Problem::NotOneOf { allowed, got }))
    }
}

impl Value for Usd {
    fn read(raw: &RawValue) -> Result<Self, FieldError> {
        Self::from_json(Json::from(raw))
            .ok_or_else(|| FieldError::wrong_kind("a number of 0 or more", raw))
    }
}

pub(crate) fn read_word<T: FromStr<Err = UnknownWord>>(raw: &RawValue) -> Result<T, FieldError> {
    let got = text(raw)?;
    got.parse()
        .map_err(|UnknownWord { allowed, .. }| FieldError::new(Problem::NotOneOf { allowed, got }))
}

/// Writes the fields that could not be read, except those that have a value now.
pub(crate) fn write_kept<M: SerializeMap>(
    map: &mut M,
    fields: &Fields,
    written: &[(&str, bool)],
) -> Result<(), M::Error> {
    let is_written = |name: &str| written.contains(&(name, true));
    let mut kept = fields.iter().filter(|(name, _)| !is_written(name));
    kept.try_for_each(|(name, value)| map.serialize_entry(name, value))
}

pub(crate) fn write_unknown<M: SerializeMap>(map: &mut M, fields: &Fields) -> Result<(), M::Error> {
    fields.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))
}

pub(crate) fn write_some<M: SerializeMap, T: Serialize + ?Sized>(
    map: &mut M,
    name: &str,
    value: Option<&T>,
) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(name, value))
}
