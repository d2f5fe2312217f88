//! A piece of a message or of a thought, which most lines of an agent are. Called by [`super::Acp`]; it knows
//! the fields, not the talk.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde_json::value::RawValue;

use crate::stream::event::Unparsed;
use crate::stream::pick::{Refusal, is, pick};
use crate::stream::shape::{Field, shaped};

/// The end of the names of updates with pieces of text.
static CHUNK: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"_chunk\""));

/// The fields of a piece of text.
pub(super) struct Chunk<'a> {
    pub(super) is_thought: bool,
    pub(super) session: Option<&'a RawValue>,
    pub(super) message_id: Option<&'a RawValue>,
    pub(super) content_type: Option<&'a RawValue>,
    pub(super) text: Option<&'a RawValue>,
}

impl<'a> Chunk<'a> {
    /// Reads a line in one pass, if it is a piece of text: most lines are, and what they say is not to be
    /// read again for every level.
    pub(super) fn of(line: &'a str) -> Option<Self> {
        const SHAPE: [Field; 3] = [
            Field::Value("id", 0),
            Field::Value("method", 1),
            Field::Object(
                "params",
                &[
                    Field::Value("sessionId", 2),
                    Field::Object(
                        "update",
                        &[
                            Field::Value("sessionUpdate", 3),
                            Field::Value("messageId", 4),
                            Field::Object(
                                "content",
                                &[Field::Value("type", 5), Field::Value("text", 6)],
                            ),
                        ],
                    ),
                ],
            ),
        ];
        CHUNK.find(line.as_bytes())?;
        let [id, method, session, kind, message_id, content_type, text] =
            shaped::<7>(line, &SHAPE)?;
        let is_thought = is(kind, "agent_thought_chunk");
        let is_piece = is_thought || is(kind, "agent_message_chunk");
        // Without a content it is an odd line, and for the careful way.
        let has_content = content_type.is_some() || text.is_some();
        let fits = has_content && id.is_none() && is(method, "session/update") && is_piece;
        fits.then_some(Self { is_thought, session, message_id, content_type, text })
    }

    /// Reads an update that is one, whatever is odd about it.
    pub(super) fn of_update(
        update: &'a RawValue,
        kind: &str,
        session: Option<&'a RawValue>,
    ) -> Result<Self, Refusal> {
        let [content, message_id] = pick(update, &["content", "messageId"])?.values();
        let content = content.ok_or(Unparsed::WrongShape)?;
        let [content_type, text] = pick(content, &["type", "text"])?.values();
        let is_thought = kind == "agent_thought_chunk";
        Ok(Self { is_thought, session, message_id, content_type, text })
    }
}
