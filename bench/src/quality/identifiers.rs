//! Finds exact identifiers: paths, file names, names in code, error codes, long numbers. The rule intentionally
//! differs from that of the product.

/// The minimum length of an identifier.
const BYTES_MIN: usize = 3;

/// The maximum length of an identifier; longer words are data.
const BYTES_MAX: usize = 200;

/// Calls the function with each identifier of the text, in order and with repetitions. For a path, also with its
/// last name; for a dotted name, also with its parts.
pub(crate) fn each_identifier<'a>(text: &'a str, mut found: impl FnMut(&'a str)) {
    let runs = text.split(|letter: char| !is_inner(letter));
    for run in runs.filter(|run| run.len() >= BYTES_MIN) {
        let word = run.trim_matches(['.', '-', '/']);
        take(word, &mut found);
        if let Some((_, name)) = word.rsplit_once('/') {
            take(name, &mut found);
        } else if word.contains('.') {
            word.split('.').for_each(|part| take(part, &mut found));
        }
    }
}

fn is_inner(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-' | '/')
}

fn take<'a>(word: &'a str, found: &mut impl FnMut(&'a str)) {
    if is_identifier(word) {
        found(word);
    }
}

/// Returns whether a word looks like a name: it has a digit, a capital letter inside, or a character other than a
/// hyphen between the letters.
fn is_identifier(word: &str) -> bool {
    let bytes = word.as_bytes();
    let count = |is: fn(&u8) -> bool| bytes.iter().filter(|byte| is(byte)).count();
    let (digits, letters) = (count(u8::is_ascii_digit), count(u8::is_ascii_alphabetic));
    let capitals = count(u8::is_ascii_uppercase);
    let slashes = count(|byte| *byte == b'/');
    if !(BYTES_MIN..=BYTES_MAX).contains(&bytes.len()) {
        return false;
    }
    if letters == 0 {
        return digits >= 3;
    }
    let has_mark = word.contains('_') || word.contains('.') || digits > 0;
    let has_hump =
        bytes.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let is_code = capitals == letters && letters >= 5;
    bytes.len() >= 4 && (has_mark || has_hump || slashes >= 2 || is_code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let mut found = Vec::new();
        each_identifier(text, |identifier| found.push(identifier));
        assert_eq!(found, expected);
    }

    #[test]
    fn prose_has_none() {
        check("Please read/write the well-known file, i.e. all of it. And/or 12 more!", &[]);
    }

    #[test]
    fn paths_give_themselves_and_their_file() {
        check("see /src/cli/common.go:296.", &["src/cli/common.go", "common.go", "296"]);
        check("cd cmd/entire/cli/", &["cmd/entire/cli"]);
    }

    #[test]
    fn names_in_code_are_found_whole_and_in_parts() {
        check("`repo.GetAuthor(user_id)`", &["repo.GetAuthor", "GetAuthor", "user_id"]);
    }

    #[test]
    fn error_codes_hashes_and_long_numbers_are_found() {
        check(
            "E0432 ENOENT 3a782158 port 8080, v1.25.3",
            &["E0432", "ENOENT", "3a782158", "8080", "v1.25.3"],
        );
    }
}
