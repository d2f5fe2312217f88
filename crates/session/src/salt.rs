//! The salt of an entry: random bytes in its record, so that neither the record's hash nor an id derived from the
//! record can confirm a guess of the text. A redaction removes the salt together with the text. This code creates no
//! random bytes: the caller that stores the entry provides them.

use std::fmt;
use std::str::FromStr;

/// A salt of 16 random bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Salt([u8; 16]);

impl Salt {
    /// Creates a salt from these bytes, which nobody else must be able to guess.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Derives the salt of the entry with this id from a random key. The same key and id give the same salt, so an
    /// entry that arrives twice has only one salt. Once the key is discarded, the salt is as good as random.
    pub fn derive(key: &[u8; 32], id: &str) -> Self {
        let hash = blake3::keyed_hash(key, id.as_bytes());
        let mut bytes = [0; 16];
        bytes.iter_mut().zip(hash.as_bytes()).for_each(|(to, from)| *to = *from);
        Self(bytes)
    }
}

/// A text that is not the hex digits of a salt or a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be {digits} hex digits in lower case")]
#[non_exhaustive]
pub struct InvalidHex {
    pub digits: usize,
}

impl InvalidHex {
    pub(crate) const fn for_bytes(bytes: usize) -> Self {
        Self { digits: 2 * bytes }
    }
}

/// Parses 32 hex digits in lower case.
impl FromStr for Salt {
    type Err = InvalidHex;

    fn from_str(hex: &str) -> Result<Self, InvalidHex> {
        let invalid = InvalidHex::for_bytes(16);
        let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if hex.len() != invalid.digits || !hex.bytes().all(is_digit) {
            return Err(invalid);
        }
        let number = u128::from_str_radix(hex, 16).map_err(|_| invalid)?;
        Ok(Self(number.to_be_bytes()))
    }
}

impl fmt::Display for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Salt({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_salt_is_read_as_it_is_written() {
        let salt = Salt::from_bytes([0, 1, 0x9a, 0xff, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
        assert_eq!(salt.to_string(), "00019aff0405060708090a0b0c0d0e0f");
        assert_eq!(salt.to_string().parse::<Salt>().ok(), Some(salt));
        let upper = salt.to_string().to_uppercase();
        for wrong in ["", "00", &upper, "00019aff0405060708090a0b0c0d0eé", &"0".repeat(33)] {
            assert_eq!(wrong.parse::<Salt>().ok(), None, "{wrong}");
        }
    }

    #[test]
    fn a_derived_salt_follows_from_key_and_id() {
        let key = [7; 32];
        assert_eq!(Salt::derive(&key, "a"), Salt::derive(&key, "a"));
        assert_ne!(Salt::derive(&key, "a"), Salt::derive(&key, "b"));
        assert_ne!(Salt::derive(&key, "a"), Salt::derive(&[8; 32], "a"));
    }
}
