//! Who sits at the table: finds the team file, asks for trust where it is needed, and makes the team.
//! Called by the commands of the table. Starts nothing.

use std::env;
use std::path::{Path, PathBuf};

use tertulia_team::Team;
use tertulia_team::file::{
    self, ContentHash, Found, Opened, Origin, Places, TeamFile, Trust, TrustError, TrustReason,
    Trusted,
};

use crate::Streams;
use crate::args::{TeamArg, TeamFileArg};
use crate::error::CliError;
use crate::project_settings;
use crate::store_place;
use crate::terminal::visible;
use crate::trust_question;

/// A team, and where it came from.
pub(crate) struct TeamPlace {
    /// The team.
    pub(crate) team: Team,
    /// The team as its file describes it: colours and other things of a screen.
    pub(crate) file: TeamFile,
    /// The folder that the table belongs to: that of the project's team file, else the repository, else
    /// where the command runs.
    pub(crate) folder: String,
}

/// Whether a team file may start what it names.
pub(crate) enum Standing {
    /// It wants nothing that has to be allowed.
    Harmless,
    /// The person has allowed it, or it is the person's own.
    Trusted,
    /// Nobody has allowed this yet.
    Untrusted(Vec<TrustReason>),
}

impl TeamPlace {
    /// The team for a command that lets agents answer: its file must be trusted if it wants anything.
    pub(crate) fn trusted(arg: &TeamArg, streams: &mut Streams<'_>) -> Result<Self, CliError> {
        let Some(found) = find(&arg.file)? else { return Self::house() };
        let opened = file::open(&found.path)?;
        allow(arg, &found, &opened, streams)?;
        allow_folder(arg, &found, &opened, streams)?;
        Self::of(found.origin, opened, streams)
    }

    /// The team for a command that only reads. Nothing is started, so nothing has to be trusted.
    pub(crate) fn read(arg: &TeamFileArg, streams: &mut Streams<'_>) -> Result<Self, CliError> {
        let Some(found) = find(arg)? else { return Self::house() };
        let opened = file::open(&found.path)?;
        Self::of(found.origin, opened, streams)
    }

    /// The folder that a team belongs to, as [`Self::read`] gives it, without reading who is in it.
    pub(crate) fn folder(arg: &TeamFileArg) -> Result<String, CliError> {
        let found = find(arg)?.filter(|found| found.origin == Origin::Project);
        Ok(match found {
            Some(found) => shown(&file::open(&found.path)?.folder),
            None => shown(project(&working_folder()?)),
        })
    }

    /// The members that need no file.
    fn house() -> Result<Self, CliError> {
        let base = working_folder()?;
        let file = TeamFile::house();
        let team = make(&file, &base, &base, &base)?;
        Ok(Self { team, file, folder: shown(project(&base)) })
    }

    fn of(origin: Origin, opened: Opened, streams: &mut Streams<'_>) -> Result<Self, CliError> {
        let Opened { team: file, folder: base, path, .. } = opened;
        for warning in &file.warnings {
            // With standard error gone there is nobody left to tell.
            let _ = writeln!(streams.notes(), "tertulia: {}", visible(&warning.to_string()));
        }
        let work = work_folder(origin, &base)?;
        let team = make(&file, &base, &work, &path)?;
        let folder = match origin {
            Origin::Project => shown(&base),
            Origin::Flag | Origin::Variable | Origin::User => shown(project(&working_folder()?)),
        };
        Ok(Self { team, file, folder })
    }
}

/// Where agents without a `cwd` work: in the folder of a team file of the project, else where the command
/// runs. The folder of the user's own file is no place to work in: whoever may edit there may edit the file
/// that is trusted unseen.
pub(crate) fn work_folder(origin: Origin, base: &Path) -> Result<PathBuf, CliError> {
    let start = working_folder()?;
    let is_of_project = match origin {
        Origin::Project => true,
        Origin::Flag | Origin::Variable => base.starts_with(project(&start)),
        Origin::User => false,
    };
    Ok(if is_of_project { base.to_owned() } else { start })
}

/// The repository that a folder lies in, or the folder.
fn project(folder: &Path) -> &Path {
    let is_repository = |folder: &&Path| folder.join(".git").exists();
    folder.ancestors().find(is_repository).unwrap_or(folder)
}

fn shown(folder: &Path) -> String {
    folder.display().to_string()
}

fn make(file: &TeamFile, base: &Path, work: &Path, path: &Path) -> Result<Team, CliError> {
    let team = Team::from_file_in(file, base, work);
    team.map_err(|error| CliError::Team { path: path.to_owned(), error })
}

/// Finds the team file; `None` if there is none.
pub(crate) fn find(arg: &TeamFileArg) -> Result<Option<Found>, CliError> {
    let path = |name: &str| env::var_os(name).filter(|text| !text.is_empty()).map(PathBuf::from);
    let (variable, home) = (path("TERTULIA_TEAM"), path("HOME"));
    let (config_home, start) = (path("XDG_CONFIG_HOME"), working_folder()?);
    let found = file::find(&Places {
        flag: arg.team.as_deref(),
        variable: variable.as_deref(),
        start: &start,
        home: home.as_deref(),
        config_home: config_home.as_deref(),
    });
    match found {
        Some(Found { path, origin }) if is_missing(&path) => {
            Err(CliError::NoTeamFile { path, by: name_of(origin) })
        }
        found => Ok(found),
    }
}

fn is_missing(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// What led to a team file, for people.
pub(crate) fn name_of(origin: Origin) -> &'static str {
    match origin {
        Origin::Flag => "--team",
        Origin::Variable => "TERTULIA_TEAM",
        Origin::Project => "the project's",
        Origin::User => "the user's own",
    }
}

/// The agents of a team, for whoever named somebody else.
pub(crate) fn agents_of(team: &Team) -> Vec<Box<str>> {
    let agents = team.members().iter().filter(|one| !one.is_person());
    agents.map(|one| one.member.name.clone()).collect()
}

/// The folder where the command runs.
pub(crate) fn working_folder() -> Result<PathBuf, CliError> {
    env::current_dir().map_err(|source| CliError::ReadFile { path: ".".into(), source })
}

/// Whether a team file that was read may start what it names.
pub(crate) fn standing(origin: Origin, opened: &Opened) -> Result<Standing, CliError> {
    let reasons = file::needs_trust(&opened.team);
    if reasons.is_empty() {
        return Ok(Standing::Harmless);
    }
    if !origin.needs_trust() {
        return Ok(Standing::Trusted);
    }
    let known = store_place::in_home(Trust::open)?;
    match known.is_trusted(&opened.path, opened.hash) {
        true => Ok(Standing::Trusted),
        false => Ok(Standing::Untrusted(reasons)),
    }
}

/// Goes on if the file is trusted, or becomes so now.
fn allow(
    arg: &TeamArg,
    found: &Found,
    opened: &Opened,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let Standing::Untrusted(reasons) = standing(found.origin, opened)? else { return Ok(()) };
    let before = store_place::in_home(Trust::open)?.seen(&opened.path);
    let question = trust_question::of_file(&opened.path, &reasons, &opened.lines, before.as_ref());
    agree(arg, &opened.path, opened.hash, question, "is trusted as it is now", streams)
}

/// The same for the folder that the agents of a file from elsewhere work in: whoever trusts the file has not
/// seen the settings of this project, which the agents obey.
fn allow_folder(
    arg: &TeamArg,
    found: &Found,
    opened: &Opened,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let work = work_folder(found.origin, &opened.folder)?;
    let is_agent = |reason: &TrustReason| matches!(reason, TrustReason::Agent { .. });
    let mut reasons = file::needs_trust(&opened.team);
    reasons.retain(is_agent);
    let settings = settings_for(&work);
    let Some(path) = settings.filter(|_| work != opened.folder && !reasons.is_empty()) else {
        return Ok(());
    };
    // They change with every version of the project, as its other programs do.
    let hash = ContentHash::of(b"whatever they say");
    if store_place::in_home(Trust::open)?.is_trusted(&path, hash) {
        return Ok(());
    }
    let question = trust_question::of_file(&path, &reasons, &[], None);
    agree(arg, &path, hash, question, "is trusted from now on", streams)
}

/// Trusts it if the person wants that, and says so; an error if not.
fn agree(
    arg: &TeamArg,
    path: &Path,
    hash: ContentHash,
    question: String,
    told: &str,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let is_agreed = arg.trust
        || streams.stdin_is_terminal
            && streams.agree(&format!("{question}Trust it as it is now? [y/N] "))?;
    if !is_agreed {
        return Err(CliError::Untrusted(question));
    }
    trust(path, hash)?;
    let line = format!("{} {told}", path.display());
    let _ = writeln!(streams.notes(), "tertulia: {}", visible(&line));
    Ok(())
}

/// The settings of the project that agents in this folder would obey.
pub(crate) fn settings_for(folder: &Path) -> Option<PathBuf> {
    project_settings::of_folder(folder, project(folder))
}

/// Trusts a file with this content from now on.
pub(crate) fn trust(path: &Path, hash: ContentHash) -> Result<(), CliError> {
    let seen = file::open(path).ok().filter(|opened| opened.hash == hash).map(|opened| Trusted {
        reasons: file::needs_trust(&opened.team).iter().map(ToString::to_string).collect(),
        lines: opened.lines,
    });
    store_place::in_home(|home| {
        let mut list = Trust::open(home)?;
        list.trust(path, hash)?;
        // For the next question only: without it all is shown again.
        if let Some(seen) = seen {
            let _ = list.remember(path, hash, &seen);
        }
        Ok::<_, TrustError>(())
    })
}
