//! Reading a session: the entries of a range, a page at a time, the outline of a branch, and new entries as they
//! land. A branch is walked by the numbers of parents, so only its own entries are kept.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use tertulia_session::EntryId;

use crate::backend::Way;
use crate::model::{Range, Seq, StoredEntry};
use crate::row::Row;
use crate::{Problem, Result, SessionId, SessionStore, StoreError};

/// How many entries are read at once, at most; fewer where they are large would cost more calls.
const PAGE: usize = 256;

/// How many landmarks are read at once: most sessions have a handful.
const LANDMARKS: usize = 64;

const OUTLINE_PAGE: usize = 1 << 16;

/// The entries of a range, oldest first. Ends after the first error, so what comes before a damaged
/// entry can be read.
pub struct Entries<'s> {
    store: &'s SessionStore,
    session: SessionId,
    page: VecDeque<Row>,
    after: Seq,
    /// The newest entry when the reading began; what lands later is not part of it.
    last: Seq,
}

impl SessionStore {
    /// The entries of a range, oldest first, read as they are taken: constant memory, but for
    /// branches, whose entries are collected first.
    pub fn entries(&self, session: &SessionId, range: &Range) -> Result<Entries<'_>> {
        let head = self.backend.head(session)?;
        let (page, after) = match range {
            Range::All => (VecDeque::new(), 0),
            Range::From(entry) => (VecDeque::new(), self.place_of(session, entry)? - 1),
            Range::Tail(count) => {
                let count = Seq::try_from(*count).unwrap_or(Seq::MAX);
                (VecDeque::new(), head.seq.saturating_sub(count))
            }
            Range::Branch { tail, limit } => {
                let from = match tail {
                    Some(tail) => self.place_of(session, tail)?,
                    None => head.seq,
                };
                (walk(self, session, from, limit.unwrap_or(usize::MAX))?, head.seq)
            }
            Range::Numbers(numbers) => (pick(self, session, numbers)?, head.seq),
        };
        Ok(Entries { store: self, session: session.clone(), page, after, last: head.seq })
    }
}

impl Entries<'_> {
    /// The entries of a branch that was opened, as they are stored.
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
            // What was before the gap is handed over first.
            if row.seq != self.after + 1 {
                break;
            }
            self.after = row.seq;
            self.page.push_back(row);
        }
        if self.page.is_empty() {
            // A session that was deleted meanwhile is said to be gone, not damaged.
            self.store.backend.head(&self.session)?;
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
        let page = store.backend.page(session, Way::Back, from, PAGE.min(limit - branch.len()))?;
        let before = branch.len();
        for row in page {
            // Entries of other branches lie between those of this one.
            if Some(row.seq) != next || branch.len() >= limit {
                continue;
            }
            // A parent is always an earlier entry, so the walk ends.
            next = row.parent.filter(|parent| *parent < row.seq);
            branch.push_front(row);
        }
        if branch.len() == before {
            return Err(missing(session, from));
        }
    }
    Ok(branch)
}

/// The entries with these numbers, which ascend: those that stand side by side are read together.
fn pick(store: &SessionStore, session: &SessionId, numbers: &[Seq]) -> Result<VecDeque<Row>> {
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

/// The number of the newest task of the team on the branch that ends here.
pub(crate) fn task_before(
    store: &SessionStore,
    session: &SessionId,
    from: Seq,
) -> Result<Option<Seq>> {
    let mut next = from;
    loop {
        let marks = store.backend.landmarks(session, next, LANDMARKS)?;
        let is_last = marks.len() < LANDMARKS;
        for mark in marks {
            // Landmarks of other branches lie between those of this one.
            if mark.seq > next {
                continue;
            }
            if mark.is_task {
                return Ok(Some(mark.seq));
            }
            match mark.parent.filter(|parent| *parent < mark.seq) {
                Some(parent) => next = parent,
                None => return Ok(None),
            }
        }
        if is_last {
            return Ok(None);
        }
    }
}

fn missing(session: &SessionId, place: Seq) -> StoreError {
    let reason = "it is not there".to_owned();
    StoreError::unreadable(session, Problem::Damaged { place, entry: None, reason })
}

/// The entries of the branch that ends in the newest one, oldest first, without their records. Whoever opens a long
/// session reads it first, and then the entries that are needed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    pub entries: Vec<OutlineEntry>,
}

/// An entry of an outline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlineEntry {
    pub number: Seq,
    pub id: EntryId,
    /// Its type; of one that was purged, the type that it had.
    pub type_name: Box<str>,
}

impl Outline {
    /// Reads the outline of a session.
    pub fn read(store: &SessionStore, session: &SessionId) -> Result<Self> {
        let last = store.backend.head(session)?.seq;
        let (mut all, mut after) = (Vec::new(), 0);
        while after < last {
            let page = store.backend.briefs(session, after, OUTLINE_PAGE)?;
            let end = page.last().map(|(last, _)| last.number).filter(|end| *end > after);
            after = end.ok_or_else(|| missing(session, after + 1))?;
            all.extend(page);
        }
        let mut entries = Vec::with_capacity(all.len());
        let mut next = Some(last).filter(|seq| *seq > 0);
        for (entry, parent) in all.into_iter().rev() {
            // Entries of other branches lie between those of this one.
            if Some(entry.number) == next {
                next = parent.filter(|parent| *parent < entry.number);
                entries.push(entry);
            }
        }
        entries.reverse();
        match next {
            Some(place) => Err(missing(session, place)),
            None => Ok(Self { entries }),
        }
    }
}

/// New entries of a session, whoever appends them: a thread of this process, another process, or another machine.
/// None is left out and none comes twice.
pub struct Follow {
    pub(crate) store: SessionStore,
    pub(crate) session: SessionId,
    pub(crate) after: Seq,
}

impl Follow {
    /// The number of the last entry that was handed over.
    pub fn seen(&self) -> Seq {
        self.after
    }

    /// The entries that landed since; waits for some if there are none, at most so long. Empty if
    /// nothing came.
    pub fn next(&mut self, timeout: Duration) -> Result<Vec<StoredEntry>> {
        let deadline = Instant::now() + timeout;
        loop {
            let rows = self.store.backend.rows(&self.session, self.after, PAGE)?;
            if !rows.is_empty() {
                return self.take(rows);
            }
            // A session that was deleted has no more entries either; say so instead of waiting.
            self.store.backend.head(&self.session)?;
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
                // What is before the damage is handed over first; the next call says what is wrong.
                Err(_) if !entries.is_empty() => break,
                Err(damage) => return Err(damage.into_error(&self.session)),
            }
            self.after = seq;
        }
        Ok(entries)
    }
}
