//! Writes files atomically. A file is written under a temporary name in the same folder, synced,
//! and then published under its final name. An existing file is never replaced by accident.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::clock::random_u64;

/// The suffix of temporary names. The writing process keeps the temporary file locked.
const ENDING: &str = ".tertulia-part";

/// The users who may read a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    Owner,
    /// Everybody whom the umask allows.
    Umask,
}

/// The error of a file that was not written. If there is a file of that name, it is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NewFileError {
    #[error("{} already exists and was not changed; name a new file", .0.display())]
    Exists(PathBuf),
    #[error(
        "{} cannot be created safely: its file system supports neither hard links nor renaming \
         without replacing; name a file on another file system",
        .0.display()
    )]
    Unsupported(PathBuf),
    #[error("cannot write {}: {source}", .path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl From<NewFileError> for io::Error {
    fn from(error: NewFileError) -> Self {
        match error {
            NewFileError::Io { source, .. } => source,
            other => Self::other(other),
        }
    }
}

/// A file being written. If it is dropped before it is published, it is removed.
#[derive(Debug)]
pub struct NewFile {
    file: File,
    part: PathBuf,
    path: PathBuf,
    is_published: bool,
}

impl NewFile {
    /// Starts a new file; fails with [`NewFileError::Exists`] if the name is taken.
    pub fn begin(path: &Path, readers: Readers) -> Result<Self, NewFileError> {
        match path.symlink_metadata() {
            Ok(_) => {
                let name = path.file_name().unwrap_or_default();
                remove_abandoned(path, name.as_encoded_bytes());
                Err(NewFileError::Exists(path.to_owned()))
            }
            Err(_) => Self::begin_replacement(path, readers),
        }
    }

    /// Starts a file that may replace another one; see [`replace`](Self::replace).
    pub fn begin_replacement(path: &Path, readers: Readers) -> Result<Self, NewFileError> {
        let failed = |source| NewFileError::Io { path: path.to_owned(), source };
        let name = path.file_name().ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
        remove_abandoned(path, name.as_encoded_bytes());
        loop {
            let mut part_name = std::ffi::OsString::from(".");
            part_name.push(name);
            part_name.push(format!(".{:016x}{ENDING}", random_u64()));
            let part = path.with_file_name(part_name);
            let mode = if readers == Readers::Owner { 0o600 } else { 0o666 };
            let file =
                OpenOptions::new().read(true).write(true).create_new(true).mode(mode).open(&part);
            let file = file.map_err(failed)?;
            // Before the file was locked, another process may have treated it as abandoned and removed it. On file
            // systems without locks this cannot happen.
            let is_taken = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
            if !is_taken && Self::is_at(&file, &part) {
                return Ok(Self { file, part, path: path.to_owned(), is_published: false });
            }
        }
    }

    /// Writes a complete file, replacing an existing one.
    pub fn replace_with(path: &Path, bytes: &[u8], readers: Readers) -> Result<(), NewFileError> {
        let mut new = Self::begin_replacement(path, readers)?;
        let written = new.write_all(bytes);
        written.map_err(|error| new.failed(error))?;
        new.replace()
    }

    /// Returns whether an open file is still the one at this path. Another process may have replaced or removed it.
    pub fn is_at(file: &File, path: &Path) -> bool {
        path.metadata().is_ok_and(|there| {
            file.metadata().is_ok_and(|here| here.ino() == there.ino() && here.dev() == there.dev())
        })
    }

    /// Returns the temporary path, for callers that write by path.
    pub fn part(&self) -> &Path {
        &self.part
    }

    /// Syncs the file and gives it its final name. Fails if the name is taken.
    pub fn publish(mut self) -> Result<(), NewFileError> {
        self.file.sync_all().map_err(|error| self.failed(error))?;
        match renameat_with(CWD, &self.part, CWD, &self.path, RenameFlags::NOREPLACE) {
            Ok(()) => {
                self.is_published = true;
                self.sync_folder()
            }
            Err(Errno::EXIST) => Err(NewFileError::Exists(self.path.clone())),
            // The file system or the kernel does not support this rename.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => self.link(),
            Err(error) => Err(self.failed(error.into())),
        }
    }

    /// Publishes the file by a hard link, which is as atomic as a rename but never replaces a file.
    fn link(self) -> Result<(), NewFileError> {
        match fs::hard_link(&self.part, &self.path) {
            // The temporary name is removed when this value is dropped.
            Ok(()) => self.sync_folder(),
            Err(error) => Err(match error.kind() {
                io::ErrorKind::AlreadyExists => NewFileError::Exists(self.path.clone()),
                io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied => {
                    NewFileError::Unsupported(self.path.clone())
                }
                _ => self.failed(error),
            }),
        }
    }

    /// Syncs the file and gives it its final name, replacing an existing file. Fails if there is something other
    /// than a regular file.
    pub fn replace(mut self) -> Result<(), NewFileError> {
        self.file.sync_all().map_err(|error| self.failed(error))?;
        if self.path.symlink_metadata().is_ok_and(|about| !about.is_file()) {
            return Err(NewFileError::Exists(self.path.clone()));
        }
        fs::rename(&self.part, &self.path).map_err(|error| self.failed(error))?;
        self.is_published = true;
        self.sync_folder()
    }

    /// Syncs the folder, which makes the new name durable.
    fn sync_folder(&self) -> Result<(), NewFileError> {
        sync_folder(&self.path).map_err(|error| self.failed(error))
    }

    fn failed(&self, source: io::Error) -> NewFileError {
        NewFileError::Io { path: self.path.clone(), source }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_published && Self::is_at(&self.file, &self.part) {
            remove_part(&self.part);
        }
    }
}

/// Removes the temporary files that killed processes left for this file. These are the ones that nobody has locked.
fn remove_abandoned(path: &Path, name: &[u8]) {
    let prefix = [b".", name, b"."].concat();
    let is_part = |found: &[u8]| {
        let number = found.strip_prefix(prefix.as_slice());
        let number = number.and_then(|rest| rest.strip_suffix(ENDING.as_bytes()));
        number.is_some_and(|number| {
            number.len() == 16 && number.iter().all(|byte| byte.is_ascii_hexdigit())
        })
    };
    for found in folder_of(path).read_dir().into_iter().flatten().flatten() {
        let part = found.path();
        if is_part(found.file_name().as_encoded_bytes())
            && part.symlink_metadata().is_ok_and(|about| about.is_file())
            && let Some(_locked) = lock_abandoned(&part)
        {
            remove_part(&part);
        }
    }
}

/// Locks a file that nobody else has locked, if it still has this name.
pub(crate) fn lock_abandoned(path: &Path) -> Option<File> {
    let file = OpenOptions::new().write(true).open(path).ok()?;
    (file.try_lock().is_ok() && NewFile::is_at(&file, path)).then_some(file)
}

pub(crate) fn is_part(name: &str) -> bool {
    name.ends_with(ENDING)
}

/// Returns whether a process is writing under this temporary name.
pub(crate) fn is_being_written(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(is_part)
        && OpenOptions::new()
            .write(true)
            .open(path)
            .is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

/// Removes a file and the files that SQLite may create next to it.
fn remove_part(part: &Path) {
    for ending in ["-journal", "-wal", "-shm", ""] {
        let _ = fs::remove_file(with_suffix(part, ending));
    }
}

/// Returns the path with this suffix appended to the file name.
pub(crate) fn with_suffix(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Syncs the folder of a file, so that the file's creation or removal is durable.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder_of(path)).and_then(|folder| folder.sync_all())
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::thread;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = folder
            .read_dir()
            .unwrap()
            .map(|one| one.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn written(path: &Path, text: &str) -> NewFile {
        let mut file = NewFile::begin(path, Readers::Owner).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    #[test]
    fn a_file_has_its_name_once_it_is_whole_and_is_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let file = written(&path, "whole");
        assert!(!path.exists());
        file.publish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "whole");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
        assert_eq!(names(folder.path()), ["a.db"]);
    }

    #[test]
    fn a_file_that_is_dropped_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = written(&folder.path().join("a.db"), "half");
        fs::write(folder.path().join(format!("{}-wal", file.part().display())), "x").unwrap();
        drop(file);
        assert_eq!(names(folder.path()), [""; 0]);
    }

    #[test]
    fn of_many_writers_of_one_name_only_one_succeeds() {
        let folder = tempfile::tempdir().unwrap();
        for round in 0..50 {
            let path = folder.path().join(format!("{round}.db"));
            let wins: Vec<Option<usize>> = thread::scope(|scope| {
                let path = &path;
                let write = |number: usize| {
                    let mut file = NewFile::begin(path, Readers::Owner).ok()?;
                    file.write_all(number.to_string().as_bytes()).ok()?;
                    file.publish().ok().map(|()| number)
                };
                let threads: Vec<_> = (0..4).map(|n| scope.spawn(move || write(n))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            let winners: Vec<usize> = wins.into_iter().flatten().collect();
            assert_eq!(winners.len(), 1, "round {round}");
            assert_eq!(fs::read_to_string(&path).unwrap(), winners[0].to_string());
        }
        assert_eq!(names(folder.path()).len(), 50, "nothing else is left");
    }

    #[test]
    fn a_name_that_was_taken_meanwhile_is_reported_and_nothing_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let file = written(&path, "new");
        fs::write(&path, "precious").unwrap();
        assert!(matches!(file.publish(), Err(NewFileError::Exists(_))));
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        assert_eq!(names(folder.path()), ["a.db"]);
        NewFile::replace_with(&path, b"wanted", Readers::Umask).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "wanted");
    }

    #[test]
    fn leftovers_of_killed_processes_are_removed_but_no_file_being_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let left = format!(".a.db.{:016x}{ENDING}", 7);
        let others = [".a.db.x.tertulia-part".to_owned(), format!(".b.db.{:016x}{ENDING}", 7)];
        for name in others.iter().chain([&left]) {
            fs::write(folder.path().join(name), "half").unwrap();
        }
        let one = written(&path, "one");
        let other = written(&path, "other");
        assert!(!folder.path().join(&left).exists());
        assert!(others.iter().all(|name| folder.path().join(name).exists()));
        assert!(one.part().exists() && other.part().exists());
        one.publish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
    }
}
