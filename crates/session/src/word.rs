//! Words that name one of a closed set, such as the role of a message.

/// How much of a wrong word is shown.
const SHOWN: usize = 40;

/// A word that names none of a closed set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be {allowed}; got {got:?}")]
#[non_exhaustive]
pub struct UnknownWord {
    /// The words that name one.
    pub allowed: &'static str,
    /// The word, or its beginning.
    pub got: Box<str>,
}

impl UnknownWord {
    /// The error for this word.
    pub fn new(allowed: &'static str, got: &str) -> Self {
        Self { allowed, got: got.chars().take(SHOWN).collect() }
    }
}
