//! Decodes the escapes in JSON strings without failing. A lone surrogate is valid JSON but not a character, so it
//! becomes U+FFFD.

use std::borrow::Cow;
use std::fmt;

use super::RawValue;

/// An escape: a backslash and what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Escape {
    /// The length in bytes. A surrogate pair is one escape.
    pub bytes: usize,
    /// The character; `None` for a lone surrogate.
    pub character: Option<char>,
}

impl Escape {
    /// Reads the escape at the start of a text, which begins with a backslash. A `\u` without four digits is read as
    /// `u`.
    pub fn first(text: &str) -> Self {
        let of = |bytes, character| Self { bytes, character };
        let Some(letter) = text.chars().nth(1) else { return of(1, Some('\\')) };
        match letter {
            'n' => of(2, Some('\n')),
            't' => of(2, Some('\t')),
            'r' => of(2, Some('\r')),
            'b' => of(2, Some('\u{8}')),
            'f' => of(2, Some('\u{c}')),
            'u' => match (code_unit(text, 0), code_unit(text, 6)) {
                (Some(high @ 0xD800..0xDC00), Some(low @ 0xDC00..0xE000)) => {
                    of(12, char::decode_utf16([high, low]).next().and_then(Result::ok))
                }
                (Some(unit), _) => of(6, char::from_u32(unit.into())),
                (None, _) => of(2, Some('u')),
            },
            other => of(1 + other.len_utf8(), Some(other)),
        }
    }
}

/// Returns the code unit of the `\uXXXX` escape at this index.
fn code_unit(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}

/// A slice of a JSON string. Displays its decoded text without a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unescaped<'a>(pub &'a str);

impl Unescaped<'_> {
    fn write_to(self, into: &mut impl fmt::Write) -> fmt::Result {
        // Everything before `start` is written. The search for the next escape begins at `from`.
        let (text, mut start, mut from) = (self.0, 0, 0);
        while let Some(found) =
            text.as_bytes().get(from..).and_then(|rest| find(rest, b'\\', b'\\'))
        {
            let at = from + found;
            into.write_str(&text[start..at])?;
            if let Some(b'"' | b'\\' | b'/') = text.as_bytes().get(at + 1) {
                // The character itself is the first of what follows.
                (start, from) = (at + 1, at + 2);
                continue;
            }
            let escape = Escape::first(&text[at..]);
            into.write_char(escape.character.unwrap_or(char::REPLACEMENT_CHARACTER))?;
            (start, from) = (at + escape.bytes, at + escape.bytes);
        }
        into.write_str(&text[start..])
    }
}

impl fmt::Display for Unescaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_to(f)
    }
}

/// Appends the decoded text of a slice of a JSON string.
pub fn unescape(raw: &str, into: &mut String) {
    // Writing into a string cannot fail.
    let _ = Unescaped(raw).write_to(into);
}

/// Returns the index of the first of two bytes. Compares eight bytes at once, because JSON texts are long.
pub(super) fn find(bytes: &[u8], one: u8, other: u8) -> Option<usize> {
    const LOW: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    // Its highest bits are set where a byte is 0, and nowhere before the first of these.
    let zeros = |word: u64| word.wrapping_sub(LOW) & !word & HIGH;
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = zeros(word ^ (LOW * u64::from(one))) | zeros(word ^ (LOW * u64::from(other)));
        if found != 0 {
            return Some(8 * index + found.trailing_zeros() as usize / 8);
        }
    }
    let at = rest.iter().position(|byte| *byte == one || *byte == other)?;
    Some(8 * words.len() + at)
}

/// Returns the text between the quotes of a JSON string; `None` for any other value.
pub fn inner(raw: &RawValue) -> Option<&str> {
    raw.get().strip_prefix('"')?.strip_suffix('"')
}

/// Returns the decoded text of a string; any other value as JSON. The result is borrowed if nothing is escaped.
pub fn words(raw: &RawValue) -> Cow<'_, str> {
    match inner(raw) {
        Some(inner) if find(inner.as_bytes(), b'\\', b'\\').is_some() => {
            let mut text = String::with_capacity(inner.len());
            unescape(inner, &mut text);
            Cow::Owned(text)
        }
        Some(inner) => Cow::Borrowed(inner),
        None => Cow::Borrowed(raw.get()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::json;

    fn check(json: &str, expected: &str) {
        assert_eq!(words(json::parse(json).unwrap()), expected, "{json}");
    }

    #[test]
    fn a_string_is_what_it_says() {
        check(r#""a\n\t\"b\" \/ \u00e9\ud83d\ude00""#, "a\n\t\"b\" / é😀");
        check(r#""""#, "");
        assert!(matches!(words(json::parse(r#""plain""#).unwrap()), Cow::Borrowed("plain")));
    }

    #[test]
    fn other_values_are_their_json() {
        for json in ["null", "1.50", r#"{"a":"\n"}"#, "[]"] {
            check(json, json);
        }
    }

    #[test]
    fn half_a_surrogate_pair_becomes_a_mark() {
        check(r#""a\ud83d b""#, "a\u{fffd} b");
        check(r#""\ud83d\u0041""#, "\u{fffd}A");
        check(r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}");
    }

    #[test]
    fn an_escape_that_ends_too_early_stays_within_the_text() {
        for raw in ["\\", "\\u", "\\ud83d\\", "\\u00", "\\é"] {
            let escape = Escape::first(raw);
            assert!(escape.bytes <= raw.len() && raw.is_char_boundary(escape.bytes), "{raw}");
        }
    }

    proptest! {
        #[test]
        fn words_are_what_serde_reads(text: String) {
            let json = serde_json::to_string(&text).unwrap();
            let raw = json::parse(&json).unwrap();
            prop_assert_eq!(Unescaped(inner(raw).unwrap()).to_string(), text.as_str());
            prop_assert_eq!(words(raw), text);
        }

        #[test]
        fn the_first_of_two_bytes_is_found_at_any_place(bytes in prop::collection::vec(0_u8..5, 0..40)) {
            let expected = bytes.iter().position(|byte| *byte == 1 || *byte == 2);
            prop_assert_eq!(find(&bytes, 1, 2), expected);
            let high: Vec<u8> = bytes.iter().map(|byte| byte.wrapping_add(0x7e)).collect();
            prop_assert_eq!(find(&high, 0x7f, 0x80), expected);
        }

        #[test]
        fn unescaping_ends_on_any_text(raw in r"(\\|u|d83d|\\ude00|é|x)*") {
            let mut text = String::new();
            unescape(&raw, &mut text);
            prop_assert!(text.len() <= raw.len().max(1) * 3);
        }
    }
}
