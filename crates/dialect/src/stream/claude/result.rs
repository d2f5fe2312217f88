//! Claude Code's last line. Its `subtype` says "success" on errors too, so `is_error` decides.

use serde_json::value::RawValue;

use super::super::class::{ErrorClass, TurnError};
use super::super::event::{Cost, DeniedTool, Scope, Usage};
use super::super::pick::{amount, count, each, pick, pick_line, plain, text, word};
use super::super::turn::Turn;
use super::super::{Fate, Reading};

const NAMES: [&str; 11] = [
    "is_error",
    "subtype",
    "result",
    "errors",
    "terminal_reason",
    "api_error_status",
    "api_error",
    "stop_reason",
    "usage",
    "total_cost_usd",
    "permission_denials",
];

pub(super) fn read(line: &str, session_id: Option<&str>, turn: &mut Turn) -> Reading {
    let [is_error, subtype, result, errors, reason, status, api_error, stop, usage, cost, denials] =
        pick_line(line, &NAMES)?.values();
    let is_success = is_error.is_some_and(|raw| raw.get() == "false");
    // A run that cannot start says so under an id that nobody asked for. Bad news is believed.
    let is_stillborn = !is_success && turn.need_start().is_err();
    turn.admit(session_id.filter(|_| !is_stillborn))?;
    if is_success {
        turn.need_start()?;
    }
    tell_figures(usage, cost, turn);
    tell_denials(denials, turn);
    let said = text(result);
    if is_success {
        turn.succeed(said.unwrap_or_default());
        return Ok(Fate::Known);
    }
    turn.withdraw();
    let said = said.or_else(|| first_text(errors)).unwrap_or_default();
    let message = match plain(reason).or(plain(subtype)) {
        Some(reason) if said.is_empty() || reason.starts_with("aborted") => reason.to_owned(),
        _ => said,
    };
    let hints = Hints {
        reason: plain(reason),
        subtype: plain(subtype),
        status: count(status),
        api_error: plain(api_error),
        stop: plain(stop),
    };
    let class = hints.class().or_else(|| ErrorClass::of_message(&message));
    turn.fail(TurnError::new(class.unwrap_or(ErrorClass::Crash), message));
    Ok(Fate::Known)
}

/// What says why a turn failed, besides the words of the message.
struct Hints<'a> {
    reason: Option<&'a str>,
    subtype: Option<&'a str>,
    status: Option<u64>,
    api_error: Option<&'a str>,
    stop: Option<&'a str>,
}

impl Hints<'_> {
    fn class(&self) -> Option<ErrorClass> {
        match (self.reason, self.subtype) {
            (Some("prompt_too_long" | "blocking_limit"), _) => Some(ErrorClass::Overflow),
            (Some("max_turns" | "budget_exhausted"), _)
            | (_, Some("error_max_turns" | "error_max_budget_usd")) => Some(ErrorClass::Limit),
            (Some("aborted_streaming" | "aborted_tools"), _) => Some(ErrorClass::Crash),
            _ if self.stop == Some("refusal") => Some(ErrorClass::Refused),
            _ => match self.api_error {
                Some("connection_failed") => Some(ErrorClass::Network),
                Some("max_output_tokens") => Some(ErrorClass::Limit),
                _ => self.status.and_then(ErrorClass::of_status),
            },
        }
    }
}

/// The usage is this run's; the cost is the whole session's.
fn tell_figures(usage: Option<&RawValue>, cost: Option<&RawValue>, turn: &mut Turn) {
    const NAMES: [&str; 5] = [
        "input_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
        "output_tokens",
        "output_tokens_details",
    ];
    if let Some(Ok(picked)) = usage.map(|usage| pick(usage, &NAMES)) {
        let [input, cache_read, cache_write, output, details] = picked.values();
        let details = details.and_then(|details| pick(details, &["thinking_tokens"]).ok());
        let usage = Usage {
            input: count(input),
            cache_read: count(cache_read),
            cache_write: count(cache_write),
            output: count(output),
            thinking: count(details.and_then(|details| details.values()[0])),
            scope: Scope::Turn,
        };
        turn.usage(usage);
    }
    if let Some(usd) = amount(cost) {
        turn.cost(Cost { usd, scope: Scope::Session });
    }
}

/// Most of them were told when they happened. A list that cannot be read takes nothing from the result.
fn tell_denials(denials: Option<&RawValue>, turn: &mut Turn) {
    let Some(denials) = denials else { return };
    let _ = each(denials, |denial| {
        let [id, name] = pick(denial, &["tool_use_id", "tool_name"])?.values();
        if let (Some(id), Some(name)) = (word(id), word(name)) {
            turn.tool_denied(DeniedTool { id, name, reason: None });
        }
        Ok(())
    });
}

fn first_text(list: Option<&RawValue>) -> Option<String> {
    let mut first = None;
    let reading = each(list?, |element| {
        if first.is_none() {
            first = text(Some(element));
        }
        Ok(())
    });
    reading.ok().and(first)
}
