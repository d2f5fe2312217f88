//! Gemini CLI's `-o stream-json`. [`super::StreamParser`] calls it line by line. The output echoes the prompt,
//! contains no final text, and repeats a text after a retry without marking it.

use super::event::Usage;
use super::fields::{Refusal, Value, read_fields};
use super::turn::Turn;
use super::{LineKind, Reading};

#[derive(Debug, Default)]
pub(super) struct Gemini {
    /// Length of the echo of the prompt as JSON.
    pub(super) echo_bytes: u64,
}

impl Gemini {
    pub(super) fn read(&mut self, line: &str, turn: &mut Turn) -> Reading {
        const NAMES: [&str; 6] = ["type", "session_id", "model", "role", "content", "message"];
        let [kind, session_id, model, role, content, words] = read_fields(line, &NAMES)?;
        let kind = kind.need_plain()?;
        if kind == "init" {
            return turn.start(session_id.word(), model.word());
        }
        // In a genuine run only the first line contains the session id.
        turn.admit(session_id.text().as_deref())?;
        if matches!(kind, "message" | "tool_use" | "tool_result") {
            turn.need_start()?;
        }
        match kind {
            "message" => match role.plain() {
                Some("assistant") => turn.delta(content.need_text()?),
                Some("user") => {
                    self.echo_bytes += content.source().map_or(0, |content| content.len() as u64);
                    return Ok(LineKind::Echo);
                }
                _ => return Ok(LineKind::Ignored),
            },
            "tool_use" => {
                let [id, name, input] = read_fields(line, &["tool_id", "tool_name", "parameters"])?;
                turn.tool_called([id, name, input, Value::default()])?;
            }
            "tool_result" => read_tool_result(line, turn)?,
            "error" => turn.warn(words.text_or_empty()),
            "result" => read_result(line, turn)?,
            _ => return Ok(LineKind::Ignored),
        }
        Ok(LineKind::Known)
    }
}

fn read_tool_result(line: &str, turn: &mut Turn) -> Result<(), Refusal> {
    let [id, status, output, error] = read_fields(line, &["tool_id", "status", "output", "error"])?;
    let id = id.need_word()?;
    // A tool that the mode does not allow is reported as not registered.
    if let Ok([kind, reason]) = error.fields(&["type", "message"])
        && kind.is("tool_not_registered")
    {
        turn.tool_denied(&id, &turn.tool_name(&id), reason.text().as_deref());
    }
    turn.tool_finished(id, output.text(), !status.is("success"));
    Ok(())
}

/// Returns the usage of this run. `input` is the part of `input_tokens` that was not cached. Only the total includes
/// thinking.
fn usage_of(stats: Value<'_>) -> Option<Usage> {
    const NAMES: [&str; 5] = ["input", "cached", "output_tokens", "input_tokens", "total_tokens"];
    let counts = stats.fields(&NAMES).ok()?.map(Value::count);
    let [input, cache_read, output, whole_input, total] = counts;
    let said = whole_input.zip(output).map(|(input, output)| input.saturating_add(output));
    let thinking = total.zip(said).map(|(total, said)| total.saturating_sub(said));
    let thinking = thinking.filter(|thinking| *thinking > 0);
    let output = output.map(|output| output.saturating_add(thinking.unwrap_or(0)));
    Some(Usage { input, cache_read, output, thinking, ..Usage::default() })
}

fn read_result(line: &str, turn: &mut Turn) -> Result<(), Refusal> {
    let [status, success, error, stats] =
        read_fields(line, &["status", "success", "error", "stats"])?;
    // Older versions write `success: true`.
    let is_success =
        if status.is_some() { status.is("success") } else { success.need()?.is_true() };
    if is_success {
        turn.need_start()?;
        turn.end_text();
    }
    if let Some(usage) = usage_of(stats) {
        turn.usage(usage);
    }
    if is_success {
        turn.succeed_with_pieces(true);
    } else {
        turn.fail_with(error.message(), "result with an error and without a message");
    }
    Ok(())
}
