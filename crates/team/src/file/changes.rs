//! What a person has seen of a team file that they trusted, and what changed in it since. Lines that may
//! hold a key or a password are hidden; that one of them changed still shows. Pure.

use super::read::ContentHash;
use super::tree;

/// Above so many pairs of lines only the common beginning and end are found.
const PAIRS_MAX: usize = 1_000_000;

/// A line that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// It is gone.
    Removed(&'a str),
    /// It is new.
    Added(&'a str),
}

/// The lines of a team file as they may be shown.
pub(super) fn shown_lines(text: &str) -> Vec<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_json = text.trim_start().starts_with('{');
    let node = if is_json { tree::json(text).ok() } else { tree::toml(text).ok() };
    let secrets = node.map(|node| tree::secrets(&node)).unwrap_or_default();
    let mut start = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        let (from, to) = (start, start + line.len());
        start = to;
        let line = line.trim_end_matches(['\n', '\r']);
        match secrets.iter().any(|secret| secret.start < to && secret.end > from) {
            true => hidden(line),
            false => line.to_owned(),
        }
    });
    lines.collect()
}

/// The name of a field without its value; two values are told apart by the hash.
fn hidden(line: &str) -> String {
    let name = line.split(['=', ':']).next().unwrap_or_default().trim_end();
    let is_name = |c: char| c.is_alphanumeric() || " ._-\"[]".contains(c);
    let name = if name.chars().all(is_name) { name } else { "" };
    let hash = ContentHash::of(line.as_bytes()).to_string();
    format!("{name} (hidden, {})", hash.get(..8).unwrap_or(&hash))
}

/// The lines that differ, in order.
pub fn changes<'a>(before: &'a [String], after: &'a [String]) -> Vec<Change<'a>> {
    let same = |(left, right): &(&String, &String)| left == right;
    let head = before.iter().zip(after).take_while(same).count();
    let (before, after) =
        (before.get(head..).unwrap_or_default(), after.get(head..).unwrap_or_default());
    let tail = before.iter().rev().zip(after.iter().rev()).take_while(same).count();
    let before = before.get(..before.len() - tail).unwrap_or_default();
    let after = after.get(..after.len() - tail).unwrap_or_default();
    if before.len().saturating_mul(after.len()) > PAIRS_MAX {
        let removed = before.iter().map(|line| Change::Removed(line));
        return removed.chain(after.iter().map(|line| Change::Added(line))).collect();
    }
    between(before, after)
}

/// The same for a few lines, by their longest common sequence.
fn between<'a>(before: &'a [String], after: &'a [String]) -> Vec<Change<'a>> {
    // How many lines are common from each pair of places on.
    let width = after.len() + 1;
    let mut common = vec![0_usize; (before.len() + 1) * width];
    let at = |common: &[usize], row: usize, column: usize| {
        common.get(row * width + column).copied().unwrap_or_default()
    };
    for (row, left) in before.iter().enumerate().rev() {
        for (column, right) in after.iter().enumerate().rev() {
            let count = match left == right {
                true => at(&common, row + 1, column + 1) + 1,
                false => at(&common, row + 1, column).max(at(&common, row, column + 1)),
            };
            if let Some(place) = common.get_mut(row * width + column) {
                *place = count;
            }
        }
    }
    let (mut row, mut column, mut found) = (0, 0, Vec::new());
    loop {
        match (before.get(row), after.get(column)) {
            (None, None) => return found,
            (Some(left), Some(right)) if left == right => (row, column) = (row + 1, column + 1),
            (Some(left), right)
                if right.is_none()
                    || at(&common, row + 1, column) >= at(&common, row, column + 1) =>
            {
                found.push(Change::Removed(left));
                row += 1;
            }
            (_, Some(right)) => {
                found.push(Change::Added(right));
                column += 1;
            }
            (Some(left), None) => {
                found.push(Change::Removed(left));
                row += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[track_caller]
    fn check(before: &str, after: &str, expected: &str) {
        let (before, after) = (lines(before), lines(after));
        let shown = changes(&before, &after).into_iter().map(|change| match change {
            Change::Removed(line) => format!("-{line}"),
            Change::Added(line) => format!("+{line}"),
        });
        assert_eq!(shown.collect::<Vec<_>>().join(" "), expected);
    }

    #[test]
    fn only_what_differs_is_a_change() {
        check("a b c", "a b c", "");
        check("a b c", "a x c", "-b +x");
        check("a b c d", "b c e d", "-a +e");
        check("a", "a b c", "+b +c");
        check("a b c", "c", "-a -b");
    }

    #[test]
    fn many_lines_are_compared_without_much_memory() {
        let many = |word: &str| (0..5000).map(|n| format!("{word}{n}")).collect::<Vec<_>>();
        assert_eq!(changes(&many("a"), &many("b")).len(), 10_000);
    }

    #[test]
    fn a_line_that_may_hold_a_key_is_hidden_and_its_change_still_shows() {
        let file = |key: &str| {
            format!(
                "[[member]]\nname = \"max\"\nenv = {{ KEY = \"{key}\" }}\nkey_variable = \"K\"\n"
            )
        };
        let (one, other) = (shown_lines(&file("sk-1")), shown_lines(&file("sk-2")));
        assert_eq!(one.first().map(String::as_str), Some("[[member]]"));
        assert!(one.iter().all(|line| !line.contains("sk-1")), "{one:?}");
        assert_eq!(changes(&one, &other).len(), 2);
        let json = shown_lines("{\"team\": {\"env\": \"sk-3\"}}");
        assert!(!json.concat().contains("sk-3"), "{json:?}");
    }
}
