//! The conversation in a request that the model server captured, in the same form for every vendor.

use serde_json::{Value, json};
use tertulia_fake_models::{Asked, Vendor};

/// One piece of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Said {
    User(String),
    Assistant(String),
    Call {
        tool: String,
        arguments: Value,
    },
    /// The result of the newest call with its ID.
    Result {
        tool: String,
        text: String,
    },
}

/// Reads the messages, oldest first, including those that the program itself adds.
pub(crate) fn conversation(asked: &Asked) -> Vec<Said> {
    let body: Value = serde_json::from_str(&asked.body).unwrap();
    let mut reading = Reading::default();
    match asked.vendor {
        Vendor::Anthropic => items(&body["messages"]).for_each(|one| reading.anthropic(one)),
        Vendor::Responses => items(&body["input"]).for_each(|one| reading.responses(one)),
        Vendor::Gemini => items(&body["contents"]).for_each(|one| reading.gemini(one)),
        Vendor::Chat => items(&body["messages"]).for_each(|one| reading.chat(one)),
    }
    reading.said
}

#[derive(Default)]
struct Reading {
    said: Vec<Said>,
    /// The ids and tools of the calls.
    calls: Vec<(String, String)>,
}

impl Reading {
    fn text(&mut self, role: &Value, text: &str) {
        match role.as_str() {
            _ if text.is_empty() => {}
            Some("user") => self.said.push(Said::User(without_date(text).to_owned())),
            Some("assistant" | "model") => self.said.push(Said::Assistant(text.to_owned())),
            _ => {}
        }
    }

    fn call(&mut self, id: &Value, tool: &Value, arguments: Value) {
        let tool = word(tool);
        self.calls.push((word(id), tool.clone()));
        self.said.push(Said::Call { tool, arguments });
    }

    fn result(&mut self, id: &Value, text: String) {
        let id = word(id);
        let of_id = self.calls.iter().rev().find(|(call, _)| *call == id);
        let tool = of_id.map(|(_, tool)| tool.clone());
        let tool = tool.unwrap_or_else(|| format!("none, for there is no call {id}"));
        self.said.push(Said::Result { tool, text });
    }

    fn anthropic(&mut self, message: &Value) {
        if let Value::String(text) = &message["content"] {
            self.text(&message["role"], text);
        }
        for block in items(&message["content"]) {
            match block["type"].as_str() {
                Some("text") => self.text(&message["role"], &word(&block["text"])),
                Some("tool_use") => {
                    self.call(&block["id"], &block["name"], block["input"].clone());
                }
                Some("tool_result") => {
                    let text = text_of(&block["content"]);
                    self.result(&block["tool_use_id"], without_count(&text).to_owned());
                }
                _ => {}
            }
        }
    }

    fn responses(&mut self, item: &Value) {
        match item["type"].as_str() {
            Some("function_call") => {
                self.call(&item["call_id"], &item["name"], parsed(&item["arguments"]));
            }
            Some("custom_tool_call") => {
                let input = json!({ "input": item["input"] });
                self.call(&item["call_id"], &item["name"], input);
            }
            Some("function_call_output" | "custom_tool_call_output") => {
                self.result(&item["call_id"], text_of(&item["output"]));
            }
            _ => items(&item["content"])
                .for_each(|part| self.text(&item["role"], &word(&part["text"]))),
        }
    }

    fn gemini(&mut self, content: &Value) {
        for part in items(&content["parts"]).filter(|part| part["thought"] != true) {
            let (call, response) = (&part["functionCall"], &part["functionResponse"]);
            if call.is_object() {
                self.call(&call["id"], &call["name"], call["args"].clone());
            } else if response.is_object() {
                let output = &response["response"]["output"];
                self.result(&response["id"], text_of(output));
                // When it resumes, it sends the result of its own call twice.
                self.said.dedup();
            } else {
                self.text(&content["role"], &word(&part["text"]));
            }
        }
    }

    fn chat(&mut self, message: &Value) {
        if message["role"] == "tool" {
            return self.result(&message["tool_call_id"], text_of(&message["content"]));
        }
        if let Value::String(text) = &message["content"] {
            self.text(&message["role"], text);
        }
        for part in items(&message["content"]) {
            self.text(&message["role"], &word(&part["text"]));
        }
        for call in items(&message["tool_calls"]) {
            let function = &call["function"];
            self.call(&call["id"], &function["name"], parsed(&function["arguments"]));
        }
    }
}

/// Returns a user's text without the date that Copilot CLI adds at the beginning.
fn without_date(text: &str) -> &str {
    let rest = text
        .strip_prefix("<current_datetime>")
        .and_then(|rest| rest.split_once("</current_datetime>\n\n"));
    rest.map_or(text, |(_, user)| user)
}

/// Returns a result without the number of tokens that Claude Code adds at the end.
fn without_count(text: &str) -> &str {
    let end = text.find("\n\n<system-reminder>\n<total_tokens>");
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

fn items(value: &Value) -> std::slice::Iter<'_, Value> {
    value.as_array().map(Vec::as_slice).unwrap_or_default().iter()
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn parsed(arguments: &Value) -> Value {
    serde_json::from_str(&word(arguments)).unwrap()
}

/// Returns a text, or the texts of parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        parts => items(parts).map(|part| word(&part["text"])).collect(),
    }
}
