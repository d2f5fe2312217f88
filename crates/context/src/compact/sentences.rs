//! Splits texts in any script into sentences, which are slices of the text, in order. Code between fences is left
//! out. A list item or a heading is a separate sentence. Called by [`super::gather`].

/// Returns the sentences of a text without code between fences and without the marks at the start of lines.
pub(super) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines()
        .filter(move |line| {
            let fence = line.trim_start().starts_with("```");
            fenced ^= fence;
            !fenced && !fence
        })
        .flat_map(|line| of_line(bare(line)))
}

/// Returns a line without the marks of a list, a quotation or a heading.
fn bare(line: &str) -> &str {
    let line = line.trim();
    let bare = line.trim_start_matches(['-', '*', '#', '>', '•', '·', ' ']);
    // A flag, or bold text, begins with the same characters.
    if bare.len() + 2 == line.len() && line.starts_with("--") { line } else { bare }
}

fn of_line(mut rest: &str) -> impl Iterator<Item = &str> {
    let pieces = std::iter::from_fn(move || {
        let (sentence, behind) = rest.split_at(end(rest));
        rest = behind;
        (!sentence.is_empty()).then(|| sentence.trim().trim_matches('*').trim())
    });
    pieces.filter(|sentence| !sentence.is_empty())
}

/// Returns the end of the first sentence: after `。`, `！`, `？`, `；`, or after `.`, `!`, `?` before a space
/// that no lower-case letter follows.
fn end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'.' | b'!' | b'?' => {
                let blank = bytes.get(at).is_some_and(|next| *next == b' ');
                if blank && bytes.get(at + 1).is_some_and(|next| !next.is_ascii_lowercase()) {
                    return at;
                }
            }
            // The first byte of wide punctuation marks. The next bytes show whether it is one that ends a sentence.
            0xE3 if bytes.get(at..at + 2) == Some(&[0x80, 0x82]) => {
                return behind_closing(text, at + 2);
            }
            0xEF if matches!(bytes.get(at..at + 2), Some([0xBC, 0x81 | 0x9F | 0x9B])) => {
                return behind_closing(text, at + 2);
            }
            _ => {}
        }
    }
    text.len()
}

/// Closing quotation marks and brackets, which belong to the sentence before them.
const CLOSING: [char; 10] = ['」', '』', '”', '’', '）', '】', '》', '〉', '"', ')'];

fn behind_closing(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    text.len() - rest.trim_start_matches(CLOSING).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(sentences(text).collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn sentences_end_at_their_marks() {
        check("One, e.g. this. Two v1.2! Three?", &["One, e.g. this.", "Two v1.2!", "Three?"]);
        check("先改。再测！好吗？是；", &["先改。", "再测！", "好吗？", "是；"]);
    }

    #[test]
    fn a_quotation_is_closed_by_the_sentence_that_opened_it() {
        check("他说：「好了。」 They are content.", &["他说：「好了。」", "They are content."]);
        check("（先改。）『好！』”再测", &["（先改。）", "『好！』”", "再测"]);
    }

    #[test]
    fn lines_of_a_list_are_sentences() {
        check("# Plan\n- one\n* two\n\n> three", &["Plan", "one", "two", "three"]);
    }

    #[test]
    fn code_between_fences_is_left_out() {
        check("Before\n```rust\nlet x = 1. Y;\n```\nAfter", &["Before", "After"]);
    }

    #[test]
    fn a_text_without_an_end_is_one_sentence() {
        let text = "a".repeat(1_000_000);
        assert_eq!(sentences(&text).count(), 1);
    }
}
