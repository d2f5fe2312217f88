//! Computes the cost of a manager's requests with a prompt cache: the unchanged beginning of the last request is
//! read at a tenth of the price, the rest is written at 1.25 times the price, and volatile pieces cost the full
//! price.

use std::ops::AddAssign;
use std::rc::Rc;

use super::manager::{Piece, Sent};

/// Hundredths of the price of a token.
const READ: u64 = 10;
const WRITE: u64 = 125;
const VOLATILE: u64 = 100;

/// The requests of one session, or the sum of several.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bill {
    pub(crate) steps: u64,
    /// The number of steps at which the manager changed the prefix.
    pub(crate) cuts: u64,
    /// The number of steps at which not even the newest messages fit.
    pub(crate) overflows: u64,
    /// The number of tokens that were read from the cache, written to it, and never in it.
    pub(crate) read: u64,
    pub(crate) written: u64,
    pub(crate) volatile: u64,
    /// The unchanged prefix over all steps.
    pub(crate) prefix: Prefix,
    /// The unchanged prefix over the steps without a cut.
    pub(crate) prefix_outside_cuts: Prefix,
    last: Vec<Piece>,
}

/// How much of a request is a prefix of the next one, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prefix {
    pub(crate) kept: u64,
    pub(crate) before: u64,
}

impl Bill {
    /// Adds one request.
    pub(crate) fn add(&mut self, sent: &Sent) {
        // No piece after a volatile one can be cached, even if it is not volatile itself.
        let stable = sent.pieces.iter().take_while(|piece| !piece.volatile).count();
        let (stable, volatile) = sent.pieces.split_at(stable);
        let pairs = self.last.iter().zip(stable);
        let same = pairs.take_while(|(last, now)| is_same(&last.text, &now.text)).count();
        let (read, written) = stable.split_at(same);
        self.read += tokens(read);
        self.written += tokens(written);
        self.volatile += tokens(volatile);
        self.steps += 1;
        self.cuts += u64::from(sent.cut);
        self.overflows += u64::from(sent.overflow);
        let prefix = Prefix { kept: bytes(read), before: bytes(&self.last) };
        self.prefix += prefix;
        if !sent.cut {
            self.prefix_outside_cuts += prefix;
        }
        self.last = stable.to_vec();
    }

    /// Ends a session, so that the cache is empty for the next request.
    pub(crate) fn end_session(&mut self) {
        self.last.clear();
    }

    /// Returns the cost in hundredths of the price of a token.
    pub(crate) fn hundredths(&self) -> u64 {
        READ * self.read + WRITE * self.written + VOLATILE * self.volatile
    }

    /// Returns the average cost of a request, in tokens at full price.
    pub(crate) fn per_step(&self) -> f64 {
        self.hundredths() as f64 / 100.0 / self.steps as f64
    }

    /// Returns the ratio of this cost to another one.
    pub(crate) fn against(&self, other: &Self) -> f64 {
        self.hundredths() as f64 / other.hundredths() as f64
    }
}

impl Prefix {
    /// Returns the share in percent; 100 if there was nothing to keep.
    pub(crate) fn percent(self) -> f64 {
        if self.before == 0 { 100.0 } else { 100.0 * self.kept as f64 / self.before as f64 }
    }
}

impl AddAssign for Prefix {
    fn add_assign(&mut self, other: Self) {
        self.kept += other.kept;
        self.before += other.before;
    }
}

fn is_same(one: &Rc<str>, other: &Rc<str>) -> bool {
    Rc::ptr_eq(one, other) || one == other
}

fn tokens(pieces: &[Piece]) -> u64 {
    pieces.iter().map(|piece| piece.tokens).sum()
}

fn bytes(pieces: &[Piece]) -> u64 {
    pieces.iter().map(|piece| piece.text.len() as u64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(cut: bool, words: &str) -> Sent {
        let piece = |word: &str| Piece {
            text: word.into(),
            tokens: word.len() as u64,
            volatile: word.starts_with('?'),
        };
        let pieces = words.split_whitespace().map(piece).collect();
        Sent { pieces, cut, overflow: false }
    }

    fn bill(requests: &[(bool, &str)]) -> Bill {
        let mut bill = Bill::default();
        for (cut, words) in requests {
            bill.add(&sent(*cut, words));
        }
        bill
    }

    #[test]
    fn what_was_sent_before_is_read_and_the_rest_is_written() {
        let bill = bill(&[(false, "aaaa bb"), (false, "aaaa bb cccc")]);
        // Six are written; then six are read and four written.
        assert_eq!(bill.hundredths(), 6 * 125 + 6 * 10 + 4 * 125);
        assert_eq!((bill.steps, bill.read, bill.written), (2, 6, 10));
        assert_eq!(bill.prefix_outside_cuts, Prefix { kept: 6, before: 6 });
    }

    #[test]
    fn nothing_behind_the_first_difference_is_read() {
        let bill = bill(&[(false, "aa bb cc"), (true, "bb cc")]);
        assert_eq!(bill.hundredths(), 6 * 125 + 4 * 125);
        assert_eq!(bill.prefix, Prefix { kept: 0, before: 6 });
        assert_eq!((bill.cuts, bill.prefix_outside_cuts.percent()), (1, 100.0));
    }

    #[test]
    fn a_piece_that_grew_is_another_piece() {
        let bill = bill(&[(false, "aa bb"), (false, "aa bbb")]);
        assert_eq!(bill.hundredths(), 4 * 125 + 2 * 10 + 3 * 125);
        assert_eq!(bill.prefix_outside_cuts, Prefix { kept: 2, before: 4 });
    }

    #[test]
    fn what_is_volatile_costs_its_price_and_is_no_prefix() {
        let bill = bill(&[(false, "aa ?x"), (false, "aa bb ?y")]);
        assert_eq!(bill.hundredths(), 2 * 125 + 2 * 100 + 2 * 10 + 2 * 125 + 2 * 100);
        assert_eq!(bill.prefix_outside_cuts.percent(), 100.0);
    }

    #[test]
    fn nothing_is_cached_behind_a_volatile_piece() {
        let bill = bill(&[(false, "aa ?x bb"), (false, "aa ?x bb")]);
        assert_eq!(bill.hundredths(), 2 * 125 + 4 * 100 + 2 * 10 + 4 * 100);
    }

    #[test]
    fn another_session_finds_an_empty_cache() {
        let mut bill = bill(&[(false, "aa")]);
        bill.end_session();
        bill.add(&sent(false, "aa"));
        assert_eq!((bill.hundredths(), bill.per_step()), (4 * 125, 2.5));
    }
}
