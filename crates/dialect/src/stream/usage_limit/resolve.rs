//! Determines the point in time of a reset, for a given clock. The caller passes the clock, because this crate is
//! pure.

use std::time::Duration;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use tertulia_session::Timestamp;

use super::{Day, ResetTime, WallTime};

/// Maximum time until a reset. No limit lasts longer, so a later reset is an error of the agent or of a clock.
const AHEAD_MAX: Duration = Duration::from_secs(40 * 24 * 3600);

impl ResetTime {
    /// Returns the time of the reset. `now` is the time of the report, `local` the zone of the
    /// program that wrote it, and `named` finds a zone by its name.
    ///
    /// Returns `None` if the reset is in the past or more than 40 days ahead, or if its zone is
    /// unknown. A time of day without a day that has passed is on the next day.
    pub fn resolve(
        &self,
        now: &Timestamp,
        local: &TimeZone,
        named: impl Fn(&str) -> Option<TimeZone>,
    ) -> Option<Timestamp> {
        let millis = match self {
            Self::At(at) => at.millis(),
            Self::After(wait) => now.millis().checked_add(i64::try_from(wait.as_millis()).ok()?)?,
            Self::Wall(wall) => {
                let zone = match wall.zone.as_deref() {
                    None => local.clone(),
                    Some("UTC" | "GMT" | "Z") => TimeZone::UTC,
                    Some(name) => named(name)?,
                };
                let now = jiff::Timestamp::from_millisecond(now.millis()).ok()?;
                wall.next(zone.to_datetime(now), now, &zone)?.as_millisecond()
            }
        };
        let ahead = u64::try_from(millis.checked_sub(now.millis())?).ok()?;
        (Duration::from_millis(ahead) <= AHEAD_MAX).then(|| Timestamp::from_millis(millis))
    }
}

impl WallTime {
    /// Returns the next point in time that matches.
    fn next(
        &self,
        local: DateTime,
        now: jiff::Timestamp,
        zone: &TimeZone,
    ) -> Option<jiff::Timestamp> {
        let today = local.date();
        let at = |date: Date| zone.to_timestamp(date.to_datetime(self.time)).ok();
        let first_of = |dates: [Option<Date>; 2]| {
            dates.into_iter().flatten().filter_map(at).find(|moment| *moment >= now)
        };
        match self.day {
            Day::Next => first_of([Some(today), today.tomorrow().ok()]),
            Day::Tomorrow => at(today.tomorrow().ok()?),
            Day::Weekday(weekday) => {
                let days = today.weekday().until(weekday);
                let date = today.checked_add(jiff::Span::new().days(days)).ok()?;
                first_of([Some(date), date.checked_add(jiff::Span::new().days(7)).ok()])
            }
            Day::MonthDay { month, day } => {
                let of = |year| Date::new(year, month, day).ok();
                first_of([of(today.year()), of(today.year() + 1)])
            }
            Day::Date(date) => at(date),
        }
    }
}
