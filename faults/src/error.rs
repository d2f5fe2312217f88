//! Errors that prevent a role from running. A broken guarantee is not an error: it is in the
//! report.

use std::path::Path;

use tertulia_store::StoreError;

use crate::options::USAGE;

/// A role that could not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FaultsError {
    #[error("{0}\n\n{USAGE}")]
    Usage(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{what}: {source}")]
    Io { what: String, source: std::io::Error },
    #[error(
        "`{0}` is missing; `cargo xtask faults` installs it (on Debian: apt-get install -y {0})"
    )]
    Missing(&'static str),
    #[error("{0}")]
    Unexpected(String),
}

impl FaultsError {
    /// Returns an IO error, with a description of the operation.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// Returns an IO error at a file.
    pub(crate) fn at(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        Self::io(path.display().to_string())
    }

    /// Creates an error for an unexpected condition.
    pub(crate) fn unexpected(what: impl Into<String>) -> Self {
        Self::Unexpected(what.into())
    }
}
