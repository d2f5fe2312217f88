//! Entries as callers hand them in: an id and a parent may be left out, and are found here. Reads the end of
//! the session for that; what is stored, and whether, the store decides.

use tertulia_session::json::{self, Json, Object, RawValue, elements};
use tertulia_session::record::{EntryReadError, read_entry};
use tertulia_session::{Entry, EntryId};
use tertulia_store::{Range, SessionId, SessionStore, StoreError, fresh_salt};

use crate::rpc::error::RpcError;

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
        text.push_str(&format!(",{}:{}", Json::text(name).as_str(), value.get()));
    }
    text.push('}');
    // The pieces are JSON, so the whole is; the fallback is never needed.
    let raw = json::parse(&text).unwrap_or(raw);
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
        let place = Place { store, session };
        let needs_end = self.0.iter().any(|draft| draft.entry.parent_id.is_none());
        let (end, mut names_parents) = if needs_end { place.end()? } else { (None, false) };
        let tail = expected.cloned().or(end);
        let mut last = tail.clone();
        let mut counts_on = None;
        let mut entries = Vec::with_capacity(self.0.len());
        for Draft { entry, has_id } in &self.0 {
            let mut entry = entry.clone();
            if entry.parent_id.is_none() && (!has_id || names_parents) {
                let stored = if *has_id { place.stored_parent(&entry.id)? } else { None };
                entry.parent_id = stored.unwrap_or_else(|| last.clone());
                if entry.parent_id == tail {
                    counts_on = tail.clone();
                }
            }
            if !has_id {
                let before = if expected.is_some() { place.sent_before(&entry)? } else { None };
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

/// A session that entries are appended to.
struct Place<'a> {
    store: &'a SessionStore,
    session: &'a SessionId,
}

impl Place<'_> {
    /// The newest entry, and whether any entry names the one that it follows.
    fn end(&self) -> Result<(Option<EntryId>, bool), StoreError> {
        let Some(last) = self.store.load(self.session, &Range::Tail(1))?.pop() else {
            return Ok((None, false));
        };
        // Without a parent of its own an entry follows the one before it only while none was named.
        let starts_branch = last.parent.is_none() && last.seq > 1;
        let names_parents = last.entry.parent_id.is_some() || starts_branch;
        Ok((Some(last.entry.id), names_parents))
    }

    /// The entry without an id that is stored already behind its parent, where the caller says in which entry the
    /// session must end: then it is sent once more, because the answer to the first time was lost.
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

    /// The parent of an entry that is stored already; `None` if it is not.
    fn stored_parent(&self, entry: &EntryId) -> Result<Option<Option<EntryId>>, StoreError> {
        match self.store.entry(self.session, entry) {
            Ok(stored) => Ok(Some(stored.entry.parent_id)),
            Err(StoreError::EntryNotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
