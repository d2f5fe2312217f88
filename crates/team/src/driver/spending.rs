//! Spending limits while agents work: the costs of the running turns so far, what all sessions of the store have spent
//! today, and stopping a turn that has reached a limit. The machine has the limits; the clock is read here.

use jiff::tz::TimeZone;
use tertulia_dialect::stream::{StreamEvent, TurnOutput};
use tertulia_session::{EntryKind, Setting, Timestamp, Usd};

use super::log::now;
use super::record::usage_of;
use super::{Done, Driver};
use crate::effect::{Event, Overspent};
use crate::guard::Dollars;
use crate::team::Team;

/// The usage and cost of a running turn so far.
#[derive(Default)]
pub(super) struct SoFar {
    figures: TurnOutput,
    /// Whether the agent has reported its result, so that stopping it would save nothing.
    is_answered: bool,
    /// The limit for which the turn was stopped.
    pub(super) overspent: Option<Overspent>,
}

impl SoFar {
    /// Remembers the figures of an event.
    pub(super) fn note(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::Started { model, .. } => self.figures.model.clone_from(model),
            StreamEvent::Usage(usage) => self.figures.usage = Some(*usage),
            StreamEvent::Cost(cost) => self.figures.cost = Some(*cost),
            StreamEvent::FinalText { .. } | StreamEvent::Failed(_) => self.is_answered = true,
            _ => {}
        }
    }

    /// Returns the cost so far, reported or computed.
    pub(super) fn cost(&self, team: &Team, member: &str) -> Dollars {
        let cost = usage_of(team, member, &self.figures).and_then(|usage| usage.cost_usd);
        cost.map_or_else(Dollars::default, |cost| Dollars::from_usd(cost.amount()))
    }

    pub(super) fn may_be_stopped(&self) -> bool {
        !self.is_answered && self.overspent.is_none()
    }
}

/// Returns whether an event changes the cost of a turn.
pub(super) fn is_figure(event: &StreamEvent) -> bool {
    matches!(event, StreamEvent::Usage(_) | StreamEvent::Cost(_))
}

impl Driver {
    /// Stops the running turns that have reached a spending limit. Their ends follow as input.
    pub(super) fn stop_overspent(&mut self) -> Done {
        if !self.machine.limits_costs() {
            return Ok(());
        }
        self.stage_day()?;
        let costs = self.runner.costs(&self.team);
        for (turn, reached) in self.machine.overspent(&costs) {
            self.runner.stop_overspent(&turn, reached);
        }
        Ok(())
    }

    /// Records what all sessions of the store have spent today, if the team limits that and the machine knows another
    /// amount. The entry is stored with the next step.
    pub(super) fn stage_day(&mut self) -> Done {
        if self.team.roster.limits().budget_usd_day.is_none() {
            return Ok(());
        }
        let (day, midnight, end) = day_of(&now(), &TimeZone::system());
        let mut stored = self.log.store.usage(Some(&midnight))?.entries;
        // After the clock went back, there are answers of a later day.
        stored.retain(|stored| stored.time.millis() < end.millis());
        let own = self.log.staged().iter().filter_map(|entry| match &entry.kind {
            EntryKind::Usage(usage) => Some(usage),
            _ => None,
        });
        let costs = stored.iter().map(|stored| &stored.usage).chain(own);
        let costs = costs.filter_map(|usage| usage.cost_usd.as_ref());
        let sum = |sum: Dollars, cost: &Usd| sum.plus(Dollars::from_usd(cost.amount()));
        let spent = costs.fold(Dollars::default(), sum);
        if self.machine.day() != Some((&*day, spent)) {
            self.log.stage_setting(Setting::DaySpent { day: day.clone(), spent: spent.to_usd() });
            self.machine.step(Event::DaySpent { day, spent });
        }
        Ok(())
    }
}

/// Returns the day of a moment in a time zone, its beginning, and that of the next day. A day of a time change has 23 or 25
/// hours, and begins later if midnight does not exist.
fn day_of(moment: &Timestamp, zone: &TimeZone) -> (Box<str>, Timestamp, Timestamp) {
    let instant = jiff::Timestamp::from_millisecond(moment.millis()).unwrap_or_default();
    let date = zone.to_datetime(instant).date();
    let midnight = |date: jiff::civil::Date| zone.to_zoned(date.at(0, 0, 0, 0)).ok();
    let begin = midnight(date).map_or(instant, |begin| begin.timestamp());
    let end =
        date.tomorrow().ok().and_then(midnight).map_or(jiff::Timestamp::MAX, |end| end.timestamp());
    let [begin, end] = [begin, end].map(|time| Timestamp::from_millis(time.as_millisecond()));
    (date.to_string().into(), begin, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(iso: &str, zone: &str) -> (String, String) {
        let (day, begin, _) = day_of(&iso.parse().unwrap(), &TimeZone::posix(zone).unwrap());
        (day.into(), begin.to_iso())
    }

    #[test]
    fn a_day_begins_at_midnight_of_the_machine() {
        for (moment, zone, name, midnight) in [
            ("2026-01-31T23:30:00Z", "UTC0", "2026-01-31", "2026-01-31T00:00:00.000Z"),
            ("2026-01-31T23:30:00Z", "<+02>-2", "2026-02-01", "2026-01-31T22:00:00.000Z"),
            ("2026-01-31T01:30:00Z", "<-05>5", "2026-01-30", "2026-01-30T05:00:00.000Z"),
        ] {
            assert_eq!(day(moment, zone), (name.to_owned(), midnight.to_owned()), "{zone}");
        }
    }

    #[test]
    fn a_day_ends_where_the_next_one_begins() {
        let zone = TimeZone::posix("<-03>3<-02>,M3.1.0/0,M11.1.0/0").unwrap();
        for moment in ["2026-02-28T12:00:00Z", "2026-10-31T12:00:00Z", "2026-12-31T12:00:00Z"] {
            let (_, _, end) = day_of(&moment.parse().unwrap(), &zone);
            assert_eq!(day_of(&end, &zone).1, end, "{moment}");
        }
    }

    #[test]
    fn a_day_of_a_time_change_is_whole() {
        // In this zone, the clock goes from 0:00 to 1:00 on the first Sunday of March, and back on that of November.
        let zone = "<-03>3<-02>,M3.1.0/0,M11.1.0/0";
        let spring = ("2026-03-01".to_owned(), "2026-03-01T03:00:00.000Z".to_owned());
        assert_eq!(day("2026-03-01T03:00:00Z", zone), spring);
        assert_eq!(day("2026-03-02T01:59:59Z", zone), spring);
        assert_eq!(day("2026-03-02T02:00:00Z", zone).0, "2026-03-02");
        // 23:00 to 24:00 happens twice on the day before.
        let autumn = ("2026-10-31".to_owned(), "2026-10-31T02:00:00.000Z".to_owned());
        assert_eq!(day("2026-11-01T02:30:00Z", zone), autumn);
        assert_eq!(day("2026-11-01T03:00:00Z", zone).0, "2026-11-01");
    }

    #[test]
    fn a_moment_beyond_the_calendar_has_a_day_too() {
        let (day, ..) = day_of(&Timestamp::from_millis(i64::MAX), &TimeZone::UTC);
        assert_eq!(&*day, "1970-01-01");
    }
}
