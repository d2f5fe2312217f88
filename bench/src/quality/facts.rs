//! Measures the facts that are still known after a compaction. The facts of a session are the following. Each
//! counts once, even if it is repeated:
//!
//! - a command that was run: the first 60 characters of the first line of the argument `command`;
//! - a file that was edited: the path of a call that edits or writes, as the call has it;
//! - an error that was seen: the first 80 characters of the first line of a result that is an error. A
//!   line that is blank or only names an exit code says nothing, and the next one is taken.
//!
//! From the step of a manager's first cut on, every step gets the share of the facts so far that the request
//! contains, letter for letter and at any position; the result is the mean over the steps. Facts of less than 6
//! characters are left out, because they would be found by chance. The sliding window's first cut is the first step
//! at which it leaves out a message.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use memchr::memmem::Finder;
use serde_json::Value;
use tertulia_session::{PartKind, ToolCall, ToolResult};

use super::log::Log;
use super::manager::{Piece, messages};
use super::recall::Recall;

const COMMAND_CHARS: usize = 60;
const ERROR_CHARS: usize = 80;
const CHARS_MIN: usize = 6;

/// The calls whose path is a file that was edited, in lower case.
const EDITS: [&str; 4] = ["edit", "multiedit", "notebookedit", "write"];

/// The fields with the path of such calls.
const PATHS: [&str; 3] = ["file_path", "path", "notebook_path"];

/// The beginnings of lines that only name an exit code.
const EXIT_CODES: [&str; 2] = ["Exit code ", "Command exited with code "];

/// The kind of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Command,
    File,
    Error,
}

/// The facts of one session, in order.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    facts: Vec<Fact>,
}

#[derive(Debug, PartialEq, Eq)]
struct Fact {
    kind: Kind,
    text: String,
    /// The first entry that contains it.
    place: usize,
}

/// Searches pieces for facts; each text that is sent repeatedly is searched once.
#[derive(Debug)]
pub(crate) struct Memory<'a> {
    facts: &'a Facts,
    finders: Vec<Finder<'a>>,
    /// The numbers of the facts in the texts seen so far.
    texts: HashMap<Rc<str>, Rc<[usize]>>,
}

/// The shares of facts that were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Known {
    pub(crate) commands: Recall,
    pub(crate) files: Recall,
    pub(crate) errors: Recall,
    /// The share of all facts of any kind.
    pub(crate) all: Recall,
}

impl Facts {
    pub(crate) fn of(log: &Log) -> Self {
        let (mut facts, mut seen) = (Self::default(), HashSet::new());
        for (place, entry) in log.entries.iter().enumerate() {
            let parts = messages(std::slice::from_ref(entry)).flat_map(|message| &message.parts);
            for (kind, text) in parts.flat_map(|part| told(&part.kind)) {
                let is_long = text.chars().count() >= CHARS_MIN;
                if is_long && seen.insert((kind, text.clone())) {
                    facts.facts.push(Fact { kind, text, place });
                }
            }
        }
        facts
    }
}

impl<'a> Memory<'a> {
    pub(crate) fn new(facts: &'a Facts) -> Self {
        let finders = facts.facts.iter().map(|fact| Finder::new(&fact.text)).collect();
        Self { facts, finders, texts: HashMap::new() }
    }

    /// Adds the shares of the facts before this entry that are in the pieces.
    pub(crate) fn look(&mut self, place: usize, pieces: &[Piece], known: &mut Known) {
        let so_far = self.facts.facts.partition_point(|fact| fact.place < place);
        let mut is_sent = vec![false; self.facts.facts.len()];
        for piece in pieces {
            self.in_piece(piece).iter().for_each(|number| is_sent[*number] = true);
        }
        let facts = || self.facts.facts.iter().zip(&is_sent).take(so_far);
        let of = |kind| facts().filter(move |(fact, _)| fact.kind == kind).map(|(_, sent)| *sent);
        add(&mut known.commands, of(Kind::Command));
        add(&mut known.files, of(Kind::File));
        add(&mut known.errors, of(Kind::Error));
        add(&mut known.all, facts().map(|(_, sent)| *sent));
    }

    fn in_piece(&mut self, piece: &Piece) -> Rc<[usize]> {
        if let Some(numbers) = self.texts.get(&piece.text) {
            return Rc::clone(numbers);
        }
        let finders = self.finders.iter().enumerate();
        let found = finders.filter(|(_, finder)| finder.find(piece.text.as_bytes()).is_some());
        let numbers: Rc<[usize]> = found.map(|(number, _)| number).collect();
        if !piece.volatile {
            self.texts.insert(Rc::clone(&piece.text), Rc::clone(&numbers));
        }
        numbers
    }
}

/// Returns the facts in a part.
fn told(part: &PartKind) -> Vec<(Kind, String)> {
    match part {
        PartKind::ToolCall(call) => told_by_call(call),
        PartKind::ToolResult(result) if result.is_error => {
            error_line(result).map(|line| (Kind::Error, line)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

fn told_by_call(call: &ToolCall) -> Vec<(Kind, String)> {
    let arguments: Value = serde_json::from_str(call.arguments.as_str()).unwrap_or_default();
    let mut facts = Vec::new();
    if let Some(line) = arguments["command"].as_str().and_then(|text| text.lines().next()) {
        facts.push((Kind::Command, beginning(line, COMMAND_CHARS)));
    }
    if EDITS.contains(&call.tool_name.to_lowercase().as_str()) {
        let path = PATHS.iter().find_map(|name| arguments[name].as_str());
        facts.extend(path.map(|path| (Kind::File, path.to_owned())));
    }
    facts
}

fn error_line(result: &ToolResult) -> Option<String> {
    let content: Value = serde_json::from_str(result.content.as_str()).ok()?;
    let is_exit_code = |line: &str| EXIT_CODES.iter().any(|start| line.starts_with(start));
    let mut lines = content.as_str()?.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty() && !is_exit_code(line))?;
    Some(beginning(line, ERROR_CHARS))
}

fn beginning(line: &str, chars: usize) -> String {
    let beginning: String = line.trim().chars().take(chars).collect();
    beginning.trim_end().to_owned()
}

fn add(recall: &mut Recall, sent: impl Iterator<Item = bool>) {
    let (mut found, mut of) = (0, 0);
    for is_sent in sent {
        found += usize::from(is_sent);
        of += 1;
    }
    recall.add(found, of);
}

#[cfg(test)]
mod tests {
    use super::super::data::{Line, Session};
    use super::*;

    fn call(tool: &str, arguments: &str) -> Line {
        let tool = Some(tool.to_owned());
        Line { tool, ..Line::of("assistant", "tool_call", arguments) }
    }

    fn result(text: &str, is_error: bool) -> Line {
        Line { is_error, ..Line::of("tool", "tool_result", text) }
    }

    fn log() -> Log {
        let lines = vec![
            Line::of("user", "text", "Mend it"),
            call("Bash", r#"{"command":"go build ./...\ngo vet"}"#),
            result("Exit code 1\n\n  a.go:7: undefined: x\nmore", true),
            call("Edit", r#"{"file_path":"/src/a.go","old_string":"x"}"#),
            result("edited", false),
            call("Bash", r#"{"command":"go build ./..."}"#),
            call("bash", r#"{"command":"ls"}"#),
            call("Read", r#"{"file_path":"/src/other.go"}"#),
            result("fine", false),
            Line::of("assistant", "text", "Done"),
        ];
        Log::of_agent(&Session { key: "s".to_owned(), lines })
    }

    fn pieces(texts: &[&str]) -> Vec<Piece> {
        let piece = |text: &&str| Piece { text: (*text).into(), tokens: 1, volatile: false };
        texts.iter().map(piece).collect()
    }

    /// Returns the shares of commands, files, errors and all facts before this entry.
    fn known(place: usize, texts: &[&str]) -> [f64; 4] {
        let facts = Facts::of(&log());
        let mut known = Known::default();
        Memory::new(&facts).look(place, &pieces(texts), &mut known);
        [known.commands, known.files, known.errors, known.all].map(Recall::percent)
    }

    #[test]
    fn commands_edited_files_and_errors_are_facts_once() {
        let facts: Vec<_> = Facts::of(&log()).facts;
        let expected = [
            (Kind::Command, "go build ./...", 2),
            (Kind::Error, "a.go:7: undefined: x", 3),
            (Kind::File, "/src/a.go", 4),
        ];
        let found = facts.iter().map(|fact| (fact.kind, fact.text.as_str(), fact.place));
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn long_lines_are_known_by_their_beginning() {
        assert_eq!(beginning(&format!(" {} tail", "a".repeat(59)), 60), "a".repeat(59));
        assert_eq!(beginning("short", 60), "short");
    }

    #[test]
    fn an_error_of_nothing_but_its_exit_code_is_no_fact() {
        let lines = vec![Line::of("user", "text", "Go"), result("Exit code 2\n \n", true)];
        let log = Log::of_agent(&Session { key: "s".to_owned(), lines });
        assert!(Facts::of(&log).facts.is_empty());
    }

    #[test]
    fn the_share_of_what_was_so_far_counts() {
        let texts = ["ran go build ./... at 12:00", "in /src/a.go"];
        let known_then = known(8, &texts);
        assert_eq!(known_then[..3], [100.0, 100.0, 0.0]);
        assert!((known_then[3] - 200.0 / 3.0).abs() < 1e-9);
        assert_eq!(known(3, &texts)[0], 100.0);
        assert!(known(3, &texts)[1].is_nan(), "nothing was edited yet");
        assert_eq!(known(8, &[])[3], 0.0);
    }

    #[test]
    fn the_same_text_is_found_again_in_every_look() {
        let facts = Facts::of(&log());
        let (mut memory, mut known) = (Memory::new(&facts), Known::default());
        for texts in [&["go build ./..."][..], &["go build ./..."], &[]] {
            memory.look(8, &pieces(texts), &mut known);
        }
        assert!((known.commands.percent() - 200.0 / 3.0).abs() < 1e-9);
    }
}
