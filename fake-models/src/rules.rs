//! Checks requests by the vendors' rules. The four checkers follow the vendors' documents (see docs/dialects.md) and
//! share no code with the renderers of `dialect`.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use serde_json::Value;

use crate::Vendor;

/// The violated rules of a request. Empty if the vendor would accept the request.
type Violations = Vec<String>;

/// Returns the rules of this vendor that the messages and tools of a request violate. Empty if the vendor would accept
/// the request.
#[must_use]
pub fn violations(vendor: Vendor, request: &Value) -> Vec<String> {
    match vendor {
        Vendor::Chat => chat::check(request),
        Vendor::Responses => responses::check(request),
        Vendor::Anthropic => anthropic::check(request),
        Vendor::Gemini => gemini::check(request),
    }
}

/// Adds this sentence if the rule does not hold.
pub(super) fn require(holds: bool, found: &mut Violations, sentence: impl Into<String>) {
    if !holds {
        found.push(sentence.into());
    }
}

/// Returns the elements of a list. Empty for other values.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns a text. Empty for other values.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(super) fn is_word(text: &str, chars_max: usize) -> bool {
    (1..=chars_max).contains(&text.chars().count())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

pub(super) fn is_blank(value: &Value) -> bool {
    text(value).trim().is_empty()
}

pub(super) fn all_differ<'a>(texts: impl Iterator<Item = &'a str>) -> bool {
    let mut seen = std::collections::HashSet::new();
    texts.into_iter().all(|text| seen.insert(text))
}
