//! Claude Code's `--output-format stream-json`, with or without `--include-partial-messages`. Called by
//! [`super::StreamParser`] line by line; docs/agent-streams.md lists what was recorded.

mod result;

use serde_json::value::RawValue;
use tertulia_session::json::Kind;

use super::class::ErrorClass;
use super::event::{DeniedTool, Unparsed};
use super::pick::{
    count, each, is, is_true, needed, needed_text, needed_word, pick, pick_line, plain, text, word,
};
use super::turn::Turn;
use super::{Fate, Reading};

/// What has to be remembered from line to line.
#[derive(Debug, Default)]
pub(super) struct Claude {
    /// The thinking of the block that is being written came in pieces; the whole block repeats it.
    is_thinking_told: bool,
}

/// The fields of a line that more than one type has.
const COMMON: [&str; 8] = [
    "type",
    "subtype",
    "session_id",
    "parent_tool_use_id",
    "message",
    "event",
    "is_api_error_message",
    "isReplay",
];

impl Claude {
    pub(super) fn read(&mut self, line: &str, turn: &mut Turn) -> Reading {
        let [kind, subtype, session_id, parent, message, event, is_api_error, is_replay] =
            pick_line(line, &COMMON)?.values();
        let kind = plain(kind).ok_or(Unparsed::WrongShape)?;
        let session_id = plain(session_id);
        match (kind, plain(subtype)) {
            ("system", Some("init")) => {
                let [model] = pick_line(line, &["model"])?.values();
                turn.start(session_id.map(Into::into), word(model))?;
                return Ok(Fate::Known);
            }
            ("result", _) => return result::read(line, session_id, turn),
            _ => turn.admit(session_id)?,
        }
        match (kind, plain(subtype)) {
            ("stream_event", _) => {
                turn.need_start()?;
                // A sub-agent's words are not the answer.
                if parent.is_some() {
                    return Ok(Fate::Ignored);
                }
                self.read_partial(needed(event)?, turn)
            }
            ("assistant", _) => {
                turn.need_start()?;
                let is_api_error = is_true(is_api_error);
                self.read_blocks(needed(message)?, parent, is_api_error, turn)
            }
            ("user", _) => {
                turn.need_start()?;
                read_results(needed(message)?, is_true(is_replay), turn)
            }
            ("system", Some("api_retry")) => read_retry(line, turn),
            ("system", Some("permission_denied")) => read_denial(line, turn),
            _ => Ok(Fate::Ignored),
        }
    }

    /// An event of the API's own stream, as it arrives.
    fn read_partial(&mut self, event: &RawValue, turn: &mut Turn) -> Reading {
        let [kind, delta] = pick(event, &["type", "delta"])?.values();
        match plain(kind) {
            Some("content_block_delta") => {
                let [kind, words, thinking] =
                    pick(needed(delta)?, &["type", "text", "thinking"])?.values();
                match plain(kind) {
                    Some("text_delta") => turn.delta(needed_text(words)?),
                    Some("thinking_delta") => {
                        self.is_thinking_told = true;
                        turn.thinking(needed_text(thinking)?);
                    }
                    _ => return Ok(Fate::Ignored),
                }
                Ok(Fate::Known)
            }
            // A message that ends or begins while pieces wait for their whole block: the attempt failed.
            Some("message_start" | "message_stop") => {
                self.is_thinking_told = false;
                turn.withdraw();
                Ok(Fate::Known)
            }
            _ => Ok(Fate::Ignored),
        }
    }

    /// Whole blocks of the model's, or of the agent's own in the model's name.
    fn read_blocks(
        &mut self,
        message: &RawValue,
        parent: Option<&RawValue>,
        is_api_error: bool,
        turn: &mut Turn,
    ) -> Reading {
        let [content] = pick(message, &["content"])?.values();
        each(needed(content)?, |block| {
            let [kind, words, thinking, id, name, input] =
                pick(block, &["type", "text", "thinking", "id", "name", "input"])?.values();
            match plain(kind) {
                Some("text") if is_api_error => {
                    turn.withdraw();
                    turn.warn(text(words).unwrap_or_default());
                }
                Some("tool_use") => turn.tool_called([id, name, input, parent])?,
                Some("text") if parent.is_none() => {
                    turn.whole_text(needed_text(words)?);
                }
                // A whole block of thinking, unless its pieces were told.
                Some("thinking")
                    if parent.is_none() && !std::mem::take(&mut self.is_thinking_told) =>
                {
                    turn.thinking(text(thinking).unwrap_or_default());
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(Fate::Known)
    }
}

/// The results of tools. Everything else in the user's name is an echo, or the agent's own words to the
/// model.
fn read_results(message: &RawValue, is_replay: bool, turn: &mut Turn) -> Reading {
    let [content] = pick(message, &["content"])?.values();
    let mut fate = if is_replay { Fate::Echo } else { Fate::Ignored };
    let content = needed(content)?;
    if Kind::from(content) != Kind::Array {
        return Ok(fate);
    }
    each(content, |block| {
        let [kind, id, content, is_error] =
            pick(block, &["type", "tool_use_id", "content", "is_error"])?.values();
        if is(kind, "tool_result") {
            let output = content.map(output_text);
            turn.tool_finished(needed_word(id)?, output, is_true(is_error));
            fate = Fate::Known;
        }
        Ok(())
    })?;
    Ok(fate)
}

/// What a tool gave: a text, or texts among other blocks, which are shown as the JSON they are.
fn output_text(content: &RawValue) -> String {
    if let Some(text) = text(Some(content)) {
        return text;
    }
    let mut pieces = Vec::new();
    let reading = each(content, |block| {
        let [words] = pick(block, &["text"])?.values();
        pieces.push(text(words).unwrap_or_else(|| block.get().to_owned()));
        Ok(())
    });
    if reading.is_ok() { pieces.join("\n") } else { content.get().to_owned() }
}

/// The agent will ask again. What it had written of the answer is void.
fn read_retry(line: &str, turn: &mut Turn) -> Reading {
    const NAMES: [&str; 4] = ["error_status", "error", "attempt", "max_retries"];
    let [status, error, attempt, attempts_max] = pick_line(line, &NAMES)?.values();
    let (status, error) = (count(status), text(error).unwrap_or_default());
    let class = status.and_then(ErrorClass::of_status).unwrap_or(ErrorClass::Network);
    let number = |raw| count(raw).map_or_else(|| "?".to_owned(), |number| number.to_string());
    let status = status.map(|status| format!(" (status {status})")).unwrap_or_default();
    let (attempt, attempts_max) = (number(attempt), number(attempts_max));
    turn.withdraw();
    turn.warn_as(Some(class), format!("retry {attempt}/{attempts_max}: {error}{status}"));
    Ok(Fate::Known)
}

fn read_denial(line: &str, turn: &mut Turn) -> Reading {
    let [id, name, reason] = pick_line(line, &["tool_use_id", "tool_name", "message"])?.values();
    let (id, name) = (needed_word(id)?, needed_word(name)?);
    turn.tool_denied(DeniedTool { id, name, reason: word(reason) });
    Ok(Fate::Known)
}
