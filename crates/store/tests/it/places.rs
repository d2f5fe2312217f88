//! Places to keep sessions in while a test runs.

use tempfile::TempDir;
use tertulia_store::{SessionStore, StoreUrl};

use crate::postgres_server::Database;

/// A place, and a store that was opened there.
pub(crate) struct Place {
    pub(crate) store: SessionStore,
    url: StoreUrl,
    /// Where others find the same sessions, unless they lie in memory.
    is_shared: bool,
    /// Taken away with the place.
    _folder: Option<TempDir>,
    /// Taken away with the place, after the store.
    _database: Option<Database>,
}

impl Place {
    /// A file of its own.
    pub(crate) fn sqlite() -> Self {
        let folder = TempDir::new().unwrap();
        let url = StoreUrl::Sqlite(folder.path().join("sessions.db"));
        let store = SessionStore::open(&url).unwrap();
        Self { store, url, is_shared: true, _folder: Some(folder), _database: None }
    }

    /// A database of its own; none where there is no server, and then the test is skipped.
    pub(crate) fn postgres() -> Option<Self> {
        let database = Database::new()?;
        let url = database.url();
        let store = SessionStore::open(&url).unwrap();
        Some(Self { store, url, is_shared: true, _folder: None, _database: Some(database) })
    }

    /// Memory.
    pub(crate) fn memory() -> Self {
        let store = SessionStore::memory();
        Self { store, url: StoreUrl::Memory, is_shared: false, _folder: None, _database: None }
    }

    /// The same sessions, as another process would open them.
    pub(crate) fn again(&self) -> SessionStore {
        match self.is_shared {
            true => SessionStore::open(&self.url).unwrap(),
            false => self.store.clone(),
        }
    }
}
