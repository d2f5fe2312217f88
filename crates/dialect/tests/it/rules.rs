//! Code that the four checkers share. The checkers follow the vendors' documents (see docs/dialects.md) and share no
//! code with the renderers except the JSON types.

use serde_json::Value;
use tertulia_dialect::Dialect;

use crate::{rules_anthropic, rules_chat, rules_gemini, rules_responses};

/// The violated rules of a request. Empty if the vendor would accept the request.
pub(crate) type Violations = Vec<String>;

/// Checks a fragment of a request with the rules of this vendor.
pub(crate) fn violations(dialect: Dialect, request: &Value) -> Violations {
    match dialect {
        Dialect::OpenAiChat => rules_chat::check(request),
        Dialect::OpenAiResponses => rules_responses::check(request),
        Dialect::Anthropic => rules_anthropic::check(request),
        Dialect::Gemini => rules_gemini::check(request),
    }
}

#[track_caller]
pub(crate) fn assert_valid(dialect: Dialect, request: &str) {
    let value: Value = serde_json::from_str(request).expect(request);
    let found = violations(dialect, &value);
    assert!(found.is_empty(), "{dialect:?}: {found:#?}\n{request}");
}

/// Adds this sentence if the rule does not hold.
pub(crate) fn require(holds: bool, found: &mut Violations, sentence: impl Into<String>) {
    if !holds {
        found.push(sentence.into());
    }
}

/// Returns the elements of a list. Empty for other values.
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns a text. Empty for other values.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(crate) fn is_word(text: &str, chars_max: usize) -> bool {
    (1..=chars_max).contains(&text.chars().count())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

pub(crate) fn is_blank(value: &Value) -> bool {
    text(value).trim().is_empty()
}

pub(crate) fn all_differ<'a>(texts: impl Iterator<Item = &'a str>) -> bool {
    let mut seen = std::collections::HashSet::new();
    texts.into_iter().all(|text| seen.insert(text))
}
