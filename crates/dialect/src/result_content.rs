//! The content of a tool's result. `session` keeps it as JSON: a text, a list of blocks as one of the
//! vendors or MCP writes them, or anything else. Here it is taken apart for the others.

use tertulia_session::json::{self, Json, Kind, Object, RawValue};
use tertulia_session::{Image, ImageSource, ToolResult};

use crate::picture::{ANY_IMAGE, data_url};
use crate::reading::json_text;
use crate::surrogates::{mended, text_of};

/// A piece of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    Image(Image),
}

/// What a failed result begins with where there is no field for it. Readers know it.
pub(crate) const ERROR_MARK: &str = "[tool error] ";

/// The content of a result.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) pieces: Vec<Piece>,
    /// Whether it was a list of blocks.
    pub(crate) is_list: bool,
}

impl Content {
    /// Takes a content apart. JSON that is neither a text nor a list of known blocks is one text.
    pub(crate) fn of(content: &Json) -> Self {
        if content.kind() == Kind::Null {
            return Self { pieces: Vec::new(), is_list: false };
        }
        let content = mended(content);
        if let Some(pieces) = read_blocks(&content) {
            return Self { pieces, is_list: true };
        }
        let text = text_of(&content).unwrap_or_else(|| content.as_str().to_owned());
        Self { pieces: vec![Piece::Text(text)], is_list: false }
    }

    /// The texts in one, for places that take no pictures, and how many pictures there were.
    pub(crate) fn plain_text(&self) -> (String, usize) {
        let is_image = |piece: &&Piece| matches!(piece, Piece::Image(_));
        let words = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Image(image) => format!("[image: {}]", image.mime_type),
        };
        let words: Vec<String> = self.pieces.iter().map(words).collect();
        (words.join("\n"), self.pieces.iter().filter(is_image).count())
    }
}

/// A result whose text may say that the tool failed.
pub(crate) fn marked_result(tool_call_id: Box<str>, content: Json) -> ToolResult {
    let words = text_of(&content);
    match words.as_deref().and_then(|words| words.strip_prefix(ERROR_MARK)) {
        Some(words) => ToolResult { tool_call_id, is_error: true, content: json_text(words) },
        None => ToolResult { tool_call_id, is_error: false, content },
    }
}

fn read_blocks(content: &Json) -> Option<Vec<Piece>> {
    let blocks = json::elements(json::parse(content.as_str()).ok()?).ok()?;
    (!blocks.is_empty()).then_some(blocks)?.into_iter().map(read_block).collect()
}

fn read_block(raw: &RawValue) -> Option<Piece> {
    let mut block = Object::of(raw).ok()?;
    match block.take_text("type").ok()??.as_str() {
        "text" | "input_text" | "output_text" => Some(Piece::Text(block.take_text("text").ok()??)),
        // Anthropic keeps the picture under `source`, MCP beside the type.
        "image" => match block.take_some("source") {
            Some(source) => read_source(source).map(Piece::Image),
            None => {
                let mime_type = block.take_text("mimeType").ok()??;
                Some(data_image(&mime_type, &block.take_text("data").ok()??))
            }
        },
        "image_url" => {
            let mut address = Object::of(block.take("image_url")?).ok()?;
            Some(Piece::Image(image_at(&address.take_text("url").ok()??)))
        }
        "input_image" => Some(Piece::Image(image_at(&block.take_text("image_url").ok()??))),
        _ => None,
    }
}

/// A picture as Anthropic writes its source.
pub(crate) fn read_source(raw: &RawValue) -> Option<Image> {
    let mut source = Object::of(raw).ok()?;
    match source.take_text("type").ok()??.as_str() {
        "base64" => {
            let mime_type = source.take_text("media_type").ok()??.into();
            let data = source.take_text("data").ok()??.into();
            Some(Image { mime_type, source: ImageSource::Data(data) })
        }
        "url" => {
            let url = source.take_text("url").ok()??.into();
            Some(Image { mime_type: ANY_IMAGE.into(), source: ImageSource::Url(url) })
        }
        _ => None,
    }
}

/// A picture as OpenAI writes it: an address, or a `data:` address.
pub(crate) fn image_at(url: &str) -> Image {
    match data_url(url) {
        Some((mime_type, data)) => {
            Image { mime_type: mime_type.into(), source: ImageSource::Data(data.into()) }
        }
        None => Image { mime_type: ANY_IMAGE.into(), source: ImageSource::Url(url.into()) },
    }
}

fn data_image(mime_type: &str, data: &str) -> Piece {
    Piece::Image(Image { mime_type: mime_type.into(), source: ImageSource::Data(data.into()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(content: &str, expected: &str) {
        let content = Content::of(&Json::parse(content).unwrap());
        assert_eq!(content.plain_text().0, expected);
    }

    #[test]
    fn a_text_and_a_list_of_texts_are_their_words() {
        check(r#""two\nlines""#, "two\nlines");
        check(r#"[{"type":"text","text":"a"},{"type":"input_text","text":"b"}]"#, "a\nb");
        check("null", "");
    }

    #[test]
    fn pictures_of_every_vendor_are_known() {
        for block in [
            r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}"#,
            r#"{"type":"image","mimeType":"image/png","data":"AAAA"}"#,
            r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}"#,
            r#"{"type":"input_image","image_url":"data:image/png;base64,AAAA"}"#,
        ] {
            check(&format!("[{block}]"), "[image: image/png]");
        }
    }

    #[test]
    fn other_json_is_its_own_text() {
        check(r#"{"rows":[1,2]}"#, r#"{"rows":[1,2]}"#);
        check(r#"[{"type":"text","text":"a"},7]"#, r#"[{"type":"text","text":"a"},7]"#);
        check("[]", "[]");
    }
}
