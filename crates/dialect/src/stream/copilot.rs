//! Copilot CLI's `--output-format json`. Called by [`super::StreamParser`] line by line. The prompt is said back, the
//! session is named by the last line only, and no tokens are told.

use serde_json::value::RawValue;

use super::class::ErrorClass;
use super::event::{DeniedTool, Unparsed};
use super::pick::{
    Refusal, count, is, is_true, needed_text, needed_word, pick, pick_line, plain, text, word,
};
use super::turn::Turn;
use super::{Fate, Reading};

pub(super) fn read(line: &str, turn: &mut Turn) -> Reading {
    const NAMES: [&str; 4] = ["type", "data", "sessionId", "exitCode"];
    let [kind, data, session_id, exit_code] = pick_line(line, &NAMES)?.values();
    let kind = plain(kind).ok_or(Unparsed::WrongShape)?;
    turn.admit(word(session_id).as_deref())?;
    if turn.need_start().is_err() {
        turn.start(None, None)?;
    }
    let data = || data.ok_or(Unparsed::WrongShape);
    match kind {
        "user.message" => return Ok(Fate::Echo),
        "model.call_start" => {
            let [model] = pick(data()?, &["model"])?.values();
            turn.model = word(model).or(turn.model.take());
        }
        "assistant.message_delta" | "assistant.message" => {
            return read_message(data()?, turn);
        }
        "assistant.reasoning_delta" => {
            let [delta] = pick(data()?, &["deltaContent"])?.values();
            turn.thinking(text(delta).unwrap_or_default());
        }
        // What came of the attempt that failed is said again.
        "assistant.turn_retry" => turn.withdraw(),
        "assistant.turn_start" => turn.seal_text(),
        "tool.execution_start" => {
            const NAMES: [&str; 4] = ["toolCallId", "toolName", "arguments", "parentToolCallId"];
            turn.tool_called(pick(data()?, &NAMES)?.values())?;
        }
        "tool.execution_complete" => read_tool_result(data()?, turn)?,
        "session.error" => {
            let [message, status] = pick(data()?, &["message", "statusCode"])?.values();
            let message = text(message).unwrap_or_default();
            let class = match count(status).and_then(ErrorClass::of_status) {
                None if message.starts_with("No response was returned") => Some(ErrorClass::Empty),
                None => ErrorClass::of_message(&message),
                by_status => by_status,
            };
            turn.warn_as(class, message);
        }
        "result" => match count(exit_code) {
            Some(0) => turn.succeed_with_pieces(false),
            _ => turn.fail_as_warned("result with an exit code that is not 0"),
        },
        _ => return Ok(Fate::Ignored),
    }
    Ok(Fate::Known)
}

/// A message, or a piece of one. Those of the agents that it starts itself are results of a tool.
fn read_message(data: &RawValue, turn: &mut Turn) -> Reading {
    const NAMES: [&str; 3] = ["parentToolCallId", "deltaContent", "content"];
    let [parent, delta, content] = pick(data, &NAMES)?.values();
    match (parent, delta, content) {
        (Some(_), _, _) => return Ok(Fate::Ignored),
        (None, Some(delta), _) => {
            turn.delta(text(Some(delta)).ok_or(Unparsed::WrongShape)?);
        }
        (None, None, content) => {
            turn.whole_text(needed_text(content)?);
        }
    }
    Ok(Fate::Known)
}

fn read_tool_result(data: &RawValue, turn: &mut Turn) -> Result<(), Refusal> {
    const NAMES: [&str; 4] = ["toolCallId", "success", "result", "error"];
    let [id, success, result, error] = pick(data, &NAMES)?.values();
    let id = needed_word(id)?;
    let content = result.and_then(|result| pick(result, &["content"]).ok());
    let mut output = content.and_then(|content| text(content.values()[0]));
    if let Some(Ok(picked)) = error.map(|error| pick(error, &["code", "message"])) {
        let [code, message] = picked.values();
        output = output.or_else(|| text(message));
        if is(code, "denied") || is(code, "rejected") {
            let name = turn.tool_name(&id).unwrap_or_default();
            turn.tool_denied(DeniedTool { id: id.clone(), name, reason: word(message) });
        }
    }
    turn.tool_finished(id, output, !is_true(success));
    Ok(())
}
