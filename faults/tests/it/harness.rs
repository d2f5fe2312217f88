//! Runs a role of the harness and parses its line of figures.

use std::process::Command;

use tertulia_test_needs::{Need, skip};

/// The output of a role.
pub(crate) struct Figures {
    text: String,
}

/// Runs a role, which must keep all guarantees. Returns `None` if the machine lacks what the role
/// needs; then the test is skipped.
#[track_caller]
pub(crate) fn kept(line: &str) -> Option<Figures> {
    let (is_kept, figures) = run(line);
    let needs = [
        ("`postgresql` is missing", Need::PostgreSql),
        ("`strace` is missing", Need::Strace),
        ("`faketime` is missing", Need::Faketime),
        ("needs root", Need::Root),
    ];
    if let Some((_, need)) = needs.into_iter().find(|(words, _)| !is_kept && figures.says(words)) {
        skip(need);
        return None;
    }
    assert!(is_kept, "`tertulia-faults {line}` says:\n{}", figures.text);
    Some(figures)
}

/// Runs a role; returns whether it succeeded.
#[expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the harness is a program of its own, and without it there is nothing to test"
)]
pub(crate) fn run(line: &str) -> (bool, Figures) {
    let program = env!("CARGO_BIN_EXE_tertulia-faults");
    let output = Command::new(program).args(line.split_whitespace()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let text = format!("{said}{}", String::from_utf8_lossy(&output.stderr));
    (output.status.success(), Figures { text })
}

impl Figures {
    /// Returns the number before these words.
    #[track_caller]
    pub(crate) fn count(&self, words: &str) -> u64 {
        let figures = self.text.lines().flat_map(|line| line.split([',', ':']));
        let mut found = figures.filter_map(|figure| figure.trim().strip_suffix(words));
        let number = found.find_map(|number| number.trim().parse().ok());
        number.unwrap_or_else(|| panic!("no number of {words} in:\n{}", self.text))
    }

    pub(crate) fn says(&self, words: &str) -> bool {
        self.text.contains(words)
    }
}
