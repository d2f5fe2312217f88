//! The clock of this machine, and names that no other program makes.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the milliseconds since the start of 1970, UTC, by the clock of this machine. Time is data: nothing is ordered
/// by it but lists that people read.
pub fn now_millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Bits that no other call on any machine gets, as far as chance goes.
pub(crate) fn chance() -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_i64(now_millis());
    hasher.write_u32(std::process::id());
    hasher.finish()
}
