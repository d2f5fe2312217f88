//! Reads a JSON object: known fields are taken by name, the others are kept.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{FieldError, Json, Kind, Problem, inner, text};
use crate::Fields;

/// The fields of a JSON object, in order, borrowed from its text.
#[derive(Debug, Default)]
pub struct Object<'a> {
    fields: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'a> TryFrom<&'a RawValue> for Object<'a> {
    type Error = FieldError;

    fn try_from(raw: &'a RawValue) -> Result<Self, FieldError> {
        if Kind::from(raw) != Kind::Object {
            return Err(FieldError::wrong_kind("an object", raw));
        }
        // Only a name with a lone surrogate can fail here, because the syntax was checked before.
        let fields = serde_json::Deserializer::from_str(raw.get()).deserialize_map(FieldsVisitor);
        fields.map_err(|_| FieldError::new(Problem::LoneSurrogateInName))
    }
}

impl<'a> Object<'a> {
    /// Takes a field. If there are several with this name, the last one counts, as in JavaScript.
    pub fn take(&mut self, name: &str) -> Option<&'a RawValue> {
        let mut taken = None;
        self.fields.retain(|(key, value)| {
            let found = key == name;
            if found {
                taken = Some(*value);
            }
            !found
        });
        taken
    }

    /// Takes a field; `null` counts as missing.
    pub fn take_some(&mut self, name: &str) -> Option<&'a RawValue> {
        self.take(name).filter(|raw| Kind::from(*raw) != Kind::Null)
    }

    /// Appends a field that could not be read, so that it is part of [`Self::rest`].
    pub(crate) fn put_back(&mut self, name: &'static str, raw: &'a RawValue) {
        self.fields.push((Cow::Borrowed(name), raw));
    }

    /// Takes a required field; `null` is accepted.
    pub fn need(&mut self, name: &str, expected: &'static str) -> Result<&'a RawValue, FieldError> {
        self.take(name).ok_or_else(|| FieldError::missing(name, expected))
    }

    /// Takes an optional text.
    pub fn take_text(&mut self, name: &str) -> Result<Option<String>, FieldError> {
        self.take_with(name, text)
    }

    /// Takes a required text.
    pub fn need_text(&mut self, name: &str) -> Result<String, FieldError> {
        self.need_with(name, "a string", text)
    }

    /// Takes an optional value and reads it.
    pub fn take_with<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&'a RawValue) -> Result<T, FieldError>,
    ) -> Result<Option<T>, FieldError> {
        self.take_some(name).map(read).transpose().map_err(|error| error.within(name))
    }

    /// Takes a required value and reads it.
    pub fn need_with<T>(
        &mut self,
        name: &str,
        expected: &'static str,
        read: impl FnOnce(&'a RawValue) -> Result<T, FieldError>,
    ) -> Result<T, FieldError> {
        read(self.need(name, expected)?).map_err(|error| error.within(name))
    }

    /// Returns a field without taking it. If there are several with this name, the last one counts.
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.fields.iter().rev().find(|(key, _)| key == name).map(|(_, value)| *value)
    }

    /// Returns the remaining names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(name, _)| &**name)
    }

    /// Returns the remaining fields, in order.
    pub fn into_fields(self) -> impl Iterator<Item = (Cow<'a, str>, &'a RawValue)> {
        self.fields.into_iter()
    }

    /// Returns the fields that were not taken.
    pub fn rest(self) -> Fields {
        let mut rest = Fields::NONE;
        for (name, value) in self.fields {
            rest.push(name, Json::from(value));
        }
        rest
    }
}

/// Returns the elements of a JSON list.
pub fn elements(raw: &RawValue) -> Result<Vec<&RawValue>, FieldError> {
    if Kind::from(raw) != Kind::Array {
        return Err(FieldError::wrong_kind("a list", raw));
    }
    serde_json::from_str(raw.get()).map_err(|_| FieldError::wrong_kind("a list", raw))
}

/// Reads the elements of a JSON list; errors contain the index.
pub fn each<'a, T, C: FromIterator<T>>(
    raw: &'a RawValue,
    mut read: impl FnMut(&'a RawValue) -> Result<T, FieldError>,
) -> Result<C, FieldError> {
    let read = |(index, raw)| read(raw).map_err(|error: FieldError| error.at_index(index));
    elements(raw)?.into_iter().enumerate().map(read).collect()
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Object<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
        let mut fields = Vec::new();
        while let Some((name, value)) = map.next_entry::<&RawValue, _>()? {
            // The name borrows from the input unless it contains escapes.
            let name = match inner(name).filter(|name| !name.contains('\\')) {
                Some(plain) => Cow::Borrowed(plain),
                None => Cow::Owned(text(name).map_err(A::Error::custom)?),
            };
            fields.push((name, value));
        }
        Ok(Object { fields })
    }
}
