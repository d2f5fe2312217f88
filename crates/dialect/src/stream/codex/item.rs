//! An item of Codex's stream: a text, a thought, or a tool at work. Called by [`super::Codex`]; it knows the
//! fields, not the order of the events.

use serde_json::value::RawValue;
use tertulia_session::json::Json;

use crate::stream::event::{DeniedTool, Unparsed};
use crate::stream::pick::{Refusal, is, needed_text, needed_word, pick, plain, text};
use crate::stream::shape::{Field, shaped};
use crate::stream::turn::Turn;
use crate::stream::{Fate, Reading};

/// The fields of an item.
pub(super) struct Item<'a> {
    kind: &'a str,
    id: Option<&'a RawValue>,
    text: Option<&'a RawValue>,
    message: Option<&'a RawValue>,
    /// What a tool was called with.
    input: Option<&'a RawValue>,
    output: Option<&'a RawValue>,
    exit_code: Option<&'a RawValue>,
    status: Option<&'a RawValue>,
}

impl<'a> Item<'a> {
    /// Reads a line in one pass, if it is an item with nothing odd about it, and whether it is completed:
    /// most lines are, and what they say is not to be read again for every level.
    pub(super) fn of_line(line: &'a str) -> Option<(Self, bool)> {
        const SHAPE: [Field; 2] = [
            Field::Value("type", 0),
            Field::Object(
                "item",
                &[
                    Field::Value("id", 1),
                    Field::Value("type", 2),
                    Field::Value("text", 3),
                    Field::Value("message", 4),
                    Field::Value("command", 5),
                    Field::Value("changes", 6),
                    Field::Value("aggregated_output", 7),
                    Field::Value("exit_code", 8),
                    Field::Value("status", 9),
                ],
            ),
        ];
        let [event, id, kind, text, message, command, changes, output, exit_code, status] =
            shaped::<10>(line, &SHAPE)?;
        let is_completed = is(event, "item.completed");
        if !is_completed && !is(event, "item.started") {
            return None;
        }
        let kind = plain(kind)?;
        let input = command.or(changes);
        // A tool that is called with neither is called with the whole item, which is not at hand here.
        let is_whole = input.is_some() || is_said(kind);
        let item = Self { kind, id, text, message, input, output, exit_code, status };
        is_whole.then_some((item, is_completed))
    }

    /// Reads an item, whatever is odd about it.
    pub(super) fn of(item: &'a RawValue) -> Result<Self, Refusal> {
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
        let [id, kind, text, message, command, changes, output, exit_code, status] =
            pick(item, &NAMES)?.values();
        let kind = plain(kind).ok_or(Unparsed::WrongShape)?;
        let input = command.or(changes).or(Some(item));
        Ok(Self { kind, id, text, message, input, output, exit_code, status })
    }

    /// Tells what it says.
    pub(super) fn tell(&self, is_completed: bool, turn: &mut Turn) -> Reading {
        match self.kind {
            kind if is_said(kind) && !is_completed => return Ok(Fate::Ignored),
            "agent_message" => {
                turn.whole_text(needed_text(self.text)?);
                turn.seal_text();
            }
            "reasoning" => turn.thinking(needed_text(self.text)?),
            "error" => turn.warn(text(self.message).unwrap_or_default()),
            _ => self.tell_tool(turn, is_completed)?,
        }
        Ok(Fate::Known)
    }

    /// Any item that is no text is a tool at work. One that is told only when it is done is told as both.
    fn tell_tool(&self, turn: &mut Turn, is_completed: bool) -> Result<(), Refusal> {
        let id = needed_word(self.id)?;
        if !turn.is_tool_open(&id) {
            let input = self.input.ok_or(Unparsed::WrongShape)?;
            turn.tool_started(id.clone(), self.kind.into(), Json::from(input), None);
        }
        if !is_completed {
            return Ok(());
        }
        let is_declined = is(self.status, "declined");
        if is_declined {
            let name = self.kind.into();
            turn.tool_denied(DeniedTool { id: id.clone(), name, reason: None });
        }
        let is_bad_exit = self.exit_code.is_some_and(|code| code.get() != "0");
        let is_error = is_bad_exit || is_declined || is(self.status, "failed");
        turn.tool_finished(id, text(self.output), is_error);
        Ok(())
    }
}

/// Whether an item of this kind is something said, and no tool.
fn is_said(kind: &str) -> bool {
    matches!(kind, "agent_message" | "reasoning" | "error")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::pick::pick_line;

    fn fields<'a>(item: &'a Item<'a>) -> (&'a str, [Option<&'a str>; 7]) {
        let Item { kind, id, text, message, input, output, exit_code, status } = item;
        let raw = [id, text, message, input, output, exit_code, status];
        (kind, raw.map(|raw| raw.map(RawValue::get)))
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
                let [raw] = pick_line(&line, &["item"]).unwrap().values();
                let careful = Item::of(raw.unwrap()).unwrap();
                let (quick, is_said_completed) = Item::of_line(&line).unwrap();
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
            assert!(Item::of_line(line).is_none(), "{line}");
        }
    }
}
