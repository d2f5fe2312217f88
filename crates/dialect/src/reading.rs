//! The result of a reader, and code that all four readers share. A known field of the wrong type causes an error that
//! names the field. A block of an unknown kind becomes a part of that kind.

use tertulia_session::json::{FieldError, Json, Kind, Object, Problem, RawValue, elements, text};
use tertulia_session::{Fields, Message, OtherPart, Part, PartKind, Parts, Role, ToolResult};

use crate::{Dialect, Note, NoteKind};

/// The content of a vendor's JSON.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The messages in order. System messages come first, and every result is a tool message of its own.
    pub messages: Vec<Message>,
    /// The tools, each `{name, description?, parameterSchema, strict?}`.
    pub tool_specs: Vec<Json>,
    /// Indexes of the messages with a cache breakpoint after them.
    pub cache_breakpoints: Vec<usize>,
    pub notes: Vec<Note>,
}

impl Reading {
    /// Adds a message. A message without parts is left out, with a note.
    pub(crate) fn push(&mut self, role: Role, parts: Parts, unknown: Fields) {
        if parts.is_empty() {
            self.notes.push(Note::on(self.messages.len(), NoteKind::EmptyLeftOut));
            return;
        }
        self.messages.push(Message { unknown, ..Message::with_role(role, parts) });
    }

    pub(crate) fn push_text(&mut self, role: Role, raw: &RawValue) -> Result<(), FieldError> {
        self.push(role, Parts::from([Part::text(text(raw)?)]), Fields::NONE);
        Ok(())
    }

    /// Adds blocks, each with a flag that tells whether a breakpoint follows it. The blocks up to the next result
    /// form one message.
    pub(crate) fn push_blocks(&mut self, role: Role, blocks: Vec<(Part, bool)>) {
        let mut parts = Parts::new();
        let mut pending_mark = None;
        let is_empty = blocks.is_empty();
        for (block, is_marked) in blocks {
            // The mark is inside a message, but breakpoints are possible only after messages.
            if let Some(at) = pending_mark.take() {
                let reason = "it is in the middle of a message";
                self.notes.push(Note::on(at, NoteKind::BreakpointLeftOut { reason }));
            }
            if let PartKind::ToolResult(_) = block.kind {
                if !parts.is_empty() {
                    self.push(role, std::mem::take(&mut parts), Fields::NONE);
                }
                self.push(Role::Tool, Parts::from([block]), Fields::NONE);
            } else {
                parts.push(block);
            }
            if is_marked && parts.is_empty() {
                self.cache_breakpoints.push(self.messages.len() - 1);
            } else if is_marked {
                pending_mark = Some(self.messages.len());
            }
        }
        if !parts.is_empty() || is_empty {
            self.push(role, parts, Fields::NONE);
        }
        self.cache_breakpoints.extend(pending_mark);
    }

    /// Adds a tool result as a separate message.
    pub(crate) fn push_result(&mut self, result: ToolResult, payload: Fields) {
        let part = part(PartKind::ToolResult(Box::new(result)), payload);
        self.push(Role::Tool, Parts::from([part]), Fields::NONE);
    }
}

/// Creates a part of a kind that only this vendor defines. The part keeps the whole JSON.
pub(crate) fn own_part(dialect: Dialect, kind: &str, payload: Json) -> Part {
    let kind = format!("{}/{kind}", dialect.as_str()).into();
    Part::new(PartKind::Other(Box::new(OtherPart { kind, payload: Some(payload) })))
}

/// Creates a part that also keeps the other fields of its JSON.
pub(crate) fn part(kind: PartKind, payload: Fields) -> Part {
    Part::new(kind).with_unknown(Fields::NONE, payload)
}

pub(crate) fn read_first<'a>(
    raw: &'a RawValue,
    name: &str,
    expected: &'static str,
    read: impl FnOnce(&'a RawValue) -> Result<(), FieldError>,
) -> Result<(), FieldError> {
    let Some(first) = elements(raw)?.into_iter().next() else { return Ok(()) };
    let read = Object::try_from(first).and_then(|mut first| first.need_with(name, expected, read));
    read.map_err(|error| error.at_index(0))
}

pub(crate) fn unknown_role(allowed: &'static str, got: String) -> FieldError {
    FieldError::new(Problem::NotOneOf { allowed, got }).within("role")
}

pub(crate) fn is_list(raw: &RawValue) -> bool {
    Kind::from(raw) == Kind::Array
}

pub(crate) fn is_text(raw: &RawValue) -> bool {
    Kind::from(raw) == Kind::String
}
