//! How a prompt ends: its stop reason, or an error. Called by [`super::Acp`].

use super::Acp;
use crate::stream::class::{ErrorClass, TurnError};
use crate::stream::event::{Scope, Usage};
use crate::stream::pick::{Refusal, Value};
use crate::stream::turn::Turn;

impl Acp {
    pub(super) fn end(&mut self, result: Value<'_>, turn: &mut Turn) -> Result<(), Refusal> {
        let [reason, usage, meta] = result.fields(&["stopReason", "usage", "_meta"])?;
        let reason = reason.need_plain()?;
        self.tools.flush(turn);
        let usage = usage_of(usage).or_else(|| usage_of_meta(meta));
        if reason == "end_turn" && self.is_system_error && usage.is_none() {
            // Codex's adapter puts its complaint into the answer and says that all is well.
            let complaint = turn.open_text().trim().to_owned();
            turn.withdraw();
            turn.fail(TurnError::said(complaint));
            return Ok(());
        }
        turn.end_text();
        if let Some(usage) = usage {
            turn.usage(usage);
        }
        self.tell_cost(turn);
        let (class, message) = match reason {
            "end_turn" if self.has_hole => {
                (ErrorClass::Limit, "a line of the agent was too long to be read")
            }
            "end_turn" => {
                // Many say what they have done and then do the last of it without a word.
                turn.succeed_with_last_words(self.may_repeat);
                return Ok(());
            }
            "cancelled" => (ErrorClass::Crash, "the agent says that the turn was cancelled"),
            "max_tokens" => (ErrorClass::Limit, "the answer reached the model's limit of tokens"),
            "max_turn_requests" => {
                (ErrorClass::Limit, "the agent reached its limit of requests to the model")
            }
            "refusal" => (ErrorClass::Refused, "the agent refused to go on"),
            _ => (ErrorClass::Crash, "the turn ended for a reason that is not known"),
        };
        turn.fail(TurnError::new(class, format!("{message} ({reason})")));
        Ok(())
    }

    pub(super) fn end_badly(&mut self, error: Value<'_>, turn: &mut Turn) {
        let mut error = error_of(error);
        if error.class == ErrorClass::Crash && self.is_before_prompt() {
            error.class = ErrorClass::Setup;
        }
        // Claude's adapter says its complaint in the answer first.
        let said = turn.open_text().trim();
        if !said.is_empty() && error.message.contains(said) {
            turn.withdraw();
        }
        self.tell_cost(turn);
        turn.fail(error);
    }

    fn tell_cost(&mut self, turn: &mut Turn) {
        if let Some(cost) = self.cost.take() {
            turn.cost(cost);
        }
    }
}

/// The class by the code, then by what `data` names, then by the words.
fn error_of(error: Value<'_>) -> TurnError {
    let Ok([code, message, data]) = error.fields(&["code", "message", "data"]) else {
        return TurnError::new(ErrorClass::Crash, "the agent answered with an error");
    };
    let mut message = message.text_or_empty();
    if let Some(details) = data.at(&["details"]).text()
        && !message.contains(&details)
    {
        message = format!("{message}: {details}");
    }
    let by_code = code.count().and_then(ErrorClass::of_status);
    let by_data = || match data.at(&["errorKind"]).text().as_deref() {
        Some("authentication_failed") => Some(ErrorClass::Auth),
        Some("rate_limit") => Some(ErrorClass::Quota),
        Some("server_error" | "overloaded") => Some(ErrorClass::Network),
        // The protocol's own code for an agent that is not logged in.
        _ => (code.source() == Some("-32000")).then_some(ErrorClass::Auth),
    };
    TurnError::classed(by_code.or_else(by_data), message)
}

/// The session is as old as the turn, so its count is the turn's. The sum tells whether what was read from
/// a cache is part of the input.
fn usage_of(usage: Value<'_>) -> Option<Usage> {
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
        let cached = cache_read.unwrap_or(0).saturating_add(cache_write.unwrap_or(0));
        input = Some(read.saturating_sub(cached));
    }
    Some(Usage { input, cache_read, cache_write, output, thinking, scope: Scope::Turn })
}

/// Gemini's count.
fn usage_of_meta(meta: Value<'_>) -> Option<Usage> {
    let tokens = meta.at(&["quota", "token_count"]);
    let counts = tokens.fields(&["input_tokens", "output_tokens"]).ok()?;
    let [input @ Some(_), output] = counts.map(Value::count) else { return None };
    Some(Usage { input, output, ..Usage::default() })
}
