//! Short constructors of messages and requests for the tests.

use tertulia_dialect::{Dialect, ModelContext, Rendering};
use tertulia_session::json::{self, Json};
use tertulia_session::{
    Fields, Image, ImageSource, Message, OtherPart, Part, PartKind, Parts, Role, ToolCall,
    ToolResult,
};

pub(crate) fn message(role: Role, parts: Vec<Part>) -> Message {
    Message {
        role: Some(role),
        parts: Parts::from(parts),
        speaker: None,
        routing: None,
        run_id: None,
        timestamp: None,
        meta: None,
        unknown: Fields::NONE,
    }
}

pub(crate) fn system(text: &str) -> Message {
    message(Role::System, vec![Part::text(text)])
}

pub(crate) fn user(text: &str) -> Message {
    message(Role::User, vec![Part::text(text)])
}

pub(crate) fn assistant(parts: Vec<Part>) -> Message {
    message(Role::Assistant, parts)
}

/// Returns a volatile message.
pub(crate) fn hint(text: &str) -> Message {
    Message { meta: Some(json(r#"{"kind":"runtime_hints"}"#)), ..system(text) }
}

pub(crate) fn call(id: &str, name: &str) -> Part {
    call_with(id, name, "{}", None)
}

pub(crate) fn call_with(id: &str, name: &str, arguments: &str, raw: Option<&str>) -> Part {
    Part::new(PartKind::ToolCall(Box::new(ToolCall {
        tool_call_id: id.into(),
        tool_name: name.into(),
        arguments: json(arguments),
        raw_args_text: raw.map(Into::into),
    })))
}

pub(crate) fn result(id: &str, content: &str) -> Message {
    message(Role::Tool, vec![result_part(id, false, &serde_json::to_string(content).unwrap())])
}

pub(crate) fn failure(id: &str, content: &str) -> Message {
    message(Role::Tool, vec![result_part(id, true, &serde_json::to_string(content).unwrap())])
}

pub(crate) fn result_part(id: &str, is_error: bool, content: &str) -> Part {
    let (tool_call_id, content) = (id.into(), json(content));
    Part::new(PartKind::ToolResult(Box::new(ToolResult { tool_call_id, is_error, content })))
}

pub(crate) fn image(mime_type: &str, source: ImageSource) -> Part {
    Part::new(PartKind::Image(Box::new(Image { mime_type: mime_type.into(), source })))
}

pub(crate) fn png() -> Part {
    image("image/png", ImageSource::Data("AAAA".into()))
}

pub(crate) fn thinking(text: &str) -> Part {
    Part::new(PartKind::Thinking(text.into()))
}

/// Returns the part with a text in a field that `session` does not define.
pub(crate) fn with_field(part: Part, name: &str, value: &str) -> Part {
    let mut payload = Fields::NONE;
    payload.push(name, json(&serde_json::to_string(value).unwrap()));
    part.with_unknown(Fields::NONE, payload)
}

pub(crate) fn other(kind: &str, payload: &str) -> Part {
    let payload = Some(json(payload));
    Part::new(PartKind::Other(Box::new(OtherPart { kind: kind.into(), payload })))
}

pub(crate) fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

pub(crate) fn render(dialect: Dialect, messages: &[Message]) -> Rendering<'_> {
    dialect.render(&ModelContext::new(messages))
}

/// Returns the codes of the notes, in order.
pub(crate) fn codes(dialect: Dialect, messages: &[Message]) -> Vec<&'static str> {
    render(dialect, messages).notes.iter().map(|note| note.kind.code()).collect()
}

/// Returns the JSON texts of the turns of a request.
pub(crate) fn turns(dialect: Dialect, request: &str) -> Vec<String> {
    let name = match dialect {
        Dialect::OpenAiChat | Dialect::Anthropic => "messages",
        Dialect::OpenAiResponses => "input",
        Dialect::Gemini => "contents",
    };
    let mut object = json::Object::try_from(json::parse(request).unwrap()).unwrap();
    let list = json::elements(object.take(name).unwrap()).unwrap();
    list.into_iter().map(|raw| raw.get().to_owned()).collect()
}
