//! Gemma's vocabulary. Texts are cut into windows, so that counting takes linear time. Only [`super`] uses it.
//!
//! The encoder merges a text without spaces as a whole, with lists that are many times as long as the text. This
//! takes `n log n` steps over memory that does not fit into a cache. So the encoder gets at most one window of text
//! at a time. Consecutive windows overlap in one token, which makes the sum of their tokens exact:
//!
//! - Merging takes the best pair of neighbours, the leftmost of equal ones, until there is none. No merge ever
//!   crosses the end of a token, so the texts on both sides give the same tokens on their own.
//! - A sequence of tokens is the result of merging if every two neighbours in it are. Otherwise there would be a
//!   first merge across an end, and it would also happen with these two tokens alone.
//!
//! A window continues the previous one if it begins where a token of the previous one begins, and with the same
//! token. Then every two neighbours are in one window. If it begins with another token, the tokens of the previous
//! window depend on the text after it, so an earlier token is tried. If none fits, the text is counted again in
//! larger windows. This was necessary for one of 100,000 random texts.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use splintr::{AnyTokenizer, Backend, SpecialMode};

/// The vocabulary of Gemma 4, whose ordinary tokens are those of Gemma 3.
pub(in crate::tokens) static GEMMA: Vocabulary = Vocabulary(OnceLock::new());

/// The inner value is `None` if the embedded vocabulary cannot be read. This only happens in a broken build.
pub(in crate::tokens) struct Vocabulary(OnceLock<Option<Gemma>>);

/// The usual size of a piece for the encoder. Its lists for such a piece fit into a core's cache.
const WINDOW_BYTES: usize = 2 * 1_024;

/// The factor to the next larger window. With it, a megabyte is counted at most four times.
const WINDOW_GROWTH: usize = 8;

/// How many tokens before the end of a window the next one begins. The number is doubled until a window fits,
/// because the last few tokens may be different ones if more text follows.
const OVERLAP_TOKENS: usize = 8;

/// The encoder remembers up to 65,536 words of any length. After this many bytes its cache is cleared, which limits
/// its memory. The cache never changes a count.
const REMEMBERED_BYTES_MAX: usize = 4 * 1_024 * 1_024;

/// Gemma's character for a space.
const BLANK: char = '\u{2581}';

impl Vocabulary {
    pub(in crate::tokens) fn count(&self, text: &str) -> Option<u64> {
        let gemma = self.0.get_or_init(Gemma::load).as_ref()?;
        paragraphs(text).map(|paragraph| gemma.count(paragraph, WINDOW_BYTES)).sum()
    }

    /// Returns whether the vocabulary is loaded.
    pub(in crate::tokens) fn is_loaded(&self) -> bool {
        self.0.get().is_some()
    }
}

struct Gemma {
    encoder: AnyTokenizer,
    /// The number of bytes that the encoder got since its cache was last cleared.
    remembered_bytes: AtomicUsize,
}

impl Gemma {
    fn load() -> Option<Self> {
        let encoder = splintr::from_pretrained("gemma4").ok()?;
        Some(Self { encoder, remembered_bytes: AtomicUsize::new(0) })
    }

    /// Returns the tokens of this text, counted in windows of this size, or in larger ones if the windows do not fit
    /// together.
    fn count(&self, text: &str, window_bytes: usize) -> Option<u64> {
        let mut bytes = window_bytes;
        while bytes < text.len() {
            if let Some(tokens) = self.count_in_windows(text, bytes) {
                return Some(tokens);
            }
            bytes = bytes.saturating_mul(WINDOW_GROWTH);
        }
        self.encode(text).map(|tokens| tokens.len() as u64)
    }

    /// Counts in windows of this size; `None` if a window cannot be continued.
    fn count_in_windows(&self, text: &str, bytes: usize) -> Option<u64> {
        let (mut rest, mut counted) = (text, 0);
        let mut tokens = self.encode(beginning(rest, bytes))?;
        while bytes < rest.len() {
            let next = self.next_window(rest, &tokens, bytes)?;
            counted += next.before;
            rest = &rest[next.at..];
            tokens = next.tokens;
        }
        Some(counted + tokens.len() as u64)
    }

    fn next_window(&self, rest: &str, tokens: &[u32], bytes: usize) -> Option<Next> {
        let window = beginning(rest, bytes);
        let (mut at, mut next_try) = (window.len(), OVERLAP_TOKENS);
        for (before, token) in tokens.iter().enumerate().skip(1).rev() {
            at = self.start_of(*token, &window.as_bytes()[..at])?;
            // A token may be a single byte of a character that is not in the vocabulary.
            if tokens.len() - before < next_try || !window.is_char_boundary(at) {
                continue;
            }
            next_try *= 2;
            let next = self.encode(beginning(&rest[at..], bytes))?;
            if next.first() == Some(token) {
                return Some(Next { at, before: before as u64, tokens: next });
            }
        }
        None
    }

    fn start_of(&self, token: u32, text: &[u8]) -> Option<usize> {
        let spelling = self.encoder.decode_token_bytes(token).ok()?;
        let Ok(spelling) = str::from_utf8(&spelling) else {
            return text.strip_suffix(&spelling[..]).map(<[u8]>::len);
        };
        let mut before = text;
        for character in spelling.chars().rev() {
            let mut bytes = [0; 4];
            before = match before.strip_suffix(character.encode_utf8(&mut bytes).as_bytes()) {
                Some(before) => before,
                None if character == BLANK => before.strip_suffix(b" ")?,
                None => return None,
            };
        }
        Some(before.len())
    }

    fn encode(&self, text: &str) -> Option<Vec<u32>> {
        let tokens = self.encoder.encode_with(text, &SpecialMode::Ordinary).ok()?;
        let bytes = text.len();
        let given = self.remembered_bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if given >= REMEMBERED_BYTES_MAX {
            self.remembered_bytes.store(0, Ordering::Relaxed);
            if let Backend::Bpe(encoder) = self.encoder.backend() {
                encoder.clear_cache();
            }
        }
        Some(tokens)
    }
}

struct Next {
    /// The start of this window, relative to the start of the other one.
    at: usize,
    before: u64,
    tokens: Vec<u32>,
}

fn beginning(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Cuts a text after each run of line breaks.
///
/// No token of Gemma contains a line break together with other characters. So no token crosses such a cut, and the
/// sum is exact. The encoder needs memory for each byte, and gets at most one paragraph at a time.
fn paragraphs(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let line_end = memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
        let breaks = rest[line_end..].bytes().take_while(|byte| *byte == b'\n').count();
        let (paragraph, behind) = rest.split_at(line_end + breaks);
        rest = behind;
        (!paragraph.is_empty()).then_some(paragraph)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    /// A separate instance, which no other test uses.
    static ALONE: LazyLock<Gemma> = LazyLock::new(|| Gemma::load().unwrap());

    /// Returns the count of the encoder for the text as a whole.
    fn whole(text: &str) -> Option<u64> {
        ALONE.encode(text).map(|tokens| tokens.len() as u64)
    }

    /// Returns runs of one piece, of several, and of any characters.
    fn texts() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            2 => proptest::sample::select(PIECES.to_vec()).prop_map(str::to_owned),
            1 => any::<char>().prop_map(String::from),
            1 => "[a-c]{1,3}",
            1 => (0..70_usize, 1..10_usize).prop_map(|(from, chars)| {
                CHAIN.chars().skip(from).take(chars).collect()
            }),
            1 => "[\u{4e00}-\u{4fff}]{1,4}",
        ];
        let run = (piece, prop_oneof![3 => 1..4_usize, 1 => 1..200_usize]);
        let runs = proptest::collection::vec(run, 1..30);
        runs.prop_map(|runs| runs.iter().map(|(piece, times)| piece.repeat(*times)).collect())
    }

    const PIECES: [&str; 16] = [
        "a",
        "ab",
        "aab",
        " ",
        "\u{2581}",
        " \u{2581}",
        "\n",
        "\r\n",
        "=",
        "0",
        "😀",
        "👨\u{200d}👩",
        "漢字",
        "> </",
        "\u{10ffff}",
        "<0x41>",
    ];

    /// Each pair of characters is a better merge than the one before it. So the end of the text determines how all
    /// of it is merged.
    const CHAIN: &str =
        "ōnXHdXdNQHXAqdUxEbzcHpOIHUbkcNmAJDJEAWDLUmLRTMWRCFRPUBNCMMEOPSScmyeebeysopeles";

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn windows_of_any_size_do_not_change_what_is_counted(
            text in texts(),
            window_bytes in 1..300_usize,
        ) {
            prop_assert_eq!(ALONE.count(&text, window_bytes), whole(&text));
        }

        #[test]
        fn paragraphs_do_not_change_what_is_counted(text in texts()) {
            prop_assert_eq!(GEMMA.count(&text), whole(&text));
        }
    }

    #[test]
    fn long_runs_are_counted_as_they_are_merged() {
        for piece in PIECES {
            for bytes in [WINDOW_BYTES, 2 * WINDOW_BYTES + 1, 20_011] {
                let text = piece.repeat(bytes.div_ceil(piece.len()));
                assert_eq!(GEMMA.count(&text), whole(&text), "{piece:?}, {bytes} bytes");
            }
        }
    }

    #[test]
    fn what_the_end_decides_is_not_decided_in_a_window() {
        let text = CHAIN.repeat(5);
        for window_bytes in 1..text.len() {
            let counted = ALONE.count(&text, window_bytes);
            assert_eq!(counted, whole(&text), "windows of {window_bytes} bytes");
        }
        assert_eq!(ALONE.count_in_windows(CHAIN, CHAIN.len() - 1), None);
    }

    #[test]
    fn a_text_is_cut_behind_each_run_of_line_breaks() {
        let cut = |text| paragraphs(text).collect::<Vec<_>>();
        assert_eq!(cut("a\n\n\nb\r\nc"), ["a\n\n\n", "b\r\n", "c"]);
        assert_eq!(cut("\n\na"), ["\n\n", "a"]);
        assert!(cut("").is_empty());
    }

    #[test]
    fn the_encoder_forgets_before_it_holds_too_much() {
        let gemma = Gemma::load().unwrap();
        let mut text = String::new();
        for number in 0..REMEMBERED_BYTES_MAX / 10 {
            text.push_str(&format!(" x{number:08}"));
        }
        gemma.count(&text, WINDOW_BYTES).unwrap();
        let Backend::Bpe(encoder) = gemma.encoder.backend() else {
            panic!("Gemma is counted by merges");
        };
        assert!(encoder.cache_len() < 20_000, "{}", encoder.cache_len());
    }
}
