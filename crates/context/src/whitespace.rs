//! The characters that count as whitespace. The contract was written for JavaScript, whose set differs from Rust's:
//! it contains U+FEFF, but not U+0085.

/// Returns whether JavaScript's `\s` and `trim` treat this character as whitespace.
pub fn is_whitespace(c: char) -> bool {
    c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}')
}

/// Returns the text without whitespace at its start and end.
pub fn trim(text: &str) -> &str {
    text.trim_matches(is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_differs_from_rust_in_two_characters_only() {
        let differing: Vec<char> =
            (char::MIN..=char::MAX).filter(|c| is_whitespace(*c) != c.is_whitespace()).collect();
        assert_eq!(differing, ['\u{85}', '\u{feff}']);
    }
}
