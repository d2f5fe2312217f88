//! `/export FILE`: the session as a file, one entry per line. A file that is there stays as it is. Called
//! in the driver's thread.

use std::path::{Path, PathBuf};

use tertulia_operations::export_file::{ExportError, ExportFile};
use tertulia_session::record::EntryRecord;
use tertulia_store::{Range, SessionId, SessionStore, StoreError};

use super::style::{Line, Look};
use crate::terminal::counted;

/// Writes the session; says how much that was, or what went wrong.
pub(crate) fn export(store: &SessionStore, session: &SessionId, given: &str) -> Vec<Line> {
    let path = at_home(given, std::env::home_dir());
    match write_log(store, session, &path) {
        Ok(count) => {
            let entries = counted(count, "entry is", "entries are");
            vec![Line::new(&format!("{entries} in {}", path.display()), Look::Dim)]
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

fn write_log(store: &SessionStore, session: &SessionId, path: &Path) -> Result<u64, NotExported> {
    let mut file = ExportFile::open(path, false)?;
    let mut count = 0;
    for stored in store.entries(session, &Range::All)? {
        file.write_line(&EntryRecord::new(&stored?.entry).to_json())?;
        count += 1;
    }
    file.finish()?;
    Ok(count)
}

#[derive(Debug, thiserror::Error)]
enum NotExported {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{}", in_words(.0))]
    File(#[from] ExportError),
}

/// What went wrong, without what only the command line has.
fn in_words(error: &ExportError) -> String {
    match error {
        ExportError::Exists { path } => {
            format!("{} already exists and was not changed; name another file", path.display())
        }
        ExportError::Write { path, source } => {
            let path = path.display();
            format!("cannot write {path}: {source}; name a file in an existing folder")
        }
        other => other.to_string(),
    }
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
