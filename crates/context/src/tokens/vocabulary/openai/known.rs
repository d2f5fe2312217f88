//! A cache of counted pieces, one per thread, because texts repeat their words. Only [`super`] uses it.

use super::encode::Encoder;
use super::layout::SPREAD;
use super::tables::Tables;

/// The slots of the cache. Each hash has one slot, which contains the newest piece.
#[derive(Default)]
pub(super) struct KnownPieces {
    /// A [`Key`] for each slot, with the tokens of its piece in the last four bits; 0 if the slot is free.
    slots: Vec<Key>,
    encoder: Encoder,
}

/// The bytes of a short piece, and in the last byte four bits for its length and four for its tokens.
type Key = u128;

/// The maximum length of a cached piece. Longer ones are rarely repeated.
const KEY_BYTES_MAX: usize = 15;

const TOKENS_SHIFT: u32 = 124;
const LENGTH_SHIFT: u32 = 120;

/// The number of slots: 128 KB are enough for the words that texts repeat.
const SLOTS: usize = 8_192;

impl KnownPieces {
    /// Returns the tokens of the piece in this range of the text.
    #[inline]
    pub(super) fn count(&mut self, tables: &Tables, text: &[u8], from: usize, to: usize) -> u64 {
        // Every single byte is a token.
        if to - from <= 1 {
            return (to - from) as u64;
        }
        let key = key(text, from, to);
        if self.slots.is_empty() {
            self.slots = vec![0; SLOTS];
        }
        let known = key.and_then(|key| Some((key, self.slots.get_mut(slot(key))?)));
        let Some((key, known)) = known else {
            return self.encoder.count(tables, text.get(from..to).unwrap_or_default());
        };
        if (*known ^ key) << (u128::BITS - TOKENS_SHIFT) != 0 {
            let tokens = self.encoder.count(tables, text.get(from..to).unwrap_or_default());
            *known = key | u128::from(tokens) << TOKENS_SHIFT;
        }
        (*known >> TOKENS_SHIFT) as u64
    }
}

/// Returns the key of a piece, if the piece is short enough.
fn key(text: &[u8], from: usize, to: usize) -> Option<Key> {
    let length = to - from;
    if length > KEY_BYTES_MAX {
        return None;
    }
    let bytes = match text.get(from..).and_then(<[u8]>::first_chunk) {
        Some(bytes) => u128::from_le_bytes(*bytes) & ((1 << (8 * length)) - 1),
        None => {
            let mut bytes = [0; 16];
            bytes.get_mut(..length)?.copy_from_slice(text.get(from..to)?);
            u128::from_le_bytes(bytes)
        }
    };
    Some(bytes | (length as u128) << LENGTH_SHIFT)
}

fn slot(key: Key) -> usize {
    #[expect(clippy::cast_possible_truncation, reason = "both halves are taken")]
    let halves = (key as u64) ^ ((key >> 64) as u64).rotate_left(23);
    (halves.wrapping_mul(SPREAD) >> (u64::BITS - SLOTS.trailing_zeros())) as usize
}
