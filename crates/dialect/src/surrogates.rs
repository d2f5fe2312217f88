//! Replaces lone surrogates in kept JSON. `session` keeps `"\ud800"` unchanged, but the parser of a vendor may reject
//! it.

use std::borrow::Cow;

use tertulia_session::json::{Escape, Json};

/// Returns the JSON with every lone surrogate replaced by U+FFFD; borrowed if there is none.
pub(crate) fn well_formed(json: &Json) -> Cow<'_, Json> {
    match replaced(json.as_str()).and_then(|text| Json::parse(&text).ok()) {
        Some(well_formed) => Cow::Owned(well_formed),
        None => Cow::Borrowed(json),
    }
}

pub(crate) fn well_formed_text(json: &Json) -> Cow<'_, str> {
    match replaced(json.as_str()) {
        Some(well_formed) => Cow::Owned(well_formed),
        None => Cow::Borrowed(json.as_str()),
    }
}

/// Returns the text with lone surrogates replaced; `None` if there are none.
fn replaced(text: &str) -> Option<String> {
    let mut well_formed: Option<String> = None;
    let (mut kept_until, mut at) = (0, 0);
    while let Some(found) = text[at..].find('\\') {
        let begin = at + found;
        let escape = Escape::first(&text[begin..]);
        at = begin + escape.bytes;
        if escape.character.is_none() {
            let whole = well_formed.get_or_insert_default();
            whole.push_str(&text[kept_until..begin]);
            whole.push_str("\\ufffd");
            kept_until = at;
        }
    }
    if let Some(whole) = &mut well_formed {
        whole.push_str(&text[kept_until..]);
    }
    well_formed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, expected: &str) {
        assert_eq!(well_formed(&Json::parse(json).unwrap()).as_str(), expected);
    }

    #[test]
    fn halves_are_replaced_and_pairs_stay() {
        check(r#""a\ud800b""#, r#""a\ufffdb""#);
        check(r#""\ud83d\ude00""#, r#""\ud83d\ude00""#);
        check(r#""\ude00\ud83d""#, r#""\ufffd\ufffd""#);
        check(r#"{"\uD800":["\ud800\ud83d\ude00"]}"#, r#"{"\ufffd":["\ufffd\ud83d\ude00"]}"#);
    }

    #[test]
    fn a_backslash_that_is_itself_escaped_starts_nothing() {
        check(r#""\\ud800é\"\n""#, r#""\\ud800é\"\n""#);
    }
}
