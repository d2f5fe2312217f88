//! Loads the team: finds the team file, asks for trust if needed, and builds the team. Starts nothing.

use std::env;
use std::path::{Path, PathBuf};

use tertulia_team::file::{
    self, ContentHash, FileErrors, Found, MemberFile, Opened, Origin, PRICES_FILE, SearchPaths,
    Settings, SettingsGuard, TeamFile, Trust, TrustReason, Trusted, WorkFolder,
};
use tertulia_team::worktrees::Worktrees;
use tertulia_team::{PriceTable, Team};

use crate::Streams;
use crate::args::{TeamArg, TeamFileArg};
use crate::error::{CliError, Result};
use crate::store_location;
use crate::trust_question;

/// A team, and its source.
pub(crate) struct LoadedTeam {
    pub(crate) team: Team,
    /// The team file, with colours and other display settings.
    pub(crate) file: TeamFile,
    /// The project folder: that of the project's team file, or the repository, or the working folder.
    pub(crate) folder: String,
}

/// Whether a team file may start programs.
pub(crate) enum TrustState {
    /// It needs no trust.
    Harmless,
    /// The person has allowed it, or it is the person's own.
    Trusted,
    Untrusted(Vec<TrustReason>),
}

impl LoadedTeam {
    /// Loads the team for a command that starts agents; the file must be trusted.
    pub(crate) fn trusted(arg: &TeamArg, streams: &mut Streams<'_>) -> Result<Self> {
        let Some(found) = find(&arg.file)? else { return Self::built_in() };
        let opened = open(&found)?;
        allow(arg, &found, &opened, streams)?;
        // The settings are fixed here: a member that may edit files could change them before the next one starts.
        let (folders, home, settings) = settings_of(found.origin, &opened)?;
        if let Some(changed) = untrusted_settings(found.origin, &opened)? {
            // They changed while the question was open.
            let key = store_location::in_home(Trust::open)?.hide_key();
            return Err(CliError::Untrusted(trust_question::settings_question(
                &changed, &key, None,
            )));
        }
        let guard = SettingsGuard::new(folders, home, &settings);
        let mut loaded = Self::build(found.origin, opened, streams)?;
        loaded.team.settings = Some(guard);
        Ok(loaded)
    }

    /// Loads the team for a command that only reads. Nothing is started, so no trust is needed.
    pub(crate) fn read(arg: &TeamFileArg, streams: &mut Streams<'_>) -> Result<Self> {
        let Some(found) = find(arg)? else { return Self::built_in() };
        let mut opened = open(&found)?;
        if !is_trusted(found.origin, &opened) {
            let (team, left_out) = opened.team.without_outside_files();
            opened.team = team;
            for path in left_out {
                streams.note(&format!("{path} is not read: the team file is not trusted yet"));
            }
        }
        Self::build(found.origin, opened, streams)
    }

    /// Returns the project folder, as [`Self::read`] does, without loading the team.
    pub(crate) fn folder(arg: &TeamFileArg) -> Result<String> {
        let found = find(arg)?.filter(|found| found.origin == Origin::Project);
        let path = found.map(|found| std::fs::canonicalize(&found.path).unwrap_or(found.path));
        Ok(match path.as_deref().and_then(Path::parent) {
            Some(folder) => shown(folder),
            None => shown(project(&working_folder()?)),
        })
    }

    /// Returns the built-in team.
    fn built_in() -> Result<Self> {
        let base = working_folder()?;
        let file = TeamFile::built_in();
        let team = make(&file, &base, &base, &base)?.without_file();
        let folder = shown(project(&base));
        Ok(Self { team: with_worktrees(team.in_project(&folder)), file, folder })
    }

    fn build(origin: Origin, opened: Opened, streams: &mut Streams<'_>) -> Result<Self> {
        let Opened { team: file, folder: base, path, .. } = opened;
        for warning in &file.warnings {
            streams.note(&warning.to_string());
        }
        let work = work_folder(origin, &base)?;
        let team = make(&file, &base, &work, &path)?;
        let folder = match origin {
            Origin::Project => shown(&base),
            Origin::Flag | Origin::Variable | Origin::User => shown(project(&working_folder()?)),
        };
        Ok(Self { team: with_worktrees(team.in_project(&folder)), file, folder })
    }
}

/// Sets where members get their worktrees: below the data folder, if there is one.
fn with_worktrees(team: Team) -> Team {
    match store_location::home() {
        Ok(home) => team.with_worktrees(Worktrees::below(&home)),
        Err(_) => team,
    }
}

/// Returns the project that a command without a team works for, as [`LoadedTeam::folder`] returns it. A team file
/// that an environment variable names may be missing here.
pub(crate) fn project_here() -> String {
    let nowhere = || working_folder().map(|folder| shown(project(&folder))).unwrap_or_default();
    LoadedTeam::folder(&TeamFileArg { team: None }).unwrap_or_else(|_| nowhere())
}

/// Returns the folder of agents without a `cwd`: that of the project's team file, or else the working folder. Never the
/// folder of the user's own file: an agent that may edit there could change that file, which is always trusted.
pub(crate) fn work_folder(origin: Origin, base: &Path) -> Result<PathBuf> {
    let start = working_folder()?;
    let is_of_project = match origin {
        Origin::Project => true,
        Origin::Flag | Origin::Variable => base.starts_with(project(&start)),
        Origin::User => false,
    };
    Ok(if is_of_project { base.to_owned() } else { start })
}

/// Returns the repository of a folder, or the folder itself.
fn project(folder: &Path) -> &Path {
    let is_repository = |folder: &&Path| folder.join(".git").exists();
    folder.ancestors().find(is_repository).unwrap_or(folder)
}

/// Returns the project that a folder belongs to.
pub(crate) fn project_of(folder: &Path) -> String {
    shown(project(folder))
}

fn shown(folder: &Path) -> String {
    folder.display().to_string()
}

fn make(file: &TeamFile, base: &Path, work: &Path, path: &Path) -> Result<Team> {
    let team = Team::from_file_in(file, base, work);
    let mut team = team.map_err(|error| CliError::Team { path: path.to_owned(), error })?;
    team.prices = file.prices_after(own_prices()?);
    Ok(team)
}

/// Returns the prices in the user's own configuration, if there are any.
pub(crate) fn own_prices() -> Result<Option<PriceTable>> {
    let (home, config_home) = (variable("HOME"), variable("XDG_CONFIG_HOME"));
    match file::config_folder(home.as_deref(), config_home.as_deref()) {
        Some(folder) => Ok(PriceTable::open(&folder.join(PRICES_FILE))?),
        None => Ok(None),
    }
}

/// Returns a path in an environment variable; an empty one counts as unset.
fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|text| !text.is_empty()).map(PathBuf::from)
}

pub(crate) fn find(arg: &TeamFileArg) -> Result<Option<Found>> {
    let (named, home) = (variable("TERTULIA_TEAM"), variable("HOME"));
    let (config_home, start) = (variable("XDG_CONFIG_HOME"), working_folder()?);
    let found = file::find(&SearchPaths {
        flag: arg.team.as_deref(),
        variable: named.as_deref(),
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

/// Reads a team file. The user's own may be a link to anywhere.
pub(crate) fn open(found: &Found) -> Result<Opened, FileErrors> {
    match found.origin {
        Origin::User => file::open(&found.path),
        Origin::Flag | Origin::Variable | Origin::Project => file::open_inside(&found.path),
    }
}

/// Returns whether a path does not exist, not even as a broken link.
pub(crate) fn is_missing(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// Returns how a team file was found, for people.
pub(crate) fn name_of(origin: Origin) -> &'static str {
    match origin {
        Origin::Flag => "--team",
        Origin::Variable => "TERTULIA_TEAM",
        Origin::Project => "the project",
        Origin::User => "your own configuration",
    }
}

/// Returns the names of a team's agents.
pub(crate) fn agents_of(team: &Team) -> Vec<Box<str>> {
    let agents = team.members().iter().filter(|one| !one.is_person());
    agents.map(|one| one.member.name.clone()).collect()
}

pub(crate) fn working_folder() -> Result<PathBuf> {
    env::current_dir().map_err(|source| CliError::ReadFile { path: ".".into(), source })
}

pub(crate) fn trust_state(origin: Origin, opened: &Opened) -> Result<TrustState> {
    let reasons = file::needs_trust(&opened.team);
    if reasons.is_empty() {
        return Ok(TrustState::Harmless);
    }
    if !origin.needs_trust() {
        return Ok(TrustState::Trusted);
    }
    let known = store_location::in_home(Trust::open)?;
    Ok(match known.is_trusted(&opened.path, opened.hash) {
        true => TrustState::Trusted,
        false => TrustState::Untrusted(reasons),
    })
}

/// Returns whether a team file is trusted or needs no trust. On an error it is not trusted.
pub(crate) fn is_trusted(origin: Origin, opened: &Opened) -> bool {
    !matches!(trust_state(origin, opened), Err(_) | Ok(TrustState::Untrusted(_)))
}

/// Project settings that are not trusted with their current content.
pub(crate) struct UntrustedSettings {
    pub(crate) folder: PathBuf,
    pub(crate) settings: Settings,
    /// The members that use them.
    pub(crate) members: Vec<Box<str>>,
}

/// Checks that the file and the project settings are trusted, or asks one question for both.
fn allow(arg: &TeamArg, found: &Found, opened: &Opened, streams: &mut Streams<'_>) -> Result {
    let file = match trust_state(found.origin, opened)? {
        TrustState::Untrusted(reasons) => Some(reasons),
        TrustState::Harmless | TrustState::Trusted => None,
    };
    let settings = untrusted_settings(found.origin, opened)?;
    if file.is_none() && settings.is_none() {
        return Ok(());
    }
    let list = store_location::in_home(Trust::open)?;
    let key = list.hide_key();
    let mut question = String::new();
    if let Some(reasons) = &file {
        let before = list.seen(&opened.path);
        let lines = opened.lines(&key);
        question.push_str(&trust_question::file_question(
            &opened.path,
            reasons,
            &lines,
            before.as_ref(),
        ));
    }
    if let Some(untrusted) = &settings {
        let before = list.seen(&untrusted.folder);
        question.push_str(&trust_question::settings_question(untrusted, &key, before.as_ref()));
    }
    let is_agreed = arg.trust
        || streams.stdin_is_terminal
            && streams.confirm(&format!("{question}Trust it as it is now? [y/N] "))?;
    if !is_agreed {
        return Err(CliError::Untrusted(question));
    }
    if file.is_some() {
        trust(&opened.path, opened.hash)?;
        streams.note(&format!("{} is trusted as it is now", opened.path.display()));
    }
    if let Some(UntrustedSettings { folder, settings, .. }) = &settings {
        trust_seen(folder, settings.hash(), |list| {
            let lines = settings.lines(folder, &list.hide_key());
            Some(Trusted { reasons: settings.names(folder), lines })
        })?;
        let folder = folder.display();
        streams.note(&format!("the settings for agents in {folder} are trusted as they are now"));
    }
    Ok(())
}

/// Returns the project settings that the team's programs would use, if they are not trusted with their current content.
/// Trust in a team file does not include them.
pub(crate) fn untrusted_settings(
    origin: Origin,
    opened: &Opened,
) -> Result<Option<UntrustedSettings>> {
    let (_, _, settings) = settings_of(origin, opened)?;
    if settings.is_empty() {
        return Ok(None);
    }
    let work = work_folder(origin, &opened.folder)?;
    let folder = work.canonicalize().unwrap_or(work);
    let folder = project(&folder).to_owned();
    let is_trusted = store_location::in_home(Trust::open)?.is_trusted(&folder, settings.hash());
    let members = starters(opened).map(|member| member.name.clone()).collect();
    Ok((!is_trusted).then_some(UntrustedSettings { folder, settings, members }))
}

fn starters(opened: &Opened) -> impl Iterator<Item = &MemberFile> {
    opened.team.members.iter().filter(|member| member.starts_program())
}

/// Returns the folders of the team's programs, the home folder, and the settings they use.
fn settings_of(
    origin: Origin,
    opened: &Opened,
) -> Result<(Vec<WorkFolder>, Option<PathBuf>, Settings)> {
    let work = work_folder(origin, &opened.folder)?;
    let folders: Vec<WorkFolder> = starters(opened)
        .map(|member| match member.cwd.as_deref() {
            Some(cwd) => opened.folder.join(cwd),
            None => work.clone(),
        })
        // A missing folder is reported when the program is started.
        .filter_map(|folder| folder.canonicalize().ok())
        .map(|folder| WorkFolder { top: project(&folder).to_owned(), folder })
        .collect();
    let home = env::var_os("HOME").map(PathBuf::from);
    let home = home.map(|home| home.canonicalize().unwrap_or(home));
    let settings = Settings::read(&folders, home.as_deref())?;
    Ok((folders, home, settings))
}

pub(crate) fn trust(path: &Path, hash: ContentHash) -> Result {
    let opened = file::open(path).ok().filter(|opened| opened.hash == hash);
    trust_seen(path, hash, |list| {
        let opened = opened?;
        let reasons = file::needs_trust(&opened.team).iter().map(ToString::to_string).collect();
        Some(Trusted { reasons, lines: opened.lines(&list.hide_key()) })
    })
}

/// Trusts a path with this content, and remembers what the person saw.
fn trust_seen(
    path: &Path,
    hash: ContentHash,
    seen: impl FnOnce(&Trust) -> Option<Trusted>,
) -> Result {
    store_location::in_home(|home| {
        let mut list = Trust::open(home)?;
        // The next question shows only what changed since this content. It is stored before the trust, so that an
        // interruption repeats both steps.
        if let Some(seen) = seen(&list) {
            let _ = list.remember(path, hash, &seen);
        }
        list.trust(path, hash)
    })
}
