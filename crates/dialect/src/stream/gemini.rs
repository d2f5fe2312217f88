//! Gemini CLI's `-o stream-json`. Called by [`super::StreamParser`] line by line. It echoes the prompt,
//! states no final text, and repeats a text after a retry without a word.

use serde_json::value::RawValue;

use super::class::TurnError;
use super::event::{DeniedTool, Scope, Unparsed, Usage};
use super::pick::{
    Refusal, count, is, is_true, message, needed_text, needed_word, pick, pick_line, plain, text,
    word,
};
use super::turn::Turn;
use super::{Fate, Reading};

/// What has to be remembered from line to line.
#[derive(Debug, Default)]
pub(super) struct Gemini {
    /// How long the prompt's echo was, as JSON.
    pub(super) echo_bytes: u64,
}

impl Gemini {
    pub(super) fn read(&mut self, line: &str, turn: &mut Turn) -> Reading {
        const NAMES: [&str; 6] = ["type", "session_id", "model", "role", "content", "message"];
        let [kind, session_id, model, role, content, words] = pick_line(line, &NAMES)?.values();
        let kind = plain(kind).ok_or(Unparsed::WrongShape)?;
        if kind == "init" {
            turn.start(word(session_id), word(model))?;
            return Ok(Fate::Known);
        }
        // Only the first line of an honest run names its session.
        turn.admit(word(session_id).as_deref())?;
        match kind {
            "message" => {
                turn.need_start()?;
                match plain(role) {
                    Some("assistant") => {
                        turn.delta(needed_text(content)?);
                    }
                    Some("user") => {
                        self.echo_bytes += content.map_or(0, |content| content.get().len() as u64);
                        return Ok(Fate::Echo);
                    }
                    _ => return Ok(Fate::Ignored),
                }
            }
            "tool_use" => {
                turn.need_start()?;
                let [id, name, input] =
                    pick_line(line, &["tool_id", "tool_name", "parameters"])?.values();
                turn.tool_called([id, name, input, None])?;
            }
            "tool_result" => {
                turn.need_start()?;
                read_tool_result(line, turn)?;
            }
            "error" => turn.warn(text(words).unwrap_or_default()),
            "result" => read_result(line, turn)?,
            _ => return Ok(Fate::Ignored),
        }
        Ok(Fate::Known)
    }
}

fn read_tool_result(line: &str, turn: &mut Turn) -> Result<(), Refusal> {
    let [id, status, output, error] =
        pick_line(line, &["tool_id", "status", "output", "error"])?.values();
    let id = needed_word(id)?;
    if let Some(Ok(picked)) = error.map(|error| pick(error, &["type", "message"])) {
        let [kind, reason] = picked.values();
        // Tools that a mode does not allow are not registered in it.
        if is(kind, "tool_not_registered") {
            let name = turn.tool_name(&id).unwrap_or_default();
            turn.tool_denied(DeniedTool { id: id.clone(), name, reason: word(reason) });
        }
    }
    turn.tool_finished(id, text(output), !is(status, "success"));
    Ok(())
}

fn read_result(line: &str, turn: &mut Turn) -> Result<(), Refusal> {
    let [status, success, error, stats] =
        pick_line(line, &["status", "success", "error", "stats"])?.values();
    // Older versions say `success: true`.
    let is_success = match status {
        Some(status) => is(Some(status), "success"),
        None => is_true(Some(success.ok_or(Unparsed::WrongShape)?)),
    };
    if is_success {
        turn.need_start()?;
        turn.end_text();
    }
    tell_usage(stats, turn);
    if is_success {
        turn.succeed_with_pieces(true);
        return Ok(());
    }
    match message(error) {
        Some(message) => turn.fail(TurnError::said(message)),
        None => turn.fail_as_warned("result with an error and without a message"),
    }
    Ok(())
}

/// This run's. `input` is what `input_tokens` has beyond the cache.
fn tell_usage(stats: Option<&RawValue>, turn: &mut Turn) {
    const NAMES: [&str; 3] = ["input", "cached", "output_tokens"];
    let Some(Ok(picked)) = stats.map(|stats| pick(stats, &NAMES)) else { return };
    let [input, cached, output] = picked.values();
    let usage = Usage {
        input: count(input),
        cache_read: count(cached),
        output: count(output),
        scope: Scope::Turn,
        ..Usage::default()
    };
    turn.usage(usage);
}
