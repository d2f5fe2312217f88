//! Counts the tokens of a piece of text. Only [`super::known`] calls this code.
//!
//! The tokens of a piece are the only sequence in which every two neighbours stay separate. The search goes from
//! left to right and tries the longest token first. If no token fits, it goes back one token and tries the next
//! shorter one. A position from which no sequence leads to the end is never tried again, so the work is linear.

use super::layout::{NO_TOKEN, SPREAD};
use super::tables::Tables;

/// Memory that is reused for each piece.
#[derive(Default)]
pub(super) struct Encoder {
    /// The tokens so far.
    row: Vec<u32>,
    /// A bit for each position: whether a token may still end there.
    open: Vec<u64>,
    borders: KnownBorders,
}

/// A cache that shows which neighbouring tokens stay separate. The same pairs occur again and again. Each hash has
/// one slot, which contains the newest result.
#[derive(Default)]
struct KnownBorders {
    /// For each slot: [`TAKEN`], two tokens, and in the last bit whether they stay separate; 0 if the slot is free.
    slots: Vec<u64>,
}

/// The maximum length of a piece for which memory is kept. Longer pieces are rare.
const KEPT_BYTES: usize = 16 * 1_024;

/// The number of slots: 256 KB are enough for the common pairs of tokens.
const BORDERS: usize = 32_768;

const TAKEN: u64 = 1 << 63;

impl Encoder {
    /// Returns the tokens of this piece.
    pub(super) fn count(&mut self, tables: &Tables, piece: &[u8]) -> u64 {
        let first = tables.longest(piece);
        // Most words are in the vocabulary as one token.
        if first == NO_TOKEN || tables.token(first).bytes() == piece.len() {
            return u64::from(first != NO_TOKEN);
        }
        self.row.clear();
        self.open.clear();
        self.open.resize(piece.len() / 64 + 1, u64::MAX);
        self.search(tables, piece, first);
        let tokens = self.row.len() as u64;
        if piece.len() > KEPT_BYTES {
            (self.row, self.open) = Default::default();
        }
        tokens
    }

    fn search(&mut self, tables: &Tables, piece: &[u8], first: u32) {
        let (mut token, mut at) = (first, 0);
        loop {
            let known = tables.token(token);
            let end = at + known.bytes();
            let last = self.row.last().copied();
            if self.is_open(end)
                && last.is_none_or(|last| self.borders.stay_apart(tables, last, token))
            {
                self.row.push(token);
                at = end;
                token = tables.longest(piece.get(at..).unwrap_or_default());
                if token == NO_TOKEN {
                    return;
                }
            } else if known.shorter() != token {
                token = known.shorter();
            } else {
                self.close(at);
                let Some(last) = self.row.pop() else { return };
                at -= tables.token(last).bytes();
                token = last;
            }
        }
    }

    fn is_open(&self, at: usize) -> bool {
        self.open.get(at / 64).is_some_and(|bits| bits >> (at % 64) & 1 == 1)
    }

    fn close(&mut self, at: usize) {
        if let Some(bits) = self.open.get_mut(at / 64) {
            *bits &= !(1 << (at % 64));
        }
    }
}

impl KnownBorders {
    fn stay_apart(&mut self, tables: &Tables, left: u32, right: u32) -> bool {
        if self.slots.is_empty() {
            self.slots = vec![0; BORDERS];
        }
        let key = TAKEN | u64::from(left) << 32 | u64::from(right) << 1;
        let at = (key.wrapping_mul(SPREAD) >> (u64::BITS - BORDERS.trailing_zeros())) as usize;
        let Some(known) = self.slots.get_mut(at) else { return tables.stay_apart(left, right) };
        if *known & !1 != key {
            *known = key | u64::from(tables.stay_apart(left, right));
        }
        *known & 1 == 1
    }
}
