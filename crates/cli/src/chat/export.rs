//! `/export FILE`: the session as a file, one entry per line. A file that is there stays as it is. Called
//! in the driver's thread.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tertulia_session::record::EntryRecord;
use tertulia_store::{Range, SessionId, SessionStore, StoreError};

use super::style::{Line, Look};
use crate::terminal::counted;

/// Why there is no such file now.
#[derive(Debug, thiserror::Error)]
enum ExportError {
    #[error("{} is there already and stays as it is; name another file", .0.display())]
    Exists(PathBuf),
    #[error("cannot write {}: {source}; name a file in a folder that is there", .path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Writes the session; says how much that was, or what went wrong.
pub(crate) fn export(store: &SessionStore, session: &SessionId, given: &str) -> Vec<Line> {
    let path = at_home(given, std::env::home_dir());
    match write_log(store, session, &path) {
        Ok(count) => {
            let entries = counted(count, "entry is", "entries are");
            vec![Line::of(&format!("{entries} in {}", path.display()), Look::Dim)]
        }
        Err(error) => Line::all_of(&error.to_string(), Look::Alarm),
    }
}

/// No shell has read this, and people write `~/` all the same.
fn at_home(given: &str, home: Option<PathBuf>) -> PathBuf {
    match (given.strip_prefix("~/"), home) {
        (Some(inside), Some(home)) => home.join(inside),
        _ => PathBuf::from(given),
    }
}

fn write_log(store: &SessionStore, session: &SessionId, path: &Path) -> Result<u64, ExportError> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => ExportError::Exists(path.to_owned()),
        _ => ExportError::Write { path: path.to_owned(), source },
    };
    let file: File = OpenOptions::new().write(true).create_new(true).open(path).map_err(failed)?;
    let mut file = BufWriter::new(file);
    let mut count = 0;
    for stored in store.entries(session, &Range::All)? {
        writeln!(file, "{}", EntryRecord::new(&stored?.entry).to_json()).map_err(failed)?;
        count += 1;
    }
    file.flush().map_err(failed)?;
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tilde_is_the_home_folder_only_at_the_beginning() {
        let home = || Some(PathBuf::from("/somewhere"));
        assert_eq!(at_home("~/log.jsonl", home()), Path::new("/somewhere/log.jsonl"));
        for other in ["log.jsonl", "a~/b", "~bob/x", "~"] {
            assert_eq!(at_home(other, home()), Path::new(other));
        }
        assert_eq!(at_home("~/log.jsonl", None), Path::new("~/log.jsonl"));
    }
}
