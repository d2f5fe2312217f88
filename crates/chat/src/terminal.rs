//! Formats text and numbers for people. Control characters become visible, so that no message can move the cursor, set
//! the title or write to the clipboard.

use std::borrow::Cow;
use std::time::Duration;

use unicode_width::UnicodeWidthChar;

/// Returns the text with control characters made visible; line breaks and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| if is_hidden(c) { sign(c) } else { c }).collect())
}

/// Returns the beginning of a text on one line, at most this many columns wide.
pub fn excerpt(text: &str, columns: usize) -> String {
    let mut shown = String::new();
    let mut width = 0;
    // One letter can have many marks without a width.
    let limit = columns * 4;
    for (count, c) in text.trim().chars().enumerate() {
        let c = if matches!(c, '\n' | '\t') { ' ' } else { c };
        let c = if is_hidden(c) { sign(c) } else { c };
        let needed = c.width().unwrap_or(0);
        if width + needed > columns || count >= limit {
            while width + 1 > columns {
                width -= shown.pop().and_then(|last| last.width()).unwrap_or(1);
            }
            shown.push('…');
            break;
        }
        width += needed;
        shown.push(c);
    }
    shown
}

/// Formats a number with commas between thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a duration.
pub fn duration(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds}.{} s", time.subsec_millis() / 100),
        seconds @ 60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// Whether a character is hidden: control characters, direction marks, other line breaks, and characters without
/// width that could hide words: tags, word joiners, variation selectors. Characters that join the parts
/// of an emoji or letters, or select the look of an emoji, are not hidden.
fn is_hidden(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

fn sign(c: char) -> char {
    match u32::from(c) {
        // The symbols for control characters are in the same order.
        code @ 0..0x20 => char::from_u32(0x2400 + code).unwrap_or('�'),
        0x7f => '␡',
        _ => '�',
    }
}

/// Returns whether the terminal cannot move its cursor.
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Formats a count with its noun.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_become_visible() {
        assert_eq!(visible("a\x1b]52;c;x\x07\u{9b}2J\n\tb"), "a␛]52;c;x␇�2J\n\tb");
        assert!(matches!(visible("plain\ntext"), Cow::Borrowed(_)));
    }

    #[test]
    fn marks_that_nobody_sees_become_visible_and_emoji_stay_whole() {
        for c in
            "\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}\u{202e}\u{2066}\u{e0001}\u{e0041}\u{e007f}\
             \u{ad}\u{200b}\u{2060}\u{2064}\u{feff}\u{fe00}\u{e0100}\u{e01ef}\u{34f}\u{115f}\u{180b}\u{3164}\u{ffa0}"
                .chars()
        {
            assert_eq!(visible(&format!("a{c}b")), "a\u{fffd}b", "{c:?}");
            assert_eq!(excerpt(&format!("a{c}b"), 20), "a\u{fffd}b", "{c:?}");
        }
        for whole in ["👩\u{200d}💻", "❤\u{fe0f}", "می\u{200c}خواهم", "שלום"] {
            assert_eq!(visible(whole), whole);
        }
    }

    #[test]
    fn an_excerpt_is_one_line_of_limited_width() {
        assert_eq!(excerpt("one\ntwo", 20), "one two");
        assert_eq!(excerpt("abcdef", 4), "abc…");
        assert_eq!(excerpt("设计登录", 5), "设计…");
        assert_eq!(excerpt("", 5), "");
        assert!(excerpt(&"e\u{301}".repeat(1000), 5).chars().count() <= 20);
        assert!(excerpt(&format!("e{}", "\u{301}".repeat(1000)), 5).chars().count() <= 21);
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!(
            ["0", "999", "1,000", "786,432"],
            [0, 999, 1000, 786_432].map(grouped).each_ref().map(String::as_str)
        );
    }

    #[test]
    fn a_time_has_one_form_and_is_exact_enough() {
        let times = [40, 12_390, 59_999, 60_000, 125_300, 3_700_000];
        let shown = times.map(|millis| duration(Duration::from_millis(millis)));
        assert_eq!(shown, ["0.0 s", "12.3 s", "59.9 s", "1 min 0 s", "2 min 5 s", "1 h 1 min"]);
    }

    #[test]
    fn one_of_a_thing_is_not_many() {
        let shown = [0, 1, 2, 1_000].map(|count| counted(count, "message", "messages"));
        assert_eq!(shown, ["0 messages", "1 message", "2 messages", "1,000 messages"]);
    }
}
