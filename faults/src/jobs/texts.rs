//! A text that a deletion or a redaction must take off the disk: where it is put before, and whether a file
//! of the data folder still holds it. Looks at the bytes of files, not through the store.

use std::fs;
use std::path::{Path, PathBuf};

use super::place::Place;
use crate::error::FaultsError;
use crate::scratch::put;

/// Short enough that the store does not compress it.
pub(super) const SECRET: &str = "qzvxsecretpayload7713 is what nobody may read";
/// The search index leaves out what a word has in common with the one before it.
const NEEDLE: &[u8] = b"vxsecretpayload7713";
/// How the files begin and end that nobody should leave behind.
const PARTS: [&str; 3] = [".tertulia-part", ".trusted-", "-import-"];

/// A history of the chat with the text in one of its lines.
pub(super) fn prepare_history(place: &Place) -> Result<(), FaultsError> {
    let tag = "\\p0123456789abcdef ";
    let text = format!("{tag}first\n{tag}{SECRET}\n{tag}last\n");
    put(&place.home().join("chat_history"), text.as_bytes())
}

/// The search must be able to find the text.
pub(super) fn check_there(place: &Place) -> Result<(), FaultsError> {
    let found = holders(place)?;
    match found.iter().any(|path| *path == place.store()) {
        true => Ok(()),
        false => Err(FaultsError::unfit(format!("the text is not in the store but in {found:?}"))),
    }
}

/// No file of the data folder holds the text.
pub(super) fn check_gone(place: &Place) -> Result<(), FaultsError> {
    let found = holders(place)?;
    match found.is_empty() {
        true => Ok(()),
        false => Err(FaultsError::unfit(format!("the text is still in {}", shown(&found)))),
    }
}

/// Nothing that is only there while something is written.
pub(super) fn check_no_parts(place: &Place) -> Result<(), FaultsError> {
    let mut files = Vec::new();
    for folder in [place.home(), place.project(), place.temporary()] {
        add_files(&folder, &mut files)?;
    }
    let is_part = |path: &&PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let is_temporary = path.starts_with(place.temporary());
        is_temporary || name.is_some_and(|name| PARTS.iter().any(|part| name.contains(part)))
    };
    let left: Vec<PathBuf> = files.iter().filter(is_part).cloned().collect();
    match left.is_empty() {
        true => Ok(()),
        false => Err(FaultsError::unfit(format!("left behind: {}", shown(&left)))),
    }
}

fn shown(paths: &[PathBuf]) -> String {
    let names = paths.iter().filter_map(|path| path.file_name());
    names.map(|name| name.to_string_lossy().into_owned()).collect::<Vec<_>>().join(", ")
}

fn holders(place: &Place) -> Result<Vec<PathBuf>, FaultsError> {
    let mut files = Vec::new();
    add_files(&place.home(), &mut files)?;
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
