//! The frozen zone: one system message that stays the same for a session, so that providers can cache
//! it and everything behind it. The system prompt first, then what is known of the run, sorted.

use tertulia_session::json::{self, Json, Kind, Object};
use tertulia_session::{Entry, EntryKind, Message, Part, Role, RuntimeInit};

use super::index::{ContextIndex, Sign};
use super::{ContextBuildInput, ContextError};

#[derive(Debug, Default)]
pub(super) struct Frozen {
    pub(super) message: Option<Message>,
    /// The time, if it was among the data of the run: it belongs to the hints.
    pub(super) time: Option<String>,
}

impl Frozen {
    pub(super) fn of(
        index: &ContextIndex,
        input: &ContextBuildInput<'_>,
        default_prompt: Option<&str>,
    ) -> Result<Self, ContextError> {
        let log = input.session_entries;
        let init = runtime_init(index, log);
        let data = input.runtime_init_data.or(init.map(|init| &init.data));
        let field = "runtimeInitData";
        let mut lines = data.map(|data| key_lines(data, field)).transpose()?.unwrap_or_default();
        let of_init = init.map(|init| key_lines(&init.data, field)).transpose()?;
        let init_prompt = of_init.iter().flatten().find(|(key, _)| key == SYSTEM_PROMPT);
        let prompt = input.system_prompt.or_else(|| prompt_override(index, log));
        let prompt = prompt.or(init_prompt.map(|(_, text)| text.as_str())).or(default_prompt);
        let mut parts: Vec<Part> = Vec::new();
        parts.extend(prompt.filter(|text| !text.is_empty()).map(Part::text));
        let time = lines.iter().position(|(key, _)| key == "time");
        let time = time.map(|place| lines.remove(place).1);
        lines.retain(|(key, _)| key != SYSTEM_PROMPT);
        if !lines.is_empty() {
            parts.push(Part::text(text_of(&lines)));
        }
        let message = (!parts.is_empty())
            .then(|| Message::of_role(Role::System, parts.into_iter().collect()));
        Ok(Self { message, time })
    }
}

/// The prompt among the data of a run is no line of them.
const SYSTEM_PROMPT: &str = "systemPrompt";

fn prompt_override<'a>(index: &ContextIndex, log: &'a [Entry]) -> Option<&'a str> {
    newest(index, log, Sign::Prompt, |kind| match kind {
        EntryKind::SystemPromptOverride(other) => Some(&*other.system_prompt),
        _ => None,
    })
}

fn runtime_init<'a>(index: &ContextIndex, log: &'a [Entry]) -> Option<&'a RuntimeInit> {
    newest(index, log, Sign::Init, |kind| match kind {
        EntryKind::RuntimeInit(init) => Some(init),
        _ => None,
    })
}

/// The newest entry of a kind on the branch that may be seen.
fn newest<'a, T>(
    index: &ContextIndex,
    log: &'a [Entry],
    sign: Sign,
    of: impl FnOnce(&'a EntryKind) -> Option<T>,
) -> Option<T> {
    let at = index.seen_sign(log, index.newest(), sign)?;
    index.see(log, at)?.kind().and_then(of)
}

/// The fields of an object, by name; texts as they are, anything else as JSON.
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
    // Of fields with one name the last one counts, as everywhere.
    lines.reverse();
    lines.sort_by(|left, right| left.0.cmp(&right.0));
    lines.dedup_by(|next, kept| next.0 == kept.0);
    Ok(lines)
}

/// `key: value`, one on each line.
pub(super) fn text_of(lines: &[(String, String)]) -> String {
    let lines: Vec<String> = lines.iter().map(|(key, text)| format!("{key}: {text}")).collect();
    lines.join("\n")
}
