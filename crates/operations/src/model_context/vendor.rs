//! Vendors' shapes at the doors: new messages that an SDK holds, and a context as the vendor wants it.

use serde::Serialize;
use tertulia_context::builder::ContextBuildResult;
use tertulia_dialect::{Dialect, ModelContext, Note, Rendering};
use tertulia_session::json::{FieldError, Json, RawValue};
use tertulia_session::record::read_entry_message;
use tertulia_session::{Message, Role};

use super::each;

#[derive(Debug, Default)]
pub(super) struct VendorInput {
    /// The system messages that a vendor's request begins with.
    pub(super) system: Vec<Message>,
    pub(super) system_prompt: Option<String>,
    pub(super) messages: Vec<Message>,
    pub(super) tools: Vec<Json>,
    /// What was not carried over, for people.
    pub(super) notes: Vec<String>,
}

/// Reads new messages: ours, or a vendor's request, which may bring a system prompt and tools along.
pub(super) fn read_messages(
    raw: &RawValue,
    format: Option<Dialect>,
) -> Result<VendorInput, FieldError> {
    let Some(dialect) = format else {
        let messages = each(raw, read_entry_message)?;
        return Ok(VendorInput { messages, ..VendorInput::default() });
    };
    let reading = dialect.read(raw)?;
    let mut messages = reading.messages;
    let is_system = |message: &Message| message.role == Some(Role::System);
    let first = messages.iter().position(|message| !is_system(message)).unwrap_or(messages.len());
    let rest = messages.split_off(first);
    let texts: Vec<_> = messages.iter().map(|message| message.text().into_owned()).collect();
    Ok(VendorInput {
        system_prompt: (!texts.is_empty()).then(|| texts.join("\n\n")),
        system: messages,
        messages: rest,
        tools: reading.tool_specs,
        notes: reading.notes.iter().map(Note::to_string).collect(),
    })
}

/// Says a context as this vendor wants it; the rendering borrows its messages.
pub fn render<'a>(
    dialect: Dialect,
    result: &'a ContextBuildResult<'_>,
    tools: &'a [Json],
) -> Rendering<'a> {
    dialect.render(&ModelContext {
        tool_specs: tools,
        cache_breakpoints: &result.cache_breakpoints,
        ..ModelContext::new(result.model_messages.iter().map(|sent| &*sent.message))
    })
}

#[derive(Serialize)]
pub(super) struct NoteRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<usize>,
    code: &'static str,
    text: String,
}

impl NoteRecord {
    pub(super) fn of(note: &Note) -> Self {
        Self { message: note.message, code: note.kind.code(), text: note.kind.to_string() }
    }
}
