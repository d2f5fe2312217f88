//! Errors of the command line: each has one sentence with a hint, and an exit code.

use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use tertulia_chat::ChatError;
use tertulia_chat::join::JoinError;
use tertulia_chat::terminal::visible;
use tertulia_context::SnapshotError;
use tertulia_operations::export_file::ExportError;
use tertulia_operations::lines::LogError;
use tertulia_operations::model_context::BuildError;
use tertulia_operations::names::{NameError, short};
use tertulia_store::{InvalidStoreUrl, SessionId, StoreError};
use tertulia_team::file::{FileErrors, SettingsError, TrustError};
use tertulia_team::{AskError, DriveError, PromptLost, SpeakerError, TeamError, UnknownMember};

use crate::suggested_flags::SuggestedFlags;

pub(crate) type Result<T = (), E = CliError> = std::result::Result<T, E>;

/// An error of a command. [`CliError::code`] gives the exit codes.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    #[error("{0}")]
    Usage(&'static str),
    /// A failure that needs no handling of its own.
    #[error("{0}")]
    Failed(String),
    #[error("cannot read {}: {source}", .path.display())]
    ReadFile { path: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}", .path.display())]
    WriteFile { path: PathBuf, source: io::Error },
    /// The problem completes the sentence that begins with the path.
    #[error("{} {problem}", .path.display())]
    UnfitFile { path: PathBuf, problem: String },
    #[error("{}: {error}", .path.display())]
    Content { path: PathBuf, error: Box<dyn Error + Send + Sync> },
    #[error("{}: {error}: {}", .path.display(), .error.cause)]
    Snapshot { path: PathBuf, error: SnapshotError },
    #[error("{code}: {0}", code = .0.code())]
    Context(#[from] BuildError),
    #[error("{0}{hint}", hint = force_hint(.0))]
    Export(#[from] ExportError),
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("--store: {0}")]
    StoreUrl(#[from] InvalidStoreUrl),
    #[error("no home folder is known; name a store with --store sqlite:PATH, or set TERTULIA_HOME")]
    NoHome,
    /// The data folder is not a folder or not writable.
    #[error(
        "the data folder {} (from {variable}) cannot be used: {why}; set TERTULIA_HOME to a folder that \
         you can write to (created if missing)",
        .folder.display()
    )]
    HomeUnusable { folder: PathBuf, variable: &'static str, why: String },
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error("{error}{}", advice(.error, .flags))]
    Name { error: NameError, flags: Box<SuggestedFlags> },
    #[error(
        "there is no session {given}; {}`--new {given}` creates it",
        .nearest.as_ref().map(|nearest| format!("did you mean {nearest}? ")).unwrap_or_default()
    )]
    NothingToResume { given: String, nearest: Option<String> },
    #[error("session {id} already exists; resume it with `--session {id}`, or use another name")]
    SessionTaken { id: SessionId },
    #[error("session {id} is open in another process; close it or wait, then try again")]
    OpenElsewhere { id: SessionId },
    /// A name that is not the full ID, with `--yes`.
    #[error(
        "--yes requires the full ID; {given} is not one{}",
        .id.as_ref().map(|id| format!("; did you mean {id}?")).unwrap_or_default()
    )]
    NotFullId { given: String, id: Option<String> },
    #[error("{0}")]
    TeamFile(#[from] FileErrors),
    #[error(
        "there is no team file {} (from {by}); correct the path, or create one here with `tertulia init`",
        .path.display()
    )]
    NoTeamFile { path: PathBuf, by: &'static str },
    #[error("{}: {error}", .path.display())]
    Team { path: PathBuf, error: TeamError },
    #[error("{}", with_cause(.0))]
    Trust(#[from] TrustError),
    /// A team file that is not trusted.
    #[error("{0}Review it, then run again with --trust.")]
    Untrusted(String),
    #[error("{flag}: {error}")]
    UnknownMember { flag: &'static str, error: UnknownMember },
    #[error("--member: {name} is a person and gets no prompt; {}", agents_hint(.agents))]
    NoPrompt { name: Box<str>, agents: Vec<Box<str>> },
    #[error(transparent)]
    PromptLost(PromptLost),
    #[error("--member: {name} is the speaker; {}", agents_hint(.agents))]
    OwnAnswer { name: Box<str>, agents: Vec<Box<str>> },
    #[error("{0}")]
    Ask(AskError),
    #[error("--as: {}", wrong_speaker(.0))]
    Speaker(SpeakerError),
    #[error(
        "--as {flag} and [FROM: {marker}] in the text name different speakers; remove one of them"
    )]
    TwoSpeakers { flag: String, marker: String },
    #[error("{0}")]
    Drive(#[from] DriveError),
    #[error(transparent)]
    Join(#[from] JoinError),
    #[error("{given} is not a turn; `{why}` lists the turns that it caused")]
    NoTurn { given: String, why: String },
    /// Something that `run` needs is missing; standard output says what.
    #[error("not ready")]
    Unfit,
    #[error("{0}")]
    NeedsPerson(String),
    #[error("{0}")]
    Interrupted(String),
    #[error("cannot read standard input: {0}")]
    Input(io::Error),
    #[error("cannot write standard output: {0}")]
    Output(io::Error),
    /// The reader of standard output has closed it.
    #[error("standard output was closed")]
    ReaderDone,
}

impl CliError {
    /// Converts a write error; a pipe that the reader has closed is not a failure.
    pub(crate) fn output(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::ReaderDone
        } else {
            Self::Output(error)
        }
    }

    pub(crate) fn log(path: impl Into<PathBuf>, error: impl Into<LogError>) -> Self {
        let path = path.into();
        match error.into() {
            LogError::Input(source) => Self::ReadFile { path, source },
            error => Self::Content { path, error: error.into() },
        }
    }

    /// Adds the flags for the commands that the error suggests.
    pub(crate) fn at(self, flags: SuggestedFlags) -> Self {
        match self {
            Self::Name { error, .. } => Self::Name { error, flags: Box::new(flags) },
            other => other,
        }
    }

    pub(crate) fn report(&self, stderr: &mut dyn Write) -> ExitCode {
        if !matches!(self, Self::ReaderDone | Self::Unfit) {
            // If standard error is closed, nobody can read it.
            let _ = writeln!(stderr, "tertulia: {}", visible(&self.shown()));
        }
        ExitCode::from(self.code())
    }

    /// Returns the sentence for people, with short IDs where they are enough.
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

    /// Returns the exit code: 0 done, 2 wrong usage, 3 a person needs to decide, 130 interrupted, 1 otherwise.
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
            | Self::Ask(_)
            | Self::Speaker(_)
            | Self::TwoSpeakers { .. }
            | Self::Drive(DriveError::Speaker(_))
            | Self::Store(StoreError::InvalidSessionId(_) | StoreError::InvalidTitle(_)) => 2,
            Self::NeedsPerson(_) => 3,
            Self::Interrupted(_) => 130,
            _ => 1,
        }
    }
}

impl From<NameError> for CliError {
    fn from(error: NameError) -> Self {
        match error {
            NameError::Store(error) => Self::Store(error),
            error => Self::Name { error, flags: Box::default() },
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
            ChatError::Join(error) => Self::Join(error),
        }
    }
}

/// Returns what to type instead of an unknown name, with the same flags.
fn advice(error: &NameError, flags: &SuggestedFlags) -> String {
    let (both, store) = (&flags.team_and_store, &flags.store);
    match error {
        NameError::NoSessions { .. } | NameError::NoTeamSession { elsewhere: None, .. } => {
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

fn force_hint(error: &ExportError) -> &'static str {
    match error {
        ExportError::Exists { .. } => ", or use --force",
        _ => "",
    }
}

fn agents_hint(agents: &[Box<str>]) -> String {
    match agents {
        [] => {
            "the team has no agents; `tertulia init --print` shows a team file with some".to_owned()
        }
        some => format!("name an agent: {}", some.join(", ")),
    }
}

/// Describes an error with `--as`, with advice about the flag.
fn wrong_speaker(error: &SpeakerError) -> String {
    let (problem, people) = match error {
        SpeakerError::Unknown { name, nearest, people } => {
            let nearest = nearest.as_ref().map(|name| format!(" (did you mean --as {name}?)"));
            let nearest = nearest.unwrap_or_default();
            (format!("no person of this team is called '{name}'{nearest}"), people)
        }
        SpeakerError::Agent { name, people } => {
            (format!("'{name}' is an agent and cannot speak for a person"), people)
        }
        SpeakerError::Several { people } => ("the team has several people".to_owned(), people),
        other => return other.to_string(),
    };
    format!("{problem}; name one with --as: {}", people.join(", "))
}

fn with_cause(error: &dyn Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
