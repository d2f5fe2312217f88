//! The rules of OpenAI Chat Completions (docs/dialects.md, C1–C10), and tests that the checker detects violations.

use serde_json::Value;

use super::{Violations, all_differ, is_word, list, require, text};

pub(super) fn check(request: &Value) -> Violations {
    let mut found = Violations::new();
    let messages = list(&request["messages"]);
    require(!messages.is_empty(), &mut found, "C1: no messages");
    for (at, message) in messages.iter().enumerate() {
        content(at, message, &mut found);
        calls(at, message, &mut found);
    }
    pairs(messages, &mut found);
    let all = messages.iter().flat_map(|message| list(&message["tool_calls"]));
    require(all_differ(all.map(|call| text(&call["id"]))), &mut found, "C6: an id twice");
    tools(request, &mut found);
    found
}

/// C2: roles are known. C3: content is a text or a list that is not empty; only an assistant message with calls may
/// have none. C4: only user messages contain pictures.
fn content(at: usize, message: &Value, found: &mut Violations) {
    let role = text(&message["role"]);
    let roles = ["system", "developer", "user", "assistant", "tool"];
    require(roles.contains(&role), found, format!("C2: role {role:?} in {at}"));
    let content = &message["content"];
    let may_be_null = role == "assistant" && !list(&message["tool_calls"]).is_empty();
    let is_said = match content {
        Value::Null => may_be_null,
        Value::String(words) => role == "tool" || !words.is_empty(),
        Value::Array(parts) => !parts.is_empty(),
        _ => false,
    };
    require(is_said, found, format!("C3: content of {at}"));
    for part in list(content) {
        match text(&part["type"]) {
            "text" => require(part["text"].is_string(), found, format!("C3: text in {at}")),
            "image_url" => {
                let url = text(&part["image_url"]["url"]);
                let is_url = url.starts_with("http") || url.starts_with("data:image/");
                require(role == "user" && is_url, found, format!("C4: picture in {at}"));
            }
            "" => found.push(format!("C3: a part without a type in {at}")),
            _ => {}
        }
    }
}

/// C5: only an assistant message has calls, and a list of calls is not empty. C6: ids have 1 to 40 characters. C7:
/// names are words. C8: arguments are a text.
fn calls(at: usize, message: &Value, found: &mut Violations) {
    let Some(calls) = message.get("tool_calls") else {
        return;
    };
    let is_assistant = message["role"] == "assistant";
    require(is_assistant && !list(calls).is_empty(), found, format!("C5: calls in {at}"));
    for call in list(calls) {
        let id = text(&call["id"]).chars().count();
        require((1..=40).contains(&id), found, format!("C6: id in {at}"));
        let function = &call["function"];
        require(is_word(text(&function["name"]), 64), found, format!("C7: name in {at}"));
        require(function["arguments"].is_string(), found, format!("C8: arguments in {at}"));
    }
}

/// C9: after an assistant message with calls, there is one tool message for every call, and none elsewhere.
fn pairs(messages: &[Value], found: &mut Violations) {
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        if message["role"] == "tool" {
            let id = text(&message["tool_call_id"]);
            let index = open.iter().position(|open| *open == id);
            require(index.is_some(), found, format!("C9: result {id:?} without a call in {at}"));
            index.map(|index| open.remove(index));
            continue;
        }
        require(open.is_empty(), found, format!("C9: {open:?} not answered before {at}"));
        open = list(&message["tool_calls"]).iter().map(|call| text(&call["id"])).collect();
    }
    require(open.is_empty(), found, format!("C9: {open:?} not answered"));
}

/// C10: tools are functions with different names, and their schemas describe objects.
fn tools(request: &Value, found: &mut Violations) {
    let functions = list(&request["tools"]).iter().filter(|tool| tool["type"] == "function");
    let names: Vec<_> = functions.clone().map(|tool| text(&tool["function"]["name"])).collect();
    require(names.iter().all(|name| is_word(name, 64)), found, "C10: name of a tool");
    require(all_differ(names.into_iter()), found, "C10: a tool twice");
    for tool in functions {
        let schema = &tool["function"]["parameters"];
        require(schema["type"] == "object", found, "C10: schema of a tool");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn breaches_are_seen() {
        let user = json!({"role": "user", "content": "hi"});
        let call = json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]});
        let result = json!({"role": "tool", "tool_call_id": "a", "content": ""});
        let breaches = [
            ("C1", json!([])),
            ("C2", json!([{"role": "model", "content": "hi"}])),
            ("C3", json!([{"role": "assistant", "content": null}])),
            ("C9", json!([user, call])),
            ("C9", json!([user, call, user, result])),
            ("C9", json!([user, result])),
            ("C9", json!([user, call, result, result])),
            ("C6", json!([user, call, result, call, result])),
        ];
        for (rule, messages) in breaches {
            let found = check(&json!({"messages": messages}));
            assert!(found.iter().any(|sentence| sentence.starts_with(rule)), "{rule}: {found:?}");
        }
        assert_eq!(check(&json!({"messages": [user, call, result]})), Violations::new());
    }
}
