//! Compares a trusted file with the lines that a person saw when trusting it. Lines that may contain a key or a
//! password are hidden, but their changes are shown. Pure.

use super::{check, tree};

/// With more pairs of lines than this, only the common beginning and end are found.
const PAIRS_MAX: usize = 1_000_000;

/// Separates the name of a hidden value from the digits of its hash.
const HIDDEN: &str = " (hidden, ";
const HASH_DIGITS: usize = 8;

/// The key of this machine for the hashes of hidden values. Without it nobody can test guesses of a value.
#[derive(Clone)]
pub struct HideKey(pub(super) [u8; 32]);

impl HideKey {
    fn digits(&self, bytes: &[u8]) -> String {
        let hash = blake3::keyed_hash(&self.0, bytes).to_hex();
        hash.get(..HASH_DIGITS).unwrap_or_default().to_owned()
    }
}

impl std::fmt::Debug for HideKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HideKey")
    }
}

/// A line that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    Removed(&'a str),
    Added(&'a str),
}

impl Change<'_> {
    /// Returns whether the value of the line is hidden. Recognises the form that `shown_lines` writes, but not in a
    /// comment.
    pub fn is_hidden(&self) -> bool {
        let (Self::Removed(line) | Self::Added(line)) = self;
        let parts = line.strip_suffix(')').and_then(|line| line.rsplit_once(HIDDEN));
        parts.is_some_and(|(name, hash)| {
            let is_hash =
                hash.len() == HASH_DIGITS && hash.bytes().all(|it| it.is_ascii_hexdigit());
            is_hash && !name.contains('#')
        })
    }
}

pub(super) fn shown_lines(text: &str, key: &HideKey) -> Vec<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let node = if check::is_json(text) { tree::json(text) } else { tree::toml(text) };
    let secrets = node.map(|node| tree::secrets(&node)).unwrap_or_default();
    without(text, &secrets, key)
}

/// Returns the lines of other settings for display. If a text looks like JSON but is not valid, nothing shows which
/// values are secret; then only the fact of a change is shown.
pub(super) fn setting_lines(text: &str, key: &HideKey) -> Vec<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_json = text.trim_start().starts_with(['{', '[']);
    match (tree::json(text), tree::toml(text)) {
        (Ok(node), _) | (Err(_), Ok(node)) => without(text, &tree::setting_secrets(&node), key),
        (Err(_), Err(_)) if is_json => vec![summary(text.as_bytes(), key)],
        (Err(_), Err(_)) => text.lines().map(str::to_owned).collect(),
    }
}

pub(super) fn variable_lines(text: &str, key: &HideKey) -> Vec<String> {
    text.lines().map(|line| hidden(line, line.contains('='), key)).collect()
}

pub(super) fn summary(content: &[u8], key: &HideKey) -> String {
    format!("{} bytes{HIDDEN}{})", content.len(), key.digits(content))
}

fn without(text: &str, secrets: &[std::ops::Range<usize>], key: &HideKey) -> Vec<String> {
    let mut start = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        let (from, to) = (start, start + line.len());
        start = to;
        let line = line.trim_end_matches(['\n', '\r']);
        let mut here = secrets.iter().filter(|secret| secret.start < to && secret.end > from);
        match here.next() {
            // If the value began on an earlier line, this line has no name.
            Some(first) => {
                hidden(line, first.start >= from && here.all(|one| one.start >= from), key)
            }
            None => line.to_owned(),
        }
    });
    lines.collect()
}

/// Returns the name of a field with a hash instead of its value.
fn hidden(line: &str, has_name: bool, key: &HideKey) -> String {
    let name = line.split_once(['=', ':']).map_or("", |(name, _)| name.trim_end());
    let is_name = |c: char| c.is_alphanumeric() || " ._-\"[]".contains(c);
    let name = if has_name && name.chars().all(is_name) { name } else { "" };
    format!("{name}{HIDDEN}{})", key.digits(line.as_bytes()))
}

/// Returns the lines that differ, in order.
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

/// Same as `changes` for a few lines, by their longest common subsequence.
fn between<'a>(before: &'a [String], after: &'a [String]) -> Vec<Change<'a>> {
    // Each cell contains the number of common lines from this pair of positions on.
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
            if let Some(cell) = common.get_mut(row * width + column) {
                *cell = count;
            }
        }
    }
    let (mut row, mut column, mut found) = (0, 0, Vec::new());
    loop {
        match (before.get(row), after.get(column)) {
            (None, None) => return found,
            (Some(left), Some(right)) if left == right => (row, column) = (row + 1, column + 1),
            (Some(_), Some(right))
                if at(&common, row + 1, column) < at(&common, row, column + 1) =>
            {
                found.push(Change::Added(right));
                column += 1;
            }
            (Some(left), _) => {
                found.push(Change::Removed(left));
                row += 1;
            }
            (None, Some(right)) => {
                found.push(Change::Added(right));
                column += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: HideKey = HideKey([7; 32]);

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
        let many = |word: &str| {
            let mut lines: Vec<_> = (0..5000).map(|n| format!("{word}{n}")).collect();
            lines[2500] = "same".to_owned();
            lines
        };
        // The common line in the middle is not found.
        assert_eq!(changes(&many("a"), &many("b")).len(), 10_000);
    }

    #[test]
    fn a_line_that_may_hold_a_key_is_hidden_and_its_change_still_shows() {
        let file = |key: &str| {
            format!(
                "[[member]]\nname = \"max\"\nenv = {{ KEY = \"{key}\" }}\nkey_variable = \"K\"\n"
            )
        };
        let (one, other) = (shown_lines(&file("sk-1"), &KEY), shown_lines(&file("sk-2"), &KEY));
        assert_eq!(one.first().map(String::as_str), Some("[[member]]"));
        assert!(one.iter().all(|line| !line.contains("sk-1")), "{one:?}");
        assert_eq!(changes(&one, &other).len(), 2);
        let long =
            "[[member]]\nname = \"max\"\n[member.env]\nKEY = \"\"\"\n4eC39Hq\nab==\n\"\"\"\n";
        let long = shown_lines(long, &KEY).concat();
        assert!(!long.contains("4eC39Hq") && !long.contains("ab"), "{long:?}");
        let json = shown_lines("{\"team\": {\"env\": [\n\"sk-4\"\n]}}", &KEY).concat();
        assert!(!json.contains("sk-4"), "{json:?}");
        let json = shown_lines("{\"team\": {\"env\": \"sk-3\"}}", &KEY);
        assert!(!json.concat().contains("sk-3"), "{json:?}");
    }

    #[test]
    fn the_digits_of_a_hidden_value_cannot_be_made_without_the_key_of_the_machine() {
        let line = "env = { PIN = \"1234\" }\n";
        let (one, other) = (shown_lines(line, &KEY), shown_lines(line, &HideKey([8; 32])));
        assert_ne!(one, other);
        assert_eq!(one, shown_lines(line, &KEY));
        let plain = blake3::hash(line.trim_end().as_bytes()).to_hex();
        assert!(!one.concat().contains(plain.get(..HASH_DIGITS).unwrap()));
    }

    #[test]
    fn of_variables_only_the_names_are_shown_and_of_settings_what_is_no_key() {
        let lines = variable_lines("API_KEY=sk-1\n# PIN 1234\nexport A=b\n", &KEY);
        let all = lines.join("\n");
        assert!(
            all.starts_with("API_KEY (hidden, ") && all.contains("export A (hidden, "),
            "{all}"
        );
        for secret in ["sk-1", "1234", "=b"] {
            assert!(!all.contains(secret), "{all}");
        }
        let json = "{\"hooks\": {\"run\": \"x.sh\"},\n\"headers\": {\"A\": \"t-1\"},\n\"apiKey\": \"k-2\"}";
        let all = setting_lines(json, &KEY).join("\n");
        assert!(all.contains("x.sh") && !all.contains("t-1") && !all.contains("k-2"), "{all}");
        let broken = setting_lines("{ // no JSON\n\"apiKey\": \"k-2\"}", &KEY).join("\n");
        assert!(!broken.contains("k-2") && broken.contains("(hidden, "), "{broken}");
    }
}
