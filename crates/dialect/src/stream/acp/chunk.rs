//! Chunks of a message or of a thought: most lines contain one. [`super::Acp`] calls it.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::stream::fields::{Field, Refusal, Value, read_shape};

/// A chunk of a message or of a thought.
pub(super) struct Chunk<'a> {
    pub(super) is_thought: bool,
    pub(super) session: Value<'a>,
    pub(super) message_id: Value<'a>,
    content_type: Value<'a>,
    text: Value<'a>,
}

/// The end of the names of updates with text chunks.
static CHUNK: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"_chunk\""));

impl<'a> Chunk<'a> {
    /// Parses a line in one pass if it is a text chunk. Most lines are text chunks, and reading them level by level
    /// would parse them several times.
    pub(super) fn parse(line: &'a str) -> Option<Self> {
        const CONTENT: [Field<'_>; 2] = [Field::Value("type", 5), Field::Value("text", 6)];
        const UPDATE: [Field<'_>; 3] = [
            Field::Value("sessionUpdate", 3),
            Field::Value("messageId", 4),
            Field::Object("content", &CONTENT),
        ];
        const SHAPE: [Field<'_>; 3] = [
            Field::Value("id", 0),
            Field::Value("method", 1),
            Field::Object(
                "params",
                &[Field::Value("sessionId", 2), Field::Object("update", &UPDATE)],
            ),
        ];
        CHUNK.find(line.as_bytes())?;
        let [id, method, session, kind, message_id, content_type, text] =
            read_shape::<7>(line, &SHAPE)?;
        let is_thought = kind.is("agent_thought_chunk");
        let is_piece = is_thought || kind.is("agent_message_chunk");
        // A line without content is unusual, so the general parser reads it.
        let has_content = content_type.is_some() || text.is_some();
        let fits = has_content && !id.is_some() && method.is("session/update") && is_piece;
        fits.then_some(Self { is_thought, session, message_id, content_type, text })
    }

    /// Parses an update whose content may be unusual.
    pub(super) fn from_update(
        update: Value<'a>,
        kind: &str,
        session: Value<'a>,
    ) -> Result<Self, Refusal> {
        let [content, message_id] = update.fields(&["content", "messageId"])?;
        let [content_type, text] = content.fields(&["type", "text"])?;
        let is_thought = kind == "agent_thought_chunk";
        Ok(Self { is_thought, session, message_id, content_type, text })
    }

    /// Returns the text; `None` for a chunk of another type, such as a picture.
    pub(super) fn words(&self) -> Result<Option<String>, Refusal> {
        match self.content_type.is("text") {
            true => self.text.need_text().map(Some),
            false => Ok(None),
        }
    }
}
