//! What a build is given and what it gives back. Data only; all of it borrowed where it can be.

use tertulia_session::json::Json;
use tertulia_session::{Entry, EntryId, Message};

use super::{MessageRef, Repair, SummaryRequest};
use crate::recall::RecallMatch;
use crate::tokens::ToolSpec;
use crate::verdict::Verdict;
use crate::view::Perspective;

/// What a context is built from.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContextBuildInput<'a> {
    /// The system prompt; `None` for the one that the log or the builder knows.
    pub system_prompt: Option<&'a str>,
    /// The log, in append order.
    pub session_entries: &'a [Entry],
    /// Messages that are new. Those that the log ends with already are taken once.
    pub input_messages: &'a [Message],
    /// What stays the same for the session, such as the folder: a JSON object.
    pub runtime_init_data: Option<&'a Json>,
    /// What may change from turn to turn, such as the time: a JSON object, see [`super::HINTS`].
    pub runtime_hints: Option<&'a Json>,
    /// The tools, in the order in which the model is told of them.
    pub tool_specs: &'a [ToolSpec],
    /// The model found the last request too large: cut further, whatever the count says.
    pub overflow_hint: bool,
    /// Whether a verdict is wanted for every entry; costs a look at the whole log.
    pub explain: bool,
    /// The member of a team that reads the log; `None` for the messages as they were said.
    pub perspective: Option<&'a Perspective<'a>>,
    /// The message that is answered, which is always sent; `None` for the newest request.
    pub answers: Option<&'a EntryId>,
    /// A message of the volatile zone: sent last, never stored.
    pub closing: Option<&'a Message>,
}

/// A context for a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextBuildResult<'a> {
    /// The messages, in order: system, history, and what changes from turn to turn.
    pub model_messages: Vec<ModelMessage<'a>>,
    pub model_tool_specs: &'a [ToolSpec],
    /// Whether anything was summarised, dropped or elided that was not before.
    pub compacted: bool,
    pub compaction_summary_entry: Option<EntryId>,
    /// What has to be appended to the log, in this order, behind its tail.
    pub entries_to_append: Vec<Entry>,
    pub stats: ContextStats,
    /// The indexes of messages after which a cache breakpoint belongs.
    pub cache_breakpoints: Vec<usize>,
    /// What was mended, in the order of the messages.
    pub repairs: Vec<Repair>,
    /// What a model would be asked to write a better summary than the one that was made.
    pub summary_request: Option<SummaryRequest>,
    pub verdicts: Vec<Verdict>,
    /// The passages that were recalled, in the order of the log.
    pub recalled: Vec<RecalledPassage>,
}

/// A passage of an entry that is no longer sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecalledPassage {
    pub entry: EntryId,
    pub text: String,
    /// With `explain`, the words that brought it back, weightiest first; none if what stands beside it did.
    pub matches: Vec<RecallMatch>,
}

/// A message of a context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelMessage<'a> {
    pub message: MessageRef<'a>,
    pub tokens: u64,
    pub source: Source,
}

/// Where a message of a context comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The system prompt and the data of the run.
    System,
    Summary(EntryId),
    /// This entry; also for a result that was made up for a call in it.
    Entry(EntryId),
    /// Passages of entries that are no longer sent.
    Recall,
    Closing,
    RuntimeHints,
}

/// The figures of a context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextStats {
    /// Messages and tools, in tokens.
    pub input_tokens: u64,
    pub exact: bool,
    pub message_count: u64,
    /// Messages of the branch that are not sent, summarised and redacted ones among them.
    pub dropped_messages_count: u64,
    /// Messages of the branch that the newest summary stands for.
    pub summarized_messages_count: u64,
    /// Messages whose tool outputs are stubs.
    pub elided_messages_count: u64,
    /// Entries of which something was recalled.
    pub recalled_entries_count: u64,
    /// What a counted token weighed by reported usage, in thousandths.
    pub scale_permille: u64,
}

/// What has to be looked at again, in the middle of a run: fields as of [`ContextBuildInput`], so that both count alike.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContextUpdateRequest<'a> {
    pub session_entries: &'a [Entry],
    pub new_messages: &'a [Message],
    /// The model found the last request too large.
    pub overflow_hint: bool,

    pub system_prompt: Option<&'a str>,
    pub runtime_init_data: Option<&'a Json>,
    pub runtime_hints: Option<&'a Json>,
    pub tool_specs: &'a [ToolSpec],
}

/// What changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextUpdateResult<'a> {
    /// The messages from now on; `None` if nothing changed.
    pub updated_messages: Option<Vec<ModelMessage<'a>>>,
    /// Whether anything was summarised, dropped or elided that was not before.
    pub compacted: bool,
    pub entries_to_append: Vec<Entry>,
    pub stats: ContextStats,
    /// What a model would be asked to write a better summary.
    pub summary_request: Option<SummaryRequest>,
}

impl<'a> From<&ContextUpdateRequest<'a>> for ContextBuildInput<'a> {
    fn from(request: &ContextUpdateRequest<'a>) -> Self {
        Self {
            system_prompt: request.system_prompt,
            session_entries: request.session_entries,
            input_messages: request.new_messages,
            runtime_init_data: request.runtime_init_data,
            runtime_hints: request.runtime_hints,
            tool_specs: request.tool_specs,
            overflow_hint: request.overflow_hint,
            ..Self::default()
        }
    }
}
