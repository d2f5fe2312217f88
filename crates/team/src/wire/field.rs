//! Values of fields as JSON. Optional values may be missing or `null`.

use std::sync::Arc;

use tertulia_agent::{PermissionChoice, PermissionRequest};
use tertulia_session::json::{FieldError, Json, Kind, Object, Problem, RawValue, each, text};
use tertulia_session::record::{EntryRecord, read_entry};
use tertulia_session::{EntryId, Intent, SpendingLimit, Timestamp};

use super::{ByeReason, StoredEntry};
use crate::PermissionNumber;

/// Writes JSON without spaces.
#[derive(Default)]
pub(super) struct Writer {
    json: String,
}

impl Writer {
    pub(super) fn open(&mut self) {
        self.json.push('{');
    }

    pub(super) fn close(&mut self) {
        self.json.push('}');
    }

    pub(super) fn field(&mut self, name: &str, value: &(impl Field + ?Sized)) {
        self.comma();
        self.text(name);
        self.json.push(':');
        value.write(self);
    }

    fn list<'v, T: Field + 'v>(&mut self, values: impl IntoIterator<Item = &'v T>) {
        self.json.push('[');
        for value in values {
            self.comma();
            value.write(self);
        }
        self.json.push(']');
    }

    fn comma(&mut self) {
        if !self.json.ends_with(['{', '[', ':']) {
            self.json.push(',');
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        self.json.push_str(Json::text(text).as_str());
    }

    pub(super) fn into_text(self) -> String {
        self.json
    }
}

/// A value of a field.
pub(super) trait Field {
    fn write(&self, out: &mut Writer);

    /// Reads the value; `None` if the field is missing.
    fn read(raw: Option<&RawValue>) -> Result<Self, FieldError>
    where
        Self: Sized;
}

/// Takes a field of an object.
pub(super) fn take<T: Field>(object: &mut Object<'_>, name: &str) -> Result<T, FieldError> {
    T::read(object.take(name)).map_err(|error| error.within(name))
}

/// Reads an object.
pub(super) fn object<'a>(
    raw: Option<&'a RawValue>,
    expected: &'static str,
) -> Result<Object<'a>, FieldError> {
    Object::try_from(need(raw, expected)?)
}

fn need<'a>(raw: Option<&'a RawValue>, expected: &'static str) -> Result<&'a RawValue, FieldError> {
    raw.ok_or_else(|| FieldError::new(Problem::Missing { expected }))
}

/// Fields that are JSON strings.
macro_rules! texts {
    ($($name:ty: $read:expr;)*) => {
        $(impl Field for $name {
            fn write(&self, out: &mut Writer) {
                out.text(self.as_ref());
            }

            fn read(raw: Option<&RawValue>) -> Result<Self, FieldError> {
                text(need(raw, "a string")?).map($read)
            }
        })*
    };
}

texts! {
    String: |text| text;
    Box<str>: String::into_boxed_str;
}

impl Field for EntryId {
    fn write(&self, out: &mut Writer) {
        out.text(self.as_str());
    }

    fn read(raw: Option<&RawValue>) -> Result<Self, FieldError> {
        String::read(raw).map(Self::from)
    }
}

impl Field for &'static str {
    fn write(&self, out: &mut Writer) {
        out.text(self);
    }

    fn read(raw: Option<&RawValue>) -> Result<Self, FieldError> {
        // Only names of variants are of this type, and they are read by their table.
        String::read(raw).map(|_| "")
    }
}

/// Fields that are whole numbers.
macro_rules! numbers {
    ($($name:ty)*) => {
        $(impl Field for $name {
            fn write(&self, out: &mut Writer) {
                out.json.push_str(&self.to_string());
            }

            fn read(raw: Option<&RawValue>) -> Result<Self, FieldError> {
                let raw = need(raw, "a whole number")?;
                let digits = raw.get();
                let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
                let number = digits.parse::<$name>().ok().filter(|_| is_whole);
                number.ok_or_else(|| FieldError::new(Problem::NotWhole { got: digits.to_owned() }))
            }
        })*
    };
}

numbers! { u32 u64 usize }

impl Field for bool {
    fn write(&self, out: &mut Writer) {
        out.json.push_str(if *self { "true" } else { "false" });
    }

    fn read(raw: Option<&RawValue>) -> Result<Self, FieldError> {
        let raw = need(raw, "true or false")?;
        match raw.get() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(FieldError::wrong_kind("true or false", raw)),
        }
    }
}

impl<T: Field> Field for Option<T> {
    fn write(&self, out: &mut Writer) {
        match self {
            Some(value) => value.write(out),
            None => out.json.push_str("null"),
        }
    }

    fn read(raw: Option<&RawValue>) -> Result<Self, FieldError> {
        match raw.filter(|raw| Kind::from(*raw) != Kind::Null) {
            Some(raw) => T::read(Some(raw)).map(Some),
            None => Ok(None),
        }
    }
}

impl<T: Field> Field for Vec<T> {
    fn write(&self, out: &mut Writer) {
        out.list(self);
    }

    fn read(raw: Option<&RawValue>) -> Result<Self, FieldError> {
        each(need(raw, "a list")?, |raw| T::read(Some(raw)))
    }
}

impl<T: Field> Field for [T; 2] {
    fn write(&self, out: &mut Writer) {
        out.list(self);
    }

    fn read(raw: Option<&RawValue>) -> Result<Self, FieldError> {
        let raw = need(raw, "a list of two")?;
        let both = Vec::<T>::read(Some(raw))?;
        both.try_into().map_err(|_| FieldError::wrong_kind("a list of two", raw))
    }
}

impl<T: Field> Field for (Box<str>, T) {
    fn write(&self, out: &mut Writer) {
        out.json.push('[');
        self.0.write(out);
        out.json.push(',');
        self.1.write(out);
        out.json.push(']');
    }

    fn read(raw: Option<&RawValue>) -> Result<Self, FieldError> {
        let raw = need(raw, "a list of two")?;
        let parts: Vec<&RawValue> = each(raw, Ok)?;
        let [first, second] = parts.as_slice() else {
            return Err(FieldError::wrong_kind("a list of two", raw));
        };
        Ok((Box::read(Some(first))?, T::read(Some(second))?))
    }
}

impl Field for Json {
    fn write(&self, out: &mut Writer) {
        out.json.push_str(self.as_str());
    }

    fn read(raw: Option<&RawValue>) -> Result<Self, FieldError> {
        need(raw, "a value").map(Self::from)
    }
}

impl Field for Timestamp {
    fn write(&self, out: &mut Writer) {
        // Its JSON keeps how it was spelled.
        match Json::serialized(self) {
            Some(json) => json.write(out),
            None => out.text(&self.to_string()),
        }
    }

    fn read(raw: Option<&RawValue>) -> Result<Self, FieldError> {
        let raw = need(raw, "a time")?;
        if let Ok(millis) = raw.get().parse() {
            return Ok(Self::from_millis(millis));
        }
        let got = text(raw)?;
        got.parse().map_err(|_| FieldError::new(Problem::NotOneOf { allowed: "a time", got }))
    }
}

impl Field for Intent {
    fn write(&self, out: &mut Writer) {
        out.text(self.as_str());
    }

    fn read(raw: Option<&RawValue>) -> Result<Self, FieldError> {
        let got = String::read(raw)?;
        let all = [Self::Interrupt, Self::Reply, Self::Extend];
        all.into_iter()
            .find(|one| one.as_str() == got)
            .ok_or_else(|| FieldError::new(Problem::NotOneOf { allowed: "P1, P2 or P3", got }))
    }
}

impl Field for SpendingLimit {
    fn write(&self, out: &mut Writer) {
        out.text(self.as_str());
    }

    fn read(raw: Option<&RawValue>) -> Result<Self, FieldError> {
        let got = String::read(raw)?;
        let allowed = "a spending limit of this version";
        got.parse().map_err(|_| FieldError::new(Problem::NotOneOf { allowed, got }))
    }
}

impl Field for ByeReason {
    fn write(&self, out: &mut Writer) {
        out.text(match self {
            Self::Ended => "ended",
            Self::Behind => "behind",
            Self::Refused => "refused",
        });
    }

    /// An unknown reason is one of a later version. The client shows its text.
    fn read(raw: Option<&RawValue>) -> Result<Self, FieldError> {
        Ok(match String::read(raw)?.as_str() {
            "ended" => Self::Ended,
            "behind" => Self::Behind,
            _ => Self::Refused,
        })
    }
}

impl Field for PermissionNumber {
    fn write(&self, out: &mut Writer) {
        self.0.write(out);
    }

    fn read(raw: Option<&RawValue>) -> Result<Self, FieldError> {
        u64::read(raw).map(Self)
    }
}

impl Field for PermissionRequest {
    fn write(&self, out: &mut Writer) {
        out.open();
        out.field("title", &self.title);
        out.field("tool", &self.tool);
        out.field("input", &self.input);
        out.field("choices", &self.choices);
        out.close();
    }

    fn read(raw: Option<&RawValue>) -> Result<Self, FieldError> {
        let mut object = object(raw, "a permission request")?;
        Ok(Self {
            title: take(&mut object, "title")?,
            tool: take(&mut object, "tool")?,
            input: take(&mut object, "input")?,
            choices: take(&mut object, "choices")?,
        })
    }
}

impl Field for PermissionChoice {
    fn write(&self, out: &mut Writer) {
        out.open();
        out.field("id", &self.id);
        out.field("name", &self.name);
        out.field("allows", &self.allows);
        out.field("isLasting", &self.is_lasting);
        out.close();
    }

    fn read(raw: Option<&RawValue>) -> Result<Self, FieldError> {
        let mut object = object(raw, "a choice")?;
        Ok(Self {
            id: take(&mut object, "id")?,
            name: take(&mut object, "name")?,
            allows: take(&mut object, "allows")?,
            is_lasting: take(&mut object, "isLasting")?,
        })
    }
}

impl Field for StoredEntry {
    fn write(&self, out: &mut Writer) {
        out.json.push_str(&EntryRecord::new(&self.0).to_json());
    }

    fn read(raw: Option<&RawValue>) -> Result<Self, FieldError> {
        let raw = need(raw, "an entry")?;
        let entry = read_entry(raw).map_err(|error| {
            let got = error.to_string();
            FieldError::new(Problem::NotOneOf { allowed: "an entry", got })
        })?;
        Ok(Self(Arc::new(entry)))
    }
}
