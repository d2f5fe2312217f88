//! The content of a message: texts and pictures. Also determines which texts Codex itself adds to messages of the
//! user.

use tertulia_session::json::{self, Json, Kind, Object, RawValue};
use tertulia_session::{Image, OtherPart, Part, PartKind};

use super::take_words;
use crate::native::NativeFormat;

/// Reads the content of a message: a text, or a list of blocks. `None` if it is neither.
pub(super) fn read(raw: &RawValue) -> Option<Vec<Part>> {
    match Kind::from(raw) {
        Kind::String => Some(vec![Part::text(json::words(raw))]),
        Kind::Array => {
            let blocks = json::elements(raw).ok()?;
            Some(blocks.into_iter().map(block).collect())
        }
        _ => None,
    }
}

/// Reads a block of either log. The two logs use different names for the same blocks.
fn block(raw: &RawValue) -> Part {
    let Ok(mut fields) = Object::try_from(raw) else { return other("block", raw) };
    let kind = take_words(&mut fields, "type").unwrap_or_default();
    let found = match &*kind {
        "input_text" | "output_text" | "text" | "Text" => {
            take_words(&mut fields, "text").map(Part::text)
        }
        "input_image" | "image" => {
            let address = take_words(&mut fields, "image_url");
            address.map(|address| image(&address))
        }
        _ => None,
    };
    found.unwrap_or_else(|| other(&kind, raw))
}

/// Reads a picture with an address, usually a `data:` URL.
pub(super) fn image(address: &str) -> Part {
    Part::new(PartKind::Image(Box::new(Image::from_address(address))))
}

/// Keeps a block that only Codex defines.
fn other(kind: &str, raw: &RawValue) -> Part {
    let kind = format!("{}/{kind}", NativeFormat::Codex.as_str()).into();
    let payload = Some(Json::from(raw));
    Part::new(PartKind::Other(Box::new(OtherPart { kind, payload })))
}

/// Removes the texts that Codex added to a message of the user. In newer versions `kinds` names the origin of every
/// block.
pub(super) fn keep_said(parts: Vec<Part>, kinds: &[&RawValue]) -> Vec<Part> {
    let kind = |at: usize| kinds.get(at).map(|raw| json::words(raw));
    let is_said = |(at, part): &(usize, Part)| match kind(*at).as_deref() {
        Some(kind) if kind.starts_with("user.") => true,
        // Older versions write no kind, or one of these.
        None | Some("unknown" | "") => !part.as_text().is_some_and(is_added),
        Some(_) => false,
    };
    parts.into_iter().enumerate().filter(is_said).map(|(_, part)| part).collect()
}

/// Returns whether Codex adds texts with this beginning to messages of the user.
pub(super) fn is_added(text: &str) -> bool {
    let text = text.trim_start();
    ADDED_BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
        || ADDED_ELEMENTS.iter().any(|name| is_element(text, name))
}

const ADDED_BEGINNINGS: [&str; 4] = [
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<permissions instructions>",
];

/// Names of elements that form a whole text.
const ADDED_ELEMENTS: [&str; 14] = [
    "INSTRUCTIONS",
    "apps_instructions",
    "collaboration_mode",
    "codex_internal_context",
    "goal_context",
    "hook_prompt",
    "model_switch",
    "personality_spec",
    "plugins",
    "plugins_instructions",
    "skill",
    "skills_instructions",
    "subagent_notification",
    "turn_aborted",
];

/// Returns whether a text is one element of this name. The element may have attributes.
fn is_element(text: &str, name: &str) -> bool {
    let opens = |text: &str| {
        let rest = text.strip_prefix('<')?.strip_prefix(name)?;
        rest.starts_with(['>', ' ']).then_some(())
    };
    let closes = |text: &str| {
        let rest = text.strip_suffix('>')?.strip_suffix(name)?;
        rest.ends_with("</").then_some(())
    };
    opens(text).is_some() && closes(text.trim_end()).is_some()
}
