//! Enums whose variants are words, such as the role of a message.

/// The maximum number of characters of a wrong word that are shown.
const SHOWN: usize = 40;

/// The error of a word that is not allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be {allowed}; got {got:?}")]
#[non_exhaustive]
pub struct UnknownWord {
    pub allowed: &'static str,
    pub got: Box<str>,
}

impl UnknownWord {
    /// Creates the error for this word.
    pub fn new(allowed: &'static str, got: &str) -> Self {
        Self { allowed, got: got.chars().take(SHOWN).collect() }
    }
}

/// Defines an enum in which each variant has a word, with `ALL`, `as_str` and `FromStr`. The text after the name of
/// the enum lists the words for people.
#[macro_export]
macro_rules! word_enum {
    (
        $(#[$attribute:meta])*
        pub enum $name:ident: $allowed:literal {
            $($(#[$about:meta])* $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$about])* $variant,)+
        }

        impl $name {
            /// All variants, in order.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// Returns the word.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::UnknownWord;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                let found = Self::ALL.into_iter().find(|one| one.as_str() == word);
                found.ok_or_else(|| $crate::UnknownWord::new($allowed, word))
            }
        }
    };
}

/// Defines such an enum, whose words can be fields of records.
macro_rules! words {
    ($(#[$attribute:meta])* pub enum $name:ident: $($table:tt)+) => {
        $crate::word_enum! { $(#[$attribute])* pub enum $name: $($table)+ }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl $crate::record::field::Value for $name {
            fn read(raw: &$crate::json::RawValue) -> Result<Self, $crate::json::FieldError> {
                $crate::record::field::read_word(raw)
            }
        }
    };
}

pub(crate) use words;
