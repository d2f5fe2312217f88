//! A text that a deletion or a redaction must erase from disk: writes it before the job, and
//! searches the files of the data folder afterwards. Looks at the bytes of files, not through the
//! store.

use std::fs;
use std::path::{Path, PathBuf};

use super::run_folder::RunFolder;
use crate::error::FaultsError;
use crate::scratch::put;

/// Short enough that the store does not compress it.
pub(super) const SECRET: &str = "qzvxsecretpayload7713 is what nobody may read";
/// The search index omits the prefix that a word shares with the one before it.
const NEEDLE: &[u8] = b"vxsecretpayload7713";
/// Parts of the names of temporary files.
const PARTS: [&str; 3] = [".tertulia-part", ".trusted-", "-import-"];

/// Writes a chat history with the text in one of its lines.
pub(super) fn prepare_history(run: &RunFolder) -> Result<(), FaultsError> {
    let tag = "\\p0123456789abcdef ";
    let text = format!("{tag}first\n{tag}{SECRET}\n{tag}last\n");
    put(&run.home().join("chat_history"), text.as_bytes())
}

/// Checks that the search can find the text.
pub(super) fn check_there(run: &RunFolder) -> Result<(), FaultsError> {
    let found = holders(run)?;
    match found.iter().any(|path| *path == run.store()) {
        true => Ok(()),
        false => Err(FaultsError::unexpected(format!(
            "the text should be only in the store, but is in {found:?}"
        ))),
    }
}

/// Checks that no file of the data folder contains the text.
pub(super) fn check_gone(run: &RunFolder) -> Result<(), FaultsError> {
    let found = holders(run)?;
    match found.is_empty() {
        true => Ok(()),
        false => Err(FaultsError::unexpected(format!("the text is still in {}", shown(&found)))),
    }
}

/// Checks that no temporary file is left.
pub(super) fn check_no_parts(run: &RunFolder) -> Result<(), FaultsError> {
    let mut files = Vec::new();
    for folder in [run.home(), run.project(), run.temporary()] {
        add_files(&folder, &mut files)?;
    }
    let is_part = |path: &&PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let is_temporary = path.starts_with(run.temporary());
        is_temporary || name.is_some_and(|name| PARTS.iter().any(|part| name.contains(part)))
    };
    let left: Vec<PathBuf> = files.iter().filter(is_part).cloned().collect();
    match left.is_empty() {
        true => Ok(()),
        false => Err(FaultsError::unexpected(format!("left behind: {}", shown(&left)))),
    }
}

fn shown(paths: &[PathBuf]) -> String {
    let names = paths.iter().filter_map(|path| path.file_name());
    names.map(|name| name.to_string_lossy().into_owned()).collect::<Vec<_>>().join(", ")
}

fn holders(run: &RunFolder) -> Result<Vec<PathBuf>, FaultsError> {
    let mut files = Vec::new();
    add_files(&run.home(), &mut files)?;
    let mut found = Vec::new();
    for file in files {
        let bytes = fs::read(&file).map_err(FaultsError::at(&file))?;
        if bytes.windows(NEEDLE.len()).any(|window| window == NEEDLE) {
            found.push(file);
        }
    }
    Ok(found)
}

fn add_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), FaultsError> {
    for found in fs::read_dir(folder).map_err(FaultsError::at(folder))? {
        let path = found.map_err(FaultsError::at(folder))?.path();
        match path.is_dir() {
            true => add_files(&path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}
