//! The tables of a vocabulary, used in place in the program. Called by [`super`] and [`super::encode`].

use super::layout::{
    NO_TOKEN, Node, ROOT_BASE, Token, pair_group, pair_hash, pair_mark, pair_slot, pair_token,
};

/// A vocabulary.
pub(super) struct Tables {
    trie: &'static [[u8; 8]],
    tokens: &'static [[u8; 8]],
    pairs: &'static [[u8; 4]],
    shifts: &'static [[u8; 2]],
}

macro_rules! tables {
    ($name:literal) => {
        Tables::new(
            include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".trie")),
            include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".tokens")),
            include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".pairs")),
            include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".shifts")),
        )
    };
}

pub(super) static O200K_TABLES: Tables = tables!("o200k");
pub(super) static CL100K_TABLES: Tables = tables!("cl100k");

impl Tables {
    const fn new(
        trie: &'static [u8],
        tokens: &'static [u8],
        pairs: &'static [u8],
        shifts: &'static [u8],
    ) -> Self {
        Self {
            trie: trie.as_chunks().0,
            tokens: tokens.as_chunks().0,
            pairs: pairs.as_chunks().0,
            shifts: shifts.as_chunks().0,
        }
    }

    /// Returns the longest token that is a prefix of a text, or [`NO_TOKEN`] if the text is empty.
    pub(super) fn longest(&self, text: &[u8]) -> u32 {
        let (mut base, mut longest) = (ROOT_BASE, NO_TOKEN);
        for byte in text {
            let Some(node) = self.trie.get((base ^ u32::from(*byte)) as usize) else { break };
            let node = Node(u64::from_le_bytes(*node));
            if !node.is_child(*byte) {
                break;
            }
            if node.token() != NO_TOKEN {
                longest = node.token();
            }
            base = node.base();
        }
        longest
    }

    /// Returns the properties of a token.
    pub(super) fn token(&self, id: u32) -> Token {
        // There are no other ids. Returning a length of one byte for them keeps a broken build from hanging.
        Token(self.tokens.get(id as usize).map_or(1, |token| u64::from_le_bytes(*token)))
    }

    /// Returns whether two neighbouring tokens stay separate: merging their bytes gives the same two tokens.
    ///
    /// It undoes the last merges, the latest first, and looks for a merge across the border that would have come
    /// before them.
    pub(super) fn stay_apart(&self, mut left: u32, mut right: u32) -> bool {
        let mut limit = u32::MAX;
        let (mut left_inner, mut right_inner) =
            (self.token(left).right(), self.token(right).left());
        loop {
            if self.merged(left, right).is_some_and(|merged| merged < limit) {
                return false;
            }
            let (left_is_byte, right_is_byte) = (left_inner == left, right_inner == right);
            if left_is_byte && right_is_byte {
                return true;
            }
            if right_is_byte || (left > right && !left_is_byte) {
                (limit, left) = (left, left_inner);
                left_inner = self.token(left).right();
            } else {
                // Of merges with the same number, the leftmost comes first.
                (limit, right) = (right + 1, right_inner);
                right_inner = self.token(right).left();
            }
        }
    }

    /// Returns the token that two tokens are merged into.
    fn merged(&self, left: u32, right: u32) -> Option<u32> {
        let hash = pair_hash(left, right);
        let shift = u16::from_le_bytes(*self.shifts.get(pair_group(hash, self.shifts.len()))?);
        let slot = self.pairs.get(pair_slot(hash, shift, self.pairs.len()))?;
        let slot = u32::from_le_bytes(*slot);
        let id = pair_token(slot);
        if slot ^ id != pair_mark(hash) {
            return None;
        }
        let token = self.token(id);
        (token.left() == left && token.right() == right).then_some(id)
    }
}
