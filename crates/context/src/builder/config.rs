//! What a builder is told once: how large a request may be and what gives way when it is larger. Data
//! and its checks; read by the stages.

use std::str::FromStr;

use tertulia_session::UnknownWord;

use super::ContextError;

/// How a context is kept within its limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextConfig {
    /// How many tokens a request may have, tools included. At least 1.
    pub max_input_tokens: u64,
    /// How many messages of history a request may have; `None` for any number. At least 1. The newest
    /// request, what is pinned and the newest unit stay even if they are more.
    pub max_history_messages: Option<u64>,
    /// Whether what is cut is summarised. Needs a compactor.
    pub enable_compaction: bool,
    /// Tokens below `max_input_tokens` at which a context is cut, for the answer or for what is not counted.
    pub reserve_tokens: u64,
    /// How far down a cut goes, in thousandths of the room that the history has: 1 to 1,000. The room
    /// that a cut makes is what the next turns append to while the provider's cache stays warm.
    pub target_permille: u64,
    /// What is tried when a context is too large, in this order.
    pub strategies: Vec<Strategy>,
    /// How many tokens a summary may have; `None` for a third of `max_input_tokens`, or an eighth where
    /// recall finds again what the summary leaves out, at most 4,096.
    pub summary_tokens: Option<u64>,
    /// How many tokens of what is no longer sent may come back at the end, where the newest messages
    /// are about it; 0 for none. Kept free: a context is cut when it is over the rest.
    pub recall_tokens: u64,
    /// Whether the result says what a model would be asked for a better summary than the extractive one.
    pub request_summaries: bool,
    /// Tool outputs of fewer tokens stay as they are.
    pub elide_min_tokens: u64,
    /// The newest part of the history whose tool outputs stay whole as long as anything else can give
    /// way, in thousandths of the target: 0 to 1,000.
    pub protect_permille: u64,
}

/// What can be done about a context that is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strategy {
    /// Old tool outputs become stubs that name their entry.
    Elide,
    Summarize,
    Drop,
}

impl ContextConfig {
    /// The usual ways within this many tokens.
    pub fn new(max_input_tokens: u64) -> Self {
        Self {
            max_input_tokens,
            max_history_messages: None,
            enable_compaction: true,
            reserve_tokens: 0,
            target_permille: DEFAULT_TARGET_PERMILLE,
            strategies: vec![Strategy::Elide, Strategy::Summarize, Strategy::Drop],
            summary_tokens: None,
            recall_tokens: 0,
            request_summaries: false,
            elide_min_tokens: DEFAULT_ELIDE_MIN_TOKENS,
            protect_permille: DEFAULT_PROTECT_PERMILLE,
        }
    }

    /// How many tokens a summary may have.
    pub fn summary_cap(&self) -> u64 {
        let share = if self.recall_tokens == 0 { 3 } else { 8 };
        let usual = (self.max_input_tokens / share).min(SUMMARY_TOKENS_MAX);
        self.summary_tokens.unwrap_or(usual).min(self.max_input_tokens)
    }

    pub(super) fn check(&self) -> Result<(), ContextError> {
        let max = self.max_input_tokens;
        let (history, summary) = (self.max_history_messages, self.summary_tokens);
        let (reserve, recall) = (self.reserve_tokens, self.recall_tokens);
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
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Elide, Self::Summarize, Self::Drop];

    /// The word in JSON.
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

/// Chosen from figures, see docs/benchmarks.md.
pub const DEFAULT_TARGET_PERMILLE: u64 = 600;

const DEFAULT_ELIDE_MIN_TOKENS: u64 = 100;

const DEFAULT_PROTECT_PERMILLE: u64 = 500;

/// Two to the 53rd: what every JSON reader can say exactly, and small enough to add up.
const TOKENS_MAX: u64 = 1 << 53;

const SUMMARY_TOKENS_MAX: u64 = 4_096;
