//! Costs, token counts, errors and settings in the agent's responses. [`super::Acp`] calls it.

use crate::stream::error_class::{ErrorClass, TurnError};
use crate::stream::event::{Cost, Scope, Usage, fresh_input};
use crate::stream::fields::Value;

/// Returns the cost of a turn. An agent that has lost its total begins again.
pub(in crate::stream) fn turn_cost(total: f64, before: f64) -> f64 {
    if total >= before { total - before } else { total }
}

/// Returns the cost of the session.
pub(super) fn cost_of(cost: Value<'_>) -> Option<Cost> {
    let [sum, currency] = cost.fields(&["amount", "currency"]).ok()?;
    let usd = sum.amount().filter(|_| currency.is("USD"))?;
    Some(Cost { usd, scope: Scope::Turn })
}

pub(super) fn model_option(options: Value<'_>) -> Option<String> {
    let mut found = None;
    let _ = options.each(|option| {
        let [id, category] = option.fields(&["id", "category"])?;
        if id.is("model") || category.is("model") {
            found = found.take().or_else(|| id.text());
        }
        Ok(())
    });
    found
}

/// Returns the error. Its class follows from the code, else from the details in `data`, else from the message.
pub(super) fn error_of(error: Value<'_>) -> TurnError {
    let Ok([code, message, data]) = error.fields(&["code", "message", "data"]) else {
        return TurnError::new(ErrorClass::Crash, "the agent answered with an error");
    };
    let mut message = message.text_or_empty();
    if let Some(details) = data.at(&["details"]).text()
        && !message.contains(&details)
    {
        message = format!("{message}: {details}");
    }
    let by_code = code.count().and_then(ErrorClass::from_status);
    let by_data = || match data.at(&["errorKind"]).text().as_deref() {
        Some("authentication_failed") => Some(ErrorClass::Auth),
        Some("rate_limit") => Some(ErrorClass::Quota),
        Some("server_error" | "overloaded") => Some(ErrorClass::Network),
        // This code of the protocol means that the agent is not signed in.
        _ => (code.source() == Some("-32000")).then_some(ErrorClass::Auth),
    };
    TurnError::classed(by_code.or_else(by_data), message)
}

/// Returns the usage. The session is as old as the turn, so its usage is that of the turn. The total shows whether
/// cached tokens are part of the input.
pub(super) fn usage_of(usage: Value<'_>) -> Option<Usage> {
    #[rustfmt::skip]
    const NAMES: [&str; 6] = [
        "inputTokens", "outputTokens", "cachedReadTokens", "cachedWriteTokens", "thoughtTokens",
        "totalTokens",
    ];
    let counts = usage.fields(&NAMES).ok()?.map(Value::count);
    let [mut input, output, cache_read, cache_write, thinking, total] = counts;
    if let (Some(read), Some(output), Some(total)) = (input, output, total)
        && read.saturating_add(output) == total
    {
        input = fresh_input(Some(read), [cache_read, cache_write]);
    }
    Some(Usage { input, cache_read, cache_write, output, thinking, scope: Scope::Turn })
}

/// Returns the usage that Gemini reports.
pub(super) fn usage_of_meta(meta: Value<'_>) -> Option<Usage> {
    let tokens = meta.at(&["quota", "token_count"]);
    let counts = tokens.fields(&["input_tokens", "output_tokens"]).ok()?;
    let [input @ Some(_), output] = counts.map(Value::count) else { return None };
    Some(Usage { input, output, ..Usage::default() })
}
