//! The methods that work on stored sessions, which are named by their whole ids: programs do not guess.

use serde::Serialize;
use tertulia_session::json::{FieldError, Kind, Object, Problem, RawValue, text};
use tertulia_session::record::EntryRecord;
use tertulia_session::{EntryId, Timestamp};
use tertulia_store::{
    Append, ListFilter, NewSession, ProjectScope, Range, SearchQuery, SessionId, StoreError,
};

use super::append::read_entries;
use super::{Answer, Params, count, named};
use crate::rpc::RpcServer;
use crate::rpc::error::RpcError;
use crate::session_record::{AppendedRecord, HitRecord, SessionRecord, VerifiedRecord};
use crate::to_json;

#[derive(Serialize)]
struct Found<'a> {
    hits: Vec<HitRecord<'a>>,
    more: bool,
}

impl RpcServer {
    pub(super) fn create_session(&mut self, params: &mut Params<'_>) -> Answer {
        let id = params.object.take_with("sessionId", text)?;
        let id = id.as_deref().map(session_id).transpose()?;
        // The folder that the caller names, else the one that the server works in.
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
                // Somebody was faster; the caller did not ask to hear of that.
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
        };
        let found = self.sessions.store()?.search(&query)?;
        let hits = found.hits.iter().map(HitRecord::from).collect();
        Ok(to_json(&Found { hits, more: found.more }))
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

    pub(super) fn verify(&mut self, params: &mut Params<'_>) -> Answer {
        let session = need_session(&mut params.object)?;
        let verified = self.sessions.store()?.verify(&session)?;
        Ok(to_json(&VerifiedRecord::new(&session, &verified)))
    }
}

/// The sessions of this project; of all without one.
fn scope(project: Option<String>) -> ProjectScope {
    project.map_or(ProjectScope::All, ProjectScope::Of)
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
