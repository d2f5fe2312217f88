//! Checks the files that a job left, given its report: everything or nothing, earlier data unharmed, a
//! retry works, and nothing is left over. Runs in a process without faults.

use std::fs;
use std::path::{Path, PathBuf};

use tertulia_store::{Import, Range, SessionStore, StoreError};

use super::run_folder::RunFolder;
use super::template::{IMPORTED, REDACTED, SESSIONS, name};
use super::{Executor, Job, secret_text, trust_list};
use crate::error::FaultsError;
use crate::scratch::{database, open, put};

/// Number of entries in the old store.
const OLD_ENTRIES: usize = 3;
/// A command prints this for a file from which it could not remove a text.
const NOT_GONE: &str = "still in ";

/// The report of a command to its caller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Reported {
    /// Whether it succeeded.
    pub(crate) is_done: bool,
    /// Its complete output.
    pub(crate) said: String,
}

/// Returns whether the result of the job exists; fails if it exists in part, or if anything else is
/// wrong.
pub(crate) fn judge(
    job: Job,
    executor: Executor,
    root: &Path,
    reported: &Reported,
) -> Result<bool, FaultsError> {
    let run = RunFolder::new(root);
    let is_about_text = matches!(job, Job::Delete | Job::Redact);
    let is_there = look(job, &run)?;
    if reported.is_done {
        if !is_there {
            return Err(FaultsError::unexpected("it reported success, but there is no result"));
        }
        if is_about_text && !reported.said.contains(NOT_GONE) {
            secret_text::check_gone(&run)?;
        }
        return Ok(true);
    }
    // Retries in a process without faults. If everything exists already, the command may say so and
    // fail.
    let is_again = job.run(executor, root)?;
    if !is_there && !is_again {
        let said = fs::read_to_string(run.said()).unwrap_or_default();
        return Err(FaultsError::unexpected(format!(
            "the same command fails again: {}",
            said.trim_end()
        )));
    }
    if !look(job, &run)? {
        return Err(FaultsError::unexpected("a retry does not create the result either"));
    }
    if job == Job::Trust && !trust_list::is_trusted_here(&run) {
        return Err(FaultsError::unexpected("a retry does not make the team file trusted either"));
    }
    if is_about_text {
        secret_text::check_gone(&run)?;
    }
    nothing_is_left(&run, is_again)?;
    Ok(is_there)
}

/// Returns whether the result exists, and checks the earlier data.
fn look(job: Job, run: &RunFolder) -> Result<bool, FaultsError> {
    if matches!(job, Job::Trust | Job::Init) {
        let is_trusted = trust_list::look(run)?;
        return if job == Job::Trust { Ok(is_trusted) } else { same_file(&run.team_file(), run) };
    }
    if job == Job::Migration {
        return old_is_there(run);
    }
    let store = open(&run.store())?;
    check_whole(&store)?;
    check_kept(&store, run)?;
    match job {
        Job::Backup => {
            let file = run.backup();
            if !file.exists() {
                return Ok(false);
            }
            all_or_none(SessionStore::memory().restore(&file)?, SESSIONS)
        }
        Job::Restore => all_or_none(store.ids()?.len() as u64 - 1, SESSIONS),
        Job::Import => all_or_none(entries_of(&store, "new")?, IMPORTED as u64),
        Job::Branch => all_or_none(entries_of(&store, "new")?, expected_entries(run, "branch")?),
        Job::Export => same_file(&run.export(), run),
        Job::Delete => {
            let (found, all) = (entries_of(&store, "secret")?, expected_entries(run, "secret")?);
            all_or_none(found, all).map(|is_kept| !is_kept)
        }
        Job::Redact => redacted(&store, expected_entries(run, "secret")?),
        Job::Migration | Job::Trust | Job::Init => {
            Err(FaultsError::unexpected("this job uses no store"))
        }
    }
}

/// Returns whether a file exists; fails if it differs from the one that a run without faults
/// writes.
fn same_file(path: &Path, run: &RunFolder) -> Result<bool, FaultsError> {
    let Ok(found) = fs::read(path) else { return Ok(false) };
    let expected = run.expected(&path.file_name().unwrap_or_default().to_string_lossy());
    let expected = fs::read(&expected).map_err(FaultsError::at(&expected))?;
    match found == expected {
        true => Ok(true),
        false => {
            let what = format!("a file has only {} of {} bytes", found.len(), expected.len());
            Err(FaultsError::unexpected(what))
        }
    }
}

/// Returns the recorded number of entries of a complete session.
fn expected_entries(run: &RunFolder, name: &str) -> Result<u64, FaultsError> {
    let file = run.expected(name);
    let all = fs::read_to_string(&file).map_err(FaultsError::at(&file))?;
    all.parse().map_err(|_| FaultsError::unexpected(format!("{} holds {all:?}", file.display())))
}

/// Returns whether the entry is purged; a redaction adds one entry, and all others must be
/// readable.
fn redacted(store: &SessionStore, before: u64) -> Result<bool, FaultsError> {
    let entries = store.load(&name("secret")?, &Range::All)?;
    let readable = entries.iter().filter(|stored| !stored.entry.is_purged()).count() as u64;
    if readable != before {
        return Err(FaultsError::unexpected(format!("{readable} of {before} entries can be read")));
    }
    let entry = entries.iter().find(|stored| stored.entry.id.as_str() == REDACTED);
    let entry = entry.ok_or_else(|| FaultsError::unexpected("the entry is missing completely"))?;
    if entry.entry.is_purged() {
        return Ok(true);
    }
    // An entry that readers see as redacted must be purged too.
    match store.entries_with_text(secret_text::SECRET, None)?.len() {
        1 => Ok(false),
        found => Err(FaultsError::unexpected(format!("{found} entries hold the text"))),
    }
}

/// Checks that every copy made before the migration opens, and so does the store.
fn old_is_there(run: &RunFolder) -> Result<bool, FaultsError> {
    let folder = run.home();
    let found = fs::read_dir(&folder).map_err(FaultsError::at(&folder))?;
    let copies = found.flatten().map(|one| one.path());
    let copies: Vec<PathBuf> =
        copies.filter(|path| path.extension() == Some("bak".as_ref())).collect();
    for copy in &copies {
        let inner = run.expected("copy");
        fs::create_dir_all(&inner).map_err(FaultsError::at(&inner))?;
        let file = database(&inner);
        put(&file, &fs::read(copy).map_err(FaultsError::at(copy))?)?;
        let entries = open(&file)?.load(&name("talk")?, &Range::All)?.len();
        all_or_none(entries as u64, OLD_ENTRIES as u64)?;
        fs::remove_dir_all(&inner).map_err(FaultsError::at(&inner))?;
    }
    let store = open(&run.store())?;
    check_whole(&store)?;
    let talk = name("talk")?;
    let entries = store.load(&talk, &Range::All)?.len();
    if entries < OLD_ENTRIES || copies.len() > 1 {
        let what = format!("{entries} entries after the migration, {} copies", copies.len());
        return Err(FaultsError::unexpected(what));
    }
    Ok(store.info(&talk)?.has_own_title)
}

fn all_or_none(found: u64, all: u64) -> Result<bool, FaultsError> {
    match found {
        0 => Ok(false),
        found if found == all => Ok(true),
        found => Err(FaultsError::unexpected(format!("{found} of {all}"))),
    }
}

pub(super) fn entries_of(store: &SessionStore, session: &str) -> Result<u64, FaultsError> {
    match store.info(&name(session)?) {
        Ok(info) => Ok(info.entries),
        Err(StoreError::SessionNotFound(_)) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// Checks the database and every session in it.
fn check_whole(store: &SessionStore) -> Result<(), FaultsError> {
    if let Some(line) = store.check()?.into_iter().next() {
        return Err(FaultsError::unexpected(line));
    }
    for id in store.ids()? {
        if let Some(damage) = store.verify(&id)?.damage {
            return Err(FaultsError::unexpected(format!("{id}: {damage:?}")));
        }
    }
    Ok(())
}

/// Records the ends of the sessions that no job changes.
pub(super) fn note_sessions(job: Job, run: &RunFolder) -> Result<(), FaultsError> {
    if matches!(job, Job::Migration | Job::Trust | Job::Init) {
        return Ok(());
    }
    let store = open(&run.store())?;
    if matches!(job, Job::Delete | Job::Redact) {
        let entries = entries_of(&store, "secret")?;
        put(&run.expected("secret"), entries.to_string().as_bytes())?;
    }
    put(&run.expected("sessions"), ends_of(&store)?.join("\n").as_bytes())
}

/// Checks that the sessions that no job changes are unchanged.
fn check_kept(store: &SessionStore, run: &RunFolder) -> Result<(), FaultsError> {
    let file = run.expected("sessions");
    let expected = fs::read_to_string(&file).map_err(FaultsError::at(&file))?;
    let found = ends_of(store)?;
    match expected.lines().find(|line| !found.iter().any(|one| one == line)) {
        None => Ok(()),
        Some(line) => Err(FaultsError::unexpected(format!("a session has changed: {line}"))),
    }
}

/// Returns the ends of the sessions, except for the one that a job may change.
fn ends_of(store: &SessionStore) -> Result<Vec<String>, FaultsError> {
    let ids = store.ids()?.into_iter().filter(|id| id.as_str() != "secret");
    let end = |id| {
        let info = store.info(&id)?;
        Ok(format!("{id} {} {}", info.entries, info.chain_hash))
    };
    ids.map(end).collect()
}

/// Checks that there is no hidden session, and no temporary file once the command succeeded.
fn nothing_is_left(run: &RunFolder, is_again: bool) -> Result<(), FaultsError> {
    if is_again {
        secret_text::check_no_parts(run)?;
    }
    if !run.store().exists() {
        return Ok(());
    }
    let store = open(&run.store())?;
    if !is_again {
        // The command found everything in place and did nothing. The next import cleans up.
        drop(Import::begin(&store)?);
    }
    let left = store.left_behind()?;
    match left.sessions {
        0 => Ok(()),
        _ => Err(FaultsError::unexpected(format!("left behind: {left:?}"))),
    }
}
