//! The payloads of the entry types, field by field as docs/session-record.md lists them, each with its name in JSON. What a
//! source said besides is in `unknown`.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::json::{Json, Kind};
use crate::record::field::{kinds, payloads};
use crate::word::words;
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

    /// The model thinks more or less from here on.
    pub struct ThinkingLevelChange {
        pub level: Box<str> = "level",
        ..unknown
    }

    /// Another system prompt from here on.
    pub struct SystemPromptOverride {
        pub system_prompt: Box<str> = "systemPrompt",
        ..unknown
    }

    /// A text that stands for a range of entries.
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
        /// Entries before the first kept one that stay as they are, such as pinned ones.
        pub kept_ids: Option<Vec<EntryId>> = "keptIds",
        /// Why another author's text was not taken.
        pub refused: Option<Box<str>> = "refused",
        /// What a counted token weighed by reported usage, in thousandths.
        pub scale_permille: Option<u64> = "scalePermille",
        later {
            /// Why it had to be made, where that is not the budget.
            pub reason: Option<Box<str>> = "reason",
            /// How many messages before the range are in no summary. Absent for none.
            pub older_count: Option<u64> = "olderCount",
            /// The member of a team whose context alone it is for; absent for all.
            pub member: Option<Box<str>> = "member",
        }
        ..unknown
    }

    /// Tool outputs were elided, or entries dropped, without a summary.
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
            /// The member of a team whose context alone was cut; absent for all.
            pub member: Option<Box<str>> = "member",
        }
        ..unknown
    }

    /// Where a branch came from, and what was said there.
    pub struct BranchSummary {
        pub source_session_id: Box<str> = "sourceSessionId",
        /// Its last entry that the summary is about.
        pub source_entry_id: EntryId = "sourceEntryId",
        pub summary: Option<Box<str>> = "summary",
        ..unknown
    }

    /// Text of earlier entries that was put in front of the model again. Nobody said it: no summary is made of it, and
    /// recall does not find it.
    pub struct Recall {
        pub text: Box<str> = "text",
        /// The entries that the text was put together from.
        pub source_ids: Vec<EntryId> = "sourceIds",
        /// Whether it takes the place of all that was recalled before.
        pub replaces: bool = "replaces",
        /// The member of a team whose context alone it is for; absent for all.
        pub member: Option<Box<str>> = "member",
        ..unknown
    }

    /// The text of another entry is to be seen no more.
    pub struct Redaction {
        pub target_id: EntryId = "targetId",
        pub reason: Option<Box<str>> = "reason",
        ..unknown
    }

    /// What is left of an entry whose bytes a redaction took away: in its place, under its id.
    pub struct Purged {
        pub type_name: Box<str> = "type",
        /// The hash of the record that was here.
        pub hash: RecordHash = "hash",
        pub by: EntryId = "by",
        ..unknown
    }

    /// What an answer cost.
    pub struct Usage {
        pub member: Box<str> = "member",
        pub model: Option<Box<str>> = "model",
        pub input_tokens: u64 = "inputTokens",
        /// Tokens among them that came from a cache.
        pub cached_tokens: Option<u64> = "cachedTokens",
        pub output_tokens: u64 = "outputTokens",
        pub cost_usd: Option<Usd> = "costUsd",
        ..unknown
    }
}

/// What a run found around it; stable within a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeInit {
    /// A JSON object, such as `{"cwd":"/src","os":"linux"}`.
    pub data: Json,
    pub unknown: Fields,
}

/// The team's task was set or taken away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamTask {
    /// The task; `None` takes it away.
    pub task: Option<Box<str>>,
    pub unknown: Fields,
}

impl CompactionSummary {
    /// Returns the number of messages before the range that are in no summary.
    pub fn older(&self) -> usize {
        self.older_count.and_then(|count| usize::try_from(count).ok()).unwrap_or_default()
    }
}

words! {
    /// How a context was cut.
    pub enum CutStrategy: "elide or drop" {
        /// Old tool outputs became stubs.
        Elide = "elide",
        /// Old entries were left out.
        Drop = "drop",
    }
}

/// An amount of dollars of 0 or more, with the digits in which it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usd(Json);

/// Something about the session holds from here on. No prompt and no model sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSetting {
    pub setting: Setting,
    /// The payload of the `custom` entry of version 1 that it was read from. Counts when the entry is written.
    pub source: Option<Json>,
    pub unknown: Fields,
}

kinds! {
    /// What holds for a session from an entry on.
    pub enum Setting {
        /// The person said that the session continues; the count, from 1, tells one from the next.
        Continued = "continued" { count: u64 = "count" },
        /// The session was opened again while turns waited that could have started; the count, from 1, tells one from
        /// the next.
        Reopened = "reopened" { count: u64 = "count" },
        /// The session belongs to this project folder.
        Folder = "folder" { path: Box<str> = "path" },
        /// The largest number of turns before a person is asked; `None` for the team's limit.
        TurnsMax = "turns_max" { turns: Option<u32> = "turns" },
        /// The title that a person gave the session; an empty one takes an earlier one back.
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
    /// The version of the record form that is written; earlier ones are read too.
    pub const VERSION: u64 = 2;
}

/// The header of a log in the present record form.
impl Default for SessionHeader {
    fn default() -> Self {
        Self { version: Self::VERSION, unknown: Fields::NONE }
    }
}

impl TeamTask {
    /// The team has this task.
    pub fn set(task: impl Into<Box<str>>) -> Self {
        Self { task: Some(task.into()), unknown: Fields::NONE }
    }
}

impl Redaction {
    /// This entry is to be seen no more.
    pub fn new(target: &EntryId) -> Self {
        Self { target_id: target.clone(), reason: None, unknown: Fields::NONE }
    }
}

impl Usd {
    /// This amount; `None` if it is negative, infinite or no number.
    pub fn new(amount: f64) -> Option<Self> {
        Self::from_json(Json::parse(&amount.to_string()).ok()?)
    }

    /// The amount of a JSON number; `None` if it is negative or not a number.
    pub fn from_json(number: Json) -> Option<Self> {
        let amount = number.as_str().parse::<f64>();
        let counts = number.kind() == Kind::Number && amount.is_ok_and(|amount| amount >= 0.0);
        counts.then_some(Self(number))
    }

    /// The amount; digits beyond those of a float are rounded.
    pub fn amount(&self) -> f64 {
        self.0.as_str().parse().unwrap_or(f64::INFINITY)
    }
}

impl From<Setting> for SessionSetting {
    fn from(setting: Setting) -> Self {
        Self { setting, source: None, unknown: Fields::NONE }
    }
}

/// For people.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Continued { .. } => f.write_str("a person said: continue"),
            Self::Reopened { .. } => f.write_str("the session was opened again"),
            Self::Folder { path } => write!(f, "project folder: {path}"),
            Self::TurnsMax { turns: None } => f.write_str("turns are limited by the team alone"),
            Self::TurnsMax { turns: Some(1) } => f.write_str("a person is asked after one turn"),
            Self::TurnsMax { turns: Some(turns) } => {
                write!(f, "a person is asked after {turns} turns")
            }
            Self::Title { title } if title.is_empty() => f.write_str("title removed"),
            Self::Title { title } => write!(f, "title: {title}"),
            Self::Other { kind } => write!(f, "setting {kind}"),
        }
    }
}
