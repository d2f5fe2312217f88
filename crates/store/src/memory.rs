//! Stores sessions in memory, for tests and embedding. It is also the simplest reference implementation of a store.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tertulia_session::{ChainLink, EntryId};

use crate::backend::{
    Backend, BranchPoint, Candidates, Direction, Indexed, SessionStart, SessionStatus, State,
    UsageRow, newest_first,
};
use crate::clock::now_millis;
use crate::model::{Appended, ListFilter, SearchQuery, Seq, TokenCount};
use crate::plan::{Batch, Known, Tail, plan, purged_records};
use crate::row::{Encoding, Row, USAGE};
use crate::search::{AnyOf, COUNTED_MAX, Candidate, Frequencies, IndexQuery, index_terms, text_of};
use crate::{Result, SessionId, StoreError};

#[derive(Default)]
pub(crate) struct MemoryStore {
    sessions: Mutex<Sessions>,
    changed: Condvar,
}

#[derive(Default)]
struct Sessions {
    by_id: BTreeMap<SessionId, Session>,
    created: u64,
}

struct Session {
    /// The key of the session. Later sessions have larger keys.
    key: u64,
    state: State,
    created_at: i64,
    names_parents: bool,
    project: Option<String>,
    rows: Vec<Row>,
    positions: HashMap<EntryId, usize>,
    /// The search index: the sorted terms of each entry, from the first one on. The newest entries may be missing.
    terms: Vec<Vec<Box<str>>>,
}

impl MemoryStore {
    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sessions {
    fn get(&self, id: &SessionId) -> Result<&Session> {
        let session = self.by_id.get(id);
        session.ok_or_else(|| StoreError::SessionNotFound(id.clone()))
    }

    fn get_mut(&mut self, id: &SessionId) -> Result<&mut Session> {
        let session = self.by_id.get_mut(id);
        session.ok_or_else(|| StoreError::SessionNotFound(id.clone()))
    }
}

impl Session {
    fn status(&self, id: &SessionId) -> SessionStatus {
        let last = self.rows.last();
        SessionStatus {
            id: id.clone(),
            created_at: self.created_at,
            updated_at: last.map_or(self.created_at, |row| row.stored_at),
            seq: last.map_or(0, |row| row.seq),
            tail: last.map(|row| row.record.id.clone()),
            link: last.map_or(ChainLink::START, |row| row.link),
            project: self.project.clone(),
        }
    }

    fn known(&self, entry: &EntryId) -> Option<Known> {
        let row = self.positions.get(entry).and_then(|position| self.rows.get(*position))?;
        Some(Known { seq: row.seq, hash: row.record.hash })
    }

    fn append(&mut self, id: &SessionId, batch: Batch) -> Result<Appended> {
        let SessionStatus { seq, tail, link, .. } = self.status(id);
        let tail = Tail { seq, id: tail, link, names_parents: self.names_parents };
        let plan = plan(id, &tail, &batch, |entry| Ok(self.known(entry)))?;
        let mut records: Vec<_> = batch.records.into_iter().map(|one| Some(one.record)).collect();
        for planned in &plan.new {
            let Some(record) = records.get_mut(planned.index).and_then(Option::take) else {
                continue;
            };
            self.positions.insert(record.id.clone(), self.rows.len());
            self.rows.push(Row {
                seq: planned.seq,
                parent: planned.parent,
                stored_at: now_millis(),
                link: planned.link,
                record,
            });
        }
        self.names_parents = plan.tail.names_parents;
        if plan.redacts {
            self.purge();
        }
        Ok(plan.appended)
    }

    fn purge(&mut self) {
        for (seq, _, record) in purged_records(self.rows.clone()) {
            let position = usize::try_from(seq - 1).unwrap_or(usize::MAX);
            if let Some(row) = self.rows.get_mut(position) {
                row.record = record;
            }
            if let Some(terms) = self.terms.get_mut(position) {
                terms.clear();
            }
        }
    }

    /// Adds new entries to the search index. Purged and damaged entries have no terms.
    fn index(&mut self) {
        let new = self.rows.iter().skip(self.terms.len());
        self.terms.extend(new.map(|row| {
            let is_purged = row.record.encoding == Encoding::Purged;
            let stored = row.clone().decode().ok().filter(|_| !is_purged);
            let mut terms: Vec<Box<str>> = stored.map_or_else(Vec::new, |stored| {
                index_terms(&text_of(&stored.entry)).into_iter().map(String::into).collect()
            });
            terms.sort_unstable();
            terms
        }));
    }
}

impl Backend for MemoryStore {
    fn location(&self) -> String {
        "memory".to_owned()
    }

    fn create(&self, id: &SessionId, start: SessionStart, first: Batch) -> Result<()> {
        let SessionStart { created_at, state, project } = start;
        let mut sessions = self.sessions();
        if sessions.by_id.contains_key(id) {
            return Err(StoreError::SessionExists(id.clone()));
        }
        sessions.created += 1;
        let mut session = Session {
            key: sessions.created,
            state,
            created_at,
            names_parents: false,
            project,
            rows: Vec::new(),
            positions: HashMap::new(),
            terms: Vec::new(),
        };
        session.append(id, first)?;
        sessions.by_id.insert(id.clone(), session);
        Ok(())
    }

    fn set_project(&self, id: &SessionId, project: Option<&str>) -> Result<()> {
        self.sessions().get_mut(id)?.project = project.map(str::to_owned);
        Ok(())
    }

    fn append(&self, id: &SessionId, batch: Batch) -> Result<Appended> {
        let mut sessions = self.sessions();
        let appended = sessions.get_mut(id)?.append(id, batch)?;
        drop(sessions);
        self.changed.notify_all();
        Ok(appended)
    }

    fn status(&self, id: &SessionId) -> Result<SessionStatus> {
        let sessions = self.sessions();
        sessions.get(id).map(|session| session.status(id))
    }

    fn page(
        &self,
        id: &SessionId,
        direction: Direction,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<Row>> {
        let sessions = self.sessions();
        let rows = sessions.get(id)?.rows.iter();
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        Ok(match direction {
            Direction::Forward => rows.skip(from).take(limit).cloned().collect(),
            Direction::Backward => rows.take(from).rev().take(limit).cloned().collect(),
        })
    }

    fn branch_points(&self, id: &SessionId, from: Seq, limit: usize) -> Result<Vec<BranchPoint>> {
        let sessions = self.sessions();
        let until = usize::try_from(from).unwrap_or(usize::MAX);
        let points = sessions.get(id)?.rows.iter().take(until).rev().filter_map(|row| {
            let Row { seq, parent, .. } = *row;
            let is_task = &*row.record.type_name == BranchPoint::TASK;
            (is_task || parent != seq.checked_sub(1)).then_some(BranchPoint {
                seq,
                parent,
                is_task,
            })
        });
        Ok(points.take(limit).collect())
    }

    fn find(&self, id: &SessionId, entry: &EntryId) -> Result<Option<Seq>> {
        Ok(self.sessions().get(id)?.known(entry).map(|known| known.seq))
    }

    fn list(&self, filter: &ListFilter) -> Result<Vec<SessionStatus>> {
        let sessions = self.sessions();
        let open = sessions.by_id.iter().filter(|(_, session)| session.state == State::Open);
        let statuses = open.map(|(id, session)| (session.status(id), session.key));
        Ok(newest_first(statuses, filter))
    }

    fn usage(&self, since: i64, visit: &mut dyn FnMut(UsageRow)) -> Result<()> {
        let sessions = self.sessions();
        let open = sessions.by_id.iter().filter(|(_, session)| session.state == State::Open);
        let mut found: Vec<_> = open
            .flat_map(|(id, session)| session.rows.iter().map(move |row| (id, session, row)))
            .filter(|(_, _, row)| &*row.record.type_name == USAGE && row.time() >= since)
            .map(|(id, session, row)| {
                let (session_id, project) = (id.clone(), session.project.clone());
                (session.key, UsageRow { session: session_id, project, row: row.clone() })
            })
            .collect();
        found.sort_by_key(|(key, usage)| (usage.row.time(), *key, usage.row.seq));
        found.into_iter().for_each(|(_, usage)| visit(usage));
        Ok(())
    }

    fn publish(&self, sessions: &[(SessionId, SessionId)]) -> Result<()> {
        let mut stored = self.sessions();
        let taken = sessions.iter().find(|(_, id)| stored.by_id.contains_key(id));
        if let Some((_, id)) = taken {
            return Err(StoreError::SessionExists(id.clone()));
        }
        for (imported, id) in sessions {
            let missing = || StoreError::SessionNotFound(imported.clone());
            let mut session = stored.by_id.remove(imported).ok_or_else(missing)?;
            session.state = State::Open;
            stored.by_id.insert(id.clone(), session);
        }
        Ok(())
    }

    fn delete(&self, id: &SessionId) -> Result<()> {
        let removed = self.sessions().by_id.remove(id);
        self.changed.notify_all();
        removed.map(|_| ()).ok_or_else(|| StoreError::SessionNotFound(id.clone()))
    }

    fn store_token_counts(&self, id: &SessionId, counts: &[(EntryId, TokenCount)]) -> Result<()> {
        let mut sessions = self.sessions();
        let session = sessions.get_mut(id)?;
        for (entry, count) in counts {
            let position = session.positions.get(entry).copied();
            if let Some(row) = position.and_then(|position| session.rows.get_mut(position))
                && row.record.encoding != Encoding::Purged
            {
                row.record.count = Some(count.clone());
            }
        }
        Ok(())
    }

    fn index_some(&self, _limit: usize) -> Result<Indexed> {
        self.sessions().by_id.values_mut().for_each(Session::index);
        Ok(Indexed::default())
    }

    fn frequencies(&self, terms: &[AnyOf]) -> Result<Frequencies> {
        let sessions = self.sessions();
        let open = || sessions.by_id.values().filter(|session| session.state == State::Open);
        let with_terms = terms.iter().map(|forms| {
            let index_query = IndexQuery { all: vec![forms.clone()], ..IndexQuery::default() };
            let entries = open().flat_map(|session| &session.terms);
            let limit = usize::try_from(COUNTED_MAX).unwrap_or(usize::MAX);
            entries.filter(|terms| index_query.is_in(terms)).take(limit).count() as u64
        });
        let entries = open().map(|session| session.terms.len() as u64).sum();
        Ok(Frequencies { entries, with_terms: with_terms.collect() })
    }

    fn candidates(
        &self,
        index_query: &IndexQuery,
        query: &SearchQuery,
        limit: usize,
    ) -> Result<Candidates> {
        let stored = self.sessions();
        let mut sessions: Vec<_> =
            stored.by_id.iter().filter(|(_, session)| session.state == State::Open).collect();
        sessions.retain(|(id, _)| query.session.as_ref().is_none_or(|only| only == *id));
        sessions.retain(|(id, _)| query.except_session.as_ref() != Some(*id));
        sessions.retain(|(_, session)| query.project.matches(session.project.as_deref()));
        sessions.sort_by_key(|(_, session)| std::cmp::Reverse(session.key));
        let mut found = Vec::new();
        for (id, session) in sessions {
            let rows = session.rows.iter().zip(&session.terms).rev();
            for (row, _) in
                rows.filter(|(row, terms)| query.matches(&row.record) && index_query.is_in(terms))
            {
                if found.len() == limit {
                    return Ok(Candidates { found, more: true });
                }
                found.extend(Candidate::from_row(id.clone(), row.clone()));
            }
        }
        Ok(Candidates { found, more: false })
    }

    fn wait(&self, id: &SessionId, after: Seq, timeout: Duration) -> Result<()> {
        let sessions = self.sessions();
        let nothing_new = |sessions: &mut Sessions| match sessions.by_id.get(id) {
            Some(session) => session.rows.len() as u64 <= after,
            None => false,
        };
        let waited = self.changed.wait_timeout_while(sessions, timeout, nothing_new);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        Ok(())
    }
}
