//! The data sets as they lie in a folder that the caller names: sessions, questions and pointers, read
//! through the program `zstd`. Nothing of them is in this repository. Knows nothing of entries.

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// The lines of one session, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Session {
    pub(crate) key: String,
    pub(crate) lines: Vec<Line>,
}

/// A message or one block of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Line {
    pub(crate) role: String,
    pub(crate) kind: String,
    pub(crate) text: String,
    /// The speaker.
    pub(crate) who: Option<String>,
    pub(crate) tool: Option<String>,
    /// What pairs a call and its result.
    pub(crate) call: Option<String>,
    pub(crate) is_error: bool,
    pub(crate) time: Option<String>,
}

/// Something asked about a session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Question {
    pub(crate) session: String,
    pub(crate) question: String,
    pub(crate) evidence: Evidence,
    /// It is asked after this many lines; `None` for all of them.
    pub(crate) end: Option<usize>,
}

/// Where the answer is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Evidence {
    /// In these lines.
    Lines(Vec<usize>),
    /// In these ranges of lines, both ends included.
    Ranges(Vec<(usize, usize)>),
}

/// An edit that quoted something said before.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pointer {
    pub(crate) session: String,
    /// The line with the edit.
    pub(crate) line: usize,
    /// The line in which the quoted text was last seen.
    pub(crate) evidence: usize,
    /// Whether all of it was seen there, or only its longest line.
    pub(crate) whole: bool,
}

#[cfg(test)]
impl Line {
    /// A line of nobody in particular; all calls and results are one pair.
    pub(crate) fn of(role: &str, kind: &str, text: &str) -> Self {
        let (role, kind, text) = (role.to_owned(), kind.to_owned(), text.to_owned());
        Self { role, kind, text, call: Some("c1".to_owned()), ..Self::default() }
    }
}

#[cfg(test)]
impl Session {
    /// A session of these roles, kinds and texts.
    pub(crate) fn of(lines: &[(&str, &str, &str)]) -> Self {
        let lines = lines.iter().map(|(role, kind, text)| Line::of(role, kind, text)).collect();
        Self { key: "s".to_owned(), lines }
    }
}

impl Evidence {
    /// The first line from which everything up to the question would have to be kept.
    pub(crate) fn first(&self) -> Option<usize> {
        match self {
            Self::Lines(lines) => lines.iter().copied().min(),
            Self::Ranges(ranges) => ranges.iter().map(|range| range.0).min(),
        }
    }
}

/// The sessions of a set, in the order of the file.
pub(crate) fn read_sessions(set: &Path) -> Result<Vec<Session>, Box<dyn Error>> {
    let mut sessions: Vec<Session> = Vec::new();
    for record in read(&set.join("messages.jsonl.zst"))? {
        let key = text(&record, "s");
        if sessions.last().is_none_or(|session| session.key != key) {
            sessions.push(Session { key: key.to_owned(), lines: Vec::new() });
        }
        let Some(session) = sessions.last_mut() else {
            continue;
        };
        if record["i"].as_u64() != Some(session.lines.len() as u64) {
            return Err(format!("{key}: the lines of a session must follow each other").into());
        }
        session.lines.push(line(&record));
    }
    Ok(sessions)
}

/// The questions of a set that name their evidence.
pub(crate) fn read_questions(set: &Path) -> Result<Vec<Question>, Box<dyn Error>> {
    let records = read(&set.join("questions.jsonl.zst"))?;
    Ok(records.iter().filter_map(question).collect())
}

/// The edits of a set that quote something said before.
pub(crate) fn read_pointers(set: &Path) -> Result<Vec<Pointer>, Box<dyn Error>> {
    let records = read(&set.join("reuse.jsonl.zst"))?;
    let pointer = |record: &Value| {
        Some(Pointer {
            session: text(record, "s").to_owned(),
            line: number(&record["i"])?,
            evidence: number(&record["e"])?,
            whole: record["match"] == "full",
        })
    };
    Ok(records.iter().filter_map(pointer).collect())
}

fn line(record: &Value) -> Line {
    let optional = |name| record[name].as_str().map(str::to_owned);
    Line {
        role: text(record, "role").to_owned(),
        kind: text(record, "kind").to_owned(),
        text: text(record, "text").to_owned(),
        who: optional("who"),
        tool: optional("tool"),
        call: optional("call"),
        is_error: record["err"].as_bool().unwrap_or_else(|| record["err"].is_number()),
        time: optional("ts"),
    }
}

fn question(record: &Value) -> Option<Question> {
    let list = |name: &str| record[name].as_array().map(Vec::as_slice).unwrap_or_default();
    let lines: Vec<usize> = list("evidence").iter().filter_map(number).collect();
    let range = |pair: &Value| Some((number(&pair[0])?, number(&pair[1])?));
    let ranges: Vec<_> = list("ranges").iter().filter_map(range).collect();
    let evidence = match (lines.is_empty(), ranges.is_empty()) {
        (false, _) => Evidence::Lines(lines),
        (true, false) => Evidence::Ranges(ranges),
        (true, true) => return None,
    };
    Some(Question {
        session: text(record, "s").to_owned(),
        question: text(record, "question").to_owned(),
        evidence,
        end: number(&record["end"]),
    })
}

fn text<'a>(record: &'a Value, name: &str) -> &'a str {
    record[name].as_str().unwrap_or_default()
}

fn number(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}

/// Unpacks a file and reads its lines.
fn read(file: &Path) -> Result<Vec<Value>, Box<dyn Error>> {
    let mut zstd = Command::new("zstd");
    zstd.args(["-dcq", "--long=27"]).arg(file).stderr(Stdio::inherit());
    let output = zstd.output().map_err(|error| {
        format!("`zstd` cannot be started; install it to read the data: {error}")
    })?;
    if !output.status.success() {
        return Err(format!("{} cannot be unpacked", file.display()).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let lines = text.lines().filter(|line| !line.is_empty());
    lines.map(|line| Ok(serde_json::from_str(line)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_question_without_evidence_is_left_out() {
        let record = json!({"s": "a", "question": "Why?", "evidence": [], "ranges": []});
        assert_eq!(question(&record), None);
    }

    #[test]
    fn lines_come_before_ranges() {
        let record = json!({"s": "a", "evidence": [7, 3], "ranges": [[1, 9]], "end": 12});
        let question = question(&record).unwrap();
        assert_eq!((question.evidence.first(), question.end), (Some(3), Some(12)));
        assert_eq!(question.evidence, Evidence::Lines(vec![7, 3]));
    }
}
