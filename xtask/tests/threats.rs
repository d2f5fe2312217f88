//! Compares docs/threats.md with the tree: every threat, fault and finding has one row, and every test that a
//! row names exists.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "it reads the documents and the sources of the workspace"
)]

use std::collections::BTreeSet;
use std::path::Path;

const STATES: [&str; 4] = ["held", "part", "open", "later"];

/// One row of the document.
struct Row {
    number: String,
    state: String,
    text: String,
    tests: Vec<String>,
}

fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string("../docs/threats.md").expect("docs/threats.md");
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let is_number = |cell: &str| {
        let digits = cell.strip_prefix(['T', 'R', 'H', 'M', 'L']);
        digits.is_some_and(|digits| digits.parse::<u32>().is_ok())
    };
    let lines = text.lines().filter(|line| line.starts_with("| "));
    let found = lines.map(cells).filter(|cells| cells.get(1).is_some_and(|cell| is_number(cell)));
    found
        .map(|cells| {
            let text = cells.get(4).cloned().unwrap_or_default();
            // Every second piece is between two backticks.
            let tests = text.split('`').skip(1).step_by(2).filter(|name| is_test_name(name));
            let tests = tests.map(str::to_owned).collect();
            Row { number: cells[1].clone(), state: cells[3].clone(), text, tests }
        })
        .collect()
}

/// Names of tests are sentences; other code in the document is shorter or has other characters.
fn is_test_name(name: &str) -> bool {
    let is_plain = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    is_plain && name.matches('_').count() >= 2
}

/// The names of all tests in a folder.
fn tests_of(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in folder.read_dir().expect("a folder of sources") {
        let path = entry.expect("an entry of a folder").path();
        if path.is_dir() && !path.ends_with("target") {
            tests_of(&path, names);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            tests_in(&std::fs::read_to_string(&path).expect("a source file"), names);
        }
    }
}

/// The functions with a test attribute, and the promises of stores, for which a macro creates tests.
fn tests_in(text: &str, names: &mut BTreeSet<String>) {
    let (mut is_test, mut is_promise) = (false, false);
    for line in text.lines().map(str::trim) {
        match line {
            "#[test]" => is_test = true,
            "super::contract_tests! {" => is_promise = true,
            "}" => is_promise = false,
            promise if is_promise => {
                names.insert(promise.to_owned());
            }
            other => {
                let function = other.strip_prefix("fn ").and_then(|rest| rest.split_once('('));
                let Some((name, _)) = function.filter(|_| is_test) else { continue };
                names.insert(name.to_owned());
                is_test = false;
            }
        }
    }
}

#[test]
fn every_threat_every_fault_and_every_finding_has_one_row() {
    let numbers: Vec<String> = rows().into_iter().map(|row| row.number).collect();
    let kinds = [("T", 55), ("R", 23), ("H", 4), ("M", 8), ("L", 16)];
    let numbered =
        |(kind, last): (&'static str, u32)| (1..=last).map(move |number| format!("{kind}{number}"));
    let expected: Vec<String> = kinds.into_iter().flat_map(numbered).collect();
    assert_eq!(numbers, expected);
}

#[test]
fn a_row_names_its_tests_or_what_is_missing() {
    for Row { number, state, text, tests } in rows() {
        assert!(STATES.contains(&state.as_str()), "{number}: {state}");
        assert!(!text.is_empty(), "{number} says nothing");
        assert!(state != "held" || !tests.is_empty(), "{number} is held by no test");
    }
}

#[test]
fn every_test_that_the_document_names_exists() {
    let mut known = BTreeSet::new();
    for folder in ["../crates", "../faults", "../xtask", "../fake-models"] {
        tests_of(Path::new(folder), &mut known);
    }
    for row in rows() {
        let unknown: Vec<_> = row.tests.iter().filter(|test| !known.contains(*test)).collect();
        assert!(unknown.is_empty(), "{}: {unknown:?}", row.number);
    }
}

#[test]
fn no_source_asks_for_a_parent_death_signal() {
    // The signal is sent when the thread that started a process ends, and would kill agents that still run.
    fn look(folder: &Path) {
        for entry in folder.read_dir().expect("a folder of sources") {
            let path = entry.expect("an entry of a folder").path();
            if path.is_dir() {
                look(&path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).expect("a source file");
                let asks = ["PDEATHSIG", "parent_process_death_signal"];
                assert!(asks.iter().all(|word| !text.contains(word)), "{}", path.display());
            }
        }
    }
    look(Path::new("../crates"));
}
