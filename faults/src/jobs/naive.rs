//! The controls: each job without any protection against faults. Without a fault the result equals
//! that of the command; a killed run leaves something that the judge must reject.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use tertulia_session::Entry;
use tertulia_store::{Append, Import, NewSession, Range, SessionStore};

use super::run_folder::RunFolder;
use super::template::{IMPORTED, REDACTED, branched_from, imported, name};
use super::{Job, secret_text, trust_list};
use crate::error::FaultsError;
use crate::scratch::{open, put};

/// Number of pieces in which a file is written, and of entries per append.
const PIECES: usize = 8;
const BATCH: usize = 200;

pub(super) fn run(job: Job, run: &RunFolder) -> Result<(), FaultsError> {
    match job {
        Job::Backup => {
            let whole = run.temporary().join("whole.db");
            open(&run.store())?.backup(&whole)?;
            write_in_pieces(&run.backup(), &read(&whole)?)?;
            fs::remove_file(&whole).map_err(FaultsError::at(&whole))
        }
        Job::Restore => restore_one_by_one(run),
        Job::Import => {
            let store = open(&run.store())?;
            let id = name("new")?;
            store.create(&NewSession { id: Some(id.clone()) })?;
            // The session starts with its own header.
            append_in_batches(&store, "new", &(1..IMPORTED).map(imported).collect::<Vec<_>>())
        }
        Job::Export => write_in_pieces(&run.export(), &read(&run.expected("export.jsonl"))?),
        Job::Migration => {
            let mut copy = run.store().into_os_string();
            copy.push(".v1.bak");
            write_in_pieces(Path::new(&copy), &read(&run.store())?)?;
            Ok(open(&run.store())?.rename(&name("talk")?, "Renamed")?)
        }
        Job::Branch => branch_visibly(run),
        Job::Delete | Job::Redact => forget_with_a_copy(job, run),
        Job::Trust => {
            let mut lines = trust_list::before();
            lines.push(trust_list::line_of(run));
            write_in_pieces(&run.trusted(), trust_list::text(&lines).as_bytes())
        }
        Job::Init => write_in_pieces(&run.team_file(), &read(&run.expected("tertulia.toml"))?),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, FaultsError> {
    fs::read(path).map_err(FaultsError::at(path))
}

/// Writes a file under its final name, piece by piece.
fn write_in_pieces(path: &Path, bytes: &[u8]) -> Result<(), FaultsError> {
    let mut options = OpenOptions::new();
    let file = std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = file.write(true).create(true).truncate(true).open(path);
    let mut file: File = file.map_err(FaultsError::at(path))?;
    let written = bytes
        .chunks(bytes.len().div_ceil(PIECES).max(1))
        .try_for_each(|piece| file.write_all(piece));
    written.and_then(|()| file.sync_all()).map_err(FaultsError::at(path))
}

/// Each session is visible as soon as it is created.
fn restore_one_by_one(run: &RunFolder) -> Result<(), FaultsError> {
    let (from, into) = (SessionStore::memory(), open(&run.store())?);
    from.restore(&run.made())?;
    for id in from.ids()? {
        let mut import = Import::begin(&into)?;
        for stored in from.load(&id, &Range::All)? {
            import.push(stored.entry)?;
        }
        import.finish(&NewSession { id: Some(id) })?;
    }
    Ok(())
}

/// A session that is visible while it is filled.
fn append_in_batches(
    store: &SessionStore,
    session: &str,
    entries: &[Entry],
) -> Result<(), FaultsError> {
    let id = name(session)?;
    for batch in entries.chunks(BATCH.min(entries.len().div_ceil(PIECES))) {
        store.append(&id, Append::new(batch.to_vec()))?;
    }
    Ok(())
}

fn branch_visibly(run: &RunFolder) -> Result<(), FaultsError> {
    let store = open(&run.store())?;
    let range = Range::Branch { tail: Some(branched_from()), limit: None };
    let mut entries: Vec<_> =
        store.load(&name("s0")?, &range)?.into_iter().map(|stored| stored.entry).collect();
    // The command adds its own entries, which are not guaranteed; only their number matters.
    let all = run.expected("branch");
    let all = fs::read_to_string(&all).map_err(FaultsError::at(&all))?;
    let all: usize = all.parse().map_err(|_| FaultsError::unexpected("no number of entries"))?;
    entries.retain(|entry| !entry.is_purged());
    let missing = all.saturating_sub(entries.len() + 1);
    entries.extend((0..missing).map(imported));
    store.create(&NewSession { id: Some(name("new")?) })?;
    append_in_batches(&store, "new", &entries)
}

/// Keeps the text in a file next to the database until everything has succeeded, as an undo copy.
fn forget_with_a_copy(job: Job, run: &RunFolder) -> Result<(), FaultsError> {
    let store = open(&run.store())?;
    let (id, undo) = (name("secret")?, run.home().join("undo"));
    if !store.has(&id)? || store.entry(&id, &REDACTED.into())?.entry.is_purged() {
        return Ok(());
    }
    put(&undo, secret_text::SECRET.as_bytes())?;
    if job == Job::Delete {
        store.delete(&id)?;
    } else {
        store.redact(&id, &REDACTED.into(), None)?;
        let history = run.home().join("chat_history");
        fs::remove_file(&history).map_err(FaultsError::at(&history))?;
    }
    store.remove_old_copies()?;
    fs::remove_file(&undo).map_err(FaultsError::at(&undo))
}
