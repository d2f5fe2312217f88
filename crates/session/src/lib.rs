//! The data model of a session: the entries of its log, messages and their parts, speakers and addressees, and the
//! view of the log along one branch. Depends on no other crate of the workspace, and on no file, clock, network or
//! environment.
//!
//! - [`Entry`] is one record of a log, [`EntryKind`] its content; [`NewEntry`] creates one.
//! - [`Message`] is what somebody said, in [`Part`]s.
//! - [`EntryIndex`] walks the entries of one branch, without redacted text.
//! - [`ChainLink`] and [`RecordHash`] prove that a log was not changed.
//! - [`record`] is the JSON format of all of them; a reader keeps unknown fields. [`json`] is the reader.
//! - [`search`] splits texts into search terms.
//!
//! ```
//! use tertulia_session::record::{EntryRecord, read_entry_line};
//! use tertulia_session::{EntryIndex, EntryKind, Message, NewEntry, Speaker, SpeakerType};
//!
//! let ann = Speaker::new("ann", "Ann", SpeakerType::Human);
//! let question = EntryKind::Message(Message::said(ann.clone(), "Shall we start?"));
//! let question = NewEntry::new(question).with_content_id();
//! let answer = EntryKind::Message(Message::said(ann, "Yes."));
//! let answer = NewEntry::new(answer).with_parent(question.id.clone()).with_content_id();
//!
//! // One line of JSON for every entry, and back.
//! let line = EntryRecord::new(&question).to_json();
//! assert_eq!(read_entry_line(1, &line)?, question);
//!
//! let log = [question, answer];
//! assert_eq!(EntryIndex::over(&log)?.walk(&log)?.count(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod branch;
mod chain;
mod entry;
mod fields;
mod ids;
pub mod json;
mod message;
mod open_calls;
mod part;
pub mod record;
mod salt;
pub mod search;
mod speaker;
mod timestamp;
mod tool_content;
mod word_enum;
pub mod writing_system;

pub use branch::{EntryError, EntryIndex, ViewEntry, Walk};
pub use chain::{ChainLink, EntryDigest, RecordHash};
pub use entry::{
    AskRound, BranchSummary, CacheMiss, Cause, CompactionSummary, ContextCut, CutStrategy,
    EntriesHash, Entry, EntryKind, FreshStart, Intent, MemoryMode, ModelChange, NativeDirection,
    NativeRecord, NativeSession, NewEntry, OtherEntry, Purged, QueueRule, Recall, Redaction,
    RouteSource, RuntimeInit, SessionHeader, SessionSetting, Setting, SpendingLimit,
    SystemPromptOverride, TeamTask, ThinkingLevelChange, Turn, TurnActivity, TurnEvent, TurnMemory,
    TurnState, Usage, Usd,
};
pub use fields::Fields;
pub use ids::{EntryId, MessageId, derived_uuid};
pub use message::{Addressee, Ask, ConversationMessage, Message, Parts, Role, Routing};
pub use open_calls::OpenCalls;
pub use part::{FileRef, Image, ImageSource, OtherPart, Part, PartKind, ToolCall, ToolResult};
pub use salt::{InvalidHex, Salt};
pub use speaker::{Speaker, SpeakerType};
pub use timestamp::{InvalidTimestamp, Timestamp};
pub use tool_content::ResultPiece;
pub use word_enum::UnknownWord;

/// The maximum length in bytes of one argument of a command or one environment variable on Linux, without the
/// terminating zero.
pub const ARGUMENT_BYTES_MAX: usize = 131_071;
