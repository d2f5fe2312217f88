//! opencode's `run --format json`. [`super::StreamParser`] calls it line by line. Every line contains the session id,
//! and texts arrive whole. There is no final event: the turn ends with the process, and it succeeded if its last step
//! ended by itself.

use super::error_class::{ErrorClass, TurnError};
use super::fields::{Refusal, Value, read_fields};
use super::turn::{Steps, Turn};
use super::usage_limit::UsageLimit;
use super::{LineKind, Reading};

#[derive(Debug, Default)]
pub(super) struct OpenCode(Steps);

impl OpenCode {
    pub(super) fn read(&mut self, line: &str, turn: &mut Turn) -> Reading {
        let [kind, session_id, part, error] =
            read_fields(line, &["type", "sessionID", "part", "error"])?;
        let kind = kind.need_plain()?;
        let session_id = session_id.need_word()?;
        turn.admit(Some(&session_id))?;
        if turn.need_start().is_err() {
            turn.start(Some(session_id), None)?;
        }
        match kind {
            "step_start" => {
                self.0.last = None;
                turn.seal_text();
            }
            "text" => {
                let [words] = part.fields(&["text"])?;
                turn.delta(words.need_text()?);
                turn.end_text();
            }
            "reasoning" => {
                let [words] = part.fields(&["text"])?;
                turn.thinking(words.text_or_empty());
            }
            "tool_use" => read_tool(part, turn)?,
            "step_finish" => self.finish_step(part, turn)?,
            "error" => {
                let error = read_error(error, turn);
                turn.warn_as(Some(error.class), error.message.clone().into());
                self.0.last = Some(Err(error));
            }
            _ => return Ok(LineKind::Ignored),
        }
        Ok(LineKind::Known)
    }

    fn finish_step(&mut self, part: Value<'_>, turn: &mut Turn) -> Result<(), Refusal> {
        let [reason, tokens, cost] = part.fields(&["reason", "tokens", "cost"])?;
        let failed = |class, message: &str| Some(Err(TurnError::new(class, message)));
        let counts = counts_of(tokens).unwrap_or_default();
        self.0.count(counts, cost.amount(), turn);
        self.0.last = match reason.plain() {
            Some("stop") => Some(Ok(())),
            Some("length") => failed(ErrorClass::Limit, "the model stopped at max_output_tokens"),
            Some("content-filter") => {
                failed(ErrorClass::Refused, "the model's safety filter stopped the answer")
            }
            _ => None,
        };
        Ok(())
    }

    pub(super) fn finish(&mut self, turn: &mut Turn) {
        if turn.need_start().is_err() || turn.end.is_some() {
            return;
        }
        // A process that was killed has not ended its last step, so its exit decides.
        self.0.end(turn);
    }
}

/// Returns the tokens of a step. Neither cached tokens nor thinking are part of another count.
fn counts_of(tokens: Value<'_>) -> Option<[Option<u64>; 5]> {
    let counts = tokens.fields(&["input", "output", "reasoning", "cache"]).ok()?;
    let [input, output, thinking, cache] = counts;
    let [cache_read, cache_write] = cache.fields(&["read", "write"]).unwrap_or_default();
    let counts = [input, cache_read, cache_write, output, thinking];
    let [input, cache_read, cache_write, output, thinking] = counts.map(Value::count);
    let output = output.map(|output| output.saturating_add(thinking.unwrap_or(0)));
    Some([input, cache_read, cache_write, output, thinking])
}

/// Reads a tool call. It is reported at its end, with its input and output.
fn read_tool(part: Value<'_>, turn: &mut Turn) -> Result<(), Refusal> {
    let [id, name, state] = part.fields(&["callID", "tool", "state"])?;
    let (id, name) = (id.need_word()?, name.need_word()?);
    let [status, input, output, error] = state.fields(&["status", "input", "output", "error"])?;
    turn.tool_started(id.clone(), name.clone(), input.json(), None);
    let error = error.text();
    // A rule or a person did not allow the call.
    if let Some(reason) = error.as_deref()
        && (reason.contains("rejected permission")
            || reason.contains("which prevents you from using"))
    {
        turn.tool_denied(&id, &name, Some(reason));
    }
    turn.tool_finished(id, output.text().or(error), !status.is("completed"));
    Ok(())
}

fn read_error(error: Value<'_>, turn: &mut Turn) -> TurnError {
    const NAMES: [&str; 4] = ["message", "statusCode", "responseHeaders", "responseBody"];
    let [name, data] = error.fields(&["name", "data"]).unwrap_or_default();
    let [message, status, headers, body] = data.fields(&NAMES).unwrap_or_default();
    let whole = [message, headers, body].map(|part| part.source().unwrap_or_default());
    turn.limit = UsageLimit::from_response(status.count(), &whole.join("\n"));
    turn.status = status.count();
    let message = message.text().or_else(|| name.text()).unwrap_or_default();
    let by_name = match name.plain() {
        Some("ProviderAuthError") => Some(ErrorClass::Auth),
        Some("ContextOverflowError") => Some(ErrorClass::Overflow),
        Some("MessageOutputLengthError") => Some(ErrorClass::Limit),
        Some("MessageAbortedError") => Some(ErrorClass::Cancelled),
        _ => None,
    };
    let by_status = || status.count().and_then(ErrorClass::from_status);
    TurnError::classed(by_name.or_else(by_status), message)
}
