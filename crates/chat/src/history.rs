//! The input history of each project, in a file of the data folder that only its owner can read. A line break is
//! written as `\n`, a backslash as `\\`. Each line starts with `\p`, a prefix of the project's hash and a space. The
//! chat also works without the file.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use tertulia_store::{NewFile, Readers};
use tertulia_team::file::ContentHash;

use super::editor::HISTORY_MAX;

const FILE: &str = "chat_history";
/// Only the end of a longer file is read.
const BYTES_READ: u64 = 256 * 1024;
/// Longer lines are not stored.
const LINE_BYTES_MAX: usize = 16 * 1024;

/// Number of digits of the project's hash before each line.
const TAG_DIGITS: usize = 16;

/// The input history of a project.
pub struct History {
    path: Option<PathBuf>,
    /// Prefix of this project's lines in the file.
    tag: String,
}

impl History {
    /// Returns the history of a project in this folder; without a folder, nothing is stored.
    pub fn in_folder(folder: Option<PathBuf>, project: &str) -> Self {
        let hash = ContentHash::new(project.as_bytes()).to_string();
        let tag = format!("\\p{} ", hash.get(..TAG_DIGITS).unwrap_or_default());
        Self { path: folder.map(|folder| folder.join(FILE)), tag }
    }

    /// Reads the newest lines, oldest first.
    pub fn load(&self) -> Vec<String> {
        let text = self.path.as_ref().and_then(|path| read_end(path).ok()).unwrap_or_default();
        let own = text.lines().filter_map(|line| line.strip_prefix(self.tag.as_str()));
        let lines: Vec<&str> = own.filter(|line| !line.is_empty()).collect();
        let from = lines.len().saturating_sub(HISTORY_MAX);
        lines.into_iter().skip(from).map(unescaped).collect()
    }

    /// Adds a line. Errors are ignored, so that they do not disturb the chat.
    pub fn add(&self, line: &str) {
        let Some(path) = self.path.as_ref().filter(|_| line.len() <= LINE_BYTES_MAX) else {
            return;
        };
        if line.trim().is_empty() {
            return;
        }
        let line = line.replace('\\', "\\\\").replace('\n', "\\n");
        let written = format!("{}{line}\n", self.tag);
        let mut to_add = OpenOptions::new();
        to_add.append(true).create(true).mode(0o600);
        let _ = open_locked(path, &to_add).and_then(|mut file| file.write_all(written.as_bytes()));
    }

    /// Removes all matching lines, of any project; returns their number. Replaces the file, or overwrites the lines with
    /// spaces if the disk has no room for another file.
    pub fn forget(
        folder: Option<PathBuf>,
        should_remove: impl Fn(&str) -> bool,
    ) -> std::io::Result<usize> {
        let Some(path) = &folder.map(|folder| folder.join(FILE)) else { return Ok(0) };
        let file = match open_locked(path, OpenOptions::new().read(true)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
            file => file?,
        };
        let mut bytes = Vec::new();
        (&file).read_to_end(&mut bytes)?;
        let holds = |line: &&[u8]| {
            let line = String::from_utf8_lossy(line);
            let tagged = line.strip_prefix("\\p").and_then(|rest| rest.split_once(' '));
            should_remove(&unescaped(tagged.map_or(&*line, |(_, line)| line)))
        };
        let (gone, kept): (Vec<&[u8]>, Vec<&[u8]>) =
            bytes.split_inclusive(|byte| *byte == b'\n').partition(holds);
        let replaced = match gone.is_empty() {
            true => Ok(()),
            false => NewFile::replace_with(path, &kept.concat(), Readers::Owner),
        };
        match replaced {
            // It may have been replaced, and only the sync of its folder failed.
            Err(_) if NewFile::is_at(&file, path) => overwrite(path, &bytes, holds)?,
            replaced => replaced?,
        }
        Ok(gone.len())
    }
}

/// Overwrites lines of a file in place, which needs no disk space.
fn overwrite(
    path: &Path,
    bytes: &[u8],
    mut holds: impl FnMut(&&[u8]) -> bool,
) -> std::io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    let mut at = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if holds(&line) {
            let length = line.strip_suffix(b"\n").unwrap_or(line).len();
            file.write_all_at(&vec![b' '; length], at)?;
        }
        at += line.len() as u64;
    }
    file.sync_all()
}

/// Opens the file and locks it against other writers. A file that was replaced meanwhile is opened again.
fn open_locked(path: &Path, how: &OpenOptions) -> std::io::Result<File> {
    loop {
        let file = how.open(path)?;
        file.lock()?;
        if NewFile::is_at(&file, path) {
            return Ok(file);
        }
    }
}

fn read_end(path: &PathBuf) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let from = length.saturating_sub(BYTES_READ);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(BYTES_READ).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    // The first line may be the end of a longer one.
    Ok(match text.split_once('\n') {
        Some((_, rest)) if from > 0 => rest.to_owned(),
        _ => text,
    })
}

fn unescaped(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        text.push(match c {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some(other) => other,
                None => '\\',
            },
            c => c,
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn lines_come_back_as_they_were_and_are_nobody_elses() {
        let folder = tempfile::tempdir().unwrap();
        let history = History::in_folder(Some(folder.path().to_owned()), "/a");
        assert!(history.load().is_empty());
        let lines = ["one", "two\nlines", r"back\slash \n", "安"];
        for line in lines {
            history.add(line);
        }
        history.add("  ");
        assert_eq!(history.load(), lines);
        let mode = std::fs::metadata(folder.path().join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_redacted_text_leaves_the_history_and_the_other_lines_stay() {
        let folder = tempfile::tempdir().unwrap();
        let history = History::in_folder(Some(folder.path().to_owned()), "/a");
        let forget = |texts: &[&str]| {
            let holds = |line: &str| texts.iter().any(|text| line.contains(text));
            History::forget(Some(folder.path().to_owned()), holds).unwrap()
        };
        assert_eq!(forget(&["x"]), 0);
        for line in ["one", "the key is\nsk-1 \\ ok", "two", "sk-1"] {
            history.add(line);
        }
        assert_eq!(forget(&["is\nsk-1 \\"]), 1);
        assert_eq!(forget(&["sk-1"]), 1);
        history.add("three");
        assert_eq!(history.load(), ["one", "two", "three"]);
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 1, "no copy is left behind");
    }

    #[test]
    fn of_a_large_file_the_end_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let history = History::in_folder(Some(folder.path().to_owned()), "/a");
        let line = |text: &str| format!("{}{text}\n", history.tag);
        let file = line("an old line").repeat(100_000) + &line("the newest");
        std::fs::write(folder.path().join(FILE), file).unwrap();
        let lines = history.load();
        assert_eq!(lines.len(), HISTORY_MAX);
        assert_eq!(lines.last().unwrap(), "the newest");
    }

    #[test]
    fn lines_are_overwritten_where_there_is_no_room_for_another_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let text = "one\nthe key is sk-1\ntwo\nsk-1";
        std::fs::write(&path, text).unwrap();
        let holds = |line: &&[u8]| String::from_utf8_lossy(line).contains("sk-1");
        overwrite(&path, text.as_bytes(), holds).unwrap();
        let left = std::fs::read_to_string(&path).unwrap();
        assert_eq!(left, format!("one\n{}\ntwo\n    ", " ".repeat(15)));
    }

    #[test]
    fn each_project_has_lines_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let of = |project: &str| History::in_folder(Some(folder.path().to_owned()), project);
        of("/a").add("one");
        of("/b").add("two");
        of("/a").add(&of("/b").tag);
        assert_eq!(of("/a").load(), ["one".to_owned(), of("/b").tag]);
        assert_eq!(of("/b").load(), ["two"]);
        assert!(of("/c").load().is_empty());
    }

    #[test]
    fn without_a_folder_nothing_is_kept_and_nothing_fails() {
        let history = History::in_folder(None, "/a");
        history.add("one");
        assert!(history.load().is_empty());
    }
}
