//! JSON lines for the `command` agent: the shape that we define, for programs written for us. Called by
//! [`super::StreamParser`] line by line; docs/agent-streams.md is its reference.

use super::class::{ErrorClass, TurnError};
use super::event::{Cost, DeniedTool, Scope, Unparsed, Usage};
use super::pick::{
    Refusal, amount, count, is_true, needed_text, needed_word, pick_line, plain, text, word,
};
use super::turn::Turn;
use super::{Fate, Reading};

pub(super) fn read(line: &str, turn: &mut Turn) -> Reading {
    let [kind, words] = pick_line(line, &["type", "text"])?.values();
    let kind = plain(kind).ok_or(Unparsed::WrongShape)?;
    if kind == "start" {
        let [session_id, model] = pick_line(line, &["session_id", "model"])?.values();
        turn.start(word(session_id), word(model))?;
        return Ok(Fate::Known);
    }
    turn.admit(None)?;
    match kind {
        "text" => turn.delta(needed_text(words)?),
        "thinking" => turn.thinking(needed_text(words)?),
        "tool_start" | "tool_end" | "tool_denied" => read_tool(line, kind, turn)?,
        "usage" => tell_usage(line, turn)?,
        "cost" => {
            let [usd] = pick_line(line, &["usd"])?.values();
            let usd = amount(usd).ok_or(Unparsed::WrongShape)?;
            turn.cost(Cost { usd, scope: Scope::Turn });
        }
        "warning" => {
            let (class, message) = read_error(line)?;
            turn.warn_as(class, message);
        }
        "error" => {
            let (class, message) = read_error(line)?;
            turn.fail(TurnError::new(class.unwrap_or(ErrorClass::Crash), message));
        }
        "end" => match text(words) {
            Some(text) => turn.succeed(text),
            None => turn.succeed_with_pieces(false),
        },
        _ => return Ok(Fate::Ignored),
    }
    Ok(Fate::Known)
}

fn read_tool(line: &str, kind: &str, turn: &mut Turn) -> Result<(), Refusal> {
    const NAMES: [&str; 6] = ["id", "name", "input", "output", "is_error", "reason"];
    let [id, name, input, output, is_error, reason] = pick_line(line, &NAMES)?.values();
    match kind {
        "tool_end" => turn.tool_finished(needed_word(id)?, text(output), is_true(is_error)),
        "tool_start" => turn.tool_called([id, name, input, None])?,
        _ => {
            let (id, name) = (needed_word(id)?, needed_word(name)?);
            turn.tool_denied(DeniedTool { id, name, reason: word(reason) });
        }
    }
    Ok(())
}

/// The class as it is stated, else as the words say.
fn read_error(line: &str) -> Result<(Option<ErrorClass>, String), Refusal> {
    let [message, class] = pick_line(line, &["message", "class"])?.values();
    let message = needed_text(message)?;
    let class = plain(class).and_then(|class| class.parse::<ErrorClass>().ok());
    Ok((class.or_else(|| ErrorClass::of_message(&message)), message))
}

fn tell_usage(line: &str, turn: &mut Turn) -> Result<(), Refusal> {
    const NAMES: [&str; 5] = ["input", "cache_read", "cache_write", "output", "thinking"];
    let counts = pick_line(line, &NAMES)?.values().map(count);
    let [input, cache_read, cache_write, output, thinking] = counts;
    let scope = Scope::Turn;
    turn.usage(Usage { input, cache_read, cache_write, output, thinking, scope });
    Ok(())
}
