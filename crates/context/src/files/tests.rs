//! Compares known files with the real ones: random histories of tool calls, checked after each step.

use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::{Value, json};
use tertulia_session::json::Json;
use tertulia_session::{Part, Role, ToolCall, ToolResult};

use super::*;
use crate::tokens::Tokenizer;

/// Files with the calls of a test.
#[derive(Default)]
pub(super) struct Work {
    pub(super) files: Files,
    position: usize,
}

impl Work {
    #[expect(clippy::needless_pass_by_value, reason = "calls read better so")]
    pub(super) fn call(&mut self, id: &str, tool: &str, arguments: Value) {
        let arguments = Json::parse(&arguments.to_string()).unwrap();
        let call = ToolCall {
            tool_call_id: id.into(),
            tool_name: tool.into(),
            arguments,
            raw_args_text: None,
        };
        self.add(Role::Assistant, PartKind::ToolCall(Box::new(call)));
    }

    pub(super) fn result(&mut self, id: &str, text: &str, is_error: bool) {
        let result = ToolResult { tool_call_id: id.into(), is_error, content: Json::text(text) };
        self.add(Role::Tool, PartKind::ToolResult(Box::new(result)));
    }

    fn add(&mut self, role: Role, kind: PartKind) {
        self.position += 1;
        let parts = [Part::new(kind)].into_iter().collect();
        self.files.add(self.position, &Message::with_role(role, parts));
    }

    pub(super) fn done(&mut self, tool: &str, arguments: Value, result: &str) {
        self.call("1", tool, arguments);
        self.result("1", result, false);
    }

    pub(super) fn read(&mut self, path: &str, text: &str) {
        self.done("read", json!({ "path": path }), text);
    }

    pub(super) fn shown(&self) -> String {
        let shown = HashSet::new();
        let excerpts = self.files.excerpts(&ExcerptQuery {
            max_tokens: 100_000,
            tokenizer: &Tokenizer::Bytes,
            is_sent: &|_| false,
            shown: &shown,
            weight: &|_| 0,
            is_wanted: &|_| true,
        });
        excerpts.unwrap_or_default().text
    }
}

/// A change that a tool makes to the real file. The numbers select positions in the file.
#[derive(Clone, Debug)]
enum Step {
    Read { from: usize, count: Option<usize>, style: u8 },
    Edit { from: usize, to: usize, new: String, all: bool, habits: (bool, bool), fails: bool },
    Patch { from: usize, count: usize, new: Vec<String> },
    Write { text: String },
}

fn line() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "", "  a", "ab", "ä", "aa", "}", "x = 1"])
        .prop_map(String::from)
}

fn text() -> impl Strategy<Value = String> {
    (prop::collection::vec(line(), 0..12), any::<bool>())
        .prop_map(|(lines, ends)| lines.join("\n") + if ends { "\n" } else { "" })
}

fn new_text() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec!["", "\n", "a\n", "\nb", "c ", "q", "\n\n", "a\nb", " \nz"]);
    prop_oneof![
        odd.prop_map(String::from),
        prop::collection::vec(line(), 0..4).prop_map(|l| l.join("\n"))
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let read = (0..14_usize, prop::option::of(1..6_usize), 0..4_u8)
        .prop_map(|(from, count, style)| Step::Read { from, count, style });
    let edit = (0..60_usize, 1..12_usize, new_text(), any::<(bool, bool)>(), 0..8_u8).prop_map(
        |(from, to, new, habits, kind)| Step::Edit {
            from,
            to,
            new,
            all: kind == 1,
            habits,
            fails: kind == 0,
        },
    );
    let patch = (0..12_usize, 1..4_usize, prop::collection::vec(line(), 0..4))
        .prop_map(|(from, count, new)| Step::Patch { from, count, new });
    let write = text().prop_map(|text| Step::Write { text });
    prop_oneof![6 => read, 10 => edit, 3 => patch, 1 => write]
}

fn take(step: &Step, truth: &mut String, work: &mut Work) {
    match step {
        Step::Read { from, count, style } => read(truth, work, *from, *count, *style),
        Step::Edit { from, to, new, all, habits, fails } => {
            let at = |wanted: usize| {
                (0..=wanted.min(truth.len())).rfind(|at| truth.is_char_boundary(*at))
            };
            let begin = at(from % (truth.len() + 1)).unwrap();
            let end = at(begin + to).unwrap();
            let old = truth[begin..end].to_owned();
            if old.is_empty() || old == *new || !all && truth.matches(&old).count() != 1 {
                return;
            }
            let arguments = json!({ "file_path": "f", "old_string": old, "new_string": new, "replace_all": all });
            work.call("1", "Edit", arguments);
            work.result("1", "Done.", *fails);
            let (takes_break, strips) = *habits;
            let broken = format!("{old}\n");
            let takes =
                takes_break && new.is_empty() && !old.ends_with('\n') && truth.contains(&broken);
            let old = if takes { broken } else { old };
            let stripped: Vec<&str> = new.split('\n').map(str::trim_end).collect();
            let new = if strips { stripped.join("\n") } else { new.clone() };
            if !fails {
                *truth =
                    if *all { truth.replace(&old, &new) } else { truth.replacen(&old, &new, 1) };
            }
        }
        Step::Patch { from, count, new } => {
            let lines: Vec<&str> = truth.strip_suffix('\n').unwrap_or(truth).split('\n').collect();
            let (begin, end) = (from % lines.len(), (from % lines.len() + count).min(lines.len()));
            let old = &lines[begin..end];
            if lines.windows(old.len()).filter(|window| *window == old).count() != 1 {
                return;
            }
            let marked = |mark: &str, line: &str| format!("{mark}{line}\n");
            let hunk: String = old.iter().map(|line| marked("-", line)).collect();
            let hunk = hunk + &new.iter().map(|line| marked("+", line)).collect::<String>();
            let patch = format!("*** Begin Patch\n*** Update File: f\n@@\n{hunk}*** End Patch");
            work.done("apply_patch", json!({ "input": patch }), "Success.");
            let new = new.iter().map(String::as_str);
            let all: Vec<&str> = lines[..begin]
                .iter()
                .copied()
                .chain(new)
                .chain(lines[end..].iter().copied())
                .collect();
            *truth = if all.is_empty() { String::new() } else { all.join("\n") + "\n" };
        }
        Step::Write { text } => {
            work.done("Write", json!({ "file_path": "f", "content": text }), "Done.");
            truth.clone_from(text);
        }
    }
}

fn read(truth: &str, work: &mut Work, from: usize, count: Option<usize>, style: u8) {
    let lines: Vec<&str> = truth.split('\n').collect();
    let begin = count.map_or(0, |_| from % lines.len());
    let end = count.map_or(lines.len(), |count| (begin + count).min(lines.len()));
    let part = &lines[begin..end];
    let numbered = |arrow: &str| -> String {
        let lines = part.iter().enumerate();
        lines.map(|(at, line)| format!("{:6}{arrow}{line}\n", begin + at + 1)).collect()
    };
    let arguments = match count {
        Some(count) => json!({ "path": "f", "offset": begin + 1, "limit": count }),
        None => json!({ "path": "f" }),
    };
    match style {
        0 => work.done("Read", arguments, &numbered("→")),
        1 => work.done("Read", arguments, &numbered("\t")),
        2 => work.done("read", arguments, &part.join("\n")),
        _ => {
            let command = format!("sed -n '{},{}p' f", begin + 1, end);
            work.done("bash", json!({ "command": command }), &part.join("\n"));
        }
    }
}

/// Checks that every known or shown line is the real one with its number, and is shown only once.
fn check(truth: &str, work: &Work) -> Result<(), TestCaseError> {
    let lines: Vec<&str> = truth.split('\n').collect();
    for run in work.files.files.values().flat_map(|file| &file.runs) {
        for (number, line) in (run.first..).zip(&run.lines) {
            prop_assert_eq!(lines.get(number - 1).copied(), Some(&*line.text), "line {}", number);
        }
    }
    let mut seen = HashSet::new();
    for part in work.shown().split("\n\n[f, lines ").skip(1) {
        let (head, body) = part.split_once("]\n").unwrap();
        let (first, last) = head.split_once('-').unwrap();
        let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
        let body: Vec<&str> = body.split('\n').map(without_number).collect();
        prop_assert_eq!(&lines[first - 1..last], body.as_slice());
        prop_assert!((first..=last).all(|number| seen.insert(number)));
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_known_line_is_true(start in text(), steps in prop::collection::vec(step(), 1..14)) {
        let (mut truth, mut work) = (start, Work::default());
        for step in &steps {
            take(step, &mut truth, &mut work);
            check(&truth, &work)?;
        }
    }

    #[test]
    fn no_call_and_no_result_panics(
        arguments in prop::collection::hash_map(
            prop::sample::select(vec!["path", "command", "offset", "old_string", "new_string", "edits", "input", "view_range", "content"]),
            prop_oneof![
                any::<String>().prop_map(Value::from),
                any::<u64>().prop_map(Value::from),
                Just(json!([])), Just(json!([{ "oldText": "a" }, 3])), Just(Value::from(u64::MAX)), Just(json!(["bash"])),
                Just(Value::from("*** Begin Patch\n*** Move to: x\n*** Update File: a\n@@\nä\n*** Move to: b\n+")),
                Just(Value::from("sed -n 18446744073709551615,1p a")),
            ],
            0..5,
        ),
        result in prop_oneof![
            any::<String>(),
            Just("18446744073709551615→a\n18446744073709551616→b".to_owned()),
            Just("1073741824→a\n1073741825→b".to_owned()),
            Just("Showing lines 18446744073709551615-1\n\n---\n\na".to_owned()),
        ],
        tool in prop::sample::select(vec!["Read", "edit", "shell", "str_replace_based_edit_tool"]),
    ) {
        let mut work = Work::default();
        work.read("a", "a\nä\nb");
        work.done(tool, json!(arguments), &result);
        work.shown();
    }
}

const EDIT: &str = "Edit";

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({ "file_path": path, "old_string": old, "new_string": new })
}

#[test]
fn an_edit_under_another_path_of_the_file_forgets_it() {
    for (one, other) in [
        ("/repo/src/a.rs", "src/a.rs"),
        ("./a.rs", "a.rs"),
        ("src/../a.rs", "/repo/a.rs"),
        ("src\\a.rs", "src/a.rs"),
    ] {
        let mut work = Work::default();
        work.read(one, "one\ntwo");
        work.done(EDIT, edit(other, "one", "1"), "Done.");
        assert!(!work.shown().contains("one"), "{one} {other}");
    }
}

#[test]
fn an_edit_of_another_file_forgets_nothing() {
    let mut work = Work::default();
    work.read("src/a.rs", "one\ntwo");
    work.done(EDIT, edit("src/aa.rs", "one", "1"), "Done.");
    work.done(EDIT, edit("lib/a.rs", "one", "1"), "Done.");
    assert_eq!(work.shown(), "\n\n[src/a.rs, lines 1-2]\none\ntwo");
}

#[test]
fn a_file_that_was_read_under_two_paths_is_shown_once() {
    let mut work = Work::default();
    work.read("/repo/src/a.rs", "one\ntwo\nthree");
    work.done("bash", json!({ "command": "sed -n 2,3p src/a.rs" }), "two\nthree");
    assert_eq!(work.shown(), "\n\n[/repo/src/a.rs, lines 1-3]\none\ntwo\nthree");
    work.done("bash", json!({ "command": "cat src/a.rs" }), "one\n2\nthree\n");
    assert_eq!(work.shown(), "\n\n[src/a.rs, lines 1-3]\none\n2\nthree");
}

#[test]
fn a_call_without_result_keeps_its_file_out() {
    let mut work = Work::default();
    work.read("/repo/a.rs", "one");
    work.read("b.rs", "two");
    work.call("open", EDIT, edit("a.rs", "one", "1"));
    assert_eq!(work.shown(), "\n\n[b.rs, lines 1-1]\ntwo");
    work.result("open", "String to replace not found in file.", true);
    assert!(work.shown().contains("one"));
}

#[test]
fn a_command_without_result_may_have_changed_what_it_names() {
    let mut work = Work::default();
    work.read("a.rs", "one");
    work.call("open", "Bash", json!({ "command": "sed -i s/one/1/ a.rs" }));
    assert_eq!(work.shown(), "");
}

#[test]
fn an_edit_that_was_interrupted_may_have_been_made() {
    let mut work = Work::default();
    work.read("a.rs", "one");
    work.call("open", EDIT, edit("a.rs", "one", "1"));
    work.result("open", "[Request interrupted by user]", true);
    assert_eq!(work.shown(), "");
}

#[test]
fn the_oldest_of_too_many_open_calls_goes_with_its_file() {
    let mut work = Work::default();
    work.read("a.rs", "one");
    work.call("first", EDIT, edit("a.rs", "one", "1"));
    for number in 0..OPEN_MAX {
        work.call(&format!("{number} open"), EDIT, edit("b.rs", "one", "1"));
    }
    assert_eq!(work.files.open.len(), OPEN_MAX);
    assert_eq!(work.files.paths().count(), 0);
}

#[test]
fn the_file_that_was_touched_longest_ago_goes() {
    let mut work = Work::default();
    for number in 0..=FILES_MAX {
        work.read(&format!("{number}.rs"), "one");
    }
    assert_eq!(work.files.paths().count(), FILES_MAX);
    assert!(!work.files.paths().any(|path| path == "0.rs"));
}
