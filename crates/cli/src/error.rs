//! What can go wrong on the command line: one sentence with place and cure, and an exit code.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tertulia_context::SnapshotError;
use tertulia_session::json::SyntaxError;
use tertulia_session::record;
use tertulia_store::{InvalidStoreUrl, Problem, SessionId, StoreError};
use tertulia_team::file::{FileErrors, TrustError, TrustReason};
use tertulia_team::{DriveError, TeamError, UnknownMember};

use crate::lines;
use crate::model_context::BuildError;
use crate::session_file::DocumentError;
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
    /// A line of a file cannot be read.
    #[error("{}: {error}", .path.display())]
    Line { path: PathBuf, error: lines::LineError },
    /// A file is no session.
    #[error("{}: {error}", .path.display())]
    Document { path: PathBuf, error: DocumentError },
    /// A session that was read does not fit together.
    #[error("{}: {problem}; nothing was imported", .path.display())]
    Import { path: PathBuf, problem: Problem },
    /// There is nothing to import.
    #[error("{} is empty; there is nothing to import", .path.display())]
    Empty { path: PathBuf },
    /// A document is larger than a line may be.
    #[error(
        "{} is no log, and as one JSON value longer than {bytes_max} bytes; raise --max-line-bytes",
        .path.display()
    )]
    TooLarge { path: PathBuf, bytes_max: u64 },
    /// A folder, a pipe or a device where a file is needed.
    #[error("{} is no file; name one, or - for standard input", .path.display())]
    NotAFile { path: PathBuf },
    /// A file would be overwritten.
    #[error("{} is there already; name another file, or replace it with --force", .path.display())]
    FileExists { path: PathBuf },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", .path.display())]
    WriteFile { path: PathBuf, source: io::Error },
    /// The store said no.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The store that was named cannot be one.
    #[error("--store: {0}")]
    StoreUrl(#[from] InvalidStoreUrl),
    /// There is no folder for the store.
    #[error("no home folder is known; name a store with --store sqlite:PATH, or set TERTULIA_HOME")]
    NoHome,
    /// There is no store yet.
    #[error("there are no sessions yet at {place}; `tertulia sessions import` brings one in")]
    NoSessions { place: String },
    /// No session has this id, nor begins with it.
    #[error("there is no session {given}; {}", nearest_hint(.nearest.as_deref()))]
    UnknownSession { given: String, nearest: Option<String> },
    /// Several sessions begin with this.
    #[error("{given} is the beginning of several ids; write more of it: {}", .candidates.join(", "))]
    AmbiguousSession { given: String, candidates: Vec<String> },
    /// A check found something, which was told already.
    #[error("{0}")]
    Damaged(String),
    /// A backup holds a session that is there.
    #[error(
        "session {session} is in the store already; delete it first, or restore into another --store; \
         nothing was copied"
    )]
    RestoredTwice { session: SessionId },
    /// The person said no.
    #[error("nothing was deleted")]
    NotDeleted,
    /// The team file says what it must not.
    #[error("{0}")]
    TeamFile(#[from] FileErrors),
    /// A team cannot be made of its file.
    #[error("{}: {error}", .path.display())]
    Team { path: PathBuf, error: TeamError },
    /// The list of trusted team files cannot be used.
    #[error("{}", with_cause(.0))]
    Trust(#[from] TrustError),
    /// A team file that wants something, and nobody said that it may.
    #[error("{}", untrusted(.path, .reasons))]
    Untrusted { path: PathBuf, reasons: Vec<TrustReason> },
    /// A name that nobody at the table has.
    #[error("{flag}: {error}")]
    UnknownMember { flag: &'static str, error: UnknownMember },
    /// The table cannot go on.
    #[error("{0}")]
    Drive(#[from] DriveError),
    /// There is no table to go on with.
    #[error(
        "there is no table of {folder} to go on with at {place}; `tertulia run \"…\"` begins one\
         {elsewhere}"
    )]
    NoTable { place: String, folder: String, elsewhere: String },
    /// No entry has this id, nor begins with it.
    #[error("there is no entry {given} in this session; `tertulia sessions show` lists them")]
    UnknownEntry { given: String },
    /// Several entries begin with this.
    #[error("{given} is the beginning of several ids; write more of it: {candidates}")]
    AmbiguousEntry { given: String, candidates: String },
    /// An entry that is no turn.
    #[error("{given} is no turn; `tertulia why {given}` names the turns it led to")]
    NoTurn { given: String },
    /// A decision of the log is not what would be decided now; each was told already.
    #[error("{0}")]
    Different(String),
    /// Something is missing that `run` needs; it was told already.
    #[error("{0}")]
    Unfit(String),
    /// A person is to decide.
    #[error("{0}")]
    NeedsPerson(String),
    /// An agent could not answer.
    #[error("{0}")]
    AgentFailed(String),
    /// The person stopped it.
    #[error("{0}")]
    Interrupted(String),
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
        match self {
            Self::Usage(_)
            | Self::StoreUrl(_)
            | Self::Untrusted { .. }
            | Self::UnknownMember { .. }
            | Self::Drive(DriveError::Speaker(_))
            | Self::Store(StoreError::InvalidSessionId(_)) => ExitCode::from(2),
            Self::NeedsPerson(_) => ExitCode::from(3),
            Self::Interrupted(_) => ExitCode::from(130),
            _ => ExitCode::FAILURE,
        }
    }
}

fn nearest_hint(nearest: Option<&str>) -> String {
    match nearest {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => "`tertulia sessions list` shows those that are there".to_owned(),
    }
}

/// An error with what lies beneath it.
fn with_cause(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

fn untrusted(path: &Path, reasons: &[TrustReason]) -> String {
    let mut text = format!("{} is not trusted yet. It says:\n", path.display());
    for reason in reasons {
        text.push_str(&format!("  {reason}\n"));
    }
    text + "read it; if that is what you want, run again with --trust"
}
