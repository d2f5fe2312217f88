//! An index of the links between sessions of agents and our sessions, for all sessions of a store. It is only a
//! cache: it reads what is new since it was saved, and can be rebuilt at any time.

use std::collections::BTreeMap;

use tertulia_dialect::native::NativeFormat;
use tertulia_session::json::{self, Json, Object};
use tertulia_session::{EntryId, Timestamp};
use tertulia_store::{Range, Seq, SessionId, SessionStore, StoreError};

use crate::handover::Link;

/// The sessions of agents to which a store is linked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkIndex {
    sessions: BTreeMap<SessionId, Scanned>,
}

/// The links of one session, up to the last entry that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Scanned {
    entries: Seq,
    /// The chain hash of the last entry that was read. A different hash means that another session has the same id
    /// now.
    chain: String,
    links: Vec<IndexedLink>,
}

/// The newest link to a session of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexedLink {
    pub format: NativeFormat,
    pub native_session_id: String,
    /// The number of its bytes that were imported or written.
    pub bytes: u64,
    /// The time of the link, in milliseconds since 1970.
    pub millis: i64,
}

impl LinkIndex {
    /// Reads the new entries of the store.
    pub fn update(&mut self, store: &SessionStore) -> Result<(), StoreError> {
        let newest = store.newest_entries()?;
        let mut sessions = std::mem::take(&mut self.sessions);
        for (id, entries, link) in newest {
            let chain = link.to_string();
            let known = sessions.remove(&id);
            let scanned = match known {
                Some(known) if known.entries == entries && known.chain == chain => known,
                Some(known) if known.entries < entries => {
                    scan(store, &id, known.entries, known.links, (entries, chain))?
                }
                _ => scan(store, &id, 0, Vec::new(), (entries, chain))?,
            };
            self.sessions.insert(id, scanned);
        }
        Ok(())
    }

    /// Returns the sessions that are linked to a session of an agent, beginning with the one that has the usual id.
    pub fn sessions_of(
        &self,
        format: NativeFormat,
        native_id: &str,
    ) -> impl Iterator<Item = &SessionId> {
        let is_it =
            move |link: &IndexedLink| link.format == format && link.native_session_id == native_id;
        let linked = self.sessions.iter().filter(move |(_, one)| one.links.iter().any(is_it));
        linked.map(|(id, _)| id)
    }

    /// Returns the newest link to a session of an agent, and the session that contains the link.
    pub fn link_of(
        &self,
        format: NativeFormat,
        native_id: &str,
    ) -> Option<(&SessionId, &IndexedLink)> {
        let all = self.sessions.iter().flat_map(|(id, one)| one.links.iter().map(move |l| (id, l)));
        all.filter(|(_, link)| link.format == format && link.native_session_id == native_id)
            .max_by_key(|(_, link)| link.millis)
    }

    /// Returns it as JSON.
    pub fn to_json(&self) -> String {
        let quoted = |text: &str| Json::text(text).as_str().to_owned();
        let link = |link: &IndexedLink| {
            let (agent, id) = (quoted(link.format.as_str()), quoted(&link.native_session_id));
            format!("[{agent},{id},{},{}]", link.bytes, link.millis)
        };
        let session = |(id, one): (&SessionId, &Scanned)| {
            let links: Vec<String> = one.links.iter().map(link).collect();
            let (id, chain) = (quoted(id.as_str()), quoted(&one.chain));
            format!("{id}:[{},{chain},[{}]]", one.entries, links.join(","))
        };
        let sessions: Vec<String> = self.sessions.iter().map(session).collect();
        format!("{{{}}}", sessions.join(","))
    }

    /// Reads the index from JSON. Parts that cannot be read will be read from the store again.
    pub fn from_json(text: &str) -> Self {
        let fields = json::parse(text).ok().and_then(|raw| Object::try_from(raw).ok());
        let fields = fields.into_iter().flat_map(Object::into_fields);
        let read = |(name, raw): (std::borrow::Cow<'_, str>, &json::RawValue)| {
            let id = name.parse::<SessionId>().ok()?;
            let mut parts = json::elements(raw).ok()?.into_iter();
            let entries = json::whole_number(parts.next()?).ok()?;
            let chain = json::text(parts.next()?).ok()?;
            let links = json::elements(parts.next()?).ok()?.into_iter().map(read_link);
            Some((id, Scanned { entries, chain, links: links.collect::<Option<_>>()? }))
        };
        Self { sessions: fields.filter_map(read).collect() }
    }
}

fn read_link(raw: &json::RawValue) -> Option<IndexedLink> {
    let mut parts = json::elements(raw).ok()?.into_iter();
    Some(IndexedLink {
        format: json::text(parts.next()?).ok()?.parse().ok()?,
        native_session_id: json::text(parts.next()?).ok()?,
        bytes: json::whole_number(parts.next()?).ok()?,
        millis: parts.next()?.get().parse().ok()?,
    })
}

/// Reads the links of a session that come after an entry.
fn scan(
    store: &SessionStore,
    id: &SessionId,
    after: Seq,
    mut links: Vec<IndexedLink>,
    (entries, chain): (Seq, String),
) -> Result<Scanned, StoreError> {
    let mut found: Vec<(Seq, EntryId)> = Vec::new();
    let outlined = store.each_outline_entry(id, after, |entry, _| {
        if &*entry.type_name == "native_session" {
            found.push((entry.number, entry.id));
        }
    });
    match outlined {
        // The session was deleted meanwhile.
        Err(StoreError::SessionNotFound(_)) => {}
        outlined => outlined?,
    }
    let numbers = found.into_iter().map(|(number, _)| number).collect();
    let loaded = match store.load(id, &Range::Numbers(numbers)) {
        Err(StoreError::SessionNotFound(_)) => Vec::new(),
        loaded => loaded?,
    };
    for stored in loaded {
        let Some(link) = Link::of(&stored.entry) else { continue };
        let native_session_id = link.native_session_id.to_string();
        links.retain(|one| one.format != link.format || one.native_session_id != native_session_id);
        let millis = link.timestamp.as_ref().map_or(0, Timestamp::millis);
        let (format, bytes) = (link.format, link.bytes);
        links.push(IndexedLink { format, native_session_id, bytes, millis });
    }
    Ok(Scanned { entries, chain, links })
}
