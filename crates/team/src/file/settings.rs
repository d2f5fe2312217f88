//! The settings that a project has for coding agents: hooks, MCP servers, plugins, variables. An agent obeys
//! those of the folder it works in, so they are trusted by content, as the team file is. Read here, all of them
//! and with limits; no link is followed out of them. Called before a program is started, and by `doctor`.

#![expect(clippy::disallowed_methods, reason = "settings are files")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use tertulia_agent::agents::AGENTS;

use super::changes::{self, HideKey};
use super::read::ContentHash;

const FILES_MAX: usize = 5000;
const BYTES_MAX: u64 = 64 * 1024 * 1024;
const DEPTH_MAX: usize = 16;
/// Of a larger file only the size is shown.
const SHOWN_BYTES_MAX: usize = 64 * 1024;
/// If all lines together are more, only the names and sizes are shown.
const LINES_BYTES_MAX: usize = 128 * 1024;

/// Where an agent works, and the folder up to which it looks for settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkPlace {
    /// The folder where it works, links followed.
    pub folder: PathBuf,
    /// This folder, or one above it: the repository.
    pub top: PathBuf,
}

/// All settings that agents in some folders obey.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    files: BTreeMap<PathBuf, Vec<u8>>,
}

/// The settings as they were when a team was opened. An agent may change them: they are compared before each start.
#[derive(Clone, Debug)]
pub struct SettingsGuard {
    places: Vec<WorkPlace>,
    home: Option<PathBuf>,
    hash: ContentHash,
}

impl SettingsGuard {
    /// Remembers the settings of these folders as they are now.
    pub fn new(places: Vec<WorkPlace>, home: Option<PathBuf>, settings: &Settings) -> Self {
        Self { places, home, hash: settings.hash() }
    }

    /// Why no program may be started now: the settings are not the same any more.
    pub fn objection(&self) -> Option<String> {
        match Settings::read(&self.places, self.home.as_deref()) {
            Ok(settings) if settings.hash() == self.hash => None,
            Ok(_) => Some(
                "the project's settings for agents have changed since you trusted them; start the command \
                 again to look at the changes"
                    .to_owned(),
            ),
            Err(error) => Some(error.to_string()),
        }
    }
}

/// Settings that cannot be trusted, whatever they say.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// What it leads to can change unseen, and may have been trusted for another project.
    #[error(
        "{} links to a file outside of this project's agent settings; replace it by what it leads to",
        path.display()
    )]
    Link { path: PathBuf },
    /// Its content is not fixed.
    #[error("{} is among the settings that agents obey here, and is no file; remove it", path.display())]
    NotAFile { path: PathBuf },
    /// It cannot be read, so nobody knows what it says.
    #[error("{} is among the settings that agents obey here, and cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    /// Nobody can judge so much.
    #[error(
        "{} holds more settings than can be trusted (at most {FILES_MAX} files, {} MiB, {DEPTH_MAX} folders \
         deep); move what is no setting out of it",
        path.display(),
        BYTES_MAX / 1024 / 1024
    )]
    TooMuch { path: PathBuf },
}

impl Settings {
    /// Reads all settings that agents in these folders obey. Those in the home are the person's own.
    pub fn read(places: &[WorkPlace], home: Option<&Path>) -> Result<Self, SettingsError> {
        let mut roots = BTreeSet::new();
        for place in places {
            let above = place.folder.ancestors().take_while(|one| one.starts_with(&place.top));
            for folder in above.filter(|folder| home != Some(*folder)) {
                let is_there = |path: &PathBuf| path.symlink_metadata().is_ok();
                let is_file = |path: &PathBuf| path.symlink_metadata().is_ok_and(|it| !it.is_dir());
                let settings = || AGENTS.iter().map(|agent| &agent.settings);
                let folders = settings().flat_map(|settings| settings.folders);
                let files = settings().flat_map(|settings| settings.files);
                roots.extend(folders.map(|name| folder.join(name)).filter(is_there));
                roots.extend(files.map(|name| folder.join(name)).filter(is_file));
            }
        }
        let files = BTreeMap::new();
        let mut reading = Reading { roots: &roots, files, count: 0, bytes: 0, root: Path::new("") };
        for root in &roots {
            reading.root = root;
            reading.walk(root, 0)?;
        }
        Ok(Self { files: reading.files })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Stands for the names and the content of all of them.
    pub fn hash(&self) -> ContentHash {
        let mut bytes = Vec::new();
        for (path, content) in &self.files {
            let name = path.as_os_str().as_bytes();
            bytes.extend((name.len() as u64).to_le_bytes());
            bytes.extend(name);
            // The hash stands for the content, so that it need not be copied.
            bytes.extend(blake3::hash(content).as_bytes());
        }
        ContentHash::new(&bytes)
    }

    /// The files with their sizes, as they are listed for a person.
    pub fn names(&self, base: &Path) -> Vec<String> {
        let named = |(path, content): (&PathBuf, &Vec<u8>)| {
            format!("{} ({} bytes)", short(path, base), content.len())
        };
        self.files.iter().map(named).collect()
    }

    /// Their lines as they may be shown, each with the name of its file: without what may be a key or a
    /// password, and of `.env` files the names of the variables only.
    pub fn lines(&self, base: &Path, key: &HideKey) -> Vec<String> {
        let mut lines = Vec::new();
        for (path, content) in &self.files {
            let name = short(path, base);
            let shown = lines_of(path, content, key);
            lines.extend(shown.into_iter().map(|line| format!("{name}: {line}")));
        }
        if lines.iter().map(String::len).sum::<usize>() <= LINES_BYTES_MAX {
            return lines;
        }
        let summary = |(path, content): (&PathBuf, &Vec<u8>)| {
            format!("{}: {}", short(path, base), changes::summary(content, key))
        };
        self.files.iter().map(summary).collect()
    }
}

struct Reading<'r> {
    /// All settings: a link from one to another leads nowhere else.
    roots: &'r BTreeSet<PathBuf>,
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// How many files and folders were found.
    count: usize,
    bytes: u64,
    root: &'r Path,
}

impl Reading<'_> {
    fn walk(&mut self, path: &Path, depth: usize) -> Result<(), SettingsError> {
        self.count += 1;
        if depth > DEPTH_MAX || self.count > FILES_MAX {
            return Err(self.too_much());
        }
        let about = path.symlink_metadata().map_err(|source| unreadable(path, source))?;
        if about.is_symlink() {
            return self.link(path);
        }
        if !about.is_dir() {
            return self.file(path);
        }
        let entries = path.read_dir().map_err(|source| unreadable(path, source))?;
        for entry in entries {
            let entry = entry.map_err(|source| unreadable(path, source))?.path();
            if !is_skipped(&entry) {
                self.walk(&entry, depth + 1)?;
            }
        }
        Ok(())
    }

    /// A link to another setting is known by where it leads; that is read where it is found.
    fn link(&mut self, path: &Path) -> Result<(), SettingsError> {
        let target = path.canonicalize().ok();
        // What is not read here must not be led to either.
        let is_inside = |target: &PathBuf| {
            self.roots.iter().any(|root| *root != path && target.starts_with(root))
                && !target.ancestors().any(is_skipped)
        };
        let target = target.filter(is_inside);
        let target = target.ok_or_else(|| SettingsError::Link { path: path.to_owned() })?;
        self.files.insert(path.to_owned(), target.as_os_str().as_bytes().to_vec());
        Ok(())
    }

    fn file(&mut self, path: &Path) -> Result<(), SettingsError> {
        let failed = |source| unreadable(path, source);
        let file = open(path).map_err(failed)?;
        // What was opened is asked, not the path.
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(SettingsError::NotAFile { path: path.to_owned() });
        }
        let mut content = Vec::new();
        let left = BYTES_MAX - self.bytes;
        file.take(left + 1).read_to_end(&mut content).map_err(failed)?;
        self.bytes += content.len() as u64;
        if self.bytes > BYTES_MAX {
            return Err(self.too_much());
        }
        self.files.insert(path.to_owned(), content);
        Ok(())
    }

    fn too_much(&self) -> SettingsError {
        SettingsError::TooMuch { path: self.root.to_owned() }
    }
}

/// Whether a folder among the settings holds none.
fn is_skipped(path: &Path) -> bool {
    let mut skipped = AGENTS.iter().flat_map(|agent| agent.settings.skipped);
    skipped.any(|end| path.ends_with(end))
}

/// Opens a file that is no link, and does not wait for one that is a pipe.
fn open(path: &Path) -> std::io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

fn unreadable(path: &Path, source: std::io::Error) -> SettingsError {
    SettingsError::Unreadable { path: path.to_owned(), source }
}

fn short(path: &Path, base: &Path) -> String {
    path.strip_prefix(base).unwrap_or(path).display().to_string()
}

fn lines_of(path: &Path, content: &[u8], key: &HideKey) -> Vec<String> {
    let name = path.file_name().unwrap_or_default().as_bytes();
    let text = str::from_utf8(content).ok().filter(|text| !text.contains('\0'));
    match text.filter(|text| text.len() <= SHOWN_BYTES_MAX) {
        Some(text) if name.starts_with(b".env") => changes::variable_lines(text, key),
        Some(text) => changes::setting_lines(text, key),
        None => vec![changes::summary(content, key)],
    }
}
