//! The command line: parses it, runs the command, and formats its error. `main` calls it; the commands do not
//! depend on it.

use crate::bench::{is_quick, native, overhead, quality, store};
use crate::process::ProcessError;
use crate::provide::ProvideError;
use crate::workspace::{Workspace, WorkspaceError};
use crate::{agents, bench, book, deny, dist, faults, fuzz, package, sbom, soak, test, tidy};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask <command>

Commands:
  test                           run all checks, as in CI; installs what the tests need
  soak [--runs N] [--load N] [--minutes N] [--package P]
                                 run the tests many times (30 by default) while the machine is busy, to
                                 find tests that fail sometimes
  deny [--advisories]            check that every dependency has an allowed licence and source and no known
                                 vulnerability; --advisories fails if the database cannot be fetched
  package [--verify]             check that every published crate can be packaged with all its files;
                                 --verify compiles each package from its own files
  dist [--target T] [--profile P]
                                 create all packages of a release (archive, wheel, npm, Debian) in
                                 target/dist, and install, run and remove each of them; the default target
                                 is this machine, the default profile is `release`
  sbom [--target T]              print the bill of materials of the program, as CycloneDX JSON
  book                           build the documentation as a book in target/book; installs mdbook
  picture                        write the pictures of the README from the output of the program
  reference                      write the generated parts of the documentation
  tidy                           check headers, lengths, leftovers, machine paths and Markdown links
  agents [install | --newest]    install the real agent programs in the user's cache and test with them;
                                 `install` only installs them, `--newest` tests with their newest releases
                                 and lists the tests that fail
  fuzz [--runs N] [--target T]   run the fuzz targets with a fixed number of inputs
  faults [--kills N] [--images N] [--count N] [--only NAME]
                                 test the store with kills, power cuts, disk errors and damaged files
  bench [arguments]              run the benches, then count instructions if possible
  bench quality [--data DIR] [--half report|tune|all] [--only PART]… [--ours] [--all]
                                 compare context managers on real sessions; reads the data in DIR,
                                 $TERTULIA_DATA or ../shared/data. PART is cost, edits-claude, edits-pi,
                                 qmsum, longmemeval, personamem or irc; --ours runs no baseline except the
                                 sliding window, --all also runs settings other than the default
  bench store [--quick]          measure the session store on the disk of the target folder
  bench overhead [--quick]       measure what Tertulia adds to a turn, and how fast the program starts
  bench native [--quick] [--import-mb N]
                                 measure how fast sessions of agents are read, listed, handed over and
                                 imported
";

/// A parsed command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Test,
    Deny(deny::Advisories),
    Package(package::Depth),
    Dist(dist::Options),
    /// The bill of materials for a target.
    Sbom(String),
    Tidy,
    Book,
    Generate(book::Generated),
    Agents(agents::Order),
    Fuzz(fuzz::Options),
    Faults(faults::Options),
    Soak(soak::Options),
    Bench(Vec<String>),
    /// The quality bench.
    Quality(quality::Options),
    /// The cost of a turn and of a start, with less data if `quick`.
    Overhead {
        quick: bool,
    },
    /// The bench of sessions of agents.
    Native(native::Options),
    /// The bench of the session store, smaller if so.
    Store {
        quick: bool,
    },
}

/// A command line that names no command, or names it wrongly.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UsageError {
    #[error("no command was given\n\n{USAGE}")]
    NoCommand,
    #[error("there is no command `{0}`\n\n{USAGE}")]
    UnknownCommand(String),
    #[error("`{command}` does not accept the argument `{argument}`\n\n{USAGE}")]
    UnexpectedArgument { command: &'static str, argument: String },
    #[error("`{option}` is missing its value; write `{option} <value>`")]
    MissingValue { option: &'static str },
    #[error("`{value}` is not a valid value for `{option}`; give {wanted}")]
    BadValue { option: &'static str, value: String, wanted: &'static str },
    #[error("the argument {0:?} is not UTF-8; write it in UTF-8")]
    NotText(OsString),
}

/// An error of a command, or of a step of `cargo xtask test`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error(transparent)]
    Provide(#[from] ProvideError),
    #[error(transparent)]
    Usage(#[from] UsageError),
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(transparent)]
    Test(#[from] test::TestError),
    #[error(transparent)]
    Deny(#[from] deny::DenyError),
    #[error(transparent)]
    Package(#[from] package::PackageError),
    #[error(transparent)]
    Dist(#[from] dist::DistError),
    #[error(transparent)]
    Sbom(#[from] sbom::SbomError),
    #[error(transparent)]
    Tidy(#[from] tidy::TidyError),
    #[error(transparent)]
    Book(#[from] book::BookError),
    #[error(transparent)]
    Agents(#[from] agents::AgentsError),
    #[error(transparent)]
    Fuzz(#[from] fuzz::FuzzError),
    #[error(transparent)]
    Faults(#[from] faults::FaultsError),
    #[error(transparent)]
    Soak(#[from] soak::SoakError),
    #[error(transparent)]
    Bench(#[from] bench::BenchError),
}

impl Error {
    /// Returns 2 for a wrong command line, as most tools do, and 1 for a check that failed.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) => ExitCode::from(2),
            Self::Process(_)
            | Self::Provide(_)
            | Self::Workspace(_)
            | Self::Test(_)
            | Self::Deny(_)
            | Self::Package(_)
            | Self::Dist(_)
            | Self::Sbom(_)
            | Self::Tidy(_)
            | Self::Book(_)
            | Self::Agents(_)
            | Self::Fuzz(_)
            | Self::Faults(_)
            | Self::Soak(_)
            | Self::Bench(_) => ExitCode::FAILURE,
        }
    }
}

/// Reads the arguments that follow `cargo xtask`.
pub(crate) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Command, UsageError> {
    let arguments: Vec<String> = arguments
        .map(|argument| argument.into_string().map_err(UsageError::NotText))
        .collect::<Result<_, _>>()?;
    let (name, rest) = arguments.split_first().ok_or(UsageError::NoCommand)?;
    match name.as_str() {
        "help" | "--help" | "-h" => Ok(Command::Help),
        "test" => alone("test", rest, Command::Test),
        "deny" => deny::Advisories::parse(rest).map(Command::Deny),
        "package" => package::Depth::parse(rest).map(Command::Package),
        "dist" => dist::Options::parse(rest).map(Command::Dist),
        "sbom" => sbom::parse(rest).map(Command::Sbom),
        "tidy" => alone("tidy", rest, Command::Tidy),
        "book" => alone("book", rest, Command::Book),
        "picture" => alone("picture", rest, Command::Generate(book::Generated::Picture)),
        "reference" => alone("reference", rest, Command::Generate(book::Generated::Reference)),
        "agents" => agents::Order::parse(rest).map(Command::Agents),
        "fuzz" => fuzz::Options::parse(rest).map(Command::Fuzz),
        "faults" => faults::Options::parse(rest).map(Command::Faults),
        "soak" => soak::Options::parse(rest).map(Command::Soak),
        "bench" if rest.first().is_some_and(|word| word == "quality") => {
            quality::Options::parse(&rest[1..]).map(Command::Quality)
        }
        "bench" if rest.first().is_some_and(|word| word == "overhead") => {
            is_quick("bench overhead", &rest[1..]).map(|quick| Command::Overhead { quick })
        }
        "bench" if rest.first().is_some_and(|word| word == "native") => {
            native::Options::parse(&rest[1..]).map(Command::Native)
        }
        "bench" if rest.first().is_some_and(|word| word == "store") => {
            is_quick("bench store", &rest[1..]).map(|quick| Command::Store { quick })
        }
        "bench" => Ok(Command::Bench(rest.to_vec())),
        unknown => Err(UsageError::UnknownCommand(unknown.to_owned())),
    }
}

/// Runs the command.
pub(crate) fn run(command: Command) -> Result<(), Error> {
    let workspace = Workspace::find()?;
    match command {
        Command::Help => print!("{USAGE}"),
        Command::Test => test::run(&workspace)?,
        Command::Deny(advisories) => deny::run(&workspace, advisories)?,
        Command::Package(depth) => package::run(&workspace, depth)?,
        Command::Dist(options) => dist::run(&workspace, &options)?,
        Command::Sbom(target) => sbom::run(&workspace, &target)?,
        Command::Tidy => tidy::run(&workspace)?,
        Command::Book => book::build(&workspace)?,
        Command::Generate(generated) => book::generate(&workspace, generated)?,
        Command::Agents(order) => agents::run(&workspace, order)?,
        Command::Fuzz(options) => fuzz::run(&workspace, &options)?,
        Command::Faults(options) => faults::run(&workspace, &options)?,
        Command::Soak(options) => soak::run(&workspace, &options)?,
        Command::Bench(arguments) => bench::run(&workspace, &arguments)?,
        Command::Quality(options) => quality::run(&workspace, options)?,
        Command::Native(options) => native::run(&workspace, &options)?,
        Command::Store { quick } => store::run(&workspace, quick)?,
        Command::Overhead { quick } => overhead::run(&workspace, quick)?,
    }
    Ok(())
}

/// Renders an error and its causes, the outermost first.
pub(crate) fn explain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        let _ = write!(text, "\n  because {inner}");
        cause = inner.source();
    }
    text
}

fn alone(command: &'static str, rest: &[String], parsed: Command) -> Result<Command, UsageError> {
    match rest.first() {
        None => Ok(parsed),
        Some(argument) => {
            Err(UsageError::UnexpectedArgument { command, argument: argument.clone() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str) -> Result<Command, UsageError> {
        parse(line.split_whitespace().map(OsString::from))
    }

    #[test]
    fn a_command_is_found_by_its_name() {
        assert_eq!(check("test"), Ok(Command::Test));
        assert_eq!(check("tidy"), Ok(Command::Tidy));
        assert_eq!(check("deny"), Ok(Command::Deny(deny::Advisories::IfReachable)));
    }

    #[test]
    fn an_empty_line_is_answered_with_the_usage() {
        let message = check("").unwrap_err().to_string();
        assert!(message.contains("Usage: cargo xtask"), "{message}");
    }

    #[test]
    fn an_unknown_command_is_named_in_the_error() {
        assert_eq!(check("tset"), Err(UsageError::UnknownCommand("tset".to_owned())));
    }

    #[test]
    fn a_command_without_options_refuses_arguments() {
        let argument = "--fast".to_owned();
        assert_eq!(
            check("test --fast"),
            Err(UsageError::UnexpectedArgument { command: "test", argument })
        );
    }

    #[test]
    fn everything_after_bench_is_handed_on() {
        let arguments = ["--list".to_owned(), "build".to_owned()];
        assert_eq!(check("bench --list build"), Ok(Command::Bench(arguments.to_vec())));
    }

    #[test]
    fn the_quality_bench_has_options_of_its_own() {
        assert_eq!(check("bench quality"), Ok(Command::Quality(quality::Options::default())));
        let missing = UsageError::MissingValue { option: "--data" };
        assert_eq!(check("bench quality --data"), Err(missing));
        let argument = "--fast".to_owned();
        let unexpected = UsageError::UnexpectedArgument { command: "bench quality", argument };
        assert_eq!(check("bench quality --fast"), Err(unexpected));
    }

    #[test]
    fn the_table_bench_may_be_quick() {
        assert_eq!(check("bench overhead"), Ok(Command::Overhead { quick: false }));
        assert_eq!(check("bench overhead --quick"), Ok(Command::Overhead { quick: true }));
    }

    #[test]
    fn the_store_bench_may_be_quick() {
        assert_eq!(check("bench store"), Ok(Command::Store { quick: false }));
        assert_eq!(check("bench store --quick"), Ok(Command::Store { quick: true }));
        let argument = "now".to_owned();
        let unexpected = UsageError::UnexpectedArgument { command: "bench store", argument };
        assert_eq!(check("bench store now"), Err(unexpected));
    }

    #[test]
    fn causes_are_told_outermost_first() {
        let source = Box::new(Error::Tidy(tidy::TidyError::Violations { count: 2 }));
        let error = Error::Test(test::TestError { number: 6, total: 7, name: "tidy", source });
        let lines: Vec<String> = explain(&error).lines().map(str::to_owned).collect();
        assert!(lines[0].contains("step 6 of 7"), "{lines:?}");
        assert!(lines[1].starts_with("  because "), "{lines:?}");
    }
}
