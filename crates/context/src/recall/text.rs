//! The texts of a message as slices of its content. JSON stays in its escaped form, so that a passage can be found
//! again by its bytes. Only text that is returned is decoded. Called by the index and by queries; it does not depend
//! on terms or scores.

use tertulia_session::json;
use tertulia_session::{Message, PartKind};

use super::passages::step;

/// A slice of a part's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Source<'m> {
    pub(super) part: usize,
    /// The position of the slice in the text that [`part_text`] returns.
    pub(super) offset: usize,
    pub(super) raw: &'m str,
    /// Whether it is JSON, with escapes.
    pub(super) escaped: bool,
}

/// Returns the whole text of a part as it is stored, and whether it is JSON.
pub(super) fn part_text(message: &Message, part: usize) -> Option<(&str, bool)> {
    match &message.parts.get(part)?.kind {
        PartKind::Text(text) | PartKind::Thinking(text) => Some((text, false)),
        PartKind::ToolCall(call) => Some((call.arguments.as_str(), true)),
        PartKind::ToolResult(result) => Some((result.content.as_str(), true)),
        PartKind::FileRef(file) => Some((&file.path, false)),
        PartKind::Other(other) => Some((other.payload.as_ref()?.as_str(), true)),
        PartKind::Image(_) => None,
    }
}

/// Returns the texts of a message, part by part. Pictures have none.
pub(super) fn sources(message: &Message) -> Vec<Source<'_>> {
    let mut sources = Vec::new();
    for (part, kind) in message.parts.iter().map(|part| &part.kind).enumerate() {
        let Some((whole, escaped)) = part_text(message, part) else { continue };
        let mut add = |raw| {
            let offset = offset_in(whole, raw);
            sources.extend(offset.map(|offset| Source { part, offset, raw, escaped }));
        };
        match kind {
            PartKind::ToolResult(result) => {
                let texts = result.pieces().filter_map(|piece| piece.json());
                texts.for_each(|raw| add(unquoted(raw.get())));
            }
            _ => add(whole),
        }
    }
    sources
}

fn offset_in(whole: &str, slice: &str) -> Option<usize> {
    let offset = slice.as_ptr().addr().checked_sub(whole.as_ptr().addr())?;
    whole.get(offset..offset.checked_add(slice.len())?).map(|_| offset)
}

/// Returns a JSON string without its quotes; anything else as it is.
fn unquoted(raw: &str) -> &str {
    raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"')).unwrap_or(raw)
}

/// Decodes a slice: escapes become the characters that they represent.
pub(super) fn decode(raw: &str, escaped: bool, into: &mut String) {
    match escaped {
        true => json::unescape(raw, into),
        false => into.push_str(raw),
    }
}

/// Returns the beginning of a slice, at most this long, without cutting an escape.
pub(super) fn prefix(raw: &str, bytes_max: usize, escaped: bool) -> &str {
    let mut end = 0;
    while end < raw.len() {
        let next = end + step(raw, end, escaped).0;
        if next > bytes_max {
            break;
        }
        end = next;
    }
    raw.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use tertulia_session::json::Json;
    use tertulia_session::{Part, Role, ToolResult};

    use super::*;

    fn result(content: &str) -> Message {
        let content = Json::parse(content).unwrap();
        let result = ToolResult { tool_call_id: "1".into(), is_error: false, content };
        let part = Part::new(PartKind::ToolResult(Box::new(result)));
        Message::with_role(Role::Tool, [Part::text("first"), part].into_iter().collect())
    }

    fn texts(message: &Message) -> Vec<String> {
        let decoded = |source: Source<'_>| {
            let whole = part_text(message, source.part).unwrap().0;
            assert_eq!(&whole[source.offset..][..source.raw.len()], source.raw);
            let mut text = String::new();
            decode(source.raw, source.escaped, &mut text);
            text
        };
        sources(message).into_iter().map(decoded).collect()
    }

    #[test]
    fn a_result_says_what_its_string_says() {
        assert_eq!(
            texts(&result(r#""a\n\t\"b\" \u00e9\ud83d\ude00""#)),
            ["first", "a\n\t\"b\" é😀"]
        );
    }

    #[test]
    fn blocks_are_texts_and_pictures_are_left_out() {
        let blocks =
            r#"[{"type":"text","text":"a\nb"},{"type":"image","data":"AAAA"},{"url":"x"},7]"#;
        assert_eq!(texts(&result(blocks)), ["first", "a\nb", r#"{"url":"x"}"#, "7"]);
    }

    #[test]
    fn a_beginning_never_cuts_an_escape() {
        assert_eq!(prefix(r"ab\nc", 3, true), "ab");
        assert_eq!(prefix(r"ab\nc", 3, false), r"ab\");
        assert_eq!(prefix("aé", 2, false), "a");
        assert_eq!(prefix("a", 9, false), "a");
    }
}
