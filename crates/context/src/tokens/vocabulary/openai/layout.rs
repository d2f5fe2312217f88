//! The layout of the tables of a vocabulary. The build script writes them, and [`super::tables`] reads them in place,
//! so nothing is parsed when a program starts.
//!
//! All numbers are little-endian.
//!
//! - `trie`, 8 bytes for each node: bits 0 to 8 are its mark, bits 9 to 31 the base, bits 32 to 63 the token that
//!   ends here or [`NO_TOKEN`]. The child for a byte is the node `base ^ byte`, if its mark is that of the byte. No
//!   two nodes have the same base, so the mark alone identifies the parent of a node.
//! - `tokens`, 8 bytes for each token: its length, and the numbers of three other tokens, 18 bits each ([`Token`]).
//! - `pairs`, 4 bytes for each slot: a hash table of merges in which each merge has only one possible slot. A slot
//!   contains 14 bits of the hash and the token that the merge produces. `tokens` contains the two tokens that are
//!   merged.
//! - `shifts`, 2 bytes for each group of merges: a number that is mixed into their hashes so that no two merges
//!   share a slot.

/// Means that no token ends at a node of the trie.
pub(crate) const NO_TOKEN: u32 = u32::MAX;

/// The base of the root: every search begins with its children.
pub(crate) const ROOT_BASE: u32 = 256;

/// The size of a mark in bits: eight for the byte that leads to the node, one for whether the node is in use.
pub(crate) const MARK_BITS: u32 = 9;
pub(crate) const IN_USE: u64 = 1 << 8;
const MARK: u64 = (1 << MARK_BITS) - 1;

/// The number of bits of a token's number, in both vocabularies.
pub(crate) const ID_BITS: u32 = 18;
const ID: u64 = (1 << ID_BITS) - 1;

/// Two to the 64th, divided by the golden ratio: multiplying with it spreads neighbouring numbers.
pub(crate) const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Another odd number without a pattern.
const SHIFTED: u64 = 0xd1b5_4a32_d192_ed03;

/// A node of the trie.
#[derive(Clone, Copy)]
pub(crate) struct Node(pub(crate) u64);

impl Node {
    /// Returns whether this node is the child for this byte of the node whose base was used.
    pub(crate) const fn is_child(self, byte: u8) -> bool {
        self.0 & MARK == IN_USE | byte as u64
    }

    /// Returns the base of its children.
    pub(crate) const fn base(self) -> u32 {
        (self.0 as u32) >> MARK_BITS
    }

    /// Returns the token that ends here, or [`NO_TOKEN`].
    pub(crate) const fn token(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// The properties of a token.
#[derive(Clone, Copy)]
pub(crate) struct Token(pub(crate) u64);

impl Token {
    /// Returns the length of the token in bytes.
    pub(crate) const fn bytes(self) -> usize {
        (self.0 & 0xff) as usize
    }

    /// Returns the first of the two tokens that are merged into it; for a single byte, the byte itself.
    pub(crate) const fn left(self) -> u32 {
        ((self.0 >> 8) & ID) as u32
    }

    /// Returns the second of the two tokens; for a single byte, the byte itself.
    pub(crate) const fn right(self) -> u32 {
        ((self.0 >> (8 + ID_BITS)) & ID) as u32
    }

    /// Returns the longest other token that is a prefix of it; for a single byte, the byte itself.
    pub(crate) const fn shorter(self) -> u32 {
        ((self.0 >> (8 + 2 * ID_BITS)) & ID) as u32
    }
}

/// Returns the hash of a merge. Its last bits are stored in the merge's slot.
pub(crate) const fn pair_hash(left: u32, right: u32) -> u64 {
    (((left as u64) << ID_BITS) | right as u64).wrapping_mul(SPREAD)
}

/// Returns the bits of the hash that a slot contains besides the token of its merge.
pub(crate) const fn pair_mark(hash: u64) -> u32 {
    (hash as u32) >> ID_BITS << ID_BITS
}

/// Returns the index of the shift that locates a merge.
pub(crate) const fn pair_group(hash: u64, groups: usize) -> usize {
    scaled(hash, groups)
}

/// Returns the only slot in which a merge with this hash can be, if its group has this shift.
pub(crate) const fn pair_slot(hash: u64, shift: u16, slots: usize) -> usize {
    scaled((hash ^ (shift as u64).wrapping_mul(SPREAD)).wrapping_mul(SHIFTED), slots)
}

/// Returns a number below `end`, computed from the high half of the hash.
const fn scaled(hash: u64, end: usize) -> usize {
    (((hash >> 32) * end as u64) >> 32) as usize
}

/// Returns the token of a slot of the pairs.
pub(crate) const fn pair_token(slot: u32) -> u32 {
    slot & ID as u32
}

/// The number of characters in a block. The characters of a block share one entry in the first of the two tables of
/// character classes.
pub(crate) const BLOCK: usize = 128;

/// The classes of characters in the patterns that cut a text into pieces: one bit for each set.
pub(crate) mod class {
    /// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`, the class at the start of a word in o200k.
    pub(crate) const UPPER: u8 = 1;
    /// `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`, the class at its end.
    pub(crate) const LOWER: u8 = 1 << 1;
    /// `\p{L}`
    pub(crate) const LETTER: u8 = 1 << 2;
    /// `\p{N}`
    pub(crate) const NUMBER: u8 = 1 << 3;
    /// `\s`
    pub(crate) const BLANK: u8 = 1 << 4;
    /// `[\r\n]`
    pub(crate) const BREAK: u8 = 1 << 5;
    /// `[^\s\p{L}\p{N}]`
    pub(crate) const SIGN: u8 = 1 << 6;
    /// `[^\r\n\p{L}\p{N}]`, which may precede a word.
    pub(crate) const BEFORE: u8 = 1 << 7;
}
