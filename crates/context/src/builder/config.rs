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
    /// Tokens below `max_input_tokens` at which a context is cut, for the answer or for what is not
    /// counted.
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
    /// Whether the result says what a model would be asked for a better summary than the extractive
    /// one.
    pub request_summaries: bool,
    /// Tool outputs of fewer tokens stay as they are.
    pub elide_min_tokens: u64,
    /// The newest part of the history whose tool outputs stay whole as long as anything else can give
    /// way, in thousandths of the target: 0 to 1,000.
    pub protect_permille: u64,
}

/// What can be done about a context that is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Old tool outputs become stubs that name their entry.
    Elide,
    /// What is before the cut is covered by a summary.
    Summarize,
    /// What is before the cut is left out.
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

    /// Says what is wrong, if anything is.
    pub(super) fn check(&self) -> Result<(), ContextError> {
        let refuse = |field: &'static str, got: u64, must: &str| {
            Err(ContextError::field(field, format!("must be {must}; got {got}")))
        };
        if self.max_input_tokens == 0 {
            return refuse("maxInputTokens", 0, "at least 1");
        }
        if self.max_input_tokens > TOKENS_MAX {
            let got = self.max_input_tokens;
            return refuse("maxInputTokens", got, "at most 9,007,199,254,740,992");
        }
        if self.max_history_messages == Some(0) {
            return refuse("maxHistoryMessages", 0, "at least 1");
        }
        if !(1..=1_000).contains(&self.target_permille) {
            return refuse("targetPermille", self.target_permille, "from 1 to 1,000");
        }
        if self.protect_permille > 1_000 {
            return refuse("protectPermille", self.protect_permille, "from 0 to 1,000");
        }
        let below = format!("less than maxInputTokens, {}", self.max_input_tokens);
        for (field, got) in [
            ("reserveTokens", self.reserve_tokens),
            ("recallTokens", self.recall_tokens),
            (
                "reserveTokens and recallTokens",
                self.reserve_tokens.saturating_add(self.recall_tokens),
            ),
        ] {
            if got >= self.max_input_tokens {
                return refuse(field, got, &below);
            }
        }
        if self.summary_tokens == Some(0) {
            return refuse("summaryTokens", 0, "at least 1; leave it out for the usual cap");
        }
        match self.strategies.is_empty() {
            true => {
                let must = "must name at least one of elide, summarize, drop";
                Err(ContextError::field("strategies", must))
            }
            false => Ok(()),
        }
    }

    /// Over this a context is cut.
    pub(super) fn trigger(&self) -> u64 {
        self.max_input_tokens.saturating_sub(self.reserve_tokens.saturating_add(self.recall_tokens))
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
