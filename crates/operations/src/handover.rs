//! Hands a session over to an agent: chooses what of it is written as a session of the agent, and says what became
//! of everything else. Reads and writes no files; callers save what is [`Handover::written`] and append
//! [`Handover::link`] to the log.

mod items;
mod links;
mod receipt;
pub mod save;
mod select;

use std::path::Path;

use tertulia_context::builder::ContextError;
use tertulia_dialect::native::NativeFormat;
use tertulia_dialect::native::write::{
    self, Continuation, WriteError, WriteMessage, WriteRequest, Written, native_session_id,
};
use tertulia_native::prefix_hash;
use tertulia_session::json::Json;
use tertulia_session::{
    Entry, EntryError, EntryId, EntryIndex, EntryKind, Fields, NativeDirection, NativeSession,
    NewEntry, Timestamp,
};

use links::Source;
pub use links::{Link, links};
pub(crate) use links::{add_digests, name_in_front};
pub use receipt::{Item, ItemKind, ItemStatus, Receipt, ReceiptError, Tally};
pub use select::default_window;
use select::{Selection, select, select_new};

/// What is handed over, and how.
#[derive(Clone, Debug)]
pub struct HandoverOptions<'a> {
    pub to: NativeFormat,
    /// The id of our session.
    pub session: &'a str,
    pub title: Option<&'a str>,
    /// The folder in which the agent will work.
    pub folder: &'a str,
    /// The model that will go on; decides how tokens are counted and how many there may be.
    pub model: Option<&'a str>,
    /// The number of tokens that the session may have; `None` for what the model's window leaves.
    pub budget: Option<u64>,
    /// Only this many of the newest messages.
    pub last: Option<u64>,
    /// In a session of a team, the member whose part the agent takes.
    pub member: Option<&'a str>,
    /// The ids of the sessions that the agent has. A new session gets another one.
    pub taken: &'a [String],
    /// Whether a new session is written although an earlier one could be continued.
    pub is_new: bool,
    pub now: Timestamp,
}

/// A session of an agent, ready to be saved.
#[derive(Clone, Debug)]
pub struct Handover {
    pub native_session_id: String,
    /// The session of the agent that is continued; `None` if a new one is created.
    pub continues: Option<Link>,
    pub written: Written,
    pub receipt: Receipt,
    /// The entry up to which the log was handed over.
    pub anchor: EntryId,
    /// Digests of all that was written, now and before.
    digests: Vec<u32>,
}

/// Why a session cannot be handed over.
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
    /// The agent's session has everything already.
    #[error(
        "{} session {} already has everything; continue that session, or use --new to write another one",
        .0.format.agent_name(), .0.native_session_id
    )]
    UpToDate(Box<Link>),
    #[error("nobody called {member} has spoken in this session; --member takes one of: {speakers}")]
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
        if let Some(selection) = select_new(entries, &new, options)? {
            if selection.messages.is_empty() {
                return Err(HandoverError::UpToDate(Box::new(link.clone())));
            }
            return finish(entries, &selection, Some(link.clone()), None, anchor, options);
        }
    }
    let number = u32::try_from(earlier.count()).unwrap_or(u32::MAX);
    let mut ids = (number..).map(|number| native_session_id(options.to, options.session, number));
    let id = ids.find(|id| !options.taken.contains(id)).unwrap_or_default();
    let selection = select(entries, &index, options)?;
    finish(entries, &selection, None, Some(id), anchor, options)
}

/// Returns the newest entry of the branch that is not about sessions of agents.
fn anchor(entries: &[Entry], branch: &[usize]) -> Option<EntryId> {
    let is_said = |entry: &&Entry| !matches!(entry.kind, EntryKind::NativeSession(_));
    let newest = branch.iter().rev().filter_map(|index| entries.get(*index)).find(is_said);
    newest.map(|entry| entry.id.clone())
}

/// Returns the entries of the branch that a session of an agent does not have: they were not in the log when it was
/// written last, and do not come from it.
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
    Ok(Handover { native_session_id, continues, written, receipt, anchor, digests })
}

impl Handover {
    /// Returns the entry that connects the log to the saved session: its path, and the number, bytes and hash of all
    /// its records.
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

/// A receipt with the session of the agent that it is about.
#[derive(Clone, Debug)]
pub struct StoredReceipt {
    pub link: Link,
    pub receipt: Receipt,
}

/// What a check of a receipt found. Nothing wrong leaves all of it empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// The numbers of the entries of our session that are not as they were.
    pub changed_entries: Vec<u64>,
    /// What is wrong with the session of the agent.
    pub native_problem: Option<String>,
}

impl StoredReceipt {
    /// Returns the receipt that an entry of a log holds; for an import it is made from the log.
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

    /// Reads both sides again: the log, and the file of the agent.
    pub fn verify(&self, entries: &[Entry]) -> Verification {
        let changed_entries = match self.link.direction {
            NativeDirection::Written => items::changed_entries(&self.receipt, entries),
            NativeDirection::Imported => Vec::new(),
        };
        let native_problem = match self.link.path.as_deref() {
            None => Some("its file is not known; the agent keeps it in a database".to_owned()),
            Some(path) => match prefix_hash(Path::new(path), self.link.bytes) {
                Ok(Some(hash)) if hash == *self.link.hash => None,
                Ok(_) => Some(format!("{path} does not begin with the same bytes any more")),
                Err(error) => Some(error.to_string()),
            },
        };
        Verification { changed_entries, native_problem }
    }
}

#[cfg(test)]
mod tests;
