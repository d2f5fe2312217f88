//! `cargo xtask bench`: runs the benches, then counts the instructions that each counted case
//! executes. Times differ between machines and runs, but counts of instructions hardly do.

mod counter;
pub(crate) mod native;
pub(crate) mod overhead;
pub(crate) mod quality;
pub(crate) mod store;

use crate::binary::{self, BinaryError};
use crate::command::UsageError;
use crate::process::{self, ProcessError};
use crate::workspace::Workspace;
use counter::Counter;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const PACKAGE: &str = "tertulia-bench";

/// Release code with symbols: callgrind finds the work that it counts by the name of a function.
const PROFILE: &str = "profiling";

/// A bench that could not be built, run or counted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error(transparent)]
    Binary(#[from] BinaryError),
    #[error(
        "the program for comparison cannot be written to the target folder; check the disk space"
    )]
    Hello(#[source] std::io::Error),
    #[error("`{PACKAGE} --list-instruction-cases` prints no cases; make it print one per line")]
    NoCases,
    #[error("there is no data in {0:?}; name its folder with --data or in TERTULIA_DATA")]
    NoData(PathBuf),
    #[error("{counter} printed no count for `{case}`; its output was:\n{output}")]
    NoCount { counter: &'static str, case: String, output: String },
}

/// Reads the arguments after the bench of this name, and returns whether it is to be quick.
pub(crate) fn is_quick(command: &'static str, arguments: &[String]) -> Result<bool, UsageError> {
    match arguments {
        [] => Ok(false),
        [option] if option == "--quick" => Ok(true),
        [argument, ..] => {
            Err(UsageError::UnexpectedArgument { command, argument: argument.clone() })
        }
    }
}

/// Runs the benches with the given arguments, then counts instructions if the machine can.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), BenchError> {
    let mut bench = workspace.cargo(["run", "--profile", PROFILE, "--locked", "-p", PACKAGE, "--"]);
    process::run(bench.args(arguments))?;

    let mut build = workspace.cargo(["build", "--profile", PROFILE, "--locked", "-p", PACKAGE]);
    let binary = binary::build(&mut build, PACKAGE)?;
    let Some(counter) = Counter::find(workspace, &binary) else {
        println!(
            "instructions are not counted, because neither valgrind nor perf counters are available"
        );
        return Ok(());
    };
    let mut counts = Vec::new();
    for case in list_cases(workspace, &binary)? {
        let count = counter.count(workspace, &binary, &case)?;
        counts.push((case, count));
    }
    print!("\nInstructions ({})\n{}", counter.meaning(), table(&counts));
    Ok(())
}

fn list_cases(workspace: &Workspace, binary: &Path) -> Result<Vec<String>, BenchError> {
    let listing = process::capture(workspace.program(binary).arg("--list-instruction-cases"))?;
    let cases = parse_cases(&String::from_utf8_lossy(&listing));
    if cases.is_empty() { Err(BenchError::NoCases) } else { Ok(cases) }
}

fn parse_cases(listing: &str) -> Vec<String> {
    let names = listing.lines().map(str::trim).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

fn table(counts: &[(String, u64)]) -> String {
    let heading = "case";
    let longest = counts.iter().map(|(case, _)| case.chars().count()).max();
    let width = longest.unwrap_or(0).max(heading.len());
    let mut text = format!("{heading:<width$}  {:>15}\n", "instructions");
    for (case, count) in counts {
        let _ = writeln!(text, "{case:<width$}  {count:>15}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_one_to_a_line() {
        assert_eq!(parse_cases("window_10k\n\n  markers \n"), ["window_10k", "markers"]);
    }

    #[test]
    fn the_table_lines_up_under_its_heading() {
        let counts = [("window_10k".to_owned(), 1_234_567), ("markers".to_owned(), 89)];
        let expected = "\
case           instructions
window_10k          1234567
markers                  89
";
        assert_eq!(table(&counts), expected);
    }
}
