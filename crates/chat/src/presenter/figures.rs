//! The tokens, cost and time of a turn, as text. Adds up usage entries; also used by `/cost`.

use std::time::Duration;

use tertulia_session::Usage;
use tertulia_team::Dollars;

use crate::terminal::{counted, duration, grouped};

/// Tokens and dollars.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    pub(crate) answers: u64,
    input: u64,
    cached: u64,
    output: u64,
    cost: Option<Dollars>,
}

impl Figures {
    /// Adds the usage of an answer.
    pub fn add(&mut self, usage: &Usage) {
        self.answers += 1;
        self.input = self.input.saturating_add(usage.input_tokens);
        self.cached = self.cached.saturating_add(usage.cached_tokens.unwrap_or(0));
        self.output = self.output.saturating_add(usage.output_tokens);
        if let Some(cost) = &usage.cost_usd {
            let more = Dollars::from_usd(cost.amount());
            self.cost = Some(self.cost.unwrap_or_default().plus(more));
        }
    }

    /// Returns tokens and cost for a list, or a note that the cost was not reported. `None` if nothing was reported.
    pub(crate) fn counted(&self) -> Option<String> {
        let unpriced = if self.cost.is_none() { " · cost not reported" } else { "" };
        self.describe().map(|reported| format!("{reported}{unpriced}"))
    }

    /// Returns tokens and cost as text; `None` if nothing was reported. Tokens are left out if the agent reported
    /// only a cost.
    pub fn describe(&self) -> Option<String> {
        let mut reported = Vec::new();
        if self.input > 0 || self.output > 0 {
            let cached = match self.cached {
                0 => String::new(),
                cached => format!(" ({} cached)", grouped(cached)),
            };
            let read = counted(self.input, "token", "tokens");
            reported.push(format!("{read} in{cached}, {} out", grouped(self.output)));
        }
        reported.extend(self.cost.map(|cost| format!("${cost}")));
        (!reported.is_empty()).then(|| reported.join(" · "))
    }

    /// Like [`Self::describe`], with the duration.
    pub fn sentence(&self, time: Duration) -> String {
        let time = duration(time);
        match self.describe() {
            Some(reported) => format!("{reported} · {time}"),
            None => time,
        }
    }
}

#[cfg(test)]
mod tests {
    use tertulia_session::{Fields, Usd};

    use super::*;

    fn figures(tokens: (u64, u64), cost: Option<f64>) -> Figures {
        let mut figures = Figures::default();
        figures.add(&Usage {
            member: "max".into(),
            model: None,
            input_tokens: tokens.0,
            cached_tokens: None,
            output_tokens: tokens.1,
            cost_usd: cost.and_then(Usd::new),
            unknown: Fields::NONE,
        });
        figures
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
        assert_eq!(listed((5, 7), None).as_deref(), Some("5 tokens in, 7 out · cost not reported"));
        assert_eq!(listed((5, 7), Some(0.5)).as_deref(), Some("5 tokens in, 7 out · $0.50"));
        assert_eq!(listed((0, 0), None), None);
    }
}
