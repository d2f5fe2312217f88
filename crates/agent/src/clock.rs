//! The clocks of a turn: how long it may be silent, and how long it may take. Used by every kind that waits;
//! whoever runs a turn asks [`Clock::expired`] several times a second.

use std::time::{Duration, Instant};

use tertulia_dialect::stream::{ErrorClass, TurnError};

use crate::process::verdict::time_up;
use crate::{Timeout, Timeouts};

/// How often a turn is looked at while nothing comes.
pub(crate) const POLL: Duration = Duration::from_millis(50);

/// The clocks of one turn, running.
#[derive(Debug)]
pub(crate) struct Clock {
    timeouts: Timeouts,
    started: Instant,
    heard: Option<Instant>,
    answered: Option<Instant>,
    /// How long they stood still, all in all, and since the last byte.
    stood: Duration,
    stood_since_heard: Duration,
}

impl Clock {
    pub(crate) fn start(timeouts: Timeouts) -> Self {
        Self {
            timeouts,
            started: Instant::now(),
            heard: None,
            answered: None,
            stood: Duration::ZERO,
            stood_since_heard: Duration::ZERO,
        }
    }

    /// Bytes came.
    pub(crate) fn hear(&mut self) {
        self.heard = Some(Instant::now());
        self.stood_since_heard = Duration::ZERO;
    }

    /// The final event came. Said again, it changes nothing.
    pub(crate) fn answer(&mut self) {
        self.answered.get_or_insert_with(Instant::now);
    }

    /// Does something while the clocks stand still: a person is asked.
    pub(crate) fn stand_still<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let before = Instant::now();
        let done = work();
        self.stood += before.elapsed();
        self.stood_since_heard += before.elapsed();
        done
    }

    /// Which time is up, if one is.
    pub(crate) fn expired(&self) -> Option<Timeout> {
        let ran = |since: Instant, stood: Duration| since.elapsed().saturating_sub(stood);
        let Timeouts { first_byte, silence, total, after_final, .. } = self.timeouts;
        if self.answered.is_none() && ran(self.started, self.stood) >= total {
            return Some(Timeout::Total);
        }
        let (since, limit, which) = match (self.answered, self.heard) {
            (Some(answered), _) => (answered, after_final, Timeout::AfterFinal),
            (None, Some(heard)) => (heard, silence, Timeout::Silence),
            (None, None) => (self.started, first_byte, Timeout::FirstByte),
        };
        (ran(since, self.stood_since_heard) >= limit).then_some(which)
    }
}

/// Why a turn failed whose time was up. Silence is the service's; how long all may take was set for it.
pub(crate) fn failure(timeout: Timeout, timeouts: &Timeouts) -> TurnError {
    let class = match timeout {
        Timeout::FirstByte | Timeout::Silence => ErrorClass::Network,
        Timeout::Total | Timeout::AfterFinal => ErrorClass::Limit,
    };
    TurnError { class, message: time_up(timeout, timeouts).into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(first_byte: u64, silence: u64, total: u64) -> Clock {
        let [first_byte, silence, total] = [first_byte, silence, total].map(Duration::from_millis);
        Clock::start(Timeouts { first_byte, silence, total, ..Timeouts::default() })
    }

    #[test]
    fn each_time_is_told_apart() {
        assert_eq!(clock(60_000, 60_000, 60_000).expired(), None);
        assert_eq!(clock(0, 60_000, 60_000).expired(), Some(Timeout::FirstByte));
        assert_eq!(clock(60_000, 60_000, 0).expired(), Some(Timeout::Total));
        let mut heard = clock(0, 0, 60_000);
        heard.hear();
        assert_eq!(heard.expired(), Some(Timeout::Silence));
        heard.answer();
        assert_eq!(heard.expired(), None);
    }

    #[test]
    fn the_clocks_stand_still_while_a_person_is_asked() {
        let mut clock = clock(1, 60_000, 1);
        let time = Duration::from_millis(20);
        clock.stand_still(|| std::thread::sleep(time));
        assert!(clock.stood >= time && clock.stood_since_heard >= time);
        // However long this machine takes for it, the person took longer.
        clock.stood += Duration::from_secs(3600);
        clock.stood_since_heard += Duration::from_secs(3600);
        assert_eq!(clock.expired(), None);
    }
}
