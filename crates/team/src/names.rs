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

/// How many characters have to be added, taken away or changed.
fn edits(left: &[char], right: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (line, a) in left.iter().enumerate() {
        let mut diagonal = line;
        let mut before = line + 1;
        for (b, cell) in right.iter().zip(row.iter_mut().skip(1)) {
            let changed = diagonal + usize::from(a != b);
            diagonal = *cell;
            before = changed.min(diagonal + 1).min(before + 1);
            *cell = before;
        }
        if let Some(first) = row.first_mut() {
            *first = line + 1;
        }
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
        check("max", "mxa", 2);
        check("kitten", "sitting", 3);
        check("安", "案", 1);
    }
}
