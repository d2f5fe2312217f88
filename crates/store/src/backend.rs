//! The operations that a database provides for [`SessionStore`](crate::SessionStore): as few as
//! possible, each atomic. SQLite, PostgreSQL and memory implement it; only the store calls it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tertulia_session::{ChainLink, EntryId};

use crate::import::LeftBehind;
use crate::lease::Holder;
use crate::lock::SessionLock;
use crate::model::{Appended, ListFilter, SearchQuery, Seq, TokenCount};
use crate::plan::Batch;
use crate::redacting::Remains;
use crate::row::Row;
use crate::search::{AnyOf, Candidate, Frequencies, IndexQuery};
use crate::{OutlineEntry, Result, SessionId};

/// The visibility of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Open,
    /// Being imported; only the import can read it.
    Importing,
    /// Being deleted; nobody can read it.
    Deleting,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// The entries after a number, oldest first.
    Forward,
    /// The entries up to and including a number, newest first.
    Backward,
}

#[derive(Clone, Debug)]
pub(crate) struct SessionStart {
    pub(crate) created_at: i64,
    pub(crate) state: State,
    pub(crate) project: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionStatus {
    pub(crate) id: SessionId,
    pub(crate) created_at: i64,
    /// The time when the newest entry was stored, or the session created.
    pub(crate) updated_at: i64,
    pub(crate) seq: Seq,
    pub(crate) tail: Option<EntryId>,
    pub(crate) link: ChainLink,
    pub(crate) project: Option<String>,
}

/// The approximate limit on the bytes of entries that a search ranks.
const CANDIDATE_BYTES_MAX: u64 = 32 << 20;

/// Entries that match an index query, newest first, and whether there are more.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    pub(crate) found: Vec<Candidate>,
    pub(crate) more: bool,
}

impl Candidates {
    /// Creates candidates from the rows that an index found, with their session ids. The index returns one row more
    /// than `limit` if there are more.
    pub(crate) fn from_rows(found: impl IntoIterator<Item = (String, Row)>, limit: usize) -> Self {
        let mut candidates = Self::default();
        let (mut looked_at, mut bytes) = (0, 0);
        for (session, row) in found {
            if looked_at == limit || bytes > CANDIDATE_BYTES_MAX {
                candidates.more = true;
                break;
            }
            looked_at += 1;
            bytes += row.record.bytes;
            if let Ok(session) = session.parse::<SessionId>() {
                candidates.found.extend(Candidate::from_row(session, row));
            }
        }
        candidates
    }
}

/// An entry at which a walk along a branch must stop or jump: a team task, or an entry whose parent is not the
/// previous entry of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BranchPoint {
    pub(crate) seq: Seq,
    pub(crate) parent: Option<Seq>,
    pub(crate) is_task: bool,
}

impl BranchPoint {
    pub(crate) const TASK: &str = "team_task";
}

/// The columns of an entry without its record, with the number of its parent.
pub(crate) type OutlineRow = (OutlineEntry, Option<Seq>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Indexed {
    pub(crate) entries: u64,
    pub(crate) is_behind: bool,
}

/// A usage entry with its session.
#[derive(Debug)]
pub(crate) struct UsageRow {
    pub(crate) session: SessionId,
    pub(crate) project: Option<String>,
    pub(crate) row: Row,
}

/// A database of sessions. Sessions that are being imported can be found by id, but [`list`](Self::list) and
/// [`candidates`](Self::candidates) return only open ones. The default implementations are sufficient for sessions
/// in memory.
pub(crate) trait Backend: Send + Sync {
    /// Returns the location of the sessions as text for people, never with a password.
    fn location(&self) -> String;

    /// Creates a session with its first entries, in one transaction. Fails with
    /// `StoreError::SessionExists` if the id is taken.
    fn create(&self, id: &SessionId, start: SessionStart, first: Batch) -> Result<()>;

    fn set_project(&self, id: &SessionId, project: Option<&str>) -> Result<()>;

    /// Appends the entries that [`plan`](crate::plan::plan) decides on, in one transaction, and purges the entries
    /// that redactions hide. Returns once everything is on disk.
    fn append(&self, id: &SessionId, batch: Batch) -> Result<Appended>;

    /// Returns the current state of a session; `StoreError::SessionNotFound` if it does not exist.
    fn status(&self, id: &SessionId) -> Result<SessionStatus>;

    /// Returns at most `limit` entries, starting at a number.
    fn page(
        &self,
        id: &SessionId,
        direction: Direction,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<Row>>;

    /// Returns at most `limit` entries after a number, oldest first.
    fn rows(&self, id: &SessionId, after: Seq, limit: usize) -> Result<Vec<Row>> {
        self.page(id, Direction::Forward, after, limit)
    }

    /// Like [`rows`](Self::rows), without records. May return fewer than `limit` entries even if there are more.
    fn outline_rows(&self, id: &SessionId, after: Seq, limit: usize) -> Result<Vec<OutlineRow>> {
        let brief = |Row { seq, parent, record, .. }| {
            (OutlineEntry { number: seq, id: record.id, type_name: record.type_name }, parent)
        };
        Ok(self.rows(id, after, limit)?.into_iter().map(brief).collect())
    }

    /// Returns at most `limit` branch points up to and including a number, newest first. Uses an
    /// index, so that the cost does not grow with the session.
    fn branch_points(&self, id: &SessionId, from: Seq, limit: usize) -> Result<Vec<BranchPoint>>;

    fn find(&self, id: &SessionId, entry: &EntryId) -> Result<Option<Seq>>;

    fn list(&self, filter: &ListFilter) -> Result<Vec<SessionStatus>>;

    /// Passes the usage entries of all open sessions since a time to a function, oldest first. An entry without a time
    /// has the time when it was stored. Uses an index, so that the cost depends only on the number of these entries.
    fn usage(&self, since: i64, visit: &mut dyn FnMut(UsageRow)) -> Result<()>;

    /// Makes imported sessions visible under their ids, all or none. If an id is taken, returns
    /// `StoreError::SessionExists` with this id.
    fn publish(&self, sessions: &[(SessionId, SessionId)]) -> Result<()>;

    /// Locks an import number until the returned value is dropped; `None` if another process holds
    /// the lock.
    fn lock_imports(&self, _number: u64) -> Result<Option<Box<dyn Send + Sync>>> {
        Ok(Some(Box::new(())))
    }

    fn left_behind(&self) -> Result<LeftBehind> {
        Ok(LeftBehind::default())
    }

    /// Deletes the data that interrupted imports and deletions left, in small steps, so that others can write in
    /// between.
    fn delete_left_behind(&self) -> Result<()> {
        Ok(())
    }

    /// Returns a number of entries that the session must have at least, and the link of the last of them. Returns
    /// `None` if the store does not record them separately from the entries.
    fn anchor(&self, _id: &SessionId) -> Result<Option<(Seq, ChainLink)>> {
        Ok(None)
    }

    /// Hides a session and deletes its entries and their terms in the search index, including
    /// sessions that an interrupted deletion hid under this id. The hidden session stays until
    /// [`forget_deleted`](Self::forget_deleted).
    fn delete(&self, id: &SessionId) -> Result<()>;

    fn is_half_deleted(&self, _id: &SessionId) -> Result<bool> {
        Ok(false)
    }

    /// Finishes a deletion: removes everything that is left of the session, including its id.
    fn forget_deleted(&self, _id: &SessionId) -> Result<()> {
        Ok(())
    }

    /// Erases purged and deleted bytes from all files of the database. Returns the reasons why some may remain.
    fn scrub(&self) -> Result<Vec<Remains>> {
        Ok(Vec::new())
    }

    fn old_copies(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Stores token counts of entries. Missing and purged entries are skipped.
    fn store_token_counts(&self, id: &SessionId, counts: &[(EntryId, TokenCount)]) -> Result<()>;

    /// Adds about `limit` entries to the search index.
    fn index_some(&self, _limit: usize) -> Result<Indexed> {
        Ok(Indexed::default())
    }

    /// Returns the number of entries, and for each item of `terms` the number of entries that
    /// contain one of its terms, each counted up to [`COUNTED_MAX`](crate::search::COUNTED_MAX).
    /// Covers all open sessions, regardless of the filters of a query.
    fn frequencies(&self, terms: &[AnyOf]) -> Result<Frequencies>;

    /// Returns at most `limit` of the newest entries that match the index query and the filters of
    /// the search query.
    fn candidates(
        &self,
        index_query: &IndexQuery,
        query: &SearchQuery,
        limit: usize,
    ) -> Result<Candidates>;

    /// Waits until the session may have entries after this number, at most for `timeout`.
    fn wait(&self, id: &SessionId, after: Seq, timeout: Duration) -> Result<()>;

    fn check(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn reopen(&self) -> Result<()> {
        Ok(())
    }

    /// Locks a session for this program; `None` if another program has locked it. A backend that cannot detect this
    /// always grants the lock.
    fn lock_session(&self, _id: &SessionId) -> Result<Option<SessionLock>> {
        Ok(Some(SessionLock::unsupported()))
    }

    /// Returns the process that has the lease of a session, if the store has leases.
    fn holder(&self, _id: &SessionId) -> Result<Option<Holder>> {
        Ok(None)
    }

    /// Copies the database into an empty file while others keep writing. Returns `false` if the
    /// backend has no native copy.
    fn copy_to(&self, _file: &Path) -> Result<bool> {
        Ok(false)
    }
}

/// Filters sessions and sorts them, most recently changed first. For equal times, the highest key comes first.
pub(crate) fn newest_first<K: Copy + Ord>(
    statuses: impl Iterator<Item = (SessionStatus, K)>,
    filter: &ListFilter,
) -> Vec<SessionStatus> {
    let mut statuses: Vec<_> = statuses.filter(|(status, _)| filter.matches(status)).collect();
    statuses.sort_by_key(|(status, key)| std::cmp::Reverse((status.updated_at, *key)));
    statuses
        .into_iter()
        .map(|(status, _)| status)
        .take(filter.limit.unwrap_or(usize::MAX))
        .collect()
}
