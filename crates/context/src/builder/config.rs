//! The configuration of a builder: how large a request may be, and what is cut if it is larger. Contains data and
//! its checks; the stages read it.

use std::str::FromStr;

use tertulia_session::UnknownWord;

use super::ContextError;
use crate::recall::usual_tokens;

/// How a context is kept within its limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextConfig {
    /// The maximum number of tokens of a request, tools included. At least 1.
    pub max_input_tokens: u64,
    /// The maximum number of messages of history in a request; `None` for no limit. At least 1. The newest request,
    /// pinned messages and the newest unit are always kept, even if they exceed it.
    pub max_history_messages: Option<u64>,
    /// Whether the messages before a cut are summarised. Needs a compactor.
    pub enable_compaction: bool,
    /// The tokens of `max_input_tokens` that stay free, for the answer or for what is not counted.
    pub reserve_tokens: u64,
    /// The size of the history after a cut, in thousandths of the tokens that the history may have: 1 to 1,000.
    /// Between cuts the history only grows at its end, so the provider's cache stays valid.
    pub target_permille: u64,
    /// The strategies for a context that is too large, in the order in which they are tried.
    pub strategies: Vec<Strategy>,
    /// The maximum number of tokens of a summary. `None` is a third of `max_input_tokens`; with recall, which finds
    /// again what a summary leaves out, it is an eighth. In both cases it is at most 4,096.
    pub summary_tokens: Option<u64>,
    /// The maximum number of tokens of recalled text. These are passages that are no longer sent but relate to the
    /// newest messages; they are added at the end. `Some(0)` turns recall off. `None` is an eighth of the tokens
    /// that are not reserved, at most 2,048. These tokens are kept free: a context that would use them is cut.
    pub recall_tokens: Option<u64>,
    /// Whether the result contains a request with which a model can write a better summary than the extractive one.
    pub request_summaries: bool,
    /// The minimum number of tokens of a tool output that may become a stub.
    pub elide_min_tokens: u64,
    /// The newest part of the history, in thousandths of the target: 0 to 1,000. Its tool outputs stay whole as long
    /// as something else can be cut.
    pub protect_permille: u64,
}

/// A way to make a context smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strategy {
    /// Old tool outputs become stubs that name their entry.
    Elide,
    Summarize,
    Drop,
}

/// The default settings of every interface: the library, the command line, rpc and team sessions.
impl Default for ContextConfig {
    fn default() -> Self {
        Self {
            max_input_tokens: input_tokens_of(DEFAULT_WINDOW),
            max_history_messages: None,
            enable_compaction: true,
            reserve_tokens: 0,
            target_permille: DEFAULT_TARGET_PERMILLE,
            strategies: vec![Strategy::Elide, Strategy::Summarize, Strategy::Drop],
            summary_tokens: None,
            recall_tokens: None,
            request_summaries: false,
            elide_min_tokens: DEFAULT_ELIDE_MIN_TOKENS,
            protect_permille: DEFAULT_PROTECT_PERMILLE,
        }
    }
}

impl ContextConfig {
    /// Returns the default settings with this limit of tokens.
    pub fn new(max_input_tokens: u64) -> Self {
        Self { max_input_tokens, ..Self::default() }
    }

    /// Returns the default settings for a model with a window of this many tokens. A part of the window is reserved
    /// for the answer.
    pub fn for_window(window: u64) -> Self {
        Self::new(input_tokens_of(window))
    }

    /// Returns the same settings without recall.
    #[must_use]
    pub fn without_recall(self) -> Self {
        Self { recall_tokens: Some(0), ..self }
    }

    /// Returns how many tokens one request may recall.
    pub fn recall_cap(&self) -> u64 {
        let unreserved = self.max_input_tokens.saturating_sub(self.reserve_tokens);
        self.recall_tokens.unwrap_or_else(|| usual_tokens(unreserved))
    }

    /// Returns how many tokens a summary may have.
    pub fn summary_cap(&self) -> u64 {
        let share = if self.recall_cap() == 0 { 3 } else { 8 };
        let usual = (self.max_input_tokens / share).min(SUMMARY_TOKENS_MAX);
        self.summary_tokens.unwrap_or(usual).min(self.max_input_tokens)
    }

    pub(super) fn check(&self) -> Result<(), ContextError> {
        let max = self.max_input_tokens;
        let (history, summary) = (self.max_history_messages, self.summary_tokens);
        let (reserve, recall) = (self.reserve_tokens, self.recall_cap());
        let reserved = reserve.saturating_add(recall);
        let (target, protect) = (self.target_permille, self.protect_permille);
        let below = format!("less than maxInputTokens, {max}");
        let rules: [(&'static str, u64, bool, &str); 9] = [
            ("maxInputTokens", max, max > 0, "at least 1"),
            ("maxInputTokens", max, max <= TOKENS_MAX, "at most 9,007,199,254,740,992"),
            ("maxHistoryMessages", 0, history != Some(0), "at least 1"),
            ("targetPermille", target, (1..=1_000).contains(&target), "from 1 to 1,000"),
            ("protectPermille", protect, protect <= 1_000, "from 0 to 1,000"),
            ("reserveTokens", reserve, reserve < max, &below),
            ("recallTokens", recall, recall < max, &below),
            ("reserveTokens and recallTokens", reserved, reserved < max, &below),
            ("summaryTokens", 0, summary != Some(0), "at least 1; leave it out for the usual cap"),
        ];
        for (field, got, is_kept, must) in rules {
            if !is_kept {
                return Err(ContextError::field(field, format!("must be {must}; got {got}")));
            }
        }
        if self.strategies.is_empty() {
            let must = "must name at least one of elide, summarize, drop";
            return Err(ContextError::field("strategies", must));
        }
        Ok(())
    }

    pub(super) fn tries(&self, strategy: Strategy) -> bool {
        self.strategies.contains(&strategy)
    }
}

impl Strategy {
    /// All strategies.
    pub const ALL: [Self; 3] = [Self::Elide, Self::Summarize, Self::Drop];

    /// Returns the word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Elide => "elide",
            Self::Summarize => "summarize",
            Self::Drop => "drop",
        }
    }
}

impl FromStr for Strategy {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|strategy| strategy.as_str() == word);
        found.ok_or_else(|| UnknownWord::new("elide, summarize or drop", word))
    }
}

/// The window of the models that a builder counts for by default.
const DEFAULT_WINDOW: u64 = 200_000;

/// The tokens of a window that are reserved for the answer. For a small window, it is an eighth of the window.
const ANSWER_TOKENS: u64 = 16_384;

/// Returns how many tokens a request may have in a window of this many.
const fn input_tokens_of(window: u64) -> u64 {
    let eighth = window / 8;
    window - if eighth < ANSWER_TOKENS { eighth } else { ANSWER_TOKENS }
}

/// Chosen by measurement, see docs/benchmarks.md.
pub const DEFAULT_TARGET_PERMILLE: u64 = 600;

const DEFAULT_ELIDE_MIN_TOKENS: u64 = 100;

const DEFAULT_PROTECT_PERMILLE: u64 = 500;

/// Two to the 53rd: every JSON reader can represent it exactly, and sums of it do not overflow.
const TOKENS_MAX: u64 = 1 << 53;

const SUMMARY_TOKENS_MAX: u64 = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_less_the_answer_is_what_may_be_sent() {
        let sent = |window| ContextConfig::for_window(window).max_input_tokens;
        assert_eq!([0, 8_192, 131_072, 200_000].map(sent), [0, 7_168, 114_688, 183_616]);
        assert_eq!(ContextConfig::default(), ContextConfig::for_window(200_000));
    }

    #[test]
    fn recall_gets_an_eighth_of_what_is_not_reserved_up_to_its_most() {
        let cap = |max| ContextConfig::new(max).recall_cap();
        assert_eq!([1, 8, 8_000, 16_384, 200_000].map(cap), [0, 1, 1_000, 2_048, 2_048]);
        let config = ContextConfig { reserve_tokens: 4_000, ..ContextConfig::new(8_000) };
        assert_eq!((config.recall_cap(), config.summary_cap()), (500, 1_000));
        let config = config.without_recall();
        assert_eq!((config.recall_cap(), config.summary_cap()), (0, 2_666));
    }
}
