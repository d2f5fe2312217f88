//! Decides which markers take effect: those at the start or the end of the message, or in a paragraph of their own. A
//! marker inside a sentence, a list or a listing is ordinary text, because real answers contain words in brackets
//! there, and file names can contain any text. docs/routing.md has the rule and the figures.

use std::ops::Range;

use super::{ends_sentence, without_item};

/// Replaces every byte of a marker in the mask.
const MARK: u8 = 1;

/// Returns for each marker whether it takes effect. The markers are in order and do not overlap.
pub(super) fn markers_in_effect(text: &str, markers: &[Range<usize>]) -> Vec<bool> {
    let mut mask: Vec<u8> =
        text.bytes().map(|byte| if byte == MARK { b'x' } else { byte }).collect();
    for marker in markers {
        mask.get_mut(marker.clone()).unwrap_or_default().fill(MARK);
    }
    let first = mask.iter().position(|byte| !is_around(*byte)).unwrap_or(mask.len());
    let last = mask.iter().rposition(|byte| !is_behind(*byte)).map_or(0, |last| last + 1);
    let own = own_paragraphs(&mask);
    let is_own = |at: usize| {
        let next = own.partition_point(|paragraph| paragraph.end <= at);
        own.get(next).is_some_and(|paragraph| paragraph.contains(&at))
    };
    let end = markers.iter().map(|marker| marker.start).find(|start| *start >= last);
    let ends = end.is_some_and(|at| is_end(text, &mask, at));
    let counts = |marker: &Range<usize>| {
        let at = marker.start;
        at < first || at >= last && ends || is_own(at)
    };
    markers.iter().map(counts).collect()
}

/// Returns whether a byte is part of a marker or may surround one: whitespace and emphasis.
fn is_around(byte: u8) -> bool {
    matches!(byte, MARK | b' ' | b'\t' | b'\r' | b'\n' | b'*' | b'_')
}

/// Returns whether a byte may follow the last marker: punctuation too.
fn is_behind(byte: u8) -> bool {
    is_around(byte) || matches!(byte, b'.' | b'!' | b',' | b';')
}

/// Returns the paragraphs that contain only markers and other bracketed lines such as `[STATUS: done]`.
fn own_paragraphs(mask: &[u8]) -> Vec<Range<usize>> {
    let (mut own, mut start, mut is_own, mut at) = (Vec::new(), 0, true, 0);
    for line in mask.split_inclusive(|byte| *byte == b'\n') {
        if line.iter().all(u8::is_ascii_whitespace) {
            if is_own {
                own.push(start..at);
            }
            (start, is_own) = (at + line.len(), true);
        } else {
            let bare = line.trim_ascii();
            let is_tag = bare.starts_with(b"[") && bare.ends_with(b"]") && !bare.contains(&MARK);
            is_own &= is_tag || line.iter().all(|byte| is_around(*byte));
        }
        at += line.len();
    }
    if is_own {
        own.push(start..at);
    }
    own
}

/// Returns whether a marker without text after it ends the message, and is not the last row of a listing.
fn is_end(text: &str, mask: &[u8], at: usize) -> bool {
    let before = mask.get(..at).unwrap_or_default();
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    // The position where the first marker of the line begins.
    let lead_end = before.iter().skip(start).position(|byte| *byte == MARK);
    let lead = text.get(start..lead_end.map_or(at, |end| start + end)).unwrap_or_default();
    if lead.trim_matches([' ', '\t', '*', '_']).is_empty() {
        let mut above = text.get(..start).unwrap_or_default().lines().rev();
        let last = above.next().unwrap_or_default();
        return !is_listing(last, above.next().unwrap_or_default());
    }
    !is_row(lead)
}

/// Returns whether two lines end a listing: with a file name, or with several words on lines of their own. A single
/// word is an answer, such as `LGTM`.
fn is_listing(last: &str, before: &str) -> bool {
    let is_plain = |c: char| c.is_alphabetic() || matches!(c, '*' | '_');
    let is_name = !last.trim().chars().all(is_plain);
    let is_below = is_lone_word(before) || before.trim_end().ends_with(':');
    is_lone_word(last) && (is_name || is_below)
}

/// Returns whether a line is one word that does not end a sentence.
fn is_lone_word(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let is_one = words.next().is_some() && words.next().is_none();
    let is_word = line.contains(char::is_alphanumeric) && !line.contains(['[', ']']);
    is_one && is_word && !ends_sentence(line)
}

/// Returns whether the text before a marker on its line looks like a row of a list, a table or a listing.
fn is_row(lead: &str) -> bool {
    let item = without_item(lead);
    let bare = item.unwrap_or(lead).trim_start();
    if ends_sentence(bare) {
        return false;
    }
    let is_column = lead.ends_with("  ") || lead.ends_with('\t');
    let mut words = bare.split_whitespace();
    let first = words.next().unwrap_or_default();
    let is_alone = words.next().is_none();
    let bare_first = first.trim_matches(['*', '_', ':', ',', ';']);
    let is_word = !bare_first.contains(|c: char| c.is_ascii() && !c.is_ascii_alphabetic());
    let is_mode = first.len() >= 10 && first.chars().all(|c| "-dlbcpsrwxStT.+@".contains(c));
    let is_drawn = bare.starts_with(['|', '│', '├', '└', '┃', '┣', '┗']);
    is_column || item.is_some() || is_drawn || is_mode || is_alone && !is_word
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns `+` for each marker `[…]` that takes effect, and `-` for the others.
    fn marks(text: &str) -> String {
        let starts = text.match_indices('[').map(|(start, _)| start);
        let markers: Vec<_> =
            starts.map(|start| start..start + text[start..].find(']').unwrap() + 1).collect();
        markers_in_effect(text, &markers)
            .into_iter()
            .map(|counts| if counts { '+' } else { '-' })
            .collect()
    }

    #[test]
    fn a_marker_takes_effect_at_the_start_at_the_end_and_in_a_paragraph_of_its_own() {
        for text in [
            "[M]",
            "[M] please look",
            "  [M]\nPlease look.",
            "**[M]** please look",
            "Please look. [M]",
            "Please look [M]",
            "Done [M]",
            "Please look: [M].",
            "Please look.\n[M]",
            "Please look\n[M]\n",
            "Please look.\n\n**[M]**\n",
            "- one\n- two\n[M]",
            "- Please look. [M]",
            "One.\n\n[M]\n\nTwo.",
            "One.\r\n\r\n[M]\r\n\r\nTwo.",
            "Look:\n```\ncode\n```\n[M]",
            "LGTM\n[M]",
            "**Done**\n[M]",
            "I fixed it.\nDone\n[M]",
            "Fixed.\n**Next:** [M]",
            "Fixed.\n→ [M]",
        ] {
            assert_eq!(marks(text), "+", "{text:?}");
        }
        assert_eq!(marks("[A] [B]\n[C] so. [D] [E]"), "+++++");
        assert_eq!(marks("One.\n\n[A]\n[B]\n\nTwo."), "++");
        assert_eq!(marks("[A] and [B]"), "++");
        let status = "Done.\n\n[NEXT: eva]\n[STATUS: done]\n[TODO: a | b]";
        let marker = 7..18;
        assert_eq!(markers_in_effect(status, &[marker]), [true]);
    }

    #[test]
    fn a_marker_in_a_sentence_a_list_or_a_listing_has_no_effect() {
        for text in [
            "files: [M] was a file name",
            "I saw [M] there.\n\nDone.",
            "Files:\na.txt\n[M]\nb.txt",
            "Files:\na.txt\nb.txt\n[M]",
            "Files:\nREADME\n[M]",
            "src\nREADME\n[M]",
            "Files:\n- a.txt\n- [M]\n- b.txt",
            "Files:\n\n- a.txt\n- [M]",
            "Files:\n\n1. a.txt\n2. [M]",
            "total 3\n-rw-r--r-- 1 ann ann 5 Nov 1 10:00 [M]",
            "src\n├── a.rs\n└── [M]",
            "| file |\n|---|\n| [M] |",
            "a.txt   b.txt   [M]",
            "d34db33f [M]",
            "One.\n\nThe [M]\n\nTwo.",
            "Done.\n[M]\nThanks.",
        ] {
            assert_eq!(marks(text), "-", "{text:?}");
        }
        assert_eq!(marks("[A] so [B] and [C]"), "+-+");
    }

    #[test]
    fn any_text_gives_a_result_for_each_marker() {
        for text in ["", "\n", "\u{1}\u{1}", "ä[M]ö\u{2028}", "[M]\u{1}"] {
            assert_eq!(marks(text).len(), text.matches('[').count(), "{text:?}");
        }
    }
}
