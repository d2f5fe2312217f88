//! Saves a new session of an agent together with the small files in which the agent looks it up: the name of its folder,
//! its title, or its line in a list.

#![expect(clippy::disallowed_methods, reason = "it writes files")]

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use tertulia_native::{Beside, NativeError, Placing, Target};
use tertulia_store::{NewFile, Readers};

use super::save::{SaveError, Saved, create, ends_in_line, undo};

/// How often a list that changes meanwhile is read again.
const TRIES: usize = 8;
/// How often a lock is tried, and how long between: together as long as Gemini CLI waits for it.
const LOCK_TRIES: usize = 100;
const LOCK_PAUSE: Duration = Duration::from_millis(100);
/// An older lock was left by a process that ended; Gemini CLI removes it, too.
const LOCK_STALE: Duration = Duration::from_secs(10);

/// What became of a new session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewSession {
    Saved(Saved),
    /// Nothing was saved: this command of the agent imports it.
    Command {
        program: &'static str,
        arguments: &'static [&'static str],
    },
}

/// Saves a new session. The target is determined again if a list that it depends on changes meanwhile.
pub fn save_new(
    target: impl Fn() -> Result<Target, NativeError>,
    text: &[u8],
) -> Result<NewSession, SaveError> {
    let mut changed = None;
    for _ in 0..TRIES {
        let (path, beside) = match target()? {
            Target::File { path, beside } => (path, beside),
            Target::Command { program, arguments } => {
                return Ok(NewSession::Command { program, arguments });
            }
        };
        // A line names a session that exists, so it comes last.
        let (last, first): (Vec<Beside>, Vec<Beside>) =
            beside.into_iter().partition(|one| one.placing == Placing::Append);
        match first.iter().try_for_each(|one| place(one, LOCK_TRIES)) {
            Err(SaveError::ListChanged(path)) => {
                changed = Some(path);
                continue;
            }
            placed => placed?,
        }
        let saved = create(&path, text)?;
        if let Err(error) = last.iter().try_for_each(|one| place(one, LOCK_TRIES)) {
            undo(&saved, None)?;
            return Err(error);
        }
        return Ok(NewSession::Saved(saved));
    }
    Err(SaveError::ListChanged(changed.unwrap_or_default()))
}

/// Puts a small file in place.
fn place(one: &Beside, lock_tries: usize) -> Result<(), SaveError> {
    match &one.placing {
        Placing::IfMissing => match create(&one.path, one.text.as_bytes()) {
            Err(SaveError::Exists(_)) => Ok(()),
            created => created.map(drop),
        },
        Placing::Append => {
            let added = add_line(&one.path, &one.text);
            added.map_err(|source| SaveError::Io { path: one.path.clone(), source })
        }
        Placing::Replace { seen } => replace(&one.path, &one.text, seen.as_deref(), lock_tries),
    }
}

/// Adds a line to a file to which other programs add lines, too.
fn add_line(path: &Path, line: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file =
        OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    let is_whole = file.metadata()?.len() == 0 || ends_in_line(&mut file)?;
    let added = format!("{}{line}", if is_whole { "" } else { "\n" });
    // One call, so that no other program's line gets between two halves of ours.
    file.write_all(added.as_bytes())?;
    file.sync_all()
}

/// Replaces a file that still has the text from which the new one was made.
fn replace(
    path: &Path,
    text: &str,
    seen: Option<&str>,
    lock_tries: usize,
) -> Result<(), SaveError> {
    let failed = |source| SaveError::Io { path: path.to_owned(), source };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let _lock = Lock::take(path, lock_tries)?;
    let now = match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        read => Some(read.map_err(failed)?),
    };
    if now.as_deref() != seen {
        return Err(SaveError::ListChanged(path.to_owned()));
    }
    Ok(NewFile::replace_with(path, text.as_bytes(), Readers::Owner)?)
}

/// The lock of a file as Gemini CLI takes it: a folder beside the file. It is removed with this value.
struct Lock(PathBuf);

impl Lock {
    fn take(path: &Path, tries: usize) -> Result<Self, SaveError> {
        // The lock is beside the file that a link leads to.
        let mut folder = path.canonicalize().unwrap_or_else(|_| path.to_owned()).into_os_string();
        folder.push(".lock");
        let folder = PathBuf::from(folder);
        for attempt in 1..=tries {
            match fs::create_dir(&folder) {
                Ok(()) => return Ok(Self(folder)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(source) => return Err(SaveError::Io { path: folder, source }),
            }
            if is_stale(&folder) {
                // Another process may have removed it meanwhile; the next try shows.
                let _ = fs::remove_dir(&folder);
            } else if attempt < tries {
                thread::sleep(LOCK_PAUSE);
            }
        }
        Err(SaveError::Locked { path: path.to_owned(), lock: folder })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // If this fails, the lock is stale soon.
        let _ = fs::remove_dir(&self.0);
    }
}

fn is_stale(lock: &Path) -> bool {
    let modified = lock.metadata().and_then(|found| found.modified());
    modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > LOCK_STALE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::time::SystemTime;

    fn list(folder: &Path, seen: Option<&str>) -> Beside {
        let placing = Placing::Replace { seen: seen.map(str::to_owned) };
        Beside { path: folder.join("projects.json"), text: "new".to_owned(), placing }
    }

    #[test]
    fn a_line_is_added_and_the_lines_of_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/session_index.jsonl");
        add_line(&path, "{\"id\":1}\n").unwrap();
        // Another program was interrupted.
        fs::write(&path, "{\"id\":1}\n{\"id\":2").unwrap();
        add_line(&path, "{\"id\":3}\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"id\":1}\n{\"id\":2\n{\"id\":3}\n");
    }

    #[test]
    fn a_list_that_changed_meanwhile_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let one = list(folder.path(), Some("old"));
        fs::write(&one.path, "newer").unwrap();
        assert!(matches!(place(&one, 1), Err(SaveError::ListChanged(_))));
        assert_eq!(fs::read_to_string(&one.path).unwrap(), "newer");
        place(&list(folder.path(), Some("newer")), 1).unwrap();
        assert_eq!(fs::read_to_string(&one.path).unwrap(), "new");
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 1, "the lock is gone");
    }

    #[test]
    fn a_list_that_its_agent_has_locked_is_not_replaced_unless_the_lock_is_old() {
        let folder = tempfile::tempdir().unwrap();
        let one = list(folder.path(), None);
        let lock = folder.path().join("projects.json.lock");
        fs::create_dir(&lock).unwrap();
        let error = place(&one, 1).unwrap_err();
        assert!(error.to_string().contains("is locked by Gemini CLI"), "{error}");
        assert!(!one.path.exists());
        let old = SystemTime::now() - Duration::from_secs(60);
        File::open(&lock).unwrap().set_modified(old).unwrap();
        place(&one, 2).unwrap();
        assert!(one.path.exists() && !lock.exists());
    }

    #[test]
    fn a_target_is_determined_again_if_its_list_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        let tries = std::cell::Cell::new(0);
        let target = || {
            tries.set(tries.get() + 1);
            // The first time, the list looks as if it existed.
            let seen = (tries.get() == 1).then_some("gone");
            Ok(Target::File { path: path.clone(), beside: vec![list(folder.path(), seen)] })
        };
        let saved = save_new(target, b"{}\n").unwrap();
        assert!(matches!(saved, NewSession::Saved(saved) if saved.path == path));
        assert_eq!(tries.get(), 2);
    }
}
