//! Who sits at the table: finds the team file, asks for trust where it is needed, and makes the team.
//! Called by the commands of the table. Starts nothing.

use std::env;
use std::path::{Path, PathBuf};

use tertulia_team::Team;
use tertulia_team::file::{
    self, ContentHash, FileErrors, Found, MemberFile, Opened, Origin, Places, Settings,
    SettingsGuard, TeamFile, Trust, TrustReason, Trusted, WorkPlace,
};

use crate::Streams;
use crate::args::{TeamArg, TeamFileArg};
use crate::error::{CliError, Result};
use crate::store_place;
use crate::trust_question;

/// A team, and where it came from.
pub(crate) struct TeamPlace {
    pub(crate) team: Team,
    /// The team as its file describes it: colours and other things of a screen.
    pub(crate) file: TeamFile,
    /// The folder of the table: that of the project's team file, else the repository, else where the command runs.
    pub(crate) folder: String,
}

/// Whether a team file may start what it names.
pub(crate) enum Standing {
    /// It wants nothing that has to be allowed.
    Harmless,
    /// The person has allowed it, or it is the person's own.
    Trusted,
    Untrusted(Vec<TrustReason>),
}

impl TeamPlace {
    /// The team for a command that lets agents answer: its file must be trusted if it wants anything.
    pub(crate) fn trusted(arg: &TeamArg, streams: &mut Streams<'_>) -> Result<Self> {
        let Some(found) = find(&arg.file)? else { return Self::house() };
        let opened = open(&found)?;
        allow(arg, &found, &opened, streams)?;
        // As they were trusted: a member that may edit files could change them before the next one starts.
        let (places, home, settings) = settings_of(found.origin, &opened)?;
        if let Some(changed) = untrusted_settings(found.origin, &opened)? {
            // Somebody changed them while the question stood.
            let key = store_place::in_home(Trust::open)?.hide_key();
            return Err(CliError::Untrusted(trust_question::of_settings(&changed, &key, None)));
        }
        let guard = SettingsGuard::new(places, home, &settings);
        let mut place = Self::of(found.origin, opened, streams)?;
        place.team.settings = Some(guard);
        Ok(place)
    }

    /// The team for a command that only reads. Nothing is started, so nothing has to be trusted.
    pub(crate) fn read(arg: &TeamFileArg, streams: &mut Streams<'_>) -> Result<Self> {
        let Some(found) = find(arg)? else { return Self::house() };
        let mut opened = open(&found)?;
        if !is_trusted(found.origin, &opened) {
            let (team, left_out) = opened.team.without_outside_files();
            opened.team = team;
            for path in left_out {
                streams.note(&format!("{path} is not read: the team file is not trusted yet"));
            }
        }
        Self::of(found.origin, opened, streams)
    }

    /// The folder that a team belongs to, as [`Self::read`] gives it, without reading who is in it.
    pub(crate) fn folder(arg: &TeamFileArg) -> Result<String> {
        let found = find(arg)?.filter(|found| found.origin == Origin::Project);
        let path = found.map(|found| std::fs::canonicalize(&found.path).unwrap_or(found.path));
        Ok(match path.as_deref().and_then(Path::parent) {
            Some(folder) => shown(folder),
            None => shown(project(&working_folder()?)),
        })
    }

    /// The members that need no file.
    fn house() -> Result<Self> {
        let base = working_folder()?;
        let file = TeamFile::house();
        let team = make(&file, &base, &base, &base)?.without_file();
        let folder = shown(project(&base));
        Ok(Self { team: team.in_project(&folder), file, folder })
    }

    fn of(origin: Origin, opened: Opened, streams: &mut Streams<'_>) -> Result<Self> {
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
        Ok(Self { team: team.in_project(&folder), file, folder })
    }
}

/// The project that a command without a team works for, as [`TeamPlace::folder`] gives it. A team file that
/// a variable names and that is missing changes nothing here.
pub(crate) fn project_here() -> String {
    let nowhere = || working_folder().map(|folder| shown(project(&folder))).unwrap_or_default();
    TeamPlace::folder(&TeamFileArg { team: None }).unwrap_or_else(|_| nowhere())
}

/// Where agents without a `cwd` work: in the folder of a team file of the project, else where the command
/// runs. The folder of the user's own file is no place to work in: whoever may edit there may edit the file
/// that is trusted unseen.
pub(crate) fn work_folder(origin: Origin, base: &Path) -> Result<PathBuf> {
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

fn make(file: &TeamFile, base: &Path, work: &Path, path: &Path) -> Result<Team> {
    let team = Team::from_file_in(file, base, work);
    team.map_err(|error| CliError::Team { path: path.to_owned(), error })
}

pub(crate) fn find(arg: &TeamFileArg) -> Result<Option<Found>> {
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

/// Reads a team file that was found. The person's own may be a link to wherever they keep it.
pub(crate) fn open(found: &Found) -> Result<Opened, FileErrors> {
    match found.origin {
        Origin::User => file::open(&found.path),
        Origin::Flag | Origin::Variable | Origin::Project => file::open_inside(&found.path),
    }
}

/// Whether nothing is at a path, not even a link that leads nowhere.
pub(crate) fn is_missing(path: &Path) -> bool {
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

pub(crate) fn working_folder() -> Result<PathBuf> {
    env::current_dir().map_err(|source| CliError::ReadFile { path: ".".into(), source })
}

pub(crate) fn standing(origin: Origin, opened: &Opened) -> Result<Standing> {
    let reasons = file::needs_trust(&opened.team);
    if reasons.is_empty() {
        return Ok(Standing::Harmless);
    }
    if !origin.needs_trust() {
        return Ok(Standing::Trusted);
    }
    let known = store_place::in_home(Trust::open)?;
    Ok(match known.is_trusted(&opened.path, opened.hash) {
        true => Standing::Trusted,
        false => Standing::Untrusted(reasons),
    })
}

/// Whether a team file may start what it names, or names nothing. What cannot be told is not trusted.
pub(crate) fn is_trusted(origin: Origin, opened: &Opened) -> bool {
    !matches!(standing(origin, opened), Err(_) | Ok(Standing::Untrusted(_)))
}

/// Settings of a project that nobody has allowed yet with this content.
pub(crate) struct UntrustedSettings {
    pub(crate) folder: PathBuf,
    pub(crate) settings: Settings,
    /// The members that obey them.
    pub(crate) members: Vec<Box<str>>,
}

/// Goes on if the file and the settings of the project are trusted, or become so now: one question for both.
fn allow(arg: &TeamArg, found: &Found, opened: &Opened, streams: &mut Streams<'_>) -> Result {
    let file = match standing(found.origin, opened)? {
        Standing::Untrusted(reasons) => Some(reasons),
        Standing::Harmless | Standing::Trusted => None,
    };
    let settings = untrusted_settings(found.origin, opened)?;
    if file.is_none() && settings.is_none() {
        return Ok(());
    }
    let list = store_place::in_home(Trust::open)?;
    let key = list.hide_key();
    let mut question = String::new();
    if let Some(reasons) = &file {
        let before = list.seen(&opened.path);
        let lines = opened.lines(&key);
        question.push_str(&trust_question::of_file(&opened.path, reasons, &lines, before.as_ref()));
    }
    if let Some(untrusted) = &settings {
        let before = list.seen(&untrusted.folder);
        question.push_str(&trust_question::of_settings(untrusted, &key, before.as_ref()));
    }
    let is_agreed = arg.trust
        || streams.stdin_is_terminal
            && streams.agree(&format!("{question}Trust it as it is now? [y/N] "))?;
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

/// The settings of the project that the programs of a team would obey, if nobody has allowed them with this
/// content. Whoever trusts a team file has not seen them, wherever the file comes from.
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
    let is_trusted = store_place::in_home(Trust::open)?.is_trusted(&folder, settings.hash());
    let members = starters(opened).map(|member| member.name.clone()).collect();
    Ok((!is_trusted).then_some(UntrustedSettings { folder, settings, members }))
}

fn starters(opened: &Opened) -> impl Iterator<Item = &MemberFile> {
    opened.team.members.iter().filter(|member| member.starts_program())
}

/// Where the programs of a team work, whose home it is, and the settings that they obey there.
fn settings_of(
    origin: Origin,
    opened: &Opened,
) -> Result<(Vec<WorkPlace>, Option<PathBuf>, Settings)> {
    let work = work_folder(origin, &opened.folder)?;
    let places: Vec<WorkPlace> = starters(opened)
        .map(|member| match member.cwd.as_deref() {
            Some(cwd) => opened.folder.join(cwd),
            None => work.clone(),
        })
        // A missing folder is reported when the program is started.
        .filter_map(|folder| folder.canonicalize().ok())
        .map(|folder| WorkPlace { top: project(&folder).to_owned(), folder })
        .collect();
    let home = env::var_os("HOME").map(PathBuf::from);
    let home = home.map(|home| home.canonicalize().unwrap_or(home));
    let settings = Settings::read(&places, home.as_deref())?;
    Ok((places, home, settings))
}

pub(crate) fn trust(path: &Path, hash: ContentHash) -> Result {
    let opened = file::open(path).ok().filter(|opened| opened.hash == hash);
    trust_seen(path, hash, |list| {
        let opened = opened?;
        let reasons = file::needs_trust(&opened.team).iter().map(ToString::to_string).collect();
        Some(Trusted { reasons, lines: opened.lines(&list.hide_key()) })
    })
}

/// Trusts what is at a path with this content from now on, and remembers what the person saw of it.
fn trust_seen(
    path: &Path,
    hash: ContentHash,
    seen: impl FnOnce(&Trust) -> Option<Trusted>,
) -> Result {
    store_place::in_home(|home| {
        let mut list = Trust::open(home)?;
        // For the next question: without it all is shown again. It comes first: who is interrupted does both again.
        if let Some(seen) = seen(&list) {
            let _ = list.remember(path, hash, &seen);
        }
        list.trust(path, hash)
    })
}
