//! Whether the program that the `#!` line of a script names exists. Without it the system says "No such file or
//! directory" of a file that does exist. Used when a program is looked for; starts nothing.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::environment::Environment;
use super::program::{PATH_DEFAULT, search};
use super::start::StartError;

/// The kernel reads no more of the line.
const LINE_BYTES_MAX: usize = 256;

/// Refuses a script whose interpreter is missing. What cannot be read, and what is no script, is left to the
/// system.
pub(super) fn check(path: &Path, environment: &Environment) -> Result<(), StartError> {
    let Some(line) = first_line(path) else { return Ok(()) };
    let missing = |interpreter: &str, hint: &'static str| StartError::NoInterpreter {
        path: path.to_owned(),
        interpreter: interpreter.into(),
        hint,
    };
    if let Some(bare) = line.strip_suffix('\r') {
        let hint = "the line ends with a Windows line break; save the file with Unix line breaks";
        return Err(missing(bare.trim(), hint));
    }
    let mut words = line.split([' ', '\t']).filter(|word| !word.is_empty());
    let Some(interpreter) = words.next() else { return Ok(()) };
    if !Path::new(interpreter).exists() {
        return Err(missing(interpreter, "install it, or correct the #! line"));
    }
    let is_env = Path::new(interpreter).file_name() == Some(OsStr::new("env"));
    let named = words.find(|word| !word.starts_with('-') && !word.contains('='));
    match named.filter(|name| is_env && !name.contains('/')) {
        Some(name) if !is_in_path(name, environment) => {
            Err(missing(name, "install it, or add its folder to PATH"))
        }
        _ => Ok(()),
    }
}

fn is_in_path(name: &str, environment: &Environment) -> bool {
    let searched = environment.get("PATH").unwrap_or(OsStr::new(PATH_DEFAULT));
    search(name, searched, None).0.is_some()
}

/// What follows `#!`.
fn first_line(path: &Path) -> Option<String> {
    let mut start = Vec::new();
    File::open(path).ok()?.take(LINE_BYTES_MAX as u64).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?;
    let line = line.split(|byte| *byte == b'\n').next()?;
    String::from_utf8(line.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a script that begins with this line.
    fn said(line: &str) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("script");
        std::fs::write(&path, format!("{line}\n")).unwrap();
        let said = check(&path, &Environment::default()).err()?.to_string();
        Some(said.replace(&*path.to_string_lossy(), "script"))
    }

    #[test]
    fn an_interpreter_that_is_missing_is_named() {
        let said = |line| said(line).unwrap();
        assert_eq!(
            said("#!/no/such/python3 -u"),
            "script needs /no/such/python3 (its #! line), which does not exist; install it, or correct the \
             #! line"
        );
        assert!(said("#!/usr/bin/env no-such-node").contains("needs no-such-node (its #! line)"));
        assert!(said("#! /usr/bin/env -S A=b no-such-node -x").contains("needs no-such-node"));
        assert!(said("#!/bin/sh\r").contains("Windows line break"));
        assert!(said("#!/usr/bin/env sh\r").contains("Windows line break"));
    }

    #[test]
    fn a_program_that_can_be_started_is_left_alone() {
        for line in ["#!/bin/sh", "#! /bin/sh -e", "#!/usr/bin/env sh", "\x7fELF", "", "#!", "echo"]
        {
            assert_eq!(said(line), None, "{line:?}");
        }
    }
}
