//! What a job left, by what it had reported: all of it or nothing, what was there before unharmed, the same
//! again works, and nothing is left behind. Runs in a process that is sound.

use std::fs;
use std::path::{Path, PathBuf};

use tertulia_store::{Import, Range, SessionStore, StoreError};

use super::place::Place;
use super::template::{IMPORTED, REDACTED, SESSIONS, name};
use super::{How, Job, lists, texts};
use crate::error::FaultsError;
use crate::scratch::{database, open, put};

/// How many entries the old store has.
const OLD_ENTRIES: usize = 3;
/// What a command says of a file that it could not take a text out of.
const NOT_GONE: &str = "still in ";

/// What a command had told whoever called it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Told {
    /// That it succeeded.
    pub(crate) is_done: bool,
    /// All that it said.
    pub(crate) said: String,
}

/// Says whether what the job should give is there; an error if it is there in part, or anything else is
/// wrong.
pub(crate) fn judge(job: Job, how: How, root: &Path, told: &Told) -> Result<bool, FaultsError> {
    let place = Place::new(root);
    let is_about_text = matches!(job, Job::Delete | Job::Redact);
    let is_there = look(job, &place)?;
    if told.is_done {
        if !is_there {
            return Err(FaultsError::unfit("it reported success and nothing is there"));
        }
        if is_about_text && !told.said.contains(NOT_GONE) {
            texts::check_gone(&place)?;
        }
        return Ok(true);
    }
    // The same again, by a process whose disk is sound. Where all is there, it may say so and fail.
    let is_again = job.run(how, root)?;
    if !is_there && !is_again {
        let said = fs::read_to_string(place.said()).unwrap_or_default();
        return Err(FaultsError::unfit(format!("the same again fails: {}", said.trim_end())));
    }
    if !look(job, &place)? {
        return Err(FaultsError::unfit("it does not come about afterwards either"));
    }
    if job == Job::Trust && !lists::is_trusted_here(&place) {
        return Err(FaultsError::unfit("the team file is not trusted afterwards either"));
    }
    if is_about_text {
        texts::check_gone(&place)?;
    }
    nothing_is_left(&place, is_again)?;
    Ok(is_there)
}

/// Whether it is there, with what was there before.
fn look(job: Job, place: &Place) -> Result<bool, FaultsError> {
    if matches!(job, Job::Trust | Job::Init) {
        let is_trusted = lists::look(place)?;
        return if job == Job::Trust {
            Ok(is_trusted)
        } else {
            same_file(&place.team_file(), place)
        };
    }
    if job == Job::Migration {
        return old_is_there(place);
    }
    let store = open(&place.store())?;
    check_whole(&store)?;
    check_kept(&store, place)?;
    match job {
        Job::Backup => {
            let file = place.backup();
            if !file.exists() {
                return Ok(false);
            }
            all_or_none(SessionStore::memory().restore(&file)?, SESSIONS)
        }
        Job::Restore => all_or_none(store.ids()?.len() as u64 - 1, SESSIONS),
        Job::Import => all_or_none(entries_of(&store, "new")?, IMPORTED as u64),
        Job::Branch => all_or_none(entries_of(&store, "new")?, expected_entries(place, "branch")?),
        Job::Export => same_file(&place.export(), place),
        Job::Delete => {
            let (found, all) = (entries_of(&store, "secret")?, expected_entries(place, "secret")?);
            all_or_none(found, all).map(|is_kept| !is_kept)
        }
        Job::Redact => redacted(&store, expected_entries(place, "secret")?),
        Job::Migration | Job::Trust | Job::Init => Err(FaultsError::unfit("no job of a store")),
    }
}

/// Whether a file is there; an error if it is another one than a run without faults writes.
fn same_file(path: &Path, place: &Place) -> Result<bool, FaultsError> {
    let Ok(found) = fs::read(path) else { return Ok(false) };
    let expected = place.expected(&path.file_name().unwrap_or_default().to_string_lossy());
    let expected = fs::read(&expected).map_err(FaultsError::at(&expected))?;
    match found == expected {
        true => Ok(true),
        false => {
            let what = format!("a file has {} of {} bytes", found.len(), expected.len());
            Err(FaultsError::unfit(what))
        }
    }
}

/// How many entries a session has that is whole, as it was noted before.
fn expected_entries(place: &Place, name: &str) -> Result<u64, FaultsError> {
    let file = place.expected(name);
    let all = fs::read_to_string(&file).map_err(FaultsError::at(&file))?;
    all.parse().map_err(|_| FaultsError::unfit(format!("{} holds {all:?}", file.display())))
}

/// Whether the entry is purged; a redaction is one entry more, and all others can be read.
fn redacted(store: &SessionStore, before: u64) -> Result<bool, FaultsError> {
    let entries = store.load(&name("secret")?, &Range::All)?;
    let readable = entries.iter().filter(|stored| !stored.entry.is_purged()).count() as u64;
    if readable != before {
        return Err(FaultsError::unfit(format!("{readable} of {before} entries can be read")));
    }
    let entry = entries.iter().find(|stored| stored.entry.id.as_str() == REDACTED);
    let entry = entry.ok_or_else(|| FaultsError::unfit("the entry is gone as a whole"))?;
    if entry.entry.is_purged() {
        return Ok(true);
    }
    // One that counts as redacted for readers must be purged too.
    match store.entries_with_text(texts::SECRET, None)?.len() {
        1 => Ok(false),
        found => Err(FaultsError::unfit(format!("{found} entries hold the text"))),
    }
}

/// Every copy that was made before the migration opens, and so does the store.
fn old_is_there(place: &Place) -> Result<bool, FaultsError> {
    let folder = place.home();
    let found = fs::read_dir(&folder).map_err(FaultsError::at(&folder))?;
    let copies = found.flatten().map(|one| one.path());
    let copies: Vec<PathBuf> =
        copies.filter(|path| path.extension() == Some("bak".as_ref())).collect();
    for copy in &copies {
        let inner = place.expected("copy");
        fs::create_dir_all(&inner).map_err(FaultsError::at(&inner))?;
        let file = database(&inner);
        put(&file, &fs::read(copy).map_err(FaultsError::at(copy))?)?;
        let entries = open(&file)?.load(&name("talk")?, &Range::All)?.len();
        all_or_none(entries as u64, OLD_ENTRIES as u64)?;
        fs::remove_dir_all(&inner).map_err(FaultsError::at(&inner))?;
    }
    let store = open(&place.store())?;
    check_whole(&store)?;
    let talk = name("talk")?;
    let entries = store.load(&talk, &Range::All)?.len();
    if entries < OLD_ENTRIES || copies.len() > 1 {
        let what = format!("{entries} entries after the migration, {} copies", copies.len());
        return Err(FaultsError::unfit(what));
    }
    Ok(store.info(&talk)?.has_own_title)
}

fn all_or_none(found: u64, all: u64) -> Result<bool, FaultsError> {
    match found {
        0 => Ok(false),
        found if found == all => Ok(true),
        found => Err(FaultsError::unfit(format!("{found} of {all}"))),
    }
}

pub(super) fn entries_of(store: &SessionStore, session: &str) -> Result<u64, FaultsError> {
    match store.info(&name(session)?) {
        Ok(info) => Ok(info.entries),
        Err(StoreError::SessionNotFound(_)) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

/// The database and every session in it fit together.
fn check_whole(store: &SessionStore) -> Result<(), FaultsError> {
    if let Some(line) = store.check()?.into_iter().next() {
        return Err(FaultsError::unfit(line));
    }
    for id in store.ids()? {
        if let Some(damage) = store.verify(&id)?.damage {
            return Err(FaultsError::unfit(format!("{id}: {damage:?}")));
        }
    }
    Ok(())
}

/// Writes down how the sessions end that no job changes.
pub(super) fn note_sessions(job: Job, place: &Place) -> Result<(), FaultsError> {
    if matches!(job, Job::Migration | Job::Trust | Job::Init) {
        return Ok(());
    }
    let store = open(&place.store())?;
    if matches!(job, Job::Delete | Job::Redact) {
        let entries = entries_of(&store, "secret")?;
        put(&place.expected("secret"), entries.to_string().as_bytes())?;
    }
    put(&place.expected("sessions"), ends_of(&store)?.join("\n").as_bytes())
}

/// The sessions that no job changes are as they were.
fn check_kept(store: &SessionStore, place: &Place) -> Result<(), FaultsError> {
    let file = place.expected("sessions");
    let expected = fs::read_to_string(&file).map_err(FaultsError::at(&file))?;
    let found = ends_of(store)?;
    match expected.lines().find(|line| !found.iter().any(|one| one == line)) {
        None => Ok(()),
        Some(line) => Err(FaultsError::unfit(format!("a session is not as it was: {line}"))),
    }
}

/// How sessions end, without the one that a job may change.
fn ends_of(store: &SessionStore) -> Result<Vec<String>, FaultsError> {
    let ids = store.ids()?.into_iter().filter(|id| id.as_str() != "secret");
    let end = |id| {
        let info = store.info(&id)?;
        Ok(format!("{id} {} {}", info.entries, info.head))
    };
    ids.map(end).collect()
}

/// No hidden session, and no temporary file once the command succeeded.
fn nothing_is_left(place: &Place, is_again: bool) -> Result<(), FaultsError> {
    if is_again {
        texts::check_no_parts(place)?;
    }
    if !place.store().exists() {
        return Ok(());
    }
    let store = open(&place.store())?;
    if !is_again {
        // The command found that all was there, and did nothing. Whoever imports next tidies up.
        drop(Import::begin(&store)?);
    }
    let left = store.left_behind()?;
    match left.sessions {
        0 => Ok(()),
        _ => Err(FaultsError::unfit(format!("left behind: {left:?}"))),
    }
}
