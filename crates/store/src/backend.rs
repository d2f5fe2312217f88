//! What a database has to do for [`SessionStore`](crate::SessionStore): the smallest set of calls, each
//! atomic. SQLite, PostgreSQL and memory each implement it; nobody else calls it.

use std::path::Path;
use std::time::Duration;

use tertulia_session::{ChainLink, EntryId};

use crate::hold::Hold;
use crate::model::{Appended, ListFilter, SearchQuery, Seq, TokenCount};
use crate::plan::Batch;
use crate::row::Row;
use crate::search::{CANDIDATES_MAX, Candidate, Question};
use crate::{SessionId, StoreError};

/// Whether a session can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It is there.
    Open,
    /// An import fills it; nobody else sees it.
    Importing,
    /// It is being taken away; nobody sees it any more.
    Deleting,
}

/// Where a session stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) id: SessionId,
    pub(crate) created_at: i64,
    /// When its newest entry was stored, or the session begun.
    pub(crate) updated_at: i64,
    pub(crate) seq: Seq,
    pub(crate) tail: Option<EntryId>,
    pub(crate) link: ChainLink,
}

/// Entries that have all terms of a question, the newest first, and whether there are more.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    pub(crate) found: Vec<Candidate>,
    pub(crate) more: bool,
}

impl Candidates {
    /// What an index found: the ids of sessions and the entries, one more than are ever looked at if
    /// there are more.
    pub(crate) fn of(mut found: Vec<(String, Row)>) -> Self {
        let more = found.len() > CANDIDATES_MAX;
        found.truncate(CANDIDATES_MAX);
        let candidate =
            |(session, row): (String, Row)| Candidate::of(SessionId::parse(&session).ok()?, row);
        Self { found: found.into_iter().filter_map(candidate).collect(), more }
    }
}

/// An entry that ends a walk along a branch, or turns it: a team's task, or an entry whose parent is not
/// the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Landmark {
    pub(crate) seq: Seq,
    pub(crate) parent: Option<Seq>,
    pub(crate) is_task: bool,
}

impl Landmark {
    /// The type of the entries that are looked for.
    pub(crate) const TASK: &str = "team_task";
}

/// How far the search index has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Indexed {
    /// How many entries were taken in by this call.
    pub(crate) entries: u64,
    /// Whether some are left.
    pub(crate) is_behind: bool,
}

/// A database that keeps sessions. Sessions that are being imported are found by their id here;
/// [`heads`](Self::heads) and [`candidates`](Self::candidates) show only open ones.
pub(crate) trait Backend: Send + Sync {
    /// Where the sessions are, for people; never with a password.
    fn place(&self) -> String;

    /// Begins a session with its first entries, in one transaction; [`StoreError::SessionExists`] if
    /// the id is taken.
    fn create(
        &self,
        id: &SessionId,
        created_at: i64,
        state: State,
        first: Batch,
    ) -> Result<(), StoreError>;

    /// Appends as [`plan`](crate::plan::plan) says, in one transaction, and purges what redactions
    /// hide. Returns once it is on disk.
    fn append(&self, id: &SessionId, batch: Batch) -> Result<Appended, StoreError>;

    /// Where a session stands; [`StoreError::SessionNotFound`] if there is none.
    fn head(&self, id: &SessionId) -> Result<Head, StoreError>;

    /// The entries after a number, oldest first, at most so many.
    fn rows(&self, id: &SessionId, after: Seq, limit: usize) -> Result<Vec<Row>, StoreError>;

    /// The entries up to a number and that one, newest first, at most so many.
    fn rows_back(&self, id: &SessionId, from: Seq, limit: usize) -> Result<Vec<Row>, StoreError>;

    /// The landmarks up to a number and that one, newest first, at most so many. Found by an index: the
    /// cost does not follow the session.
    fn landmarks(
        &self,
        id: &SessionId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<Landmark>, StoreError>;

    /// The number of an entry.
    fn find(&self, id: &SessionId, entry: &EntryId) -> Result<Option<Seq>, StoreError>;

    /// The open sessions that a filter asks for, most recently changed first.
    fn heads(&self, filter: &ListFilter) -> Result<Vec<Head>, StoreError>;

    /// Shows an imported session under this id; [`StoreError::SessionExists`] if it is taken.
    fn publish(&self, imported: &SessionId, id: &SessionId) -> Result<(), StoreError>;

    /// Imports that nobody has touched since this moment, or that claim to be from after `until`.
    fn forgotten_imports(&self, since: i64, until: i64) -> Result<Vec<SessionId>, StoreError>;

    /// Takes a session away, with its terms in the search index.
    fn delete(&self, id: &SessionId) -> Result<(), StoreError>;

    /// Notes how many tokens entries have. Entries that are not there, or purged, are passed over.
    fn know_counts(
        &self,
        id: &SessionId,
        counts: &[(EntryId, TokenCount)],
    ) -> Result<(), StoreError>;

    /// Takes entries into the search index, at most about so many.
    fn index_some(&self, limit: usize) -> Result<Indexed, StoreError>;

    /// The newest entries that have all terms and pass the filters of the query.
    fn candidates(
        &self,
        question: &Question,
        query: &SearchQuery,
    ) -> Result<Candidates, StoreError>;

    /// Waits until the session may have entries after this number, at most so long.
    fn wait(&self, id: &SessionId, after: Seq, timeout: Duration) -> Result<(), StoreError>;

    /// Checks the database as a whole; what is wrong, one line each.
    fn check(&self) -> Result<Vec<String>, StoreError>;

    /// After an error of the disk: opens the database anew, checks it, and takes entries again.
    fn reopen(&self) -> Result<(), StoreError>;

    /// Holds a session for this program; `None` if another one holds it. A place that cannot tell lets
    /// everybody hold it.
    fn hold(&self, _id: &SessionId) -> Result<Option<Hold>, StoreError> {
        Ok(Some(Hold::unknown()))
    }

    /// Copies the database into a new file while others go on writing; `false` if it has no way of its
    /// own.
    fn copy_to(&self, file: &Path) -> Result<bool, StoreError>;
}

/// The sessions that a filter asks for, most recently changed first; of those that were changed
/// together, the one with the highest key.
pub(crate) fn newest_first<K: Copy + Ord>(
    heads: impl Iterator<Item = (Head, K)>,
    filter: &ListFilter,
) -> Vec<Head> {
    let takes = |(head, _): &(Head, K)| filter.takes(head.id.as_str(), head.updated_at);
    let mut heads: Vec<_> = heads.filter(takes).collect();
    heads.sort_by_key(|(head, key)| std::cmp::Reverse((head.updated_at, *key)));
    heads.into_iter().map(|(head, _)| head).take(filter.limit.unwrap_or(usize::MAX)).collect()
}
