//! Identifies the file of a program, so that an update of an agent is noticed.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::short_hash;

/// Returns a text that changes when the file of the program is replaced. Starts nothing.
pub(crate) fn program_identity(program: &Path) -> Box<str> {
    let path = std::fs::canonicalize(program).unwrap_or_else(|_| program.to_owned());
    let state = std::fs::metadata(&path).map(|file| (file.len(), file.mtime(), file.mtime_nsec()));
    let (length, seconds, nanoseconds) = state.unwrap_or_default();
    let text = format!("{} {length} {seconds} {nanoseconds}", path.display());
    short_hash(text.as_bytes())
}
