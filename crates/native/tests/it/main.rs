//! Finding and reading the sessions of agents, with files and databases in a temporary folder for each test.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on has failed; it writes the files that are read"
)]

mod databases;
mod finding;
mod reading;
mod trees;

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tertulia_dialect::native::NativeFormat;
use tertulia_native::{Environment, FoundSession, Place};

/// A temporary home folder.
struct Home {
    folder: TempDir,
}

impl Home {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn environment(&self) -> Environment {
        let temporary = self.path().join("tmp");
        fs::create_dir_all(&temporary).unwrap();
        Environment::new(self.path().join("home"), temporary)
    }

    /// Writes a file in the home folder.
    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join("home").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }
}

/// Returns the description of a session in a file.
fn session(format: NativeFormat, path: &Path) -> FoundSession {
    FoundSession {
        format,
        native_id: "s".to_owned(),
        folder: None,
        title: None,
        started: None,
        updated: None,
        size: None,
        side_files: Vec::new(),
        place: Place::File(path.to_owned()),
    }
}
