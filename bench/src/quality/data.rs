//! Reads the data sets in a folder that the caller names: sessions, questions and pointers, with the program
//! `zstd`. None of the data is in this repository.

use std::collections::HashMap;
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
    /// The id that a call and its result share.
    pub(crate) call: Option<String>,
    pub(crate) is_error: bool,
    pub(crate) time: Option<String>,
}

/// A question about a session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Question {
    pub(crate) session: String,
    pub(crate) question: String,
    pub(crate) evidence: Evidence,
    /// The number of lines before the question; `None` for all lines.
    pub(crate) end: Option<usize>,
}

/// The location of the answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Evidence {
    /// In these lines.
    Lines(Vec<usize>),
    /// In these ranges of lines, both ends included.
    Ranges(Vec<(usize, usize)>),
    /// In the text of the user in this line or a few lines from it.
    Near(usize),
}

/// An edit that quotes an earlier text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pointer {
    pub(crate) session: String,
    /// The line with the edit.
    pub(crate) line: usize,
    /// The line in which the quoted text was last seen.
    pub(crate) evidence: usize,
    /// Whether this line contained the whole text, or only its longest line.
    pub(crate) whole: bool,
}

/// Returns the text of a turn, with the speaker's name if there is one.
pub(crate) fn turn(line: &Line) -> String {
    match &line.who {
        Some(who) => format!("{who}: {}", line.text),
        None => line.text.clone(),
    }
}

#[cfg(test)]
impl Line {
    /// Returns a line without a speaker; all calls and results are one pair.
    pub(crate) fn of(role: &str, kind: &str, text: &str) -> Self {
        let (role, kind, text) = (role.to_owned(), kind.to_owned(), text.to_owned());
        Self { role, kind, text, call: Some("c1".to_owned()), ..Self::default() }
    }
}

#[cfg(test)]
impl Session {
    /// Returns a session with these roles, kinds and texts.
    pub(crate) fn of(lines: &[(&str, &str, &str)]) -> Self {
        let lines = lines.iter().map(|(role, kind, text)| Line::of(role, kind, text)).collect();
        Self { key: "s".to_owned(), lines }
    }
}

impl Evidence {
    /// Returns the first line of the evidence.
    pub(crate) fn first(&self) -> Option<usize> {
        match self {
            Self::Lines(lines) => lines.iter().copied().min(),
            Self::Ranges(ranges) => ranges.iter().map(|range| range.0).min(),
            Self::Near(line) => Some(*line),
        }
    }
}

/// Reads the sessions of a set, in the order of the file.
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

/// Reads the questions of a set that name their evidence.
pub(crate) fn read_questions(set: &Path) -> Result<Vec<Question>, Box<dyn Error>> {
    let records = read(&set.join("questions.jsonl.zst"))?;
    Ok(records.iter().filter_map(question).collect())
}

/// Reads the sessions of a set with links from answers to messages. An answer is a question if its message was
/// written at least this many characters before, and only once. Leaves out notes of the system, such as that a
/// person joined.
pub(crate) fn read_replies(
    set: &Path,
    chars_min: usize,
) -> Result<(Vec<Session>, Vec<Question>), Box<dyn Error>> {
    Ok(replies(&read(&set.join("messages.jsonl.zst"))?, chars_min))
}

fn replies(records: &[Value], chars_min: usize) -> (Vec<Session>, Vec<Question>) {
    let (mut sessions, mut questions) = (Vec::<Session>::new(), Vec::new());
    // The new line numbers of the last session.
    let mut numbers = HashMap::new();
    for record in records.iter().filter(|record| text(record, "kind") != "note") {
        let key = text(record, "s");
        if sessions.last().is_none_or(|session| session.key != key) {
            sessions.push(Session { key: key.to_owned(), lines: Vec::new() });
            numbers.clear();
        }
        let Some(session) = sessions.last_mut() else {
            continue;
        };
        let answered = record["re"].as_array().map(Vec::as_slice).unwrap_or_default();
        let answered = answered.iter().filter_map(number);
        let evidence: Vec<usize> = answered.filter_map(|old| numbers.get(&old).copied()).collect();
        let line = line(record);
        questions.extend(reply(session, &line, evidence, chars_min));
        numbers.extend(number(&record["i"]).map(|old| (old, session.lines.len())));
        session.lines.push(line);
    }
    (sessions, questions)
}

/// Returns the next line as a question about the message that it answers, if this message is far enough back and
/// neither this line nor an earlier one repeats it.
fn reply(
    session: &Session,
    next: &Line,
    evidence: Vec<usize>,
    chars_min: usize,
) -> Option<Question> {
    let first = evidence.iter().copied().min()?;
    let chars = |line: &Line| turn(line).chars().count();
    if session.lines.get(first..)?.iter().map(chars).sum::<usize>() < chars_min {
        return None;
    }
    let turns: Vec<String> = session.lines.iter().chain([next]).map(turn).collect();
    for place in &evidence {
        let wanted = turns.get(*place)?;
        if turns.iter().filter(|turn| turn.contains(wanted)).count() > 1 {
            return None;
        }
    }
    let (question, end) = (turn(next), Some(session.lines.len()));
    let evidence = Evidence::Lines(evidence);
    Some(Question { session: session.key.clone(), question, evidence, end })
}

/// Reads the edits of a set that quote earlier text.
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
    let evidence = match (lines.is_empty(), number(&record["approx"]), ranges.is_empty()) {
        (false, ..) => Evidence::Lines(lines),
        (true, Some(line), _) => Evidence::Near(line),
        (true, None, false) => Evidence::Ranges(ranges),
        (true, None, true) => return None,
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
    let text = String::from_utf8(unpack(file)?)?;
    let lines = text.lines().filter(|line| !line.is_empty());
    lines.map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// Returns the content of a file that was packed with `zstd`.
pub(crate) fn unpack(file: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut zstd = Command::new("zstd");
    zstd.args(["-dcq", "--long=27"]).arg(file).stderr(Stdio::inherit());
    let output = zstd.output().map_err(|error| {
        format!("`zstd` cannot be started; install it to read the data: {error}")
    })?;
    if !output.status.success() {
        return Err(format!("{} cannot be unpacked", file.display()).into());
    }
    Ok(output.stdout)
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

    #[test]
    fn a_line_that_is_known_nearly_comes_before_its_range() {
        let record = json!({"s": "a", "evidence": [], "ranges": [[0, 47]], "approx": 3});
        assert_eq!(question(&record).unwrap().evidence, Evidence::Near(3));
    }

    #[test]
    fn an_answer_to_what_was_said_long_ago_is_a_question() {
        let record = |i: u32, kind: &str, text: &str, re: &[u32]| json!({"s": "a", "i": i, "kind": kind, "text": text, "who": "Ann", "re": re});
        let records = [
            record(0, "text", "Which port?", &[]),
            record(1, "note", "Bob came", &[]),
            record(2, "text", "Hello", &[0]),
            record(3, "text", "The port is 80", &[0, 2]),
        ];
        // With the name, the texts have 16 and 10 characters.
        let (sessions, questions) = replies(&records, 26);
        assert_eq!(sessions[0].lines.len(), 3);
        let expected = Question {
            session: "a".to_owned(),
            question: "Ann: The port is 80".to_owned(),
            evidence: Evidence::Lines(vec![0, 1]),
            end: Some(2),
        };
        assert_eq!(questions, [expected]);
        assert_eq!(replies(&records, 27).1, []);
    }

    #[test]
    fn what_is_said_again_is_not_asked_for() {
        let said = |who: &str, text: &str| {
            let who = Some(who.to_owned());
            Line { who, ..Line::of("user", "text", text) }
        };
        let mut session = Session { key: "a".to_owned(), lines: vec![said("Ann", "Why?")] };
        let is_asked = |session: &Session, next: &Line| reply(session, next, vec![0], 1).is_some();
        assert!(is_asked(&session, &said("Bob", "Why?")));
        assert!(!is_asked(&session, &said("Ann", "Why? Why?")));
        session.lines.push(said("Ann", "Why?"));
        assert!(!is_asked(&session, &said("Bob", "So that it fits.")));
    }

    #[test]
    fn a_turn_names_its_speaker() {
        let mut line = Line::of("user", "text", "Yes.");
        line.who = Some("Ann".to_owned());
        assert_eq!(turn(&line), "Ann: Yes.");
    }
}
