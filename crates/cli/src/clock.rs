//! Times for people, in their own time zone. Programs get UTC or milliseconds instead.

use jiff::tz::TimeZone;
use tertulia_session::Timestamp;

/// The time zone for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zone {
    /// The system's zone: TZ, or else /etc/localtime.
    Local,
    Utc,
}

pub(crate) struct LocalTime(TimeZone);

impl LocalTime {
    pub(crate) fn new(zone: Zone) -> Self {
        Self(match zone {
            Zone::Local => TimeZone::system(),
            Zone::Utc => TimeZone::UTC,
        })
    }

    /// Returns the day (`2026-01-31`) and the time (`12:00:00`).
    pub(crate) fn day_and_time(&self, moment: &Timestamp) -> (String, String) {
        let Ok(instant) = jiff::Timestamp::from_millisecond(moment.millis()) else {
            // Outside the calendar's range.
            let iso = moment.to_iso();
            let (day, time) = iso.split_once('T').unwrap_or((&iso, ""));
            return (day.to_owned(), time.chars().take(8).collect());
        };
        let local = self.0.to_datetime(instant);
        let (date, time) = (local.date(), local.time());
        let (hour, minute, second) = (time.hour(), time.minute(), time.second());
        (date.to_string(), format!("{hour:02}:{minute:02}:{second:02}"))
    }

    /// Returns day and time to the minute: `2026-01-31 12:00`.
    pub(crate) fn minute(&self, moment: &Timestamp) -> String {
        let (day, time) = self.day_and_time(moment);
        format!("{day} {}", time.get(..5).unwrap_or_default())
    }

    /// Returns the beginning of a day, in milliseconds since 1970.
    pub(crate) fn midnight(&self, day: jiff::civil::Date) -> Option<i64> {
        let zoned = self.0.to_zoned(day.at(0, 0, 0, 0)).ok()?;
        Some(zoned.timestamp().as_millisecond())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_read_in_its_zone() {
        let moment = Timestamp::from_millis(1_769_900_400_000);
        let utc = LocalTime::new(Zone::Utc);
        assert_eq!(utc.minute(&moment), "2026-01-31 23:00");
        let east = LocalTime(TimeZone::fixed(jiff::tz::offset(2)));
        assert_eq!(east.day_and_time(&moment), ("2026-02-01".to_owned(), "01:00:00".to_owned()));
        assert_eq!(east.midnight(jiff::civil::date(2026, 2, 1)), Some(1_769_896_800_000));
        assert!(!utc.minute(&Timestamp::from_millis(i64::MAX)).is_empty());
    }
}
