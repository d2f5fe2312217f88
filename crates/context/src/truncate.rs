//! Cuts a text to a number of bytes.

/// Returns the longest prefix that has at most `bytes_max` bytes and does not cut a character in two.
///
/// A base letter may lose its combining mark, because the cut is between characters, not between graphemes.
pub fn truncate_to_bytes(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_cut_is_the_longest_prefix_that_fits(text in "\\PC{0,40}", bytes_max in 0usize..80) {
            let cut = truncate_to_bytes(&text, bytes_max);
            prop_assert!(text.starts_with(cut));
            prop_assert!(cut.len() <= bytes_max);
            if let Some(next) = text[cut.len()..].chars().next() {
                prop_assert!(cut.len() + next.len_utf8() > bytes_max);
            }
        }
    }
}
