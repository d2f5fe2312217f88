//! Sessions in memory: for tests, for embedding, and as the plainest picture of what a store does.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tertulia_session::{ChainLink, EntryId};

use crate::backend::{
    Backend, Begun, Candidates, Head, Indexed, Landmark, State, Way, newest_first,
};
use crate::clock::now_millis;
use crate::model::{Appended, ListFilter, SearchQuery, Seq, TokenCount};
use crate::plan::{Batch, Known, Tail, plan, what_is_left};
use crate::row::{Encoding, Row};
use crate::search::{AnyOf, COUNTED_MAX, Candidate, Frequencies, Wanted, index_terms, text_of};
use crate::{Result, SessionId, StoreError};

#[derive(Default)]
pub(crate) struct MemoryStore {
    kept: Mutex<Kept>,
    changed: Condvar,
}

#[derive(Default)]
struct Kept {
    sessions: BTreeMap<SessionId, Session>,
    created: u64,
}

struct Session {
    /// The later it was begun, the higher.
    key: u64,
    state: State,
    created_at: i64,
    names_parents: bool,
    project: Option<String>,
    rows: Vec<Row>,
    places: HashMap<EntryId, usize>,
    /// The terms of the first entries, ascending: the search index.
    terms: Vec<Vec<Box<str>>>,
}

impl MemoryStore {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn get(&self, id: &SessionId) -> Result<&Session> {
        let session = self.sessions.get(id);
        session.ok_or_else(|| StoreError::SessionNotFound(id.clone()))
    }

    fn get_mut(&mut self, id: &SessionId) -> Result<&mut Session> {
        let session = self.sessions.get_mut(id);
        session.ok_or_else(|| StoreError::SessionNotFound(id.clone()))
    }
}

impl Session {
    fn head(&self, id: &SessionId) -> Head {
        let last = self.rows.last();
        Head {
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
        let row = self.places.get(entry).and_then(|place| self.rows.get(*place))?;
        Some(Known { seq: row.seq, hash: row.record.hash })
    }

    fn append(&mut self, id: &SessionId, batch: Batch) -> Result<Appended> {
        let Head { seq, tail, link, .. } = self.head(id);
        let tail = Tail { seq, id: tail, link, names_parents: self.names_parents };
        let plan = plan(id, &tail, &batch, |entry| Ok(self.known(entry)))?;
        let mut records: Vec<_> = batch.records.into_iter().map(|one| Some(one.record)).collect();
        for placed in &plan.new {
            let Some(record) = records.get_mut(placed.index).and_then(Option::take) else {
                continue;
            };
            self.places.insert(record.id.clone(), self.rows.len());
            self.rows.push(Row {
                seq: placed.seq,
                parent: placed.parent,
                stored_at: now_millis(),
                link: placed.link,
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
        for (seq, _, record) in what_is_left(self.rows.clone()) {
            let place = usize::try_from(seq - 1).unwrap_or(usize::MAX);
            if let Some(row) = self.rows.get_mut(place) {
                row.record = record;
            }
            if let Some(terms) = self.terms.get_mut(place) {
                terms.clear();
            }
        }
    }

    /// Takes what is new into the search index. A purged or damaged entry has no terms.
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
    fn place(&self) -> String {
        "memory".to_owned()
    }

    fn create(&self, id: &SessionId, begun: Begun, first: Batch) -> Result<()> {
        let Begun { created_at, state, project } = begun;
        let mut kept = self.kept();
        if kept.sessions.contains_key(id) {
            return Err(StoreError::SessionExists(id.clone()));
        }
        kept.created += 1;
        let mut session = Session {
            key: kept.created,
            state,
            created_at,
            names_parents: false,
            project,
            rows: Vec::new(),
            places: HashMap::new(),
            terms: Vec::new(),
        };
        session.append(id, first)?;
        kept.sessions.insert(id.clone(), session);
        Ok(())
    }

    fn set_project(&self, id: &SessionId, project: Option<&str>) -> Result<()> {
        self.kept().get_mut(id)?.project = project.map(str::to_owned);
        Ok(())
    }

    fn append(&self, id: &SessionId, batch: Batch) -> Result<Appended> {
        let mut kept = self.kept();
        let appended = kept.get_mut(id)?.append(id, batch)?;
        drop(kept);
        self.changed.notify_all();
        Ok(appended)
    }

    fn head(&self, id: &SessionId) -> Result<Head> {
        let kept = self.kept();
        kept.get(id).map(|session| session.head(id))
    }

    fn page(&self, id: &SessionId, way: Way, from: Seq, limit: usize) -> Result<Vec<Row>> {
        let kept = self.kept();
        let rows = kept.get(id)?.rows.iter();
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        Ok(match way {
            Way::Forth => rows.skip(from).take(limit).cloned().collect(),
            Way::Back => rows.take(from).rev().take(limit).cloned().collect(),
        })
    }

    fn landmarks(&self, id: &SessionId, from: Seq, limit: usize) -> Result<Vec<Landmark>> {
        let kept = self.kept();
        let wanted = usize::try_from(from).unwrap_or(usize::MAX);
        let marks = kept.get(id)?.rows.iter().take(wanted).rev().filter_map(|row| {
            let Row { seq, parent, .. } = *row;
            let is_task = &*row.record.type_name == Landmark::TASK;
            (is_task || parent != seq.checked_sub(1)).then_some(Landmark { seq, parent, is_task })
        });
        Ok(marks.take(limit).collect())
    }

    fn find(&self, id: &SessionId, entry: &EntryId) -> Result<Option<Seq>> {
        Ok(self.kept().get(id)?.known(entry).map(|known| known.seq))
    }

    fn heads(&self, filter: &ListFilter) -> Result<Vec<Head>> {
        let kept = self.kept();
        let open = kept.sessions.iter().filter(|(_, session)| session.state == State::Open);
        let heads = open.map(|(id, session)| (session.head(id), session.key));
        Ok(newest_first(heads, filter))
    }

    fn publish(&self, sessions: &[(SessionId, SessionId)]) -> Result<()> {
        let mut kept = self.kept();
        let taken = sessions.iter().find(|(_, id)| kept.sessions.contains_key(id));
        if let Some((_, id)) = taken {
            return Err(StoreError::SessionExists(id.clone()));
        }
        for (imported, id) in sessions {
            let missing = || StoreError::SessionNotFound(imported.clone());
            let mut session = kept.sessions.remove(imported).ok_or_else(missing)?;
            session.state = State::Open;
            kept.sessions.insert(id.clone(), session);
        }
        Ok(())
    }

    fn delete(&self, id: &SessionId) -> Result<()> {
        let removed = self.kept().sessions.remove(id);
        self.changed.notify_all();
        removed.map(|_| ()).ok_or_else(|| StoreError::SessionNotFound(id.clone()))
    }

    fn know_counts(&self, id: &SessionId, counts: &[(EntryId, TokenCount)]) -> Result<()> {
        let mut kept = self.kept();
        let session = kept.get_mut(id)?;
        for (entry, count) in counts {
            let place = session.places.get(entry).copied();
            if let Some(row) = place.and_then(|place| session.rows.get_mut(place))
                && row.record.encoding != Encoding::Purged
            {
                row.record.count = Some(count.clone());
            }
        }
        Ok(())
    }

    fn index_some(&self, _limit: usize) -> Result<Indexed> {
        self.kept().sessions.values_mut().for_each(Session::index);
        Ok(Indexed::default())
    }

    fn frequencies(&self, terms: &[AnyOf]) -> Result<Frequencies> {
        let kept = self.kept();
        let open = || kept.sessions.values().filter(|session| session.state == State::Open);
        let with_terms = terms.iter().map(|forms| {
            let wanted = Wanted { all: vec![forms.clone()], ..Wanted::default() };
            let entries = open().flat_map(|session| &session.terms);
            let limit = usize::try_from(COUNTED_MAX).unwrap_or(usize::MAX);
            entries.filter(|terms| wanted.is_in(terms)).take(limit).count() as u64
        });
        let entries = open().map(|session| session.terms.len() as u64).sum();
        Ok(Frequencies { entries, with_terms: with_terms.collect() })
    }

    fn candidates(&self, wanted: &Wanted, query: &SearchQuery, limit: usize) -> Result<Candidates> {
        let kept = self.kept();
        let mut sessions: Vec<_> =
            kept.sessions.iter().filter(|(_, session)| session.state == State::Open).collect();
        sessions.retain(|(id, _)| query.session.as_ref().is_none_or(|wanted| wanted == *id));
        sessions.retain(|(id, _)| query.except_session.as_ref() != Some(*id));
        sessions.retain(|(_, session)| query.project.takes(session.project.as_deref()));
        sessions.sort_by_key(|(_, session)| std::cmp::Reverse(session.key));
        let mut found = Vec::new();
        for (id, session) in sessions {
            let rows = session.rows.iter().zip(&session.terms).rev();
            for (row, _) in
                rows.filter(|(row, terms)| query.takes(&row.record) && wanted.is_in(terms))
            {
                if found.len() == limit {
                    return Ok(Candidates { found, more: true });
                }
                found.extend(Candidate::of(id.clone(), row.clone()));
            }
        }
        Ok(Candidates { found, more: false })
    }

    fn wait(&self, id: &SessionId, after: Seq, timeout: Duration) -> Result<()> {
        let kept = self.kept();
        let nothing_new = |kept: &mut Kept| match kept.sessions.get(id) {
            Some(session) => session.rows.len() as u64 <= after,
            None => false,
        };
        let waited = self.changed.wait_timeout_while(kept, timeout, nothing_new);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        Ok(())
    }
}
