//! `cargo xtask bench native`: the bench of reading, listing, handing over and importing sessions of agents, with files
//! on the disk that holds the builds.

use super::{BenchError, PACKAGE};
use crate::command::UsageError;
use crate::process;
use crate::workspace::Workspace;

/// The options of `bench native`, for the bench program.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options(Vec<String>);

impl Options {
    /// Reads the arguments after `bench native`.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, UsageError> {
        let (mut options, mut words) = (Self::default(), arguments.iter());
        while let Some(word) = words.next() {
            options.0.push(word.clone());
            match word.as_str() {
                "--quick" => {}
                "--import-mb" => {
                    let missing = UsageError::MissingValue { option: "--import-mb" };
                    options.0.push(words.next().ok_or(missing)?.clone());
                }
                _ => {
                    let (command, argument) = ("bench native", word.clone());
                    return Err(UsageError::UnexpectedArgument { command, argument });
                }
            }
        }
        Ok(options)
    }
}

/// Runs the bench.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<(), BenchError> {
    let mut bench = workspace.cargo(["run", "--release", "--locked", "-p", PACKAGE, "--"]);
    let folder = workspace.target().map_or_else(|| workspace.root().join("target"), Into::into);
    process::run(bench.arg("--native").arg(folder).args(&options.0))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, UsageError> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&words)
    }

    #[test]
    fn the_size_of_the_import_is_an_option() {
        let words = ["--import-mb", "1000", "--quick"].map(str::to_owned);
        assert_eq!(parse("--import-mb 1000 --quick"), Ok(Options(words.to_vec())));
        let missing = UsageError::MissingValue { option: "--import-mb" };
        assert_eq!(parse("--import-mb"), Err(missing));
        assert!(parse("--fast").is_err());
    }
}
