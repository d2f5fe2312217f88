//! The destination of an import's entries: a new session that is hidden until it is complete, one append to an
//! existing session, or none.

use tertulia_native::FoundSession;
use tertulia_session::json::Json;
use tertulia_session::{
    Entry, EntryId, EntryKind, Fields, NewEntry, SessionHeader, Setting, Timestamp,
};
use tertulia_store::{
    Append, Import, NewRecord, NewSession, SessionId, SessionStore, StoreError, fresh_salt,
};

/// Maximum number of bytes of one append. More are appended in several steps.
const APPEND_BYTES: u64 = 64 << 20;
/// Approximate size of an entry without the record that it keeps.
const ENTRY_BYTES: usize = 512;

/// The destination of new entries.
pub(super) enum Sink<'a> {
    New(Box<Import>),
    Old { store: &'a SessionStore, id: SessionId, waiting: Vec<Entry>, bytes: u64, tail: EntryId },
    Nowhere,
}

/// The counts of what was added.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) entries: u64,
    pub(super) messages: u64,
    pub(super) in_future: u64,
    pub(super) last_date: Option<Timestamp>,
}

/// Adds entries and counts them.
pub(super) struct Added<'a> {
    sink: Sink<'a>,
    now: Timestamp,
    tally: Tally,
    last: Option<EntryId>,
}

impl<'a> Sink<'a> {
    pub(super) fn create(store: &SessionStore) -> Result<Self, StoreError> {
        Ok(Self::New(Box::new(Import::begin(store)?)))
    }

    pub(super) fn append(store: &'a SessionStore, id: &SessionId, tail: &EntryId) -> Self {
        let (id, tail) = (id.clone(), tail.clone());
        Self::Old { store, id, waiting: Vec::new(), bytes: 0, tail }
    }

    pub(super) fn nowhere() -> Self {
        Self::Nowhere
    }

    fn push(&mut self, entry: Entry) -> Result<(), StoreError> {
        match self {
            Self::Nowhere => Ok(()),
            Self::New(import) => import.push(entry),
            Self::Old { waiting, bytes, .. } => {
                // The text of a message is about as long as the record that it was read from.
                let kept = entry.meta.as_ref().map_or(0, |meta| 2 * meta.as_str().len());
                *bytes += (kept + ENTRY_BYTES) as u64;
                waiting.push(entry);
                if *bytes > APPEND_BYTES { self.flush() } else { Ok(()) }
            }
        }
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        let Self::Old { store, id, waiting, bytes, tail } = self else { return Ok(()) };
        let entries: Vec<NewRecord> = waiting.drain(..).map(NewRecord::from).collect();
        let Some(last) = entries.last().map(|new| new.entry.id.clone()) else { return Ok(()) };
        let expected_tail = Some(std::mem::replace(tail, last));
        *bytes = 0;
        let append = Append { entries, expected_tail, ..Append::default() };
        store.append(id, append).map(drop)
    }
}

impl<'a> Added<'a> {
    pub(super) fn new(sink: Sink<'a>, now: &Timestamp) -> Self {
        Self { sink, now: now.clone(), tally: Tally::default(), last: None }
    }

    /// Adds the header of a new session, which names its origin. Returns the id of the header.
    pub(super) fn header(&mut self, session: &FoundSession) -> Result<EntryId, StoreError> {
        let field = |text: &str| Json::text(text).as_str().to_owned();
        let path = session.place.path().to_string_lossy();
        let source = format!(
            r#"{{"agent":{},"nativeSessionId":{},"path":{}}}"#,
            field(session.format.as_str()),
            field(&session.native_id),
            field(&path)
        );
        let mut unknown = Fields::NONE;
        if let Ok(source) = Json::parse(&source) {
            unknown.push("source", source);
        }
        let header = SessionHeader { unknown, ..SessionHeader::default() };
        let entry = NewEntry::new(EntryKind::SessionHeader(header)).at(self.now.clone());
        let entry = entry.salted(fresh_salt()).with_content_id();
        let id = entry.id.clone();
        self.last = Some(id.clone());
        self.sink.push(entry)?;
        Ok(id)
    }

    pub(super) fn has_messages(&self) -> bool {
        self.tally.messages > 0
    }

    /// Adds an entry of a record.
    pub(super) fn push(&mut self, entry: Entry) -> Result<(), StoreError> {
        self.tally.entries += 1;
        self.tally.messages += u64::from(entry.message().is_some());
        if let Some(time) =
            entry.timestamp.as_ref().filter(|time| time.millis() > self.now.millis())
        {
            self.tally.in_future += 1;
            let last = self.tally.last_date.as_ref().map(Timestamp::millis);
            if last < Some(time.millis()) {
                self.tally.last_date = Some(time.clone());
            }
        }
        self.last = Some(entry.id.clone());
        self.sink.push(entry)
    }

    /// Adds the title that the agent gave a new session.
    pub(super) fn title(&mut self, title: &str) -> Result<(), StoreError> {
        let kind = EntryKind::SessionSetting(Setting::Title { title: title.into() }.into());
        let mut new = NewEntry::new(kind).at(self.now.clone()).salted(fresh_salt());
        new.parent_id.clone_from(&self.last);
        self.sink.push(new.with_id(EntryId::from("title-1")))
    }

    /// Adds the link that records how far the session was imported, and stores everything. Stores nothing if there
    /// are no new entries.
    pub(super) fn finish(
        mut self,
        (link, is_stale): (NewEntry, bool),
        id: &SessionId,
        project: Option<String>,
    ) -> Result<Tally, StoreError> {
        let is_new = matches!(self.sink, Sink::New(_));
        if !is_new && !is_stale && self.tally.entries == 0 {
            return Ok(self.tally);
        }
        let link = link.at(self.now.clone()).salted(fresh_salt()).with_content_id();
        self.sink.push(link)?;
        self.sink.flush()?;
        if let Sink::New(mut import) = self.sink {
            import.set_project(project);
            import.finish(&NewSession { id: Some(id.clone()) })?;
        }
        Ok(self.tally)
    }
}
