//! OpenAI Responses: reads the requests of Codex and writes the answers.

use serde_json::{Value, json};

use crate::http::Frame;
use crate::vendor::{Answer, End, Reading, items, text_of, word};

/// The beginnings of texts that Codex puts before the user's own text.
const NOT_OURS: [&str; 3] = ["<environment_context>", "# AGENTS.md instructions", "<user_instr"];

/// Reads a request.
pub(crate) fn read(body: &Value) -> Reading {
    let is_ours = |text: &str| !NOT_OURS.iter().any(|beginning| text.starts_with(beginning));
    let said_by = |role: &'static str| {
        items(&body["input"]).filter(move |item| item["role"] == role).map(|item| &item["content"])
    };
    let mut texts = newest_texts(body, is_ours);
    let mut system = vec![word(&body["instructions"])];
    system.extend(said_by("developer").map(|content| text_of(content, |_| true)));
    // For newer models, some tools are in an item of their own.
    let lists = items(&body["input"]).map(|item| &item["tools"]).chain([&body["tools"]]);
    Reading {
        model: word(&body["model"]),
        system: system.join("\n"),
        user: texts.concat(),
        last_message: texts.pop(),
        tools: lists.flat_map(items).flat_map(names).collect(),
        is_main: true,
        is_streamed: body["stream"] == true,
    }
}

/// Returns the texts of the user since the last answer.
fn newest_texts(body: &Value, is_ours: impl Fn(&str) -> bool + Copy) -> Vec<String> {
    let mut texts = Vec::new();
    for item in items(&body["input"]).rev() {
        match item["role"].as_str() {
            Some("user") => texts.push(text_of(&item["content"], is_ours)),
            Some("developer") => {}
            // Before the text, there are the answer and the calls of an earlier turn.
            _ if texts.iter().any(|text| !text.is_empty()) => break,
            _ => {}
        }
    }
    texts.reverse();
    texts.retain(|text| !text.is_empty());
    texts
}

/// Returns the name of a tool, and those of the tools inside it.
fn names(tool: &Value) -> impl Iterator<Item = String> {
    [tool].into_iter().chain(items(&tool["tools"])).map(|tool| word(&tool["name"]))
}

/// Writes the events of one answer.
pub(crate) struct Voice {
    answer: Answer,
    sequence: usize,
    has_open_text: bool,
    text: String,
    output_tokens: usize,
}

impl Voice {
    pub(crate) fn new(answer: Answer) -> Self {
        Self { answer, sequence: 0, has_open_text: false, text: String::new(), output_tokens: 1 }
    }

    pub(crate) fn begin(&mut self, has_text: bool) -> Vec<Frame> {
        let response = self.response("in_progress", &json!([]));
        let mut frames = vec![
            self.event("response.created", json!({ "response": response })),
            self.event("response.in_progress", json!({ "response": response })),
        ];
        if has_text {
            self.has_open_text = true;
            let item = self.message("in_progress", &json!([]));
            let added = json!({ "output_index": 0, "item": item });
            frames.push(self.event("response.output_item.added", added));
            let part = json!({ "part": text_part("") });
            frames.push(self.text_event("response.content_part.added", part));
        }
        frames
    }

    pub(crate) fn piece(&mut self, text: &str) -> Vec<Frame> {
        self.text.push_str(text);
        self.output_tokens += 1;
        vec![self.text_event("response.output_text.delta", json!({ "delta": text }))]
    }

    pub(crate) fn finish(&mut self, end: End<'_>) -> Vec<Frame> {
        let text = std::mem::take(&mut self.text);
        let output = self.output(&text, end);
        let mut frames = Vec::new();
        if self.has_open_text {
            frames.push(self.text_event("response.output_text.done", json!({ "text": text })));
            let part = json!({ "part": text_part(&text) });
            frames.push(self.text_event("response.content_part.done", part));
        }
        for (index, item) in output.iter().enumerate() {
            // The text's own item was opened at the beginning.
            if index > 0 || !self.has_open_text {
                let added = json!({ "output_index": index, "item": item });
                frames.push(self.event("response.output_item.added", added));
            }
            let done = json!({ "output_index": index, "item": item });
            frames.push(self.event("response.output_item.done", done));
        }
        let response = self.response("completed", &Value::Array(output));
        frames.push(self.event("response.completed", json!({ "response": response })));
        frames
    }

    pub(crate) fn whole(&self, text: &str, end: End<'_>) -> Value {
        self.response("completed", &Value::Array(self.output(text, end)))
    }

    fn output(&self, text: &str, end: End<'_>) -> Vec<Value> {
        let mut output = Vec::new();
        if !text.is_empty() {
            output.push(self.message("completed", &json!([text_part(text)])));
        }
        match end {
            End::Whole => {}
            End::Shell(command) => output.push(self.call(command)),
            End::Refused => {
                let refusal = json!({ "type": "refusal", "refusal": "I cannot help with that." });
                output.push(self.message("completed", &json!([refusal])));
            }
        }
        output
    }

    /// Returns a call of the shell tool that was offered: its name depends on the model.
    fn call(&self, command: &str) -> Value {
        let offers = |name: &str| self.answer.tools.iter().any(|tool| tool == name);
        let call_id = format!("call_{:024}", self.answer.number);
        if offers("exec") {
            let command = json!(command);
            let script = format!("text(await tools.exec_command({{cmd: {command}}}));\n");
            return json!({
                "type": "custom_tool_call", "id": format!("ctc_{}", self.answer.number),
                "call_id": call_id, "namespace": "functions", "name": "exec", "input": script,
            });
        }
        let (name, arguments) = if offers("exec_command") {
            ("exec_command", json!({ "cmd": command }))
        } else if offers("shell_command") {
            ("shell_command", json!({ "command": command }))
        } else {
            ("shell", json!({ "command": ["bash", "-lc", command] }))
        };
        json!({
            "type": "function_call", "id": format!("fc_{}", self.answer.number),
            "call_id": call_id, "name": name, "arguments": arguments.to_string(),
        })
    }

    fn message(&self, status: &str, content: &Value) -> Value {
        json!({
            "type": "message", "id": self.message_id(), "role": "assistant",
            "status": status, "content": content,
        })
    }

    fn message_id(&self) -> String {
        format!("msg_{}", self.answer.number)
    }

    fn response(&self, status: &str, output: &Value) -> Value {
        let (input, written) = (self.answer.input_tokens, self.output_tokens);
        json!({
            "id": format!("resp_{}", self.answer.number),
            "object": "response",
            "created_at": 1_790_000_000,
            "status": status,
            "model": self.answer.model,
            "output": output,
            "error": null,
            "incomplete_details": null,
            "usage": {
                "input_tokens": input, "input_tokens_details": { "cached_tokens": 0 },
                "output_tokens": written, "output_tokens_details": { "reasoning_tokens": 0 },
                "total_tokens": input + written,
            },
        })
    }

    /// Returns an event about the text of the first item.
    fn text_event(&mut self, name: &'static str, mut fields: Value) -> Frame {
        fields["item_id"] = json!(self.message_id());
        fields["output_index"] = json!(0);
        fields["content_index"] = json!(0);
        self.event(name, fields)
    }

    fn event(&mut self, name: &'static str, mut fields: Value) -> Frame {
        fields["type"] = json!(name);
        fields["sequence_number"] = json!(self.sequence);
        self.sequence += 1;
        Frame::named(name, &fields)
    }
}

fn text_part(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_and_developer_texts_are_the_system_text() {
        let text = |text: &str| json!([{ "type": "input_text", "text": text }]);
        let body = json!({
            "model": "m", "instructions": "base", "stream": true,
            "input": [
                { "type": "message", "role": "developer", "content": text("extra") },
                { "type": "message", "role": "user", "content": text("<environment_context>x") },
                { "type": "message", "role": "user", "content": text("hello") },
                { "type": "function_call_output", "output": "out" },
            ],
        });
        let reading = read(&body);
        assert_eq!((reading.system.as_str(), reading.user.as_str()), ("base\nextra", "hello"));
    }

    #[test]
    fn messages_that_follow_each_other_are_one_text_with_a_last_message() {
        let said = |text: &str| json!({ "type": "message", "role": "user", "content": text });
        let answer = json!({ "type": "message", "role": "assistant", "content": "yes" });
        let reading = read(&json!({ "input": [said("first"), answer, said("a, "), said("b")] }));
        assert_eq!((reading.user.as_str(), reading.last_message()), ("a, b", "b"));
    }

    #[test]
    fn the_shell_tool_that_is_offered_is_called() {
        let call = |tools: &[&str]| {
            let tools = tools.iter().map(ToString::to_string).collect();
            let answer = Answer { model: "m".into(), tools, input_tokens: 1, number: 1 };
            Voice::new(answer).call("ls \"a\"")
        };
        assert_eq!(
            call(&["exec"])["input"],
            "text(await tools.exec_command({cmd: \"ls \\\"a\\\"\"}));\n"
        );
        assert_eq!(call(&["exec_command"])["arguments"], "{\"cmd\":\"ls \\\"a\\\"\"}");
        assert_eq!(call(&[])["name"], "shell");
    }
}
