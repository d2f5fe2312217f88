//! Times of pieces of work: batches in turns, the best batch of each. Knows nothing of what it times.
//!
//! The time that the thread worked, where the system tells it: others on the machine do not count. The
//! best rather than the mean: everything that disturbs a batch makes it longer, so the shortest is nearest
//! to the work itself. In turns, so that a slow minute of the machine meets both sides. In short
//! batches, so that some fit between two interruptions; and in batches of one length, so that both sides
//! have the same chance of that.

use std::hint::black_box;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// How much larger the large side is where growth is measured.
pub(crate) const GROWTH: usize = 16;

/// How much longer the large side may take: linear work needs 16 times as long, quadratic work 256.
pub(crate) const GROWTH_LIMIT: f64 = 18.0;

/// A batch shorter than this would measure the clock, which takes eight microseconds.
const BATCH_MIN: Duration = Duration::from_millis(1);

/// However slow the work is, this many batches are measured.
const ROUNDS_MIN: u32 = 8;

/// How much longer it is measured while a limit is not kept.
const PATIENCE: u32 = 8;

/// The best times of one call of two pieces of work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pair {
    pub(crate) base_ns: f64,
    pub(crate) other_ns: f64,
}

impl Pair {
    /// Returns how often the base fits into the other.
    pub(crate) fn ratio(&self) -> f64 {
        self.other_ns / self.base_ns
    }
}

/// Times two pieces of work in turns for about this long. What a call gives back is dropped within
/// its time.
///
/// While the ratio is over its limit it goes on, up to eight times as long and as often: a busy
/// machine gets the chance of a quiet moment, and work that is too slow stays too slow.
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

/// Times one piece of work for about this long: the best time of one call.
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

/// Calls the work until it has run for a batch, and says how long one call took by then.
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
    // Never nothing, however coarse the clock is: a ratio needs a number.
    let ns = worked().saturating_sub(start).as_nanos().max(1);
    ns as f64 / f64::from(calls)
}

/// Returns how long this thread has worked, or else how long the program runs.
fn worked() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    // Linux keeps the sum at each change of threads; giving way for a moment makes it do so.
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
