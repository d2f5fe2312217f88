//! The content of a tool result, split into pieces. It is stored as JSON: a string, a list of blocks in the format
//! of a vendor or MCP, or anything else. Used by all code that counts, searches, summarizes or renders results.

use std::borrow::Cow;

use crate::json::{self, Kind, Object, RawValue};
use crate::message::join_lines;
use crate::{Image, ImageSource, ToolResult};

/// A piece of a tool result.
#[derive(Clone, Debug)]
pub enum ResultPiece<'a> {
    /// A text: the JSON of a string, or of the `text` of a block.
    Text(&'a RawValue),
    /// A picture. If its data has no type, the type is [`Image::ANY_TYPE`]. If nothing is known about it, it has no
    /// data.
    Image(Image),
    /// A block or a value of an unknown kind.
    Other(&'a RawValue),
}

impl ToolResult {
    /// Returns the pieces of the content: one for a string or another value, one for each element
    /// of a list.
    pub fn pieces(&self) -> impl Iterator<Item = ResultPiece<'_>> {
        let whole = self.content.raw();
        let (single, blocks) = match Kind::from(whole) {
            Kind::Array => (None, json::elements(whole).unwrap_or_default()),
            Kind::String => (Some(ResultPiece::Text(whole)), Vec::new()),
            _ => (Some(ResultPiece::Other(whole)), Vec::new()),
        };
        single.into_iter().chain(blocks.into_iter().map(ResultPiece::from_block))
    }

    /// Returns the text of the content, one piece per line, without pictures.
    pub fn text(&self) -> Cow<'_, str> {
        join_lines(self.pieces().filter_map(|piece| piece.text()))
    }
}

impl<'a> ResultPiece<'a> {
    /// Returns the JSON of the text; `None` for a picture.
    pub fn json(&self) -> Option<&'a RawValue> {
        match *self {
            Self::Text(raw) | Self::Other(raw) => Some(raw),
            Self::Image(_) => None,
        }
    }

    /// Returns the text: a string decoded, anything else as JSON; `None` for a picture.
    pub fn text(&self) -> Option<Cow<'a, str>> {
        self.json().map(json::words)
    }

    /// Reads a block in the format of Anthropic, OpenAI or MCP.
    fn from_block(raw: &'a RawValue) -> Self {
        let Ok(mut block) = Object::try_from(raw) else { return Self::Other(raw) };
        let kind = block.take("type").map(json::words).unwrap_or_default();
        match (&*kind, block.take("text")) {
            ("text" | "input_text" | "output_text", Some(text)) => Self::Text(text),
            ("image" | "image_url" | "input_image", _) => Self::Image(Image::from_block(block)),
            _ => Self::Other(raw),
        }
    }
}

impl Image {
    /// The type of a picture of which only the URL or the data is known.
    pub const ANY_TYPE: &'static str = "image/*";

    /// Reads a picture in OpenAI's format: a URL, or a `data:` URL.
    pub fn from_address(address: &str) -> Self {
        match Self::split_data_address(address) {
            Some((mime_type, data)) => Self::from_data(mime_type, data),
            None => Self::from_url(address),
        }
    }

    /// Reads a picture from a `source` in Anthropic's format: data with its type, or a URL.
    pub fn from_source(raw: &RawValue) -> Option<Self> {
        let mut source = Object::try_from(raw).ok()?;
        let mime_type = source.take("media_type").map(json::words);
        match (source.take("data"), source.take("url")) {
            (Some(data), _) => {
                let mime_type = mime_type.as_deref().unwrap_or(Self::ANY_TYPE);
                Some(Self::from_data(mime_type, &json::words(data)))
            }
            (None, url) => Some(Self::from_url(&json::words(url?))),
        }
    }

    /// Returns the type and the base64 of a `data:` URL.
    pub fn split_data_address(address: &str) -> Option<(&str, &str)> {
        address.strip_prefix("data:")?.split_once(";base64,")
    }

    /// Returns whether it contains everything that a request needs: a URL, or data with its type.
    pub fn is_complete(&self) -> bool {
        matches!(self.source, ImageSource::Url(_)) || &*self.mime_type != Self::ANY_TYPE
    }

    /// Reads a picture from `{source}`, `{data, mimeType}`, `{image_url: {url}}` or `{image_url}`.
    fn from_block(mut block: Object<'_>) -> Self {
        let address = |raw| match Object::try_from(raw) {
            Ok(mut inner) => inner.take("url"),
            Err(_) => Some(raw),
        };
        let named = match (block.take_some("source"), block.take_some("image_url")) {
            (Some(source), _) => Self::from_source(source),
            (None, Some(url)) => address(url).map(|url| Self::from_address(&json::words(url))),
            (None, None) => block.take("data").map(|data| {
                let mime_type = block.take("mimeType").map(json::words);
                let mime_type = mime_type.as_deref().unwrap_or(Self::ANY_TYPE);
                Self::from_data(mime_type, &json::words(data))
            }),
        };
        named.unwrap_or_else(|| Self::from_data(Self::ANY_TYPE, ""))
    }

    fn from_data(mime_type: &str, data: &str) -> Self {
        Self { mime_type: mime_type.into(), source: ImageSource::Data(data.into()) }
    }

    fn from_url(url: &str) -> Self {
        Self { mime_type: Self::ANY_TYPE.into(), source: ImageSource::Url(url.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    fn result(content: &str) -> ToolResult {
        let content = Json::parse(content).unwrap();
        ToolResult { tool_call_id: "1".into(), is_error: false, content }
    }

    #[track_caller]
    fn check(content: &str, expected: &[&str]) {
        let shown = |piece: ResultPiece<'_>| match piece {
            ResultPiece::Text(raw) => json::words(raw).into_owned(),
            ResultPiece::Other(raw) => format!("other {}", json::words(raw)),
            ResultPiece::Image(Image { mime_type, source: ImageSource::Data(data) }) => {
                format!("{mime_type} {data}")
            }
            ResultPiece::Image(Image { mime_type, source: ImageSource::Url(url) }) => {
                format!("{mime_type} at {url}")
            }
        };
        let shown: Vec<String> = result(content).pieces().map(shown).collect();
        assert_eq!(shown, expected, "{content}");
    }

    #[test]
    fn a_string_is_one_text_without_its_quotes_and_escapes() {
        check(r#""two\nlines""#, &["two\nlines"]);
    }

    #[test]
    fn blocks_are_texts_and_others() {
        let blocks =
            r#"[{"type":"text","text":"a"},{"type":"input_text","text":7},{"type":"other"},"b",7]"#;
        check(blocks, &["a", "7", r#"other {"type":"other"}"#, "other b", "other 7"]);
        assert_eq!(result(blocks).text(), "a\n7\n{\"type\":\"other\"}\nb\n7");
    }

    #[test]
    fn pictures_of_every_vendor_are_known() {
        for (block, expected) in [
            (
                r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"A"}}"#,
                "image/png A",
            ),
            (
                r#"{"type":"image","source":{"type":"url","url":"https://a"}}"#,
                "image/* at https://a",
            ),
            (r#"{"type":"image","mimeType":"image/png","data":"A"}"#, "image/png A"),
            (
                r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,A"}}"#,
                "image/png A",
            ),
            (r#"{"type":"input_image","image_url":"https://a"}"#, "image/* at https://a"),
            (r#"{"type":"image","data":"A"}"#, "image/* A"),
            (r#"{"type":"image"}"#, "image/* "),
        ] {
            check(&format!("[{block}]"), &[expected]);
        }
    }

    #[test]
    fn a_picture_is_complete_with_an_address_or_a_type() {
        let complete = |block: &str| {
            let result = result(&format!("[{block}]"));
            let Some(ResultPiece::Image(image)) = result.pieces().next() else { return false };
            image.is_complete()
        };
        assert!(complete(r#"{"type":"image","mimeType":"image/png","data":"A"}"#));
        assert!(complete(r#"{"type":"input_image","image_url":"https://a"}"#));
        assert!(!complete(r#"{"type":"image","data":"A"}"#));
        assert!(!complete(r#"{"type":"image","source":{"type":"file","file_id":"f"}}"#));
    }

    #[test]
    fn other_results_are_their_json() {
        for content in [r#"{"a":1}"#, "null", "12"] {
            check(content, &[&format!("other {content}")]);
        }
        check("[]", &[]);
    }
}
