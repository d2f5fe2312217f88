//! Temporary stores for tests.

use tempfile::TempDir;
use tertulia_store::{SessionStore, StoreUrl};

use crate::postgres_server::Database;

/// A store of one test, removed at its end.
pub(crate) struct TestStore {
    pub(crate) store: SessionStore,
    url: StoreUrl,
    /// Whether another process could open the same sessions. Not true for memory.
    is_shared: bool,
    /// Removed with the store.
    _folder: Option<TempDir>,
    /// Removed with the store, after closing it.
    _database: Option<Database>,
}

impl TestStore {
    /// Creates a store in a separate file.
    pub(crate) fn sqlite() -> Self {
        let folder = TempDir::new().unwrap();
        let url = StoreUrl::Sqlite(folder.path().join("sessions.db"));
        let store = SessionStore::open(&url).unwrap();
        Self { store, url, is_shared: true, _folder: Some(folder), _database: None }
    }

    /// Creates a store in a separate database; `None` if there is no server. The test is then skipped.
    pub(crate) fn postgres() -> Option<Self> {
        let database = Database::new()?;
        let url = database.url();
        let store = SessionStore::open(&url).unwrap();
        Some(Self { store, url, is_shared: true, _folder: None, _database: Some(database) })
    }

    /// Creates a store in memory.
    pub(crate) fn memory() -> Self {
        let store = SessionStore::memory();
        Self { store, url: StoreUrl::Memory, is_shared: false, _folder: None, _database: None }
    }

    /// Returns whether another process could open the same sessions.
    pub(crate) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Opens the same sessions again, as another process would.
    pub(crate) fn reopen(&self) -> SessionStore {
        match self.is_shared {
            true => SessionStore::open(&self.url).unwrap(),
            false => self.store.clone(),
        }
    }
}
