//! OpenAI's vocabularies. A text says the same words again and again, so each call remembers what it
//! has counted: about twice as fast on prose as without. Called by [`super`] alone.

use std::sync::OnceLock;

use bpe_openai::Tokenizer;

/// A vocabulary that is read at the first text.
pub(in crate::tokens) struct OpenAi {
    read: fn() -> &'static Tokenizer,
    tokenizer: OnceLock<&'static Tokenizer>,
}

/// From GPT-4o on.
pub(in crate::tokens) static O200K: OpenAi = OpenAi::new(bpe_openai::o200k_base);

/// GPT-4 and GPT-3.5.
pub(in crate::tokens) static CL100K: OpenAi = OpenAi::new(bpe_openai::cl100k_base);

impl OpenAi {
    const fn new(read: fn() -> &'static Tokenizer) -> Self {
        Self { read, tokenizer: OnceLock::new() }
    }

    /// The tokens of this text.
    pub(in crate::tokens) fn count(&self, text: &str) -> u64 {
        let tokenizer = self.tokenizer.get_or_init(self.read);
        let mut known = KnownPieces::for_text(text);
        tokenizer.split(text).map(|piece| known.count(tokenizer, piece.as_bytes())).sum()
    }

    /// Whether a text was counted already.
    pub(in crate::tokens) fn is_loaded(&self) -> bool {
        self.tokenizer.get().is_some()
    }
}

/// A place for each hash; the newest piece of a hash takes it.
struct KnownPieces<'text> {
    places: Vec<(&'text [u8], u64)>,
    /// What is left of a hash behind this shift is a place.
    shift: u32,
}

/// A short text has few pieces; 200 KB hold those that a long one repeats.
const PLACES: std::ops::RangeInclusive<usize> = 64..=8_192;

/// About one place for each second piece.
const BYTES_PER_PLACE: usize = 8;

/// Longer pieces are rarely repeated, and comparing them costs.
const PIECE_BYTES_MAX: usize = 64;

/// Two to the 64th, divided by the golden ratio: neighbours are spread far apart.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl<'text> KnownPieces<'text> {
    fn for_text(text: &str) -> Self {
        let places = text.len() / BYTES_PER_PLACE;
        let places = places.clamp(*PLACES.start(), *PLACES.end()).next_power_of_two();
        Self { places: vec![(&[], 0); places], shift: u64::BITS - places.trailing_zeros() }
    }

    /// The tokens of a piece, as the split made it.
    fn count(&mut self, tokenizer: &Tokenizer, piece: &'text [u8]) -> u64 {
        // Every byte is a token.
        if piece.len() <= 1 {
            return piece.len() as u64;
        }
        let counted = || tokenizer.bpe.count(piece) as u64;
        let place = self.place(piece);
        let Some(known) = self.places.get_mut(place).filter(|_| piece.len() <= PIECE_BYTES_MAX)
        else {
            return counted();
        };
        if known.0 != piece {
            *known = (piece, counted());
        }
        known.1
    }

    /// By the first and the last eight bytes, and the length.
    fn place(&self, piece: &[u8]) -> usize {
        let ends = match (piece.first_chunk(), piece.last_chunk()) {
            (Some(first), Some(last)) => {
                u64::from_le_bytes(*first) ^ u64::from_le_bytes(*last).rotate_left(23)
            }
            _ => piece.iter().fold(0, |bytes, byte| (bytes << 8) | u64::from(*byte)),
        };
        ((ends ^ piece.len() as u64).wrapping_mul(SPREAD) >> self.shift) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str) {
        for (ours, theirs) in
            [(&O200K, bpe_openai::o200k_base()), (&CL100K, bpe_openai::cl100k_base())]
        {
            assert_eq!(ours.count(text), theirs.count(text) as u64, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_remembered_does_not_change_what_is_counted(
            words in proptest::collection::vec("[ ]?[a-e]{1,2}|\\PC{1,12}|[0-9\n ]{1,5}", 0..200),
        ) {
            check(&words.concat());
        }
    }

    #[test]
    fn pieces_that_begin_and_end_alike_are_told_apart() {
        check("a12345678bb87654321 a12345678cc87654321 abcdefghxabcdefgh abcdefghyabcdefgh");
        check(&["=".repeat(63), "=".repeat(64), "=".repeat(65)].join("\n\n"));
    }
}
