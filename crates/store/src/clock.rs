//! The clock of this machine, and random numbers for names.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the milliseconds since the start of 1970, UTC, by the clock of this machine. Used only as data and to
/// sort lists for people, never to order entries.
pub fn now_millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Returns random bits, unique for all practical purposes.
pub(crate) fn random_u64() -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_i64(now_millis());
    hasher.write_u32(std::process::id());
    hasher.finish()
}
