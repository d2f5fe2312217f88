//! What happened in a session: the entries of its log, the messages among them, their parts, who said
//! them and to whom; and the view of the log along one branch. Knows no other crate, file, clock, network or environment.
//!
//! - [`Entry`] is one record of a log, [`EntryKind`] what it says; [`NewEntry`] becomes one.
//! - [`Message`] is what somebody said, in [`Part`]s.
//! - [`EntryIndex`] walks the entries that one branch has, without what was redacted.
//! - [`ChainLink`] and [`RecordHash`] prove that a log was not changed.
//! - [`record`] is the one JSON form of all of them; reading it never loses a field that it does not know.
//!   [`json`] is what it is read with.
//! - [`search`] cuts texts into the terms that they are found by.
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
mod pairs;
mod part;
pub mod record;
mod salt;
pub mod script;
pub mod search;
mod speaker;
mod timestamp;
mod tool_content;
mod word;

pub use branch::{EntryError, EntryIndex, ViewEntry, Walk};
pub use chain::{ChainLink, EntryDigest, RecordHash};
pub use entry::{
    BranchSummary, Cause, CompactionSummary, ContextCut, CutStrategy, EntriesHash, Entry,
    EntryKind, Intent, ModelChange, NewEntry, OtherEntry, Purged, QueueRule, Recall, Redaction,
    RouteSource, RuntimeInit, SessionHeader, SessionSetting, Setting, SystemPromptOverride,
    TeamTask, ThinkingLevelChange, Turn, TurnActivity, TurnEvent, TurnState, Usage, Usd,
};
pub use fields::Fields;
pub use ids::{EntryId, MessageId};
pub use message::{Addressee, ConversationMessage, Message, Parts, Role, Routing};
pub use pairs::OpenCalls;
pub use part::{FileRef, Image, ImageSource, OtherPart, Part, PartKind, ToolCall, ToolResult};
pub use salt::{InvalidHex, Salt};
pub use speaker::{Speaker, SpeakerType};
pub use timestamp::{InvalidTimestamp, Timestamp};
pub use tool_content::ResultPiece;
pub use word::UnknownWord;

/// The longest text that Linux passes as one argument of a command or one variable, in bytes; its closing zero is not
/// counted.
pub const ARGUMENT_BYTES_MAX: usize = 131_071;
