//! Hands a session over to an agent: chooses what is written as a session of the agent, and reports what became of
//! everything else. Reads and writes no files. Callers save [`Handover::written`] and append [`Handover::link`] to
//! the log.

pub mod beside;
mod held;
mod items;
mod late;
mod links;
mod receipt;
pub mod save;
mod select;
mod verify;

use tertulia_context::builder::ContextError;
use tertulia_dialect::native::NativeFormat;
use tertulia_dialect::native::write::{
    self, Continuation, WriteError, WriteMessage, WriteRequest, Written, native_session_id,
};
use tertulia_session::json::Json;
use tertulia_session::{
    Entry, EntryError, EntryId, EntryIndex, EntryKind, Fields, NativeDirection, NativeSession,
    NewEntry, Timestamp,
};

use held::Held;
use links::Source;
pub use links::{Link, links};
pub(crate) use links::{add_digests, name_in_front};
pub use receipt::{Item, ItemKind, ItemStatus, Receipt, ReceiptError, Tally};
pub use select::default_window;
use select::{Selection, select, select_new};
pub use verify::{Compared, Verification};

/// The options of a handover.
#[derive(Clone, Debug)]
pub struct HandoverOptions<'a> {
    pub to: NativeFormat,
    /// The id of our session.
    pub session: &'a str,
    pub title: Option<&'a str>,
    /// The folder in which the agent will work.
    pub folder: &'a str,
    /// The model that will continue the session. It determines the maximum number of tokens and how they are counted.
    pub model: Option<&'a str>,
    /// The maximum number of tokens of the session. `None`: what the window of the model allows.
    pub budget: Option<u64>,
    /// The number of the newest messages to hand over; `None` for all.
    pub last: Option<u64>,
    /// In a session of a team, the member in whose role the agent continues.
    pub member: Option<&'a str>,
    /// The ids of the agent's existing sessions. A new session gets a different one.
    pub taken: &'a [String],
    /// Whether to write a new session although an earlier one could be continued.
    pub is_new: bool,
    pub now: Timestamp,
}

/// A session of an agent, ready to be saved.
#[derive(Clone, Debug)]
pub struct Handover {
    pub native_session_id: String,
    /// The session of the agent that is continued. `None` if a new one is created.
    pub continues: Option<Link>,
    pub written: Written,
    pub receipt: Receipt,
    /// The entry up to which the log was handed over.
    pub anchor: EntryId,
    /// The number of messages that were written.
    pub messages: u64,
    /// Digests of everything that was written, now and earlier.
    digests: Vec<u32>,
}

/// The reason why a session cannot be handed over.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandoverError {
    #[error(transparent)]
    Entries(#[from] EntryError),
    #[error(transparent)]
    Context(#[from] ContextError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("the session has no messages; there is nothing to hand over")]
    Empty,
    /// The agent's session is already up to date.
    #[error(
        "{} session {} is already up to date; continue that session, or use --new to write another one",
        .0.format.agent_name(), .0.native_session_id
    )]
    UpToDate(Box<Link>),
    #[error(
        "no member called {member} has spoken in this session; set --member to one of: {speakers}"
    )]
    UnknownMember { member: String, speakers: String },
}

/// Chooses and writes what is handed over.
pub fn hand_over(
    entries: &[Entry],
    options: &HandoverOptions<'_>,
) -> Result<Handover, HandoverError> {
    if !options.to.is_writable() {
        return Err(WriteError::NotWritable { format: options.to }.into());
    }
    let index = EntryIndex::over(entries)?;
    let mut branch = Vec::new();
    for view in index.walk(entries)? {
        branch.push(view?.position());
    }
    branch.reverse();
    let anchor = anchor(entries, &branch).ok_or(HandoverError::Empty)?;
    let all_links = links(entries);
    let earlier = all_links.iter().filter(|link| link.format == options.to);
    let is_on_branch = |link: &&Link| {
        index.position(&link.anchor).is_some_and(|at| branch.binary_search(&at).is_ok())
    };
    let continued = earlier.clone().rev().find(is_on_branch).filter(|_| !options.is_new);
    if let Some(link) = continued {
        let new = missing_in(entries, &index, &branch, link);
        if let Some(mut selection) = select_new(entries, (&branch, &new), options)? {
            let up_to_date = || HandoverError::UpToDate(Box::new(link.clone()));
            if selection.messages.is_empty() {
                return Err(up_to_date());
            }
            selection.held = Some(Held::new(entries, &index, (&branch, &new), link));
            let added = finish(entries, &selection, Some(link.clone()), None, anchor, options);
            return added.map_err(|error| match error {
                HandoverError::Write(WriteError::Empty) => up_to_date(),
                error => error,
            });
        }
    }
    let number = u32::try_from(earlier.count()).unwrap_or(u32::MAX);
    let mut ids = (number..).map(|number| native_session_id(options.to, options.session, number));
    let id = ids.find(|id| !options.taken.contains(id)).unwrap_or_default();
    let selection = select(entries, &index, options)?;
    finish(entries, &selection, None, Some(id), anchor, options)
}

/// Returns the newest entry of the branch that is no link to a native session.
fn anchor(entries: &[Entry], branch: &[usize]) -> Option<EntryId> {
    let is_said = |entry: &&Entry| !matches!(entry.kind, EntryKind::NativeSession(_));
    let newest = branch.iter().rev().filter_map(|index| entries.get(*index)).find(is_said);
    newest.map(|entry| entry.id.clone())
}

/// Returns the entries of the branch that a session of an agent does not have: they were added to the log after the
/// session was last written, and were not imported from it.
fn missing_in(entries: &[Entry], index: &EntryIndex, branch: &[usize], link: &Link) -> Vec<usize> {
    let is_it = |one: &Link| {
        (one.format, &one.native_session_id) == (link.format, &link.native_session_id)
            && one.direction == NativeDirection::Written
    };
    let written = entries.iter().filter_map(Link::of).filter(is_it);
    let written =
        written.filter_map(|one| branch.binary_search(&index.position(&one.anchor)?).ok());
    let from = written.max().map_or(0, |last| last + 1);
    let source = Source::new(entries, link);
    let rest = branch.get(from..).unwrap_or_default().iter();
    rest.filter(|at| !source.has(entries, index, **at)).copied().collect()
}

fn finish(
    entries: &[Entry],
    selection: &Selection<'_>,
    continues: Option<Link>,
    new_id: Option<String>,
    anchor: EntryId,
    options: &HandoverOptions<'_>,
) -> Result<Handover, HandoverError> {
    if selection.messages.is_empty() {
        return Err(HandoverError::Empty);
    }
    let native_session_id = match (&continues, new_id) {
        (Some(link), _) => link.native_session_id.to_string(),
        (None, id) => id.unwrap_or_default(),
    };
    let messages: Vec<WriteMessage<'_>> =
        selection.messages.iter().map(|one| one.to_write()).collect();
    let request = WriteRequest {
        session_id: &native_session_id,
        title: options.title,
        folder: options.folder,
        model: options.model,
        messages: &messages,
        now: options.now.clone(),
        continues: continues.as_ref().map(|link| Continuation {
            last_record_id: link.last_record_id.clone(),
            records: link.records,
            last_timestamp: link.timestamp.clone(),
        }),
    };
    let written = write::write(options.to, &request)?;
    let receipt = items::receipt(entries, selection, &written);
    let before = continues.iter().flat_map(|link| link.written.iter().copied());
    let new = selection.messages.iter().flat_map(|one| write::digests(&one.message));
    let digests = before.chain(new).collect();
    let messages = selection.messages.len() as u64;
    Ok(Handover { native_session_id, continues, written, receipt, anchor, messages, digests })
}

impl Handover {
    /// Returns the entry that links the log to the saved session. It contains the path, and the number, bytes and
    /// hash of all records.
    pub fn link(
        &self,
        to: NativeFormat,
        path: Option<&str>,
        (records, bytes, hash): (u64, u64, &str),
        now: Timestamp,
    ) -> Entry {
        let mut unknown = Fields::NONE;
        add_digests(&mut unknown, &self.digests);
        let payload = NativeSession {
            agent: to.as_str().into(),
            native_session_id: self.native_session_id.as_str().into(),
            direction: NativeDirection::Written,
            path: path.map(Into::into),
            records,
            bytes,
            hash: hash.into(),
            last_record_id: self.written.last_record_id.clone(),
            receipt: Json::parse(&self.receipt.to_json()).ok(),
            unknown,
        };
        let kind = EntryKind::NativeSession(Box::new(payload));
        NewEntry::new(kind).with_parent(self.anchor.clone()).at(now).with_content_id()
    }
}

/// A receipt, and the link to the session of the agent that it is about.
#[derive(Clone, Debug)]
pub struct StoredReceipt {
    pub link: Link,
    pub receipt: Receipt,
}

impl StoredReceipt {
    /// Returns the receipt in an entry of a log. The receipt of an import is computed from the log.
    pub fn read(entries: &[Entry], id: &EntryId) -> Option<Result<Self, ReceiptError>> {
        let index = entries.iter().position(|entry| entry.id == *id)?;
        let entry = entries.get(index)?;
        let link = Link::of(entry)?;
        let EntryKind::NativeSession(native) = &entry.kind else { return None };
        let receipt = match &native.receipt {
            Some(json) => Receipt::read(json.raw()),
            None => Ok(items::import_receipt(entries, index)),
        };
        Some(receipt.map(|receipt| Self { link, receipt }))
    }
}

#[cfg(test)]
mod tests;
