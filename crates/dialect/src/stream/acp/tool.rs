//! Tools at work: `tool_call`, `tool_call_update`, and the calls that permission is asked for. Called by
//! [`super::Acp`]. Agents tell a call in pieces: one that comes without its input waits for it.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use tertulia_session::json::Json;

use crate::stream::pick::{Refusal, each, is, needed_word, pick, text, word};
use crate::stream::turn::Turn;

/// How many calls wait, and how many outputs are gathered, at one time.
const WAITING_MAX: usize = 256;
/// How much output of running commands is gathered, all of them together.
const OUTPUT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What is known of the calls that run.
#[derive(Debug, Default)]
pub(super) struct Tools {
    /// Calls that were told without their input, with their names.
    waiting: BTreeMap<Box<str>, Box<str>>,
    /// What commands have printed so far.
    outputs: BTreeMap<Box<str>, String>,
    output_bytes: usize,
}

/// The fields of a call, in whatever message it comes.
pub(super) struct Call<'a> {
    pub(super) id: Box<str>,
    pub(super) name: Option<Box<str>>,
    pub(super) title: Option<Box<str>>,
    pub(super) input: Option<&'a RawValue>,
    status: Option<&'a RawValue>,
    content: Option<&'a RawValue>,
    output: Option<&'a RawValue>,
    meta: Option<&'a RawValue>,
}

impl<'a> Call<'a> {
    pub(super) fn of(raw: &'a RawValue) -> Result<Self, Refusal> {
        const NAMES: [&str; 9] = [
            "toolCallId",
            "name",
            "kind",
            "title",
            "rawInput",
            "status",
            "content",
            "rawOutput",
            "_meta",
        ];
        let [id, name, kind, title, input, status, content, output, meta] =
            pick(raw, &NAMES)?.values();
        let id = needed_word(id)?;
        let claude = meta.and_then(|meta| at(meta, &["claudeCode", "toolName"]));
        let title = word(title);
        let name = word(claude).or_else(|| word(name)).or_else(|| word(kind));
        let input = input.filter(|input| !is_blank(input));
        Ok(Self { id, name, title, input, status, content, output, meta })
    }

    fn is_over(&self) -> bool {
        is(self.status, "completed") || is(self.status, "failed")
    }
}

impl Tools {
    /// Reads `tool_call` and `tool_call_update`.
    pub(super) fn read(&mut self, update: &RawValue, turn: &mut Turn) -> Result<(), Refusal> {
        let call = Call::of(update)?;
        let is_open = turn.is_tool_open(&call.id);
        let is_told = call.input.is_some() || call.is_over() || is(call.status, "in_progress");
        if !is_open && (is_told || !self.wait(&call, turn)) {
            self.start(&call, turn);
        }
        self.gather(&call);
        if call.is_over() {
            let printed = self.outputs.remove(&call.id);
            self.output_bytes -= printed.as_ref().map_or(0, String::len);
            let is_error = is(call.status, "failed") || has_bad_exit(&call);
            let output = text(call.output)
                .or(printed)
                .or_else(|| text_of(call.content))
                .or_else(|| call.output.map(|output| output.get().to_owned()));
            turn.tool_finished(call.id, output, is_error);
        }
        Ok(())
    }

    /// The call starts, as far as it is known.
    pub(super) fn start(&mut self, call: &Call<'_>, turn: &mut Turn) {
        if turn.is_tool_open(&call.id) {
            return;
        }
        let waiting = self.waiting.remove(&call.id);
        let name = call.name.clone().or(waiting).or_else(|| call.title.clone());
        // Where there is no input, the title says what is about to be done.
        let input = match (call.input, &call.title) {
            (Some(input), _) => Json::from(input),
            (None, Some(title)) => Json::text(title),
            (None, None) => Json::from(RawValue::NULL),
        };
        turn.tool_started(call.id.clone(), name.unwrap_or_default(), input, None);
    }

    /// Calls that never got an input are told as they are.
    pub(super) fn flush(&mut self, turn: &mut Turn) {
        for (id, name) in std::mem::take(&mut self.waiting) {
            turn.tool_started(id, name, Json::from(RawValue::NULL), None);
        }
    }

    /// Lets a call wait for its input; not where too many do. Text that follows is another one.
    fn wait(&mut self, call: &Call<'_>, turn: &mut Turn) -> bool {
        if self.waiting.contains_key(&call.id) {
            return true;
        }
        turn.seal_text();
        if self.waiting.len() >= WAITING_MAX {
            return false;
        }
        let name = call.name.clone().or_else(|| call.title.clone());
        self.waiting.insert(call.id.clone(), name.unwrap_or_default());
        true
    }

    /// Codex tells what a command prints piece by piece.
    fn gather(&mut self, call: &Call<'_>) {
        let piece = call.meta.and_then(|meta| at(meta, &["terminal_output_delta", "data"]));
        let Some(piece) = text(piece) else { return };
        if self.outputs.len() >= WAITING_MAX && !self.outputs.contains_key(&call.id) {
            return;
        }
        let room = OUTPUT_BYTES_MAX.saturating_sub(self.output_bytes);
        let kept = piece.get(..piece.floor_char_boundary(room)).unwrap_or_default();
        self.output_bytes += kept.len();
        self.outputs.entry(call.id.clone()).or_default().push_str(kept);
    }
}

/// The field at this path.
fn at<'a>(raw: &'a RawValue, path: &[&str]) -> Option<&'a RawValue> {
    path.iter().try_fold(raw, |raw, name| pick(raw, &[name]).ok()?.values()[0])
}

fn is_blank(raw: &RawValue) -> bool {
    raw.get().strip_prefix('{').is_some_and(|rest| rest.trim_start() == "}")
}

fn has_bad_exit(call: &Call<'_>) -> bool {
    let code = call.meta.and_then(|meta| at(meta, &["terminal_exit", "exit_code"]));
    code.is_some_and(|code| code.get() != "0")
}

/// The texts of a call's content.
fn text_of(content: Option<&RawValue>) -> Option<String> {
    let mut texts = String::new();
    let _ = each(content?, |part| {
        let words = at(part, &["content", "text"]);
        texts.push_str(&text(words).unwrap_or_default());
        Ok(())
    });
    Some(texts).filter(|texts| !texts.is_empty())
}
