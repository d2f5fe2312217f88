//! pi's `--mode json`. Called by [`super::StreamParser`] line by line. Only the first line names the session; the
//! exit code is 0 after a failure too, and `agent_settled` is the last line of a run that ended by itself.

use serde_json::value::RawValue;

use super::class::{ErrorClass, TurnError};
use super::event::{Cost, DeniedTool, Scope, Unparsed, Usage};
use super::pick::{
    Refusal, amount, count, each, is, is_true, needed_text, needed_word, pick, pick_line, plain,
    text, word,
};
use super::turn::Turn;
use super::{Fate, Reading};

/// What has to be remembered from line to line.
#[derive(Debug, Default)]
pub(super) struct Pi {
    /// How the newest message of the model ended.
    last: Option<Stop>,
    usage: Usage,
    cost_usd: f64,
}

/// How a message of the model ended.
#[derive(Debug)]
enum Stop {
    Whole,
    /// At the output limit.
    Cut,
    /// With a tool call.
    Tool,
    Failed(TurnError),
}

impl Pi {
    pub(super) fn read(&mut self, line: &str, turn: &mut Turn) -> Reading {
        const NAMES: [&str; 5] = ["type", "id", "message", "assistantMessageEvent", "errorMessage"];
        let [kind, id, message, update, error] = pick_line(line, &NAMES)?.values();
        let kind = plain(kind).ok_or(Unparsed::WrongShape)?;
        if kind == "session" {
            turn.start(word(id), None)?;
            return Ok(Fate::Known);
        }
        turn.admit(None)?;
        turn.need_start()?;
        match kind {
            "message_start" => return read_start(message, turn),
            "message_update" => return read_update(update, turn),
            "message_end" => return self.read_message(message, turn),
            "tool_execution_start" => {
                let [id, name, input] =
                    pick_line(line, &["toolCallId", "toolName", "args"])?.values();
                turn.tool_called([id, name, input, None])?;
            }
            "tool_execution_end" => read_tool_result(line, turn)?,
            "auto_retry_start" => turn.warn(text(error).unwrap_or_default()),
            "agent_settled" => self.settle(turn),
            _ => return Ok(Fate::Ignored),
        }
        Ok(Fate::Known)
    }

    /// A message that is whole. Of one that failed, the text so far does not count: it is asked for again.
    fn read_message(&mut self, message: Option<&RawValue>, turn: &mut Turn) -> Reading {
        const NAMES: [&str; 6] =
            ["role", "content", "model", "usage", "stopReason", "errorMessage"];
        let message = message.ok_or(Unparsed::WrongShape)?;
        let [role, content, model, usage, reason, error] = pick(message, &NAMES)?.values();
        match plain(role) {
            Some("assistant") => {}
            Some("user") => return Ok(Fate::Echo),
            _ => return Ok(Fate::Ignored),
        }
        turn.model = word(model).or(turn.model.take());
        self.count(usage);
        let stop = match plain(reason) {
            Some("stop") => Stop::Whole,
            Some("length") => Stop::Cut,
            Some("toolUse") => Stop::Tool,
            _ => {
                let said = text(error).unwrap_or_else(|| "it stopped without a message".to_owned());
                Stop::Failed(failure(said))
            }
        };
        if matches!(stop, Stop::Failed(_)) {
            turn.withdraw();
        } else {
            turn.whole_text(text_of(content)?);
        }
        self.last = Some(stop);
        Ok(Fate::Known)
    }

    /// Adds what one message used.
    fn count(&mut self, usage: Option<&RawValue>) {
        const NAMES: [&str; 6] =
            ["input", "output", "cacheRead", "cacheWrite", "reasoning", "cost"];
        let Some(Ok(picked)) = usage.map(|usage| pick(usage, &NAMES)) else { return };
        let [input, output, cache_read, cache_write, thinking, cost] = picked.values();
        self.usage.add(&Usage {
            input: count(input),
            cache_read: count(cache_read),
            cache_write: count(cache_write),
            output: count(output),
            thinking: count(thinking),
            scope: Scope::Turn,
        });
        let total = cost.and_then(|cost| pick(cost, &["total"]).ok());
        self.cost_usd += total.and_then(|total| amount(total.values()[0])).unwrap_or(0.0);
    }

    /// Nothing more is done.
    fn settle(&mut self, turn: &mut Turn) {
        turn.end_text();
        turn.usage(self.usage);
        if self.cost_usd > 0.0 {
            turn.cost(Cost { usd: self.cost_usd, scope: Scope::Turn });
        }
        match self.last.take() {
            Some(Stop::Whole) => turn.succeed_with_pieces(false),
            Some(Stop::Failed(error)) => turn.fail(error),
            Some(Stop::Cut) => {
                let message = "the model stopped at max_output_tokens";
                turn.fail(TurnError::new(ErrorClass::Limit, message));
            }
            Some(Stop::Tool) | None => turn.fail_as_warned("it ended before it answered"),
        }
    }
}

/// What went wrong. A message may begin with the HTTP status: `401: {…}`.
fn failure(said: String) -> TurnError {
    let status = said.split_once(':').and_then(|(status, _)| status.parse().ok());
    match status.and_then(ErrorClass::of_status) {
        Some(class) => TurnError::new(class, said),
        None => TurnError::said(said),
    }
}

/// A new message of the model stands for itself.
fn read_start(message: Option<&RawValue>, turn: &mut Turn) -> Reading {
    let [role] = pick(message.ok_or(Unparsed::WrongShape)?, &["role"])?.values();
    match plain(role) {
        Some("assistant") => turn.seal_text(),
        Some("user") => return Ok(Fate::Echo),
        _ => return Ok(Fate::Ignored),
    }
    Ok(Fate::Known)
}

fn read_update(update: Option<&RawValue>, turn: &mut Turn) -> Reading {
    let [kind, delta] = pick(update.ok_or(Unparsed::WrongShape)?, &["type", "delta"])?.values();
    match plain(kind) {
        Some("text_delta") => turn.delta(needed_text(delta)?),
        Some("thinking_delta") => turn.thinking(text(delta).unwrap_or_default()),
        _ => return Ok(Fate::Ignored),
    }
    Ok(Fate::Known)
}

fn read_tool_result(line: &str, turn: &mut Turn) -> Result<(), Refusal> {
    let [id, result, is_error] = pick_line(line, &["toolCallId", "result", "isError"])?.values();
    let id = needed_word(id)?;
    let content = result.and_then(|result| pick(result, &["content"]).ok());
    let output = content.and_then(|content| text_of(content.values()[0]).ok());
    // Tools that it was not given are not found.
    let name = turn.tool_name(&id).unwrap_or_default();
    if is_true(is_error) && output.as_deref() == Some(&format!("Tool {name} not found")) {
        let reason = output.as_deref().map(Into::into);
        turn.tool_denied(DeniedTool { id: id.clone(), name, reason });
    }
    turn.tool_finished(id, output, is_true(is_error));
    Ok(())
}

/// The texts of a list of parts.
fn text_of(content: Option<&RawValue>) -> Result<String, Refusal> {
    let mut whole = String::new();
    let Some(content) = content else { return Ok(whole) };
    each(content, |part| {
        let [kind, words] = pick(part, &["type", "text"])?.values();
        if is(kind, "text") {
            whole.push_str(&text(words).unwrap_or_default());
        }
        Ok(())
    })?;
    Ok(whole)
}
