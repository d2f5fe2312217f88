//! Messages, calls and results as texts. JSON is split into its texts. Called by [`super::extract`] and
//! [`super::request_text`]; later steps work on slices of these texts.

use std::borrow::Cow;

use tertulia_session::json::{self, Json, Kind, Object, RawValue};
use tertulia_session::{PartKind, Role, ToolCall};

use super::Covered;

/// The maximum depth of JSON that is split. Deeper JSON stays one text, because each level must be read once more.
const DEPTH_MAX: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    User,
    System,
    Assistant,
    Thinking,
    Call,
    Result,
}

/// All covered texts, by kind, oldest first. Message numbers are positions in `covered`.
#[derive(Debug, Default)]
pub(super) struct Reading<'a> {
    pub(super) texts: Vec<MessageText<'a>>,
    pub(super) calls: Vec<Call<'a>>,
    pub(super) answers: Vec<Answer<'a>>,
    pub(super) messages: usize,
}

#[derive(Debug)]
pub(super) struct MessageText<'a> {
    pub(super) message: usize,
    pub(super) source: Source,
    pub(super) text: &'a str,
}

#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) message: usize,
    pub(super) id: &'a str,
    pub(super) tool: &'a str,
    pub(super) fields: Vec<Field<'a>>,
}

#[derive(Debug)]
pub(super) struct Field<'a> {
    /// The number of the JSON object; fields of one object have the same number.
    pub(super) object: usize,
    pub(super) name: Cow<'a, str>,
    pub(super) text: Cow<'a, str>,
}

#[derive(Debug)]
pub(super) struct Answer<'a> {
    pub(super) message: usize,
    pub(super) call: &'a str,
    pub(super) is_error: bool,
    pub(super) text: Cow<'a, str>,
}

pub(super) fn read<'a>(covered: &[Covered<'a>]) -> Reading<'a> {
    let thought = |message, text| MessageText { message, source: Source::Thinking, text };
    let mut reading = Reading { messages: covered.len(), ..Reading::default() };
    for (message, Covered { message: said, .. }) in covered.iter().enumerate() {
        let source = match said.effective_role() {
            Role::User => Source::User,
            Role::System => Source::System,
            Role::Assistant => Source::Assistant,
            Role::Tool => Source::Result,
        };
        for part in &said.parts {
            match &part.kind {
                PartKind::Text(text) => reading.texts.push(MessageText { message, source, text }),
                PartKind::Thinking(text) => reading.texts.push(thought(message, text)),
                PartKind::ToolCall(call) => reading.calls.push(read_call(message, call)),
                PartKind::ToolResult(answer) => {
                    let (call, is_error) = (&*answer.tool_call_id, answer.is_error);
                    reading.answers.push(Answer { message, call, is_error, text: answer.text() });
                }
                PartKind::FileRef(file) => reading.texts.push(thought(message, &file.path)),
                PartKind::Image(_) | PartKind::Other(_) => {}
            }
        }
    }
    reading
}

fn read_call(message: usize, call: &ToolCall) -> Call<'_> {
    let mut fields = Vec::new();
    match call.raw_args_text.as_deref() {
        Some(raw) => fields.push(Field { object: 0, name: "".into(), text: raw.into() }),
        None => take_apart(&call.arguments, &mut fields),
    }
    Call { message, id: &call.tool_call_id, tool: &call.tool_name, fields }
}

/// Collects the texts of a JSON value with the names of their fields. Elements of a list get the list's name.
fn take_apart<'a>(arguments: &'a Json, fields: &mut Vec<Field<'a>>) {
    let mut objects = 0;
    // An explicit stack keeps the order of the fields.
    let mut open: Vec<(usize, usize, Cow<'a, str>, &'a RawValue)> =
        vec![(0, 0, "".into(), arguments.raw())];
    while let Some((depth, object, name, raw)) = open.pop() {
        let inner = depth < DEPTH_MAX;
        match Kind::from(raw) {
            Kind::Object if inner => {
                let Ok(inside) = Object::try_from(raw) else { continue };
                objects += 1;
                let from = open.len();
                open.extend(
                    inside.into_fields().map(|(name, raw)| (depth + 1, objects, name, raw)),
                );
                open.get_mut(from..).unwrap_or_default().reverse();
            }
            Kind::Array if inner => {
                let elements = json::elements(raw).unwrap_or_default();
                let named = elements.into_iter().rev();
                open.extend(named.map(|raw| (depth + 1, object, name.clone(), raw)));
            }
            Kind::Null | Kind::Boolean => {}
            Kind::Number | Kind::String | Kind::Object | Kind::Array => {
                fields.push(Field { object, name, text: json::words(raw) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_taken_apart_in_order() {
        let json =
            Json::parse(r#"{"a":"x\ny","list":[{"s":"1","t":"2"},{"s":"3"}],"n":7}"#).unwrap();
        let mut fields = Vec::new();
        take_apart(&json, &mut fields);
        let shown: Vec<_> = fields
            .iter()
            .map(|field| format!("{}{}={}", field.object, field.name, field.text))
            .collect();
        assert_eq!(shown, ["1a=x\ny", "2s=1", "2t=2", "3s=3", "1n=7"]);
    }

    #[test]
    fn megabytes_of_brackets_are_a_text() {
        let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        let json = Json::parse(&deep).unwrap();
        let mut fields = Vec::new();
        take_apart(&json, &mut fields);
        assert_eq!(fields.len(), 1);
    }
}
