//! The methods that work on stored sessions. Sessions are named by their complete ids, because programs need no short
//! names.

use serde::Serialize;
use tertulia_session::json::{
    self, FieldError, Json, Kind, Object, Problem, RawValue, elements, text,
};
use tertulia_session::record::{EntryReadError, EntryRecord, read_entry};
use tertulia_session::{Entry, EntryId, Timestamp};
use tertulia_store::{
    Append, ListFilter, NewSession, ProjectScope, Range, SearchQuery, SearchResult, SessionId,
    SessionStore, StoreError, StoreUrl, fresh_salt,
};
use tertulia_team::Prices;

use super::{Answer, Params, count, named};
use crate::cost::{CostBy, CostQuery, CostReport};
use crate::rpc::RpcServer;
use crate::rpc::error::RpcError;
use crate::session_record::{AppendedRecord, HitRecord, SessionRecord, VerifiedRecord};
use crate::stored_log::StoredLog;
use crate::to_json;

/// Maximum number of logs in memory. The least recently used one is removed first.
const LOGS_KEPT: usize = 8;

/// The store, and the logs of the sessions from which contexts were built. The store is opened when a method needs
/// it. With the logs, the next build reads only new entries.
pub(in crate::rpc) struct Sessions {
    /// The store's URL, or the error for methods that need a store.
    url: Result<StoreUrl, String>,
    store: Option<SessionStore>,
    /// The logs. The most recently used one is the last.
    kept: Vec<(SessionId, StoredLog)>,
}

impl Sessions {
    pub(in crate::rpc) fn new(url: Result<StoreUrl, String>) -> Self {
        Self { url, store: None, kept: Vec::new() }
    }

    fn store(&mut self) -> Result<SessionStore, StoreError> {
        if let Some(store) = &self.store {
            return Ok(store.clone());
        }
        let url = self.url.as_ref().map_err(|why| {
            let problem = tertulia_store::Problem::Database(why.clone());
            StoreError::SessionReadFailed { session: None, problem }
        })?;
        let store = SessionStore::open(url)?;
        self.store = Some(store.clone());
        Ok(store)
    }

    /// Calls a function with the current log of a session.
    pub(super) fn with_log<T>(
        &mut self,
        session: &SessionId,
        work: impl FnOnce(&mut StoredLog) -> T,
    ) -> Result<T, StoreError> {
        let store = self.store()?;
        // The log is removed while it is updated, so that one that can no longer be read is not kept.
        let kept = self.kept.iter().position(|(id, _)| id == session);
        let (mut log, is_new) = match kept.map(|index| self.kept.remove(index)) {
            Some((_, mut log)) => {
                log.catch_up(&store)?;
                (log, false)
            }
            None => (StoredLog::load(&store, session)?, true),
        };
        let done = work(&mut log);
        // Counts are stored only once, because this reads every entry. Counts of later entries stay in memory with
        // the log.
        if is_new && let Err(error) = log.store_counts(&store) {
            tracing::debug!("the counts of tokens were not stored: {error}");
        }
        if self.kept.len() >= LOGS_KEPT {
            self.kept.remove(0);
        }
        self.kept.push((session.clone(), log));
        Ok(done)
    }
}

#[derive(Serialize)]
struct Found<'a> {
    hits: Vec<HitRecord<'a>>,
    more: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    partial: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    ignored: Option<&'a [Box<str>]>,
}

impl RpcServer {
    pub(super) fn create_session(&mut self, params: &mut Params<'_>) -> Answer {
        let id = params.object.take_with("sessionId", text)?;
        let id = id.as_deref().map(session_id).transpose()?;
        // The project is the folder that the caller names, or otherwise the folder in which the server works.
        let project = params.object.take_text("project")?.or_else(self.project);
        let info = self.sessions.store()?.create_in(&NewSession { id }, project.as_deref())?;
        Ok(named("sessionId", info.id.as_str()))
    }

    pub(super) fn append(&mut self, params: &mut Params<'_>) -> Answer {
        let session = need_session(&mut params.object)?;
        let expected_tail = take_entry(&mut params.object, "expectedTailEntryId")?;
        let raw = params.object.need("entries", "a list of entries")?;
        let store = self.sessions.store()?;
        let drafts = read_entries(raw)?;
        let appended = loop {
            let (entries, tail) = drafts.chained(&store, &session, expected_tail.as_ref())?;
            let is_callers = expected_tail.is_some();
            let expected_tail = expected_tail.clone().or(tail);
            match store.append(&session, Append { expected_tail, ..Append::new(entries) }) {
                // Another process was faster. The caller did not ask to be told about that.
                Err(StoreError::SessionConcurrentWrite { .. }) if !is_callers => {}
                appended => break appended?,
            }
        };
        Ok(to_json(&AppendedRecord::new(None, &appended)))
    }

    pub(super) fn load(&mut self, params: &mut Params<'_>) -> Answer {
        let session = need_session(&mut params.object)?;
        let range = read_range(&mut params.object)?;
        let entries = self.sessions.store()?.load(&session, &range)?;
        let entries = entries.iter().map(|stored| EntryRecord::new(&stored.entry));
        Ok(named("entries", entries.collect::<Vec<_>>()))
    }

    pub(super) fn branch(&mut self, params: &mut Params<'_>) -> Answer {
        let session = need_session(&mut params.object)?;
        let entry = EntryId::from(params.object.need_text("entryId")?);
        let into = params.object.take_with("into", text)?;
        let store = self.sessions.store()?;
        if let Some(into) = into {
            let new = NewSession { id: Some(session_id(&into)?) };
            let made = store.fork(&session, &entry, &new)?;
            return Ok(to_json(&SessionRecord::from(&made)));
        }
        let appended = store.branch(&session, &entry)?;
        Ok(to_json(&AppendedRecord::new(Some(&session), &appended)))
    }

    pub(super) fn redact(&mut self, params: &mut Params<'_>) -> Answer {
        let session = need_session(&mut params.object)?;
        let entry = EntryId::from(params.object.need_text("entryId")?);
        let reason = params.object.take_text("reason")?;
        let appended = self.sessions.store()?.redact(&session, &entry, reason.as_deref())?;
        Ok(to_json(&AppendedRecord::new(Some(&session), &appended)))
    }

    pub(super) fn search(&mut self, params: &mut Params<'_>) -> Answer {
        let object = &mut params.object;
        let session = object.take_with("sessionId", text)?;
        let query = SearchQuery {
            text: object.need_text("query")?,
            session: session.as_deref().map(session_id).transpose()?,
            speaker: object.take_text("speaker")?,
            type_name: object.take_text("type")?,
            since: object.take_with("since", moment)?,
            until: object.take_with("until", moment)?,
            limit: object.take_with("limit", count)?,
            project: scope(object.take_text("project")?),
            ..SearchQuery::default()
        };
        let explain = object.take_with("explain", json::boolean)?.unwrap_or_default();
        let SearchResult { hits, more, is_partial, ignored } =
            self.sessions.store()?.search(&query)?;
        let record = |hit| match explain {
            true => HitRecord::explained(hit),
            false => HitRecord::from(hit),
        };
        let hits = hits.iter().map(record).collect();
        let ignored = explain.then_some(ignored.as_slice());
        Ok(to_json(&Found { hits, more, partial: is_partial, ignored }))
    }

    pub(super) fn list_sessions(&mut self, params: &mut Params<'_>) -> Answer {
        let object = &mut params.object;
        let filter = ListFilter {
            id_prefix: object.take_text("prefix")?,
            since: object.take_with("since", moment)?,
            until: object.take_with("until", moment)?,
            limit: object.take_with("limit", count)?,
            project: scope(object.take_text("project")?),
        };
        let sessions = self.sessions.store()?.list(&filter)?;
        Ok(named("sessions", sessions.iter().map(SessionRecord::from).collect::<Vec<_>>()))
    }

    pub(super) fn get_cost(&mut self, params: &mut Params<'_>) -> Answer {
        let object = &mut params.object;
        let query = CostQuery {
            by: object.take_with("by", cost_by)?.unwrap_or_default(),
            since: object.take_with("since", moment)?,
            session: object.take_with("sessionId", text)?.map(|id| session_id(&id)).transpose()?,
            project: scope(object.take_text("project")?),
        };
        let store = self.sessions.store()?;
        // The server does not know the time zone of its caller.
        let day_of = |time: &Timestamp| time.to_iso().chars().take(10).collect();
        Ok(CostReport::read(&store, &query, &Prices::default(), day_of)?.to_json())
    }

    pub(super) fn verify(&mut self, params: &mut Params<'_>) -> Answer {
        let session = need_session(&mut params.object)?;
        let verified = self.sessions.store()?.verify(&session)?;
        Ok(to_json(&VerifiedRecord::new(&session, &verified)))
    }
}

fn cost_by(raw: &RawValue) -> Result<CostBy, FieldError> {
    let got = text(raw)?;
    let allowed = "day, session, member, agent, model or project";
    CostBy::named(&got).ok_or_else(|| FieldError::new(Problem::NotOneOf { allowed, got }))
}

fn scope(project: Option<String>) -> ProjectScope {
    project.map_or(ProjectScope::All, ProjectScope::Project)
}

fn need_session(object: &mut Object<'_>) -> Result<SessionId, RpcError> {
    session_id(&object.need_text("sessionId")?)
}

pub(super) fn session_id(text: &str) -> Result<SessionId, RpcError> {
    Ok(text.parse::<SessionId>().map_err(StoreError::from)?)
}

fn take_entry(object: &mut Object<'_>, name: &'static str) -> Result<Option<EntryId>, FieldError> {
    Ok(object.take_text(name)?.map(EntryId::from))
}

fn read_range(object: &mut Object<'_>) -> Result<Range, FieldError> {
    let tail = object.take_with("tail", count)?;
    let from = take_entry(object, "from")?;
    let branch = take_entry(object, "branch")?;
    let excludes = |name, other| Err(FieldError::new(Problem::Excludes { other }).within(name));
    match (branch, from, tail) {
        (Some(_), Some(_), _) => excludes("from", "branch"),
        (None, Some(_), Some(_)) => excludes("from", "tail"),
        (Some(branch), None, limit) => Ok(Range::Branch { tail: Some(branch), limit }),
        (None, Some(from), None) => Ok(Range::From(from)),
        (None, None, Some(count)) => Ok(Range::Tail(count)),
        (None, None, None) => Ok(Range::All),
    }
}

fn moment(raw: &RawValue) -> Result<Timestamp, FieldError> {
    let expected = "milliseconds since 1970, or a date with its offset";
    let read = match Kind::from(raw) {
        Kind::Number => raw.get().parse().ok().map(Timestamp::from_millis),
        Kind::String => text(raw)?.parse::<Timestamp>().ok(),
        _ => None,
    };
    read.ok_or_else(|| FieldError::wrong_kind(expected, raw))
}

/// Entries from callers. Their ids and parents may be missing, and are determined here.
struct Drafts(Vec<Draft>);

struct Draft {
    entry: Entry,
    has_id: bool,
}

/// Reads a list of entries. An entry without `id` gets its id when its parent is determined.
fn read_entries(raw: &RawValue) -> Result<Drafts, RpcError> {
    let list = elements(raw).map_err(|error| error.within("entries"))?;
    let read = |(index, raw)| read_draft(raw).map_err(|error| wrong_entry(index, error));
    list.into_iter().enumerate().map(read).collect::<Result<_, _>>().map(Drafts)
}

fn wrong_entry(index: usize, error: EntryReadError) -> RpcError {
    let path = format!("entries[{index}]");
    match error {
        EntryReadError::Nameless(cause) => cause.within(&path).into(),
        // The entry has no id that the error could contain.
        EntryReadError::Field { entry, cause } if entry.as_str().is_empty() => {
            cause.within(&path).into()
        }
        other => RpcError::invalid_params(format!("{path}: {other}")),
    }
}

fn read_draft(raw: &RawValue) -> Result<Draft, EntryReadError> {
    let object = Object::try_from(raw).map_err(EntryReadError::Nameless)?;
    let fields: Vec<_> = object.into_fields().collect();
    let is_nameless =
        fields.iter().rev().find(|(name, _)| name == "id").is_none_or(|(_, id)| id.get() == "null");
    if !is_nameless {
        return Ok(Draft { entry: read_entry(raw)?, has_id: true });
    }
    let mut text = String::from(r#"{"id":"""#);
    for (name, value) in fields.iter().filter(|(name, _)| name != "id") {
        text.push_str(&format!(",{}:{}", Json::text(name).as_str(), value.get()));
    }
    text.push('}');
    // The pieces are JSON, so the whole text is JSON, and the fallback is never needed.
    let raw = json::parse(&text).unwrap_or(raw);
    Ok(Draft { entry: read_entry(raw)?, has_id: false })
}

impl Drafts {
    /// Returns the entries with ids and parents.
    ///
    /// - An entry without `id` follows the previous one in the list. The first one follows the expected tail, or
    ///   otherwise the newest entry of the session. Its id is derived from its content.
    /// - An entry with `id` and without `parentId` stays unchanged, unless entries of the session name their parents.
    ///   In such a session it would start a new branch, so it follows the previous one too. If it is stored already,
    ///   it keeps its stored parent, so that sending it again has no effect.
    ///
    /// Also returns the tail on which the entries depend, if they depend on one. It must still be the newest entry
    /// when they are stored; otherwise their parents have to be determined again.
    fn chained(
        &self,
        store: &SessionStore,
        session: &SessionId,
        expected: Option<&EntryId>,
    ) -> Result<(Vec<Entry>, Option<EntryId>), StoreError> {
        let target = Target { store, session };
        let needs_end = self.0.iter().any(|draft| draft.entry.parent_id.is_none());
        let (end, mut names_parents) = if needs_end { target.end()? } else { (None, false) };
        let tail = expected.cloned().or(end);
        let mut last = tail.clone();
        let mut counts_on = None;
        let mut entries = Vec::with_capacity(self.0.len());
        for Draft { entry, has_id } in &self.0 {
            let mut entry = entry.clone();
            if entry.parent_id.is_none() && (!has_id || names_parents) {
                let stored = if *has_id { target.stored_parent(&entry.id)? } else { None };
                entry.parent_id = stored.unwrap_or_else(|| last.clone());
                if entry.parent_id == tail {
                    counts_on = tail.clone();
                }
            }
            if !has_id {
                let before = if expected.is_some() { target.sent_before(&entry)? } else { None };
                match before {
                    Some(stored) => entry = stored,
                    None => {
                        entry.salt = entry.salt.or_else(|| Some(fresh_salt()));
                        entry.id = entry.content_id();
                    }
                }
            }
            names_parents |= entry.parent_id.is_some();
            last = Some(entry.id.clone());
            entries.push(entry);
        }
        Ok((entries, counts_on))
    }
}

struct Target<'a> {
    store: &'a SessionStore,
    session: &'a SessionId,
}

impl Target<'_> {
    /// Returns the newest entry, and whether the entries of the session name their parents.
    fn end(&self) -> Result<(Option<EntryId>, bool), StoreError> {
        let Some(last) = self.store.load(self.session, &Range::Tail(1))?.pop() else {
            return Ok((None, false));
        };
        // An entry without a parent follows the previous one only if no entry has named a parent so far.
        let starts_branch = last.parent.is_none() && last.seq > 1;
        let names_parents = last.entry.parent_id.is_some() || starts_branch;
        Ok((Some(last.entry.id), names_parents))
    }

    /// Returns the stored entry that equals this entry without an id and has the same parent. It exists if the caller
    /// sends an entry again because the first response was lost. Only called if the caller names the expected tail.
    fn sent_before(&self, entry: &Entry) -> Result<Option<Entry>, StoreError> {
        let Some(parent) = &entry.parent_id else { return Ok(None) };
        let mut from = match self.store.entries(self.session, &Range::From(parent.clone())) {
            Err(StoreError::EntryNotFound { .. }) => return Ok(None),
            from => from?,
        };
        let Some(stored) = from.nth(1).transpose()? else { return Ok(None) };
        let same = Entry { id: stored.entry.id.clone(), ..entry.clone() };
        Ok(same.repeats(&stored.entry).then_some(stored.entry))
    }

    /// Returns the parent of an entry that is stored already; `None` if it is not.
    fn stored_parent(&self, entry: &EntryId) -> Result<Option<Option<EntryId>>, StoreError> {
        match self.store.entry(self.session, entry) {
            Ok(stored) => Ok(Some(stored.entry.parent_id)),
            Err(StoreError::EntryNotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
