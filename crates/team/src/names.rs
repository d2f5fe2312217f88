//! Compares names as people write them, and finds the known name nearest to an unknown one. Pure; used for every
//! "did you mean …?".

/// Longer names are not treated as misspelled.
const CHARS_MAX: usize = 64;

/// Normalises a name: removes case, whitespace, `-` and `_`.
pub(crate) fn fold(name: &str) -> String {
    let counts = |c: &char| !c.is_whitespace() && !matches!(c, '-' | '_' | '\u{feff}');
    name.chars().filter(counts).flat_map(char::to_lowercase).collect()
}

/// Returns the value of the known name nearest to a written one, or `None` if none is close enough. The first of
/// equally near names wins. Case, whitespace, `-` and `_` are ignored. A third of the characters may be wrong, but at
/// least one.
///
/// ```
/// let known = [("login", 1), ("logout", 2)];
/// assert_eq!(tertulia_team::nearest_name("Logni", known), Some(1));
/// assert_eq!(tertulia_team::nearest_name("help", known), None);
/// ```
pub fn nearest_name<N: AsRef<str>, T>(
    written: &str,
    known: impl IntoIterator<Item = (N, T)>,
) -> Option<T> {
    let written = comparable(written)?;
    let near = known.into_iter().filter_map(|(name, value)| {
        let name = comparable(name.as_ref())?;
        let edits = strsim::osa_distance(&written, &name);
        let chars = written.chars().count().max(name.chars().count());
        (edits <= (chars / 3).max(1)).then_some((edits, value))
    });
    near.min_by_key(|(edits, _)| *edits).map(|(_, value)| value)
}

fn comparable(name: &str) -> Option<String> {
    Some(fold(name)).filter(|name| (1..=CHARS_MAX).contains(&name.chars().count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_of_the_characters_may_be_wrong_or_one() {
        let check = |written: &str, known: &str, is_near| {
            let found = nearest_name(written, [(known, ())]).is_some();
            assert_eq!(found, is_near, "{written} {known}");
            assert_eq!(
                nearest_name(known, [(written, ())]).is_some(),
                is_near,
                "{known} {written}"
            );
        };
        check("max", "mxa", true);
        check("max", "amx", true);
        check("max", "xam", false);
        check("max", "", false);
        check("claude", "cluaed", true);
        check("kitten", "sitting", false);
        check("Kitten-1", "kit ten", true);
        check("安", "案", true);
        check(&"a".repeat(65), &"a".repeat(64), false);
    }

    #[test]
    fn the_nearest_is_offered_and_the_first_of_several() {
        let known = [("eva", 1), ("evan", 2), ("ev", 3)];
        assert_eq!(nearest_name("evam", known), Some(1));
        assert_eq!(nearest_name("evan", known), Some(2));
    }
}
