//! pi's `--mode json`. [`super::StreamParser`] calls it line by line. Only the first line contains the session id.
//! The exit code is 0 even after a failure. `agent_settled` is the last line of a run that ended by itself.

use super::error_class::{ErrorClass, TurnError};
use super::fields::{Refusal, Value, read_fields};
use super::turn::{Steps, Turn};
use super::{LineKind, Reading};

/// The reader of pi's lines. A step is a message of the model.
#[derive(Debug, Default)]
pub(super) struct Pi(Steps);

impl Pi {
    pub(super) fn read(&mut self, line: &str, turn: &mut Turn) -> Reading {
        const NAMES: [&str; 5] = ["type", "id", "message", "assistantMessageEvent", "errorMessage"];
        let [kind, id, message, update, error] = read_fields(line, &NAMES)?;
        let kind = kind.need_plain()?;
        if kind == "session" {
            return turn.start(id.word(), None);
        }
        turn.admit(None)?;
        turn.need_start()?;
        match kind {
            "message_start" => {
                let [role] = message.fields(&["role"])?;
                match role.plain() {
                    // A new message of the model is a separate text.
                    Some("assistant") => turn.seal_text(),
                    Some("user") => return Ok(LineKind::Echo),
                    _ => return Ok(LineKind::Ignored),
                }
            }
            "message_update" => {
                let [kind, delta] = update.fields(&["type", "delta"])?;
                match kind.plain() {
                    Some("text_delta") => turn.delta(delta.need_text()?),
                    Some("thinking_delta") => turn.thinking(delta.text_or_empty()),
                    _ => return Ok(LineKind::Ignored),
                }
            }
            "message_end" => return self.read_message(message, turn),
            "tool_execution_start" => {
                let [id, name, input] = read_fields(line, &["toolCallId", "toolName", "args"])?;
                turn.tool_called([id, name, input, Value::default()])?;
            }
            "tool_execution_end" => read_tool_result(line, turn)?,
            "auto_retry_start" => turn.warn(error.text_or_empty()),
            "agent_settled" => self.settle(turn),
            _ => return Ok(LineKind::Ignored),
        }
        Ok(LineKind::Known)
    }

    /// Reads a whole message. The text of a failed message is ignored, because the message is requested again.
    fn read_message(&mut self, message: Value<'_>, turn: &mut Turn) -> Reading {
        const NAMES: [&str; 6] =
            ["role", "content", "model", "usage", "stopReason", "errorMessage"];
        let [role, content, model, usage, reason, error] = message.fields(&NAMES)?;
        match role.plain() {
            Some("assistant") => {}
            Some("user") => return Ok(LineKind::Echo),
            _ => return Ok(LineKind::Ignored),
        }
        turn.output.model = model.word().or(turn.output.model.take());
        self.count(usage, turn);
        let last = match reason.plain() {
            Some("stop") => Some(Ok(())),
            Some("length") => {
                let message = "the model stopped at max_output_tokens";
                Some(Err(TurnError::new(ErrorClass::Limit, message)))
            }
            Some("toolUse") => None,
            _ => {
                let said =
                    error.text().unwrap_or_else(|| "it stopped without a message".to_owned());
                turn.status = status_of(&said);
                self.0.last = Some(Err(failure(said)));
                turn.withdraw();
                return Ok(LineKind::Known);
            }
        };
        turn.whole_text(text_of(content)?);
        self.0.last = last;
        Ok(LineKind::Known)
    }

    fn count(&mut self, usage: Value<'_>, turn: &mut Turn) {
        const NAMES: [&str; 6] =
            ["input", "cacheRead", "cacheWrite", "output", "reasoning", "cost"];
        let Ok([counts @ .., cost]) = usage.fields(&NAMES) else { return };
        self.0.count(counts.map(Value::count), cost.at(&["total"]).amount(), turn);
    }

    fn settle(&mut self, turn: &mut Turn) {
        turn.end_text();
        if !self.0.end(turn) {
            turn.fail_with(None, "it ended before it answered");
        }
    }
}

/// Returns the error. Its message may begin with the HTTP status: `401: {…}`.
fn failure(said: String) -> TurnError {
    TurnError::classed(status_of(&said).and_then(ErrorClass::from_status), said)
}

fn status_of(said: &str) -> Option<u64> {
    said.split_once(':').and_then(|(status, _)| status.parse().ok())
}

fn read_tool_result(line: &str, turn: &mut Turn) -> Result<(), Refusal> {
    let [id, result, is_error] = read_fields(line, &["toolCallId", "result", "isError"])?;
    let id = id.need_word()?;
    let output = result.fields(&["content"]).and_then(|[content]| text_of(content)).ok();
    // pi reports a call of a tool that it did not get as "not found".
    let name = turn.tool_name(&id);
    if is_error.is_true() && output.as_deref() == Some(&format!("Tool {name} not found")) {
        turn.tool_denied(&id, &name, output.as_deref());
    }
    turn.tool_finished(id, output, is_error.is_true());
    Ok(())
}

fn text_of(content: Value<'_>) -> Result<String, Refusal> {
    let mut whole = String::new();
    if content.is_some() {
        content.each(|part| {
            let [kind, words] = part.fields(&["type", "text"])?;
            if kind.is("text") {
                whole.push_str(&words.text_or_empty());
            }
            Ok(())
        })?;
    }
    Ok(whole)
}
