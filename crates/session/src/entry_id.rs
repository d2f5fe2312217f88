//! The id of an entry: any text, shared by all who name the entry. New entries get theirs from their
//! content, see [`crate::Entry::content_id`].

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// The id of an entry. Cheap to clone; compared as text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(Arc<str>);

impl EntryId {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id that stands for these bytes: `e-` and the first 128 bits of their BLAKE3 hash in hex.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
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

/// Lets a map with ids as keys be asked with a text.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_bytes_is_the_start_of_their_published_hash() {
        // The test vector of BLAKE3 for no input.
        assert_eq!(EntryId::of_bytes(b"").as_str(), "e-af1349b9f5f9a1a6a0404dea36dcc949");
    }

    #[test]
    fn a_clone_shares_its_text() {
        let id = EntryId::from("e-1");
        assert!(std::ptr::eq(id.as_str(), id.clone().as_str()));
    }
}
