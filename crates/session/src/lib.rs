//! What happened at the table: the entries of a session's log, the messages among them, their parts,
//! who said them and to whom; and the view of the log along one branch.
//!
//! The innermost room. Every other room speaks of its types; it knows none of them, and no file,
//! clock, network or environment. [`record`] is the one JSON form of these types; reading it never
//! loses a field that it does not know.
//!
//! ```
//! use tertulia_session::{Message, Speaker, SpeakerType};
//!
//! let ann = Speaker::new("ann", "Ann", SpeakerType::Human);
//! let message = Message::said(ann, "Shall we start?");
//! assert_eq!(message.text(), "Shall we start?");
//! ```

mod branch;
mod chain;
mod entry;
mod entry_id;
mod fields;
pub mod json;
mod message;
mod message_id;
mod part;
pub mod record;
mod routing;
mod salt;
pub mod script;
mod speaker;
mod timestamp;
mod word;

pub use branch::{BranchView, EntryError, EntryIndex, ViewEntry, Walk};
pub use chain::{ChainLink, EntryDigest, RecordHash};
pub use entry::{
    BranchSummary, CompactionSummary, ContextCut, CutStrategy, EntriesHash, Entry, EntryKind,
    ModelChange, NewEntry, OtherEntry, Purged, Redaction, RuntimeInit, SessionHeader,
    SystemPromptOverride, TeamTask, ThinkingLevelChange, Turn, TurnState, Usage, Usd,
};
pub use entry_id::EntryId;
pub use fields::Fields;
pub use message::{ConversationMessage, Message, Parts, Role};
pub use message_id::MessageId;
pub use part::{FileRef, Image, ImageSource, OtherPart, Part, PartKind, ToolCall, ToolResult};
pub use routing::{Addressee, Routing};
pub use salt::{InvalidHex, Salt};
pub use speaker::{Speaker, SpeakerType};
pub use timestamp::{InvalidTimestamp, Timestamp};
pub use word::UnknownWord;
