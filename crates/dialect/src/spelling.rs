//! Ids and names as a vendor lets them be spelled. Rewriting is a function of the text alone: the same
//! id becomes the same id in every request, so a cached prefix stays.

use std::borrow::Cow;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Spelling {
    pub(crate) allows: fn(usize, char) -> bool,
    pub(crate) chars_max: usize,
}

impl Spelling {
    /// Letters, digits, `_` and `-` of ASCII.
    pub(crate) const fn word(chars_max: usize) -> Self {
        Self { allows: |_, c| is_word(c), chars_max }
    }

    /// Anything that can be seen.
    pub(crate) const fn visible(chars_max: usize) -> Self {
        Self { allows: |_, c| c.is_ascii_graphic(), chars_max }
    }

    /// The text itself where it is allowed; else a readable part of it and a hash of all of it.
    pub(crate) fn of<'a>(&self, text: &'a str) -> Cow<'a, str> {
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

    /// The same text as the n-th of its kind.
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

/// FNV-1a folded to 32 bits: fixed for ever, and enough to keep a few ids apart.
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
        let word = Spelling::word(16);
        assert_eq!(word.of("toolu_01-A"), "toolu_01-A");
        assert_eq!(word.of("call|1"), word.of("call|1"));
        assert!(word.of("call|1").starts_with("call_1_"));
        assert_ne!(word.of("call|1"), word.of("call/1"));
        for text in ["", "é", "a long id that nobody allows", "a b"] {
            assert!(word.is_allowed(&word.of(text)), "{text:?}");
        }
    }

    #[test]
    fn a_number_at_the_end_keeps_the_limit() {
        assert_eq!(Spelling::word(6).numbered("abcdef", 12), "abc_12");
    }
}
