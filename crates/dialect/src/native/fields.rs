//! Reads fields of records without errors, because other programs wrote them: a missing value or one of another type
//! is `None`. The exact text of the record is kept anyway.

use std::borrow::Cow;
use std::ops::Range;

use tertulia_session::json::{self, Json, Kind, Object, RawValue};
use tertulia_session::{Fields, OtherPart, Part, PartKind, Timestamp, ToolCall, Usd};

use super::NativeFormat;

/// Returns the text of a string, with U+FFFD for lone surrogates.
pub(super) fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    (Kind::from(raw) == Kind::String).then(|| json::words(raw))
}

/// Takes a text.
pub(super) fn take_text<'a>(object: &mut Object<'a>, name: &str) -> Option<Cow<'a, str>> {
    object.take(name).and_then(text)
}

/// Takes a text as an owned string.
pub(super) fn take_string(object: &mut Object<'_>, name: &str) -> Option<String> {
    take_text(object, name).map(Cow::into_owned)
}

/// Takes a text that is not empty.
pub(super) fn take_word(object: &mut Object<'_>, name: &str) -> Option<Box<str>> {
    take_text(object, name).filter(|word| !word.is_empty()).map(Into::into)
}

/// Takes an object.
pub(super) fn take_object<'a>(object: &mut Object<'a>, name: &str) -> Option<Object<'a>> {
    object.take(name).and_then(|raw| Object::try_from(raw).ok())
}

/// Takes the elements of a list. Returns none if the value is no list.
pub(super) fn take_list<'a>(object: &mut Object<'a>, name: &str) -> Vec<&'a RawValue> {
    object.take(name).and_then(|raw| json::elements(raw).ok()).unwrap_or_default()
}

/// Takes a whole number.
pub(super) fn take_count(object: &mut Object<'_>, name: &str) -> Option<u64> {
    object.take(name).and_then(|raw| json::whole_number(raw).ok())
}

/// Takes a field and returns whether it is `true`.
pub(super) fn take_flag(object: &mut Object<'_>, name: &str) -> bool {
    object.take(name).is_some_and(|raw| raw.get() == "true")
}

/// Takes a time in milliseconds since 1970.
pub(super) fn take_millis(object: &mut Object<'_>, name: &str) -> Option<Timestamp> {
    let millis = take_count(object, name)?;
    i64::try_from(millis).ok().map(Timestamp::from_millis)
}

/// Returns the range of a value in the text that contains it.
pub(super) fn place(text: &str, value: &RawValue) -> Option<Range<usize>> {
    let start = (value.get().as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    let end = start.checked_add(value.get().len())?;
    (text.get(start..end)? == value.get()).then_some(start..end)
}

/// Takes a boolean. SQLite writes it as 0 or 1.
pub(super) fn take_boolean(object: &mut Object<'_>, name: &str) -> Option<bool> {
    match object.take(name)?.get() {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

/// Takes an amount of dollars.
pub(super) fn take_usd(object: &mut Object<'_>, name: &str) -> Option<Usd> {
    Usd::from_json(Json::from(object.take(name)?))
}

/// Takes a time: seconds or milliseconds since 1970, or a date text.
pub(super) fn take_time(object: &mut Object<'_>, name: &str) -> Option<Timestamp> {
    // The largest number that is read as seconds; they extend to the year 5138.
    const SECONDS_MAX: u64 = 99_999_999_999;
    let raw = object.take(name)?;
    if Kind::from(raw) == Kind::String {
        return json::words(raw).parse().ok();
    }
    let number = json::whole_number(raw).ok()?;
    let millis = if number > SECONDS_MAX { number } else { number * 1000 };
    i64::try_from(millis).ok().map(Timestamp::from_millis)
}

/// Creates a part that keeps the remaining fields of its JSON.
pub(super) fn part(kind: PartKind, rest: Object<'_>) -> Part {
    Part::new(kind).with_unknown(Fields::NONE, rest.rest())
}

/// Creates a part of a kind that only this agent defines. The part keeps the whole JSON.
pub(super) fn own_part(format: NativeFormat, kind: &str, raw: &RawValue) -> Part {
    let kind = format!("{}/{kind}", format.as_str()).into();
    Part::new(PartKind::Other(Box::new(OtherPart { kind, payload: Some(Json::from(raw)) })))
}

/// Creates a call. If the arguments are a text, it is parsed as JSON. Missing arguments become `{}`.
pub(super) fn call(id: &str, tool: &str, arguments: Option<&RawValue>) -> PartKind {
    let (arguments, raw_args_text) = match arguments {
        Some(raw) if Kind::from(raw) == Kind::String => {
            crate::arguments::of_text(&json::words(raw))
        }
        Some(raw) if Kind::from(raw) != Kind::Null => (Json::from(raw), None),
        _ => crate::arguments::of_text(""),
    };
    PartKind::ToolCall(Box::new(ToolCall {
        tool_call_id: id.into(),
        tool_name: tool.into(),
        arguments,
        raw_args_text,
    }))
}
