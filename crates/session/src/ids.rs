//! The ids of entries and messages. The id of a new entry is computed from its content, see
//! [`crate::Entry::content_id`].

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// The id of an entry. Cheap to clone; compared as text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(Arc<str>);

impl EntryId {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the id that is computed from these bytes: `e-` and the first 128 bits of their BLAKE3 hash in hex.
    pub(crate) fn from_content(bytes: &[u8]) -> Self {
        let hex = blake3::hash(bytes).to_hex();
        Self::from(format!("e-{}", &hex[..32]))
    }
}

impl From<&str> for EntryId {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for EntryId {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl Serialize for EntryId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// Allows lookups by text in a map with ids as keys.
impl Borrow<str> for EntryId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The id of a message in a conversation. The conversation numbers its messages; an imported snapshot may contain
/// any text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MessageId {
    /// `msg-N`, written without leading zeros. It needs no allocation.
    Numbered(u64),
    Named(Box<str>),
}

impl MessageId {
    /// Returns the number in this id: `N` of `msg-N`, leading zeros allowed.
    ///
    /// Returns `None` for any other text, for a number beyond 64 bits, and for the largest number, because no number
    /// could follow it.
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::Numbered(number) => Some(*number).filter(has_successor),
            Self::Named(text) => parse_number(text),
        }
    }
}

impl From<&str> for MessageId {
    fn from(text: &str) -> Self {
        match parse_number(text) {
            // A number with leading zeros is kept as text, because it would be written without them.
            Some(number) if text == "msg-0" || !text.starts_with("msg-0") => Self::Numbered(number),
            _ => Self::Named(text.into()),
        }
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Numbered(number) => write!(f, "msg-{number}"),
            Self::Named(text) => f.write_str(text),
        }
    }
}

/// Returns a UUID (version 8) that is computed from these texts. It is the same on every machine.
pub fn derived_uuid(texts: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for text in texts {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    let hex = hasher.finalize().to_hex();
    // The variant is one of 8, 9, a and b.
    let variant = match hex.as_bytes()[16] {
        b'0'..=b'3' => '8',
        b'4'..=b'7' => '9',
        b'8'..=b'b' => 'a',
        _ => 'b',
    };
    let (head, middle, third) = (&hex[..8], &hex[8..12], &hex[13..16]);
    format!("{head}-{middle}-8{third}-{variant}{}-{}", &hex[17..20], &hex[20..32])
}

fn parse_number(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("msg-")?;
    // `u64::from_str` alone would accept a plus sign.
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok().filter(has_successor)
}

fn has_successor(number: &u64) -> bool {
    *number < u64::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_bytes_is_the_start_of_their_published_hash() {
        // The test vector of BLAKE3 for no input.
        assert_eq!(EntryId::from_content(b"").as_str(), "e-af1349b9f5f9a1a6a0404dea36dcc949");
    }

    #[test]
    fn derived_uuids_have_their_form_and_depend_on_every_text() {
        let uuid = derived_uuid(&["a", "bc"]);
        assert_eq!(uuid, derived_uuid(&["a", "bc"]));
        assert_ne!(uuid, derived_uuid(&["ab", "c"]));
        let lengths: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(&uuid[14..15], "8");
        assert!("89ab".contains(&uuid[19..20]));
    }

    #[test]
    fn a_clone_shares_its_text() {
        let id = EntryId::from("e-1");
        assert!(std::ptr::eq(id.as_str(), id.clone().as_str()));
    }

    #[test]
    fn every_text_is_written_as_it_was_read() {
        for text in ["msg-7", "msg-0012", "msg-0", "m1", "", "msg-", "msg-99999999999999999999"] {
            assert_eq!(MessageId::from(text).to_string(), text);
        }
    }

    #[test]
    fn only_msg_and_ascii_digits_count() {
        let number = |text: &str| MessageId::from(text).number();
        assert_eq!(number("msg-7"), Some(7));
        assert_eq!(number("msg-0012"), Some(12));
        for foreign in ["msg--4", "msg-+5", "msg-6a", "msg-5\n", "msg-\u{663}", "custom", "MSG-1"] {
            assert_eq!(number(foreign), None, "{foreign:?}");
        }
    }

    #[test]
    fn numbers_that_leave_no_successor_are_foreign() {
        assert_eq!(MessageId::from("msg-18446744073709551614").number(), Some(u64::MAX - 1));
        assert_eq!(MessageId::from("msg-18446744073709551615").number(), None);
        assert_eq!(MessageId::from("msg-18446744073709551616").number(), None);
    }

    #[test]
    fn an_id_fits_in_two_words() {
        assert_eq!(size_of::<MessageId>(), 16);
    }
}
