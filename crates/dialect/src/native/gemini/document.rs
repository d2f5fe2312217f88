//! The documents of earlier versions of Gemini CLI: `{sessionId, projectHash, messages: […]}`, and
//! the checkpoints of its `/chat save`, `{history: [{role, parts}]}`.

use tertulia_session::json::{self, Object};

use super::super::ReadSession;
use super::super::document::Document;
use super::super::split::Piece;
use super::{is_header, read_facts};

/// Fields that may be the first one of a document.
const FIRST: [&str; 8] = [
    "sessionId",
    "projectHash",
    "startTime",
    "lastUpdated",
    "kind",
    "messages",
    "history",
    "summary",
];

/// Returns whether a text begins like a document of Gemini CLI. The text may be cut at any position.
pub(in super::super) fn is_document(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    if let Ok(raw) = json::parse(first) {
        // One line is a document, unless it is the first record of a log.
        let Ok(object) = Object::try_from(raw) else { return false };
        let has = |name: &str| object.names().any(|found| found == name);
        return rest.is_empty() && (has("messages") && is_header(&object) || has("history"));
    }
    let Some(name) = text.strip_prefix('{').map(str::trim_start) else { return false };
    let is_first = |field: &str| {
        name.strip_prefix('"')
            .and_then(|name| name.strip_prefix(field))
            .is_some_and(|rest| rest.starts_with('"'))
    };
    let has = |name: &str| text.contains(&format!("\"{name}\""));
    let is_session = has("messages") && (has("projectHash") || has("gemini"));
    let is_checkpoint = has("history") && has("role") && has("parts");
    FIRST.into_iter().any(is_first) && (is_session || is_checkpoint)
}

/// Splits a document into records, and reads the data of the session.
pub(in super::super) fn split(text: &str, facts: &mut ReadSession) -> Vec<Piece> {
    let mut document = Document::new(text, "messages");
    if !document.has_list {
        document = Document::new(text, "history");
    }
    let field = |name: &str| json::parse(document.field(name)?).ok();
    facts.native_id = field("sessionId").map(|id| json::words(id).into());
    read_facts(field, facts);
    document.into_pieces(text)
}
