//! Claude Code's `--output-format stream-json`, with or without `--include-partial-messages`. [`super::StreamParser`]
//! calls it line by line. docs/agent-streams.md describes the recorded output.

mod live;
mod usage;

use super::client::AgentAsk;
use super::error_class::{ErrorClass, TurnError};
use super::fields::{Value, read_fields};
use super::turn::Turn;
use super::usage_limit::UsageLimit;
use super::{LineKind, Reading};
use live::{Live, Place};
use usage::Requests;

#[derive(Debug, Default)]
pub(super) struct Claude {
    /// Whether the thinking of the current block arrived in pieces. The whole block then repeats it.
    is_thinking_reported: bool,
    requests: Requests,
    /// Whether the history was replaced by a summary during the turn.
    pub(super) is_compacted: bool,
    pub(super) asks: Vec<AgentAsk>,
    /// For a process that gets one turn after the other.
    live: Option<Live>,
}

#[rustfmt::skip]
const COMMON: [&str; 8] = [
    "type", "subtype", "session_id", "parent_tool_use_id", "message", "event",
    "is_api_error_message", "isReplay",
];

impl Claude {
    pub(super) fn read(&mut self, line: &str, turn: &mut Turn) -> Reading {
        let [kind, subtype, session_id, parent, message, event, is_api_error, is_replay] =
            read_fields(line, &COMMON)?;
        let kind = (kind.need_plain()?, subtype.plain());
        let session_id = session_id.plain();
        if let Place::Between = self.place(line, kind.0, kind.1)? {
            return Ok(LineKind::Ignored);
        }
        if kind.0 != "result"
            && let Some(other) = self.other_session(session_id, turn)
        {
            let message =
                format!("Claude Code opened the session {other} instead of the requested one");
            turn.fail(TurnError::new(ErrorClass::Setup, message));
            return Ok(LineKind::Known);
        }
        match kind {
            ("system", Some("init")) => {
                let [model] = read_fields(line, &["model"])?;
                return turn.start(session_id.map(Into::into), model.word());
            }
            ("result", _) => return self.read_result(line, session_id, turn),
            _ => turn.admit(session_id)?,
        }
        match kind {
            ("stream_event", _) => {
                turn.need_start()?;
                // Text of a sub-agent is not part of the answer.
                if parent.is_some() {
                    return Ok(LineKind::Ignored);
                }
                self.read_partial(event, turn)
            }
            ("assistant", _) => {
                turn.need_start()?;
                self.requests.count_message(message, turn);
                self.read_blocks(message, parent, is_api_error.is_true(), turn)
            }
            ("user", _) => {
                turn.need_start()?;
                read_results(message, is_replay.is_true(), turn)
            }
            ("rate_limit_event", _) => read_limit(line, turn),
            ("system", Some("api_retry")) => read_retry(line, turn),
            ("system", Some("compact_boundary")) => {
                self.is_compacted = true;
                Ok(LineKind::Ignored)
            }
            ("system", Some("permission_denied")) => {
                let [id, name, reason] =
                    read_fields(line, &["tool_use_id", "tool_name", "message"])?;
                turn.tool_denied(&id.need_word()?, &name.need_word()?, reason.text().as_deref());
                Ok(LineKind::Known)
            }
            _ => Ok(LineKind::Ignored),
        }
    }

    /// Reads an event of the API's stream inside a line.
    fn read_partial(&mut self, event: Value<'_>, turn: &mut Turn) -> Reading {
        let [kind, delta, message, usage] = event.fields(&["type", "delta", "message", "usage"])?;
        match kind.plain() {
            Some("content_block_delta") => {
                let [kind, words, thinking] = delta.fields(&["type", "text", "thinking"])?;
                match kind.plain() {
                    Some("text_delta") => turn.delta(words.need_text()?),
                    Some("thinking_delta") => {
                        self.is_thinking_reported = true;
                        turn.thinking(thinking.need_text()?);
                    }
                    _ => return Ok(LineKind::Ignored),
                }
            }
            // The attempt has failed if a message begins or ends while pieces wait for their whole block.
            Some(kind @ ("message_start" | "message_stop")) => {
                self.is_thinking_reported = false;
                turn.withdraw();
                if kind == "message_start" {
                    self.requests.begin(message, turn);
                }
            }
            Some("message_delta") => self.requests.update(usage, turn),
            _ => return Ok(LineKind::Ignored),
        }
        Ok(LineKind::Known)
    }

    /// Reads whole blocks that the model wrote, or that the agent wrote with the role of the model.
    fn read_blocks(
        &mut self,
        message: Value<'_>,
        parent: Value<'_>,
        is_api_error: bool,
        turn: &mut Turn,
    ) -> Reading {
        let [content] = message.fields(&["content"])?;
        let is_own = !parent.is_some();
        content.each(|block| {
            let [kind, words, thinking, id, name, input] =
                block.fields(&["type", "text", "thinking", "id", "name", "input"])?;
            match kind.plain() {
                Some("text") if is_api_error => {
                    turn.withdraw();
                    turn.warn(words.text_or_empty());
                }
                Some("tool_use") => turn.tool_called([id, name, input, parent])?,
                Some("text") if is_own => turn.whole_text(words.need_text()?),
                // A whole block of thinking is reported, unless its pieces were.
                Some("thinking") if is_own && !std::mem::take(&mut self.is_thinking_reported) => {
                    turn.thinking(thinking.text_or_empty());
                }
                _ => {}
            }
            Ok(())
        })?;
        Ok(LineKind::Known)
    }

    /// Reads the last line. Its `subtype` can be "success" even after an error, so `is_error` decides.
    fn read_result(&mut self, line: &str, session_id: Option<&str>, turn: &mut Turn) -> Reading {
        #[rustfmt::skip]
        const NAMES: [&str; 9] = [
            "is_error", "result", "permission_denials", "errors", "terminal_reason", "subtype",
            "stop_reason", "api_error", "api_error_status",
        ];
        let [is_error, result, denials, errors, reason, subtype, stop, api_error, status] =
            read_fields(line, &NAMES)?;
        let is_success = is_error.source() == Some("false");
        // A run that cannot start reports an unknown session id. Its failure is accepted anyway.
        let is_stillborn = !is_success && turn.need_start().is_err();
        turn.admit(session_id.filter(|_| !is_stillborn))?;
        if is_success {
            turn.need_start()?;
        }
        usage::report(line, |total| self.turn_cost(total), turn)?;
        // Most denials were reported when they happened. An unreadable list does not invalidate the result.
        let _ = denials.each(|denial| {
            let [id, name] = denial.fields(&["tool_use_id", "tool_name"])?;
            if let (Some(id), Some(name)) = (id.word(), name.word()) {
                turn.tool_denied(&id, &name, None);
            }
            Ok(())
        });
        if is_success {
            turn.succeed(result.text_or_empty());
            return Ok(LineKind::Known);
        }
        turn.withdraw();
        let said = result.text().or_else(|| first_text(errors)).unwrap_or_default();
        let [reason, subtype, stop, api_error] =
            [reason, subtype, stop, api_error].map(Value::plain);
        let message = match reason.or(subtype) {
            Some(reason) if said.is_empty() || reason.starts_with("aborted") => reason.to_owned(),
            _ => said,
        };
        let class = match (reason, subtype, stop, api_error) {
            (Some("prompt_too_long" | "blocking_limit"), ..) => Some(ErrorClass::Overflow),
            (Some("max_turns" | "budget_exhausted"), ..)
            | (_, Some("error_max_turns" | "error_max_budget_usd"), ..) => Some(ErrorClass::Limit),
            (Some("aborted_streaming" | "aborted_tools"), ..) => Some(ErrorClass::Crash),
            (.., Some("refusal"), _) => Some(ErrorClass::Refused),
            (.., Some("connection_failed")) => Some(ErrorClass::Network),
            (.., Some("max_output_tokens")) => Some(ErrorClass::Limit),
            _ => status.count().and_then(ErrorClass::from_status),
        };
        turn.status = status.count().or(turn.status);
        turn.fail(TurnError::classed(class, message));
        Ok(LineKind::Known)
    }
}

/// Reads tool results. All other content with the role of the user is an echo, or a text of the agent for the model.
fn read_results(message: Value<'_>, is_replay: bool, turn: &mut Turn) -> Reading {
    let [content] = message.fields(&["content"])?;
    let mut line_kind = if is_replay { LineKind::Echo } else { LineKind::Ignored };
    if !content.need()?.is_list() {
        return Ok(line_kind);
    }
    content.each(|block| {
        let [kind, id, content, is_error] =
            block.fields(&["type", "tool_use_id", "content", "is_error"])?;
        if kind.is("tool_result") {
            turn.tool_finished(id.need_word()?, output_text(content), is_error.is_true());
            line_kind = LineKind::Known;
        }
        Ok(())
    })?;
    Ok(line_kind)
}

/// Returns the output of a tool: a text, or texts among other blocks, which are shown as JSON.
fn output_text(content: Value<'_>) -> Option<String> {
    content.text().or_else(|| {
        let mut pieces = Vec::new();
        let reading = content.each(|block| {
            let [words] = block.fields(&["text"])?;
            pieces.extend(words.text().or_else(|| block.source().map(str::to_owned)));
            Ok(())
        });
        if reading.is_ok() { Some(pieces.join("\n")) } else { content.source().map(str::to_owned) }
    })
}

/// Reads the state of a window of the plan. The agent reports every change, whether or not the turn fails.
fn read_limit(line: &str, turn: &mut Turn) -> Reading {
    let [info] = read_fields(line, &["rate_limit_info"])?;
    let [status, kind, resets_at] = info.fields(&["status", "rateLimitType", "resetsAt"])?;
    turn.limit = status
        .is("rejected")
        .then(|| UsageLimit::from_claude(kind.text().as_deref(), resets_at.count()));
    Ok(LineKind::Known)
}

/// Reads a line about a retry. The answer so far is withdrawn.
fn read_retry(line: &str, turn: &mut Turn) -> Reading {
    const NAMES: [&str; 4] = ["error_status", "error", "attempt", "max_retries"];
    let [status, error, attempt, attempts_max] = read_fields(line, &NAMES)?;
    let (status, error) = (status.count(), error.text_or_empty());
    turn.status = status;
    let class = status.and_then(ErrorClass::from_status).unwrap_or(ErrorClass::Network);
    let [attempt, attempts_max] = [attempt, attempts_max]
        .map(|number| number.count().map_or_else(|| "?".to_owned(), |number| number.to_string()));
    let status = status.map(|status| format!(" (status {status})")).unwrap_or_default();
    turn.withdraw();
    turn.warn_as(Some(class), format!("retry {attempt}/{attempts_max}: {error}{status}"));
    Ok(LineKind::Known)
}

fn first_text(list: Value<'_>) -> Option<String> {
    let mut first = None;
    let reading = list.each(|element| {
        first = first.take().or_else(|| element.text());
        Ok(())
    });
    reading.ok().and(first)
}
