//! What goes into a store and what comes out: plain data, the same for every implementation.

use tertulia_session::search::terms::TermKind;
use tertulia_session::{ChainLink, Entry, EntryId, Timestamp};

use crate::SessionId;
use crate::backend::Head;
use crate::row::Record;

/// The number of an entry in its session, from 1. Given out under a lock; time plays no part in it.
pub type Seq = u64;

/// A session that is to be begun.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewSession {
    /// Its id; without one, an id is made.
    pub id: Option<SessionId>,
}

/// Which sessions are meant, by the project that they belong to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProjectScope {
    /// Sessions of all projects, and those of none.
    #[default]
    All,
    /// Sessions of this project: its folder, exactly as it was stored.
    Of(String),
    Unassigned,
}

/// Entries to append, all or none.
#[derive(Clone, Debug, Default)]
pub struct Append {
    pub entries: Vec<NewRecord>,
    /// The entry in which the session must end, unless all entries are there already.
    pub expected_tail: Option<EntryId>,
}

/// An entry to append, with what is known of its size.
#[derive(Clone, Debug)]
pub struct NewRecord {
    pub entry: Entry,
    pub count: Option<TokenCount>,
}

/// How many tokens an entry has, and who counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenCount {
    /// The name of the tokenizer, such as `o200k`.
    pub tokenizer: Box<str>,
    pub tokens: u64,
}

/// What an append did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The last entry that was handed in; `None` if there was none.
    pub last_entry_id: Option<EntryId>,
    /// How many entries are new; the others were there already.
    pub appended_count: usize,
    pub newest: Seq,
}

/// An entry as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEntry {
    pub seq: Seq,
    pub parent: Option<Seq>,
    pub entry: Entry,
    /// The size of its record in bytes, as it was written.
    pub bytes: u64,
    pub count: Option<TokenCount>,
    /// When it was stored, by the clock of the machine that did.
    pub stored_at: Timestamp,
    pub link: ChainLink,
}

/// Which entries of a session are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Range {
    #[default]
    All,
    /// The newest ones, at most so many.
    Tail(usize),
    /// This entry and all after it.
    From(EntryId),
    /// From this entry back to its root, oldest first; the newest entry if none is named.
    Branch {
        tail: Option<EntryId>,
        /// At most so many, the newest ones.
        limit: Option<usize>,
    },
    /// Those with these numbers, which ascend, as an [`Outline`](crate::Outline) names them.
    Numbers(Vec<Seq>),
}

/// What is known of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionInfo {
    pub id: SessionId,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// How many entries it has, which is the number of the newest.
    pub entries: Seq,
    pub tail: Option<EntryId>,
    /// The link of the newest entry, which stands for the whole log.
    pub head: ChainLink,
    /// The title that a person gave it, else the beginning of the first message that can be seen.
    pub title: Option<String>,
    /// Whether a person gave it that title.
    pub has_own_title: bool,
    /// The folder of the project that it belongs to, where that is known. No part of the log.
    pub project: Option<String>,
}

/// Which sessions are wanted, most recently changed first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFilter {
    pub id_prefix: Option<String>,
    /// Changed at this moment or later.
    pub since: Option<Timestamp>,
    /// Changed before this moment.
    pub until: Option<Timestamp>,
    pub limit: Option<usize>,
    pub project: ProjectScope,
}

/// What a check of a session found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// How many entries fit together, from the first on.
    pub entries: Seq,
    pub purged: u64,
    pub head: ChainLink,
    /// The first thing that does not fit.
    pub damage: Option<Damage>,
}

/// What does not fit in a stored session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    pub place: Seq,
    pub entry: Option<EntryId>,
    pub reason: String,
}

/// Which entries a query finds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Matching {
    /// Those that have all words; if there are none, those that [`Matching::BestWords`] finds.
    #[default]
    AllWords,
    /// Those that have the most telling words, such as an answer to a question has. What is in quotes must be there.
    BestWords,
}

/// What is looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// The words, in any form. `"in quotes"` they must follow each other as they are, `word*` may go on. Common words
    /// count only in quotes, or where there are no others.
    pub text: String,
    pub matching: Matching,
    pub session: Option<SessionId>,
    /// Not in this session.
    pub except_session: Option<SessionId>,
    /// Only what this speaker said: role id or name.
    pub speaker: Option<String>,
    pub type_name: Option<String>,
    /// Only at this moment or later.
    pub since: Option<Timestamp>,
    /// Only before this moment.
    pub until: Option<Timestamp>,
    /// At most so many; 20 if not said.
    pub limit: Option<usize>,
    pub project: ProjectScope,
}

/// What was found, best first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchResult {
    pub hits: Vec<Hit>,
    /// Whether there were more candidates than are ever looked at; the newest were.
    pub more: bool,
    /// Whether no entry has all words, as was asked for: the hits have the most telling ones.
    pub is_partial: bool,
    /// Common words of the query that neither found nor ranked anything.
    pub ignored: Vec<Box<str>>,
}

/// An entry that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    pub session: SessionId,
    pub seq: Seq,
    pub entry_id: EntryId,
    pub type_name: Box<str>,
    pub speaker: Option<Box<str>>,
    pub timestamp: Option<Timestamp>,
    /// How well it fits; only for comparing hits of one search.
    pub score: u64,
    pub snippet: Snippet,
    /// Which words brought the score; their scores add up to it.
    pub matches: Vec<TermMatch>,
}

/// A word of a query that was found in an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermMatch {
    /// As the query has it.
    pub asked: Box<str>,
    /// As the entry has it, where it is first.
    pub found: Box<str>,
    pub kind: TermKind,
    /// How often the entry has it.
    pub times: u64,
    /// How many entries of the store have it, at most 2,000; not counted for a beginning of words.
    pub entries: Option<u64>,
    /// What it is worth: the weight of its kind times its rarity.
    pub weight: u64,
    /// What it brought to the score of the entry.
    pub score: u64,
}

/// A piece of a text, and where in it something was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snippet {
    /// The piece, on one line.
    pub text: String,
    /// The bytes of the piece that were looked for.
    pub marks: Vec<std::ops::Range<usize>>,
    pub cut_before: bool,
    pub cut_after: bool,
}

impl Append {
    /// These entries, without counts and whatever the session ends in.
    pub fn new(entries: impl IntoIterator<Item = Entry>) -> Self {
        let entries = entries.into_iter().map(NewRecord::from).collect();
        Self { entries, expected_tail: None }
    }

    /// The same, if the session ends in this entry.
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
    /// The sessions of the same project as a session of this one; `None` for one of no project.
    pub fn same_as(project: Option<&str>) -> Self {
        project.map_or(Self::Unassigned, |project| Self::Of(project.to_owned()))
    }

    /// Whether sessions of any project are meant, and else of which; no value stands for no project.
    pub(crate) fn values(&self) -> (bool, Option<&str>) {
        match self {
            Self::All => (true, None),
            Self::Of(project) => (false, Some(project)),
            Self::Unassigned => (false, None),
        }
    }

    /// Whether a session of this project is meant.
    pub fn takes(&self, project: Option<&str>) -> bool {
        let (is_any, wanted) = self.values();
        is_any || wanted == project
    }
}

impl ListFilter {
    pub(crate) fn takes(&self, head: &Head) -> bool {
        self.id_prefix.as_ref().is_none_or(|prefix| head.id.as_str().starts_with(prefix.as_str()))
            && self.since.as_ref().is_none_or(|since| head.updated_at >= since.millis())
            && self.until.as_ref().is_none_or(|until| head.updated_at < until.millis())
            && self.project.takes(head.project.as_deref())
    }
}

impl SearchQuery {
    /// Whether there is a word in it that can be found.
    pub fn has_words(&self) -> bool {
        crate::search::Question::read(&self.text).is_some()
    }

    /// Whether an entry passes the filters, all but that of the session.
    pub(crate) fn takes(&self, record: &Record) -> bool {
        let said_by = |wanted: &String| {
            record.speaker.as_ref().is_some_and(|speaker| {
                *speaker.id == **wanted || speaker.name.as_deref() == Some(wanted)
            })
        };
        self.speaker.as_ref().is_none_or(said_by)
            && self.type_name.as_ref().is_none_or(|wanted| *record.type_name == **wanted)
            && self.since.as_ref().is_none_or(|since| record.time >= Some(since.millis()))
            && self
                .until
                .as_ref()
                .is_none_or(|until| record.time.is_some_and(|time| time < until.millis()))
    }
}
