//! `cargo xtask bench quality`: finds the data and runs the quality bench on them. The data are not part
//! of the repository; the user names their folder.

use super::{BenchError, PACKAGE};
use crate::command::UsageError;
use crate::process;
use crate::workspace::Workspace;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The required data set; the bench reports other missing sets.
const MAIN_SET: &str = "claude-code";

/// The options of `bench quality`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// The folder of the data.
    data: Option<PathBuf>,
    /// Options for the bench program, which reports values that it does not know.
    handed_on: Vec<String>,
}

impl Options {
    /// Reads the arguments after `bench quality`.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, UsageError> {
        let (mut options, mut words) = (Self::default(), arguments.iter());
        while let Some(word) = words.next() {
            let mut value = |option| words.next().ok_or(UsageError::MissingValue { option });
            match word.as_str() {
                "--data" => options.data = Some(value("--data")?.into()),
                "--half" => options.hand_on([word, value("--half")?]),
                "--only" => options.hand_on([word, value("--only")?]),
                "--ours" | "--all" => options.hand_on([word]),
                _ => return Err(unexpected(word)),
            }
        }
        Ok(options)
    }

    fn hand_on<const COUNT: usize>(&mut self, words: [&String; COUNT]) {
        self.handed_on.extend(words.into_iter().cloned());
    }
}

/// Runs the quality bench on the data of the named folder, or of the default one.
pub(crate) fn run(workspace: &Workspace, options: Options) -> Result<(), BenchError> {
    let folder = choose(workspace.root(), options.data, std::env::var_os("TERTULIA_DATA"));
    if !folder.join(MAIN_SET).is_dir() {
        return Err(BenchError::NoData(folder));
    }
    let mut bench = workspace.cargo(["run", "--release", "--locked", "-p", PACKAGE, "--"]);
    process::run(bench.arg("--quality").arg(folder).args(options.handed_on))?;
    Ok(())
}

/// Returns the named folder, else the one in the environment, else the folder beside the repository. A named
/// folder is relative to the working folder, not to the root.
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
    fn a_named_folder_comes_before_the_environment_and_that_before_the_default() {
        check(Some("/named"), Some("/set"), "/named");
        check(None, Some("/set"), "/set");
        check(None, Some(""), "/repo/../shared/data");
        check(None, None, "/repo/../shared/data");
    }

    fn parse(line: &str) -> Result<Options, UsageError> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn the_folder_is_read_here_and_other_options_are_passed_on() {
        assert_eq!(parse(""), Ok(Options::default()));
        let options = parse("--only qmsum --data d --half tune --ours --all").unwrap();
        assert_eq!(options.data, Some("d".into()));
        assert_eq!(options.handed_on, ["--only", "qmsum", "--half", "tune", "--ours", "--all"]);
    }

    #[test]
    fn a_value_that_is_missing_and_an_unknown_word_are_named() {
        for option in ["--data", "--half", "--only"] {
            assert_eq!(parse(option), Err(UsageError::MissingValue { option }));
        }
        assert_eq!(parse("--fast"), Err(unexpected("--fast")));
    }

    #[test]
    fn a_folder_is_meant_from_where_the_user_is() {
        let here = std::env::current_dir().unwrap().join("data");
        assert_eq!(choose(Path::new("/repo"), Some("data".into()), None), here);
    }
}
