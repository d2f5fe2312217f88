//! Tool calls: `tool_call`, `tool_call_update`, and the calls that need a permission. [`super::Acp`] calls it. Agents
//! report a call in several messages, so a call without its input waits for it.

use std::collections::BTreeMap;

use tertulia_session::json::Json;

use crate::stream::fields::{Refusal, Value};
use crate::stream::turn::Turn;

/// Maximum number of waiting calls, and of outputs that are collected at the same time.
const WAITING_MAX: usize = 256;
/// Maximum size of the collected output of all running commands together.
const OUTPUT_BYTES_MAX: usize = 4 * 1024 * 1024;

#[derive(Debug, Default)]
pub(super) struct Tools {
    waiting: BTreeMap<Box<str>, Box<str>>,
    outputs: BTreeMap<Box<str>, String>,
    output_bytes: usize,
}

pub(super) struct Call<'a> {
    pub(super) id: Box<str>,
    pub(super) name: Option<Box<str>>,
    pub(super) title: Option<Box<str>>,
    /// The input of the call. An empty object counts as missing.
    pub(super) input: Value<'a>,
    pub(super) status: Value<'a>,
    pub(super) content: Value<'a>,
    pub(super) output: Value<'a>,
    meta: Value<'a>,
}

impl<'a> Call<'a> {
    pub(super) fn parse(call: Value<'a>) -> Result<Self, Refusal> {
        #[rustfmt::skip]
        const NAMES: [&str; 9] = [
            "toolCallId", "name", "kind", "title", "rawInput", "status", "content", "rawOutput",
            "_meta",
        ];
        let [id, name, kind, title, input, status, content, output, meta] = call.fields(&NAMES)?;
        let claude = meta.at(&["claudeCode", "toolName"]);
        let is_empty_object =
            |input: &str| input.strip_prefix('{').is_some_and(|rest| rest.trim_start() == "}");
        Ok(Self {
            id: id.need_word()?,
            name: claude.word().or_else(|| name.word()).or_else(|| kind.word()),
            title: title.word(),
            input: if input.source().is_some_and(is_empty_object) {
                Value::default()
            } else {
                input
            },
            status,
            content,
            output,
            meta,
        })
    }

    fn is_over(&self) -> bool {
        self.status.is("completed") || self.status.is("failed")
    }
}

impl Tools {
    pub(super) fn read(&mut self, call: Call<'_>, turn: &mut Turn) {
        let is_open = turn.is_tool_open(&call.id);
        let is_ready = call.input.is_some() || call.is_over() || call.status.is("in_progress");
        if !is_open && (is_ready || !self.wait(&call, turn)) {
            self.start(&call, turn);
        }
        self.gather(&call);
        if call.is_over() {
            let printed = self.outputs.remove(&call.id);
            self.output_bytes -= printed.as_ref().map_or(0, String::len);
            let exit_code = call.meta.at(&["terminal_exit", "exit_code"]).source();
            let is_error = call.status.is("failed") || exit_code.is_some_and(|code| code != "0");
            let output = call
                .output
                .text()
                .or(printed)
                .or_else(|| text_of(call.content))
                .or_else(|| call.output.source().map(str::to_owned));
            turn.tool_finished(call.id, output, is_error);
        }
    }

    /// Reports the start of the call with the fields known so far.
    pub(super) fn start(&mut self, call: &Call<'_>, turn: &mut Turn) {
        if turn.is_tool_open(&call.id) {
            return;
        }
        let waiting = self.waiting.remove(&call.id);
        let name = call.name.clone().or(waiting).or_else(|| call.title.clone());
        // The title describes a call without an input.
        let input = match &call.title {
            Some(title) if !call.input.is_some() => Json::text(title),
            _ => call.input.json(),
        };
        turn.tool_started(call.id.clone(), name.unwrap_or_default(), input, None);
    }

    /// Reports calls whose input never arrived.
    pub(super) fn flush(&mut self, turn: &mut Turn) {
        for (id, name) in std::mem::take(&mut self.waiting) {
            turn.tool_started(id, name, Value::default().json(), None);
        }
    }

    /// Makes a call wait for its input, unless too many calls wait. Text that follows begins a new text.
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

    /// Collects the output of a command, which Codex reports in chunks.
    fn gather(&mut self, call: &Call<'_>) {
        let piece = call.meta.at(&["terminal_output_delta", "data"]).text();
        let Some(piece) = piece else { return };
        if self.outputs.len() >= WAITING_MAX && !self.outputs.contains_key(&call.id) {
            return;
        }
        let room = OUTPUT_BYTES_MAX.saturating_sub(self.output_bytes);
        let kept = piece.get(..piece.floor_char_boundary(room)).unwrap_or_default();
        self.output_bytes += kept.len();
        self.outputs.entry(call.id.clone()).or_default().push_str(kept);
    }
}

fn text_of(content: Value<'_>) -> Option<String> {
    let mut texts = String::new();
    let _ = content.each(|part| {
        texts.push_str(&part.at(&["content", "text"]).text_or_empty());
        Ok(())
    });
    Some(texts).filter(|texts| !texts.is_empty())
}
