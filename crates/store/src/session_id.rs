//! The id of a session. People type it and use it in file names and on command lines. So it is short plain ASCII,
//! and never looks like a flag or a path.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The id of a session. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(Arc<str>);

/// A text that is not a valid session id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{got:?} cannot be the id of a session; use 1 to {max} letters (a-z, A-Z), digits, '-', '_', '.' \
     and ':', starting with a letter or digit",
    max = SessionId::BYTES_MAX
)]
pub struct InvalidSessionId {
    pub got: String,
}

impl SessionId {
    /// The maximum length in bytes.
    pub const BYTES_MAX: usize = 128;

    /// Generates an id for a new session: the current minute and random letters.
    pub(crate) fn generate(now_millis: i64, random: u64) -> Self {
        const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
        let letter = |at: u32| char::from(LETTERS[(random >> (5 * at)) as usize % 32]);
        let letters: String = (0..8).map(letter).collect();
        let minute = tertulia_session::Timestamp::from_millis(now_millis).to_iso();
        // The time has the form 2026-11-16T02:33:44.555Z.
        let (day, time) = minute.split_once('T').unwrap_or((&minute, "00:00"));
        let clock: String = time.chars().take(5).filter(|&one| one != ':').collect();
        Self(format!("{day}-{clock}-{letters}").into())
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SessionId {
    type Err = InvalidSessionId;

    fn from_str(text: &str) -> Result<Self, InvalidSessionId> {
        let plain =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
        let begins_well = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        if !begins_well || text.len() > Self::BYTES_MAX || !text.bytes().all(plain) {
            return Err(InvalidSessionId { got: text.chars().take(80).collect() });
        }
        Ok(Self(text.into()))
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_are_valid() {
        for text in ["a", "7", "login-page", "2026-11-16-0233-k3f9", "a:b_c.d", &"x".repeat(128)] {
            assert_eq!(text.parse::<SessionId>().unwrap().as_str(), text);
        }
    }

    #[test]
    fn flags_paths_and_look_alikes_are_refused() {
        let long = "x".repeat(129);
        let wrong = [
            "",
            "-f",
            "--yes",
            ".",
            "..",
            "../x",
            "a/b",
            "a\\b",
            "a b",
            "a\n",
            "a\0",
            "é",
            "аdmin",
            "a\u{202e}",
            "'; DROP TABLE session; --",
            "%",
            "*",
            &long,
        ];
        for text in wrong {
            let error = text.parse::<SessionId>().unwrap_err().to_string();
            assert!(error.contains("cannot be the id of a session"), "{text:?}");
        }
    }

    #[test]
    fn a_generated_id_contains_the_minute_and_is_valid() {
        let id = SessionId::generate(1_794_796_424_555, 0x0123_4567_89ab_cdef);
        assert!(id.as_str().starts_with("2026-11-16-0233-"), "{id}");
        assert_eq!(id.as_str().parse::<SessionId>(), Ok(id));
    }
}
