//! The lines that were typed before, in a file of the data folder that only its owner can read. A line
//! break is written as `\n`, a backslash as `\\`. Without the file the chat works as well.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use super::editor::HISTORY_MAX;

const FILE: &str = "chat_history";
/// Only the end of a longer file is read.
const BYTES_READ: u64 = 256 * 1024;
/// A longer text is not worth keeping.
const LINE_BYTES_MAX: usize = 16 * 1024;

/// Where the lines are.
pub(crate) struct History {
    path: Option<PathBuf>,
}

impl History {
    /// The history in this folder; without one, none is kept.
    pub(crate) fn in_folder(folder: Option<PathBuf>) -> Self {
        Self { path: folder.map(|folder| folder.join(FILE)) }
    }

    /// The newest lines, oldest first.
    pub(crate) fn load(&self) -> Vec<String> {
        let text = self.path.as_ref().and_then(|path| read_end(path).ok()).unwrap_or_default();
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        let from = lines.len().saturating_sub(HISTORY_MAX);
        lines.into_iter().skip(from).map(unescaped).collect()
    }

    /// Adds a line. What cannot be kept is not worth a word to somebody who talks.
    pub(crate) fn add(&self, line: &str) {
        let Some(path) = self.path.as_ref().filter(|_| line.len() <= LINE_BYTES_MAX) else {
            return;
        };
        if line.trim().is_empty() {
            return;
        }
        let written = line.replace('\\', "\\\\").replace('\n', "\\n") + "\n";
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
        let _ = file.and_then(|mut file| file.write_all(written.as_bytes()));
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
        let history = History::in_folder(Some(folder.path().to_owned()));
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
    fn of_a_large_file_the_end_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let history = History::in_folder(Some(folder.path().to_owned()));
        let file = "an old line\n".repeat(100_000) + "the newest\n";
        std::fs::write(folder.path().join(FILE), file).unwrap();
        let lines = history.load();
        assert_eq!(lines.len(), HISTORY_MAX);
        assert_eq!(lines.last().unwrap(), "the newest");
    }

    #[test]
    fn without_a_folder_nothing_is_kept_and_nothing_fails() {
        let history = History::in_folder(None);
        history.add("one");
        assert!(history.load().is_empty());
    }
}
