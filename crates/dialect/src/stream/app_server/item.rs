//! The items of a turn: texts, thoughts and tool calls. [`super::AppServer`] calls it. Tools have the names that
//! `codex exec` uses for them.

use std::borrow::Cow;

use super::AppServer;
use crate::stream::fields::{Refusal, Value};
use crate::stream::turn::Turn;
use crate::stream::{LineKind, Reading};

impl AppServer {
    pub(super) fn read_item(
        &mut self,
        item: Value<'_>,
        is_completed: bool,
        turn: &mut Turn,
    ) -> Reading {
        let [kind, words] = item.fields(&["type", "text"])?;
        match (kind.need_plain()?, is_completed) {
            ("userMessage", _) => return Ok(LineKind::Echo),
            ("agentMessage", true) => {
                turn.whole_text(words.need_text()?);
                turn.seal_text();
            }
            ("reasoning", true) => {
                if !std::mem::take(&mut self.is_thinking_reported) {
                    let [summary] = item.fields(&["summary"])?;
                    let _ = summary.each(|piece| {
                        turn.thinking(piece.text_or_empty());
                        Ok(())
                    });
                }
            }
            ("contextCompaction", _) => self.is_compacted = true,
            ("agentMessage" | "reasoning" | "hookPrompt" | "plan", _) => {
                return Ok(LineKind::Ignored);
            }
            (kind, _) => read_tool(kind, item, is_completed, turn)?,
        }
        Ok(LineKind::Known)
    }
}

/// Reads a tool call. Every item that is not a text is one. If it is reported only at its end, both its start and its
/// end are reported now.
fn read_tool(
    kind: &str,
    item: Value<'_>,
    is_completed: bool,
    turn: &mut Turn,
) -> Result<(), Refusal> {
    #[rustfmt::skip]
    const NAMES: [&str; 9] = [
        "id", "command", "changes", "arguments", "tool", "aggregatedOutput", "exitCode", "status",
        "success",
    ];
    let [id, command, changes, arguments, tool, output, exit_code, status, success] =
        item.fields(&NAMES)?;
    let id = id.need_word()?;
    let name = tool.word().unwrap_or_else(|| snake_case(kind).into());
    if !turn.is_tool_open(&id) {
        let input = command.or(changes).or(arguments).or(item).json();
        turn.tool_started(id.clone(), name.clone(), input, None);
    }
    if !is_completed {
        return Ok(());
    }
    let is_declined = status.is("declined");
    if is_declined {
        turn.tool_denied(&id, &name, None);
    }
    let is_bad_exit = exit_code.source().is_some_and(|code| code != "0");
    let has_failed = status.is("failed") || success.source() == Some("false");
    let output = output.text().or_else(|| item.at(&["result"]).source().map(str::to_owned));
    turn.tool_finished(id, output, is_bad_exit || is_declined || has_failed);
    Ok(())
}

/// Returns `commandExecution` as `command_execution`.
pub(super) fn snake_case(name: &str) -> Cow<'_, str> {
    if !name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Cow::Borrowed(name);
    }
    let mut words = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            words.push('_');
        }
        words.push(letter.to_ascii_lowercase());
    }
    Cow::Owned(words)
}
