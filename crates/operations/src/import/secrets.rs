//! Replaces secrets of known forms: keys and tokens of services, and private keys. It changes the bytes of a record,
//! so the secret is also missing in the text, the kept record and everything made from them.

/// The text that replaces a secret. It needs no escape in JSON.
const PLACEHOLDER: &[u8] = b"[secret removed]";

/// The form of a secret: its prefix, and the characters after it.
struct Shape {
    prefixes: &'static [&'static str],
    /// Minimum number of bytes after the prefix.
    length: usize,
    rest: Charset,
}

#[derive(Clone, Copy)]
enum Charset {
    /// Letters and digits.
    Plain,
    /// Letters, digits, `-` and `_`.
    Word,
    /// A word with at least two dots, as in a signed token.
    Token,
    /// Capital letters and digits.
    Capital,
}

const fn shape(prefixes: &'static [&'static str], length: usize, rest: Charset) -> Shape {
    Shape { prefixes, length, rest }
}

const SHAPES: [Shape; 13] = [
    shape(&["sk-ant-", "sk-proj-", "sk-svcacct-", "glpat-"], 20, Charset::Word),
    shape(&["sk-or-v1-", "sk_live_", "rk_live_"], 20, Charset::Plain),
    shape(&["sk-"], 32, Charset::Word),
    shape(&["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "npm_", "r8_"], 36, Charset::Plain),
    shape(&["github_pat_"], 30, Charset::Word),
    shape(&["AKIA", "ASIA"], 16, Charset::Capital),
    shape(&["AIza"], 35, Charset::Word),
    shape(
        &["ya29.", "GOCSPX-", "xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xapp-"],
        20,
        Charset::Word,
    ),
    shape(&["pypi-"], 50, Charset::Word),
    shape(&["hf_", "whsec_"], 30, Charset::Plain),
    shape(&["gsk_"], 40, Charset::Plain),
    shape(&["xai-"], 60, Charset::Plain),
    shape(&["SG.", "eyJ"], 40, Charset::Token),
];

const KEY_BEGIN: &[u8] = b"-----BEGIN ";
const KEY_KIND: &[u8] = b"PRIVATE KEY-----";
const KEY_END: &[u8] = b"-----END ";
/// Maximum distance of the kind from the beginning, as in `-----BEGIN OPENSSH PRIVATE KEY-----`.
const KIND_BYTES: usize = 48;

/// Returns the bytes without the secrets, and adds the number of secrets to `count`. `None` if there are none.
pub fn redact_secrets(bytes: &[u8], count: &mut u64) -> Option<Vec<u8>> {
    let mut clean: Option<Vec<u8>> = None;
    let (mut at, mut copied) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        let is_start = match byte {
            b'-' => bytes.get(at..).is_some_and(|rest| rest.starts_with(KEY_BEGIN)),
            // These are the first letters of all prefixes.
            b's' | b'g' | b'A' | b'y' | b'G' | b'x' | b'n' | b'p' | b'h' | b'r' | b'w' | b'S'
            | b'e' => is_free(bytes, at),
            _ => false,
        };
        let length = if is_start { secret_at(bytes, at) } else { None };
        let Some(length) = length else {
            at += 1;
            continue;
        };
        *count += 1;
        let clean = clean.get_or_insert_with(|| Vec::with_capacity(bytes.len()));
        clean.extend_from_slice(bytes.get(copied..at).unwrap_or_default());
        clean.extend_from_slice(PLACEHOLDER);
        at += length;
        copied = at;
    }
    let mut clean = clean?;
    clean.extend_from_slice(bytes.get(copied..).unwrap_or_default());
    Some(clean)
}

/// Returns whether no word extends over this position. The letter of an escape, as in `\nsk-…`, belongs to no word.
fn is_free(bytes: &[u8], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|index| bytes.get(index));
    match before(1) {
        Some(b'n' | b't' | b'r') if before(2) == Some(&b'\\') => true,
        Some(byte) => !is_word(*byte),
        None => true,
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// Returns the length of the secret that begins here.
fn secret_at(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    if rest.starts_with(KEY_BEGIN) {
        return private_key(rest);
    }
    SHAPES.iter().find_map(|shape| {
        let is_start = |prefix: &&&str| rest.starts_with(prefix.as_bytes());
        let prefix = shape.prefixes.iter().find(is_start)?;
        let behind = rest.get(prefix.len()..)?;
        let length = behind.iter().take_while(|byte| shape.rest.has(**byte)).count();
        let found = behind.get(..length)?;
        (length >= shape.length && shape.rest.fits(found)).then_some(prefix.len() + length)
    })
}

/// Returns the length of a private key: up to its last line, or up to the end of the string.
fn private_key(rest: &[u8]) -> Option<usize> {
    let kind = memchr::memmem::find(rest.get(..rest.len().min(KIND_BYTES))?, KEY_KIND)?;
    let body = kind + KEY_KIND.len();
    // An incomplete key extends to the end of its string.
    let string_end = memchr::memchr(b'"', rest).unwrap_or(rest.len());
    let within = rest.get(body..string_end.max(body))?;
    let Some(end) = memchr::memmem::find(within, KEY_END) else {
        return Some(string_end.max(body));
    };
    let last = body + end + KEY_END.len();
    let dashes = rest.get(last..).and_then(|line| memchr::memmem::find(line, b"-----"));
    Some(dashes.map_or(last, |dashes| last + dashes + 5).min(string_end.max(last)))
}

impl Charset {
    fn has(self, byte: u8) -> bool {
        match self {
            Self::Plain => byte.is_ascii_alphanumeric(),
            Self::Word => is_word(byte),
            Self::Token => is_word(byte) || byte == b'.',
            Self::Capital => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
        }
    }

    fn fits(self, found: &[u8]) -> bool {
        match self {
            Self::Token => found.iter().filter(|byte| **byte == b'.').count() >= 1,
            // A word such as `sk-some-long-kebab-case-name` is no secret.
            Self::Word => found.iter().any(u8::is_ascii_digit),
            Self::Plain | Self::Capital => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str, secrets: u64) {
        let mut count = 0;
        let clean = redact_secrets(text.as_bytes(), &mut count);
        let clean = clean.map_or(text.to_owned(), |clean| String::from_utf8(clean).unwrap());
        assert_eq!((&*clean, count), (expected, secrets));
    }

    #[test]
    fn keys_and_tokens_of_known_shapes_are_replaced() {
        let digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJ";
        for prefix in ["sk-ant-api03-", "ghp_", "github_pat_", "xoxb-12-", "hf_", "AIza", "sk-"] {
            let text = format!(r#"{{"a":"key: {prefix}{digits}","b":1}}"#);
            check(&text, r#"{"a":"key: [secret removed]","b":1}"#, 1);
        }
        check(r"\nAKIAABCDEFGHIJKLMNOP.", r"\n[secret removed].", 1);
        let token =
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P";
        check(token, "[secret removed]", 1);
    }

    #[test]
    fn private_keys_are_replaced_whole_even_if_they_are_cut_off() {
        let begin = "-----BEGIN OPENSSH PRIVATE KEY-----\\nb3BlbnNz\\n";
        let key = format!("\"x {begin}-----END OPENSSH PRIVATE KEY-----\\n y\"");
        check(&key, "\"x [secret removed]\\n y\"", 1);
        check(&format!("\"{begin}b3B\",\"more\""), "\"[secret removed]\",\"more\"", 1);
        check("-----BEGIN CERTIFICATE-----", "-----BEGIN CERTIFICATE-----", 0);
    }

    #[test]
    fn other_words_stay() {
        for text in [
            "sk-short",
            "risk-0123456789abcdefghijklmnopqrstuvwxyzABCDEF",
            "sk-a-long-name-of-words-with-hyphens-in-it",
            "task sk- ghp_ AKIA eyJ",
            "",
        ] {
            check(text, text, 0);
        }
    }
}
