//! JSON lines for the `command` agent: the shape that we define, for programs written for us. Called by
//! [`super::StreamParser`] line by line; docs/agent-streams.md is its reference.

use serde_json::value::RawValue;
use tertulia_session::json::Json;

use super::class::{ErrorClass, TurnError};
use super::event::{Cost, DeniedTool, Scope, StreamEvent, Unparsed, Usage};
use super::pick::{Refusal, amount, count, is_true, pick_line, plain, text, word};
use super::turn::Turn;
use super::{Fate, Reading};

pub(super) fn read(line: &str, turn: &mut Turn, out: &mut Vec<StreamEvent>) -> Reading {
    let [kind, words] = pick_line(line, &["type", "text"])?.values();
    let kind = plain(kind).ok_or(Unparsed::WrongShape)?;
    if kind == "start" {
        let [session_id, model] = pick_line(line, &["session_id", "model"])?.values();
        turn.start(word(session_id), word(model), out)?;
        return Ok(Fate::Known);
    }
    turn.admit(None)?;
    match kind {
        "text" => turn.delta(text(words).ok_or(Unparsed::WrongShape)?, out),
        "thinking" => Turn::thinking(text(words).ok_or(Unparsed::WrongShape)?, out),
        "tool_start" | "tool_end" | "tool_denied" => read_tool(line, kind, turn, out)?,
        "usage" => tell_usage(line, turn, out)?,
        "cost" => {
            let [usd] = pick_line(line, &["usd"])?.values();
            let usd = amount(usd).ok_or(Unparsed::WrongShape)?;
            turn.cost(Cost { usd, scope: Scope::Turn }, out);
        }
        "warning" => {
            let (class, message) = read_error(line)?;
            turn.warn_as(class, message, out);
        }
        "error" => {
            let (class, message) = read_error(line)?;
            turn.fail(TurnError::new(class.unwrap_or(ErrorClass::Crash), message), out);
        }
        "end" => match text(words) {
            Some(text) => turn.succeed(text, out),
            None => turn.succeed_with_pieces(false, out),
        },
        _ => return Ok(Fate::Ignored),
    }
    Ok(Fate::Known)
}

fn read_tool(
    line: &str,
    kind: &str,
    turn: &mut Turn,
    out: &mut Vec<StreamEvent>,
) -> Result<(), Refusal> {
    const NAMES: [&str; 6] = ["id", "name", "input", "output", "is_error", "reason"];
    let [id, name, input, output, is_error, reason] = pick_line(line, &NAMES)?.values();
    let id = word(id).ok_or(Unparsed::WrongShape)?;
    match kind {
        "tool_end" => turn.tool_finished(id, text(output), is_true(is_error), out),
        "tool_start" => {
            let name = word(name).ok_or(Unparsed::WrongShape)?;
            let input = Json::of(input.unwrap_or(RawValue::NULL));
            turn.tool_started(id, name, input, None, out);
        }
        _ => {
            let name = word(name).ok_or(Unparsed::WrongShape)?;
            turn.tool_denied(DeniedTool { id, name, reason: word(reason) }, out);
        }
    }
    Ok(())
}

/// The class as it is stated, else as the words say.
fn read_error(line: &str) -> Result<(Option<ErrorClass>, String), Refusal> {
    let [message, class] = pick_line(line, &["message", "class"])?.values();
    let message = text(message).ok_or(Unparsed::WrongShape)?;
    let class = plain(class).and_then(|class| class.parse::<ErrorClass>().ok());
    Ok((class.or_else(|| ErrorClass::of_message(&message)), message))
}

fn tell_usage(line: &str, turn: &mut Turn, out: &mut Vec<StreamEvent>) -> Result<(), Refusal> {
    const NAMES: [&str; 5] = ["input", "cache_read", "cache_write", "output", "thinking"];
    let counts = pick_line(line, &NAMES)?.values().map(count);
    let [input, cache_read, cache_write, output, thinking] = counts;
    let scope = Scope::Turn;
    turn.usage(Usage { input, cache_read, cache_write, output, thinking, scope }, out);
    Ok(())
}
