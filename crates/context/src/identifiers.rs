//! Finds the exact names in a text: paths, names from code, flags, codes, hashes, versions, numbers, and text in
//! backticks. Called by [`crate::compact`] and by searches in messages.
//!
//! It reads each byte once. Names are slices of the text, in order, with repeats. `shape.rs` decides whether a
//! single word is a name.

mod shape;

pub(crate) use shape::is_identifier;

/// The maximum length of a name. Anything longer is data and is skipped.
const LENGTH_MAX: usize = 200;

/// The maximum length of a quotation in backticks.
const QUOTED_MAX: usize = 64;

pub(crate) fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    Names { text, at: 0 }
}

struct Names<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Names<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let bytes = self.text.as_bytes();
        loop {
            let first = *bytes.get(self.at)?;
            if step(first) == 0 {
                let quoted = if first == b'`' { self.quoted() } else { None };
                self.at += 1;
                if let Some(inside) = quoted {
                    self.at += inside.len() + 1;
                    // The parentheses of a call are not part of the name, unless the name is a plain word.
                    let name = inside.strip_suffix("()").filter(|name| is_identifier(name));
                    return Some(name.unwrap_or(inside));
                }
                continue;
            }
            let start = self.at;
            self.at = end_of_run(bytes, start);
            if let Some(name) = self.name_in(start) {
                return Some(name);
            }
        }
    }
}

impl<'a> Names<'a> {
    /// Returns the text between this backtick and the next one, if it is one word.
    fn quoted(&self) -> Option<&'a str> {
        let rest = self.text.as_bytes().get(self.at + 1..)?;
        let end = rest.iter().take(QUOTED_MAX).position(|&byte| byte == b'`' || byte <= b' ')?;
        let name = self.text.get(self.at + 1..self.at + 1 + end)?;
        let bare = name.strip_suffix("()").unwrap_or(name);
        let is_word = bare.chars().all(|letter| letter.is_alphanumeric() || is_inner(letter))
            && bare.chars().filter(|letter| letter.is_alphabetic()).nth(1).is_some();
        (rest.get(end) == Some(&b'`') && is_word).then_some(name)
    }

    /// Returns the name in the run from `start` to the present position.
    fn name_in(&mut self, start: usize) -> Option<&'a str> {
        let bytes = self.text.as_bytes();
        let before = start.checked_sub(1).and_then(|at| bytes.get(at)).copied();
        let run = self.text.get(start..self.at)?;
        if let Some(scheme) = run.find("://").filter(|&at| at > 0) {
            self.at = end_of_address(bytes, self.at);
            let address =
                self.text.get(start..self.at)?.trim_end_matches(['.', ',', ':', '?', '!']);
            return (address.len() > scheme + 3 && address.len() <= LENGTH_MAX).then_some(address);
        }
        if run.len() > LENGTH_MAX || (before == Some(b'<') && run.starts_with('/')) {
            return None;
        }
        // In `"a\nb"` an escape precedes the name.
        let run = match before {
            Some(b'\\') => run.strip_prefix(['n', 't', 'r']).unwrap_or(run),
            Some(b')' | b']' | b'}') => run.trim_start_matches('/'),
            _ => run,
        };
        let called = bytes.get(self.at) == Some(&b'(');
        let chained = called || before.is_some_and(|byte| b")]}\"'".contains(&byte));
        let name = trim(run, chained);
        if is_identifier(name) {
            return Some(name);
        }
        // A plain word is a name if it is called: `open()`.
        let parens = self.text.get(self.at..self.at + 2) == Some("()");
        let plain = name.len() >= 2 && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if parens && plain && run.ends_with(name) {
            let name = self.text.get(self.at - name.len()..self.at + 2);
            self.at += 2;
            return name;
        }
        None
    }
}

/// Returns whether a word in back-ticks may contain this character.
fn is_inner(letter: char) -> bool {
    matches!(letter, '_' | '-' | '.' | '/' | ':' | '@' | '#' | '$' | '~' | '+')
}

/// Returns a run without surrounding punctuation that is not part of a name, such as the end of a sentence.
fn trim(run: &str, chained: bool) -> &str {
    let run = run.trim_end_matches(['.', ':', '-', '#', '@', '$', '~', '+', '\\']);
    let inner = run.trim_start_matches(['.', ':', '-', '#', '@', '$', '~', '+', '\\']);
    let lead = run.len() - inner.len();
    let kept = match run.get(..lead).unwrap_or_default() {
        // A call at the start of a line: `.map(…)`.
        "." if chained => 0,
        // Lists, arrows and frames also begin with dashes; a flag has exactly two.
        marks if marks.ends_with("--") && (marks.len() == 2 || !marks.ends_with("---")) => 2,
        marks if marks.ends_with("..") && inner.starts_with('/') => 2,
        marks if marks.ends_with(['#', '@', '$', '.']) => 1,
        marks if marks.ends_with('~') && inner.starts_with('/') => 1,
        _ => 0,
    };
    run.get(lead - kept..).unwrap_or(inner)
}

/// Returns the end of the run of name characters that begins here. Some characters join names only in some positions
/// (`:`, `->`, `,`), which depends on the neighbouring characters.
fn end_of_run(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(&byte) = bytes.get(at) {
        let next = bytes.get(at + 1).copied().unwrap_or(b' ');
        at += match byte {
            b':' if next == b':' => 2,
            b':' if next.is_ascii_digit() => 1,
            // One slash of either kind after a drive letter, two slashes after a scheme.
            b':' if next == b'\\' && at == start + 1 => 2,
            b':' if next == b'/' && (at == start + 1 || bytes.get(at + 2) == Some(&b'/')) => 2,
            b'\\' if bytes.get(start + 1) == Some(&b':') => 1,
            b'-' if next == b'>' && bytes.get(at + 2).is_some_and(u8::is_ascii_alphabetic) => 2,
            b',' if thousands(bytes, start, at) => 4,
            b':' | b'\\' | b',' => return at.max(start + 1),
            _ => match step(byte) {
                0 => return at,
                length => length,
            },
        };
    }
    bytes.len()
}

/// Returns whether the comma here separates the thousands of one number.
fn thousands(bytes: &[u8], start: usize, comma: usize) -> bool {
    let digits = |range: &[u8]| range.iter().all(u8::is_ascii_digit);
    let head = bytes.get(start..comma).unwrap_or_default();
    let head = head.get(head.len().saturating_sub(4)..).unwrap_or_default();
    let last = head.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let behind = bytes.get(comma + 1..comma + 4);
    (1..=3).contains(&last)
        && behind.is_some_and(digits)
        && !bytes.get(comma + 4).is_some_and(u8::is_ascii_alphanumeric)
}

/// Returns the end of an address: the next space, quote or bracket.
fn end_of_address(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start..).unwrap_or_default();
    let ends = |&byte: &u8| byte <= b' ' || byte >= 0x80 || b"\"'`<>()[]{}|\\^".contains(&byte);
    start + rest.iter().position(ends).unwrap_or(rest.len())
}

/// Returns how many bytes the name character that begins with this byte has; 0 if it is not a name character.
/// Letters of two bytes (Latin, Greek, Cyrillic, …) belong to names. Letters of three and four bytes do not: they
/// mostly belong to scripts without spaces, where they can touch a name.
fn step(byte: u8) -> usize {
    match byte {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => 1,
        b'_' | b'-' | b'.' | b'/' | b'#' | b'@' | b'$' | b'~' | b'+' | b':' | b'\\' => 1,
        0xC3..=0xDF => 2,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, names: &[&str]) {
        assert_eq!(identifiers(text).collect::<Vec<_>>(), names, "{text}");
    }

    #[test]
    fn paths_are_names() {
        check(
            "see src/a/b.rs, ./x and ../y; /etc/hosts (C:\\x\\y.txt) a.go:123: ~/notes cmd/run.",
            &[
                "src/a/b.rs",
                "./x",
                "../y",
                "/etc/hosts",
                "C:\\x\\y.txt",
                "a.go:123",
                "~/notes",
                "cmd/run",
            ],
        );
        check("Edit main.rs or .gitignore, Cargo.toml.", &["main.rs", ".gitignore", "Cargo.toml"]);
    }

    #[test]
    fn names_from_code_are_names() {
        check(
            "max_tokens getValue HttpClient HTTPServer MAX_LEN std::fmt::Debug fmt.Println a->next",
            &[
                "max_tokens",
                "getValue",
                "HttpClient",
                "HTTPServer",
                "MAX_LEN",
                "std::fmt::Debug",
                "fmt.Println",
                "a->next",
            ],
        );
        check("call open() and read_all(x)\n  .unwrap_or(1)", &["open()", "read_all", "unwrap_or"]);
    }

    #[test]
    fn codes_flags_and_numbers_are_names() {
        check("E0499 ENOENT HTTP 404 TS2345", &["E0499", "ENOENT", "404", "TS2345"]);
        check("git push --no-verify -v --", &["--no-verify"]);
        check(
            "3f2a9bc v1.2.3 0.9.1 0x1F #123 1,024",
            &["3f2a9bc", "v1.2.3", "0.9.1", "0x1F", "#123", "1,024"],
        );
        check("at https://a.b/c?d=1&e=2. Then", &["https://a.b/c?d=1&e=2"]);
    }

    #[test]
    fn a_word_in_backticks_is_a_name() {
        check(
            "the `retry` of `run all` and `注册`, ``` x ```, `a_b()`, `open()`, `);`",
            &["retry", "注册", "a_b", "open()"],
        );
    }

    #[test]
    fn an_escape_before_a_name_is_no_part_of_it() {
        check(r#""line_1\nline_2\tline_3""#, &["line_1", "line_2", "line_3"]);
        check("float64(a_b)/float64(c_d)", &["float64", "a_b", "float64", "c_d"]);
    }

    #[test]
    fn prose_has_no_names() {
        check(
            "We don't know, e.g. this and/or that... I/O is well-known: yes! The APIs (42).",
            &[],
        );
        check("<div class='x'>text</div> // note\n---- * a\n- b", &[]);
    }

    #[test]
    fn names_between_letters_without_spaces_are_found() {
        check("修改了src/a.rs文件，错误码E0499。", &["src/a.rs", "E0499"]);
    }

    #[test]
    fn a_megabyte_without_spaces_has_no_long_names() {
        for piece in ["a", "a_", "a/", "`", "`a", "::", "->a", "1,", "é_", "://"] {
            let text = piece.repeat(1_000_000 / piece.len());
            assert!(identifiers(&text).all(|name| name.len() <= LENGTH_MAX), "{piece}");
        }
    }

    proptest! {
        #[test]
        fn names_are_slices_of_the_text_in_order(text in "[ -~é中\n]{0,60}") {
            let mut from = 0;
            for name in identifiers(&text) {
                let at = text[from..].find(name).map(|at| at + from);
                prop_assert!(at.is_some(), "{name}");
                prop_assert!(!name.is_empty());
                from = at.unwrap_or_default() + name.len();
            }
        }
    }
}
