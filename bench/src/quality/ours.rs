//! The `ContextBuilder` as a manager. It keeps the log as a caller would, and appends the entries that a build
//! returns.

use std::error::Error;

use tertulia_context::builder::{
    ContextBuildInput, ContextBuilder, ContextConfig, ContextError, ContextIndex,
    DEFAULT_TARGET_PERMILLE, ModelMessage, Source, Strategy,
};
use tertulia_session::{Entry, Message};

use crate::report::grouped;

use super::manager::{Manager, Piece, Sent, counter, render};

/// The settings of the builder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Config {
    pub(crate) budget: u64,
    /// The target of a cut, in thousandths of the budget.
    pub(crate) target_permille: u64,
    /// The maximum number of recalled tokens at each step; 0 for none, `None` for the default.
    pub(crate) recall_tokens: Option<u64>,
    /// The maximum number of tokens of a summary; `None` for the default.
    pub(crate) summary_tokens: Option<u64>,
    pub(crate) ways: Ways,
}

/// The strategies for a context that is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ways {
    ElideThenSummarize,
    Summarize,
    Drop,
}

/// The builder, its log and its index.
struct Ours {
    config: Config,
    builder: ContextBuilder,
    index: ContextIndex,
    log: Vec<Entry>,
}

impl Config {
    /// Returns the default settings of every interface.
    pub(crate) fn default_at(budget: u64) -> Self {
        Self {
            budget,
            target_permille: DEFAULT_TARGET_PERMILLE,
            recall_tokens: None,
            summary_tokens: None,
            ways: Ways::ElideThenSummarize,
        }
    }

    /// Returns settings without recall, so that the whole request can be cached.
    pub(crate) fn lean(budget: u64) -> Self {
        Self { recall_tokens: Some(0), ..Self::default_at(budget) }
    }

    /// Returns settings with as much recall as is useful, and a smaller summary.
    pub(crate) fn finding(budget: u64) -> Self {
        Self {
            recall_tokens: Some((budget / 2 + budget / 20).min(4_400)),
            summary_tokens: Some((budget / 16).max(1)),
            ..Self::default_at(budget)
        }
    }

    /// Returns its name in the report.
    pub(crate) fn name(&self) -> String {
        let target = self.target_permille as f64 / 1000.0;
        let recall = grouped(self.context_config().recall_cap() as usize);
        let ways = self.ways.as_str();
        format!("ours, {ways}, target {target}, recall {recall}")
    }

    fn context_config(&self) -> ContextConfig {
        let mut config = ContextConfig::new(self.budget);
        config.target_permille = self.target_permille;
        config.recall_tokens = self.recall_tokens;
        config.summary_tokens = self.summary_tokens;
        config.strategies = match self.ways {
            Ways::ElideThenSummarize => {
                vec![Strategy::Elide, Strategy::Summarize, Strategy::Drop]
            }
            Ways::Summarize => vec![Strategy::Summarize, Strategy::Drop],
            Ways::Drop => vec![Strategy::Drop],
        };
        config
    }

    fn builder(&self) -> Result<ContextBuilder, ContextError> {
        Ok(ContextBuilder::new(self.context_config())?.with_counter(counter()))
    }
}

impl Ways {
    pub(crate) const ALL: [Self; 3] = [Self::ElideThenSummarize, Self::Summarize, Self::Drop];

    fn as_str(self) -> &'static str {
        match self {
            Self::ElideThenSummarize => "elide then summarize",
            Self::Summarize => "summarize",
            Self::Drop => "drop",
        }
    }
}

/// Creates the builder with these settings and an empty log.
pub(crate) fn manager(config: Config) -> Result<Box<dyn Manager>, Box<dyn Error>> {
    let (builder, index) = (config.builder()?, ContextIndex::new());
    Ok(Box::new(Ours { config, builder, index, log: Vec::new() }))
}

impl Ours {
    /// Appends an entry after the tail, which may be a cut that is not in the data.
    fn append(&mut self, entry: &Entry) {
        let mut entry = entry.clone();
        let tail = self.log.last().map(|tail| tail.id.clone());
        if entry.parent_id != tail {
            entry.parent_id = tail;
            entry.id = entry.content_id();
        }
        self.log.push(entry);
    }

    /// Builds again with the cut in the log, and checks that the same is sent and nothing is cut.
    fn check_again(&mut self, sent: &[Piece]) -> Result<(), Box<dyn Error>> {
        let input =
            ContextBuildInput { session_entries: &self.log, ..ContextBuildInput::default() };
        let again = self.builder.build_with(&mut self.index, &input)?;
        let texts = again.model_messages.iter().map(|message| piece(message).text);
        match again.entries_to_append.is_empty()
            && texts.eq(sent.iter().map(|one| one.text.clone()))
        {
            true => Ok(()),
            false => Err("built again after a cut, something else is sent".into()),
        }
    }
}

impl Manager for Ours {
    fn name(&self) -> String {
        self.config.name()
    }

    fn step(&mut self, new: &[Entry]) -> Result<Sent, Box<dyn Error>> {
        new.iter().for_each(|entry| self.append(entry));
        let input =
            ContextBuildInput { session_entries: &self.log, ..ContextBuildInput::default() };
        let built = match self.builder.build_with(&mut self.index, &input) {
            Ok(built) => built,
            Err(ContextError::Overflow(_)) => {
                return Ok(Sent { overflow: true, ..Sent::default() });
            }
            Err(error) => return Err(error.into()),
        };
        let tokens = built.stats.input_tokens;
        if tokens > self.config.budget {
            return Err(format!("{tokens} tokens are over {}", self.config.budget).into());
        }
        let pieces: Vec<Piece> = built.model_messages.iter().map(piece).collect();
        let (cut, appended) = (built.compacted, built.entries_to_append);
        self.log.extend(appended);
        if cut {
            self.check_again(&pieces)?;
        }
        Ok(Sent { pieces, cut, overflow: false })
    }

    fn peek(&mut self, begun: &Message) -> Result<Option<Sent>, Box<dyn Error>> {
        let input = ContextBuildInput {
            session_entries: &self.log,
            input_messages: std::slice::from_ref(begun),
            ..ContextBuildInput::default()
        };
        let built = match self.builder.build_with(&mut self.index, &input) {
            Ok(built) => built,
            Err(ContextError::Overflow(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let pieces = built.model_messages.iter().map(piece).collect();
        Ok(Some(Sent { pieces, cut: built.compacted, overflow: false }))
    }
}

fn piece(message: &ModelMessage<'_>) -> Piece {
    Piece {
        text: render(&message.message).into(),
        tokens: message.tokens,
        volatile: matches!(message.source, Source::Recall | Source::RuntimeHints),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_that_is_judged_is_the_default_of_the_library() {
        for budget in [2_000, 8_000, 32_000] {
            assert_eq!(Config::default_at(budget).context_config(), ContextConfig::new(budget));
        }
    }
}
