//! The location of the session store: `--store`, or the default in the user's data folder. The store is opened when it
//! is needed, and a file is created when something is written.

use std::env;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use tertulia_operations::names::{Latest, NameError, find_session};
use tertulia_store::{SessionId, SessionStore, StoreUrl};

use crate::args::StoreArg;
use crate::error::{CliError, Result};
use crate::load_team::{is_missing, project_here};

pub(crate) struct StoreLocation {
    url: StoreUrl,
    /// The data folder, if the store is the default one.
    home: Option<Home>,
}

struct Home {
    folder: PathBuf,
    variable: &'static str,
}

impl StoreLocation {
    /// Returns the given location, or the default one.
    pub(crate) fn read(arg: &StoreArg) -> Result<Self> {
        // An empty variable counts as unset.
        match arg.store.as_deref().filter(|text| !text.is_empty()) {
            Some(text) => Ok(Self { url: text.parse::<StoreUrl>()?, home: None }),
            None => {
                let home = Home::read()?;
                Ok(Self {
                    url: StoreUrl::Sqlite(home.folder.join("sessions.db")),
                    home: Some(home),
                })
            }
        }
    }

    /// Opens the store; creates a missing file.
    pub(crate) fn open(&self) -> Result<SessionStore> {
        SessionStore::open(&self.url).map_err(|error| {
            let unusable = self.home.as_ref().and_then(Home::problem);
            unusable.unwrap_or_else(|| error.into())
        })
    }

    /// Opens the store, or returns `None` if the file does not exist. Reading creates no file.
    pub(crate) fn open_existing(&self) -> Result<Option<SessionStore>> {
        match &self.url {
            StoreUrl::Sqlite(path) if is_missing(path) => Ok(None),
            _ => self.open().map(Some),
        }
    }

    /// Opens the store; a missing file is an error.
    pub(crate) fn open_required(&self) -> Result<SessionStore> {
        let none = || NameError::NoSessions { location: self.url.to_string() };
        Ok(self.open_existing()?.ok_or_else(none)?)
    }

    /// Opens the store and finds a session; `latest` is the newest of this project.
    pub(crate) fn find(&self, given: &str) -> Result<(SessionStore, SessionId)> {
        let store = self.open_required()?;
        let session = find_here(&store, given)?;
        Ok((store, session))
    }

    /// Returns the data folder, if the store is the default one.
    pub(crate) fn data_folder(&self) -> Option<&Path> {
        self.home.as_ref().map(|home| home.folder.as_path())
    }

    pub(crate) fn is_file(&self) -> bool {
        matches!(self.url, StoreUrl::Sqlite(_))
    }

    pub(crate) fn is_server(&self) -> bool {
        matches!(self.url, StoreUrl::Postgres(_))
    }

    /// Returns whether the store is lost when the process ends.
    pub(crate) fn is_ephemeral(&self) -> bool {
        self.url == StoreUrl::Memory
    }

    /// Returns whether a path is a file of the store itself.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        let StoreUrl::Sqlite(file) = &self.url else { return false };
        let (Ok(file), Ok(path)) = (file.canonicalize(), path.canonicalize()) else {
            return false;
        };
        ["", "-wal", "-shm", "-reserve"].iter().any(|ending| {
            let mut one = file.as_os_str().to_owned();
            one.push(ending);
            path.as_os_str() == one
        })
    }

    pub(crate) fn into_url(self) -> StoreUrl {
        self.url
    }
}

/// Finds a session; `latest` is the newest of this project.
pub(crate) fn find_here(store: &SessionStore, given: &str) -> Result<SessionId> {
    Ok(find_session(store, given, Latest::OfProject(&project_here()))?)
}

/// Returns the data folder, which may not exist.
pub(crate) fn home() -> Result<PathBuf> {
    Home::read().map(|home| home.folder)
}

/// Runs something in the data folder. If it fails because the folder is unusable, the error says so.
pub(crate) fn in_home<T, E: Into<CliError>>(work: impl FnOnce(&Path) -> Result<T, E>) -> Result<T> {
    let home = Home::read()?;
    work(&home.folder).map_err(|error| home.problem().unwrap_or_else(|| error.into()))
}

impl Home {
    fn read() -> Result<Self> {
        let folder =
            |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(folder) = folder("TERTULIA_HOME") {
            return Ok(Self { folder, variable: "TERTULIA_HOME" });
        }
        // By the specification of this variable, a relative path is ignored.
        if let Some(data) = folder("XDG_DATA_HOME").filter(|path| path.is_absolute()) {
            return Ok(Self { folder: data.join("tertulia"), variable: "XDG_DATA_HOME" });
        }
        let home = folder("HOME").ok_or(CliError::NoHome)?;
        Ok(Self { folder: home.join(".local/share/tertulia"), variable: "HOME" })
    }

    /// Returns why something failed, if the folder is the reason.
    fn problem(&self) -> Option<CliError> {
        let near = self.folder.ancestors().find(|path| path.symlink_metadata().is_ok());
        // A relative path starts at the working folder.
        let near = near.filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let why = match near.is_dir() {
            false => format!("{} is not a folder", near.display()),
            true if access(near, Access::WRITE_OK | Access::EXEC_OK).is_err() => {
                format!("{} is not writable", near.display())
            }
            true if !self.folder.is_dir() => "it cannot be created".to_owned(),
            true => return None,
        };
        let (folder, variable) = (self.folder.clone(), self.variable);
        Some(CliError::HomeUnusable { folder, variable, why })
    }
}
