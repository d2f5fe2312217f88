//! The commands that write atomically, each as a job: its command line, its input, and a separate
//! process that can be killed. `judge` checks the files that it left, and `naive` does the same
//! without protection, as a control. Used by the roles `copies` and `cuts`.

mod judge;
mod naive;
mod run_folder;
mod secret_text;
mod template;
mod trust_list;

use std::ffi::OsString;
use std::io::{BufWriter, Write, stderr, stdout};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use tertulia_cli::{Streams, Zone, main_with};

use crate::error::FaultsError;
use crate::options::Options;
use crate::tools;
pub(crate) use judge::{Reported, judge};
pub(crate) use run_folder::{RunFolder, copy_folder};
pub(crate) use template::prepare;

/// Time limit of a job.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// An operation that is atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    Backup,
    Restore,
    Import,
    Export,
    Migration,
    Branch,
    Delete,
    Redact,
    Trust,
    Init,
}

/// The implementation that runs a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Executor {
    /// The real command.
    Command,
    /// The control, without the safety measures.
    Naive,
}

impl Job {
    pub(crate) const ALL: [Self; 10] = [
        Self::Backup,
        Self::Restore,
        Self::Import,
        Self::Export,
        Self::Migration,
        Self::Branch,
        Self::Delete,
        Self::Redact,
        Self::Trust,
        Self::Init,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Backup => "backup",
            Self::Restore => "restore",
            Self::Import => "import",
            Self::Export => "export",
            Self::Migration => "migration",
            Self::Branch => "branch",
            Self::Delete => "delete",
            Self::Redact => "redact",
            Self::Trust => "trust",
            Self::Init => "init",
        }
    }

    /// Returns all jobs, or the one that an option selects.
    pub(crate) fn selected(options: &Options) -> Result<Vec<Self>, FaultsError> {
        match options.text("job") {
            Some(name) => Ok(vec![Self::named(name)?]),
            None => Ok(Self::ALL.to_vec()),
        }
    }

    fn named(name: &str) -> Result<Self, FaultsError> {
        let unknown = || FaultsError::Usage(format!("there is no job `{name}`"));
        Self::ALL.into_iter().find(|job| job.name() == name).ok_or_else(unknown)
    }

    /// Returns the command line. Paths are absolute, so that a trace names every file by its
    /// absolute path.
    fn command_line(self, run: &RunFolder) -> Vec<OsString> {
        let words = |text: &str| -> Vec<OsString> { text.split(' ').map(Into::into).collect() };
        let mut line = match self {
            Self::Backup => words("tertulia sessions backup"),
            Self::Restore => words("tertulia sessions restore"),
            Self::Import => words("tertulia sessions import --as new"),
            Self::Export => words("tertulia sessions export big --output"),
            Self::Migration => words("tertulia sessions rename talk Renamed"),
            Self::Branch => words("tertulia sessions branch s0"),
            Self::Delete => words("tertulia sessions delete secret --yes"),
            Self::Redact => words("tertulia sessions redact secret"),
            // Only the list of trusted files matters here, so the conversation is not stored.
            Self::Trust => words("tertulia run --trust --store memory hello"),
            Self::Init => words("tertulia init"),
        };
        match self {
            Self::Backup => line.push(run.backup().into()),
            Self::Restore => line.push(run.made().into()),
            Self::Import => line.push(run.import().into()),
            Self::Export => line.push(run.export().into()),
            Self::Branch => {
                line.push(template::branched_from().as_str().into());
                line.extend(words("--into new"));
            }
            Self::Redact => line.push(template::REDACTED.into()),
            Self::Migration | Self::Delete | Self::Trust | Self::Init => {}
        }
        line
    }

    /// Returns the text that the command prints once all guarantees hold; `None` if it prints nothing.
    pub(crate) fn success_text(self) -> Option<&'static str> {
        match self {
            Self::Backup => Some(" copied to "),
            Self::Restore => Some(" copied from "),
            Self::Import => Some("session new"),
            Self::Branch => Some("is a copy up to"),
            Self::Delete => Some("is deleted"),
            // It prints "is redacted" while it still removes the text from other files.
            Self::Redact => Some("cannot remove may remain"),
            Self::Trust => Some("is trusted as it is now"),
            Self::Init => Some("created "),
            Self::Export | Self::Migration => None,
        }
    }

    /// Prepares the process that runs the job: this program, or one that starts it.
    pub(crate) fn set_up(self, executor: Executor, root: &Path, command: &mut Command) {
        let run = RunFolder::new(root);
        command.args(["copier", "--job", self.name(), "--folder"]).arg(root);
        if executor == Executor::Naive {
            command.args(["--naive", "yes"]);
        }
        run.set_environment(command);
    }

    /// Runs it in a process without faults. Returns whether it succeeded.
    pub(crate) fn run(self, executor: Executor, root: &Path) -> Result<bool, FaultsError> {
        let mut command = Command::new(tools::own_path()?);
        self.set_up(executor, root, &mut command);
        tools::run_quietly(&mut command, &RunFolder::new(root).said(), LIMIT)
    }
}

/// The inner part of the roles: runs a job in this process.
pub(crate) fn copier(arguments: &[String]) -> Result<bool, FaultsError> {
    let options = Options::parse("copier", arguments, &["job", "folder", "naive"])?;
    let job = Job::named(options.needed("job")?)?;
    let run = RunFolder::new(Path::new(options.needed("folder")?));
    // If a person started it, it would change the user's sessions.
    if !run.is_in_environment() {
        return Err(FaultsError::unexpected("`copier` is started by other roles only"));
    }
    if options.text("naive").is_some() {
        naive::run(job, &run)?;
        return Ok(true);
    }
    let mut out = BufWriter::new(stdout().lock());
    let mut streams = Streams {
        stdin: &mut std::io::empty(),
        stdout: &mut out,
        stderr: &mut stderr(),
        stdin_is_terminal: false,
        stderr_is_terminal: false,
        stdout_is_terminal: false,
        stdout_has_colour: false,
        is_quiet: false,
        zone: Zone::Utc,
    };
    let code = main_with(job.command_line(&run), &mut streams);
    let is_said = out.flush().is_ok();
    Ok(code == ExitCode::SUCCESS && is_said)
}
