//! The tokenizers: built-in ones, and a trait for those of callers. Creating one is cheap; a vocabulary is loaded
//! when the first text is counted.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use tertulia_session::UnknownWord;

use super::TokenCount;
use super::estimate::estimate;
use super::vocabulary::{CL100K, GEMMA, O200K};

/// Counts the tokens of a text.
#[derive(Clone, Debug, Default)]
pub enum Tokenizer {
    /// The tokenizer of OpenAI's models from GPT-4o on; exact.
    O200k,
    /// The tokenizer of OpenAI's GPT-4 and GPT-3.5; exact.
    Cl100k,
    /// The tokenizer of Google's Gemma 3 and 4, which Gemini uses too; exact.
    Gemma,
    /// An estimate by character classes for Claude, whose vocabulary is not public. It is also used for unknown
    /// models, because it tends to count too many tokens rather than too few.
    #[default]
    Claude,
    /// A quarter of the bytes, rounded up: the fastest estimate, but too low for prose.
    Bytes,
    /// A tokenizer of the caller.
    Custom(Arc<dyn CountTokens>),
}

/// A tokenizer that the caller provides. It must always return the same count for the same text.
pub trait CountTokens: fmt::Debug + Send + Sync {
    /// Returns the name under which counts are remembered. Each way of counting needs its own name.
    fn id(&self) -> &str;

    /// Returns the tokens of this text. Strings that look like control tokens are counted as text.
    fn count(&self, text: &str) -> TokenCount;
}

const BYTES_PER_TOKEN: u64 = 4;

impl Tokenizer {
    /// All tokenizers except those of callers.
    pub const BUILT_IN: [Self; 5] =
        [Self::O200k, Self::Cl100k, Self::Gemma, Self::Claude, Self::Bytes];

    /// Returns its name.
    pub fn id(&self) -> &str {
        match self {
            Self::O200k => "o200k",
            Self::Cl100k => "cl100k",
            Self::Gemma => "gemma",
            Self::Claude => "claude",
            Self::Bytes => "bytes",
            Self::Custom(custom) => custom.id(),
        }
    }

    /// Returns whether counting can start at once. If not, the vocabulary must be loaded first, which takes up to
    /// 0.6 s for Gemma and a few milliseconds for others.
    pub fn is_loaded(&self) -> bool {
        match self {
            Self::O200k => O200K.is_loaded(),
            Self::Cl100k => CL100K.is_loaded(),
            Self::Gemma => GEMMA.is_loaded(),
            Self::Claude | Self::Bytes | Self::Custom(_) => true,
        }
    }

    /// Returns the tokens of this text. Strings such as `<|endoftext|>` are counted as text.
    pub fn count(&self, text: &str) -> TokenCount {
        if text.is_empty() {
            return TokenCount::ZERO;
        }
        match self {
            Self::O200k => exact_or_estimated(O200K.count(text), text),
            Self::Cl100k => exact_or_estimated(CL100K.count(text), text),
            Self::Gemma => exact_or_estimated(GEMMA.count(text), text),
            Self::Claude => exact_or_estimated(None, text),
            Self::Bytes => estimated_by_bytes(text),
            Self::Custom(custom) => custom.count(text),
        }
    }
}

impl FromStr for Tokenizer {
    type Err = UnknownWord;

    fn from_str(id: &str) -> Result<Self, UnknownWord> {
        let found = Self::BUILT_IN.into_iter().find(|tokenizer| tokenizer.id() == id);
        found.ok_or_else(|| UnknownWord::new("o200k, cl100k, gemma, claude or bytes", id))
    }
}

impl PartialEq for Tokenizer {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl Eq for Tokenizer {}

/// Returns the exact count. Without a vocabulary, returns the estimate for Claude, which tends to be too high rather
/// than too low.
fn exact_or_estimated(exact: Option<u64>, text: &str) -> TokenCount {
    let estimated = || TokenCount::estimated(estimate(text));
    exact.map_or_else(estimated, TokenCount::exact)
}

fn estimated_by_bytes(text: &str) -> TokenCount {
    TokenCount::estimated((text.len() as u64).div_ceil(BYTES_PER_TOKEN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Words;

    impl CountTokens for Words {
        fn id(&self) -> &'static str {
            "words"
        }

        fn count(&self, text: &str) -> TokenCount {
            TokenCount::exact(text.split_whitespace().count() as u64)
        }
    }

    #[test]
    fn every_built_in_tokenizer_is_found_by_its_name() {
        for tokenizer in Tokenizer::BUILT_IN {
            assert_eq!(tokenizer.id().parse::<Tokenizer>().ok(), Some(tokenizer));
        }
        assert_eq!("words".parse::<Tokenizer>().ok(), None);
    }

    #[test]
    fn a_caller_may_bring_a_tokenizer_along() {
        let words = Tokenizer::Custom(Arc::new(Words));
        assert_eq!(words.count("one two  three"), TokenCount::exact(3));
        assert_eq!(words.id(), "words");
        assert_ne!(words, Tokenizer::Bytes);
    }

    #[test]
    fn nothing_costs_nothing() {
        for tokenizer in Tokenizer::BUILT_IN {
            assert_eq!(tokenizer.count(""), TokenCount::ZERO);
        }
    }

    #[test]
    fn bytes_are_rounded_up() {
        assert_eq!(Tokenizer::Bytes.count("abcde"), TokenCount::estimated(2));
    }
}
