//! The usage and cost of a turn of Claude Code: while it runs, the sums of the requests so far; at its end, the figures
//! of the last line. Both include the requests of sub-agents.

use std::collections::BTreeMap;

use tertulia_session::json::{self, Object};

use crate::stream::event::{Cost, Scope, Usage};
use crate::stream::fields::{Refusal, Value, read_fields};
use crate::stream::turn::Turn;

/// Maximum number of requests of a turn whose usage is counted while it runs. The last line has the exact figures.
const REQUESTS_MAX: usize = 4096;

/// The names of the counts of a request, in the order of [`Usage`].
const COUNTS: [&str; 4] =
    ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"];

/// The usage of the requests so far. Every line about a request repeats its figures, which grow until its end.
#[derive(Debug, Default)]
pub(super) struct Requests {
    by_message: BTreeMap<Box<str>, [u64; 4]>,
    /// The request whose pieces arrive.
    current: Option<Box<str>>,
    sum: [u64; 4],
}

impl Requests {
    /// Counts the usage in the event that begins a request.
    pub(super) fn begin(&mut self, message: Value<'_>, turn: &mut Turn) {
        self.current = self.count_message(message, turn);
    }

    /// Counts the usage in an event of the request whose pieces arrive.
    pub(super) fn update(&mut self, usage: Value<'_>, turn: &mut Turn) {
        if let Some(id) = self.current.clone() {
            self.count(id, usage, turn);
        }
    }

    /// Counts the usage in a message of the API. Returns the id of the message.
    pub(super) fn count_message(
        &mut self,
        message: Value<'_>,
        turn: &mut Turn,
    ) -> Option<Box<str>> {
        let [id, usage] = message.fields(&["id", "usage"]).ok()?;
        let id = id.word()?;
        self.count(id.clone(), usage, turn);
        Some(id)
    }

    fn count(&mut self, id: Box<str>, usage: Value<'_>, turn: &mut Turn) {
        let Ok(counts) = usage.fields(&COUNTS) else { return };
        if self.by_message.len() >= REQUESTS_MAX && !self.by_message.contains_key(&id) {
            return;
        }
        let known = self.by_message.entry(id).or_default();
        for ((sum, known), count) in self.sum.iter_mut().zip(known).zip(counts) {
            let count = count.count().unwrap_or(0);
            *sum = sum.saturating_add(count.saturating_sub(*known));
            *known = count.max(*known);
        }
        // Texts of the agent itself, such as errors, have no usage.
        if self.sum == [0; 4] {
            return;
        }
        let [input, cache_read, cache_write, output] = self.sum.map(Some);
        turn.usage(Usage { input, cache_read, cache_write, output, ..Usage::default() });
    }
}

/// Reports the usage and cost in the last line.
///
/// `turn_cost` takes the total cost of the session and returns that of the turn, if it is known.
pub(super) fn report(
    line: &str,
    turn_cost: impl FnOnce(f64) -> Option<f64>,
    turn: &mut Turn,
) -> Result<(), Refusal> {
    const NAMES: [&str; 3] = ["usage", "total_cost_usd", "model_usage_since_last_result"];
    let [usage, cost, by_model] = read_fields(line, &NAMES)?;
    let total = cost.amount();
    let of_turn = total.and_then(turn_cost);
    if let Some((usage, usd)) = sum_of_models(by_model) {
        turn.usage(usage);
        turn.cost(Cost { usd, scope: Scope::Turn });
        return Ok(());
    }
    // Earlier versions report the usage of this run without sub-agents, and the cost of the whole session.
    if let Ok(counts) = usage.fields(&COUNTS) {
        let [input, cache_read, cache_write, output] = counts.map(Value::count);
        let thinking = usage.at(&["output_tokens_details", "thinking_tokens"]).count();
        let scope = Scope::Turn;
        turn.usage(Usage { input, cache_read, cache_write, output, thinking, scope });
    }
    match (of_turn, total) {
        (Some(usd), _) => turn.cost(Cost { usd, scope: Scope::Turn }),
        (None, Some(usd)) => turn.cost(Cost { usd, scope: Scope::Session }),
        (None, None) => {}
    }
    Ok(())
}

/// Returns the usage and cost of all requests of the turn, which are reported by model; `None` if there were none.
fn sum_of_models(by_model: Value<'_>) -> Option<(Usage, f64)> {
    const NAMES: [&str; 6] = [
        "inputTokens",
        "cacheReadInputTokens",
        "cacheCreationInputTokens",
        "outputTokens",
        "thinkingTokens",
        "costUSD",
    ];
    let models = json::parse(by_model.source()?).ok()?;
    let (mut usage, mut usd) = (Usage::default(), None);
    for (_, model) in Object::try_from(models).ok()?.into_fields() {
        let [counts @ .., cost] = read_fields(model.get(), &NAMES).ok()?;
        usage.add(counts.map(Value::count));
        usd = Some(usd.unwrap_or(0.0) + cost.amount()?);
    }
    Some((usage, usd?))
}
