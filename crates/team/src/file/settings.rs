//! The settings of a project for coding agents: hooks, MCP servers, plugins, variables. An agent applies the settings
//! of its work folder, so they are trusted by content, like the team file. This module reads all of them, within
//! limits, and follows no links out of them. It is called before a program is started, and by `doctor`.

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
/// Maximum size of a file whose content is shown. Of a larger file, only the size is shown.
const SHOWN_BYTES_MAX: usize = 64 * 1024;
/// Maximum size of all shown lines together. If they are larger, only the names and sizes are shown.
const LINES_BYTES_MAX: usize = 128 * 1024;

/// The folder an agent works in, and the folder up to which it looks for settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkFolder {
    /// The folder where it works, with links resolved.
    pub folder: PathBuf,
    /// The same folder, or one above it: the repository.
    pub top: PathBuf,
}

/// All settings that agents in some folders apply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    files: BTreeMap<PathBuf, Vec<u8>>,
}

/// The settings at the time when a team was opened. An agent may change them, so they are compared before each start.
#[derive(Clone, Debug)]
pub struct SettingsGuard {
    work_folders: Vec<WorkFolder>,
    home: Option<PathBuf>,
    hash: ContentHash,
}

impl SettingsGuard {
    /// Stores the settings of these folders as they are now.
    pub fn new(work_folders: Vec<WorkFolder>, home: Option<PathBuf>, settings: &Settings) -> Self {
        Self { work_folders, home, hash: settings.hash() }
    }

    /// Returns the reason why no program may be started in this folder of a worktree. Its settings must be those of the
    /// project: the agent could have changed them there. `tops` are the folders of the worktree and of the repository.
    pub(crate) fn objection_in(&self, folder: &Path, tops: (&Path, &Path)) -> Option<String> {
        let (top, repository) = tops;
        let work_folder = WorkFolder { folder: folder.to_owned(), top: top.to_owned() };
        let read = |folders: &[WorkFolder]| {
            Settings::read(folders, self.home.as_deref()).map_err(|error| error.to_string())
        };
        let (there, trusted) = match (read(&[work_folder]), read(&self.work_folders)) {
            (Ok(there), Ok(trusted)) => (there, trusted),
            (Err(error), _) | (_, Err(error)) => return Some(error),
        };
        let is_trusted = |(path, content): &(&PathBuf, &Vec<u8>)| {
            let inside = path.strip_prefix(top).ok();
            inside
                .is_some_and(|inside| trusted.files.get(&repository.join(inside)) == Some(content))
        };
        let (path, _) = there.files.iter().find(|file| !is_trusted(file))?;
        Some(format!(
            "the worktree has agent settings that differ from those of the project: {}; remove the \
             file, or commit the settings of the project",
            path.display()
        ))
    }

    /// Returns the reason why no program may be started now, if the settings have changed.
    pub fn objection(&self) -> Option<String> {
        match Settings::read(&self.work_folders, self.home.as_deref()) {
            Ok(settings) if settings.hash() == self.hash => None,
            Ok(_) => Some(
                "the project's settings for agents have changed since you trusted them; run the \
                 command again to see the changes"
                    .to_owned(),
            ),
            Err(error) => Some(error.to_string()),
        }
    }
}

/// Settings that cannot be trusted, whatever their content.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The target can change unnoticed, and may have been trusted for another project.
    #[error(
        "{} links to a file outside of the agent settings of this project; replace the link by the file",
        path.display()
    )]
    Link { path: PathBuf },
    /// The content is not fixed.
    #[error("agents read settings from {}, but it is not a regular file; remove it", path.display())]
    NotAFile { path: PathBuf },
    /// The content is not known.
    #[error("agents read settings from {}, but it cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    /// There are too many settings for a person to check.
    #[error(
        "{} contains more settings than can be trusted (at most {FILES_MAX} files, {} MiB, {DEPTH_MAX} folders \
         deep); move other files out of it",
        path.display(),
        BYTES_MAX / 1024 / 1024
    )]
    TooMuch { path: PathBuf },
}

impl Settings {
    /// Reads all settings that agents in these folders apply. Settings in the home belong to the user and are
    /// skipped.
    pub fn read(work_folders: &[WorkFolder], home: Option<&Path>) -> Result<Self, SettingsError> {
        let mut roots = BTreeSet::new();
        for work_folder in work_folders {
            let above =
                work_folder.folder.ancestors().take_while(|one| one.starts_with(&work_folder.top));
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

    /// Returns whether there are no settings.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns a hash of the names and contents of all settings.
    pub fn hash(&self) -> ContentHash {
        let mut bytes = Vec::new();
        for (path, content) in &self.files {
            let name = path.as_os_str().as_bytes();
            bytes.extend((name.len() as u64).to_le_bytes());
            bytes.extend(name);
            // The hash replaces the content, so that it need not be copied.
            bytes.extend(blake3::hash(content).as_bytes());
        }
        ContentHash::new(&bytes)
    }

    /// Returns the files with their sizes, for display.
    pub fn names(&self, base: &Path) -> Vec<String> {
        let named = |(path, content): (&PathBuf, &Vec<u8>)| {
            format!("{} ({} bytes)", short(path, base), content.len())
        };
        self.files.iter().map(named).collect()
    }

    /// Returns their lines for display, each with the name of its file. Leaves out possible keys and passwords. Of
    /// `.env` files, shows only the names of the variables.
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
    /// All settings files. A link from one to another is allowed.
    roots: &'r BTreeSet<PathBuf>,
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// Number of files and folders that were found.
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

    /// Identifies a link to another setting by its target, whose content is read there.
    fn link(&mut self, path: &Path) -> Result<(), SettingsError> {
        let target = path.canonicalize().ok();
        // A link must not lead to a file that is not read here.
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
        // Check the opened file, not the path.
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

/// Returns whether a folder inside the settings is skipped because it contains no settings.
fn is_skipped(path: &Path) -> bool {
    let mut skipped = AGENTS.iter().flat_map(|agent| agent.settings.skipped);
    skipped.any(|end| path.ends_with(end))
}

/// Opens a file that is not a link, without waiting for a pipe.
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
