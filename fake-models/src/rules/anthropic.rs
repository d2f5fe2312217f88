//! The rules of Anthropic Messages (docs/dialects.md, A1–A16), and tests that the checker detects violations.

use serde_json::Value;

use super::{Violations, all_differ, is_blank, is_word, list, require, text};

pub(super) fn check(request: &Value) -> Violations {
    let mut found = Violations::new();
    let messages = list(&request["messages"]);
    order_of_roles(messages, &mut found);
    system_is_text(request, &mut found);
    for (at, message) in messages.iter().enumerate() {
        for block in list(&message["content"]) {
            block_by_itself(at, text(&message["role"]), block, &mut found);
        }
        thinking_in_place(at, message, &mut found);
    }
    ids_are_unique(messages, &mut found);
    pairs(messages, &mut found);
    end_of_request(messages, &mut found);
    breakpoints(request, &mut found);
    tools(request, &mut found);
    found
}

/// A1: there is a message. A2: roles are user and assistant. A3: the first message is the user's. A4: the roles
/// alternate. A5: every turn has content.
fn order_of_roles(messages: &[Value], found: &mut Violations) {
    require(!messages.is_empty(), found, "A1: no messages");
    for (at, message) in messages.iter().enumerate() {
        let role = text(&message["role"]);
        let expected = if at % 2 == 0 { "user" } else { "assistant" };
        require(role == expected, found, format!("A2-A4: turn {at} is {role:?}"));
        require(!list(&message["content"]).is_empty(), found, format!("A5: turn {at} is empty"));
    }
}

/// A6: the system text is a list of texts that are not blank.
fn system_is_text(request: &Value, found: &mut Violations) {
    let Some(system) = request.get("system") else {
        return;
    };
    let is_text = |block: &Value| block["type"] == "text" && !is_blank(&block["text"]);
    let blocks = list(system);
    require(!blocks.is_empty() && blocks.iter().all(is_text), found, "A6: system is not text");
}

/// A7: texts are not blank. A8: each kind of block has the right role. A9: ids and names are words. A10: an input is
/// an object. A11: thinking is signed. A12: pictures have one of four types.
fn block_by_itself(at: usize, role: &str, block: &Value, found: &mut Violations) {
    let kind = text(&block["type"]);
    match kind {
        "text" => require(!is_blank(&block["text"]), found, format!("A7: blank text in {at}")),
        "tool_use" => {
            require(is_word(text(&block["id"]), 64), found, format!("A9: id in {at}"));
            require(is_word(text(&block["name"]), 64), found, format!("A9: name in {at}"));
            require(block["input"].is_object(), found, format!("A10: input in {at}"));
        }
        "tool_result" => result_content(at, &block["content"], found),
        "thinking" => {
            let is_signed = !text(&block["signature"]).is_empty() && block["thinking"].is_string();
            require(is_signed, found, format!("A11: unsigned thinking in {at}"));
        }
        "image" => picture(at, &block["source"], found),
        "" => found.push(format!("A8: a block without a type in {at}")),
        _ => {}
    }
    let side = match kind {
        "tool_use" | "thinking" | "redacted_thinking" => "assistant",
        "tool_result" | "image" => "user",
        _ => role,
    };
    require(role == side, found, format!("A8: {kind} in a turn of the {role}"));
}

/// Checks A7 and A12 inside a result.
fn result_content(at: usize, content: &Value, found: &mut Violations) {
    let is_known = content.is_null() || content.is_string() || !list(content).is_empty();
    require(is_known, found, format!("A7: result content in {at}"));
    for block in list(content) {
        match text(&block["type"]) {
            "text" => require(!is_blank(&block["text"]), found, format!("A7: blank in {at}")),
            "image" => picture(at, &block["source"], found),
            "document" | "search_result" => {}
            kind => found.push(format!("A7: {kind:?} in a result in {at}")),
        }
    }
}

fn picture(at: usize, source: &Value, found: &mut Violations) {
    let types = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    let is_sound = match text(&source["type"]) {
        "base64" => {
            types.contains(&text(&source["media_type"]))
                && text(&source["data"]).len().is_multiple_of(4)
                && !text(&source["data"]).is_empty()
        }
        "url" => text(&source["url"]).starts_with("http"),
        _ => false,
    };
    require(is_sound, found, format!("A12: picture in {at}"));
}

/// A11: a turn with thinking begins with it and does not end with it.
fn thinking_in_place(at: usize, message: &Value, found: &mut Violations) {
    let is_thinking =
        |block: &Value| matches!(text(&block["type"]), "thinking" | "redacted_thinking");
    let blocks = list(&message["content"]);
    if blocks.iter().any(is_thinking) {
        require(is_thinking(&blocks[0]), found, format!("A11: thinking is not first in {at}"));
    }
    require(!blocks.last().is_some_and(is_thinking), found, format!("A11: {at} ends thinking"));
}

/// A9: no id is used twice.
fn ids_are_unique(messages: &[Value], found: &mut Violations) {
    let blocks = messages.iter().flat_map(|message| list(&message["content"]));
    let ids = blocks.filter(|block| block["type"] == "tool_use").map(|block| text(&block["id"]));
    require(all_differ(ids), found, "A9: an id twice");
}

/// A13: the next turn begins with one result for each call of a turn, and contains no other results.
fn pairs(messages: &[Value], found: &mut Violations) {
    let of_kind = |message: &Value, kind: &str, id: &str| -> Vec<String> {
        let blocks = list(&message["content"]).iter().filter(|block| block["type"] == kind);
        let mut ids: Vec<_> = blocks.map(|block| text(&block[id]).to_owned()).collect();
        ids.sort();
        ids
    };
    let mut calls = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let results = of_kind(message, "tool_result", "tool_use_id");
        require(calls == results, found, format!("A13: {calls:?} answered by {results:?} in {at}"));
        let is_result = |block: &&Value| block["type"] == "tool_result";
        let leading = list(&message["content"]).iter().take_while(is_result).count();
        require(leading == results.len(), found, format!("A13: results not first in {at}"));
        calls = of_kind(message, "tool_use", "id");
    }
    require(calls.is_empty(), found, format!("A13: {calls:?} not answered"));
}

/// A14: if a request ends with the assistant's text, that text does not end with whitespace.
fn end_of_request(messages: &[Value], found: &mut Violations) {
    let Some(last) = messages.last().filter(|message| message["role"] == "assistant") else {
        return;
    };
    let words = list(&last["content"]).last().map_or("", |block| text(&block["text"]));
    require(words.trim_end() == words, found, "A14: trailing whitespace");
}

/// A15: there are at most four cache breakpoints, and none on thinking.
fn breakpoints(request: &Value, found: &mut Violations) {
    let marks = request.to_string().matches("\"cache_control\":").count();
    require(marks <= 4, found, format!("A15: {marks} breakpoints"));
    let blocks = list(&request["messages"]).iter().flat_map(|message| list(&message["content"]));
    let mut marked = blocks.filter(|block| block.get("cache_control").is_some());
    let is_thinking = |block: &Value| text(&block["type"]).ends_with("thinking");
    require(!marked.any(is_thinking), found, "A15: a breakpoint on thinking");
}

/// A16: tools have different names, and their schemas describe objects.
fn tools(request: &Value, found: &mut Violations) {
    let functions = list(&request["tools"]).iter().filter(|tool| tool.get("type").is_none());
    for tool in functions.clone() {
        require(is_word(text(&tool["name"]), 64), found, "A16: name of a tool");
        require(tool["input_schema"]["type"] == "object", found, "A16: schema of a tool");
    }
    require(all_differ(functions.map(|tool| text(&tool["name"]))), found, "A16: a tool twice");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn breaches_are_seen() {
        let text = |role: &str, text: &str| json!({"role": role, "content": [{"type": "text", "text": text}]});
        let call = json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": "a", "name": "ls", "input": {}}]});
        let result = json!({"type": "tool_result", "tool_use_id": "a", "content": "ok"});
        let breaches = [
            ("A1", json!([])),
            ("A2-A4", json!([text("assistant", "hi")])),
            ("A2-A4", json!([text("user", "hi"), text("user", "hi")])),
            ("A7", json!([text("user", " ")])),
            ("A13", json!([text("user", "hi"), call, text("user", "hi")])),
            ("A13", json!([text("user", "hi"), call])),
            (
                "A13",
                json!([text("user", "hi"), call, {"role": "user", "content": [
                {"type": "text", "text": "first"}, result]}]),
            ),
            ("A13", json!([{"role": "user", "content": [result]}])),
            ("A14", json!([text("user", "hi"), text("assistant", "Well, ")])),
        ];
        for (rule, messages) in breaches {
            let found = check(&json!({"messages": messages}));
            assert!(found.iter().any(|sentence| sentence.starts_with(rule)), "{rule}: {found:?}");
        }
        let sound = json!([text("user", "hi"), call, {"role": "user", "content": [result]}]);
        assert_eq!(check(&json!({"messages": sound})), Violations::new());
    }
}
