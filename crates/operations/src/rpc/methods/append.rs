//! Entries as callers hand them in: an id and a parent may be left out, and are found here. Reads the end of
//! the session for that; what is stored, and whether, the store decides.

use tertulia_session::json::{Json, Object, RawValue, elements};
use tertulia_session::record::{EntryReadError, read_entry};
use tertulia_session::{Entry, EntryId};
use tertulia_store::{Range, SessionId, SessionStore, StoreError, fresh_salt};

use crate::rpc::error::RpcError;

/// Entries that were read.
pub(super) struct Drafts(Vec<Draft>);

struct Draft {
    entry: Entry,
    has_id: bool,
}

/// Reads a list of entries; one without `id` gets its id when it is chained.
pub(super) fn read_entries(raw: &RawValue) -> Result<Drafts, RpcError> {
    let list = elements(raw).map_err(|error| error.within("entries"))?;
    let read = |(index, raw)| read_draft(raw).map_err(|error| wrong_entry(index, error));
    list.into_iter().enumerate().map(read).collect::<Result<_, _>>().map(Drafts)
}

fn wrong_entry(index: usize, error: EntryReadError) -> RpcError {
    let place = format!("entries[{index}]");
    match error {
        EntryReadError::Nameless(cause) => cause.within(&place).into(),
        // Read without an id: there is none to show.
        EntryReadError::Field { entry, cause } if entry.as_str().is_empty() => {
            cause.within(&place).into()
        }
        other => RpcError::invalid_params(format!("{place}: {other}")),
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
        text.push(',');
        text.push_str(Json::text(name).as_str());
        text.push(':');
        text.push_str(value.get());
    }
    text.push('}');
    // The pieces are JSON, so the whole is; the fallback is never needed.
    let named = Json::parse(&text).unwrap_or_else(|_| Json::from(raw));
    let raw = tertulia_session::json::parse(named.as_str()).unwrap_or(raw);
    Ok(Draft { entry: read_entry(raw)?, has_id: false })
}

impl Drafts {
    /// The entries with ids and parents.
    ///
    /// - An entry without `id` follows the one before it: in the list, else the expected tail, else the
    ///   newest of the session. Its id follows from its content.
    /// - An entry with `id` and without `parentId` stays as it is, unless the session names parents: there it
    ///   would start a branch of its own, so it follows the one before it too. If it is stored already, its
    ///   parent is the one that it has, so that trying again is harmless.
    ///
    /// What follows the newest entry of the session counts on it: the tail that comes back beside the
    /// entries must still be there when they are stored, else they are to be chained anew.
    pub(super) fn chained(
        &self,
        store: &SessionStore,
        session: &SessionId,
        expected: Option<&EntryId>,
    ) -> Result<(Vec<Entry>, Option<EntryId>), StoreError> {
        let needs_end = self.0.iter().any(|draft| draft.entry.parent_id.is_none());
        let mut end = if needs_end { End::of(store, session)? } else { End::default() };
        end.id = expected.cloned().or(end.id);
        let tail = end.id.clone();
        let mut counts_on = None;
        let mut entries = Vec::with_capacity(self.0.len());
        for Draft { entry, has_id } in &self.0 {
            let mut entry = entry.clone();
            if entry.parent_id.is_none() && (!has_id || end.names_parents) {
                entry.parent_id = match stored_parent(store, session, &entry.id, *has_id)? {
                    Some(stored) => stored,
                    None => end.id.clone(),
                };
                if entry.parent_id == tail {
                    counts_on = tail.clone();
                }
            }
            if !has_id {
                match sent_before(store, session, expected, &entry)? {
                    Some(stored) => entry = stored,
                    None => {
                        entry.salt = entry.salt.or_else(|| Some(fresh_salt()));
                        entry.id = entry.content_id();
                    }
                }
            }
            end.names_parents |= entry.parent_id.is_some();
            end.id = Some(entry.id.clone());
            entries.push(entry);
        }
        Ok((entries, counts_on))
    }
}

/// The entry without an id that is stored already behind its parent, if the caller says in which entry the
/// session must end: then it is sent once more, because the answer to the first time was lost.
fn sent_before(
    store: &SessionStore,
    session: &SessionId,
    expected: Option<&EntryId>,
    entry: &Entry,
) -> Result<Option<Entry>, StoreError> {
    let Some(parent) = entry.parent_id.as_ref().filter(|_| expected.is_some()) else {
        return Ok(None);
    };
    let from = match store.entries(session, &Range::From(parent.clone())) {
        Err(StoreError::EntryNotFound { .. }) => return Ok(None),
        from => from?,
    };
    for stored in from.skip(1).take(1) {
        let stored = stored?.entry;
        let same = Entry { id: stored.id.clone(), ..entry.clone() };
        if same.repeats(&stored) {
            return Ok(Some(stored));
        }
    }
    Ok(None)
}

/// The parent of an entry that is stored already; `None` if it is not.
fn stored_parent(
    store: &SessionStore,
    session: &SessionId,
    entry: &EntryId,
    has_id: bool,
) -> Result<Option<Option<EntryId>>, StoreError> {
    if !has_id {
        return Ok(None);
    }
    match store.entry(session, entry) {
        Ok(stored) => Ok(Some(stored.entry.parent_id)),
        Err(StoreError::EntryNotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Where a session ends.
#[derive(Default)]
struct End {
    id: Option<EntryId>,
    /// Whether any entry names the one that it follows.
    names_parents: bool,
}

impl End {
    fn of(store: &SessionStore, session: &SessionId) -> Result<Self, StoreError> {
        let Some(last) = store.load(session, &Range::Tail(1))?.pop() else {
            return Ok(Self::default());
        };
        // Without a parent of its own an entry follows the one before it only while none was named.
        let starts_branch = last.parent.is_none() && last.seq > 1;
        let names_parents = last.entry.parent_id.is_some() || starts_branch;
        Ok(Self { id: Some(last.entry.id), names_parents })
    }
}
