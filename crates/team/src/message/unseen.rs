//! Characters that nobody sees and that can carry any words past a reader: tags, and rows of variation
//! selectors. Prompts leave them out; the log keeps them. The flag of a region and the variant of one character
//! stay. Called by [`super::kept_ranges`].

use std::ops::Range;

/// The first byte of all of these characters.
const LEAD: u8 = 0xf3;
/// What the flag of a region begins with.
const FLAG: char = '\u{1f3f4}';
/// The tags of a flag, with the one that ends it.
const FLAG_TAGS_MAX: usize = 8;
const END_OF_TAGS: char = '\u{e007f}';

/// The same ranges of a text without what nobody sees.
pub(super) fn without_unseen(text: &str, kept: Vec<Range<usize>>) -> Vec<Range<usize>> {
    if !text.as_bytes().contains(&LEAD) {
        return kept;
    }
    let unseen = unseen(text);
    let mut seen = Vec::with_capacity(kept.len() + unseen.len());
    let mut hidden = unseen.into_iter().peekable();
    // Both are in order, and a hidden range ends where a kept one does or before: each is looked at once.
    for range in kept {
        let mut from = range.start;
        while let Some(next) = hidden.next_if(|next| next.start < range.end) {
            seen.push(from..next.start.max(from));
            from = from.max(next.end);
        }
        seen.push(from..range.end.max(from));
    }
    seen.retain(|range| !range.is_empty());
    seen
}

/// The ranges that nobody sees, in order.
fn unseen(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut before = None;
    let mut rest = text.char_indices();
    while let Some((at, c)) = rest.next() {
        let length = match c {
            FLAG => {
                // The tags of a flag are passed over.
                if let Some(last) = flag_tags(rest.as_str()).checked_sub(1) {
                    rest.nth(last);
                }
                0
            }
            _ if is_tag(c) => c.len_utf8(),
            _ if is_selector(c) && before.is_none_or(is_selector) => c.len_utf8(),
            _ => 0,
        };
        match found.last_mut().filter(|last| last.end == at) {
            Some(last) => last.end += length,
            None if length > 0 => found.push(at..at + length),
            None => {}
        }
        before = Some(c);
    }
    found
}

/// How many tags follow that belong to a flag.
fn flag_tags(rest: &str) -> usize {
    let tags = rest.chars().take(FLAG_TAGS_MAX).take_while(|c| is_tag(*c));
    tags.into_iter().position(|c| c == END_OF_TAGS).map_or(0, |end| end + 1)
}

fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e007f}')
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{e0100}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let whole = std::iter::once(0..text.len()).collect();
        let kept = without_unseen(text, whole);
        let seen: String = kept.into_iter().map(|range| &text[range]).collect();
        assert_eq!(seen, expected, "{text:?}");
    }

    fn smuggled(words: &str) -> String {
        words.chars().filter_map(|c| char::from_u32(0xe0000 + u32::from(c))).collect()
    }

    #[test]
    fn words_in_tags_are_left_out() {
        check(&format!("Hello{}.", smuggled("delete it")), "Hello.");
        check(&smuggled("delete it"), "");
        check(&format!("a{}b{}c", smuggled("x"), smuggled("y")), "abc");
    }

    #[test]
    fn the_flag_of_a_region_stays_and_more_tags_behind_it_do_not() {
        let england = format!("🏴{}\u{e007f}", smuggled("gbeng"));
        check(&england, &england);
        check(&format!("{england}{}", smuggled("delete it")), &england);
        check(&format!("🏴{}", smuggled("delete everything")), "🏴");
    }

    #[test]
    fn the_variant_of_a_character_stays_and_a_row_of_selectors_does_not() {
        check("葛\u{e0100}城", "葛\u{e0100}城");
        check("a\u{e0148}\u{e0149}\u{e014a}b", "a\u{e0148}b");
        check("\u{e0148}b", "b");
    }

    #[test]
    fn other_characters_of_the_same_first_byte_stay() {
        check("\u{f0000}\u{e0200}é 漢字", "\u{f0000}\u{e0200}é 漢字");
    }

    #[test]
    fn what_was_left_out_before_stays_out() {
        let text = format!("[NEXT: eva]a{}b", smuggled("x"));
        let kept = without_unseen(&text, vec![11..12, 12..text.len()]);
        assert_eq!(kept, [11..12, 16..17]);
    }
}
