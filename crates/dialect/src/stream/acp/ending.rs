//! How a prompt ends: its stop reason, or an error. Called by [`super::Acp`].

use serde_json::value::RawValue;

use super::Acp;
use crate::stream::class::{ErrorClass, TurnError};
use crate::stream::event::{Scope, Unparsed, Usage};
use crate::stream::pick::{Refusal, count, pick, plain, text};
use crate::stream::turn::Turn;

impl Acp {
    /// Reads the answer to our prompt.
    pub(super) fn end(&mut self, result: &RawValue, turn: &mut Turn) -> Result<(), Refusal> {
        let [reason, usage, meta] = pick(result, &["stopReason", "usage", "_meta"])?.values();
        let reason = plain(reason).ok_or(Unparsed::WrongShape)?;
        self.tools.flush(turn);
        let usage = usage.and_then(usage_of).or_else(|| usage_of_meta(meta?));
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

    /// Reads the error that one of our requests was answered with.
    pub(super) fn end_badly(&mut self, error: &RawValue, turn: &mut Turn) {
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
fn error_of(raw: &RawValue) -> TurnError {
    let Ok(picked) = pick(raw, &["code", "message", "data"]) else {
        return TurnError::new(ErrorClass::Crash, "the agent answered with an error");
    };
    let [code, message, data] = picked.values();
    let kind = data.and_then(|data| text(pick(data, &["errorKind"]).ok()?.values()[0]));
    let details = data.and_then(|data| text(pick(data, &["details"]).ok()?.values()[0]));
    let mut message = text(message).unwrap_or_default();
    if let Some(details) = details.filter(|details| !message.contains(details)) {
        message = format!("{message}: {details}");
    }
    let by_kind = match kind.as_deref() {
        Some("authentication_failed") => Some(ErrorClass::Auth),
        Some("rate_limit") => Some(ErrorClass::Quota),
        Some("server_error" | "overloaded") => Some(ErrorClass::Network),
        _ => None,
    };
    // The protocol's own code for an agent that is not logged in.
    let is_login = code.is_some_and(|code| code.get() == "-32000");
    let by_code = count(code).and_then(ErrorClass::of_status);
    let class = by_code
        .or(by_kind)
        .or(is_login.then_some(ErrorClass::Auth))
        .or_else(|| ErrorClass::of_message(&message));
    TurnError::new(class.unwrap_or(ErrorClass::Crash), message)
}

/// The session is as old as the turn, so its count is the turn's. The sum tells whether what was read from
/// a cache is part of the input.
fn usage_of(raw: &RawValue) -> Option<Usage> {
    const NAMES: [&str; 6] = [
        "inputTokens",
        "outputTokens",
        "cachedReadTokens",
        "cachedWriteTokens",
        "thoughtTokens",
        "totalTokens",
    ];
    let counts = pick(raw, &NAMES).ok()?.values().map(count);
    let [input, output, cache_read, cache_write, thinking, total] = counts;
    let cached = cache_read.unwrap_or(0).saturating_add(cache_write.unwrap_or(0));
    let is_cache_within = match (input, output, total) {
        (Some(input), Some(output), Some(total)) => input.saturating_add(output) == total,
        _ => false,
    };
    let fresh =
        if is_cache_within { input.map(|input| input.saturating_sub(cached)) } else { input };
    Some(Usage { input: fresh, cache_read, cache_write, output, thinking, scope: Scope::Turn })
}

/// Gemini's count.
fn usage_of_meta(meta: &RawValue) -> Option<Usage> {
    let [quota] = pick(meta, &["quota"]).ok()?.values();
    let [tokens] = pick(quota?, &["token_count"]).ok()?.values();
    let [input, output] = pick(tokens?, &["input_tokens", "output_tokens"]).ok()?.values();
    let (input, output) = (count(input)?, count(output));
    Some(Usage { input: Some(input), output, scope: Scope::Turn, ..Usage::default() })
}
