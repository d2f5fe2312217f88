//! OpenAI Chat Completions: reads the requests of our own endpoint member, opencode, Copilot CLI and pi, and writes
//! the answers.

use serde_json::{Value, json};

use crate::http::Frame;
use crate::vendor::{Answer, End, Reading, items, text_of, word};

/// Reads a request.
pub(crate) fn read(body: &Value) -> Reading {
    let said_by = |roles: &'static [&'static str]| {
        items(&body["messages"])
            .filter(move |message| roles.iter().any(|role| message["role"] == *role))
            .map(|message| text_of(&message["content"], |_| true))
    };
    let system: Vec<String> = said_by(&["system", "developer"]).collect();
    Reading {
        model: word(&body["model"]),
        system: system.join("\n"),
        user: without_date(
            &said_by(&["user"]).rev().find(|text| !text.is_empty()).unwrap_or_default(),
        )
        .to_owned(),
        last_message: None,
        tools: items(&body["tools"]).map(|tool| word(&tool["function"]["name"])).collect(),
        is_main: true,
        is_streamed: body["stream"] == true,
    }
}

/// Returns a user's text without the date that Copilot CLI puts in front of it.
fn without_date(text: &str) -> &str {
    let rest = text
        .strip_prefix("<current_datetime>")
        .and_then(|rest| rest.split_once("</current_datetime>\n\n"));
    rest.map_or(text, |(_, user)| user)
}

/// Writes the events of one answer.
pub(crate) struct Voice {
    answer: Answer,
    output_tokens: usize,
}

impl Voice {
    pub(crate) fn new(answer: Answer) -> Self {
        Self { answer, output_tokens: 1 }
    }

    pub(crate) fn begin(&self) -> Vec<Frame> {
        vec![self.chunk(&json!({ "role": "assistant", "content": "" }), None)]
    }

    pub(crate) fn piece(&mut self, text: &str) -> Vec<Frame> {
        self.output_tokens += 1;
        vec![self.chunk(&json!({ "content": text }), None)]
    }

    pub(crate) fn finish(&self, end: End<'_>) -> Vec<Frame> {
        let mut frames = Vec::new();
        if let End::Shell(command) = end {
            frames.push(self.chunk(&json!({ "tool_calls": [self.call(command)] }), None));
        }
        frames.push(self.chunk(&json!({}), Some(finish_reason(end))));
        let mut last = self.head("chat.completion.chunk");
        last["choices"] = json!([]);
        last["usage"] = self.usage();
        frames.push(Frame::plain(&last));
        frames.push(Frame { event: None, data: "[DONE]".to_owned() });
        frames
    }

    pub(crate) fn whole(&self, text: &str, end: End<'_>) -> Value {
        let mut message = json!({ "role": "assistant", "content": text });
        if let End::Shell(command) = end {
            message["tool_calls"] = json!([self.call(command)]);
        }
        let mut whole = self.head("chat.completion");
        whole["choices"] =
            json!([{ "index": 0, "message": message, "finish_reason": finish_reason(end) }]);
        whole["usage"] = self.usage();
        whole
    }

    fn call(&self, command: &str) -> Value {
        let fields = json!({ "command": command, "description": "Runs a command" });
        let arguments = fields.to_string();
        // The usual names of the agents' shell tools, even if the request does not offer them.
        let name = if self.answer.tools.is_empty() { "shell" } else { "bash" };
        json!({
            "index": 0,
            "id": format!("call_{}", self.answer.number),
            "type": "function",
            "function": { "name": name, "arguments": arguments },
        })
    }

    fn chunk(&self, delta: &Value, finish_reason: Option<&str>) -> Frame {
        let mut chunk = self.head("chat.completion.chunk");
        chunk["choices"] = json!([{ "index": 0, "delta": delta, "finish_reason": finish_reason }]);
        Frame::plain(&chunk)
    }

    fn head(&self, object: &str) -> Value {
        json!({
            "id": format!("chatcmpl-{}", self.answer.number),
            "object": object,
            "created": 1_790_000_000,
            "model": self.answer.model,
        })
    }

    fn usage(&self) -> Value {
        let (input, written) = (self.answer.input_tokens, self.output_tokens);
        json!({
            "prompt_tokens": input,
            "completion_tokens": written,
            "total_tokens": input + written,
        })
    }
}

fn finish_reason(end: End<'_>) -> &'static str {
    match end {
        End::Whole => "stop",
        End::Shell(_) => "tool_calls",
        End::Refused => "content_filter",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_and_user_texts_are_distinguished() {
        let body = json!({
            "model": "m", "stream": true,
            "messages": [
                { "role": "system", "content": "be brief" },
                { "role": "user", "content": "first" },
                { "role": "assistant", "content": "yes" },
                { "role": "user", "content": [{ "type": "text", "text": "second" }] },
            ],
        });
        let reading = read(&body);
        assert_eq!((reading.system.as_str(), reading.user.as_str()), ("be brief", "second"));
    }

    #[test]
    fn a_stream_ends_with_its_usage_and_the_word_done() {
        let answer = Answer { model: "m".into(), tools: Vec::new(), input_tokens: 3, number: 1 };
        let frames = Voice::new(answer).finish(End::Whole);
        assert!(frames[1].data.contains("\"prompt_tokens\":3"), "{frames:?}");
        assert_eq!(frames[2].data, "[DONE]");
    }
}
