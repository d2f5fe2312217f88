//! A compaction: `{message, replacement_history}`. The model sees the replacement instead of everything before it.
//! The replacement contains messages that stay, texts that Codex adds, and the summary.

use tertulia_session::json::{self, Object, RawValue};
use tertulia_session::{CompactionSummary, EntryId, EntryKind, Message, Part, Role};

use super::log::fingerprint;
use super::{Item, ProblemKind, Reader, content, non_message, take_words};
use crate::native::NativeFormat;

impl Reader {
    /// Reads a compaction. If it contains only an encrypted summary, it counts as no summary, because only OpenAI can
    /// read it. Then all earlier messages are kept.
    pub(super) fn compacted(&mut self, mut record: Object<'_>, place: &str) -> Item {
        let summary = take_words(&mut record, "message").unwrap_or_default();
        let history = match record.take_some("replacement_history").map(json::elements) {
            Some(Ok(history)) => history,
            Some(Err(_)) => {
                let field = "payload.replacement_history";
                return non_message(Some("compacted")).with_problem(ProblemKind::Field { field });
            }
            None => Vec::new(),
        };
        let is_encrypted = summary.is_empty() && history.iter().any(|raw| is_encrypted(raw));
        if is_encrypted {
            return non_message(Some("compacted"));
        }
        let stays: Vec<Message> =
            history.into_iter().filter_map(|raw| self.message_of(raw)).collect();
        let hash = |message: &Message| fingerprint(message.role, &message.text(), 0);
        let hashes: Vec<u64> = stays.iter().map(hash).collect();
        let (kept, found) = self.log.find(&hashes);
        let (mut text, mut has_summary) = (String::new(), false);
        for (message, _) in stays.iter().zip(found).filter(|(_, found)| !found) {
            let words = message.text();
            // The text usually is the summary, with an introduction for the model.
            has_summary |= !summary.is_empty() && words.ends_with(&*summary);
            add(&mut text, &words);
        }
        if !has_summary {
            add(&mut text, &summary);
        }
        if text.is_empty() {
            return non_message(Some("compacted"));
        }
        Item::new(EntryKind::CompactionSummary(Box::new(summary_of(text, place, kept))))
    }

    /// Returns an item of the replacement if it is a message.
    fn message_of(&self, raw: &RawValue) -> Option<Message> {
        let mut item = Object::try_from(raw).ok()?;
        if take_words(&mut item, "type").is_some_and(|kind| kind != "message") {
            return None;
        }
        let role = take_words(&mut item, "role")?;
        let parts = content::read(item.take("content")?)?;
        let (role, parts) = match &*role {
            "user" => (Role::User, content::keep_said(parts, &[])),
            "assistant" => (Role::Assistant, parts),
            _ => return None,
        };
        let is_empty = |part: &Part| part.as_text().is_some_and(str::is_empty);
        let parts: Vec<Part> = parts.into_iter().filter(|part| !is_empty(part)).collect();
        (!parts.is_empty()).then(|| self.speakers.message(role, parts))
    }
}

/// Returns whether an item is a summary that only OpenAI can read.
fn is_encrypted(raw: &RawValue) -> bool {
    let kind = Object::try_from(raw).ok().and_then(|mut item| take_words(&mut item, "type"));
    kind.is_some_and(|kind| matches!(&*kind, "compaction" | "compaction_summary"))
}

fn add(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(more);
}

fn summary_of(text: String, place: &str, kept: Vec<EntryId>) -> CompactionSummary {
    CompactionSummary {
        kept_ids: (!kept.is_empty()).then_some(kept),
        ..super::super::item::native_summary(NativeFormat::Codex, text, place.into())
    }
}
