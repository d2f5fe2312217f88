//! What can go wrong on the command line: one sentence with place and hint, and an exit code.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use tertulia_chat::ChatError;
use tertulia_chat::terminal::visible;
use tertulia_context::SnapshotError;
use tertulia_operations::export_file::ExportError;
use tertulia_operations::lines::LogError;
use tertulia_operations::model_context::BuildError;
use tertulia_operations::names::{NameError, short};
use tertulia_operations::session_file::DocumentError;
use tertulia_session::json::SyntaxError;
use tertulia_store::{InvalidStoreUrl, Problem, SessionId, StoreError};
use tertulia_team::file::{FileErrors, SettingsError, TrustError};
use tertulia_team::{DriveError, PromptLost, SpeakerError, TeamError, UnknownMember};

use crate::advice::SamePlace;

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
    Snapshot {
        path: PathBuf,
        #[source]
        error: SnapshotError,
    },
    /// A file is not JSON.
    #[error("{}: {error}", .path.display())]
    Syntax {
        path: PathBuf,
        #[source]
        error: SyntaxError,
    },
    /// A file is not a session's log.
    #[error("{}: {error}", .path.display())]
    Log {
        path: PathBuf,
        #[source]
        error: LogError,
    },
    /// There is no context.
    #[error("{code}: {0}", code = .0.code())]
    Context(#[from] BuildError),
    /// A file is no session.
    #[error("{}: {error}", .path.display())]
    Document {
        path: PathBuf,
        #[source]
        error: DocumentError,
    },
    /// A session that was read does not fit together.
    #[error("{}: {problem}; nothing was imported", .path.display())]
    Import {
        path: PathBuf,
        #[source]
        problem: Problem,
    },
    /// There is nothing to import.
    #[error("{} is empty; there is nothing to import", .path.display())]
    Empty { path: PathBuf },
    /// A document is larger than a line may be.
    #[error(
        "{} is not a log, and is too long for a snapshot ({bytes_max} bytes at most); raise \
         --max-line-bytes",
        .path.display()
    )]
    TooLarge { path: PathBuf, bytes_max: u64 },
    /// A text that does not fit into memory.
    #[error("{} is longer than {} MiB; name a shorter file", .path.display(), .bytes_max / 1024 / 1024)]
    TextTooLarge { path: PathBuf, bytes_max: u64 },
    /// A folder, a pipe or a device where a file or standard input is needed.
    #[error("{} is not a file; name a file, or - for standard input", .path.display())]
    NoFileToRead { path: PathBuf },
    /// An export was not written.
    #[error("{0}{hint}", hint = force_hint(.0))]
    Export(#[from] ExportError),
    /// A team file would be overwritten.
    #[error(
        "{} already exists; --force replaces it, --print shows what would be written",
        .path.display()
    )]
    TeamFileExists { path: PathBuf },
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
    /// The folder of this program's data is none, or is not to be written to.
    #[error(
        "the data folder {} (from {variable}) cannot be used: {why}; set TERTULIA_HOME to a folder that \
         you can write to (created if missing)",
        .folder.display()
    )]
    HomeUnusable { folder: PathBuf, variable: &'static str, why: String },
    /// The settings of the project cannot be trusted.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A name that leads to no session or entry.
    #[error("{error}{}", advice(.error, .place))]
    Name {
        #[source]
        error: NameError,
        place: Box<SamePlace>,
    },
    /// No session of this name to resume.
    #[error(
        "there is no session {given}; {}`--new {given}` creates it",
        .nearest.as_ref().map(|nearest| format!("did you mean {nearest}? ")).unwrap_or_default()
    )]
    NothingToResume { given: String, nearest: Option<String> },
    /// The session that is to be created exists.
    #[error("session {id} already exists; resume it with `--session {id}`, or use another name")]
    SessionTaken { id: SessionId },
    /// A session that another program has open.
    #[error("session {id} is open in another process; close it or wait, then try again")]
    OpenElsewhere { id: SessionId },
    /// A check found something, which was told already.
    #[error("{0}")]
    Damaged(String),
    /// A backup holds a session that is there.
    #[error(
        "session {session} is in the store already; delete it first, or restore into another --store; \
         nothing was copied"
    )]
    RestoredTwice { session: SessionId },
    /// A name that is not the whole ID, where nobody is asked.
    #[error(
        "--yes requires the full ID; {given} is not one{}",
        .id.as_ref().map(|id| format!("; did you mean {id}?")).unwrap_or_default()
    )]
    NotFullId { given: String, id: Option<String> },
    /// The person said no.
    #[error("nothing was deleted")]
    NotDeleted,
    /// The person said no.
    #[error("nothing was redacted")]
    NotRedacted,
    /// The team file says what it must not.
    #[error("{0}")]
    TeamFile(#[from] FileErrors),
    /// A team file that was named and is not there.
    #[error(
        "there is no team file {} (from {by}); correct the path, or create one here with `tertulia init`",
        .path.display()
    )]
    NoTeamFile { path: PathBuf, by: &'static str },
    /// A team cannot be made of its file.
    #[error("{}: {error}", .path.display())]
    Team {
        path: PathBuf,
        #[source]
        error: TeamError,
    },
    /// The list of trusted team files cannot be used.
    #[error("{}", with_cause(.0))]
    Trust(#[from] TrustError),
    /// A team file that wants something, and nobody said that it may.
    #[error("{0}Review it, then run again with --trust.")]
    Untrusted(String),
    /// A name that nobody at the table has.
    #[error("{flag}: {error}")]
    UnknownMember {
        flag: &'static str,
        #[source]
        error: UnknownMember,
    },
    /// A person who gets no prompt.
    #[error("--member: {name} is a person and gets no prompt; {}", agents_hint(.agents))]
    NoPrompt { name: Box<str>, agents: Vec<Box<str>> },
    /// What an agent was sent cannot be shown.
    #[error(transparent)]
    PromptLost(PromptLost),
    /// Whoever speaks is to answer.
    #[error("--member: {name} is who speaks; {}", agents_hint(.agents))]
    OwnAnswer { name: Box<str>, agents: Vec<Box<str>> },
    /// `--as` names nobody who can speak.
    #[error("--as: {}", wrong_speaker(.0))]
    Speaker(#[source] SpeakerError),
    /// `--as` and the text name two people.
    #[error(
        "--as {flag} and [FROM: {marker}] in the text name two speakers; leave one of them out"
    )]
    TwoSpeakers { flag: String, marker: String },
    /// The table cannot go on.
    #[error("{0}")]
    Drive(#[from] DriveError),
    /// A prefix that is too short for what cannot be undone.
    #[error("redact needs at least four digits of the entry's ID; {given} has {digits}")]
    TooFewDigits { given: String, digits: usize },
    /// An entry that the current branch does not have.
    #[error(
        "{entry} is on another branch of session {session}; \
         `tertulia sessions show {session} --branch {entry}` shows that branch"
    )]
    OtherBranch { entry: tertulia_session::EntryId, session: SessionId },
    /// An entry that is no turn.
    #[error("{given} is not a turn; `{why}` lists the turns it led to")]
    NoTurn { given: String, why: String },
    /// A decision of the log is not what would be decided now; each was told already.
    #[error("{0}")]
    Different(String),
    /// Something is missing that `run` needs; standard output says what.
    #[error("not ready")]
    Unfit,
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
    Input(#[source] io::Error),
    /// Standard output broke.
    #[error("cannot write standard output: {0}")]
    Output(#[source] io::Error),
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

    /// A failure to read lines of a file.
    pub(crate) fn log(path: impl Into<PathBuf>, error: impl Into<LogError>) -> Self {
        let path = path.into();
        match error.into() {
            LogError::Input(source) => Self::ReadFile { path, source },
            error => Self::Log { path, error },
        }
    }

    /// The same error, where it is known what leads to the same team and store: what it suggests goes there.
    pub(crate) fn at(self, place: SamePlace) -> Self {
        match self {
            Self::Name { error, .. } => Self::Name { error, place: Box::new(place) },
            other => other,
        }
    }

    /// Tells the person and gives the exit code.
    pub(crate) fn tell(&self, stderr: &mut dyn Write) -> ExitCode {
        if !matches!(self, Self::ReaderDone | Self::Unfit) {
            // With standard error gone too there is nobody left to tell.
            let _ = writeln!(stderr, "tertulia: {}", visible(&self.shown()));
        }
        ExitCode::from(self.code())
    }

    /// The sentence as people read it: ids are short, but where a short one would not do.
    fn shown(&self) -> String {
        let text = self.to_string();
        match self {
            Self::NotFullId { .. }
            | Self::Name {
                error: NameError::UnknownSession { .. } | NameError::AmbiguousId { .. },
                ..
            } => text,
            _ => short(&text),
        }
    }

    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::ReaderDone => 0,
            Self::Usage(_)
            | Self::StoreUrl(_)
            | Self::Untrusted(_)
            | Self::Settings(_)
            | Self::TeamFile(_)
            | Self::NoTeamFile { .. }
            | Self::Team { .. }
            | Self::NothingToResume { .. }
            | Self::SessionTaken { .. }
            | Self::Name { error: NameError::NameOfLatest { .. }, .. }
            | Self::UnknownMember { .. }
            | Self::NoPrompt { .. }
            | Self::OwnAnswer { .. }
            | Self::Speaker(_)
            | Self::TwoSpeakers { .. }
            | Self::Drive(DriveError::Speaker(_))
            | Self::Store(StoreError::InvalidSessionId(_) | StoreError::InvalidTitle(_)) => 2,
            Self::NeedsPerson(_) => 3,
            Self::Interrupted(_) => 130,
            Self::ReadFile { .. }
            | Self::NotUtf8 { .. }
            | Self::Snapshot { .. }
            | Self::Syntax { .. }
            | Self::Log { .. }
            | Self::Context(_)
            | Self::Document { .. }
            | Self::Import { .. }
            | Self::Empty { .. }
            | Self::TooLarge { .. }
            | Self::TextTooLarge { .. }
            | Self::NoFileToRead { .. }
            | Self::Export(_)
            | Self::TeamFileExists { .. }
            | Self::WriteFile { .. }
            | Self::Store(_)
            | Self::NoHome
            | Self::HomeUnusable { .. }
            | Self::Name { .. }
            | Self::OpenElsewhere { .. }
            | Self::Damaged(_)
            | Self::RestoredTwice { .. }
            | Self::NotFullId { .. }
            | Self::NotDeleted
            | Self::NotRedacted
            | Self::Trust(_)
            | Self::PromptLost(_)
            | Self::Drive(_)
            | Self::TooFewDigits { .. }
            | Self::OtherBranch { .. }
            | Self::NoTurn { .. }
            | Self::Different(_)
            | Self::Unfit
            | Self::AgentFailed(_)
            | Self::Input(_)
            | Self::Output(_)
            | Self::ReaderGone
            | Self::Lines { .. } => 1,
        }
    }
}

impl From<NameError> for CliError {
    fn from(error: NameError) -> Self {
        match error {
            NameError::Store(error) => Self::Store(error),
            error => Self::Name { error, place: Box::default() },
        }
    }
}

impl From<ChatError> for CliError {
    fn from(error: ChatError) -> Self {
        match error {
            ChatError::Input(error) => Self::Input(error),
            ChatError::Output(error) => Self::output(error),
            ChatError::ReaderDone => Self::ReaderDone,
            ChatError::Line(error) => Self::log("standard input", error),
            ChatError::TwoSpeakers { flag, marker } => Self::TwoSpeakers { flag, marker },
            ChatError::NeedsPerson(why) => Self::NeedsPerson(why),
            ChatError::Drive(error) => Self::Drive(error),
        }
    }
}

/// What to type instead of a name that leads nowhere, in the same place.
fn advice(error: &NameError, place: &SamePlace) -> String {
    let (both, store) = (&place.team_and_store, &place.store);
    match error {
        NameError::NoSessions { .. } | NameError::NoTable { elsewhere: None, .. } => {
            format!("; `tertulia chat{both}` starts one")
        }
        NameError::NoSessionsHere { .. } => {
            format!("; `tertulia sessions list --all{store}` shows those of other projects")
        }
        NameError::UnknownSession { nearest: None, .. } => {
            format!("; `tertulia sessions list --all{store}` shows all")
        }
        NameError::UnknownEntry { nearest: None, session: Some(id), .. } => {
            format!("; `tertulia sessions show {id} --all{store}` lists them")
        }
        _ => String::new(),
    }
}

/// What replaces a file that is there.
fn force_hint(error: &ExportError) -> &'static str {
    match error {
        ExportError::Exists { .. } => ", or use --force",
        _ => "",
    }
}

/// Who does get a prompt.
fn agents_hint(agents: &[Box<str>]) -> String {
    match agents {
        [] => {
            "the team has no agents; `tertulia init --print` shows a team file with some".to_owned()
        }
        some => format!("name an agent: {}", some.join(", ")),
    }
}

/// What is wrong with `--as`, with its own cure: whoever wrote a flag is told of the flag.
fn wrong_speaker(error: &SpeakerError) -> String {
    match error {
        SpeakerError::Unknown { name, nearest, people } => {
            let nearest = nearest.as_ref().map(|name| format!(" (did you mean --as {name}?)"));
            let (nearest, people) = (nearest.unwrap_or_default(), people.join(", "));
            format!(
                "no person of this team is called '{name}'{nearest}; name one with --as: {people}"
            )
        }
        SpeakerError::Agent { name, people } => {
            let people = people.join(", ");
            format!(
                "'{name}' is an agent and cannot speak for a person; name one with --as: {people}"
            )
        }
        SpeakerError::Several { people } => {
            format!("the team has several people; name one with --as: {}", people.join(", "))
        }
        other => other.to_string(),
    }
}

/// An error with what lies beneath it.
fn with_cause(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
