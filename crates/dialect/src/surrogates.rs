//! Replaces lone surrogates in kept JSON. `session` keeps `"\ud800"` unchanged, but the parser of a vendor may reject
//! it.

use std::borrow::Cow;

use tertulia_session::json::{Escape, Json};

/// Returns the JSON with every lone surrogate replaced by U+FFFD; borrowed if there is none.
pub(crate) fn mended(json: &Json) -> Cow<'_, Json> {
    match replaced(json.as_str()).and_then(|text| Json::parse(&text).ok()) {
        Some(mended) => Cow::Owned(mended),
        None => Cow::Borrowed(json),
    }
}

pub(crate) fn mended_text(json: &Json) -> Cow<'_, str> {
    match replaced(json.as_str()) {
        Some(mended) => Cow::Owned(mended),
        None => Cow::Borrowed(json.as_str()),
    }
}

/// Returns the text with lone surrogates replaced; `None` if there are none.
fn replaced(text: &str) -> Option<String> {
    let mut mended: Option<String> = None;
    let (mut kept_until, mut at) = (0, 0);
    while let Some(found) = text[at..].find('\\') {
        let begin = at + found;
        let escape = Escape::first(&text[begin..]);
        at = begin + escape.bytes;
        if escape.character.is_none() {
            let whole = mended.get_or_insert_default();
            whole.push_str(&text[kept_until..begin]);
            whole.push_str("\\ufffd");
            kept_until = at;
        }
    }
    if let Some(whole) = &mut mended {
        whole.push_str(&text[kept_until..]);
    }
    mended
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, expected: &str) {
        assert_eq!(mended(&Json::parse(json).unwrap()).as_str(), expected);
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
