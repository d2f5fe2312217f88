//! The input and output of a store: plain data, the same for every implementation.

use std::collections::BTreeSet;

use tertulia_session::search::terms::TermKind;
use tertulia_session::{ChainLink, Entry, EntryId, Timestamp, Usage};

use crate::SessionId;
use crate::backend::SessionStatus;
use crate::lease::Fence;
use crate::row::Record;

/// The number of an entry in its session, starting at 1. It is assigned under a lock and does not depend on time.
pub type Seq = u64;

/// A session to create.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewSession {
    /// The id of the session; if `None`, one is generated.
    pub id: Option<SessionId>,
}

/// A selection of sessions by project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProjectScope {
    /// Sessions of all projects, and those without one.
    #[default]
    All,
    /// Sessions of this project, given by its folder, exactly as stored.
    Project(String),
    Unassigned,
}

/// Entries to append, all or none.
#[derive(Clone, Debug, Default)]
pub struct Append {
    pub entries: Vec<NewRecord>,
    /// If set, the session must end in this entry, unless all entries are already stored.
    pub expected_tail: Option<EntryId>,
    /// If set, the session must not have been taken over from the lock with this number; see
    /// [`SessionLock::fence`](crate::SessionLock::fence).
    pub fence: Option<Fence>,
}

/// An entry to append, with its token count if known.
#[derive(Clone, Debug)]
pub struct NewRecord {
    pub entry: Entry,
    pub count: Option<TokenCount>,
}

/// The token count of an entry, and the tokenizer that produced it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenCount {
    /// The name of the tokenizer, such as `o200k`.
    pub tokenizer: Box<str>,
    pub tokens: u64,
}

/// The result of an append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The last entry of the append; `None` if it was empty.
    pub last_entry_id: Option<EntryId>,
    /// The number of new entries; the others were already stored.
    pub appended_count: usize,
    pub newest: Seq,
}

/// A stored entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEntry {
    pub seq: Seq,
    pub parent: Option<Seq>,
    pub entry: Entry,
    /// The size of its record in bytes, as written.
    pub bytes: u64,
    pub count: Option<TokenCount>,
    /// The time when it was stored, by the clock of the machine that stored it.
    pub stored_at: Timestamp,
    pub link: ChainLink,
}

/// A selection of entries of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Range {
    #[default]
    All,
    /// The newest entries, at most this many.
    Tail(usize),
    /// This entry and all after it.
    From(EntryId),
    /// The branch that ends in `tail`, or in the newest entry if `tail` is `None`; oldest entry first.
    Branch {
        tail: Option<EntryId>,
        /// Returns only this many of the newest entries.
        limit: Option<usize>,
    },
    /// The entries with these ascending numbers, as listed by an [`Outline`](crate::Outline).
    Numbers(Vec<Seq>),
}

/// The description of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionInfo {
    pub id: SessionId,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// The number of entries, which is also the number of the newest one.
    pub entries: Seq,
    pub tail: Option<EntryId>,
    /// The chain hash of the newest entry. It identifies the whole log.
    pub chain_hash: ChainLink,
    /// The title that a person set, otherwise the start of the first readable message.
    pub title: Option<String>,
    /// Whether a person set the title.
    pub has_own_title: bool,
    /// The folder of the project, if known. It is not part of the log.
    pub project: Option<String>,
}

/// A usage entry of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredUsage {
    pub session: SessionId,
    /// The project of the session.
    pub project: Option<String>,
    pub entry_id: EntryId,
    /// The time of the entry, or if it has none, the time when it was stored.
    pub time: Timestamp,
    pub usage: Usage,
}

/// The usage entries of all sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageEntries {
    /// The entries, oldest first.
    pub entries: Vec<StoredUsage>,
    /// The sessions with damaged entries, which are left out.
    pub damaged: BTreeSet<SessionId>,
}

/// A selection of sessions, listed most recently changed first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFilter {
    pub id_prefix: Option<String>,
    /// Only sessions that were changed at this time or later.
    pub since: Option<Timestamp>,
    /// Only sessions that were last changed before this time.
    pub until: Option<Timestamp>,
    pub limit: Option<usize>,
    pub project: ProjectScope,
}

/// The result of checking a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The number of intact entries, counted from the first one.
    pub entries: Seq,
    pub purged: u64,
    pub chain_hash: ChainLink,
    /// The first problem.
    pub damage: Option<Damage>,
}

/// A problem in a stored session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    pub seq: Seq,
    pub entry: Option<EntryId>,
    pub reason: String,
}

/// How a query matches entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Matching {
    /// Entries with all words of the query. If there are none, [`Matching::BestWords`] is used.
    #[default]
    AllWords,
    /// Entries with the most significant words of the query; for example, this finds the answer to a question.
    /// Quoted phrases are required.
    BestWords,
}

/// A search query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// Words match in any form. A phrase `"in quotes"` must occur literally, and `word*` matches
    /// any word with this prefix. Common words count only in quotes, or if there are no other
    /// words.
    pub text: String,
    pub matching: Matching,
    pub session: Option<SessionId>,
    /// Leaves this session out.
    pub except_session: Option<SessionId>,
    /// Restricts hits to the speaker with this role id or name.
    pub speaker: Option<String>,
    pub type_name: Option<String>,
    /// Only entries of this time or later.
    pub since: Option<Timestamp>,
    /// Only entries from before this time.
    pub until: Option<Timestamp>,
    /// The maximum number of hits; 20 by default.
    pub limit: Option<usize>,
    pub project: ProjectScope,
}

/// The result of a search, best hit first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchResult {
    pub hits: Vec<Hit>,
    /// Whether there were more candidates than a search examines. Only the newest were examined.
    pub more: bool,
    /// Whether no entry contains all words of the query, so that each hit contains only the most significant ones.
    pub is_partial: bool,
    /// Common words of the query, which the search ignored.
    pub ignored: Vec<Box<str>>,
}

/// An entry that a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    pub session: SessionId,
    pub seq: Seq,
    pub entry_id: EntryId,
    pub type_name: Box<str>,
    pub speaker: Option<Box<str>>,
    pub timestamp: Option<Timestamp>,
    /// The score of the hit, comparable only within one search.
    pub score: u64,
    pub snippet: Snippet,
    /// The words that contributed to the score; their scores add up to it.
    pub matches: Vec<TermMatch>,
}

/// A word of a query that occurs in an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermMatch {
    /// The word as written in the query.
    pub asked: Box<str>,
    /// The word as written in the entry, at its first occurrence.
    pub found: Box<str>,
    pub kind: TermKind,
    /// The number of occurrences in the entry.
    pub times: u64,
    /// The number of entries in the store that contain the word, at most 2,000; not counted for prefixes.
    pub entries: Option<u64>,
    /// The weight of its kind times its rarity.
    pub weight: u64,
    /// Its contribution to the score of the entry.
    pub score: u64,
}

/// An excerpt of a text with highlighted matches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snippet {
    /// The excerpt, on one line.
    pub text: String,
    /// The byte ranges of the matches in the excerpt.
    pub marks: Vec<std::ops::Range<usize>>,
    pub cut_before: bool,
    pub cut_after: bool,
}

impl Append {
    /// Creates an append of these entries without token counts, whatever the last entry of the session is.
    pub fn new(entries: impl IntoIterator<Item = Entry>) -> Self {
        let entries = entries.into_iter().map(NewRecord::from).collect();
        Self { entries, expected_tail: None, fence: None }
    }

    /// Requires that the session ends in this entry.
    #[must_use]
    pub fn expecting(mut self, tail: EntryId) -> Self {
        self.expected_tail = Some(tail);
        self
    }
}

impl From<Entry> for NewRecord {
    fn from(entry: Entry) -> Self {
        Self { entry, count: None }
    }
}

impl ProjectScope {
    /// Selects the sessions of the same project; `None` selects sessions without a project.
    pub fn same_as(project: Option<&str>) -> Self {
        project.map_or(Self::Unassigned, |project| Self::Project(project.to_owned()))
    }

    /// Returns whether sessions of all projects are selected; if not, also the project, where `None` means no
    /// project.
    pub(crate) fn values(&self) -> (bool, Option<&str>) {
        match self {
            Self::All => (true, None),
            Self::Project(project) => (false, Some(project)),
            Self::Unassigned => (false, None),
        }
    }

    /// Returns whether a session of this project is selected.
    pub fn matches(&self, project: Option<&str>) -> bool {
        let (is_any, expected) = self.values();
        is_any || expected == project
    }
}

impl ListFilter {
    pub(crate) fn matches(&self, status: &SessionStatus) -> bool {
        self.id_prefix.as_ref().is_none_or(|prefix| status.id.as_str().starts_with(prefix.as_str()))
            && self.since.as_ref().is_none_or(|since| status.updated_at >= since.millis())
            && self.until.as_ref().is_none_or(|until| status.updated_at < until.millis())
            && self.project.matches(status.project.as_deref())
    }
}

impl SearchQuery {
    /// Returns whether the query contains a word that can be searched for.
    pub fn has_words(&self) -> bool {
        crate::search::ParsedQuery::parse(&self.text).is_some()
    }

    /// Returns whether an entry passes the filters, except for the session filter.
    pub(crate) fn matches(&self, record: &Record) -> bool {
        let said_by = |expected: &String| {
            record.speaker.as_ref().is_some_and(|speaker| {
                *speaker.id == **expected || speaker.name.as_deref() == Some(expected)
            })
        };
        self.speaker.as_ref().is_none_or(said_by)
            && self.type_name.as_ref().is_none_or(|expected| *record.type_name == **expected)
            && self.since.as_ref().is_none_or(|since| record.time >= Some(since.millis()))
            && self
                .until
                .as_ref()
                .is_none_or(|until| record.time.is_some_and(|time| time < until.millis()))
    }
}
