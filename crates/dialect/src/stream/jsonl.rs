//! JSON lines for the `command` agent: our own format, for programs written for Tertulia. [`super::StreamParser`]
//! calls it line by line. docs/agent-streams.md is its reference.

use super::error_class::{ErrorClass, TurnError};
use super::event::{Cost, Scope, Unparsed, Usage};
use super::fields::{Refusal, Value, read_fields};
use super::turn::Turn;
use super::{LineKind, Reading};

pub(super) fn read(line: &str, turn: &mut Turn) -> Reading {
    let [kind, words] = read_fields(line, &["type", "text"])?;
    let kind = kind.need_plain()?;
    if kind == "start" {
        let [session_id, model] = read_fields(line, &["session_id", "model"])?;
        return turn.start(session_id.word(), model.word());
    }
    turn.admit(None)?;
    match kind {
        "text" => turn.delta(words.need_text()?),
        "thinking" => turn.thinking(words.need_text()?),
        "tool_start" | "tool_end" | "tool_denied" => read_tool(line, kind, turn)?,
        "usage" => {
            const NAMES: [&str; 5] = ["input", "cache_read", "cache_write", "output", "thinking"];
            let [input, cache_read, cache_write, output, thinking] =
                read_fields(line, &NAMES)?.map(Value::count);
            let scope = Scope::Turn;
            turn.usage(Usage { input, cache_read, cache_write, output, thinking, scope });
        }
        "cost" => {
            let [usd] = read_fields(line, &["usd"])?;
            let usd = usd.amount().ok_or(Unparsed::WrongShape)?;
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
        "end" => match words.text() {
            Some(text) => turn.succeed(text),
            None => turn.succeed_with_pieces(false),
        },
        _ => return Ok(LineKind::Ignored),
    }
    Ok(LineKind::Known)
}

fn read_tool(line: &str, kind: &str, turn: &mut Turn) -> Result<(), Refusal> {
    const NAMES: [&str; 6] = ["id", "name", "input", "output", "is_error", "reason"];
    let [id, name, input, output, is_error, reason] = read_fields(line, &NAMES)?;
    match kind {
        "tool_start" => turn.tool_called([id, name, input, Value::default()])?,
        "tool_end" => turn.tool_finished(id.need_word()?, output.text(), is_error.is_true()),
        _ => turn.tool_denied(&id.need_word()?, &name.need_word()?, reason.text().as_deref()),
    }
    Ok(())
}

/// Returns the class that the line names, or otherwise the class of its message.
fn read_error(line: &str) -> Result<(Option<ErrorClass>, String), Refusal> {
    let [message, class] = read_fields(line, &["message", "class"])?;
    let message = message.need_text()?;
    let class = class.plain().and_then(|class| class.parse::<ErrorClass>().ok());
    Ok((class.or_else(|| ErrorClass::from_message(&message)), message))
}
