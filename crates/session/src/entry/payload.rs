//! The payloads of the entry types, with their fields and the names of the fields in JSON, as listed in
//! docs/session-record.md. Other fields of the source are in `unknown`.

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};

use super::memory::CacheMiss;
use crate::json::{Json, Kind};
use crate::record::field::{kinds, payloads};
use crate::word_enum::words;
use crate::{EntryId, Fields, RecordHash};

/// The first entry of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionHeader {
    pub version: u64,
    pub unknown: Fields,
}

payloads! {
    /// Another model answers from here on.
    pub struct ModelChange {
        pub model: Box<str> = "model",
        ..unknown
    }

    /// The thinking level changes from here on.
    pub struct ThinkingLevelChange {
        pub level: Box<str> = "level",
        ..unknown
    }

    /// Another system prompt from here on.
    pub struct SystemPromptOverride {
        pub system_prompt: Box<str> = "systemPrompt",
        ..unknown
    }

    /// A text that replaces a range of entries.
    pub struct CompactionSummary {
        pub summary: Box<str> = "summary",
        pub first_kept_entry_id: EntryId = "firstKeptEntryId",
        pub covered_from_id: Option<EntryId> = "coveredFromId",
        pub covered_to_id: Option<EntryId> = "coveredToId",
        pub covered_count: Option<u64> = "coveredCount",
        pub covered_hash: Option<Box<str>> = "coveredHash",
        pub tokens_before: Option<u64> = "tokensBefore",
        pub tokens_after: Option<u64> = "tokensAfter",
        pub strategy: Option<Box<str>> = "strategy",
        pub author: Option<Box<str>> = "author",
        /// Entries before the first kept one that stay, such as pinned ones.
        pub kept_ids: Option<Vec<EntryId>> = "keptIds",
        /// The reason why another author's text was not used.
        pub refused: Option<Box<str>> = "refused",
        /// The factor between counted tokens and reported usage, in thousandths.
        pub scale_permille: Option<u64> = "scalePermille",
        later {
            /// The reason why it was created, if not the budget.
            pub reason: Option<Box<str>> = "reason",
            /// The number of messages before the range that are in no summary. Absent if there are none.
            pub older_count: Option<u64> = "olderCount",
            /// The member whose context it applies to; absent for all.
            pub member: Option<Box<str>> = "member",
        }
        ..unknown
    }

    /// A cut without a summary: tool outputs were elided, or entries were dropped.
    pub struct ContextCut {
        pub strategy: CutStrategy = "strategy",
        pub first_kept_entry_id: Option<EntryId> = "firstKeptEntryId",
        /// The entries whose tool outputs became stubs.
        pub elided_ids: Option<Vec<EntryId>> = "elidedIds",
        pub tokens_before: u64 = "tokensBefore",
        pub tokens_after: u64 = "tokensAfter",
        pub reason: Box<str> = "reason",
        pub kept_ids: Option<Vec<EntryId>> = "keptIds",
        pub scale_permille: Option<u64> = "scalePermille",
        later {
            /// The member whose context was cut; absent for all.
            pub member: Option<Box<str>> = "member",
        }
        ..unknown
    }

    /// The origin of a branch, with a summary of that origin.
    pub struct BranchSummary {
        pub source_session_id: Box<str> = "sourceSessionId",
        /// The last entry that the summary covers.
        pub source_entry_id: EntryId = "sourceEntryId",
        pub summary: Option<Box<str>> = "summary",
        ..unknown
    }

    /// Text of earlier entries that was shown to the model again. It is not a message: summaries
    /// and recall ignore it.
    pub struct Recall {
        pub text: Box<str> = "text",
        /// The entries that the text was taken from.
        pub source_ids: Vec<EntryId> = "sourceIds",
        /// Whether it replaces everything that was recalled before.
        pub replaces: bool = "replaces",
        /// The member whose context it applies to; absent for all.
        pub member: Option<Box<str>> = "member",
        ..unknown
    }

    /// Hides the text of another entry.
    pub struct Redaction {
        pub target_id: EntryId = "targetId",
        pub reason: Option<Box<str>> = "reason",
        ..unknown
    }

    /// The rest of an entry whose bytes a redaction removed. It keeps its position and its id.
    pub struct Purged {
        pub type_name: Box<str> = "type",
        /// The hash of the original record.
        pub hash: RecordHash = "hash",
        pub by: EntryId = "by",
        ..unknown
    }

    /// A record of an agent's own session that is not a message, such as a setting or a snapshot of files. Its text
    /// is in the entry's `meta`, like that of every imported record.
    pub struct NativeRecord {
        /// The agent, such as `claude`.
        pub agent: Cow<'static, str> = "agent",
        /// The type of the record in the agent's format, if it has one.
        pub record_type: Option<Cow<'static, str>> = "recordType",
        ..unknown
    }

    /// Connects the log to the session of an agent, and records how far that session was imported or written. The
    /// parent of this entry is the entry at which both have the same content.
    pub struct NativeSession {
        pub agent: Box<str> = "agent",
        /// The id of the session in the agent's format.
        pub native_session_id: Box<str> = "nativeSessionId",
        pub direction: NativeDirection = "direction",
        /// The file or folder of the session.
        pub path: Option<Box<str>> = "path",
        /// The number of records that were read or written.
        pub records: u64 = "records",
        /// The number of bytes that were read or written.
        pub bytes: u64 = "bytes",
        /// The BLAKE3 hash of these bytes in hex.
        pub hash: Box<str> = "hash",
        /// The agent's id of the last record of the current branch.
        pub last_record_id: Option<Box<str>> = "lastRecordId",
        /// The outcome of every item.
        pub receipt: Option<Json> = "receipt",
        ..unknown
    }

    /// The usage and cost of an answer.
    #[derive(Default)]
    pub struct Usage {
        pub member: Box<str> = "member",
        pub model: Option<Box<str>> = "model",
        /// All input tokens: those from a cache, those written to one, and all others.
        pub input_tokens: u64 = "inputTokens",
        /// The input tokens that came from a cache.
        pub cached_tokens: Option<u64> = "cachedTokens",
        /// All output tokens, including thinking.
        pub output_tokens: u64 = "outputTokens",
        pub cost_usd: Option<Usd> = "costUsd",
        later {
            /// The input tokens that were written to a cache.
            pub cache_write_tokens: Option<u64> = "cacheWriteTokens",
            /// The agent that answered for the member, such as `claude`.
            pub agent: Option<Box<str>> = "agent",
            /// The date of the price table from which the cost was computed. Absent if the agent reported the cost.
            pub prices_date: Option<Box<str>> = "pricesDate",
            /// Why the provider did not find the earlier part of the conversation in its cache.
            pub cache_miss: Option<CacheMiss> = "cacheMissCause",
        }
        ..unknown
    }
}

/// The environment of a run. It stays the same within a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeInit {
    /// A JSON object, such as `{"cwd":"/src","os":"linux"}`.
    pub data: Json,
    pub unknown: Fields,
}

/// The team's task was set or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamTask {
    /// The task; `None` removes it.
    pub task: Option<Box<str>>,
    pub unknown: Fields,
}

impl CompactionSummary {
    /// Creates a summary of everything before an entry.
    pub fn new(summary: impl Into<Box<str>>, first_kept_entry_id: EntryId) -> Self {
        Self {
            summary: summary.into(),
            first_kept_entry_id,
            covered_from_id: None,
            covered_to_id: None,
            covered_count: None,
            covered_hash: None,
            tokens_before: None,
            tokens_after: None,
            strategy: None,
            author: None,
            kept_ids: None,
            refused: None,
            scale_permille: None,
            reason: None,
            older_count: None,
            member: None,
            unknown: Fields::NONE,
        }
    }

    /// Returns the number of messages before the range that are in no summary.
    pub fn older(&self) -> usize {
        self.older_count.and_then(|count| usize::try_from(count).ok()).unwrap_or_default()
    }
}

words! {
    /// The way in which a context was cut.
    pub enum CutStrategy: "elide or drop" {
        /// Old tool outputs became stubs.
        Elide = "elide",
        /// Old entries were left out.
        Drop = "drop",
    }
}

words! {
    /// Whether an agent's session was imported into the log or written from it.
    pub enum NativeDirection: "imported or written" {
        Imported = "imported",
        Written = "written",
    }
}

/// An amount of dollars that is not negative, with its original digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usd(Json);

/// A setting that applies to the session from here on. No prompt and no model sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSetting {
    pub setting: Setting,
    /// The payload of the version 1 `custom` entry that it was read from. It is written in place of the fields.
    pub source: Option<Json>,
    pub unknown: Fields,
}

kinds! {
    /// A setting of a session.
    pub enum Setting {
        /// The person continued the session. The count starts at 1 and distinguishes the entries.
        Continued = "continued" { count: u64 = "count" },
        /// The session was opened again while turns that could have started were waiting. The count starts at 1 and
        /// distinguishes the entries.
        Reopened = "reopened" { count: u64 = "count" },
        /// The session belongs to this project folder.
        Folder = "folder" { path: Box<str> = "path" },
        /// The maximum number of turns before a person is asked; `None` for the team's limit.
        TurnsMax = "turns_max" { turns: Option<u32> = "turns" },
        /// The usage limit that a member reached in this turn has ended.
        LimitEnded = "limit_ended" { member: Box<str> = "member", turn: EntryId = "turnId" },
        /// The amount that all sessions of the store had spent on this day, as far as it was known.
        DaySpent = "day_spent" { day: Box<str> = "day", spent: Usd = "spentUsd" },
        /// The title that a person gave the session; an empty one removes it.
        Title = "title" { title: Box<str> = "title" },
        .. {
            /// A setting that this version does not know; its fields are the entry's unknown ones.
            Other { kind: Box<str> }: Setting::Other { kind } => kind
        }
    }
}

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl SessionHeader {
    /// The version of the record format that is written. Earlier versions can be read.
    pub const VERSION: u64 = 2;
}

/// The header of a log in the current record format.
impl Default for SessionHeader {
    fn default() -> Self {
        Self { version: Self::VERSION, unknown: Fields::NONE }
    }
}

impl TeamTask {
    /// Sets this task.
    pub fn set(task: impl Into<Box<str>>) -> Self {
        Self { task: Some(task.into()), unknown: Fields::NONE }
    }
}

impl Redaction {
    /// Hides this entry.
    pub fn new(target: &EntryId) -> Self {
        Self { target_id: target.clone(), reason: None, unknown: Fields::NONE }
    }
}

impl Default for Usd {
    /// Returns no dollars.
    fn default() -> Self {
        Self(Json::number(0))
    }
}

impl Usd {
    /// Creates an amount; `None` if it is negative, infinite or not a number.
    pub fn new(amount: f64) -> Option<Self> {
        Self::from_json(Json::parse(&amount.to_string()).ok()?)
    }

    /// Returns the amount of a JSON number; `None` if it is negative or not a number.
    pub fn from_json(number: Json) -> Option<Self> {
        let amount = number.as_str().parse::<f64>();
        let counts = number.kind() == Kind::Number && amount.is_ok_and(|amount| amount >= 0.0);
        counts.then_some(Self(number))
    }

    /// Returns the digits of the amount, as a JSON number.
    pub fn digits(&self) -> &str {
        self.0.as_str()
    }

    /// Returns the amount as a float, which may round it.
    pub fn amount(&self) -> f64 {
        self.0.as_str().parse().unwrap_or(f64::INFINITY)
    }
}

impl From<Setting> for SessionSetting {
    fn from(setting: Setting) -> Self {
        Self { setting, source: None, unknown: Fields::NONE }
    }
}

/// Shows the setting as text for people.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Continued { .. } => f.write_str("a person said: continue"),
            Self::Reopened { .. } => f.write_str("the session was opened again"),
            Self::Folder { path } => write!(f, "project folder: {path}"),
            Self::TurnsMax { turns: None } => {
                f.write_str("only the team file limits the number of turns")
            }
            Self::TurnsMax { turns: Some(1) } => f.write_str("a person is asked after one turn"),
            Self::TurnsMax { turns: Some(turns) } => {
                write!(f, "a person is asked after {turns} turns")
            }
            Self::LimitEnded { member, .. } => write!(f, "the usage limit of {member} has ended"),
            Self::DaySpent { day, spent } => {
                write!(f, "all sessions have spent ${} on {day}", spent.digits())
            }
            Self::Title { title } if title.is_empty() => f.write_str("title removed"),
            Self::Title { title } => write!(f, "title: {title}"),
            Self::Other { kind } => write!(f, "setting {kind}"),
        }
    }
}
