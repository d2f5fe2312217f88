//! What a reader gives, and what the four readers share. A known field of the wrong kind is an error
//! that names it; a kind that nobody here knows is kept as a part of its own kind.

use tertulia_session::json::{FieldError, Json, Kind, Object, RawValue, elements, text};
use tertulia_session::{Fields, Message, OtherPart, Part, PartKind, Parts, Role, ToolResult};

use crate::{Dialect, Note, NoteKind};

/// What was read from a vendor's JSON.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The messages, in order: system messages first, one tool message for every result.
    pub messages: Vec<Message>,
    /// The tools: `{name, description?, parameterSchema, strict?}` each.
    pub tool_specs: Vec<Json>,
    /// The indexes of the messages after which a cache breakpoint stands.
    pub cache_breakpoints: Vec<usize>,
    /// What was not carried over.
    pub notes: Vec<Note>,
}

impl Reading {
    /// Adds a message; one without parts is not said at all, and noted.
    pub(crate) fn push(&mut self, role: Role, parts: Parts, unknown: Fields) {
        if parts.is_empty() {
            self.notes.push(Note::on(self.messages.len(), NoteKind::EmptyLeftOut));
            return;
        }
        self.messages.push(message(role, parts, unknown));
    }

    /// Adds a tool's result as a message of its own.
    pub(crate) fn push_result(&mut self, result: ToolResult, payload: Fields) {
        let part = Part::new(PartKind::ToolResult(Box::new(result)));
        let part = part.with_unknown(Fields::NONE, payload);
        self.push(Role::Tool, Parts::from([part]), Fields::NONE);
    }
}

pub(crate) fn message(role: Role, parts: Parts, unknown: Fields) -> Message {
    Message { unknown, ..Message::of_role(role, parts) }
}

/// A part of a kind that only this vendor knows, kept whole.
pub(crate) fn own_part(dialect: Dialect, kind: &str, payload: Json) -> Part {
    let payload = Some(payload);
    Part::new(PartKind::Other(Box::new(OtherPart { kind: dialect.own_kind(kind), payload })))
}

/// The payload of a part that only this vendor knows, if it is one and can be sent back: an object
/// whose `type`, where there is one, is its kind.
pub(crate) fn own_payload(dialect: Dialect, other: &OtherPart) -> Option<&Json> {
    let kind = other.kind.strip_prefix(dialect.as_str())?.strip_prefix('/')?;
    let payload = other.payload.as_ref().filter(|_| !is_paired_or_checked(kind))?;
    let mut object = Object::try_from(payload.raw()).ok()?;
    let names_it = match dialect {
        Dialect::Gemini => object.take(kind).is_some(),
        _ => object.take_text("type").ok()?.as_deref() == Some(kind),
    };
    names_it.then_some(payload)
}

/// Kinds that the renderers write themselves, since rules hang on them: never taken from a kept part.
fn is_paired_or_checked(kind: &str) -> bool {
    const KINDS: [&str; 14] = [
        "",
        "text",
        "thinking",
        "tool_use",
        "tool_result",
        "input_text",
        "output_text",
        "message",
        "function",
        "function_call",
        "function_call_output",
        "functionCall",
        "functionResponse",
        "item_reference",
    ];
    KINDS.contains(&kind)
}

/// One part with its words; `content` in its short form.
pub(crate) fn text_parts(raw: &RawValue) -> Result<Parts, FieldError> {
    Ok(Parts::from([Part::text(text(raw)?)]))
}

/// The elements of a list, each with its place in errors.
pub(crate) fn each<'a, T>(
    raw: &'a RawValue,
    mut read: impl FnMut(&'a RawValue) -> Result<T, FieldError>,
) -> Result<Vec<T>, FieldError> {
    let read = |(index, raw)| read(raw).map_err(|error: FieldError| error.at_index(index));
    elements(raw)?.into_iter().enumerate().map(read).collect()
}

pub(crate) fn is_list(raw: &RawValue) -> bool {
    Kind::from(raw) == Kind::Array
}
