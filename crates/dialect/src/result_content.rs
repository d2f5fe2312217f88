//! The content of a tool result in the form that a request allows: texts and pictures. If it contains a block of
//! another kind, the whole content becomes its JSON text, so that nothing is lost.

use std::borrow::Cow;

use tertulia_session::json::{self, Json, Kind, Unescaped};
use tertulia_session::{Image, ResultPiece, ToolResult};

use crate::fragment::Node;
use crate::surrogates::well_formed_text;

#[derive(Clone, Debug)]
pub(crate) enum Piece<'a> {
    /// A [`Node::Text`], or [`Node::Words`] of a JSON string, which is decoded while it is written.
    Text(Node<'a>),
    Image(Image),
}

/// Prefix of a failed result in formats without a field for it. The readers recognize it.
pub(crate) const ERROR_MARK: &str = "[tool error] ";

#[derive(Debug)]
pub(crate) struct Content<'a> {
    pub(crate) pieces: Vec<Piece<'a>>,
    pub(crate) is_list: bool,
}

impl<'a> Content<'a> {
    /// Splits a content into pieces. JSON that is neither a text nor a list of known blocks becomes
    /// one text.
    pub(crate) fn new(result: &'a ToolResult) -> Self {
        let content = &result.content;
        let (is_list, is_null) = (content.kind() == Kind::Array, content.kind() == Kind::Null);
        let pieces: Option<Vec<_>> = result.pieces().map(known_piece).collect();
        match pieces.filter(|pieces| !pieces.is_empty()) {
            Some(pieces) => Self { pieces, is_list },
            None if is_null => Self { pieces: Vec::new(), is_list: false },
            None => {
                let pieces = vec![Piece::Text(Node::Text(well_formed_text(content)))];
                Self { pieces, is_list: false }
            }
        }
    }

    pub(crate) fn images(&self) -> usize {
        self.pieces.iter().filter(|piece| matches!(piece, Piece::Image(_))).count()
    }

    pub(crate) fn into_text(mut self) -> Node<'a> {
        let words = |piece: Piece<'a>| match piece {
            Piece::Text(text) => text,
            Piece::Image(image) => Node::text(format!("[image: {}]", image.mime_type)),
        };
        match self.pieces.pop() {
            Some(piece) if self.pieces.is_empty() => words(piece),
            last => {
                let pieces = self.pieces.into_iter().chain(last);
                let texts: Vec<_> = pieces.map(|piece| node_text(words(piece))).collect();
                Node::text(texts.join("\n"))
            }
        }
    }

    pub(crate) fn into_error_text(self) -> Node<'a> {
        match self.into_text() {
            Node::Words { words, .. } => Node::Words { is_error: true, words },
            text => Node::text(format!("{ERROR_MARK}{}", node_text(text))),
        }
    }
}

pub(crate) fn node_text(text: Node<'_>) -> Cow<'_, str> {
    match text {
        Node::Text(text) => text,
        Node::Words { words, .. } => words.to_string().into(),
        _ => Cow::Borrowed(""),
    }
}

/// Creates a result. A prefix of its text tells whether the tool failed.
pub(crate) fn marked_result(tool_call_id: Box<str>, content: Json) -> ToolResult {
    let words = json::words(content.raw());
    match words.strip_prefix(ERROR_MARK) {
        Some(words) => ToolResult { tool_call_id, is_error: true, content: Json::text(words) },
        None => ToolResult { tool_call_id, is_error: false, content },
    }
}

fn known_piece(piece: ResultPiece<'_>) -> Option<Piece<'_>> {
    match piece {
        ResultPiece::Text(raw) => {
            let words = Unescaped(json::inner(raw)?);
            Some(Piece::Text(Node::Words { is_error: false, words }))
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
        let content = Content::new(&result);
        assert_eq!(node_text(content.into_text()), expected);
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
