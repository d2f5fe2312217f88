//! Reads sessions: the entries of a range page by page, the outline of a branch, and new entries as they arrive. A
//! branch is followed by the numbers of parents, so only its own entries are kept in memory.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use tertulia_session::EntryId;

use crate::backend::Direction;
use crate::model::{Range, Seq, StoredEntry};
use crate::row::Row;
use crate::{Problem, Result, SessionId, SessionStore, StoreError};

/// The maximum number of entries that are read at once. Smaller pages would cost more calls.
const PAGE: usize = 256;

/// The number of branch points that are read at once. Most sessions have fewer.
const BRANCH_POINTS: usize = 64;

const OUTLINE_PAGE: usize = 1 << 16;

/// An iterator over the entries of a range, oldest first. It ends after the first error, so that the entries before
/// a damaged one can be read.
pub struct Entries<'s> {
    store: &'s SessionStore,
    session: SessionId,
    page: VecDeque<Row>,
    after: Seq,
    /// The newest entry when reading began. Later entries are not returned.
    last: Seq,
}

impl SessionStore {
    /// Returns the entries of a range, oldest first, read lazily in constant memory. The entries of
    /// a branch are collected first.
    pub fn entries(&self, session: &SessionId, range: &Range) -> Result<Entries<'_>> {
        let status = self.backend.status(session)?;
        let (page, after) = match range {
            Range::All => (VecDeque::new(), 0),
            Range::From(entry) => (VecDeque::new(), self.number_of(session, entry)? - 1),
            Range::Tail(count) => {
                let count = Seq::try_from(*count).unwrap_or(Seq::MAX);
                (VecDeque::new(), status.seq.saturating_sub(count))
            }
            Range::Branch { tail, limit } => {
                let from = match tail {
                    Some(tail) => self.number_of(session, tail)?,
                    None => status.seq,
                };
                (walk(self, session, from, limit.unwrap_or(usize::MAX))?, status.seq)
            }
            Range::Numbers(numbers) => (read_numbers(self, session, numbers)?, status.seq),
        };
        Ok(Entries { store: self, session: session.clone(), page, after, last: status.seq })
    }
}

impl Entries<'_> {
    /// Returns the rows of an opened branch, as stored.
    pub(crate) fn collected(&self) -> impl Iterator<Item = &Row> {
        self.page.iter()
    }

    fn next_page(&mut self) -> Result<()> {
        if self.after >= self.last {
            return Ok(());
        }
        let left = usize::try_from(self.last - self.after).unwrap_or(usize::MAX);
        let page = self.store.backend.rows(&self.session, self.after, left.min(PAGE))?;
        for row in page {
            // The entries before a missing one are returned first.
            if row.seq != self.after + 1 {
                break;
            }
            self.after = row.seq;
            self.page.push_back(row);
        }
        if self.page.is_empty() {
            // If the session was deleted meanwhile, the error must say so, instead of reporting damage.
            self.store.backend.status(&self.session)?;
            return Err(missing(&self.session, self.after + 1));
        }
        Ok(())
    }

    fn stop(&mut self) {
        self.page.clear();
        self.after = self.last;
    }
}

impl Iterator for Entries<'_> {
    type Item = Result<StoredEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.page.is_empty()
            && let Err(error) = self.next_page()
        {
            self.stop();
            return Some(Err(error));
        }
        let row = self.page.pop_front()?;
        let decoded = row.decode().map_err(|damage| damage.into_error(&self.session));
        if decoded.is_err() {
            self.stop();
        }
        Some(decoded)
    }
}

fn walk(
    store: &SessionStore,
    session: &SessionId,
    from: Seq,
    limit: usize,
) -> Result<VecDeque<Row>> {
    let mut branch = VecDeque::new();
    let mut next = Some(from).filter(|seq| *seq > 0);
    while let Some(from) = next.filter(|_| branch.len() < limit) {
        let page = store.backend.page(
            session,
            Direction::Backward,
            from,
            PAGE.min(limit - branch.len()),
        )?;
        let before = branch.len();
        for row in page {
            // Entries of other branches lie in between.
            if Some(row.seq) != next || branch.len() >= limit {
                continue;
            }
            // A parent is always an earlier entry, so the loop ends.
            next = row.parent.filter(|parent| *parent < row.seq);
            branch.push_front(row);
        }
        if branch.len() == before {
            return Err(missing(session, from));
        }
    }
    Ok(branch)
}

/// Reads the entries with these ascending numbers. Consecutive ones are read together.
fn read_numbers(
    store: &SessionStore,
    session: &SessionId,
    numbers: &[Seq],
) -> Result<VecDeque<Row>> {
    let mut picked = VecDeque::new();
    for run in numbers.chunk_by(|a, b| a + 1 == *b) {
        let (mut left, mut next) = (run.len(), run.first().copied().unwrap_or_default());
        while left > 0 {
            let page = store.backend.rows(session, next.saturating_sub(1), left.min(PAGE))?;
            if page.first().is_none_or(|row| row.seq != next) {
                return Err(missing(session, next));
            }
            left -= page.len();
            next += page.len() as Seq;
            picked.extend(page);
        }
    }
    Ok(picked)
}

/// Returns the number of the newest team task on the branch that ends at `from`.
pub(crate) fn task_before(
    store: &SessionStore,
    session: &SessionId,
    from: Seq,
) -> Result<Option<Seq>> {
    let mut next = from;
    loop {
        let points = store.backend.branch_points(session, next, BRANCH_POINTS)?;
        let is_last = points.len() < BRANCH_POINTS;
        for point in points {
            // Branch points of other branches lie in between.
            if point.seq > next {
                continue;
            }
            if point.is_task {
                return Ok(Some(point.seq));
            }
            match point.parent.filter(|parent| *parent < point.seq) {
                Some(parent) => next = parent,
                None => return Ok(None),
            }
        }
        if is_last {
            return Ok(None);
        }
    }
}

fn missing(session: &SessionId, seq: Seq) -> StoreError {
    let reason = "it is missing".to_owned();
    StoreError::unreadable(session, Problem::Damaged { seq, entry: None, reason })
}

/// The entries of the branch that ends in the newest entry, oldest first, without their records. For long sessions,
/// read the outline first and then only the entries that are needed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    pub entries: Vec<OutlineEntry>,
}

/// An entry of an outline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlineEntry {
    pub number: Seq,
    pub id: EntryId,
    /// The type of the entry; for a purged entry, its original type.
    pub type_name: Box<str>,
}

impl SessionStore {
    /// Calls `take` with all entries of a session after a number, oldest first. The entries have no records; the
    /// numbers of their parents are passed too. Needs memory for only one page.
    pub fn each_outline_entry(
        &self,
        session: &SessionId,
        after: Seq,
        mut take: impl FnMut(OutlineEntry, Option<Seq>),
    ) -> Result<()> {
        let last = self.backend.status(session)?.seq;
        let mut after = after;
        while after < last {
            let page = self.backend.outline_rows(session, after, OUTLINE_PAGE)?;
            let end = page.last().map(|(last, _)| last.number).filter(|end| *end > after);
            after = end.ok_or_else(|| missing(session, after + 1))?;
            page.into_iter().for_each(|(entry, parent)| take(entry, parent));
        }
        Ok(())
    }
}

impl Outline {
    /// Reads the outline of a session.
    pub fn read(store: &SessionStore, session: &SessionId) -> Result<Self> {
        let last = store.backend.status(session)?.seq;
        let mut all = Vec::new();
        store.each_outline_entry(session, 0, |entry, parent| {
            // Entries that were appended meanwhile are left out.
            if entry.number <= last {
                all.push((entry, parent));
            }
        })?;
        let mut entries = Vec::with_capacity(all.len());
        let mut next = Some(last).filter(|seq| *seq > 0);
        for (entry, parent) in all.into_iter().rev() {
            // Entries of other branches lie in between.
            if Some(entry.number) == next {
                next = parent.filter(|parent| *parent < entry.number);
                entries.push(entry);
            }
        }
        entries.reverse();
        match next {
            Some(seq) => Err(missing(session, seq)),
            None => Ok(Self { entries }),
        }
    }
}

/// A reader of new entries of a session, which may be appended by a thread of this process, another process, or
/// another machine. No entry is skipped or repeated.
pub struct Follow {
    pub(crate) store: SessionStore,
    pub(crate) session: SessionId,
    pub(crate) after: Seq,
}

impl Follow {
    /// Returns the number of the last entry that was returned.
    pub fn seen(&self) -> Seq {
        self.after
    }

    /// Returns the entries since the last call. If there are none, waits for new ones, at most for `timeout`.
    /// Returns an empty list if none arrive.
    pub fn next(&mut self, timeout: Duration) -> Result<Vec<StoredEntry>> {
        let deadline = Instant::now() + timeout;
        loop {
            let rows = self.store.backend.rows(&self.session, self.after, PAGE)?;
            if !rows.is_empty() {
                return self.take(rows);
            }
            // A deleted session will have no more entries either: fail instead of waiting.
            self.store.backend.status(&self.session)?;
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Vec::new());
            }
            self.store.backend.wait(&self.session, self.after, left)?;
        }
    }

    fn take(&mut self, rows: Vec<Row>) -> Result<Vec<StoredEntry>> {
        let mut entries = Vec::with_capacity(rows.len());
        for row in rows {
            let seq = row.seq;
            match row.decode() {
                Ok(entry) => entries.push(entry),
                // Entries before a damaged one are returned first; the next call reports the damage.
                Err(_) if !entries.is_empty() => break,
                Err(damage) => return Err(damage.into_error(&self.session)),
            }
            self.after = seq;
        }
        Ok(entries)
    }
}
