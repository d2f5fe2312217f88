//! Codex's `exec --json`. Called by [`super::StreamParser`] line by line. Only the first event names the
//! run, and texts come whole.

use serde_json::value::RawValue;
use tertulia_session::json::Json;

use super::class::TurnError;
use super::event::{DeniedTool, Scope, StreamEvent, Unparsed, Usage, ViolationKind};
use super::pick::{count, is, message as message_of, pick, pick_line, plain, text, word};
use super::turn::Turn;
use super::{Fate, Reading};

/// What has to be remembered from line to line.
#[derive(Debug, Default)]
pub(super) struct Codex {
    is_turn_started: bool,
}

impl Codex {
    pub(super) fn read(
        &mut self,
        line: &str,
        turn: &mut Turn,
        out: &mut Vec<StreamEvent>,
    ) -> Reading {
        const NAMES: [&str; 6] = ["type", "thread_id", "item", "message", "error", "usage"];
        let [kind, thread_id, item, message, error, usage] = pick_line(line, &NAMES)?.values();
        let kind = plain(kind).ok_or(Unparsed::WrongShape)?;
        if kind == "thread.started" {
            turn.start(word(thread_id), None, out)?;
            return Ok(Fate::Known);
        }
        turn.admit(None)?;
        match kind {
            "turn.started" => {
                turn.need_start()?;
                if std::mem::replace(&mut self.is_turn_started, true) {
                    return Err(ViolationKind::SecondStart.into());
                }
            }
            "item.started" | "item.completed" => {
                turn.need_start()?;
                let item = item.ok_or(Unparsed::WrongShape)?;
                return read_item(item, kind == "item.completed", turn, out);
            }
            "turn.completed" => {
                turn.need_start()?;
                tell_usage(usage, turn, out);
                turn.succeed_with_last_text(out);
            }
            "turn.failed" => {
                turn.need_start()?;
                match message_of(error) {
                    Some(message) => turn.fail(TurnError::said(message), out),
                    None => turn.fail_as_warned("turn.failed without a message", out),
                }
            }
            // Reconnecting, or what `turn.failed` will say again.
            "error" => turn.warn(text(message).unwrap_or_default(), out),
            _ => return Ok(Fate::Ignored),
        }
        Ok(Fate::Known)
    }
}

fn read_item(
    item: &RawValue,
    is_completed: bool,
    turn: &mut Turn,
    out: &mut Vec<StreamEvent>,
) -> Reading {
    const NAMES: [&str; 9] = [
        "id",
        "type",
        "text",
        "message",
        "command",
        "changes",
        "aggregated_output",
        "exit_code",
        "status",
    ];
    let [id, kind, words, message, command, changes, output, exit_code, status] =
        pick(item, &NAMES)?.values();
    let kind = plain(kind).ok_or(Unparsed::WrongShape)?;
    match kind {
        "agent_message" | "reasoning" | "error" if !is_completed => return Ok(Fate::Ignored),
        "agent_message" => {
            turn.whole_text(text(words).ok_or(Unparsed::WrongShape)?, out);
            turn.seal_text(out);
        }
        "reasoning" => Turn::thinking(text(words).ok_or(Unparsed::WrongShape)?, out),
        "error" => turn.warn(text(message).unwrap_or_default(), out),
        _ => {
            let id = word(id).ok_or(Unparsed::WrongShape)?;
            let input = command.or(changes).unwrap_or(item);
            let tool = Tool { kind, input, output, exit_code, status };
            tool.tell(id, is_completed, turn, out);
        }
    }
    Ok(Fate::Known)
}

/// Any item that is no text: a tool at work.
struct Tool<'a> {
    kind: &'a str,
    input: &'a RawValue,
    output: Option<&'a RawValue>,
    exit_code: Option<&'a RawValue>,
    status: Option<&'a RawValue>,
}

impl Tool<'_> {
    /// One that is told only when it is done is told as both.
    fn tell(&self, id: Box<str>, is_completed: bool, turn: &mut Turn, out: &mut Vec<StreamEvent>) {
        if !turn.is_tool_open(&id) {
            turn.tool_started(id.clone(), self.kind.into(), Json::of(self.input), None, out);
        }
        if !is_completed {
            return;
        }
        let is_declined = is(self.status, "declined");
        if is_declined {
            let name = self.kind.into();
            turn.tool_denied(DeniedTool { id: id.clone(), name, reason: None }, out);
        }
        let is_bad_exit = self.exit_code.is_some_and(|code| code.get() != "0");
        let is_error = is_bad_exit || is_declined || is(self.status, "failed");
        turn.tool_finished(id, text(self.output), is_error, out);
    }
}

/// The whole thread's. What was read from a cache is part of what was read.
fn tell_usage(usage: Option<&RawValue>, turn: &mut Turn, out: &mut Vec<StreamEvent>) {
    const NAMES: [&str; 5] = [
        "input_tokens",
        "cached_input_tokens",
        "cache_write_input_tokens",
        "output_tokens",
        "reasoning_output_tokens",
    ];
    let Some(Ok(picked)) = usage.map(|usage| pick(usage, &NAMES)) else { return };
    let [input, cache_read, cache_write, output, thinking] = picked.values();
    let cache_read = count(cache_read);
    let usage = Usage {
        input: count(input).map(|input| input.saturating_sub(cache_read.unwrap_or(0))),
        cache_read,
        cache_write: count(cache_write),
        output: count(output),
        thinking: count(thinking),
        scope: Scope::Session,
    };
    turn.usage(usage, out);
}
