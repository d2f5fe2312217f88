//! `cargo xtask faults`: the fault harness in full, as a release build. The tests of `faults/` run the
//! same with small counts.

use crate::command::UsageError;
use crate::process::{self, ProcessError};
use crate::provide::{self, ProvideError};
use crate::workspace::Workspace;

const PACKAGE: &str = "tertulia-faults";

/// An error of the harness, or a broken promise.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FaultsError {
    #[error(transparent)]
    Provide(#[from] ProvideError),
    #[error(transparent)]
    Process(#[from] ProcessError),
}

/// The tests to run, and their amount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// The number of times that processes are killed; the harness has a default.
    kills: Option<u64>,
    /// The number of disk states to try; with `cuts`, for each command.
    images: Option<u64>,
    /// The number of process trees to try.
    count: Option<u64>,
    /// The one role to be run.
    only: Option<String>,
}

impl Options {
    /// Reads the arguments after `faults`.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, UsageError> {
        let mut options = Self::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--kills" => options.kills = Some(number("--kills", arguments.next())?),
                "--images" => options.images = Some(number("--images", arguments.next())?),
                "--count" => options.count = Some(number("--count", arguments.next())?),
                "--only" => {
                    let missing = UsageError::MissingValue { option: "--only" };
                    options.only = Some(arguments.next().ok_or(missing)?.clone());
                }
                _ => {
                    let argument = argument.clone();
                    return Err(UsageError::UnexpectedArgument { command: "faults", argument });
                }
            }
        }
        Ok(options)
    }

    /// Returns the arguments of the harness. A role gets only the arguments that it knows.
    fn arguments(&self) -> Vec<String> {
        let role = self.only.as_deref().unwrap_or("all");
        let mut arguments = vec![role.to_owned()];
        let takes_kills = matches!(role, "all" | "kills" | "postgres-kills");
        let takes_images = matches!(role, "all" | "images" | "cuts");
        let takes_count = role == "trees";
        for (name, value, is_taken) in [
            ("--kills", self.kills, takes_kills),
            ("--images", self.images, takes_images),
            ("--count", self.count, takes_count),
        ] {
            if let Some(value) = value.filter(|_| is_taken) {
                arguments.extend([name.to_owned(), value.to_string()]);
            }
        }
        arguments
    }
}

fn number(option: &'static str, value: Option<&String>) -> Result<u64, UsageError> {
    let value = value.ok_or(UsageError::MissingValue { option })?;
    let wanted = "a number above 0";
    let wrong = || UsageError::BadValue { option, value: value.clone(), wanted };
    value.parse().ok().filter(|number| *number > 0).ok_or_else(wrong)
}

/// Runs the harness; it prints its figures and fails if a promise is broken.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<(), FaultsError> {
    provide::install()?;
    let mut harness = workspace.cargo(["run", "--release", "--locked", "-p", PACKAGE, "--"]);
    process::run(harness.args(options.arguments()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str) -> Result<Vec<String>, UsageError> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&words).map(|options| options.arguments())
    }

    #[test]
    fn all_roles_are_run_unless_one_is_named() {
        assert_eq!(check("").unwrap(), ["all"]);
        assert_eq!(check("--kills 20").unwrap(), ["all", "--kills", "20"]);
        assert_eq!(check("--only race").unwrap(), ["race"]);
    }

    #[test]
    fn a_role_is_told_only_what_it_knows() {
        let line = "--kills 20 --images 300 --only";
        assert_eq!(check(&format!("{line} kills")).unwrap(), ["kills", "--kills", "20"]);
        assert_eq!(check(&format!("{line} images")).unwrap(), ["images", "--images", "300"]);
        assert_eq!(check(&format!("{line} cuts")).unwrap(), ["cuts", "--images", "300"]);
        assert_eq!(check("--only trees --count 9").unwrap(), ["trees", "--count", "9"]);
    }

    #[test]
    fn odd_arguments_are_refused() {
        assert!(check("--kills").is_err());
        assert!(check("--kills none").is_err());
        assert!(check("--images 0").is_err());
        assert!(check("--fast").is_err());
    }
}
