//! What a turn took: tokens, dollars, time. Adds up usage entries; also for `/cost`.

use std::time::Duration;

use tertulia_session::Usage;
use tertulia_team::Dollars;

use crate::terminal::grouped;

/// Tokens and dollars.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    /// How many answers were counted.
    pub(crate) answers: u64,
    input: u64,
    cached: u64,
    output: u64,
    cost: Option<Dollars>,
}

impl Figures {
    /// Adds what an answer took.
    pub(crate) fn add(&mut self, usage: &Usage) {
        self.answers += 1;
        self.input = self.input.saturating_add(usage.input_tokens);
        self.cached = self.cached.saturating_add(usage.cached_tokens.unwrap_or(0));
        self.output = self.output.saturating_add(usage.output_tokens);
        if let Some(cost) = &usage.cost_usd {
            let more = Dollars::from_usd(cost.amount());
            self.cost = Some(self.cost.unwrap_or_default().plus(more));
        }
    }

    /// The tokens and dollars in words; `None` if nobody counted.
    pub(crate) fn counted(&self) -> Option<String> {
        if self.answers == 0 {
            return None;
        }
        let mut text = format!("{} in", grouped(self.input));
        if self.cached > 0 {
            text.push_str(&format!(" ({} cached)", grouped(self.cached)));
        }
        text.push_str(&format!(", {} out", grouped(self.output)));
        if let Some(cost) = self.cost {
            text.push_str(&format!(" · ${cost}"));
        }
        Some(text)
    }

    /// The same with the time that it took.
    pub(crate) fn sentence(&self, time: Duration) -> String {
        let time = if time.as_secs() < 60 {
            format!("{}.{} s", time.as_secs(), time.subsec_millis() / 100)
        } else {
            format!("{} min {} s", time.as_secs() / 60, time.as_secs() % 60)
        };
        match self.counted() {
            Some(counted) => format!("{counted} · {time}"),
            None => time,
        }
    }
}
