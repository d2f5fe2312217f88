//! Rewrites ids and names to a form that a vendor allows. The result depends only on the text. So an id is rewritten
//! in the same way in every request, and a cached prefix stays valid.

use std::borrow::Cow;

#[derive(Clone, Copy, Debug)]
pub(crate) struct IdentifierRule {
    pub(crate) allows: fn(usize, char) -> bool,
    pub(crate) chars_max: usize,
}

impl IdentifierRule {
    /// Allows ASCII letters, digits, `_` and `-`.
    pub(crate) const fn word(chars_max: usize) -> Self {
        Self { allows: |_, c| is_word(c), chars_max }
    }

    /// Allows all visible ASCII characters.
    pub(crate) const fn visible(chars_max: usize) -> Self {
        Self { allows: |_, c| c.is_ascii_graphic(), chars_max }
    }

    /// Returns the text itself if it is allowed. Otherwise returns a readable part of it with a hash of the whole
    /// text.
    pub(crate) fn rewrite<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.is_allowed(text) {
            return Cow::Borrowed(text);
        }
        let hash = format!("_{:08x}", fnv(text));
        let room = self.chars_max.saturating_sub(hash.len());
        let readable = |(at, c)| if (self.allows)(at, c) { c } else { '_' };
        let mut spelled: String = text.chars().take(room).enumerate().map(readable).collect();
        spelled.push_str(&hash);
        Cow::Owned(spelled)
    }

    /// Returns the text with a number as suffix.
    pub(crate) fn numbered(&self, text: &str, n: usize) -> String {
        let tail = format!("_{n}");
        let room = self.chars_max.saturating_sub(tail.len());
        text.chars().take(room).chain(tail.chars()).collect()
    }

    fn is_allowed(&self, text: &str) -> bool {
        !text.is_empty()
            && text.chars().count() <= self.chars_max
            && text.chars().enumerate().all(|(at, c)| (self.allows)(at, c))
    }
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// FNV-1a folded to 32 bits. It never changes, and it suffices to distinguish a few ids.
fn fnv(text: &str) -> u64 {
    let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    (hash >> 32) ^ (hash & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allowed_stays_and_the_rest_is_rewritten_the_same_way_every_time() {
        let word = IdentifierRule::word(16);
        assert_eq!(word.rewrite("toolu_01-A"), "toolu_01-A");
        assert_eq!(word.rewrite("call|1"), word.rewrite("call|1"));
        assert!(word.rewrite("call|1").starts_with("call_1_"));
        assert_ne!(word.rewrite("call|1"), word.rewrite("call/1"));
        for text in ["", "é", "a long id that nobody allows", "a b"] {
            assert!(word.is_allowed(&word.rewrite(text)), "{text:?}");
        }
    }

    #[test]
    fn a_number_at_the_end_keeps_the_limit() {
        assert_eq!(IdentifierRule::word(6).numbered("abcdef", 12), "abc_12");
    }
}
