//! Temporary folders of a role: on disk where syncs must be real, in memory where only speed
//! matters.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tertulia_store::{SessionStore, StoreError, StoreUrl};

use crate::error::FaultsError;

const MEMORY: &str = "/dev/shm";

/// A private folder for files.
pub(crate) struct Scratch {
    folder: TempDir,
}

impl Scratch {
    pub(crate) fn on_disk() -> Result<Self, FaultsError> {
        let folder = TempDir::new().map_err(FaultsError::io("a folder for the files"))?;
        Ok(Self { folder })
    }

    /// Uses memory if the machine has a folder for that.
    pub(crate) fn in_memory() -> Result<Self, FaultsError> {
        match TempDir::new_in(MEMORY) {
            Ok(folder) => Ok(Self { folder }),
            Err(_) => Self::on_disk(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Creates a folder in it.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf, FaultsError> {
        let folder = self.file(name);
        fs::create_dir_all(&folder).map_err(FaultsError::at(&folder))?;
        Ok(folder)
    }
}

/// Returns the path of the store in a folder.
pub(crate) fn database(folder: &Path) -> PathBuf {
    folder.join("sessions.db")
}

/// Opens a store file.
pub(crate) fn open(file: &Path) -> Result<SessionStore, StoreError> {
    SessionStore::open(&StoreUrl::Sqlite(file.to_owned()))
}

/// Removes all files of a folder.
pub(crate) fn clear(folder: &Path) -> Result<(), FaultsError> {
    for file in fs::read_dir(folder).map_err(FaultsError::at(folder))? {
        let file = file.map_err(FaultsError::at(folder))?.path();
        fs::remove_file(&file).map_err(FaultsError::at(&file))?;
    }
    Ok(())
}

/// Writes a file as the store would create it: private to its owner.
pub(crate) fn put(file: &Path, bytes: &[u8]) -> Result<(), FaultsError> {
    let made = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(file);
    made.and_then(|mut made| made.write_all(bytes)).map_err(FaultsError::at(file))
}
