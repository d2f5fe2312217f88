//! How the line that is typed lies on the screen: its rows and where the cursor is. Pure.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;

use crate::terminal::visible;

const CONTINUED: &str = "  ";

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The rows, none wider than the screen.
    pub(crate) rows: Vec<String>,
    pub(crate) cursor_row: usize,
    pub(crate) cursor_column: usize,
}

/// Lays a text out behind a prompt. Of many rows those around the cursor are given.
pub(crate) fn lay_out(
    prompt: &str,
    text: &str,
    cursor: usize,
    columns: usize,
    rows_max: usize,
) -> Layout {
    // The last column stays empty: what a terminal does there differs.
    let columns = columns.saturating_sub(1).max(CONTINUED.len() + 4);
    let mut rows = vec![prompt.to_owned()];
    let mut width = prompt.chars().filter_map(UnicodeWidthChar::width).sum::<usize>();
    let mut at = None;
    for (place, c) in text.char_indices().chain([(text.len(), '\n')]) {
        let bytes = &mut [0; 4];
        let shown = shown(c, bytes);
        let needed: usize = shown.chars().filter_map(UnicodeWidthChar::width).sum();
        if width + needed > columns {
            rows.push(CONTINUED.to_owned());
            width = CONTINUED.len();
        }
        if place == cursor {
            at = Some((rows.len() - 1, width));
        }
        if c == '\n' && place < text.len() {
            rows.push(CONTINUED.to_owned());
            width = CONTINUED.len();
        } else if let Some(row) = rows.last_mut() {
            row.push_str(&shown);
            width += needed;
        }
    }
    let (cursor_row, cursor_column) = at.unwrap_or((rows.len() - 1, width));
    let from = (cursor_row + 1).saturating_sub(rows_max.max(1));
    let rows: Vec<String> = rows.into_iter().skip(from).take(rows_max.max(1)).collect();
    Layout { rows, cursor_row: cursor_row - from, cursor_column }
}

/// How a character that was typed or pasted is shown. Most of them as they are: a long paste is laid out
/// anew with every key.
fn shown(c: char, bytes: &mut [u8; 4]) -> Cow<'_, str> {
    match c {
        '\n' => Cow::Borrowed(""),
        '\t' => Cow::Borrowed("    "),
        c => visible(c.encode_utf8(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_is_wrapped_behind_its_prompt_and_the_cursor_is_found() {
        let layout = lay_out("> ", "abcdefgh", 3, 8, 9);
        assert_eq!(layout.rows, ["> abcde", "  fgh"]);
        assert_eq!((layout.cursor_row, layout.cursor_column), (0, 5));
        let layout = lay_out("> ", "ab\n设", 6, 20, 9);
        assert_eq!(layout.rows, ["> ab", "  设"]);
        assert_eq!((layout.cursor_row, layout.cursor_column), (1, 4));
        assert_eq!(lay_out("> ", "a\x1b[2J\tb", 0, 40, 9).rows, ["> a␛[2J    b"]);
    }

    #[test]
    fn of_many_rows_those_around_the_cursor_are_shown() {
        let text = "a\n".repeat(50);
        let layout = lay_out("> ", &text, text.len(), 20, 5);
        assert_eq!((layout.rows.len(), layout.cursor_row), (5, 4));
        assert_eq!(lay_out("> ", &text, 0, 20, 5).cursor_row, 0);
    }

    proptest! {
        #[test]
        fn no_row_is_wider_than_the_screen(
            text in "(?s)[a-z设\\t\\n\u{301}\u{1b}]{0,80}",
            cursor in 0_usize..90,
            columns in 1_usize..40,
            rows_max in 0_usize..6,
        ) {
            let cursor = text.floor_char_boundary(cursor);
            let layout = lay_out("> ", &text, cursor, columns, rows_max);
            for row in &layout.rows {
                let width: usize = row.chars().filter_map(UnicodeWidthChar::width).sum();
                prop_assert!(width < columns.max(7), "{row:?}");
                prop_assert!(!row.chars().any(char::is_control));
            }
            prop_assert!(layout.cursor_row < layout.rows.len());
        }
    }
}
