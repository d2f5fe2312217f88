//! `cargo xtask agents`: the tests with the real agent programs, each against a model server on loopback
//! in a network of its own. `cargo xtask test` runs it as a step. Missing requirements of the machine are
//! listed by name; in CI they are a failure.

mod install;
mod machine;
mod namespace;
mod newest;
mod suite;

use crate::command::UsageError;
use crate::process::ProcessError;
use crate::provide;
use crate::workspace::{Workspace, WorkspaceError};
use machine::Machine;
use std::path::PathBuf;
use suite::Suite;

/// The test programs, in the order in which they are run. Each is built by cargo and run alone.
const SUITES: &[Suite] = &[
    Suite { package: "tertulia-agent", test: "real" },
    Suite { package: "tertulia", test: "real" },
];

/// The task of `cargo xtask agents`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Install the agent programs only.
    Install,
    /// Install them if necessary, then run the tests.
    Test,
    /// The tests are run with the newest releases, which are installed beside the tested ones.
    Newest,
}

/// An error of preparing or running the tests.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AgentsError {
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error("{path} cannot be written or read; check its permissions and the free disk space")]
    Files {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("npm did not install {what} {version}; remove {folder} and try again")]
    Incomplete { what: &'static str, version: &'static str, folder: PathBuf },
    #[error("cargo built no test program `{test}` of {package}; see what it says above")]
    NoProgram { package: &'static str, test: &'static str },
    #[error("cargo's messages about `{test}` cannot be read")]
    Messages {
        test: &'static str,
        #[source]
        source: std::io::Error,
    },
    #[error("{count} tests fail with the newest releases; the formats of these agents changed")]
    Changed { count: usize },
    #[error("the agent programs cannot run here: {missing}; in CI nothing may be missing")]
    Missing { missing: String },
}

impl Order {
    /// Reads the arguments after `agents`.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, UsageError> {
        let mut words = arguments.iter();
        let order = match words.next().map(String::as_str) {
            None => Self::Test,
            Some("install") => Self::Install,
            Some("--newest") => Self::Newest,
            Some(argument) => return Err(unexpected(argument)),
        };
        words.next().map_or(Ok(order), |argument| Err(unexpected(argument)))
    }
}

fn unexpected(argument: &str) -> UsageError {
    UsageError::UnexpectedArgument { command: "agents", argument: argument.to_owned() }
}

/// Installs or tests, or reports what the machine lacks.
pub(crate) fn run(workspace: &Workspace, order: Order) -> Result<(), AgentsError> {
    let machine = match Machine::look() {
        Ok(machine) => machine,
        Err(missing) => return not_run(missing.join(", "), provide::is_ci()),
    };
    let programs = install::find_or_install(workspace, &machine)?;
    if order == Order::Install {
        println!("the agent programs are in {}", programs.display());
        return Ok(());
    }
    if order == Order::Newest {
        return newest::run(workspace, &machine, &programs);
    }
    for suite in SUITES {
        let program = suite.build(workspace)?;
        namespace::run(&machine, &programs, &program)?;
    }
    Ok(())
}

fn not_run(missing: String, is_ci: bool) -> Result<(), AgentsError> {
    if is_ci {
        return Err(AgentsError::Missing { missing });
    }
    println!("NOT RUN: the tests with the real agent programs; this machine lacks: {missing}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str) -> Result<Order, UsageError> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Order::parse(&words)
    }

    #[test]
    fn without_a_word_the_tests_are_run() {
        assert_eq!(check(""), Ok(Order::Test));
        assert_eq!(check("install"), Ok(Order::Install));
        assert_eq!(check("--newest"), Ok(Order::Newest));
    }

    #[test]
    fn other_words_are_refused() {
        assert!(check("remove").is_err());
        assert!(check("install now").is_err());
    }

    #[test]
    fn what_a_machine_lacks_fails_in_ci_alone() {
        assert!(not_run("`npm`".to_owned(), false).is_ok());
        let message = not_run("`npm`, `ip`".to_owned(), true).unwrap_err().to_string();
        assert!(message.contains("`npm`, `ip`"), "{message}");
    }
}
