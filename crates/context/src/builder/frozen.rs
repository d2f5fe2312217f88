//! The frozen zone: one system message that stays the same for a session, so that providers can cache it and
//! everything after it. It contains the system prompt, then the data of the run, sorted.

use tertulia_session::json::{self, Json, Kind, Object};
use tertulia_session::{EntryKind, Message, Part, Role};

use super::index::ContextIndex;
use super::{ContextBuildInput, ContextError};
use crate::branch::Landmark;

/// Returns the message, and the time if the data of the run contains one. The time is not part of the message,
/// because it belongs to the hints.
pub(super) fn frozen_message(
    index: &ContextIndex,
    input: &ContextBuildInput<'_>,
    default_prompt: Option<&str>,
) -> Result<(Option<Message>, Option<String>), ContextError> {
    let log = input.session_entries;
    let newest = |landmark| {
        index.view_entry(log, index.visible_landmark(log, landmark, index.newest())?)?.kind()
    };
    let init = match newest(Landmark::RuntimeInit) {
        Some(EntryKind::RuntimeInit(init)) => Some(&init.data),
        _ => None,
    };
    let of_log = match newest(Landmark::SystemPrompt) {
        Some(EntryKind::SystemPromptOverride(other)) => Some(&*other.system_prompt),
        _ => None,
    };
    let key_lines = |data| key_lines(data, "runtimeInitData");
    let data = input.runtime_init_data.or(init);
    let mut lines = data.map(key_lines).transpose()?.unwrap_or_default();
    let of_init = init.map(key_lines).transpose()?;
    let init_prompt = of_init.iter().flatten().find(|(key, _)| key == SYSTEM_PROMPT);
    let prompt = input.system_prompt.or(of_log);
    let prompt = prompt.or(init_prompt.map(|(_, text)| text.as_str())).or(default_prompt);
    let mut parts: Vec<Part> = Vec::new();
    parts.extend(prompt.filter(|text| !text.is_empty()).map(Part::text));
    let time = lines.iter().position(|(key, _)| key == "time");
    let time = time.map(|place| lines.remove(place).1);
    lines.retain(|(key, _)| key != SYSTEM_PROMPT);
    if !lines.is_empty() {
        parts.push(Part::text(text_of(&lines)));
    }
    let is_there = !parts.is_empty();
    let message = is_there.then(|| Message::with_role(Role::System, parts.into_iter().collect()));
    Ok((message, time))
}

/// The field of the run's data that contains the system prompt. It does not become a line.
const SYSTEM_PROMPT: &str = "systemPrompt";

/// Returns the fields of an object, by name: texts as they are, anything else as JSON.
pub(super) fn key_lines(
    data: &Json,
    field: &'static str,
) -> Result<Vec<(String, String)>, ContextError> {
    let object = Object::try_from(data.raw()).ok();
    let Some(object) = object else {
        return Err(ContextError::field(field, format!("must be an object; got {}", data.kind())));
    };
    let mut lines: Vec<(String, String)> = Vec::new();
    for (name, raw) in object.into_fields() {
        let text = match Kind::from(raw) {
            Kind::Null => continue,
            Kind::String => json::text(raw).unwrap_or_else(|_| raw.get().to_owned()),
            _ => Json::from(raw).as_str().to_owned(),
        };
        lines.push((name.into_owned(), text));
    }
    // If several fields have the same name, the last one counts.
    lines.reverse();
    lines.sort_by(|left, right| left.0.cmp(&right.0));
    lines.dedup_by(|next, kept| next.0 == kept.0);
    Ok(lines)
}

/// Returns the text with one line `key: value` for each field.
pub(super) fn text_of(lines: &[(String, String)]) -> String {
    let lines: Vec<String> = lines.iter().map(|(key, text)| format!("{key}: {text}")).collect();
    lines.join("\n")
}
