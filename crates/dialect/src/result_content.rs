//! The content of a tool's result as a request can carry it: texts and pictures. One block that is neither makes
//! the whole content its JSON text, so that nothing of it is lost.

use std::borrow::Cow;

use tertulia_session::json::{self, Json, Kind};
use tertulia_session::{Image, ResultPiece, ToolResult};

use crate::surrogates::mended_text;

/// A piece of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    Text(Cow<'a, str>),
    Image(Image),
}

/// What a failed result begins with where there is no field for it. Readers know it.
pub(crate) const ERROR_MARK: &str = "[tool error] ";

/// The content of a result.
#[derive(Debug)]
pub(crate) struct Content<'a> {
    pub(crate) pieces: Vec<Piece<'a>>,
    /// Whether it was a list of blocks.
    pub(crate) is_list: bool,
}

impl<'a> Content<'a> {
    /// Takes a content apart. JSON that is neither a text nor a list of known blocks is one text.
    pub(crate) fn of(result: &'a ToolResult) -> Self {
        let content = &result.content;
        let (is_list, is_null) = (content.kind() == Kind::Array, content.kind() == Kind::Null);
        let pieces: Option<Vec<_>> = result.pieces().map(known_piece).collect();
        match pieces.filter(|pieces| !pieces.is_empty()) {
            Some(pieces) => Self { pieces, is_list },
            None if is_null => Self { pieces: Vec::new(), is_list: false },
            None => Self { pieces: vec![Piece::Text(mended_text(content))], is_list: false },
        }
    }

    /// The texts in one, for places that take no pictures, and how many pictures there were.
    pub(crate) fn plain_text(&self) -> (Cow<'a, str>, usize) {
        let is_image = |piece: &&Piece<'_>| matches!(piece, Piece::Image(_));
        let words = |piece: &Piece<'a>| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Image(image) => format!("[image: {}]", image.mime_type).into(),
        };
        let images = self.pieces.iter().filter(is_image).count();
        match self.pieces.as_slice() {
            [piece] => (words(piece), images),
            pieces => (pieces.iter().map(words).collect::<Vec<_>>().join("\n").into(), images),
        }
    }
}

/// A result whose text may say that the tool failed.
pub(crate) fn marked_result(tool_call_id: Box<str>, content: Json) -> ToolResult {
    let words = json::words(content.raw());
    match words.strip_prefix(ERROR_MARK) {
        Some(words) => ToolResult { tool_call_id, is_error: true, content: Json::text(words) },
        None => ToolResult { tool_call_id, is_error: false, content },
    }
}

fn known_piece(piece: ResultPiece<'_>) -> Option<Piece<'_>> {
    match piece {
        ResultPiece::Text(raw) if Kind::of(raw) == Kind::String => {
            Some(Piece::Text(json::words(raw)))
        }
        ResultPiece::Image(image) if image.is_complete() => Some(Piece::Image(image)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(content: &str, expected: &str) {
        let content = Json::parse(content).unwrap();
        let result = ToolResult { tool_call_id: "1".into(), is_error: false, content };
        let content = Content::of(&result);
        assert_eq!(content.plain_text().0, expected);
    }

    #[test]
    fn a_text_and_a_list_of_texts_are_their_words() {
        check(r#""two\nlines""#, "two\nlines");
        check(r#"[{"type":"text","text":"a"},{"type":"input_text","text":"b"}]"#, "a\nb");
        check("null", "");
    }

    #[test]
    fn pictures_are_named_and_those_that_cannot_be_sent_are_text() {
        check(r#"[{"type":"image","mimeType":"image/png","data":"AAAA"}]"#, "[image: image/png]");
        let nameless = r#"[{"type":"image","data":"AAAA"}]"#;
        check(nameless, nameless);
    }

    #[test]
    fn other_json_is_its_own_text() {
        check(r#"{"rows":[1,2]}"#, r#"{"rows":[1,2]}"#);
        check(r#"[{"type":"text","text":"a"},7]"#, r#"[{"type":"text","text":"a"},7]"#);
        check("[]", "[]");
    }
}
