//! Where the sessions of this machine's user are, unless somebody says otherwise, and the door to them. A
//! store is opened when it is needed, and a file is made when something is written. Called by the commands
//! that take `--store`.

use std::env;
use std::path::{Path, PathBuf};

use tertulia_store::{SessionStore, StoreUrl};

use crate::args::StoreArg;
use crate::error::CliError;

/// The file in the folder of this program's data.
const FILE: &str = "sessions.db";

/// Where the sessions are.
pub(crate) struct StorePlace {
    url: StoreUrl,
}

impl StorePlace {
    /// The place that was named, or the user's own.
    pub(crate) fn read(arg: &StoreArg) -> Result<Self, CliError> {
        // A variable that is set to nothing says nothing.
        match arg.store.as_deref().filter(|text| !text.is_empty()) {
            Some(text) => Ok(Self { url: StoreUrl::parse(text)? }),
            None => Ok(Self { url: StoreUrl::Sqlite(home()?.join(FILE)) }),
        }
    }

    /// The store; a file is made if it is not there.
    pub(crate) fn open(&self) -> Result<SessionStore, CliError> {
        Ok(SessionStore::open(&self.url)?)
    }

    /// The store, or none if there is no file yet: whoever only reads makes none.
    pub(crate) fn open_existing(&self) -> Result<Option<SessionStore>, CliError> {
        if let StoreUrl::Sqlite(path) = &self.url
            && path
                .symlink_metadata()
                .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
        {
            return Ok(None);
        }
        self.open().map(Some)
    }

    /// The store, for whoever asks for a session that must be there.
    pub(crate) fn need(&self) -> Result<SessionStore, CliError> {
        self.open_existing()?.ok_or_else(|| CliError::NoSessions { place: self.url.to_string() })
    }

    /// Whether a path leads to a file of the store itself.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        let StoreUrl::Sqlite(file) = &self.url else { return false };
        let (Ok(file), Ok(path)) = (file.canonicalize(), path.canonicalize()) else {
            return false;
        };
        ["", "-wal", "-shm"].iter().any(|ending| {
            let mut one = file.as_os_str().to_owned();
            one.push(ending);
            path.as_os_str() == one
        })
    }

    /// The address of the store.
    pub(crate) fn into_url(self) -> StoreUrl {
        self.url
    }
}

/// The folder of this program's data.
pub(crate) fn home() -> Result<PathBuf, CliError> {
    let folder =
        |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(own) = folder("TERTULIA_HOME") {
        return Ok(own);
    }
    // The rule of that variable: a relative path counts as none.
    let data = folder("XDG_DATA_HOME").filter(|path| path.is_absolute());
    let data = data.or_else(|| Some(folder("HOME")?.join(".local/share")));
    data.map(|data| data.join("tertulia")).ok_or(CliError::NoHome)
}
