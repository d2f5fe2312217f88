//! The input and the result of a build. Only data, borrowed where possible.

use tertulia_session::json::Json;
use tertulia_session::{Entry, EntryId, Message};

use super::{MessageRef, Repair, SummaryRequest};
use crate::recall::RecallMatch;
use crate::tokens::ToolSpec;
use crate::verdict::Verdict;
use crate::view::Perspective;

/// The input of a build.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContextBuildInput<'a> {
    /// The system prompt; `None` to use that of the log or the builder.
    pub system_prompt: Option<&'a str>,
    /// The log, in append order.
    pub session_entries: &'a [Entry],
    /// New messages. Those that are already at the end of the log are not added twice.
    pub input_messages: &'a [Message],
    /// Data that stays the same for the session, such as the folder: a JSON object.
    pub runtime_init_data: Option<&'a Json>,
    /// Information that may change from turn to turn, such as the time: a JSON object, see [`super::HINTS`].
    pub runtime_hints: Option<&'a Json>,
    /// The tools, in the order in which the model gets them.
    pub tool_specs: &'a [ToolSpec],
    /// Whether the model found the last request too large. If so, the build cuts further, whatever the count is.
    pub overflow_hint: bool,
    /// Whether to return a verdict for every entry. Reads the whole log.
    pub explain: bool,
    /// The member of a team that reads the log; `None` for the messages as they were said.
    pub perspective: Option<&'a Perspective<'a>>,
    /// The message that the model answers, which is always sent; `None` for the newest request.
    pub answers: Option<&'a EntryId>,
    /// A message of the volatile zone: it is sent last and never stored.
    pub closing: Option<&'a Message>,
}

/// A context for a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextBuildResult<'a> {
    /// The messages, in order: system, history, and what changes from turn to turn.
    pub model_messages: Vec<ModelMessage<'a>>,
    pub model_tool_specs: &'a [ToolSpec],
    /// Whether this build summarised, dropped or elided anything.
    pub compacted: bool,
    pub compaction_summary_entry: Option<EntryId>,
    /// The entries to append to the log, in this order, after its newest entry.
    pub entries_to_append: Vec<Entry>,
    pub stats: ContextStats,
    /// The indexes of messages after which a cache breakpoint belongs.
    pub cache_breakpoints: Vec<usize>,
    /// The repairs, in the order of the messages.
    pub repairs: Vec<Repair>,
    /// A request with which a model can write a better summary than the one that was made.
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
    /// With `explain`, the words that matched, most important first; empty if the passage was added because of its
    /// neighbours.
    pub matches: Vec<RecallMatch>,
}

/// A message of a context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelMessage<'a> {
    pub message: MessageRef<'a>,
    pub tokens: u64,
    pub source: Source,
}

/// The origin of a message of a context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The system prompt and the data of the run.
    System,
    Summary(EntryId),
    /// This entry. A result that was made up has the entry of its call.
    Entry(EntryId),
    /// Passages of entries that are no longer sent.
    Recall,
    Closing,
    RuntimeHints,
}

/// The figures of a context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextStats {
    /// The tokens of messages and tools.
    pub input_tokens: u64,
    pub exact: bool,
    pub message_count: u64,
    /// The number of messages of the branch that are not sent, including summarised and redacted ones.
    pub dropped_messages_count: u64,
    /// The number of messages of the branch that the newest summary replaces.
    pub summarized_messages_count: u64,
    /// The number of messages whose tool outputs are stubs.
    pub elided_messages_count: u64,
    /// The number of entries of which something was recalled.
    pub recalled_entries_count: u64,
    /// How many real tokens a counted token is, according to reported usage, in thousandths.
    pub scale_permille: u64,
}

/// The input of an update in the middle of a run. Its fields have the same meaning as in [`ContextBuildInput`], so
/// that both count the same way.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContextUpdateRequest<'a> {
    pub session_entries: &'a [Entry],
    pub new_messages: &'a [Message],
    /// Whether the model found the last request too large.
    pub overflow_hint: bool,

    pub system_prompt: Option<&'a str>,
    pub runtime_init_data: Option<&'a Json>,
    pub runtime_hints: Option<&'a Json>,
    pub tool_specs: &'a [ToolSpec],
}

/// The result of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextUpdateResult<'a> {
    /// The messages to send from now on; `None` if nothing changed.
    pub updated_messages: Option<Vec<ModelMessage<'a>>>,
    /// Whether this update summarised, dropped or elided anything.
    pub compacted: bool,
    pub entries_to_append: Vec<Entry>,
    pub stats: ContextStats,
    /// A request with which a model can write a better summary.
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
