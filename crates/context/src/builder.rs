//! Builds the messages for a model from a session's log, within a limit of tokens. The modules are the stages of a
//! build, in their order. A build is stateless: the same log and the same input give the same bytes. Everything that
//! later builds need is returned as entries for the log.
//!
//! ```
//! use tertulia_context::builder::{ContextBuildInput, ContextBuilder, ContextConfig};
//! use tertulia_session::{Message, Part, Role};
//!
//! let builder = ContextBuilder::new(ContextConfig::new(8_000))?;
//! let question = [Part::text("Shall we start?")].into_iter().collect();
//! let question = [Message::with_role(Role::User, question)];
//! let first = builder.build_context(&ContextBuildInput {
//!     system_prompt: Some("Be brief."),
//!     input_messages: &question,
//!     ..ContextBuildInput::default()
//! })?;
//! assert_eq!(first.model_messages.len(), 2);
//!
//! // The new messages were appended to the log. From now on the log alone gives the same result.
//! let again = builder.build_context(&ContextBuildInput {
//!     system_prompt: Some("Be brief."),
//!     session_entries: &first.entries_to_append,
//!     ..ContextBuildInput::default()
//! })?;
//! assert_eq!(again.model_messages, first.model_messages);
//! # Ok::<(), tertulia_context::builder::ContextError>(())
//! ```

mod apply_cut;
mod assembly;
mod build;
mod config;
mod cut_state;
mod elide;
mod error;
mod excerpts;
mod frozen;
mod hints;
mod index;
mod input;
mod item;
mod limits;
mod new_messages;
mod plan;
mod recalled;
mod repair;
mod request;
mod scale;
mod settled;
mod verdict;
mod window;

use std::sync::Arc;

use tertulia_session::Message;

use crate::compact::Compactor;
use crate::tokens::{MessageCounter, Tokenizer};
use build::Build;

pub use config::{ContextConfig, DEFAULT_TARGET_PERMILLE, Strategy};
pub use error::{ContextError, FloorItem, FloorPart, InvalidInput, Overflow};
pub use hints::{HINTS, Hint, HintKind, ProvideHints};
pub use index::ContextIndex;
pub use input::{
    ContextBuildInput, ContextBuildResult, ContextStats, ContextUpdateRequest, ContextUpdateResult,
    ModelMessage, RecalledPassage, Source,
};
pub use item::{Item, LogIndex, MessageRef, Unit, units};
pub use repair::{Repair, RepairKind, Repaired, repair};
pub use request::{AcceptedSummary, SummaryRequest};

/// Builds contexts for one model.
#[derive(Clone, Debug)]
pub struct ContextBuilder {
    config: ContextConfig,
    counter: MessageCounter,
    compactor: Option<Compactor>,
    hints: Option<Arc<dyn ProvideHints>>,
    system_prompt: Option<Box<str>>,
    member: Option<Box<str>>,
}

impl ContextBuilder {
    /// Creates a builder with this configuration. It counts tokens for Claude and summarises without a model.
    pub fn new(config: ContextConfig) -> Result<Self, ContextError> {
        config.check()?;
        Ok(Self {
            config,
            counter: MessageCounter::new(Tokenizer::default()),
            compactor: Some(Compactor::Extractive),
            hints: None,
            system_prompt: None,
            member: None,
        })
    }

    /// Returns the same builder with this counter.
    #[must_use]
    pub fn with_counter(mut self, counter: MessageCounter) -> Self {
        self.counter = counter;
        self
    }

    /// Returns the same builder with this author of summaries.
    #[must_use]
    pub fn with_compactor(mut self, compactor: Compactor) -> Self {
        self.compactor = Some(compactor);
        self
    }

    /// Returns the same builder without summaries: it drops what it cuts.
    #[must_use]
    pub fn without_compactor(mut self) -> Self {
        self.compactor = None;
        self
    }

    /// Returns the same builder with a provider of hints, which is used if an input contains none.
    #[must_use]
    pub fn with_hints(mut self, hints: Arc<dyn ProvideHints>) -> Self {
        self.hints = Some(hints);
        self
    }

    /// Returns the same builder with a system prompt, which is used if the log and the input contain none.
    #[must_use]
    pub fn with_system_prompt(mut self, prompt: impl Into<Box<str>>) -> Self {
        self.system_prompt = Some(prompt.into());
        self
    }

    /// Returns the same builder, which uses only the usage reports of this member.
    #[must_use]
    pub fn for_member(mut self, member: impl Into<Box<str>>) -> Self {
        self.member = Some(member.into());
        self
    }

    /// Returns the configuration.
    pub fn config(&self) -> &ContextConfig {
        &self.config
    }

    /// Builds the messages for the next call of the model. Reads the whole log. If the log will grow and be used
    /// again, keep a [`ContextIndex`] and call [`build_with`](Self::build_with).
    pub fn build_context<'a>(
        &self,
        input: &ContextBuildInput<'a>,
    ) -> Result<ContextBuildResult<'a>, ContextError> {
        self.build_with(&mut ContextIndex::new(), input)
    }

    /// Builds the same messages with an index that remembers the log. The cost depends only on new messages and on
    /// those that are sent.
    pub fn build_with<'a>(
        &self,
        index: &mut ContextIndex,
        input: &ContextBuildInput<'a>,
    ) -> Result<ContextBuildResult<'a>, ContextError> {
        Build::read(self, index, input)?.finish()
    }

    /// Returns what changes in the middle of a run: new messages, and a cut. A cut is made if the context is too
    /// large or the model rejected the last request as too large.
    pub fn compute_context_updates<'a>(
        &self,
        request: &ContextUpdateRequest<'a>,
    ) -> Result<ContextUpdateResult<'a>, ContextError> {
        self.update_with(&mut ContextIndex::new(), request)
    }

    /// Returns the same updates with an index that remembers the log.
    pub fn update_with<'a>(
        &self,
        index: &mut ContextIndex,
        request: &ContextUpdateRequest<'a>,
    ) -> Result<ContextUpdateResult<'a>, ContextError> {
        let built = self.build_with(index, &request.into())?;
        let has_changed = !built.entries_to_append.is_empty();
        Ok(ContextUpdateResult {
            updated_messages: has_changed.then_some(built.model_messages),
            compacted: built.compacted,
            entries_to_append: built.entries_to_append,
            stats: built.stats,
            summary_request: built.summary_request,
        })
    }

    /// Returns the estimated tokens of these messages.
    pub fn estimate_tokens(&self, messages: &[Message]) -> u64 {
        messages.iter().map(|message| self.counter.count_message(message).count.tokens).sum()
    }
}
