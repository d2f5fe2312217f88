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

/// Gives an enum without fields its words.
macro_rules! words {
    ($name:ident, $allowed:literal, { $($variant:ident = $word:literal),+ $(,)? }) => {
        impl $name {
            /// All of them, in order.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The word in JSON.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::UnknownWord;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                let found = Self::ALL.iter().copied().find(|one| one.as_str() == word);
                found.ok_or_else(|| $crate::UnknownWord::new($allowed, word))
            }
        }
    };
}

pub(crate) use words;
