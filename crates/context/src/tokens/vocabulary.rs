//! The public vocabularies. Each is loaded at the first text that is counted with it, and then stays;
//! that is the one global state of this room. Called by [`super::Tokenizer`] alone.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use splintr::{AnyTokenizer, Backend, SpecialMode};

/// `None` if the embedded vocabulary cannot be read, which would be a broken build.
static GEMMA: OnceLock<Option<AnyTokenizer>> = OnceLock::new();

/// Bytes that Gemma's encoder was given since it was last made to forget.
static GEMMA_BYTES: AtomicUsize = AtomicUsize::new(0);

/// The encoder remembers up to 65,536 paragraphs, whatever their length. Beyond this many bytes it is
/// made to forget, so that its memory has a limit. What it remembers never changes a count.
const GEMMA_BYTES_MAX: usize = 4 * 1_024 * 1_024;

/// Counts as OpenAI's `o200k_base`.
pub(super) fn count_o200k(text: &str) -> u64 {
    bpe_openai::o200k_base().count(text) as u64
}

/// Counts as OpenAI's `cl100k_base`.
pub(super) fn count_cl100k(text: &str) -> u64 {
    bpe_openai::cl100k_base().count(text) as u64
}

/// Counts as Gemma 4, whose ordinary tokens are those of Gemma 3.
pub(super) fn count_gemma(text: &str) -> Option<u64> {
    let gemma = GEMMA.get_or_init(|| splintr::from_pretrained("gemma4").ok()).as_ref()?;
    let mut tokens = 0;
    for paragraph in paragraphs(text) {
        tokens += gemma.encode_with(paragraph, &SpecialMode::Ordinary).ok()?.len() as u64;
    }
    forget_at_limit(gemma, text.len());
    Some(tokens)
}

fn forget_at_limit(gemma: &AnyTokenizer, bytes: usize) {
    let given = GEMMA_BYTES.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
    if given < GEMMA_BYTES_MAX {
        return;
    }
    GEMMA_BYTES.store(0, Ordering::Relaxed);
    if let Backend::Bpe(encoder) = gemma.backend() {
        encoder.clear_cache();
    }
}

/// Cuts behind each run of line breaks.
///
/// No token of Gemma holds a line break and anything else, so no token lies across such a cut and the
/// sum is exact; and the encoder, which takes memory for each byte it is given, never sees more of a
/// long text than a paragraph.
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

    #[test]
    fn a_text_is_cut_behind_each_run_of_line_breaks() {
        let cut = |text| paragraphs(text).collect::<Vec<_>>();
        assert_eq!(cut("a\n\n\nb\r\nc"), ["a\n\n\n", "b\r\n", "c"]);
        assert_eq!(cut("\n\na"), ["\n\n", "a"]);
        assert!(cut("").is_empty());
    }

    #[test]
    fn the_encoder_forgets_before_it_holds_too_much() {
        let long = "a ".repeat(GEMMA_BYTES_MAX / 2);
        assert!(count_gemma(&long).is_some());
        let gemma = GEMMA.get().unwrap().as_ref().unwrap();
        let Backend::Bpe(encoder) = gemma.backend() else {
            panic!("Gemma is counted by merges");
        };
        // Other tests may count at the same time, but nothing as long.
        assert!(encoder.cache_len() < 1_000);
    }

    #[test]
    fn cuts_do_not_change_what_gemma_counts() {
        let text = "fn main() {\n    let a = 1;\n\n\n  }\r\n\t\u{3000}漢字\n \n😀\n";
        let gemma = splintr::from_pretrained("gemma4").unwrap();
        let whole = gemma.encode_with(text, &SpecialMode::Ordinary).unwrap().len() as u64;
        assert_eq!(count_gemma(text), Some(whole));
    }
}
