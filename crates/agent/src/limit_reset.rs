//! When the usage limit of a failed turn ends. [`crate::run`] calls it at the end of a turn, because agents report
//! durations and local times, which need the clock and the time zone of this machine.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::tz::TimeZone;
use tertulia_session::Timestamp;

use crate::TurnReport;

pub(crate) fn resolve(mut report: TurnReport) -> TurnReport {
    let limit = report.output.error.as_ref().and_then(|error| error.limit.as_ref());
    if let Some(resets) = limit.and_then(|limit| limit.resets.as_ref()) {
        // The agent runs on this machine, so its local time is ours.
        let named = |name: &str| TimeZone::get(name).ok();
        report.limit_resets_at = resets.resolve(&now(), &TimeZone::system(), named);
    }
    report
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
