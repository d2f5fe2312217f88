//! Files that are named on the command line; `-` is standard input. Used by the commands that read.

use std::path::{Path, PathBuf};

use crate::Streams;
use crate::error::CliError;

/// What to call a file in an error.
pub(super) fn name(path: &Path) -> PathBuf {
    if path == Path::new("-") { "standard input".into() } else { path.into() }
}

/// The text of a file.
pub(super) fn read_text(path: &Path, streams: &mut Streams<'_>) -> Result<String, CliError> {
    let bytes = if path == Path::new("-") {
        let mut bytes = Vec::new();
        streams.stdin.read_to_end(&mut bytes).map_err(CliError::Input)?;
        bytes
    } else {
        std::fs::read(path).map_err(|source| CliError::ReadFile { path: path.into(), source })?
    };
    String::from_utf8(bytes).map_err(|error| CliError::NotUtf8 {
        path: name(path),
        offset: error.utf8_error().valid_up_to() + 1,
    })
}
