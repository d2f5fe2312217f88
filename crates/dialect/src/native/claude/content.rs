//! The content of a message: Anthropic's blocks as parts, without the texts that Claude Code adds to messages of the
//! user.

use tertulia_session::json::{self, FieldError, Json, Kind, Object, RawValue};
use tertulia_session::{Message, Part, PartKind, Parts};

use crate::Dialect;
use crate::anthropic::read_block;
use crate::native::ProblemKind;
use crate::reading::own_part;

/// The beginnings of texts that the user did not write: echoes of commands, reminders, notes.
const ADDED: [&str; 8] = [
    "<command-name>",
    "<command-message>",
    "<local-command-",
    "<system-reminder>",
    "<task-notification>",
    "<user-prompt-submit-hook>",
    "[Request interrupted by user]",
    "[Request interrupted by user for tool use]",
];

/// The parts of a message, and the problem if a part could not be read.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub parts: Parts,
    pub problem: Option<ProblemKind>,
}

impl Content {
    /// Reads a content: a string or a list of blocks. A block that cannot be read is kept whole.
    pub(super) fn read(raw: &RawValue) -> Self {
        let mut content = Self::default();
        match Kind::from(raw) {
            Kind::String => content.push_text(json::words(raw).into_owned()),
            Kind::Array => {
                for block in json::elements(raw).unwrap_or_default() {
                    content.push(block);
                }
            }
            _ => content.problem = Some(ProblemKind::Field { field: "message.content" }),
        }
        content
    }

    /// Keeps the texts of the user and the results of tools. Of a hidden message, keeps only the results.
    pub(super) fn retain_said(&mut self, is_hidden: bool) {
        self.parts.retain(|part| match &part.kind {
            PartKind::ToolResult(_) => true,
            PartKind::Text(text) => !is_hidden && !is_added(text),
            _ => !is_hidden,
        });
    }

    /// Returns the text.
    pub(super) fn text(&self) -> String {
        Message::words(&self.parts).into_owned()
    }

    fn push_text(&mut self, text: String) {
        if !text.is_empty() {
            self.parts.push(Part::text(text));
        }
    }

    fn push(&mut self, block: &RawValue) {
        if Kind::from(block) == Kind::String {
            return self.push_text(json::words(block).into_owned());
        }
        match read_block(block, words) {
            Ok((Part { kind: PartKind::Text(text), .. }, _)) if text.is_empty() => {}
            Ok((part, _)) => self.parts.push(part),
            Err(_) => {
                self.problem = Some(ProblemKind::Field { field: "message.content" });
                let kind = Object::try_from(block).ok().and_then(|mut block| block.take("type"));
                let kind = kind.map(json::words).unwrap_or_default();
                self.parts.push(own_part(Dialect::Anthropic, &kind, Json::from(block)));
            }
        }
    }
}

/// Returns whether a part is the result of a tool.
pub(super) fn is_result(part: &Part) -> bool {
    matches!(part.kind, PartKind::ToolResult(_))
}

fn is_added(text: &str) -> bool {
    let text = text.trim_start();
    ADDED.iter().any(|beginning| text.starts_with(beginning))
}

/// Returns the text of a string. Lone surrogates become U+FFFD.
fn words(raw: &RawValue) -> Result<String, FieldError> {
    match json::inner(raw) {
        Some(_) => Ok(json::words(raw).into_owned()),
        None => Err(FieldError::wrong_kind("a string", raw)),
    }
}
