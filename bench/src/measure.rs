//! Times pieces of work in alternating batches, and uses the best batch of each.
//!
//! Measures the CPU time of the thread if the system reports it, so that other programs do not count. Uses the best
//! batch instead of the mean, because disturbances only make a batch longer. The batches alternate, so that a slow
//! minute of the machine affects both sides. They are short, so that some fit between two interruptions, and
//! equally long, so that both sides have the same chance of this.

use std::hint::black_box;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// The ratio of the sizes when growth is measured.
pub(crate) const GROWTH: usize = 16;

/// The maximum ratio of the times: linear work takes 16 times as long, quadratic work 256 times.
pub(crate) const GROWTH_LIMIT: f64 = 18.0;

/// The minimum length of a batch. Reading the clock takes eight microseconds, which would distort shorter ones.
const BATCH_MIN: Duration = Duration::from_millis(1);

/// The minimum number of batches, however slow the work is.
const ROUNDS_MIN: u32 = 8;

/// The factor by which the measurement is extended if a limit is exceeded.
const PATIENCE: u32 = 8;

/// The best times of one call of two pieces of work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pair {
    pub(crate) base_ns: f64,
    pub(crate) other_ns: f64,
}

impl Pair {
    /// Returns the other time divided by the base.
    pub(crate) fn ratio(&self) -> f64 {
        self.other_ns / self.base_ns
    }
}

/// Times two pieces of work alternately for about this long. The time of a call includes dropping its result.
///
/// If the ratio exceeds its limit, continues up to eight times as long. This gives a busy machine the chance of a
/// quiet moment, while work that is too slow stays too slow.
pub(crate) fn in_turns<T, U>(
    time: Duration,
    limit: f64,
    mut base: impl FnMut() -> T,
    mut other: impl FnMut() -> U,
) -> Pair {
    let (base_once, other_once) = (warm(&mut base), warm(&mut other));
    let batch_ns_min = base_once.max(other_once).max(BATCH_MIN.as_nanos() as f64);
    let (base_calls, other_calls) =
        (calls(batch_ns_min, base_once), calls(batch_ns_min, other_once));
    let mut best = Pair { base_ns: f64::INFINITY, other_ns: f64::INFINITY };
    let start = Instant::now();
    for round in 1.. {
        best.base_ns = best.base_ns.min(batch_ns(base_calls, &mut base));
        best.other_ns = best.other_ns.min(batch_ns(other_calls, &mut other));
        let patience = if best.ratio() > limit { PATIENCE } else { 1 };
        if round >= ROUNDS_MIN * patience && start.elapsed() >= time * patience {
            break;
        }
    }
    best
}

/// Times one piece of work for about this long, and returns the best time of one call.
pub(crate) fn alone<T>(time: Duration, mut work: impl FnMut() -> T) -> f64 {
    let once = warm(&mut work);
    let calls = calls(BATCH_MIN.as_nanos() as f64, once);
    let start = Instant::now();
    let mut best = once;
    while start.elapsed() < time {
        best = best.min(batch_ns(calls, &mut work));
    }
    best
}

/// Returns the time of a piece of work that can be done only once.
pub(crate) fn once<T>(work: impl FnOnce() -> T) -> f64 {
    let mut work = Some(work);
    batch_ns(1, &mut || work.take().map(|work| work()))
}

/// Calls the work until it has run for the length of a batch, and returns the time of one call.
fn warm<T>(work: &mut impl FnMut() -> T) -> f64 {
    let mut calls = 1;
    loop {
        let once = batch_ns(calls, work);
        if once * f64::from(calls) >= BATCH_MIN.as_nanos() as f64 || calls > u32::MAX / 2 {
            return once;
        }
        calls *= 2;
    }
}

/// Returns how many calls make a batch of this length.
fn calls(batch_ns: f64, once_ns: f64) -> u32 {
    // The cast saturates.
    ((batch_ns / once_ns).ceil() as u32).max(1)
}

/// Returns the time of one call in a batch of this many.
fn batch_ns<T>(calls: u32, work: &mut impl FnMut() -> T) -> f64 {
    let start = worked();
    for _ in 0..calls {
        black_box(work());
    }
    // At least 1, even if the clock is coarse, because a ratio must not divide by 0.
    let ns = worked().saturating_sub(start).as_nanos().max(1);
    ns as f64 / f64::from(calls)
}

/// Returns the CPU time of this thread, or the time since the program started.
fn worked() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    // Linux updates the sum when threads switch; yielding causes this.
    std::thread::yield_now();
    std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|line| line.split(' ').next()?.parse().ok())
        .map_or_else(|| START.elapsed(), Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_long_enough_for_the_clock_and_never_empty() {
        assert_eq!(calls(200_000.0, 150.0), 1_334);
        assert_eq!(calls(200_000.0, 1e9), 1);
    }

    #[test]
    fn the_clock_goes_on_while_the_thread_works() {
        let start = worked();
        while worked() == start {
            black_box((0..10_000_u64).map(black_box).sum::<u64>());
        }
        assert!(worked() > start);
    }

    #[test]
    fn both_sides_are_called_in_turns() {
        let (mut base, mut other) = (0, 0);
        let work = || (0..1_000_u64).map(black_box).sum::<u64>();
        let count_base = || {
            base += 1;
            work()
        };
        let count_other = || {
            other += 1;
            work()
        };
        let pair = in_turns(Duration::ZERO, f64::INFINITY, count_base, count_other);
        assert!(base >= ROUNDS_MIN && other >= ROUNDS_MIN);
        assert!(pair.base_ns > 0.0 && pair.other_ns > 0.0);
    }

    #[test]
    fn the_ratio_says_how_often_the_base_fits_into_the_other() {
        assert_eq!(Pair { base_ns: 2.0, other_ns: 5.0 }.ratio(), 2.5);
    }
}
