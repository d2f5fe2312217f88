//! A text made flat for comparing: one line, single blanks, and beside it the same in lower case, with
//! as many characters. Called for texts and for questions, so that both are folded alike.

/// The lower case of a character, as one character.
pub(super) fn fold(one: char) -> char {
    if one.is_ascii() {
        return one.to_ascii_lowercase();
    }
    match one.to_lowercase().next().unwrap_or(one) {
        // At the end of a word Greek writes another letter for the same sound.
        'ς' => 'σ',
        lower => lower,
    }
}

/// Whether a script writes words without blanks between them, or joins them so freely that pairs of
/// characters find more: Thai to Khmer, Kana, Han, Hangul.
pub(super) fn is_dense(one: char) -> bool {
    matches!(u32::from(one),
        0xE00..=0xEFF | 0x1000..=0x109F | 0x1100..=0x11FF | 0x1780..=0x17FF
        | 0x3040..=0x31FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xA960..=0xA97F
        | 0xAC00..=0xD7FF | 0xF900..=0xFAFF | 0xFF66..=0xFFDC | 0x20000..=0x3FFFF)
}

/// Whether a character is part of a word that blanks or marks end.
pub(super) fn is_word(one: char) -> bool {
    one.is_alphanumeric() && !is_dense(one)
}

/// The text in lower case, every run of blanks as one blank, none at the ends.
pub(super) fn folded(text: &str) -> String {
    flat_characters(text).map(fold).collect()
}

/// The text on one line, characters as they are; as many of them as [`folded`] has.
pub(super) fn flat(text: &str) -> String {
    flat_characters(text).collect()
}

fn flat_characters(text: &str) -> impl Iterator<Item = char> {
    let mut blank = false;
    text.trim().chars().filter_map(move |one| {
        let is_blank = one.is_whitespace() || one.is_control();
        let shown = if is_blank { (!blank).then_some(' ') } else { Some(one) };
        blank = is_blank;
        shown
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_becomes_one_line_of_lower_case() {
        assert_eq!(folded("  Hello,\n\t WORLD \r\n"), "hello, world");
        assert_eq!(flat("  Hello,\n\t WORLD \r\n"), "Hello, WORLD");
    }

    #[test]
    fn both_forms_have_as_many_characters() {
        for text in ["İstanbul ǅ ß", "ΑΣ\u{0}x", "東京\u{3000}タワー", ""] {
            assert_eq!(folded(text).chars().count(), flat(text).chars().count(), "{text}");
        }
    }
}
