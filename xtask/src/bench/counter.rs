//! Two ways to count the instructions of a bench case: callgrind, which simulates and is exact,
//! and the processor's own counters through perf, which many virtual machines do not provide.

use super::BenchError;
use crate::process;
use crate::workspace::Workspace;
use std::path::Path;
use std::process::Command;

/// A way to count that works on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counter {
    Callgrind,
    Perf,
}

impl Counter {
    /// Returns the first counter that is installed and, for perf, permitted on this machine.
    pub(super) fn find(workspace: &Workspace, binary: &Path) -> Option<Self> {
        if Command::new("valgrind").arg("--version").output().is_ok() {
            return Some(Self::Callgrind);
        }
        let trial = Self::Perf.command(workspace, binary).arg("--list-instruction-cases").output();
        let trial = trial.ok()?;
        parse_perf(&String::from_utf8_lossy(&trial.stderr)).map(|_| Self::Perf)
    }

    /// Returns the instructions of one case, as [`Self::meaning`] says.
    pub(super) fn count(
        self,
        workspace: &Workspace,
        binary: &Path,
        case: &str,
    ) -> Result<u64, BenchError> {
        let mut command = self.command(workspace, binary);
        let output = command.args(["--instructions", case]).output();
        let output = output.map_err(|source| process::not_started(&command, source))?;
        let report = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            eprintln!("{report}");
        }
        process::judge(&command, output.status)?;
        let count = match self {
            Self::Callgrind => parse_callgrind(&report),
            Self::Perf => parse_perf(&report),
        };
        let (counter, case) = (self.name(), case.to_owned());
        count.ok_or(BenchError::NoCount { counter, case, output: report })
    }

    fn command(self, workspace: &Workspace, binary: &Path) -> Command {
        let mut command = workspace.program(self.name());
        match self {
            Self::Callgrind => {
                // The benches run the counted work in a function of this name, and set up outside of it.
                let only = "--toggle-collect=*counted_work*";
                command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", only]);
                command.arg(binary)
            }
            Self::Perf => command.args(["stat", "-x,", "-e", "instructions:u", "--"]).arg(binary),
        };
        command
    }

    /// Returns the meaning of the counts.
    pub(super) fn meaning(self) -> &'static str {
        match self {
            Self::Callgrind => "the work alone, by callgrind",
            Self::Perf => "the whole process with its set-up, by perf",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Callgrind => "valgrind",
            Self::Perf => "perf",
        }
    }
}

/// Returns the number in callgrind's `==77== Collected : 126557`.
fn parse_callgrind(report: &str) -> Option<u64> {
    let (_, count) = report.lines().find_map(|line| line.split_once("Collected : "))?;
    count.trim().parse().ok()
}

/// Returns the first field of perf's `126557,,instructions:u,…`; without counters it is no number.
fn parse_perf(report: &str) -> Option<u64> {
    let line = report.lines().find(|line| line.contains(",instructions:u,"))?;
    line.split(',').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read_from_callgrinds_summary() {
        let report = "\
==6306== Events    : Ir
==6306== Collected : 126557
==6306==
==6306== I   refs:      126,557
";
        assert_eq!(parse_callgrind(report), Some(126_557));
    }

    #[test]
    fn the_count_is_read_from_perfs_table() {
        let report = "warming up\n126557,,instructions:u,801234,100.00,,\n";
        assert_eq!(parse_perf(report), Some(126_557));
    }

    #[test]
    fn counters_that_the_machine_hides_give_no_count() {
        assert_eq!(parse_perf("<not supported>,,instructions:u,0,100.00,,\n"), None);
    }

    #[test]
    fn a_report_without_a_count_gives_none() {
        assert_eq!(parse_callgrind("valgrind: failed to start\n"), None);
        assert_eq!(parse_perf(""), None);
    }
}
