//! The output of writers: one line for every append that returned. A judge has no other information
//! about a killed writer.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use tertulia_store::StoreError;

use crate::batch::Batch;
use crate::error::FaultsError;

/// One line of a writer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// The writer runs, with this process id.
    Started(u32),
    /// A session was created, including its header.
    Created(String),
    /// An append returned `Ok`.
    Stored { session: String, batch: Batch },
    /// A call returned an error.
    Failed(Failed),
    /// The store is opened, for the first time or again.
    Phase,
    /// The store was reopened after a disk error.
    Reopened,
    /// The writer has finished.
    Done,
}

/// A call that returned an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failed {
    /// The attempted operation.
    pub(crate) call: String,
    /// The error code.
    pub(crate) code: String,
    pub(crate) outcome: String,
    /// The kind of the problem; `-` if the error has none.
    pub(crate) problem: String,
    /// The error message.
    pub(crate) message: String,
}

impl Failed {
    pub(crate) fn from_error(call: &str, error: &StoreError) -> Self {
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
            Self::Started(pid) => format!("runs {pid}\n"),
            Self::Created(session) => format!("made {session}\n"),
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

    pub(crate) fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "runs" => Some(Self::Started(rest.parse().ok()?)),
            "made" => Some(Self::Created(rest.to_owned())),
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

/// All acknowledged sessions and entries, of all writers together.
#[derive(Clone, Debug, Default)]
pub(crate) struct AckLog {
    /// The batches of every session that was created or written to.
    pub(crate) sessions: BTreeMap<String, BTreeSet<Batch>>,
    /// Sessions whose creation was acknowledged.
    pub(crate) made: BTreeSet<String>,
}

impl AckLog {
    pub(crate) fn add(&mut self, line: &Line) {
        match line {
            Line::Created(session) => {
                self.made.insert(session.clone());
            }
            Line::Stored { session, batch } => {
                self.sessions.entry(session.clone()).or_default().insert(batch.clone());
            }
            Line::Started(_) | Line::Failed(_) | Line::Phase | Line::Reopened | Line::Done => {}
        }
    }

    pub(crate) fn add_all<'l>(&mut self, lines: impl IntoIterator<Item = &'l Line>) {
        lines.into_iter().for_each(|line| self.add(line));
    }

    /// Returns the number of acknowledged entries.
    pub(crate) fn entries(&self) -> u64 {
        self.sessions.values().flatten().map(Batch::size).sum()
    }
}

/// Reads the lines of a writer that may have been killed: an incomplete last line is ignored.
pub(crate) fn read(file: &Path) -> Result<Vec<Line>, FaultsError> {
    let text = std::fs::read_to_string(file).map_err(FaultsError::at(file))?;
    read_lines(&text)
}

fn read_lines(text: &str) -> Result<Vec<Line>, FaultsError> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let odd = |line: &str| FaultsError::unexpected(format!("a writer said {line:?}"));
    let lines = whole.split('\n').filter(|line| !line.is_empty());
    lines.map(|line| Line::parse(line).ok_or_else(|| odd(line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_round_trip() {
        let failed = Failed {
            call: "append".to_owned(),
            code: "SessionWriteFailed".to_owned(),
            outcome: "unknown".to_owned(),
            problem: "Stopped".to_owned(),
            message: "the disk reported an error".to_owned(),
        };
        let lines = [
            Line::Started(12),
            Line::Created("s0".to_owned()),
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
    fn an_incomplete_line_is_no_acknowledgement() {
        let lines = read_lines("stored s0 w 1\nstored s0 w 1").unwrap();
        assert_eq!(lines.len(), 1);
        assert!(read_lines("stroed s0 w 1\n").is_err());
    }
}
