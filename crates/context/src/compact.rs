//! Summaries: texts that replace a part of a conversation that no longer fits. Code that builds a context uses them.
//!
//! [`extract`] writes a summary without a model: deterministic, in any language, always within its limit.
//! [`Compactor::Custom`] lets a caller use a model. Its text must pass the same gate ([`accept`]); if the gate
//! refuses it, the extractive summary is used. Pure: this code calls no model, reads no clock and does not choose
//! the entries to cover.

mod calls;
mod choose;
mod coverage;
mod cues;
mod gate;
mod gather;
mod known;
mod names;
mod order;
mod previous;
mod read;
mod request;
mod sections;
mod sentences;
mod work;

use std::fmt;
use std::sync::Arc;

use tertulia_session::{EntryId, Message};

use crate::tokens::Tokenizer;
use sections::Section;

pub use coverage::Coverage;
pub use gate::{Refusal, accept};
pub use request::request_text;
pub use sections::short_id;

/// The messages to summarise, and the limits of the summary.
#[derive(Clone, Copy, Debug)]
pub struct SummaryTask<'a> {
    /// The text of the previous summary. The new summary includes its content.
    pub previous: Option<&'a str>,
    /// The covered messages, oldest first.
    pub covered: &'a [Covered<'a>],
    pub max_tokens: u64,
    pub tokenizer: &'a Tokenizer,
}

/// A covered message and the id of its entry.
#[derive(Clone, Copy, Debug)]
pub struct Covered<'a> {
    pub entry: &'a EntryId,
    pub message: &'a Message,
}

/// An author of summaries: implement it to use a model or a person.
pub trait Summarize: fmt::Debug + Send + Sync {
    /// Returns the name of the author, which is stored with the text.
    fn author(&self) -> &str;

    /// Returns the text of the summary. [`accept`] checks it before it is used.
    fn summarize(&self, task: &SummaryTask<'_>) -> Result<String, SummaryFailure>;
}

/// The error of a compactor that failed to write a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the summary could not be written: {reason}")]
pub struct SummaryFailure {
    /// The cause, in the words of its author.
    pub reason: Box<str>,
}

/// The author of summaries.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Compactor {
    /// [`extract`]: no model, no waiting, the same text for the same task.
    #[default]
    Extractive,
    /// A caller's own author. If it fails or the gate refuses its text, [`extract`] is used.
    Custom(Arc<dyn Summarize>),
}

/// A summary that passed the gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The text of the summary.
    pub text: Box<str>,
    pub tokens: u64,
    /// The author.
    pub author: Box<str>,
    /// The strategy: [`EXTRACTIVE`] or [`CUSTOM`].
    pub strategy: Box<str>,
    /// The reason if the gate refused the text of a caller's own compactor.
    pub refused: Option<Refusal>,
}

/// The author and the strategy of summaries that [`extract`] wrote.
pub const EXTRACTIVE: &str = "extractive";

/// The strategy of summaries that a caller's own compactor wrote.
pub const CUSTOM: &str = "custom";

impl Compactor {
    /// Writes a summary that passes the gate; `covered_tokens` is the size of the text that it replaces. Returns an
    /// error only if the extractive summary does not pass either: there is nothing to summarise, or too little room.
    pub fn summarize(
        &self,
        task: &SummaryTask<'_>,
        covered_tokens: u64,
    ) -> Result<Summary, Refusal> {
        let refused = match self {
            Self::Extractive => None,
            Self::Custom(author) => {
                let text = author.summarize(task).map_err(Refusal::NotWritten);
                let judged = text.and_then(|text| {
                    accept(&text, task, covered_tokens).map(|tokens| (text, tokens))
                });
                match judged {
                    Ok((text, tokens)) => {
                        return Ok(Summary {
                            text: text.into(),
                            tokens,
                            author: author.author().into(),
                            strategy: CUSTOM.into(),
                            refused: None,
                        });
                    }
                    Err(refusal) => Some(refusal),
                }
            }
        };
        let text = extract(task);
        let tokens = accept(&text, task, covered_tokens)?;
        let (author, strategy) = (EXTRACTIVE.into(), EXTRACTIVE.into());
        Ok(Summary { text: text.into(), tokens, author, strategy, refused })
    }
}

/// Returns the extractive summary: goal, requests, constraints, decisions, what was done, errors, open points and
/// exact names, then the most informative sentences. Each line begins with the id of its entry, except in the lists
/// of changed files, commands and errors.
///
/// The text is the same for the same task and never over `max_tokens`. It is empty only if there is nothing to
/// summarise or no room for a line.
pub fn extract(task: &SummaryTask<'_>) -> String {
    let reading = read::read(task.covered);
    let carried = previous::parse(task.previous.unwrap_or_default());
    let (names, candidates) = gather::gather(task, &reading, &carried);
    choose::choose(task, &names, &candidates)
}

/// Returns whether these messages contain more than requests: rules, decisions, results, open points or findings.
pub fn has_points(covered: &[Covered<'_>]) -> bool {
    let (previous, tokenizer) = (None, Tokenizer::Bytes);
    let task = SummaryTask { previous, covered, max_tokens: 0, tokenizer: &tokenizer };
    let reading = read::read(covered);
    let (_, candidates) = gather::gather(&task, &reading, &previous::parse(""));
    let requests = [Section::Goal, Section::Requests, Section::Names];
    let mut others = Section::ALL.into_iter().filter(|section| !requests.contains(section));
    others.any(|section| !candidates.in_section(section).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_summarised_as_nothing() {
        let tokenizer = Tokenizer::Bytes;
        let task =
            SummaryTask { previous: None, covered: &[], max_tokens: 100, tokenizer: &tokenizer };
        assert_eq!(extract(&task), "");
        assert_eq!(Compactor::default().summarize(&task, 10), Err(Refusal::Blank));
    }
}
