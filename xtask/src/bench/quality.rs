//! `cargo xtask bench quality`: finds the data and runs the quality bench on them. The data are no part
//! of the repository; whoever has them says where.

use super::{BenchError, PACKAGE};
use crate::command::UsageError;
use crate::process;
use crate::workspace::Workspace;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The set that has to be there; the bench names others that are missing.
const MAIN_SET: &str = "claude-code";

/// Reads the words behind `bench quality`.
pub(crate) fn parse(arguments: &[String]) -> Result<Option<PathBuf>, UsageError> {
    match arguments {
        [] => Ok(None),
        [option] if option == "--data" => Err(UsageError::MissingValue { option: "--data" }),
        [option, folder] if option == "--data" => Ok(Some(folder.into())),
        [option, _, argument, ..] if option == "--data" => Err(unexpected(argument)),
        [argument, ..] => Err(unexpected(argument)),
    }
}

/// Runs the quality bench on the data of the named folder, or of the usual ones.
pub(crate) fn run(workspace: &Workspace, named: Option<PathBuf>) -> Result<(), BenchError> {
    let folder = choose(workspace.root(), named, std::env::var_os("TERTULIA_DATA"));
    if !folder.join(MAIN_SET).is_dir() {
        return Err(BenchError::NoData(folder));
    }
    let mut bench = workspace.cargo(["run", "--release", "--locked", "-p", PACKAGE, "--"]);
    process::run(bench.arg("--quality").arg(folder))?;
    Ok(())
}

/// What was named, else what the environment says, else the folder beside the repository. What was
/// named is meant from where the user is, not from the root.
fn choose(root: &Path, named: Option<PathBuf>, variable: Option<OsString>) -> PathBuf {
    let variable = variable.filter(|value| !value.is_empty()).map(PathBuf::from);
    match named.or(variable) {
        Some(folder) => std::path::absolute(&folder).unwrap_or(folder),
        None => root.join("../shared/data"),
    }
}

fn unexpected(argument: &str) -> UsageError {
    UsageError::UnexpectedArgument { command: "bench quality", argument: argument.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(named: Option<&str>, variable: Option<&str>, expected: &str) {
        let chosen = choose(Path::new("/repo"), named.map(Into::into), variable.map(Into::into));
        assert_eq!(chosen, Path::new(expected));
    }

    #[test]
    fn what_is_named_comes_before_the_environment_and_that_before_the_usual() {
        check(Some("/named"), Some("/set"), "/named");
        check(None, Some("/set"), "/set");
        check(None, Some(""), "/repo/../shared/data");
        check(None, None, "/repo/../shared/data");
    }

    #[test]
    fn a_folder_is_meant_from_where_the_user_is() {
        let here = std::env::current_dir().unwrap().join("data");
        assert_eq!(choose(Path::new("/repo"), Some("data".into()), None), here);
    }
}
