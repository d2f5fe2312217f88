//! Half surrogate pairs in kept JSON. `session` keeps `"\ud800"` as it came; a vendor's parser may
//! refuse it, so a renderer replaces it. Also the one place where kept JSON becomes a text.

use std::borrow::Cow;

use tertulia_session::json::{self, Json, Kind};

/// The JSON with every half of a surrogate pair replaced by U+FFFD; borrowed where there is none.
pub(crate) fn mended(json: &Json) -> Cow<'_, Json> {
    match replaced(json.as_str()).and_then(|text| Json::parse(&text).ok()) {
        Some(mended) => Cow::Owned(mended),
        None => Cow::Borrowed(json),
    }
}

/// The text of a JSON string, mended; `None` for other values.
pub(crate) fn text_of(json: &Json) -> Option<String> {
    if json.kind() != Kind::String {
        return None;
    }
    json::text(json::parse(mended(json).as_str()).ok()?).ok()
}

/// The text with lone halves replaced; `None` if there are none.
fn replaced(text: &str) -> Option<String> {
    let mut mended: Option<String> = None;
    let (mut kept_until, mut at) = (0, 0);
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('\\')) {
        let escape = at + found;
        let Some(unit) = unit_at(text, escape) else {
            // The character behind the backslash is escaped; a character of any length may follow.
            at = escape + 1 + text[escape + 1..].chars().next().map_or(0, char::len_utf8);
            continue;
        };
        let low = unit_at(text, escape + 6).filter(|unit| (0xDC00..0xE000).contains(unit));
        at = escape + 6;
        match unit {
            0xD800..0xDC00 if low.is_some() => at += 6,
            0xD800..0xE000 => {
                let whole = mended.get_or_insert_default();
                whole.push_str(&text[kept_until..escape]);
                whole.push_str("\\ufffd");
                kept_until = at;
            }
            _ => {}
        }
    }
    if let Some(whole) = &mut mended {
        whole.push_str(&text[kept_until..]);
    }
    mended
}

/// The code unit of a `\uXXXX` escape at this place.
fn unit_at(text: &str, at: usize) -> Option<u32> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    u32::from_str_radix(digits, 16).ok()
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
