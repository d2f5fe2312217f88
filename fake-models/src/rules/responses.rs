//! The rules of OpenAI Responses (docs/dialects.md, R1–R9), and tests that the checker detects violations.

use serde_json::Value;

use super::{Violations, all_differ, is_word, list, require, text};

pub(super) fn check(request: &Value) -> Violations {
    let mut found = Violations::new();
    let input = list(&request["input"]);
    require(!input.is_empty(), &mut found, "R1: no input");
    let instructions = request.get("instructions");
    let is_text = instructions.is_none_or(|words| !text(words).is_empty());
    require(is_text, &mut found, "R2: instructions are no text");
    for (at, item) in input.iter().enumerate() {
        match text(&item["type"]) {
            "message" => message(at, item, &mut found),
            "function_call" => call(at, item, &mut found),
            "function_call_output" => output(at, item, &mut found),
            "reasoning" => reasoning(at, input, &mut found),
            "" => found.push(format!("R1: an item without a type at {at}")),
            _ => {}
        }
    }
    pairs(input, &mut found);
    tools(request, &mut found);
    found
}

/// R3: roles are known. R4: an assistant's content is output, all other content is input, and content is not empty.
fn message(at: usize, item: &Value, found: &mut Violations) {
    let role = text(&item["role"]);
    let roles = ["user", "assistant", "system", "developer"];
    require(roles.contains(&role), found, format!("R3: role {role:?} at {at}"));
    let content = list(&item["content"]);
    require(!content.is_empty(), found, format!("R4: no content at {at}"));
    for part in content {
        let is_placed = match text(&part["type"]) {
            "output_text" => role == "assistant" && !text(&part["text"]).is_empty(),
            "input_text" => role != "assistant" && !text(&part["text"]).is_empty(),
            "input_image" => role == "user" && is_picture(part),
            kind => !kind.is_empty(),
        };
        require(is_placed, found, format!("R4: {part} at {at}"));
    }
}

fn is_picture(part: &Value) -> bool {
    let url = text(&part["image_url"]);
    url.starts_with("http") || url.starts_with("data:image/")
}

/// R5: a call has an id of 1 to 64 characters, a name that is a word, and arguments that are a text.
fn call(at: usize, item: &Value, found: &mut Violations) {
    let id = text(&item["call_id"]).chars().count();
    require((1..=64).contains(&id), found, format!("R5: call_id at {at}"));
    require(is_word(text(&item["name"]), 64), found, format!("R5: name at {at}"));
    require(item["arguments"].is_string(), found, format!("R5: arguments at {at}"));
}

/// R6: an output is a text or a list of input parts.
fn output(at: usize, item: &Value, found: &mut Violations) {
    let output = &item["output"];
    let is_part = |part: &Value| match text(&part["type"]) {
        "input_text" => part["text"].is_string(),
        "input_image" => is_picture(part),
        kind => kind == "input_file",
    };
    let parts = list(output);
    let is_list = !parts.is_empty() && parts.iter().all(is_part);
    require(output.is_string() || is_list, found, format!("R6: output at {at}"));
}

/// R7: a message or a call of the assistant follows reasoning.
fn reasoning(at: usize, input: &[Value], found: &mut Violations) {
    let follows = input.get(at + 1).is_some_and(|next| match text(&next["type"]) {
        "message" => next["role"] == "assistant",
        kind => kind != "function_call_output",
    });
    require(follows, found, format!("R7: nothing follows the reasoning at {at}"));
}

/// R8: one output follows each call, without user or system messages between them, and a call precedes each output.
/// OpenAI allows any distance, but other services with this API do not.
fn pairs(input: &[Value], found: &mut Violations) {
    let calls = input.iter().filter(|item| item["type"] == "function_call");
    require(all_differ(calls.map(|item| text(&item["call_id"]))), found, "R8: an id twice");
    let mut open: Vec<&str> = Vec::new();
    for (at, item) in input.iter().enumerate() {
        let id = text(&item["call_id"]);
        match text(&item["type"]) {
            "function_call" => open.push(id),
            "function_call_output" => {
                let index = open.iter().position(|open| *open == id);
                require(index.is_some(), found, format!("R8: output {id:?} without call at {at}"));
                index.map(|index| open.remove(index));
            }
            "message" if item["role"] != "assistant" => {
                require(open.is_empty(), found, format!("R8: {open:?} open before {at}"));
            }
            _ => {}
        }
    }
    require(open.is_empty(), found, format!("R8: {open:?} not answered"));
}

/// R9: functions have different names, and their schemas describe objects.
fn tools(request: &Value, found: &mut Violations) {
    let functions = list(&request["tools"]).iter().filter(|tool| tool["type"] == "function");
    let names: Vec<_> = functions.clone().map(|tool| text(&tool["name"])).collect();
    require(names.iter().all(|name| is_word(name, 64)), found, "R9: name of a tool");
    require(all_differ(names.into_iter()), found, "R9: a tool twice");
    for tool in functions {
        require(tool["parameters"]["type"] == "object", found, "R9: schema of a tool");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn breaches_are_seen() {
        let user = json!({"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "hi"}]});
        let call =
            json!({"type": "function_call", "call_id": "a", "name": "ls", "arguments": "{}"});
        let output = json!({"type": "function_call_output", "call_id": "a", "output": ""});
        let breaches = [
            ("R1", json!([])),
            (
                "R4",
                json!([{"type": "message", "role": "assistant", "content": [
                {"type": "input_text", "text": "hi"}]}]),
            ),
            ("R7", json!([user, {"type": "reasoning", "summary": []}])),
            ("R8", json!([user, call])),
            ("R8", json!([user, output])),
            ("R8", json!([user, call, user, output])),
            ("R8", json!([call, output, call, output])),
        ];
        for (rule, input) in breaches {
            let found = check(&json!({"input": input}));
            assert!(found.iter().any(|sentence| sentence.starts_with(rule)), "{rule}: {found:?}");
        }
        assert_eq!(check(&json!({"input": [user, call, output]})), Violations::new());
    }
}
