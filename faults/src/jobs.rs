//! The commands that write something whole or not at all, each as a job: how it is called, on what, and in
//! a process of its own that may be killed. `judge` says what is left of it, `naive` does the same badly, as
//! a control. Called by the roles `copies` and `cuts`.

mod judge;
mod lists;
mod naive;
mod place;
mod template;
mod texts;

use std::ffi::OsString;
use std::io::{BufWriter, Write, stderr, stdout};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use tertulia_cli::{Streams, Zone, main_with};

use crate::error::FaultsError;
use crate::options::Options;
use crate::tools;
pub(crate) use judge::{Told, judge};
pub(crate) use place::{Place, copy_folder};
pub(crate) use template::prepare;

/// No job takes longer.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// Something that is done whole or not at all.
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

/// Who does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// The command.
    Command,
    /// The control, without what makes it safe.
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

    /// All jobs, or the one that an option names.
    pub(crate) fn wanted(options: &Options) -> Result<Vec<Self>, FaultsError> {
        match options.text("job") {
            Some(name) => Ok(vec![Self::named(name)?]),
            None => Ok(Self::ALL.to_vec()),
        }
    }

    fn named(name: &str) -> Result<Self, FaultsError> {
        let unknown = || FaultsError::Usage(format!("there is no job `{name}`"));
        Self::ALL.into_iter().find(|job| job.name() == name).ok_or_else(unknown)
    }

    /// The command line. Paths are whole, so that a trace names every file by its whole path.
    fn command_line(self, place: &Place) -> Vec<OsString> {
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
            // Only the list of trusted files is of interest, so the conversation is not stored.
            Self::Trust => words("tertulia run --trust --store memory hello"),
            Self::Init => words("tertulia init"),
        };
        match self {
            Self::Backup => line.push(place.backup().into()),
            Self::Restore => line.push(place.made().into()),
            Self::Import => line.push(place.import().into()),
            Self::Export => line.push(place.export().into()),
            Self::Branch => {
                line.push(template::branched_from().as_str().into());
                line.extend(words("--into new"));
            }
            Self::Redact => line.push(template::REDACTED.into()),
            Self::Migration | Self::Delete | Self::Trust | Self::Init => {}
        }
        line
    }

    /// What the command says once it has done all that it promises; `None` if it says nothing then.
    pub(crate) fn words_at_end(self) -> Option<&'static str> {
        match self {
            Self::Backup => Some(" copied to "),
            Self::Restore => Some(" copied from "),
            Self::Import => Some("session new"),
            Self::Branch => Some("holds a copy"),
            Self::Delete => Some("is deleted"),
            // It says "is redacted" while it still takes the text out of other files.
            Self::Redact => Some("out of reach"),
            Self::Trust => Some("is trusted as it is now"),
            Self::Init => Some("created "),
            Self::Export | Self::Migration => None,
        }
    }

    /// What a process needs that does the job: this program, or one that starts this program.
    pub(crate) fn set_up(self, how: How, root: &Path, command: &mut Command) {
        let place = Place::new(root);
        command.args(["copier", "--job", self.name(), "--folder"]).arg(root);
        if how == How::Naive {
            command.args(["--naive", "yes"]);
        }
        place.set_environment(command);
    }

    /// Does it in a process whose disk is sound; says whether it succeeded.
    pub(crate) fn run(self, how: How, root: &Path) -> Result<bool, FaultsError> {
        let mut command = Command::new(tools::own_path()?);
        self.set_up(how, root, &mut command);
        tools::run_quietly(&mut command, &Place::new(root).said(), LIMIT)
    }
}

/// The inner half of the roles: does a job in this process.
pub(crate) fn copier(arguments: &[String]) -> Result<bool, FaultsError> {
    let options = Options::parse("copier", arguments, &["job", "folder", "naive"])?;
    let job = Job::named(options.needed("job")?)?;
    let place = Place::new(Path::new(options.needed("folder")?));
    // Started by hand it would work on the sessions of whoever does so.
    if !place.is_in_environment() {
        return Err(FaultsError::unfit("`copier` is started by other roles only"));
    }
    if options.text("naive").is_some() {
        naive::run(job, &place)?;
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
    let code = main_with(job.command_line(&place), &mut streams);
    let is_said = out.flush().is_ok();
    Ok(code == ExitCode::SUCCESS && is_said)
}
