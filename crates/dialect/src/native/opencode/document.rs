//! Splits the document of `opencode export` into the session, every message without its parts, and every part.

use std::ops::Range;

use tertulia_session::json::{self, Object, RawValue};

use super::super::ReadSession;
use super::super::fields::{place, take_list};
use super::super::split::Piece;

/// Returns whether a text begins like a document of opencode. The text may be cut at any position.
pub(in super::super) fn is_document(text: &str) -> bool {
    let beginning = |text: &str| {
        let inside = text.trim_start().strip_prefix('{')?.trim_start();
        let value = inside.strip_prefix("\"info\"")?.trim_start().strip_prefix(':')?;
        value.trim_start().starts_with('{').then_some(())
    };
    let has = |name: &str| text.contains(name);
    beginning(text).is_some() && (has("\"projectID\"") || has("\"directory\"") || has("\"slug\""))
}

/// Splits a document into records. A file of the first storage is one record.
pub(in super::super) fn split(text: &str, facts: &mut ReadSession) -> Vec<Piece> {
    let _ = facts;
    let values = values(text).unwrap_or_default();
    if values.is_empty() {
        return vec![Piece::record(0..text.len(), 0..text.len())];
    }
    let mut pieces = Vec::with_capacity(values.len() + 1);
    let mut at = 0;
    for value in values {
        let end = value.end;
        pieces.push(Piece::record(at..end, value));
        at = end;
    }
    pieces.push(Piece::without_record(at..text.len()));
    pieces
}

/// Returns the ranges of the records. `None` if the text is no such document.
fn values(text: &str) -> Option<Vec<Range<usize>>> {
    let mut document = Object::try_from(json::parse(text).ok()?).ok()?;
    let mut values = Vec::new();
    let info = document.take("info").and_then(|info| place(text, info));
    document.names().any(|name| name == "messages").then_some(())?;
    values.extend(info);
    for message in take_list(&mut document, "messages") {
        let Ok(mut object) = Object::try_from(message) else {
            values.extend(place(text, message));
            continue;
        };
        let info = object.take("info");
        let is_whole = info.is_none();
        let parts = take_list(&mut object, "parts");
        let own: Vec<&RawValue> = if is_whole { vec![message] } else { parts };
        values.extend(info.into_iter().chain(own).filter_map(|value| place(text, value)));
    }
    // opencode writes a session before its messages, and a message before its parts. If another program wrote another
    // order, the order of the bytes is kept.
    values.sort_by_key(|value| value.start);
    values.dedup_by(|next, before| next.start < before.end);
    Some(values)
}
