//! Codex keeps the names of sessions in a list of its own, to which it only adds lines; the last line of a session counts.

use std::path::Path;

use tertulia_session::json::Json;

use super::{Beside, Placing};

/// Returns the line that names a session.
pub(super) fn title(home: &Path, native_id: &str, title: &str, iso: &str) -> Beside {
    let text = format!(
        "{{\"id\":{},\"thread_name\":{},\"updated_at\":{}}}\n",
        Json::text(native_id).as_str(),
        Json::text(title).as_str(),
        Json::text(iso).as_str()
    );
    Beside { path: home.join("session_index.jsonl"), text, placing: Placing::Append }
}
