//! What writers said: one line for every append that returned, on their standard output. The lines
//! are all that a judge knows of a writer that is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use tertulia_store::StoreError;

use crate::batch::Batch;
use crate::error::FaultsError;

/// One line of a writer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// It runs, under this number.
    Runs(u32),
    /// A session was made, header and all.
    Made(String),
    /// An append returned `Ok`.
    Stored { session: String, batch: Batch },
    /// A call returned an error.
    Failed(Failed),
    /// The store is opened, for the first time or after it was closed.
    Phase,
    /// The store was opened anew after an error of the disk.
    Reopened,
    /// The writer came to its end.
    Done,
}

/// A call that returned an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failed {
    /// What was tried.
    pub(crate) call: String,
    /// The kind of the error.
    pub(crate) code: String,
    pub(crate) outcome: String,
    /// The kind of what stood in the way; `-` if the error names none.
    pub(crate) problem: String,
    /// What people read.
    pub(crate) message: String,
}

impl Failed {
    pub(crate) fn of(call: &str, error: &StoreError) -> Self {
        let problem = match error {
            StoreError::SessionWriteFailed { problem, .. }
            | StoreError::SessionReadFailed { problem, .. } => format!("{problem:?}"),
            _ => "-".to_owned(),
        };
        let end = problem.find(|one: char| !one.is_ascii_alphanumeric() && one != '-');
        Self {
            call: call.to_owned(),
            code: error.code().to_owned(),
            outcome: error.outcome().as_str().to_owned(),
            problem: problem[..end.unwrap_or(problem.len())].to_owned(),
            message: error.to_string().replace('\n', " "),
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.problem == "Stopped"
    }
}

impl Line {
    pub(crate) fn write(&self) -> String {
        match self {
            Self::Runs(pid) => format!("runs {pid}\n"),
            Self::Made(session) => format!("made {session}\n"),
            Self::Stored { session, batch } => {
                format!("stored {session} {} {}\n", batch.thread, batch.number)
            }
            Self::Failed(Failed { call, code, outcome, problem, message }) => {
                format!("failed {call} {code} {outcome} {problem} {message}\n")
            }
            Self::Phase => "phase\n".to_owned(),
            Self::Reopened => "reopened\n".to_owned(),
            Self::Done => "done\n".to_owned(),
        }
    }

    pub(crate) fn read(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "runs" => Some(Self::Runs(rest.parse().ok()?)),
            "made" => Some(Self::Made(rest.to_owned())),
            "stored" => {
                let mut words = rest.split(' ');
                let session = words.next()?.to_owned();
                let batch = Batch::new(words.next()?, words.next()?.parse().ok()?);
                Some(Self::Stored { session, batch })
            }
            "failed" => {
                let mut words = rest.splitn(5, ' ').map(str::to_owned);
                let mut word = || words.next();
                let (call, code, outcome) = (word()?, word()?, word()?);
                let (problem, message) = (word()?, word()?);
                Some(Self::Failed(Failed { call, code, outcome, problem, message }))
            }
            "phase" => Some(Self::Phase),
            "reopened" => Some(Self::Reopened),
            "done" => Some(Self::Done),
            _ => None,
        }
    }
}

/// What was acknowledged, by all writers together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// The batches of every session that was made or written to.
    pub(crate) sessions: BTreeMap<String, BTreeSet<Batch>>,
    /// Sessions whose making was acknowledged.
    pub(crate) made: BTreeSet<String>,
}

impl Ledger {
    pub(crate) fn add(&mut self, line: &Line) {
        match line {
            Line::Made(session) => {
                self.made.insert(session.clone());
            }
            Line::Stored { session, batch } => {
                self.sessions.entry(session.clone()).or_default().insert(batch.clone());
            }
            Line::Runs(_) | Line::Failed(_) | Line::Phase | Line::Reopened | Line::Done => {}
        }
    }

    pub(crate) fn add_all<'l>(&mut self, lines: impl IntoIterator<Item = &'l Line>) {
        lines.into_iter().for_each(|line| self.add(line));
    }

    /// How many entries were acknowledged.
    pub(crate) fn entries(&self) -> u64 {
        self.sessions.values().flatten().map(Batch::size).sum()
    }
}

/// The lines of a writer that may have been killed: the last one counts only if it is whole.
pub(crate) fn read(file: &Path) -> Result<Vec<Line>, FaultsError> {
    let text = std::fs::read_to_string(file).map_err(FaultsError::at(file))?;
    read_lines(&text)
}

fn read_lines(text: &str) -> Result<Vec<Line>, FaultsError> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let odd = |line: &str| FaultsError::unfit(format!("a writer said {line:?}"));
    let lines = whole.split('\n').filter(|line| !line.is_empty());
    lines.map(|line| Line::read(line).ok_or_else(|| odd(line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_as_they_were_written() {
        let failed = Failed {
            call: "append".to_owned(),
            code: "SessionWriteFailed".to_owned(),
            outcome: "unknown".to_owned(),
            problem: "Stopped".to_owned(),
            message: "the disk reported an error".to_owned(),
        };
        let lines = [
            Line::Runs(12),
            Line::Made("s0".to_owned()),
            Line::Stored { session: "s0".to_owned(), batch: Batch::new("w0-1", 3) },
            Line::Failed(failed),
            Line::Phase,
            Line::Reopened,
            Line::Done,
        ];
        let text: String = lines.iter().map(Line::write).collect();
        assert_eq!(read_lines(&text).unwrap(), lines);
    }

    #[test]
    fn half_a_line_is_no_acknowledgement() {
        let lines = read_lines("stored s0 w 1\nstored s0 w 1").unwrap();
        assert_eq!(lines.len(), 1);
        assert!(read_lines("stroed s0 w 1\n").is_err());
    }
}
