//! Copilot CLI's `--output-format json`. [`super::StreamParser`] calls it line by line. The output echoes the prompt.
//! Only the last line contains the session id.

use super::error_class::ErrorClass;
use super::event::fresh_input;
use super::fields::{Refusal, Value, read_fields};
use super::turn::Turn;
use super::{LineKind, Reading};

pub(super) fn read(line: &str, turn: &mut Turn) -> Reading {
    const NAMES: [&str; 4] = ["type", "data", "sessionId", "exitCode"];
    let [kind, data, session_id, exit_code] = read_fields(line, &NAMES)?;
    let kind = kind.need_plain()?;
    turn.admit(session_id.text().as_deref())?;
    if turn.need_start().is_err() {
        turn.start(None, None)?;
    }
    match kind {
        "user.message" => return Ok(LineKind::Echo),
        "model.call_start" => {
            let [model] = data.fields(&["model"])?;
            turn.output.model = model.word().or(turn.output.model.take());
        }
        "assistant.usage" => read_usage(data, turn),
        "assistant.message_delta" | "assistant.message" => return read_message(data, turn),
        "assistant.reasoning_delta" => {
            let [delta] = data.fields(&["deltaContent"])?;
            turn.thinking(delta.text_or_empty());
        }
        // The retry repeats the output of the failed attempt.
        "assistant.turn_retry" => turn.withdraw(),
        "assistant.turn_start" => turn.seal_text(),
        "tool.execution_start" => {
            const NAMES: [&str; 4] = ["toolCallId", "toolName", "arguments", "parentToolCallId"];
            turn.tool_called(data.fields(&NAMES)?)?;
        }
        "tool.execution_complete" => read_tool_result(data, turn)?,
        "session.error" => {
            let [message, status] = data.fields(&["message", "statusCode"])?;
            let message = message.text_or_empty();
            turn.status = status.count();
            let class = match status.count().and_then(ErrorClass::from_status) {
                None if message.starts_with("No response was returned") => Some(ErrorClass::Empty),
                None => ErrorClass::from_message(&message),
                by_status => by_status,
            };
            turn.warn_as(class, message);
        }
        "result" => match exit_code.count() {
            Some(0) => turn.succeed_with_pieces(false),
            _ => turn.fail_with(None, "result with an exit code that is not 0"),
        },
        _ => return Ok(LineKind::Ignored),
    }
    Ok(LineKind::Known)
}

/// Reads a message or a piece of one. Messages of sub-agents are tool results.
fn read_message(data: Value<'_>, turn: &mut Turn) -> Reading {
    let [parent, delta, content] = data.fields(&["parentToolCallId", "deltaContent", "content"])?;
    if parent.is_some() {
        return Ok(LineKind::Ignored);
    }
    if delta.is_some() {
        turn.delta(delta.need_text()?);
    } else {
        turn.whole_text(content.need_text()?);
    }
    Ok(LineKind::Known)
}

/// Reads the usage of a request, which not every version reports. Cached tokens are part of the input.
fn read_usage(data: Value<'_>, turn: &mut Turn) {
    const NAMES: [&str; 5] =
        ["inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens", "reasoningTokens"];
    let Ok(counts) = data.fields(&NAMES) else { return };
    let [input, cache_read, cache_write, output, thinking] = counts.map(Value::count);
    let input = fresh_input(input, [cache_read, cache_write]);
    turn.add_usage([input, cache_read, cache_write, output, thinking]);
}

fn read_tool_result(data: Value<'_>, turn: &mut Turn) -> Result<(), Refusal> {
    let [id, success, result, error] =
        data.fields(&["toolCallId", "success", "result", "error"])?;
    let id = id.need_word()?;
    let mut output = result.at(&["content"]).text();
    if let Ok([code, message]) = error.fields(&["code", "message"]) {
        let message = message.text();
        if code.is("denied") || code.is("rejected") {
            turn.tool_denied(&id, &turn.tool_name(&id), message.as_deref());
        }
        output = output.or(message);
    }
    turn.tool_finished(id, output, !success.is_true());
    Ok(())
}
