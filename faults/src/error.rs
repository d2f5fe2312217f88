//! What keeps a role from being carried out. A broken promise is no error: it is in the report.

use std::path::Path;

use tertulia_store::StoreError;

use crate::options::USAGE;

/// Why a role could not be carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FaultsError {
    #[error("{0}\n\n{USAGE}")]
    Usage(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{what}: {source}")]
    Io { what: String, source: std::io::Error },
    #[error(
        "`{0}` is not here; `cargo xtask faults` installs it (on Debian: apt-get install -y {0})"
    )]
    Missing(&'static str),
    #[error("{0}")]
    Unfit(String),
}

impl FaultsError {
    /// An error of the system, with what was being done.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// An error of the system at a file.
    pub(crate) fn at(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        Self::io(path.display().to_string())
    }

    /// Something that should have been otherwise.
    pub(crate) fn unfit(what: impl Into<String>) -> Self {
        Self::Unfit(what.into())
    }
}
