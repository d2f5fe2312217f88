//! Anthropic Messages: reads the requests of Claude Code and writes the answers.

use serde_json::{Value, json};

use crate::http::Frame;
use crate::vendor::{Answer, End, Reading, items, text_of, word};

/// The tag of text that Claude Code adds to the user's text.
const REMINDER: &str = "<system-reminder>";

/// Reads a request.
pub(crate) fn read(body: &Value) -> Reading {
    let is_ours = |text: &str| !text.starts_with(REMINDER);
    let texts = items(&body["messages"])
        .filter(|message| message["role"] == "user")
        .map(|message| text_of(&message["content"], is_ours));
    let mut system: Vec<String> = match &body["system"] {
        Value::String(text) => vec![text.clone()],
        blocks => items(blocks).map(|block| word(&block["text"])).collect(),
    };
    let said = items(&body["messages"]).filter(|message| message["role"] == "system");
    system.extend(said.map(|message| text_of(&message["content"], |_| true)));
    let tools: Vec<String> = items(&body["tools"]).map(|tool| word(&tool["name"])).collect();
    let is_streamed = body["stream"] == true;
    // An agent without tools still requests a stream and no schema.
    let has_schema = !body["output_config"]["format"].is_null();
    Reading {
        model: word(&body["model"]),
        system: system.join("\n"),
        user: texts.rev().find(|text| !text.is_empty()).unwrap_or_default(),
        is_main: !tools.is_empty() || (is_streamed && !has_schema),
        last_message: None,
        tools,
        is_streamed,
    }
}

/// Returns the body for an HTTP status.
pub(crate) fn error(status: u16) -> Value {
    let (kind, message) = match status {
        401 => ("authentication_error", "invalid x-api-key"),
        403 => (
            "permission_error",
            "Your API key does not have permission to use the specified resource.",
        ),
        404 => ("not_found_error", "Not found"),
        429 => (
            "rate_limit_error",
            "This request would exceed your account's rate limit. Please try again later.",
        ),
        529 => ("overloaded_error", "Overloaded"),
        400 => ("invalid_request_error", "The request is not valid."),
        _ => ("api_error", "Internal server error"),
    };
    error_body(kind, message)
}

/// Returns the error for a prompt that is too large.
pub(crate) fn overflow() -> Value {
    error_body("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")
}

/// The limit that was set for the account is reached.
pub(crate) fn usage_limit() -> Value {
    let message = "You have reached your specified API usage limits. You will regain access on \
                   2099-01-01 at 00:00 UTC.";
    error_body("invalid_request_error", message)
}

fn error_body(kind: &str, message: &str) -> Value {
    json!({
        "type": "error",
        "error": { "type": kind, "message": message },
        "request_id": "req_011fake",
    })
}

/// Writes the events of one answer.
pub(crate) struct Voice {
    answer: Answer,
    /// The number of the next block of content.
    index: usize,
    has_open_text: bool,
    output_tokens: usize,
}

impl Voice {
    pub(crate) fn new(answer: Answer) -> Self {
        Self { answer, index: 0, has_open_text: false, output_tokens: 1 }
    }

    pub(crate) fn begin(&mut self, has_text: bool) -> Vec<Frame> {
        let message = self.message(&json!([]), &Value::Null);
        let mut frames =
            vec![event("message_start", json!({ "message": message })), event("ping", json!({}))];
        if has_text {
            self.has_open_text = true;
            let block = json!({ "type": "text", "text": "" });
            frames.push(self.block_start(&block));
        }
        frames
    }

    pub(crate) fn piece(&mut self, text: &str) -> Vec<Frame> {
        self.output_tokens += 1;
        vec![self.block_delta(&json!({ "type": "text_delta", "text": text }))]
    }

    pub(crate) fn finish(&mut self, end: End<'_>) -> Vec<Frame> {
        let mut frames = Vec::new();
        if self.has_open_text {
            frames.push(self.block_stop());
        }
        if let End::Shell(command) = end {
            let mut call = self.call(command);
            let input = call["input"].take();
            call["input"] = json!({});
            frames.push(self.block_start(&call));
            let input = json!({ "type": "input_json_delta", "partial_json": input.to_string() });
            frames.push(self.block_delta(&input));
            frames.push(self.block_stop());
        }
        let delta = json!({ "stop_reason": stop_reason(end), "stop_sequence": null });
        let usage = json!({ "output_tokens": self.output_tokens });
        frames.push(event("message_delta", json!({ "delta": delta, "usage": usage })));
        frames.push(event("message_stop", json!({})));
        frames
    }

    pub(crate) fn whole(&self, text: &str, end: End<'_>) -> Value {
        let mut content = Vec::new();
        if !text.is_empty() {
            content.push(json!({ "type": "text", "text": text }));
        }
        if let End::Shell(command) = end {
            content.push(self.call(command));
        }
        self.message(&Value::Array(content), &json!(stop_reason(end)))
    }

    fn message(&self, content: &Value, stop_reason: &Value) -> Value {
        json!({
            "id": format!("msg_{:024}", self.answer.number),
            "type": "message",
            "role": "assistant",
            "model": self.answer.model,
            "content": content,
            "stop_reason": stop_reason,
            "stop_sequence": null,
            "usage": {
                "input_tokens": self.answer.input_tokens,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": self.output_tokens,
            },
        })
    }

    fn call(&self, command: &str) -> Value {
        json!({
            "type": "tool_use",
            "id": format!("toolu_{:024}", self.answer.number),
            "name": "Bash",
            "input": { "command": command, "description": "Runs a command" },
        })
    }

    fn block_start(&self, block: &Value) -> Frame {
        let fields = json!({ "index": self.index, "content_block": block });
        event("content_block_start", fields)
    }

    fn block_delta(&self, delta: &Value) -> Frame {
        event("content_block_delta", json!({ "index": self.index, "delta": delta }))
    }

    fn block_stop(&mut self) -> Frame {
        let frame = event("content_block_stop", json!({ "index": self.index }));
        self.index += 1;
        frame
    }
}

/// An event; its data contains its name too.
fn event(name: &'static str, mut fields: Value) -> Frame {
    fields["type"] = json!(name);
    Frame::named(name, &fields)
}

fn stop_reason(end: End<'_>) -> &'static str {
    match end {
        End::Whole => "end_turn",
        End::Shell(_) => "tool_use",
        End::Refused => "refusal",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_user_text_is_found_before_the_results_of_tools() {
        let body = json!({
            "model": "m", "stream": true, "tools": [{ "name": "Bash" }],
            "system": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }],
            "messages": [
                { "role": "user", "content": [
                    { "type": "text", "text": "<system-reminder>x</system-reminder>" },
                    { "type": "text", "text": "  hello " },
                ] },
                { "role": "assistant", "content": [{ "type": "tool_use" }] },
                { "role": "user", "content": [{ "type": "tool_result", "content": "out" }] },
            ],
        });
        let reading = read(&body);
        assert_eq!(reading.user, "  hello ");
        assert_eq!(reading.system, "a\nb");
        assert_eq!(reading.tools, ["Bash"]);
        assert!(reading.is_main && reading.is_streamed);
    }

    #[test]
    fn a_request_for_a_title_is_beside_the_main_one() {
        let format = json!({ "format": { "type": "json_schema" } });
        let body = json!({ "stream": true, "output_config": format, "messages": [] });
        assert!(!read(&body).is_main);
    }
}
