//! Computes the context of each member of a conversation: the prompt of an agent or the messages for a model, in the
//! right format and within a budget. A verdict explains everything that is left out.
//!
//! Two entry points:
//!
//! - [`ContextManager`] holds a conversation and writes the **prompt of an agent**, one text in the format of the
//!   agent, within a number of bytes.
//! - [`builder::ContextBuilder`] reads the log of a session and returns the **messages for a model**, with roles,
//!   tool calls and summaries, within a number of tokens. [`tokens`] counts them, [`compact`] writes summaries,
//!   [`recall`] finds passages that are no longer sent.
//!
//! Pure: no files, no clock, no environment, no async. Of the other crates it uses only [`tertulia_session`].
//! Features: `openai-tokens` and `gemma-tokens` (on by default) embed the vocabularies for exact counts.
//!
//! A prompt for an agent; [`builder`] has an example of messages for a model:
//!
//! ```
//! use tertulia_context::{ContextManager, ContextRequest};
//! use tertulia_session::{Message, Speaker, SpeakerType};
//!
//! let ann = Speaker::new("ann", "Ann", SpeakerType::Human);
//! let mut conversation = ContextManager::default();
//! conversation.set_team_task("Design the login page");
//! conversation.add_message(Message::said(ann.clone(), "Which colour? [NEXT: max]").to(["max"]))?;
//! conversation.add_message(Message::said(ann, "Blue, I think."))?;
//!
//! let input = conversation.get_context_for_agent("max", "claude", &ContextRequest::default());
//! let prompt = conversation.assemble_prompt("claude", &input).prompt;
//! assert_eq!(
//!     prompt,
//!     "[TEAM_TASK]\nDesign the login page\n\n\
//!      [CONTEXT]\n- Ann -> max: Which colour?\n\n\
//!      [MESSAGE]\nBlue, I think."
//! );
//! # Ok::<(), tertulia_context::AddMessageError>(())
//! ```

mod agent_type;
mod assemblers;
pub mod branch;
mod budget;
pub mod builder;
pub mod compact;
mod conversation;
mod escape;
mod files;
mod identifiers;
mod log;
mod manager;
mod markers;
mod prompt;
pub mod recall;
pub mod record;
pub mod tokens;
mod truncate;
mod verdict;
pub mod view;
mod whitespace;
mod window;

pub use agent_type::AgentType;
pub use assemblers::{Assembler, LabelPiece};
pub use budget::{OverBudget, PromptStatus, PromptWarning, SectionBytes};
pub use escape::{
    Body, INDENT, LineStart, indented, indents, is_line_break, written_id, written_name,
    written_words,
};
pub use log::{LogLevel, LogSink};
pub use manager::{
    AddMessageError, ArchiveHook, ContextManager, ContextManagerOptions, ContextRequest,
    ContextSnapshot, DEFAULT_CONTEXT_WINDOW_SIZE, DEFAULT_MAX_BYTES, Explanation, MessageCap,
    MessageHook, SnapshotError, SnapshotProblem, TEAM_TASK_BYTES_MAX, TeamTaskHook,
};
pub use markers::{
    Authorship, Markers, Next, Strip, Stripped, TaskBlock, authorship_of, kept_ranges_where,
    parse_markers, parse_markers_where, strip_all_markers, strip_markers,
};
pub use prompt::{
    AssemblerInput, AssemblerOutput, ContextKind, ContextMessage, Prompt, PromptPiece, SpokenBy,
};
pub use truncate::truncate_to_bytes;
pub use verdict::{DropReason, HideReason, Outcome, Section, Verdict};
pub use whitespace::{is_whitespace, trim};
pub use window::{EVERYBODY, format_addressees, messages_of_window};
