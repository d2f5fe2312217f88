//! The arguments of a call: a JSON object for Anthropic and Gemini, a text for OpenAI.

use std::borrow::Cow;

use tertulia_session::ToolCall;
use tertulia_session::json::{self, Json, Kind, RawValue};

use crate::fragment::Node;
use crate::surrogates::{well_formed, well_formed_text};
use crate::{Note, NoteKind};

/// Returns the arguments as an object. Missing arguments become `{}`. A value that is no object is wrapped as `_raw`.
pub(crate) fn as_object<'a>(index: usize, call: &'a ToolCall, notes: &mut Vec<Note>) -> Node<'a> {
    match (call.arguments.kind(), &call.raw_args_text) {
        (Kind::Object, _) => return Node::Raw(well_formed(&call.arguments)),
        (Kind::Null, None) => return Node::Map(Vec::new()),
        _ => {}
    }
    let raw = match &call.raw_args_text {
        Some(raw) => Cow::Borrowed(&**raw),
        None if call.arguments.kind() == Kind::String => json::words(call.arguments.raw()),
        None => well_formed_text(&call.arguments),
    };
    // If the model wrote a string that contains a JSON object, the object is meant.
    if let Some(object) = parse_object(&raw) {
        return Node::Raw(Cow::Owned(object));
    }
    notes.push(Note::on(index, NoteKind::ArgumentsWrapped { id: call.tool_call_id.clone() }));
    Node::Map(vec![("_raw", Node::Text(raw))])
}

pub(crate) fn as_text(call: &ToolCall) -> Cow<'_, str> {
    match (&call.raw_args_text, call.arguments.kind()) {
        (Some(raw), _) => Cow::Borrowed(raw),
        (None, Kind::Null) => Cow::Borrowed("{}"),
        (None, _) => well_formed_text(&call.arguments),
    }
}

/// Returns the arguments as JSON if the text is valid JSON. Also returns the text itself if the JSON does not
/// preserve it.
pub(crate) fn of_text(text: &str) -> (Json, Option<Box<str>>) {
    if text.trim().is_empty() {
        return (Node::Map(Vec::new()).to_json(), None);
    }
    match Json::parse(text) {
        Ok(json) if json.as_str() == text && json.kind() != Kind::Null => (json, None),
        Ok(json) => (json, Some(text.into())),
        Err(_) => (Json::from(RawValue::NULL), Some(text.into())),
    }
}

fn parse_object(text: &str) -> Option<Json> {
    let json = Json::from(json::parse(text).ok()?);
    (json.kind() == Kind::Object).then(|| well_formed(&json).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arguments: &str, raw: Option<&str>, object: &str, text: &str) {
        let call = ToolCall {
            tool_call_id: "a".into(),
            tool_name: "b".into(),
            arguments: Json::parse(arguments).unwrap(),
            raw_args_text: raw.map(Into::into),
        };
        assert_eq!(as_object(0, &call, &mut Vec::new()).to_text(), object);
        assert_eq!(as_text(&call), text);
    }

    #[test]
    fn an_object_is_an_object_and_its_text() {
        check(r#"{"a":1}"#, None, r#"{"a":1}"#, r#"{"a":1}"#);
        check(r#"{"a":1}"#, Some(r#"{ "a": 1 }"#), r#"{"a":1}"#, r#"{ "a": 1 }"#);
        check("null", None, "{}", "{}");
    }

    #[test]
    fn a_text_of_json_is_the_json() {
        check(r#""{\"a\":1}""#, None, r#"{"a":1}"#, r#""{\"a\":1}""#);
        check("null", Some(r#"{"a":1}"#), r#"{"a":1}"#, r#"{"a":1}"#);
    }

    #[test]
    fn what_is_no_object_is_kept_as_raw() {
        check("null", Some(r#"{"a":"#), r#"{"_raw":"{\"a\":"}"#, r#"{"a":"#);
        check("[1]", None, r#"{"_raw":"[1]"}"#, "[1]");
        check(r#""ls -l""#, None, r#"{"_raw":"ls -l"}"#, r#""ls -l""#);
    }
}
