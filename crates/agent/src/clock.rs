//! How long a turn may be silent, how long it may take, and how much it may say before it is ended, and the words for
//! that. Used by every kind of agent; whoever runs a turn asks [`must_end`] several times a second.

use std::time::{Duration, Instant};

use tertulia_dialect::stream::{ErrorClass, Limits, StreamEvent, TurnError, TurnOutput};

use crate::{CancelToken, Ended, Overuse, Resource, Timeout, Timeouts, TurnReport};

pub(crate) const POLL: Duration = Duration::from_millis(50);
/// All output may have this many times the answer's limit, since it also holds thinking and tools.
const FACTOR: u64 = 16;

#[derive(Debug)]
pub(crate) struct Clock {
    pub(crate) timeouts: Timeouts,
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

#[derive(Debug)]
pub(crate) struct Flood {
    limits: Limits,
    heard: u64,
    answer: usize,
}

impl Flood {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, heard: 0, answer: 0 }
    }

    pub(crate) fn note(&mut self, bytes: usize, events: &[StreamEvent]) {
        self.heard = self.heard.saturating_add(bytes as u64);
        for event in events {
            match event {
                StreamEvent::TextDelta { text } => self.answer += text.len(),
                StreamEvent::ToolStarted { .. } => self.answer = 0,
                _ => {}
            }
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        let heard_max = FACTOR.saturating_mul(self.limits.text_bytes_max as u64);
        self.answer > self.limits.text_bytes_max || self.heard > heard_max
    }
}

pub(crate) fn must_end(cancel: &CancelToken, flood: &Flood, clock: &Clock) -> Option<Ended> {
    if cancel.is_cancelled() {
        return Some(Ended::Cancelled);
    }
    if flood.is_over() {
        return Some(Ended::OverLimit);
    }
    clock.expired().map(Ended::TimedOut)
}

/// Why a turn failed that had to end. Silence is the service's; how long all may take was set for it.
pub(crate) fn failure(ended: Ended, timeouts: &Timeouts) -> TurnError {
    match ended {
        Ended::TimedOut(timeout @ (Timeout::FirstByte | Timeout::Silence)) => {
            TurnError::new(ErrorClass::Network, time_up(timeout, timeouts))
        }
        Ended::TimedOut(timeout) => TurnError::new(ErrorClass::Limit, time_up(timeout, timeouts)),
        Ended::OverLimit => TurnError::new(ErrorClass::Limit, OVER_LIMIT),
        Ended::OverResources(overuse) => over_resources(overuse),
        Ended::Cancelled | Ended::ByItself | Ended::NeedsPerson => {
            TurnError::new(ErrorClass::Cancelled, "it was cancelled")
        }
    }
}

/// The report of a turn that was cancelled before it said anything.
pub(crate) fn cancelled(timeouts: &Timeouts) -> TurnReport {
    not_started(failure(Ended::Cancelled, timeouts), Ended::Cancelled)
}

pub(crate) fn not_started(error: TurnError, ended: Ended) -> TurnReport {
    TurnReport::without_process(TurnOutput::failed(error), ended)
}

const OVER_LIMIT: &str = "it wrote more than is kept of an answer, and was ended";

fn over_resources(overuse: Overuse) -> TurnError {
    let Overuse { resource, used, limit } = overuse;
    let megabytes = |bytes: u64| bytes / (1024 * 1024);
    let message = match resource {
        Resource::Processes => {
            format!("it ran {used} processes at once, and `max_processes` allows {limit}")
        }
        Resource::Memory => format!(
            "it used {} MB of memory, and `max_memory_mb` allows {}",
            megabytes(used),
            megabytes(limit)
        ),
    };
    let advice = "raise it for this member, or under [limits] for the team, if it needs more";
    TurnError::new(ErrorClass::Limit, format!("{message}; {advice}"))
}

fn time_up(timeout: Timeout, timeouts: &Timeouts) -> String {
    let seconds = |time: Duration| time.as_secs_f64();
    match timeout {
        Timeout::FirstByte => {
            format!("it wrote nothing within {} s of its start", seconds(timeouts.first_byte))
        }
        Timeout::Silence => format!("it fell silent for {} s", seconds(timeouts.silence)),
        Timeout::Total => format!("it took longer than {} s", seconds(timeouts.total)),
        Timeout::AfterFinal => {
            format!("it answered and did not end within {} s", seconds(timeouts.after_final))
        }
    }
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
