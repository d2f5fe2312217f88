//! What a renderer is given: the messages for a model, in order, and what belongs to them.

use tertulia_session::json::{self, Json, Object};
use tertulia_session::{Fields, Message};

/// The messages for a model. The caller keeps them, wherever they lie; a rendering borrows their texts.
#[derive(Clone, Debug)]
pub struct ModelContext<'a> {
    /// The messages, in order.
    pub messages: Vec<&'a Message>,
    /// The tools: `{name, description?, parameterSchema, strict?}` each.
    pub tool_specs: &'a [Json],
    /// The indexes of the messages after which a cache breakpoint belongs.
    pub cache_breakpoints: &'a [usize],
}

impl<'a> ModelContext<'a> {
    /// These messages, without tools and breakpoints.
    pub fn new(messages: impl IntoIterator<Item = &'a Message>) -> Self {
        Self { messages: messages.into_iter().collect(), tool_specs: &[], cache_breakpoints: &[] }
    }
}

/// Whether a message belongs to the volatile zone, which is always last and never cached.
pub(crate) fn is_volatile(message: &Message) -> bool {
    let Some(meta) = &message.meta else {
        return false;
    };
    let kind =
        Object::try_from(meta.raw()).ok().and_then(|mut meta| meta.take("kind")).map(json::words);
    matches!(kind.as_deref(), Some("runtime_hints" | "recall"))
}

/// A text among the fields that `session` does not know; empty counts as none.
pub(crate) fn text_field(fields: &Fields, name: &str) -> Option<String> {
    json::text(fields.get(name)?.raw()).ok().filter(|text| !text.is_empty())
}
