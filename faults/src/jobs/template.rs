//! The input of each job: a store with sessions, a backup, a file to import, an old store, a list
//! of trusted files. Also the result of a run without faults, for the judge.

use std::fs;
use std::path::Path;

use tertulia_session::record::EntryRecord;
use tertulia_session::{Entry, EntryId, EntryKind, Message, NewEntry, Speaker, SpeakerType};
use tertulia_store::{Append, Import, NewSession, SessionId, SessionStore, StoreError};

use super::run_folder::{RunFolder, copy_folder};
use super::{Executor, Job, judge, secret_text, trust_list};
use crate::batch::Batch;
use crate::error::FaultsError;
use crate::scratch::{Scratch, open, put};

/// A store of the first version, with one session of three entries.
const OLD: &[u8] = include_bytes!("../../../crates/store/tests/fixtures/sessions-v1.db");
/// Number of sessions in a backup, and of entries in an import: more than one batch.
pub(super) const SESSIONS: u64 = 3;
pub(super) const IMPORTED: usize = 1200;
/// The entry that is redacted.
pub(super) const REDACTED: &str = "x2";
const SECRET_ENTRIES: usize = 6;

/// Creates everything that a job needs in an empty folder.
pub(crate) fn prepare(job: Job, root: &Path) -> Result<(), FaultsError> {
    let run = RunFolder::new(root);
    run.make()?;
    match job {
        Job::Migration => put(&run.store(), OLD)?,
        Job::Trust | Job::Init => trust_list::prepare(&run)?,
        Job::Restore => {
            let kept = open(&run.store())?;
            fill(&kept, "kept", "k")?;
            let other = run.temporary().join("other.db");
            let store = open(&other)?;
            fill_all(&store)?;
            store.backup(&run.made())?;
            drop(store);
            crate::scratch::clear(&run.temporary())?;
        }
        Job::Backup | Job::Import | Job::Export | Job::Branch | Job::Delete | Job::Redact => {
            fill_all(&open(&run.store())?)?;
        }
    }
    if job == Job::Trust {
        put(&run.team_file(), trust_list::TEAM.as_bytes())?;
    }
    if job == Job::Import {
        let lines =
            (0..IMPORTED).map(|number| EntryRecord::new(&imported(number)).to_json() + "\n");
        put(&run.import(), lines.collect::<String>().as_bytes())?;
    }
    if job == Job::Export {
        let store = open(&run.store())?;
        let mut import = Import::begin(&store)?;
        (0..IMPORTED).try_for_each(|number| import.push(imported(number)))?;
        import.finish(&NewSession { id: Some(name("big")?) })?;
    }
    if matches!(job, Job::Delete | Job::Redact) {
        fill_secret(job, &run)?;
    }
    judge::note_sessions(job, &run)?;
    learn(job, &run, root)
}

/// Creates sessions with entries of all sizes, one of them redacted.
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

/// Creates a session with a text that must be removed, also from the search index, a migration copy
/// and the chat history.
fn fill_secret(job: Job, run: &RunFolder) -> Result<(), FaultsError> {
    let store = open(&run.store())?;
    let id = name("secret")?;
    store.create(&NewSession { id: Some(id.clone()) })?;
    for number in 0..SECRET_ENTRIES {
        let entry = format!("x{number}");
        let is_secret = job == Job::Delete || entry == REDACTED;
        let text = if is_secret { secret_text::SECRET } else { "what everybody may read" };
        let text = if job == Job::Delete { format!("{text} {number}") } else { text.to_owned() };
        store.append(&id, Append::new([said(&entry, &text)]))?;
    }
    store.catch_up(|_| {})?;
    drop(store);
    let mut copy = run.store().into_os_string();
    copy.push(".v4.bak");
    let copy = Path::new(&copy).to_owned();
    fs::copy(run.store(), &copy).map_err(FaultsError::at(&copy))?;
    if job == Job::Redact {
        secret_text::prepare_history(run)?;
    }
    secret_text::check_there(run)
}

/// Runs the job without faults and keeps its result.
fn learn(job: Job, folder: &RunFolder, root: &Path) -> Result<(), FaultsError> {
    let scratch = Scratch::in_memory()?;
    let run = scratch.file("run");
    copy_folder(root, &run)?;
    if !job.run(Executor::Command, &run)? {
        let said = RunFolder::new(&run).said();
        let said = fs::read_to_string(&said).map_err(FaultsError::at(&said))?;
        return Err(FaultsError::unexpected(format!(
            "{} fails without a fault: {said}",
            job.name()
        )));
    }
    let after = RunFolder::new(&run);
    let keep = |from: &Path, name: &str| {
        let bytes = fs::read(from).map_err(FaultsError::at(from))?;
        put(&folder.expected(name), &bytes)
    };
    match job {
        Job::Export => keep(&after.export(), "export.jsonl"),
        Job::Init => keep(&after.team_file(), "tertulia.toml"),
        Job::Branch => {
            let entries = judge::entries_of(&open(&after.store())?, "new")?;
            put(&folder.expected("branch"), entries.to_string().as_bytes())
        }
        _ => Ok(()),
    }
}

/// Returns an entry of the imported file.
pub(super) fn imported(number: usize) -> Entry {
    said(&format!("i{number}"), &format!("message {number}"))
}

fn said(id: &str, text: &str) -> Entry {
    let speaker = Speaker::new("ann", "Ann", SpeakerType::Human);
    NewEntry::new(EntryKind::Message(Message::said(speaker, text))).with_id(EntryId::from(id))
}

/// Returns the entry of session `s0` at which it is branched.
pub(super) fn branched_from() -> EntryId {
    Batch::new("w0", 8).id(0)
}

pub(super) fn name(text: &str) -> Result<SessionId, FaultsError> {
    Ok(text.parse::<SessionId>().map_err(StoreError::from)?)
}
