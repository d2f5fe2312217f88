//! What each job works on: a store with sessions, a backup, a file to import, an old store, a list of trusted
//! files. Also what a run without faults gives, for the judge to compare with.

use std::fs;
use std::path::Path;

use tertulia_session::record::EntryRecord;
use tertulia_session::{Entry, EntryId, EntryKind, Message, NewEntry, Speaker, SpeakerType};
use tertulia_store::{Append, Import, NewSession, SessionId, SessionStore, StoreError};

use super::place::{Place, copy_folder};
use super::{How, Job, judge, lists, texts};
use crate::batch::Batch;
use crate::error::FaultsError;
use crate::scratch::{Scratch, open, put};

/// A store of the first version, with one session of three entries.
const OLD: &[u8] = include_bytes!("../../../crates/store/tests/fixtures/sessions-v1.db");
/// How many sessions a backup has, and how many entries an import: more than are stored at once.
pub(super) const SESSIONS: u64 = 3;
pub(super) const IMPORTED: usize = 1200;
/// The entry that is redacted.
pub(super) const REDACTED: &str = "x2";
const SECRET_ENTRIES: usize = 6;

/// Makes all that a job needs in an empty folder.
pub(crate) fn prepare(job: Job, root: &Path) -> Result<(), FaultsError> {
    let place = Place::new(root);
    place.make()?;
    match job {
        Job::Migration => put(&place.store(), OLD)?,
        Job::Trust | Job::Init => lists::prepare(&place)?,
        Job::Restore => {
            let kept = open(&place.store())?;
            fill(&kept, "kept", "k")?;
            let other = place.temporary().join("other.db");
            let store = open(&other)?;
            fill_all(&store)?;
            store.backup(&place.made())?;
            drop(store);
            crate::scratch::clear(&place.temporary())?;
        }
        Job::Backup | Job::Import | Job::Export | Job::Branch | Job::Delete | Job::Redact => {
            fill_all(&open(&place.store())?)?;
        }
    }
    if job == Job::Trust {
        put(&place.team_file(), lists::TEAM.as_bytes())?;
    }
    if job == Job::Import {
        let lines =
            (0..IMPORTED).map(|number| EntryRecord::new(&imported(number)).to_json() + "\n");
        put(&place.import(), lines.collect::<String>().as_bytes())?;
    }
    if job == Job::Export {
        let store = open(&place.store())?;
        let mut import = Import::begin(&store)?;
        (0..IMPORTED).try_for_each(|number| import.push(imported(number)))?;
        import.finish(&NewSession { id: Some(name("big")?) })?;
    }
    if matches!(job, Job::Delete | Job::Redact) {
        fill_secret(job, &place)?;
    }
    judge::note_sessions(job, &place)?;
    learn(job, &place, root)
}

/// Sessions with entries of all sizes, one of them redacted.
fn fill_all(store: &SessionStore) -> Result<(), FaultsError> {
    for number in 0..SESSIONS {
        fill(store, &format!("s{number}"), &format!("w{number}"))?;
    }
    store.redact(&name("s0")?, &Batch::new("w0", 1).id(0), None)?;
    store.catch_up(|_| {})?;
    Ok(())
}

fn fill(store: &SessionStore, session: &str, thread: &str) -> Result<(), FaultsError> {
    let id = name(session)?;
    store.create(&NewSession { id: Some(id.clone()) })?;
    for batch in 0..10 {
        store.append(&id, Append::new(Batch::new(thread, batch).entries()))?;
    }
    Ok(())
}

/// A session with a text that is to go, also in the search index, in a copy that a migration left, and in
/// the history of the chat.
fn fill_secret(job: Job, place: &Place) -> Result<(), FaultsError> {
    let store = open(&place.store())?;
    let id = name("secret")?;
    store.create(&NewSession { id: Some(id.clone()) })?;
    for number in 0..SECRET_ENTRIES {
        let entry = format!("x{number}");
        let is_secret = job == Job::Delete || entry == REDACTED;
        let text = if is_secret { texts::SECRET } else { "what everybody may read" };
        let text = if job == Job::Delete { format!("{text} {number}") } else { text.to_owned() };
        store.append(&id, Append::new([said(&entry, &text)]))?;
    }
    store.catch_up(|_| {})?;
    drop(store);
    let mut copy = place.store().into_os_string();
    copy.push(".v4.bak");
    let copy = Path::new(&copy).to_owned();
    fs::copy(place.store(), &copy).map_err(FaultsError::at(&copy))?;
    if job == Job::Redact {
        texts::prepare_history(place)?;
    }
    texts::check_there(place)
}

/// Does the job without a fault, and keeps what it gave.
fn learn(job: Job, place: &Place, root: &Path) -> Result<(), FaultsError> {
    let scratch = Scratch::in_memory()?;
    let run = scratch.file("run");
    copy_folder(root, &run)?;
    if !job.run(How::Command, &run)? {
        let said = Place::new(&run).said();
        let said = fs::read_to_string(&said).map_err(FaultsError::at(&said))?;
        return Err(FaultsError::unfit(format!("{} fails without a fault: {said}", job.name())));
    }
    let after = Place::new(&run);
    let keep = |from: &Path, name: &str| {
        let bytes = fs::read(from).map_err(FaultsError::at(from))?;
        put(&place.expected(name), &bytes)
    };
    match job {
        Job::Export => keep(&after.export(), "export.jsonl"),
        Job::Init => keep(&after.team_file(), "tertulia.toml"),
        Job::Branch => {
            let entries = judge::entries_of(&open(&after.store())?, "new")?;
            put(&place.expected("branch"), entries.to_string().as_bytes())
        }
        _ => Ok(()),
    }
}

/// An entry of the file that is imported.
pub(super) fn imported(number: usize) -> Entry {
    said(&format!("i{number}"), &format!("message {number}"))
}

fn said(id: &str, text: &str) -> Entry {
    let speaker = Speaker::new("ann", "Ann", SpeakerType::Human);
    NewEntry::new(EntryKind::Message(Message::said(speaker, text))).with_id(EntryId::from(id))
}

/// The entry of the session `s0` at which it is branched.
pub(super) fn branched_from() -> EntryId {
    Batch::new("w0", 8).id(0)
}

pub(super) fn name(text: &str) -> Result<SessionId, FaultsError> {
    Ok(text.parse::<SessionId>().map_err(StoreError::from)?)
}
