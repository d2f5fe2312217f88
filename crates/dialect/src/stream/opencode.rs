//! opencode's `run --format json`. Called by [`super::StreamParser`] line by line. Every line names the session,
//! texts come whole, and there is no final event: the turn is over when the process ends, and it succeeded if its
//! last step stopped by itself.

use serde_json::value::RawValue;
use tertulia_session::json::Json;

use super::class::{ErrorClass, TurnError};
use super::event::{Cost, DeniedTool, Scope, Unparsed, Usage};
use super::pick::{
    Refusal, amount, count, is, needed_text, needed_word, pick, pick_line, plain, text, word,
};
use super::turn::Turn;
use super::{Fate, Reading};

/// What has to be remembered from line to line.
#[derive(Debug, Default)]
pub(super) struct OpenCode {
    last: Option<Stop>,
    usage: Usage,
    cost_usd: f64,
}

/// How the newest step ended.
#[derive(Debug)]
enum Stop {
    Whole,
    Failed(TurnError),
}

impl OpenCode {
    pub(super) fn read(&mut self, line: &str, turn: &mut Turn) -> Reading {
        let [kind, session_id, part, error] =
            pick_line(line, &["type", "sessionID", "part", "error"])?.values();
        let kind = plain(kind).ok_or(Unparsed::WrongShape)?;
        let session_id = needed_word(session_id)?;
        turn.admit(Some(&session_id))?;
        if turn.need_start().is_err() {
            turn.start(Some(session_id), None)?;
        }
        let part = || part.ok_or(Unparsed::WrongShape);
        match kind {
            "step_start" => {
                self.last = None;
                turn.seal_text();
            }
            "text" => {
                let [words] = pick(part()?, &["text"])?.values();
                turn.delta(needed_text(words)?);
                turn.end_text();
            }
            "reasoning" => {
                let [words] = pick(part()?, &["text"])?.values();
                turn.thinking(text(words).unwrap_or_default());
            }
            "tool_use" => read_tool(part()?, turn)?,
            "step_finish" => self.finish_step(part()?)?,
            "error" => {
                let error = read_error(error);
                turn.warn_as(Some(error.class), error.message.clone().into());
                self.last = Some(Stop::Failed(error));
            }
            _ => return Ok(Fate::Ignored),
        }
        Ok(Fate::Known)
    }

    fn finish_step(&mut self, part: &RawValue) -> Result<(), Refusal> {
        let [reason, tokens, cost] = pick(part, &["reason", "tokens", "cost"])?.values();
        self.cost_usd += amount(cost).unwrap_or(0.0);
        self.count(tokens);
        self.last = match plain(reason) {
            Some("stop") => Some(Stop::Whole),
            Some("length") => {
                let message = "the model stopped at max_output_tokens";
                Some(Stop::Failed(TurnError::new(ErrorClass::Limit, message)))
            }
            Some("content-filter") => {
                let message = "the model's guard stopped the answer";
                Some(Stop::Failed(TurnError::new(ErrorClass::Refused, message)))
            }
            _ => None,
        };
        Ok(())
    }

    /// Adds what one step used.
    fn count(&mut self, tokens: Option<&RawValue>) {
        const NAMES: [&str; 4] = ["input", "output", "reasoning", "cache"];
        let Some(Ok(picked)) = tokens.map(|tokens| pick(tokens, &NAMES)) else { return };
        let [input, output, thinking, cache] = picked.values();
        let cache = cache.and_then(|cache| pick(cache, &["read", "write"]).ok());
        let [cache_read, cache_write] = cache.map_or([None; 2], |cache| cache.values());
        self.usage.add(&Usage {
            input: count(input),
            cache_read: count(cache_read),
            cache_write: count(cache_write),
            output: count(output),
            thinking: count(thinking),
            scope: Scope::Turn,
        });
    }

    /// Ends the turn, as its last step ended.
    pub(super) fn finish(&mut self, turn: &mut Turn) {
        if turn.need_start().is_err() || turn.end.is_some() {
            return;
        }
        if self.usage != Usage::default() {
            turn.usage(self.usage);
        }
        if self.cost_usd > 0.0 {
            turn.cost(Cost { usd: self.cost_usd, scope: Scope::Turn });
        }
        match self.last.take() {
            Some(Stop::Whole) => turn.succeed_with_pieces(false),
            Some(Stop::Failed(error)) => turn.fail(error),
            // Killed, or ended in the middle: the exit says how.
            None => {}
        }
    }
}

/// A tool is told when it is done, with its input and what came of it.
fn read_tool(part: &RawValue, turn: &mut Turn) -> Result<(), Refusal> {
    let [id, name, state] = pick(part, &["callID", "tool", "state"])?.values();
    let (Some(id), Some(name), Some(state)) = (word(id), word(name), state) else {
        return Err(Unparsed::WrongShape.into());
    };
    let [status, input, output, error] =
        pick(state, &["status", "input", "output", "error"])?.values();
    let input = Json::from(input.unwrap_or(RawValue::NULL));
    turn.tool_started(id.clone(), name.clone(), input, None);
    if let Some(reason) = word(error).filter(|reason| is_denial(reason)) {
        turn.tool_denied(DeniedTool { id: id.clone(), name, reason: Some(reason) });
    }
    let is_error = !is(status, "completed");
    turn.tool_finished(id, text(output).or_else(|| text(error)), is_error);
    Ok(())
}

/// Whether a tool failed because a rule or a question did not allow it.
fn is_denial(reason: &str) -> bool {
    reason.contains("rejected permission") || reason.contains("which prevents you from using")
}

/// The name of the error, its status and its message.
fn read_error(error: Option<&RawValue>) -> TurnError {
    let [name, data] = error
        .and_then(|error| pick(error, &["name", "data"]).ok())
        .map_or([None; 2], |it| it.values());
    let [message, status] = data
        .and_then(|data| pick(data, &["message", "statusCode"]).ok())
        .map_or([None; 2], |it| it.values());
    let message = text(message).or_else(|| text(name)).unwrap_or_default();
    let by_name = match plain(name) {
        Some("ProviderAuthError") => Some(ErrorClass::Auth),
        Some("ContextOverflowError") => Some(ErrorClass::Overflow),
        Some("MessageOutputLengthError") => Some(ErrorClass::Limit),
        Some("MessageAbortedError") => Some(ErrorClass::Cancelled),
        _ => None,
    };
    let by_status = count(status).and_then(ErrorClass::of_status);
    let class = by_name.or(by_status).or_else(|| ErrorClass::of_message(&message));
    TurnError::new(class.unwrap_or(ErrorClass::Crash), message)
}
