//! The reasons why a team file needs trust, and the list of trusted files by path and content. The list is the file
//! `trusted` in the data folder, with one line for each file. It is checked before a project's team file may start
//! anything.
//!
//! A line is the hash of the file's bytes, a space, and its path, in which `%` and every byte that is not printable
//! ASCII is written as `%` and two hex digits. Invalid lines are ignored.
//!
//! The lines that the person saw are stored next to it, in `trusted-files`, so that changes can be shown. Trust does
//! not depend on them: if they cannot be used, the whole file is shown again.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use tertulia_agent::Permissions;
use tertulia_agent::agents::AgentDefinition;
use tertulia_store::{NewFile, Readers, fresh_salt};

use super::changes::HideKey;
use super::read::{ContentHash, bytes_of, whole_path};
use super::spec::leads_out;
use super::{LibrarianScope, MemberFile, PreambleFile, TeamFile};
use crate::roster::Limits;

const FILE_NAME: &str = "trusted";
/// The folder with the lines that a person saw of each file. A file in it is named by the hash of the path.
const SEEN_FOLDER: &str = "trusted-files";
const SEEN_BYTES_MAX: usize = 256 * 1024;
const KEY_FILE: &str = "trust-key";
/// If there are more lines, the oldest are removed.
const LINES_MAX: usize = 1000;
const BYTES_MAX: usize = 8 * 1024 * 1024;

/// The list of trusted files.
#[derive(Clone, Debug)]
pub struct Trust {
    folder: PathBuf,
    lines: Vec<String>,
}

/// The lines of a file that a person saw when trusting it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trusted {
    pub reasons: Vec<String>,
    pub lines: Vec<String>,
}

/// The list of trusted files cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// Other users could have written it.
    #[error("{} {why}; check who wrote it, then delete it. Tertulia will ask you again which files \
        to trust", path.display())]
    Unsafe { path: PathBuf, why: &'static str },
    #[error("{} {why}; delete it. Tertulia will ask you again which files to trust", path.display())]
    Read { path: PathBuf, why: Box<str> },
    #[error("{} cannot be written; check the folder's permissions and free space", path.display())]
    Write { path: PathBuf, source: io::Error },
}

impl Trust {
    /// Reads the list in the data folder; a missing list trusts nothing.
    pub fn open(folder: &Path) -> Result<Self, TrustError> {
        let folder = folder.to_owned();
        let lines = lines_of(&folder.join(FILE_NAME))?;
        Ok(Self { folder, lines })
    }

    /// Returns whether the file at this path is trusted with this content.
    pub fn is_trusted(&self, path: &Path, hash: ContentHash) -> bool {
        let line = line(path, hash);
        self.lines.contains(&line)
    }

    /// Trusts the file at this path with this content, and stores it.
    pub fn trust(&mut self, path: &Path, hash: ContentHash) -> Result<(), TrustError> {
        let list = self.folder.join(FILE_NAME);
        // Another process may have added to it.
        self.lines = lines_of(&list)?;
        let line = line(path, hash);
        self.lines.retain(|known| *known != line);
        self.lines.push(line);
        let extra = self.lines.len().saturating_sub(LINES_MAX);
        self.lines.drain(..extra);
        let lines: String = self.lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        replace(&self.folder, FILE_NAME, lines.as_bytes())
            .map_err(|source| TrustError::Write { path: list, source })
    }

    /// Stores the lines that the person saw when trusting a file with this content.
    pub fn remember(&self, path: &Path, hash: ContentHash, seen: &Trusted) -> io::Result<()> {
        let Trusted { reasons, lines } = seen;
        let text = serde_json::json!({
            "hash": hash.to_string(), "reasons": reasons, "lines": lines
        });
        replace(&self.folder.join(SEEN_FOLDER), &seen_name(path), text.to_string().as_bytes())
    }

    /// Returns the lines that the person saw when last trusting the file at this path; `None` if not known.
    pub fn seen(&self, path: &Path) -> Option<Trusted> {
        let file = self.folder.join(SEEN_FOLDER).join(seen_name(path));
        check_safe(&file).ok().filter(|is_there| *is_there)?;
        let bytes = bytes_of(&file, SEEN_BYTES_MAX).ok()?;
        let fields: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
        let texts = |name: &str| -> Option<Vec<String>> {
            let list = fields.get(name)?.as_array()?;
            list.iter().map(|text| text.as_str().map(str::to_owned)).collect()
        };
        let hash = fields.get("hash")?.as_str()?;
        // The seen lines are only used if the content that they belong to is still trusted.
        let is_known = self.lines.contains(&format!("{hash} {}", written(path)));
        is_known.then_some(Trusted { reasons: texts("reasons")?, lines: texts("lines")? })
    }

    /// Removes seen lines that contain a text, and returns the number of files. This does not change trust: the next
    /// question shows such a file completely.
    pub fn forget_seen(folder: &Path, text: &str) -> usize {
        let escaped = serde_json::Value::from(text).to_string();
        let escaped = escaped.trim_matches('"');
        let files = folder.join(SEEN_FOLDER).read_dir().into_iter().flatten().flatten();
        let holds = |path: &PathBuf| {
            let bytes = bytes_of(path, SEEN_BYTES_MAX).unwrap_or_default();
            !escaped.is_empty() && String::from_utf8_lossy(&bytes).contains(escaped)
        };
        let removed = files.map(|file| file.path()).filter(holds);
        removed.filter(|path| std::fs::remove_file(path).is_ok()).count()
    }

    /// Returns the key of this machine that distinguishes hidden values, and creates it if needed. If it cannot be
    /// stored, it is new every time, and all hidden values seem to have changed.
    pub fn hide_key(&self) -> HideKey {
        let file = self.folder.join(KEY_FILE);
        let is_own = check_safe(&file).unwrap_or(false)
            && std::fs::metadata(&file).is_ok_and(|known| known.mode() & 0o077 == 0);
        let kept = bytes_of(&file, 32).ok().filter(|_| is_own);
        if let Some(key) = kept.and_then(|bytes| bytes.try_into().ok()) {
            return HideKey(key);
        }
        let key = random_bytes();
        let _ = replace(&self.folder, KEY_FILE, &key);
        HideKey(key)
    }
}

/// Replaces a file of the user atomically: a reader sees the old one or the new one.
fn replace(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    Ok(NewFile::replace_with(&folder.join(name), bytes, Readers::Owner)?)
}

fn random_bytes() -> [u8; 32] {
    let mut bytes = [0; 32];
    for half in bytes.chunks_exact_mut(16) {
        half.copy_from_slice(fresh_salt().as_bytes());
    }
    bytes
}

fn seen_name(path: &Path) -> String {
    let hash = ContentHash::new(written(path).as_bytes()).to_string();
    hash.get(..32).unwrap_or(&hash).to_owned()
}

/// Returns whether the file exists; an error if other users could have written it.
fn check_safe(path: &Path) -> Result<bool, TrustError> {
    let unsafe_for = |why| Err(TrustError::Unsafe { path: path.to_owned(), why });
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        // Reading reports all other errors.
        Err(_) => Ok(true),
        Ok(known) if known.is_symlink() => unsafe_for("is a symbolic link"),
        Ok(known) if known.uid() != rustix::process::geteuid().as_raw() => {
            unsafe_for("belongs to somebody else")
        }
        Ok(known) if known.mode() & 0o022 != 0 => unsafe_for("can be written by others"),
        Ok(_) => Ok(true),
    }
}

fn lines_of(path: &Path) -> Result<Vec<String>, TrustError> {
    if !check_safe(path)? {
        return Ok(Vec::new());
    }
    let refuse = |why: String| TrustError::Read { path: path.to_owned(), why: why.into() };
    let bytes = bytes_of(path, BYTES_MAX).map_err(refuse)?;
    let lines = bytes.split(|byte| *byte == b'\n').filter_map(|line| str::from_utf8(line).ok());
    Ok(lines.filter(|line| is_line(line)).map(str::to_owned).collect())
}

fn is_line(line: &str) -> bool {
    line.split_once(' ').is_some_and(|(hash, path)| {
        let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash && path.starts_with('/') && path.bytes().all(|byte| (0x21..=0x7e).contains(&byte))
    })
}

fn line(path: &Path, hash: ContentHash) -> String {
    format!("{hash} {}", written(path))
}

fn written(path: &Path) -> String {
    let mut written = String::new();
    for byte in whole_path(path).as_os_str().as_bytes() {
        match byte {
            b'%' | 0..=0x20 | 0x7f.. => written.push_str(&format!("%{byte:02x}")),
            printable => written.push(char::from(*printable)),
        }
    }
    written
}

/// A permission that a team file needs, as a text for the person who decides.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrustReason {
    /// Starts a coding agent. Such a program applies the settings of its work folder, and its non-interactive flags
    /// skip its own trust question.
    #[error(
        "{} is {}; it also uses the project's own settings (hooks, MCP servers)",
        shown(member),
        agent.title
    )]
    Agent { member: Box<str>, agent: &'static AgentDefinition },
    #[error("{} starts {}", shown(member), words(command))]
    Starts { member: Box<str>, command: Vec<Box<str>> },
    #[error("{} gets the arguments {}", shown(member), words(args))]
    Arguments { member: Box<str>, args: Vec<Box<str>> },
    #[error("{} gets the variables {}", shown(member), words(names))]
    Variables { member: Box<str>, names: Vec<Box<str>> },
    #[error("{} {}", shown(member), match permissions {
        Permissions::Read => "may read files",
        Permissions::Edit => "may edit files",
        Permissions::Full => "may do everything that you may do, without asking",
    })]
    Permissions { member: Box<str>, permissions: Permissions },
    #[error("{} sends the conversation to {}{}", shown(member), shown(base_url), match key_variable {
        Some(variable) => format!(" with the key in {}", shown(variable)),
        None => String::new(),
    })]
    Endpoint { member: Box<str>, base_url: Box<str>, key_variable: Option<Box<str>> },
    #[error("{} {} {}", shown(member), match *field {
        "cwd" => "works in",
        _ => "gets the file",
    }, shown(path))]
    Outside { member: Box<str>, field: &'static str, path: Box<str> },
    #[error("{} searches the sessions of all projects when you ask it", shown(member))]
    AllProjects { member: Box<str> },
    /// The agents may continue longer without a person than the default.
    #[error("the agents may take {turns} turns before they ask a person")]
    Turns { turns: u32 },
}

/// Returns everything in a team file that a person must allow, in the order of its members.
pub fn needs_trust(team: &TeamFile) -> Vec<TrustReason> {
    let mut reasons = Vec::new();
    // The limit of turns also bounds the other limits.
    let turns = team.limits.turns;
    if turns > Limits::default().turns {
        reasons.push(TrustReason::Turns { turns });
    }
    for member in &team.members {
        of_member(member, &mut reasons);
    }
    reasons
}

fn of_member(file: &MemberFile, reasons: &mut Vec<TrustReason>) {
    let member = || file.name.clone();
    if let Some(agent) = file.agent.filter(|agent| agent.cli.is_some()) {
        reasons.push(TrustReason::Agent { member: member(), agent });
    }
    if !file.command.is_empty() {
        reasons.push(TrustReason::Starts { member: member(), command: file.command.clone() });
    }
    if !file.args.is_empty() {
        reasons.push(TrustReason::Arguments { member: member(), args: file.args.clone() });
    }
    if !file.env.is_empty() {
        let names = file.env.keys().cloned().collect();
        reasons.push(TrustReason::Variables { member: member(), names });
    }
    if file.permissions > Permissions::Read {
        let permissions = file.permissions;
        reasons.push(TrustReason::Permissions { member: member(), permissions });
    }
    if file.scope == LibrarianScope::All {
        reasons.push(TrustReason::AllProjects { member: member() });
    }
    if let Some(base_url) = file.base_url.clone() {
        let key_variable = file.key_variable.clone();
        reasons.push(TrustReason::Endpoint { member: member(), base_url, key_variable });
    }
    let preamble = match &file.preamble {
        PreambleFile::File(path) => Some(&**path),
        PreambleFile::BuiltIn | PreambleFile::Off => None,
    };
    let paths = [
        ("instruction_file", file.instruction_file.as_deref()),
        ("preamble", preamble),
        ("script_file", file.script_file.as_deref()),
        ("cwd", file.cwd.as_deref()),
    ];
    for (field, path) in paths {
        if let Some(path) = path.filter(|path| leads_out(path)) {
            reasons.push(TrustReason::Outside { member: member(), field, path: path.into() });
        }
    }
}

fn words(words: &[Box<str>]) -> String {
    let shown: Vec<_> = words.iter().map(|word| shown(word)).collect();
    shown.join(" ")
}

/// Quotes a word that would not look like one word on a screen. Never shortens it, because the person who decides
/// must see all of it.
fn shown(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=+,@%~".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("\"{}\"", word.escape_debug()),
    }
}
