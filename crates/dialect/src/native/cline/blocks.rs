//! The content of a message of Cline: a text, or a list of blocks.

use std::borrow::Cow;

use tertulia_session::json::{self, Json, Kind, Object, RawValue};
use tertulia_session::{Image, ImageSource, Part, PartKind, ToolResult};

use super::words::{folder, is_automatic, spoken};
use crate::native::NativeFormat;
use crate::native::fields;

/// The content of a message.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub parts: Vec<Part>,
    /// Whether it contains text that Cline did not write itself.
    pub is_said: bool,
    /// The folder in the details of the environment.
    pub folder: Option<Box<str>>,
}

impl Content {
    /// Reads the content of a message. `None` if it is of another type. The texts of an answer are not changed.
    pub(super) fn read(raw: &RawValue, is_answer: bool) -> Option<Self> {
        let mut content = Self::default();
        match Kind::from(raw) {
            Kind::String => content.push_text(json::words(raw), is_answer),
            Kind::Array => {
                for block in json::elements(raw).ok()? {
                    content.push_block(block, is_answer);
                }
            }
            _ => return None,
        }
        Some(content)
    }

    fn push_text(&mut self, text: Cow<'_, str>, is_answer: bool) {
        if is_answer {
            self.parts.push(Part::text(text));
            return;
        }
        if self.folder.is_none() {
            self.folder = folder(&text).map(Into::into);
        }
        self.is_said |= !is_automatic(&text) && spoken(Cow::Borrowed(&text)).is_some();
        self.parts.extend(spoken(text).map(Part::text));
    }

    fn push_block(&mut self, raw: &RawValue, is_answer: bool) {
        let Ok(mut block) = Object::try_from(raw) else {
            return self.parts.push(fields::own_part(NativeFormat::Cline, "", raw));
        };
        let kind = fields::take_string(&mut block, "type").unwrap_or_default();
        let text = block.take("text").filter(|raw| Kind::from(*raw) == Kind::String);
        match (kind.as_str(), text) {
            ("text", Some(text)) => self.push_text(json::words(text), is_answer),
            (kind, _) => {
                let part = read_block(kind, block);
                let own = || fields::own_part(NativeFormat::Cline, kind, raw);
                self.parts.push(part.unwrap_or_else(own));
            }
        }
    }
}

/// Reads a block that is no text. `None` if it is unknown or incomplete.
fn read_block(kind: &str, mut block: Object<'_>) -> Option<Part> {
    let kind = match kind {
        "thinking" => PartKind::Thinking(fields::take_string(&mut block, "thinking")?),
        "tool_use" => {
            let id = fields::take_word(&mut block, "id")?;
            let tool = fields::take_word(&mut block, "name")?;
            fields::call(&id, &tool, block.take("input"))
        }
        "tool_result" => PartKind::ToolResult(Box::new(ToolResult {
            tool_call_id: fields::take_word(&mut block, "tool_use_id")?,
            is_error: fields::take_boolean(&mut block, "is_error").unwrap_or_default(),
            content: block.take_some("content").map_or_else(|| Json::text(""), Json::from),
        })),
        "image" => PartKind::Image(Box::new(image(&mut block)?)),
        "file" => {
            // The model gets the file with its content, so the content is part of the message.
            let path = fields::take_string(&mut block, "path")?;
            let content = fields::take_string(&mut block, "content")?;
            PartKind::Text(format!("<file_content path=\"{path}\">\n{content}\n</file_content>"))
        }
        _ => return None,
    };
    Some(fields::part(kind, block))
}

/// Reads a picture: `{data, mediaType}`, or `{source}` as in Anthropic's format.
fn image(block: &mut Object<'_>) -> Option<Image> {
    if let Some(source) = block.take("source") {
        return Image::from_source(source);
    }
    let mime_type = fields::take_word(block, "mediaType")?;
    Some(Image { mime_type, source: ImageSource::Data(fields::take_word(block, "data")?) })
}
