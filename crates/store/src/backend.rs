//! What a database has to do for [`SessionStore`](crate::SessionStore): the smallest set of calls, each
//! atomic. SQLite, PostgreSQL and memory each implement it; nobody else calls it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tertulia_session::{ChainLink, EntryId};

use crate::hold::Hold;
use crate::import::LeftBehind;
use crate::model::{Appended, ListFilter, SearchQuery, Seq, TokenCount};
use crate::plan::Batch;
use crate::redacting::Remains;
use crate::row::Row;
use crate::search::{AnyOf, Candidate, Frequencies, Wanted};
use crate::{OutlineEntry, Result, SessionId};

/// Whether a session can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Open,
    /// An import fills it; nobody else sees it.
    Importing,
    /// It is being taken away; nobody sees it any more.
    Deleting,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// The entries after a number, oldest first.
    Forth,
    /// The entries up to a number and that one, newest first.
    Back,
}

#[derive(Clone, Debug)]
pub(crate) struct Begun {
    pub(crate) created_at: i64,
    pub(crate) state: State,
    pub(crate) project: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) id: SessionId,
    pub(crate) created_at: i64,
    /// When its newest entry was stored, or the session begun.
    pub(crate) updated_at: i64,
    pub(crate) seq: Seq,
    pub(crate) tail: Option<EntryId>,
    pub(crate) link: ChainLink,
    pub(crate) project: Option<String>,
}

/// How many bytes of entries are looked at, about, while a search ranks them.
const CANDIDATE_BYTES_MAX: u64 = 32 << 20;

/// Entries that have the wanted terms, the newest first, and whether there are more.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    pub(crate) found: Vec<Candidate>,
    pub(crate) more: bool,
}

impl Candidates {
    /// What an index found: the ids of sessions and the entries, one more than are wanted if there are more.
    pub(crate) fn of(found: impl IntoIterator<Item = (String, Row)>, limit: usize) -> Self {
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
                candidates.found.extend(Candidate::of(session, row));
            }
        }
        candidates
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
    pub(crate) const TASK: &str = "team_task";
}

/// What the columns tell of an entry, without its record; and the number of its parent.
pub(crate) type Brief = (OutlineEntry, Option<Seq>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Indexed {
    pub(crate) entries: u64,
    pub(crate) is_behind: bool,
}

/// A database that keeps sessions. Sessions that are being imported are found by their id here;
/// [`heads`](Self::heads) and [`candidates`](Self::candidates) show only open ones. The methods with a body do
/// what suffices for sessions that are gone with the process.
pub(crate) trait Backend: Send + Sync {
    /// Where the sessions are, for people; never with a password.
    fn place(&self) -> String;

    /// Begins a session with its first entries, in one transaction; `StoreError::SessionExists` if
    /// the id is taken.
    fn create(&self, id: &SessionId, begun: Begun, first: Batch) -> Result<()>;

    fn set_project(&self, id: &SessionId, project: Option<&str>) -> Result<()>;

    /// Appends as [`plan`](crate::plan::plan) says, in one transaction, and purges what redactions
    /// hide. Returns once it is on disk.
    fn append(&self, id: &SessionId, batch: Batch) -> Result<Appended>;

    /// Where a session stands; `StoreError::SessionNotFound` if there is none.
    fn head(&self, id: &SessionId) -> Result<Head>;

    /// Entries from a number on, at most so many.
    fn page(&self, id: &SessionId, way: Way, from: Seq, limit: usize) -> Result<Vec<Row>>;

    /// The entries after a number, oldest first, at most so many.
    fn rows(&self, id: &SessionId, after: Seq, limit: usize) -> Result<Vec<Row>> {
        self.page(id, Way::Forth, after, limit)
    }

    /// The same as [`rows`](Self::rows) without records. There may be fewer than asked for, and more behind them.
    fn briefs(&self, id: &SessionId, after: Seq, limit: usize) -> Result<Vec<Brief>> {
        let brief = |Row { seq, parent, record, .. }| {
            (OutlineEntry { number: seq, id: record.id, type_name: record.type_name }, parent)
        };
        Ok(self.rows(id, after, limit)?.into_iter().map(brief).collect())
    }

    /// The landmarks up to a number and that one, newest first, at most so many. Found by an index: the
    /// cost does not follow the session.
    fn landmarks(&self, id: &SessionId, from: Seq, limit: usize) -> Result<Vec<Landmark>>;

    fn find(&self, id: &SessionId, entry: &EntryId) -> Result<Option<Seq>>;

    fn heads(&self, filter: &ListFilter) -> Result<Vec<Head>>;

    /// Shows imported sessions under their ids, all or none; `StoreError::SessionExists` names an id
    /// that is taken.
    fn publish(&self, sessions: &[(SessionId, SessionId)]) -> Result<()>;

    /// Holds a number while what is returned lives; `None` if another process holds it.
    fn hold_imports(&self, _number: u64) -> Result<Option<Box<dyn Send + Sync>>> {
        Ok(Some(Box::new(())))
    }

    fn left_behind(&self) -> Result<LeftBehind> {
        Ok(LeftBehind::default())
    }

    /// Deletes what killed imports and deletions left, in small steps that let others write.
    fn delete_left_behind(&self) -> Result<()> {
        Ok(())
    }

    /// How many entries a session must have at least and the link of the last of them, where the store
    /// notes that apart from the entries.
    fn anchor(&self, _id: &SessionId) -> Result<Option<(Seq, ChainLink)>> {
        Ok(None)
    }

    /// Hides a session and deletes its entries and their terms in the search index. One that an interrupted
    /// deletion hid under this id goes with it. The hidden session stays until [`forget_deleted`](Self::forget_deleted).
    fn delete(&self, id: &SessionId) -> Result<()>;

    fn is_half_deleted(&self, _id: &SessionId) -> Result<bool> {
        Ok(false)
    }

    /// Ends a deletion: nothing is left of the session then, not even its id.
    fn forget_deleted(&self, _id: &SessionId) -> Result<()> {
        Ok(())
    }

    /// Makes sure that bytes which were purged or deleted are in no file of the database any more; what may
    /// still hold them.
    fn scrub(&self) -> Result<Vec<Remains>> {
        Ok(Vec::new())
    }

    fn old_copies(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Notes how many tokens entries have. Entries that are not there, or purged, are passed over.
    fn know_counts(&self, id: &SessionId, counts: &[(EntryId, TokenCount)]) -> Result<()>;

    /// Takes entries into the search index, at most about so many.
    fn index_some(&self, _limit: usize) -> Result<Indexed> {
        Ok(Indexed::default())
    }

    /// How many entries there are, and how many have one of the terms, each counted up to
    /// [`COUNTED_MAX`](crate::search::COUNTED_MAX). Of all open sessions, whatever a query filters.
    fn frequencies(&self, terms: &[AnyOf]) -> Result<Frequencies>;

    /// The newest entries that have the wanted terms and pass the filters of the query, at most so many.
    fn candidates(&self, wanted: &Wanted, query: &SearchQuery, limit: usize) -> Result<Candidates>;

    /// Waits until the session may have entries after this number, at most so long.
    fn wait(&self, id: &SessionId, after: Seq, timeout: Duration) -> Result<()>;

    fn check(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn reopen(&self) -> Result<()> {
        Ok(())
    }

    /// Holds a session for this program; `None` if another one holds it. A place that cannot tell lets
    /// everybody hold it.
    fn hold(&self, _id: &SessionId) -> Result<Option<Hold>> {
        Ok(Some(Hold::unknown()))
    }

    /// Copies the database into an empty file while others go on writing; `false` if it has no way of
    /// its own.
    fn copy_to(&self, _file: &Path) -> Result<bool> {
        Ok(false)
    }
}

/// The sessions that a filter asks for, most recently changed first; of those that were changed
/// together, the one with the highest key.
pub(crate) fn newest_first<K: Copy + Ord>(
    heads: impl Iterator<Item = (Head, K)>,
    filter: &ListFilter,
) -> Vec<Head> {
    let mut heads: Vec<_> = heads.filter(|(head, _)| filter.takes(head)).collect();
    heads.sort_by_key(|(head, key)| std::cmp::Reverse((head.updated_at, *key)));
    heads.into_iter().map(|(head, _)| head).take(filter.limit.unwrap_or(usize::MAX)).collect()
}
