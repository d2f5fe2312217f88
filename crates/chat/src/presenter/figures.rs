//! The tokens, cost and time of a turn, as text. Adds up usage entries; also used by `/cost`.

use std::time::Duration;

use tertulia_session::{CacheMiss, Usage};
use tertulia_team::Dollars;

use crate::narrate;
use crate::terminal::{counted, duration, grouped};

/// Tokens and dollars.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    pub(crate) answers: u64,
    input: u64,
    cached: u64,
    written: u64,
    output: u64,
    cost: Option<Dollars>,
    /// Why the cache of the provider did not help the last answer.
    miss: Option<CacheMiss>,
    /// Whether a part of the cost was computed from prices.
    is_computed: bool,
    /// The number of answers with tokens but without a known cost.
    unpriced: u64,
}

impl Figures {
    /// Adds the usage of an answer.
    pub fn add(&mut self, usage: &Usage) {
        self.answers += 1;
        self.input = self.input.saturating_add(usage.input_tokens);
        self.cached = self.cached.saturating_add(usage.cached_tokens.unwrap_or(0));
        self.written = self.written.saturating_add(usage.cache_write_tokens.unwrap_or(0));
        self.output = self.output.saturating_add(usage.output_tokens);
        self.miss = usage.cache_miss;
        match &usage.cost_usd {
            Some(cost) => {
                let more = Dollars::from_usd(cost.amount());
                self.cost = Some(self.cost.unwrap_or_default().plus(more));
                self.is_computed |= usage.prices_date.is_some();
            }
            None => self.unpriced += u64::from(usage.input_tokens > 0 || usage.output_tokens > 0),
        }
    }

    /// Returns tokens and cost for a list, or a note that the cost is not known. `None` if nothing was reported.
    pub(crate) fn counted(&self) -> Option<String> {
        let unpriced = if self.cost.is_none() { " · cost unknown" } else { "" };
        self.describe().map(|reported| format!("{reported}{unpriced}"))
    }

    /// Returns the cost; `~` marks a computed one. It is a lower limit if the cost of an answer is not known.
    fn cost(&self) -> Option<String> {
        let at_least = if self.unpriced > 0 { "at least " } else { "" };
        let about = if self.is_computed { "~" } else { "" };
        self.cost.map(|cost| format!("{at_least}{about}${cost}"))
    }

    /// Returns the tokens that came from a cache or were written to one.
    fn cached(&self) -> String {
        let cached = (self.cached > 0).then(|| format!("{} cached", grouped(self.cached)));
        let written = (self.written > 0).then(|| format!("{} written", grouped(self.written)));
        let parts: Vec<String> = cached.into_iter().chain(written).collect();
        if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
    }

    /// Returns tokens and cost as text; `None` if nothing was reported. Tokens are left out if the agent reported
    /// only a cost.
    pub fn describe(&self) -> Option<String> {
        let mut reported = Vec::new();
        if self.input > 0 || self.output > 0 {
            let read = counted(self.input, "token", "tokens");
            let cached = self.cached();
            reported.push(format!("{read} in{cached}, {} out", grouped(self.output)));
        }
        reported.extend(self.cost());
        (!reported.is_empty()).then(|| reported.join(" · "))
    }

    /// Like [`Self::describe`], with the duration.
    pub fn sentence(&self, time: Duration) -> String {
        let time = duration(time);
        let miss = self.miss.map(|cause| format!(" · not cached: {}", narrate::cache_miss(cause)));
        match self.describe() {
            Some(reported) => format!("{reported}{} · {time}", miss.unwrap_or_default()),
            None => time,
        }
    }
}

#[cfg(test)]
mod tests {
    use tertulia_session::Usd;

    use super::*;

    fn figures(tokens: (u64, u64), cost: Option<f64>) -> Figures {
        let mut figures = Figures::default();
        figures.add(&Usage {
            member: "max".into(),
            input_tokens: tokens.0,
            output_tokens: tokens.1,
            cost_usd: cost.and_then(Usd::new),
            ..Usage::default()
        });
        figures
    }

    #[test]
    fn the_cause_of_a_cache_miss_is_shown_for_the_turn() {
        let mut figures = figures((5, 7), None);
        figures.add(&Usage {
            input_tokens: 1,
            cached_tokens: Some(0),
            output_tokens: 1,
            cache_miss: Some(CacheMiss::Expiry),
            ..Usage::default()
        });
        let expected = "6 tokens in, 8 out · not cached: the last turn is too long ago · 1.5 s";
        assert_eq!(figures.sentence(Duration::from_millis(1_500)), expected);
    }

    #[test]
    fn what_nobody_reported_is_not_shown_as_nothing() {
        let time = Duration::from_millis(1_500);
        assert_eq!(Figures::default().sentence(time), "1.5 s");
        assert_eq!(figures((0, 0), None).sentence(time), "1.5 s");
        assert_eq!(figures((0, 0), Some(0.5)).sentence(time), "$0.50 · 1.5 s");
        assert_eq!(figures((0, 7), None).sentence(time), "0 tokens in, 7 out · 1.5 s");
    }

    #[test]
    fn in_a_list_tokens_without_a_price_are_said_to_have_none() {
        let listed = |tokens, cost| figures(tokens, cost).counted();
        assert_eq!(listed((5, 7), None).as_deref(), Some("5 tokens in, 7 out · cost unknown"));
        assert_eq!(listed((5, 7), Some(0.5)).as_deref(), Some("5 tokens in, 7 out · $0.50"));
        assert_eq!(listed((0, 0), None), None);
    }

    #[test]
    fn a_computed_cost_is_marked_and_an_unknown_one_makes_the_sum_a_lower_limit() {
        let mut figures = figures((5, 7), Some(0.5));
        let computed = Usage {
            input_tokens: 10,
            cached_tokens: Some(6),
            cache_write_tokens: Some(3),
            cost_usd: Usd::new(0.25),
            prices_date: Some("2026-10-31".into()),
            ..Usage::default()
        };
        figures.add(&computed);
        let expected = "15 tokens in (6 cached, 3 written), 7 out · ~$0.75";
        assert_eq!(figures.describe().as_deref(), Some(expected));
        figures.add(&Usage { output_tokens: 1, ..Usage::default() });
        let expected = "15 tokens in (6 cached, 3 written), 8 out · at least ~$0.75";
        assert_eq!(figures.describe().as_deref(), Some(expected));
    }
}
