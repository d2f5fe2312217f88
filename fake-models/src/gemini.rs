//! Gemini: reads the requests of Gemini CLI and writes the answers.

use serde_json::{Value, json};

use crate::http::Frame;
use crate::vendor::{Answer, End, Reading, items, text_of, word};

/// The tag of text that Gemini CLI puts before the user's text.
const NOT_OURS: &str = "<session_context>";

/// Reads a request; the path names the model.
pub(crate) fn read(path: &str, body: &Value) -> Reading {
    let is_ours = |text: &str| !text.starts_with(NOT_OURS);
    let texts = items(&body["contents"])
        .filter(|content| content["role"] == "user")
        .map(|content| text_of(&content["parts"], is_ours));
    let lists = items(&body["tools"]).map(|tool| &tool["functionDeclarations"]);
    let tools: Vec<String> = lists.flat_map(items).map(|tool| word(&tool["name"])).collect();
    let config = &body["generationConfig"];
    let has_schema = config["responseMimeType"] == "application/json";
    let model = path.rsplit_once("/models/").map_or(path, |(_, rest)| rest);
    Reading {
        model: model.split(':').next().unwrap_or_default().to_owned(),
        system: text_of(&body["systemInstruction"]["parts"], |_| true),
        user: texts.rev().find(|text| !text.is_empty()).unwrap_or_default(),
        is_main: !tools.is_empty() && !has_schema,
        last_message: None,
        tools,
        is_streamed: path.contains(":streamGenerateContent"),
    }
}

/// Returns the body for an HTTP status.
pub(crate) fn error(status: u16) -> Value {
    let (word, message) = match status {
        400 => ("INVALID_ARGUMENT", "The request is not valid."),
        401 => (
            "UNAUTHENTICATED",
            "Request had invalid authentication credentials. Expected OAuth 2 access token, login \
             cookie or other valid authentication credential.",
        ),
        403 => ("PERMISSION_DENIED", "The caller does not have permission"),
        404 => ("NOT_FOUND", "The model is not found for this API version."),
        429 => ("RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
        503 => ("UNAVAILABLE", "The model is overloaded. Please try again later."),
        _ => ("INTERNAL", "An internal error has occurred. Please retry."),
    };
    error_body(status, word, message)
}

/// Returns the error for a prompt that is too large.
pub(crate) fn overflow() -> Value {
    let message = "The input token count (1200000) exceeds the maximum number of tokens allowed \
                   (1048576).";
    error_body(400, "INVALID_ARGUMENT", message)
}

/// The quota of the model is used up.
pub(crate) fn usage_limit() -> Value {
    let message = "You have exhausted your capacity on this model. Your quota will reset after \
                   4h12m3s.";
    error_body(429, "RESOURCE_EXHAUSTED", message)
}

fn error_body(code: u16, status: &str, message: &str) -> Value {
    json!({ "error": { "code": code, "message": message, "status": status } })
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

    pub(crate) fn piece(&mut self, text: &str) -> Vec<Frame> {
        self.output_tokens += 1;
        vec![Frame::plain(&self.chunk(&json!([{ "text": text }]), None))]
    }

    pub(crate) fn finish(&mut self, end: End<'_>) -> Vec<Frame> {
        let mut frames = Vec::new();
        if let End::Shell(command) = end {
            frames.push(Frame::plain(&self.chunk(&json!([self.call(command)]), None)));
        }
        let last = match end {
            // An empty answer has no part at all, not an empty one.
            End::Whole if self.output_tokens == 1 => json!([]),
            End::Refused => json!([]),
            End::Whole | End::Shell(_) => json!([{ "text": "" }]),
        };
        frames.push(Frame::plain(&self.chunk(&last, Some(finish_reason(end)))));
        frames
    }

    pub(crate) fn whole(&self, text: &str, end: End<'_>) -> Value {
        let mut parts = Vec::new();
        if !text.is_empty() {
            parts.push(json!({ "text": text }));
        }
        if let End::Shell(command) = end {
            parts.push(self.call(command));
        }
        self.chunk(&Value::Array(parts), Some(finish_reason(end)))
    }

    fn call(&self, command: &str) -> Value {
        json!({
            "functionCall": {
                "id": format!("fc_{}", self.answer.number),
                "name": "run_shell_command",
                "args": { "command": command, "description": "Runs a command" },
            },
            "thoughtSignature": "ZmFrZQ==",
        })
    }

    fn chunk(&self, parts: &Value, finish_reason: Option<&str>) -> Value {
        let (input, written) = (self.answer.input_tokens, self.output_tokens);
        let mut candidate = json!({ "content": { "role": "model", "parts": parts }, "index": 0 });
        if let Some(reason) = finish_reason {
            candidate["finishReason"] = json!(reason);
        }
        json!({
            "candidates": [candidate],
            "usageMetadata": {
                "promptTokenCount": input,
                "candidatesTokenCount": written,
                "totalTokenCount": input + written,
            },
            "modelVersion": self.answer.model,
            "responseId": format!("r{}", self.answer.number),
        })
    }
}

fn finish_reason(end: End<'_>) -> &'static str {
    match end {
        End::Whole | End::Shell(_) => "STOP",
        End::Refused => "SAFETY",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse";

    #[test]
    fn the_model_stands_in_the_path() {
        let reading = read(PATH, &json!({}));
        assert_eq!(reading.model, "gemini-x");
        assert!(reading.is_streamed);
        assert!(!read("/v1beta/models/gemini-x:generateContent", &json!({})).is_streamed);
    }

    #[test]
    fn the_context_of_the_program_is_no_user_text() {
        let user = |text: &str| json!({ "role": "user", "parts": [{ "text": text }] });
        let body = json!({ "contents": [user("<session_context>\nx"), user("hello")] });
        assert_eq!(read(PATH, &body).user, "hello");
        let body = json!({ "contents": [user("hello"), user("<session_context>\nx")] });
        assert_eq!(read(PATH, &body).user, "hello");
    }

    #[test]
    fn a_check_that_wants_json_is_beside_the_main_request() {
        let tools = json!([{ "functionDeclarations": [{ "name": "read_file" }] }]);
        assert!(read(PATH, &json!({ "tools": tools })).is_main);
        let config = json!({ "responseMimeType": "application/json" });
        assert!(!read(PATH, &json!({ "tools": tools, "generationConfig": config })).is_main);
    }
}
