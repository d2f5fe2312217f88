//! Timeouts and output limits of a turn, and their error texts. Used by every kind of agent; the
//! code that runs a turn calls [`reason_to_end`] several times a second.

use std::time::{Duration, Instant};

use tertulia_dialect::stream::{ErrorClass, Limits, StreamEvent, TurnError, TurnOutput};

use crate::{CancelToken, Ended, Overuse, Resource, Timeout, Timeouts, TurnReport};

pub(crate) const POLL: Duration = Duration::from_millis(50);
/// The output of a turn may be this many times as long as an answer may be, because it also contains thinking and
/// tool calls.
const FACTOR: u64 = 16;

#[derive(Debug)]
pub(crate) struct Clock {
    pub(crate) timeouts: Timeouts,
    started: Instant,
    last_output: Option<Instant>,
    answered: Option<Instant>,
    /// Time for which the clocks were paused: in total, and since the last byte.
    paused: Duration,
    paused_since_output: Duration,
}

impl Clock {
    pub(crate) fn start(timeouts: Timeouts) -> Self {
        Self {
            timeouts,
            started: Instant::now(),
            last_output: None,
            answered: None,
            paused: Duration::ZERO,
            paused_since_output: Duration::ZERO,
        }
    }

    pub(crate) fn note_output(&mut self) {
        self.last_output = Some(Instant::now());
        self.paused_since_output = Duration::ZERO;
    }

    /// Records the final event. Further calls change nothing.
    pub(crate) fn note_final(&mut self) {
        self.answered.get_or_insert_with(Instant::now);
    }

    /// Pauses the clocks during a call, while a person is asked.
    pub(crate) fn pause_during<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let before = Instant::now();
        let done = work();
        self.paused += before.elapsed();
        self.paused_since_output += before.elapsed();
        done
    }

    pub(crate) fn expired(&self) -> Option<Timeout> {
        let ran = |since: Instant, paused: Duration| since.elapsed().saturating_sub(paused);
        let Timeouts { first_byte, silence, total, after_final, .. } = self.timeouts;
        if self.answered.is_none() && ran(self.started, self.paused) >= total {
            return Some(Timeout::Total);
        }
        let (since, limit, which) = match (self.answered, self.last_output) {
            (Some(answered), _) => (answered, after_final, Timeout::AfterFinal),
            (None, Some(running)) => (running, silence, Timeout::Silence),
            (None, None) => (self.started, first_byte, Timeout::FirstByte),
        };
        (ran(since, self.paused_since_output) >= limit).then_some(which)
    }
}

#[derive(Debug)]
pub(crate) struct OutputLimit {
    limits: Limits,
    output_bytes: u64,
    answer: usize,
}

impl OutputLimit {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, output_bytes: 0, answer: 0 }
    }

    pub(crate) fn note(&mut self, bytes: usize, events: &[StreamEvent]) {
        self.output_bytes = self.output_bytes.saturating_add(bytes as u64);
        for event in events {
            match event {
                StreamEvent::TextDelta { text } => self.answer += text.len(),
                StreamEvent::ToolStarted { .. } => self.answer = 0,
                _ => {}
            }
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        let output_bytes_max = FACTOR.saturating_mul(self.limits.text_bytes_max as u64);
        self.answer > self.limits.text_bytes_max || self.output_bytes > output_bytes_max
    }
}

pub(crate) fn reason_to_end(
    cancel: &CancelToken,
    output_limit: &OutputLimit,
    clock: &Clock,
) -> Option<Ended> {
    if cancel.is_cancelled() {
        return Some(Ended::Cancelled);
    }
    if output_limit.is_over() {
        return Some(Ended::OverLimit);
    }
    clock.expired().map(Ended::TimedOut)
}

/// Returns the error of a turn that had to end. Silence counts as a failure of the service. The total time counts as
/// a limit that somebody set.
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

/// Returns the report of a turn that was cancelled before it produced anything.
pub(crate) fn cancelled(timeouts: &Timeouts) -> TurnReport {
    not_started(failure(Ended::Cancelled, timeouts), Ended::Cancelled)
}

pub(crate) fn not_started(error: TurnError, ended: Ended) -> TurnReport {
    TurnReport::without_process(TurnOutput::failed(error), ended)
}

const OVER_LIMIT: &str = "its answer was longer than the limit, so it was stopped";

fn over_resources(overuse: Overuse) -> TurnError {
    let Overuse { resource, used, limit } = overuse;
    let megabytes = |bytes: u64| bytes / (1024 * 1024);
    let message = match resource {
        Resource::Processes => {
            format!("it ran {used} processes at once, but `max_processes` allows only {limit}")
        }
        Resource::Memory => format!(
            "it used {} MB of memory, but `max_memory_mb` allows only {}",
            megabytes(used),
            megabytes(limit)
        ),
    };
    let advice =
        "if it needs more, raise the limit for this member, or under [limits] for the team";
    TurnError::new(ErrorClass::Limit, format!("{message}; {advice}"))
}

fn time_up(timeout: Timeout, timeouts: &Timeouts) -> String {
    let seconds = |time: Duration| time.as_secs_f64();
    match timeout {
        Timeout::FirstByte => {
            format!("it wrote nothing within {} s of its start", seconds(timeouts.first_byte))
        }
        Timeout::Silence => format!("it wrote nothing for {} s", seconds(timeouts.silence)),
        Timeout::Total => format!("it took longer than {} s", seconds(timeouts.total)),
        Timeout::AfterFinal => {
            format!("it answered but did not exit within {} s", seconds(timeouts.after_final))
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
    fn each_time_is_distinguished() {
        assert_eq!(clock(60_000, 60_000, 60_000).expired(), None);
        assert_eq!(clock(0, 60_000, 60_000).expired(), Some(Timeout::FirstByte));
        assert_eq!(clock(60_000, 60_000, 0).expired(), Some(Timeout::Total));
        let mut running = clock(0, 0, 60_000);
        running.note_output();
        assert_eq!(running.expired(), Some(Timeout::Silence));
        running.note_final();
        assert_eq!(running.expired(), None);
    }

    #[test]
    fn the_clocks_stand_still_while_a_person_is_asked() {
        let mut clock = clock(1, 60_000, 1);
        let time = Duration::from_millis(20);
        clock.pause_during(|| std::thread::sleep(time));
        assert!(clock.paused >= time && clock.paused_since_output >= time);
        // This is longer than the test can possibly take.
        clock.paused += Duration::from_secs(3600);
        clock.paused_since_output += Duration::from_secs(3600);
        assert_eq!(clock.expired(), None);
    }
}
