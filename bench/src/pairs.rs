//! Every session in a folder, written for every other agent and read back: what the receipt calls kept must be there,
//! in order and byte for byte, and no vendor would refuse what the agent sends. Nothing of the data is in this
//! repository.

mod check;
mod conversation;
mod files;
mod request;
mod tally;

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use tertulia_dialect::native::NativeFormat;

use check::check;
use files::{Opened, Sessions};
use tally::Tally;

/// More problems than this are only counted.
const PROBLEMS_SHOWN: usize = 40;

/// What is wrong with one pair of a session and an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The file, within the folder.
    pub(crate) file: String,
    /// `None` if the session cannot be read.
    pub(crate) to: Option<NativeFormat>,
    pub(crate) what: String,
}

/// What was found in a folder.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    pub(crate) tally: Tally,
    pub(crate) problems: Vec<Problem>,
    /// Files that are no session of a known agent.
    pub(crate) other_files: usize,
}

/// Checks all pairs and prints a row for every format. Fails if one of them is not as it must be. What is written for
/// agents is saved in the folder `output`, if there is one.
pub(crate) fn run(
    folder: &Path,
    output: Option<&Path>,
    writer: &mut impl Write,
) -> Result<ExitCode, Box<dyn Error>> {
    let report = check_folder(folder, output)?;
    writer.write_all(report.tally.table().as_bytes())?;
    writeln!(writer, "\n{} other files are no sessions of these agents.", report.other_files)?;
    for problem in report.problems.iter().take(PROBLEMS_SHOWN) {
        let to = problem.to.map_or_else(String::new, |to| format!(" for {}", to.as_str()));
        writeln!(writer, "{}{to}: {}", problem.file, problem.what)?;
    }
    match report.problems.len() {
        0 => {
            writeln!(writer, "Everything that a receipt calls kept was read back as it was.")?;
            Ok(ExitCode::SUCCESS)
        }
        count => {
            writeln!(writer, "{count} problems.")?;
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Checks all pairs of the sessions in a folder.
pub(crate) fn check_folder(folder: &Path, output: Option<&Path>) -> Result<Report, Box<dyn Error>> {
    let mut report = Report::default();
    for found in Sessions::in_folder(folder)? {
        let session = match found {
            Opened::Session(session) => session,
            Opened::Other => {
                report.other_files += 1;
                continue;
            }
            Opened::Unreadable { file, what } => {
                report.problems.push(Problem { file, to: None, what });
                continue;
            }
        };
        report.tally.session(&session);
        let targets = NativeFormat::ALL.into_iter().filter(|to| to.is_writable());
        for to in targets.filter(|to| *to != session.format) {
            match check(&session, to) {
                Ok(Some(checked)) => {
                    report.tally.pair(session.format, &checked.receipt);
                    if let Some(output) = output {
                        let name = session.file.replace('/', "_");
                        std::fs::write(
                            output.join(format!("{name}.{}", to.as_str())),
                            checked.text,
                        )?;
                    }
                }
                // There is nothing to hand over.
                Ok(None) => {}
                Err(what) => {
                    report.tally.failure(session.format);
                    let file = session.file.clone();
                    report.problems.push(Problem { file, to: Some(to), what });
                }
            }
        }
    }
    Ok(report)
}

#[cfg(test)]
mod tests;
