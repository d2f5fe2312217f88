//! What can go wrong on the command line: one sentence with place and cure, and an exit code.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use tertulia_context::SnapshotError;
use tertulia_session::json::SyntaxError;
use tertulia_session::record;

use crate::model_context::BuildError;
use crate::terminal::visible;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// The arguments exclude each other.
    #[error("{0}")]
    Usage(&'static str),
    /// A file cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    ReadFile { path: PathBuf, source: io::Error },
    /// A file is not UTF-8.
    #[error("{} is not UTF-8: byte {offset} begins no character; convert it first", .path.display())]
    NotUtf8 { path: PathBuf, offset: usize },
    /// A file is not a snapshot.
    #[error("{}: {error}: {}", .path.display(), .error.cause)]
    Snapshot { path: PathBuf, error: SnapshotError },
    /// A file is not JSON.
    #[error("{}: {error}", .path.display())]
    Syntax { path: PathBuf, error: SyntaxError },
    /// A file is not a session's log.
    #[error("{}: {error}", .path.display())]
    Log { path: PathBuf, error: record::LineError },
    /// There is no context.
    #[error("{code}: {0}", code = .0.code())]
    Context(#[from] BuildError),
    /// Standard input broke.
    #[error("cannot read standard input: {0}")]
    Input(io::Error),
    /// Standard output broke.
    #[error("cannot write standard output: {0}")]
    Output(io::Error),
    /// Whoever reads standard output has gone, and a protocol cannot go on without.
    #[error("standard output was closed by its reader; the conversations of this process are gone")]
    ReaderGone,
    /// Whoever reads standard output has enough.
    #[error("standard output was closed")]
    ReaderDone,
    /// Lines of the input were wrong; each was told already.
    #[error("{failed} of {total} input lines failed")]
    Lines { failed: u64, total: u64 },
}

impl CliError {
    /// A failure to write data: a reader that has enough is told apart from a broken stream.
    pub(crate) fn output(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::ReaderDone
        } else {
            Self::Output(error)
        }
    }

    /// Tells the person and gives the exit code.
    pub(crate) fn tell(&self, stderr: &mut dyn Write) -> ExitCode {
        if let Self::ReaderDone = self {
            return ExitCode::SUCCESS;
        }
        // With standard error gone too there is nobody left to tell.
        let _ = writeln!(stderr, "tertulia: {}", visible(&self.to_string()));
        if let Self::Usage(_) = self { ExitCode::from(2) } else { ExitCode::FAILURE }
    }
}
