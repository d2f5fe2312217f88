//! The clock of the process, for the commands that need the time of day.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since the start of 1970, UTC.
pub(crate) fn now_millis() -> i64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX)
}
