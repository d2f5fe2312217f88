//! Codex's `exec --json`. [`super::StreamParser`] calls it line by line. Only the first event contains the session
//! id, and texts arrive whole.

use super::event::{Scope, Usage, ViolationKind, fresh_input};
use super::fields::{Field, Refusal, Value, read_fields, read_shape, values};
use super::turn::Turn;
use super::{LineKind, Reading};

#[derive(Debug, Default)]
pub(super) struct Codex {
    is_turn_started: bool,
}

impl Codex {
    pub(super) fn read(&mut self, line: &str, turn: &mut Turn) -> Reading {
        if let Some((item, is_completed)) = Item::parse_line(line) {
            turn.admit(None)?;
            turn.need_start()?;
            return item.report(is_completed, turn);
        }
        const NAMES: [&str; 6] = ["type", "thread_id", "item", "message", "error", "usage"];
        let [kind, thread_id, item, message, error, usage] = read_fields(line, &NAMES)?;
        let kind = kind.need_plain()?;
        if kind == "thread.started" {
            return turn.start(thread_id.word(), None);
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
                return Item::parse(item)?.report(kind == "item.completed", turn);
            }
            "turn.completed" => {
                turn.need_start()?;
                report_usage(usage, turn);
                turn.succeed_with_last_text();
            }
            "turn.failed" => {
                turn.need_start()?;
                turn.fail_with(error.message(), "turn.failed without a message");
            }
            // This line is about reconnecting, or `turn.failed` will repeat it.
            "error" => turn.warn(message.text_or_empty()),
            _ => return Ok(LineKind::Ignored),
        }
        Ok(LineKind::Known)
    }
}

/// Reports the usage of the whole thread. Cached and written tokens are part of the input.
fn report_usage(usage: Value<'_>, turn: &mut Turn) {
    #[rustfmt::skip]
    const NAMES: [&str; 5] = [
        "input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens",
        "reasoning_output_tokens",
    ];
    let Ok(counts) = usage.fields(&NAMES) else { return };
    let [input, cache_read, cache_write, output, thinking] = counts.map(Value::count);
    let input = fresh_input(input, [cache_read, cache_write]);
    let scope = Scope::Session;
    turn.usage(Usage { input, cache_read, cache_write, output, thinking, scope });
}

#[rustfmt::skip]
const ITEM_NAMES: [&str; 9] = [
    "id", "type", "text", "message", "command", "changes", "aggregated_output", "exit_code",
    "status",
];

/// An item: a text, a thought, or a tool call.
struct Item<'a> {
    kind: &'a str,
    id: Value<'a>,
    text: Value<'a>,
    message: Value<'a>,
    input: Value<'a>,
    output: Value<'a>,
    exit_code: Value<'a>,
    status: Value<'a>,
}

impl<'a> Item<'a> {
    /// Parses a line in one pass if it is a usual item, and returns whether the item is completed. Most lines are
    /// usual items, and reading them level by level would parse them several times.
    fn parse_line(line: &'a str) -> Option<(Self, bool)> {
        const ITEM: [Field<'_>; 9] = values(&ITEM_NAMES, 1);
        const SHAPE: [Field<'_>; 2] = [Field::Value("type", 0), Field::Object("item", &ITEM)];
        let [event, id, kind, text, message, command, changes, output, exit_code, status] =
            read_shape::<10>(line, &SHAPE)?;
        let is_completed = event.is("item.completed");
        if !is_completed && !event.is("item.started") {
            return None;
        }
        let kind = kind.plain()?;
        let input = command.or(changes);
        // A tool call without input is reported with the whole item, which is not available here.
        let is_whole = input.is_some() || is_said(kind);
        let item = Self { kind, id, text, message, input, output, exit_code, status };
        is_whole.then_some((item, is_completed))
    }

    /// Parses an item whose content may be unusual.
    fn parse(item: Value<'a>) -> Result<Self, Refusal> {
        let [id, kind, text, message, command, changes, output, exit_code, status] =
            item.fields(&ITEM_NAMES)?;
        let kind = kind.need_plain()?;
        let input = command.or(changes).or(item);
        Ok(Self { kind, id, text, message, input, output, exit_code, status })
    }

    fn report(&self, is_completed: bool, turn: &mut Turn) -> Reading {
        match self.kind {
            kind if is_said(kind) && !is_completed => return Ok(LineKind::Ignored),
            "agent_message" => {
                turn.whole_text(self.text.need_text()?);
                turn.seal_text();
            }
            "reasoning" => turn.thinking(self.text.need_text()?),
            "error" => turn.warn(self.message.text_or_empty()),
            _ => self.report_tool(turn, is_completed)?,
        }
        Ok(LineKind::Known)
    }

    /// Reports a tool call. Every item that is not a text is one. If an item is reported only at its end, both its
    /// start and its end are reported now.
    fn report_tool(&self, turn: &mut Turn, is_completed: bool) -> Result<(), Refusal> {
        let id = self.id.need_word()?;
        if !turn.is_tool_open(&id) {
            turn.tool_started(id.clone(), self.kind.into(), self.input.need()?.json(), None);
        }
        if !is_completed {
            return Ok(());
        }
        let is_declined = self.status.is("declined");
        if is_declined {
            turn.tool_denied(&id, self.kind, None);
        }
        let is_bad_exit = self.exit_code.source().is_some_and(|code| code != "0");
        let is_error = is_bad_exit || is_declined || self.status.is("failed");
        turn.tool_finished(id, self.output.text(), is_error);
        Ok(())
    }
}

fn is_said(kind: &str) -> bool {
    matches!(kind, "agent_message" | "reasoning" | "error")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields<'a>(item: &'a Item<'a>) -> (&'a str, [Option<&'a str>; 7]) {
        let Item { kind, id, text, message, input, output, exit_code, status } = item;
        let raw = [id, text, message, input, output, exit_code, status];
        (kind, raw.map(|raw| raw.source()))
    }

    #[test]
    fn an_item_says_the_same_in_one_pass_and_level_by_level() {
        for item in [
            r#"{"id":"1","type":"agent_message","text":"a \"b\" \ud83d\ude00","command":"c"}"#,
            r#"{"type":"reasoning","text":7,"id":"2"}"#,
            r#"{"id":"3","type":"error","message":"m","text":null,"changes":[]}"#,
            r#"{"id":"4","type":"command_execution","command":"ls","aggregated_output":"x\n","exit_code":0,"status":"completed","deep":[[{}]]}"#,
            r#"{"id":"5","type":"file_change","changes":[{"path":"a"}],"status":"failed"}"#,
            r#"{"id":"6","type":"command_execution","command":"a","changes":[1]}"#,
        ] {
            for (line, is_completed) in [
                (format!(r#"{{"type":"item.completed","item":{item}}}"#), true),
                (format!(r#" {{"x":[],"item":{item},"type":"item.started"}} "#), false),
            ] {
                let [raw] = read_fields(&line, &["item"]).unwrap();
                let careful = Item::parse(raw).unwrap();
                let (quick, is_said_completed) = Item::parse_line(&line).unwrap();
                assert_eq!(is_said_completed, is_completed, "{line}");
                let (kind, mut raw) = fields(&careful);
                if is_said(kind) {
                    raw[3] = fields(&quick).1[3];
                }
                assert_eq!(fields(&quick), (kind, raw), "{line}");
            }
        }
    }

    #[test]
    fn an_odd_line_is_left_to_the_careful_way() {
        for line in [
            r#"{"type":"turn.started"}"#,
            r#"{"type":"item.completed"}"#,
            r#"{"type":"item.completed","item":[]}"#,
            r#"{"type":"item.completed","item":{"id":"1","type":7}}"#,
            r#"{"type":"item.completed","item":{"id":"1","type":"web_search","query":"q"}}"#,
            r#"{"type":"item.completed","item":{"id":"1","type":"error","type":"reasoning"}}"#,
            r#"{"type":"item.updated","item":{"id":"1","type":"reasoning","text":"t"}}"#,
        ] {
            assert!(Item::parse_line(line).is_none(), "{line}");
        }
    }
}
