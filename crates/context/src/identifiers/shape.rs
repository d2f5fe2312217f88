//! Decides by its characters whether a word is an exact name. Each byte is read only once, because this is done for
//! every run of name characters.

/// Words with a slash that are not names.
#[rustfmt::skip]
const NO_PATHS: [&str; 10] = [
    "and/or", "either/or", "he/she", "his/her", "true/false", "yes/no", "read/write",
    "input/output", "on/off", "client/server",
];

/// Codes that look like words in capital letters.
#[rustfmt::skip]
const CODES: [&str; 30] = [
    "E2BIG", "EACCES", "EADDRINUSE", "EAGAIN", "EBADF", "EBUSY", "ECONNREFUSED", "ECONNRESET",
    "EEXIST", "EINVAL", "EIO", "EISDIR", "EMFILE", "ENOENT", "ENOMEM", "ENOSPC", "ENOTDIR",
    "ENOTEMPTY", "ENOTFOUND", "EPERM", "EPIPE", "ETIMEDOUT", "EXDEV", "SIGABRT", "SIGHUP",
    "SIGINT", "SIGKILL", "SIGPIPE", "SIGSEGV", "SIGTERM",
];

#[derive(Default)]
struct Shape {
    letters: usize,
    digits: usize,
    /// The number of hexadecimal digits.
    hex: usize,
    dots: usize,
    dashes: usize,
    slashes: usize,
    underscores: usize,
    /// Whether a capital follows a small letter directly.
    inner_capital: bool,
    /// The number of capitals at the start.
    capitals: usize,
    /// Whether it contains `::` or `->`.
    joints: bool,
    ats: bool,
    others: bool,
}

impl Shape {
    fn new(word: &str) -> Self {
        let mut shape = Self::default();
        let mut last = b' ';
        for (at, byte) in word.bytes().enumerate() {
            match byte {
                b'0'..=b'9' => shape.digits += 1,
                b'a'..=b'z' => shape.letters += 1,
                b'A'..=b'Z' => {
                    shape.letters += 1;
                    shape.inner_capital |= last.is_ascii_lowercase();
                    shape.capitals += usize::from(shape.capitals == at);
                }
                b'.' => shape.dots += 1,
                b'-' => shape.dashes += 1,
                b'/' | b'\\' => shape.slashes += 1,
                b'_' => shape.underscores += 1,
                b'@' => shape.ats = true,
                b':' if last == b':' => shape.joints = true,
                b'>' if last == b'-' => shape.joints = true,
                b':' | b',' => {}
                _ => shape.others = true,
            }
            shape.hex += usize::from(byte.is_ascii_hexdigit());
            last = byte;
        }
        shape
    }
}

/// Returns whether this word is an exact name: a path, a name from code, a flag, a code, a hash, a version, a
/// number of three digits or more.
pub(crate) fn is_identifier(word: &str) -> bool {
    if word.len() < 2 || word.len() > super::LENGTH_MAX {
        return false;
    }
    if let Some(flag) = word.strip_prefix("--") {
        return flag.len() >= 2 && flag.starts_with(|first: char| first.is_ascii_alphabetic());
    }
    if let Some(number) = word.strip_prefix('#') {
        return number.bytes().all(|byte| byte.is_ascii_digit());
    }
    if let Some(name) = word.strip_prefix(['$', '@']) {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-/.".contains(&byte);
        return name.len() >= 2
            && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.bytes().all(plain);
    }
    let shape = Shape::new(word);
    let signs = shape.letters + shape.digits;
    if signs == 0 {
        return false;
    }
    if shape.slashes > 0 {
        return is_path(word, &shape);
    }
    shape.joints
        || (shape.underscores > 0 && signs >= 2)
        || (shape.ats && signs >= 4)
        || (!shape.others && is_plain_name(word, &shape))
        || word.contains("://")
}

fn is_path(word: &str, shape: &Shape) -> bool {
    if word.starts_with(['/', '.', '~']) || shape.slashes > 1 {
        return shape.letters > 0 && !word.starts_with("//");
    }
    match word.split_once(['/', '\\']) {
        Some((left, right)) => {
            shape.letters >= 4
                && left.len() >= 2
                && right.len() != 1
                && !NO_PATHS.iter().any(|known| known.eq_ignore_ascii_case(word))
        }
        None => false,
    }
}

/// Returns whether a word of letters, digits, dots and dashes is a name.
fn is_plain_name(word: &str, shape: &Shape) -> bool {
    let Shape { letters, digits, .. } = *shape;
    if letters == 0 {
        return digits >= 3 || (shape.dots >= 2 && !word.contains(".."));
    }
    if shape.inner_capital || is_acronym_name(word, shape.capitals) {
        return true;
    }
    if shape.dots > 0 && is_dotted(word) {
        return true;
    }
    if digits > 0 {
        let hash = shape.hex == word.len() - shape.dashes && word.len() >= 7;
        let letter_first = word.starts_with(|first: char| first.is_ascii_alphabetic());
        return hash || word.starts_with("0x") || (letter_first && word.len() >= 3) || digits >= 5;
    }
    CODES.binary_search(&word).is_ok()
}

/// Returns whether a word with several capitals is a name: `HTTPServer`, but not `APIs`.
fn is_acronym_name(word: &str, capitals: usize) -> bool {
    let rest = word.get(capitals..).unwrap_or_default();
    capitals >= 2 && rest.len() > 1 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Returns whether a word with dots is a name: `main.rs`, `fmt.Println`, `.gitignore`, but not `e.g` or
/// `wait..what`.
fn is_dotted(word: &str) -> bool {
    let named = word.strip_prefix('.').unwrap_or(word);
    let mut longest = 0;
    for segment in named.split('.') {
        if segment.is_empty() {
            return false;
        }
        longest = longest.max(segment.len());
    }
    longest >= if named.len() == word.len() { 2 } else { 3 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_are_in_order_for_the_search() {
        assert!(CODES.is_sorted());
    }

    #[test]
    fn names_and_plain_words_are_distinguished() {
        for name in
            ["a_b", "__init__", "o200k", "x86-64", "UTF-8", "SIGKILL", "2026-11-15", "ann@b.org"]
        {
            assert!(is_identifier(name), "{name}");
        }
        for word in [
            "word", "Word", "WORD", "APIs", "e2", "3rd", "42", "_", "and/or", "I/O", "naïve", "a.b",
        ] {
            assert!(!is_identifier(word), "{word}");
        }
    }

    #[test]
    fn a_name_of_more_than_two_hundred_bytes_is_none() {
        assert!(is_identifier(&"a_".repeat(100)));
        assert!(!is_identifier(&"a_".repeat(101)));
    }
}
