//! A text made flat for comparing: one line, single blanks, and beside it the same in lower case, with
//! as many characters. Called for texts and for questions, so that both are folded alike.

use tertulia_session::script::fold;

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
