//! Comparing names as markers write them: what does not count, and which known name is nearest to an
//! unknown one. Pure text, called by the table.

/// Longer names are nobody's slip of the pen.
const CHARS_MAX: usize = 64;

/// A name without what does not count: case, blanks, `-` and `_`.
pub(crate) fn fold(name: &str) -> String {
    let counts = |c: &char| !c.is_whitespace() && !matches!(c, '-' | '_' | '\u{feff}');
    name.chars().filter(counts).flat_map(char::to_lowercase).collect()
}

/// A search for the nearest of some names.
pub(crate) struct Nearest {
    wanted: Vec<char>,
    best: Option<(usize, Box<str>)>,
}

impl Nearest {
    /// The search for this folded name; `None` if it is too short or too long to be a slip.
    pub(crate) fn to(folded: &str) -> Option<Self> {
        let wanted: Vec<char> = folded.chars().take(CHARS_MAX + 1).collect();
        (1..=CHARS_MAX).contains(&wanted.len()).then_some(Self { wanted, best: None })
    }

    pub(crate) fn name(self) -> Option<Box<str>> {
        self.best.map(|(_, name)| name)
    }
}

/// Offers one more known name; the first of equally near ones stays.
pub(crate) fn nearest(search: &mut Nearest, folded: &str, name: &str) {
    let known: Vec<char> = folded.chars().take(CHARS_MAX + 1).collect();
    if known.len() > CHARS_MAX {
        return;
    }
    let distance = edits(&search.wanted, &known);
    let allowed = (search.wanted.len().max(known.len()) / 3).max(1);
    let closer = search.best.as_ref().is_none_or(|(best, _)| distance < *best);
    if distance <= allowed && closer {
        search.best = Some((distance, name.into()));
    }
}

/// How many characters have to be added, taken away or changed, or changed with their neighbour.
fn edits(left: &[char], right: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    let at = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX / 2);
    for (line, a) in left.iter().enumerate() {
        let mut next = vec![line + 1];
        for (column, b) in right.iter().enumerate() {
            let changed = at(&row, column) + usize::from(a != b);
            let longer = (at(&row, column + 1) + 1).min(at(&next, column) + 1);
            let is_swap = line > 0
                && column > 0
                && left.get(line - 1) == Some(b)
                && right.get(column - 1) == Some(a);
            let swapped = if is_swap { at(&before, column - 1) + 1 } else { usize::MAX };
            next.push(changed.min(longer).min(swapped));
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted_one_character_each() {
        let check = |left: &str, right: &str, expected| {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            assert_eq!(edits(&chars(left), &chars(right)), expected, "{left} {right}");
            assert_eq!(edits(&chars(right), &chars(left)), expected, "{right} {left}");
        };
        check("", "", 0);
        check("max", "max", 0);
        check("max", "", 3);
        check("max", "mxa", 1);
        check("max", "amx", 1);
        check("max", "xam", 2);
        check("claude", "cluade", 1);
        check("kitten", "sitting", 3);
        check("安", "案", 1);
    }
}
