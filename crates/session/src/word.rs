//! Words that name one of a closed set, such as the role of a message.

/// How much of a wrong word is shown.
const SHOWN: usize = 40;

/// A word that names none of a closed set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be {allowed}; got {got:?}")]
#[non_exhaustive]
pub struct UnknownWord {
    pub allowed: &'static str,
    pub got: Box<str>,
}

impl UnknownWord {
    /// The error for this word.
    pub fn new(allowed: &'static str, got: &str) -> Self {
        Self { allowed, got: got.chars().take(SHOWN).collect() }
    }
}

/// Makes an enum whose variants have a word each: `ALL`, `as_str` and `FromStr`. The text behind its name lists the
/// words for people.
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
            /// All of them, in order.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The word for programs.
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

/// Makes such enums whose words are fields of records.
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
