//! The rules of Gemini `generateContent` (docs/dialects.md, G1–G9), and tests that the checker detects violations.

use serde_json::Value;

use super::{Violations, all_differ, list, require, text};

pub(super) fn check(request: &Value) -> Violations {
    let mut found = Violations::new();
    let contents = list(&request["contents"]);
    order_of_roles(contents, &mut found);
    system_is_text(request, &mut found);
    for (at, content) in contents.iter().enumerate() {
        for part in list(&content["parts"]) {
            part_by_itself(at, text(&content["role"]), part, &mut found);
        }
    }
    pairs(contents, &mut found);
    tools(request, &mut found);
    found
}

/// G1: there is a content. G2: roles are user and model, and they alternate. G3: the first and the last content are
/// the user's, so a call follows a user turn or a response. G4: a content has parts.
fn order_of_roles(contents: &[Value], found: &mut Violations) {
    require(!contents.is_empty(), found, "G1: no contents");
    for (at, content) in contents.iter().enumerate() {
        let role = text(&content["role"]);
        let expected = if at % 2 == 0 { "user" } else { "model" };
        require(role == expected, found, format!("G2: content {at} is {role:?}"));
        require(!list(&content["parts"]).is_empty(), found, format!("G4: content {at} is empty"));
    }
    let is_user = contents.last().is_none_or(|last| last["role"] == "user");
    require(is_user, found, "G3: the last content is the model's");
}

/// G5: the system instruction is text.
fn system_is_text(request: &Value, found: &mut Violations) {
    let Some(system) = request.get("systemInstruction") else {
        return;
    };
    let parts = list(&system["parts"]);
    let is_text = |part: &Value| !text(&part["text"]).is_empty();
    require(!parts.is_empty() && parts.iter().all(is_text), found, "G5: system is not text");
}

/// G6: a part has one kind of content; an empty text must have a signature; calls and thoughts are the model's,
/// responses the user's; arguments and responses are objects. G7: names begin with a letter or `_`.
fn part_by_itself(at: usize, role: &str, part: &Value, found: &mut Violations) {
    let is_signed = part.get("thoughtSignature").is_some();
    require(!is_signed || role == "model", found, format!("G6: signature of the user in {at}"));
    if let Some(words) = part.get("text") {
        let says = words.is_string() && (!text(words).is_empty() || is_signed);
        require(says, found, format!("G6: empty text in {at}"));
    } else if let Some(call) = part.get("functionCall") {
        let is_sound = role == "model" && is_name(text(&call["name"])) && call["args"].is_object();
        require(is_sound, found, format!("G6, G7: call in {at}"));
    } else if let Some(response) = part.get("functionResponse") {
        let is_object = response["response"].is_object();
        let is_sound = role == "user" && is_name(text(&response["name"])) && is_object;
        require(is_sound, found, format!("G6, G7: response in {at}"));
    } else if let Some(blob) = part.get("inlineData") {
        let is_typed = text(&blob["mimeType"]).contains('/') && !text(&blob["data"]).is_empty();
        require(is_typed, found, format!("G6: data in {at}"));
    } else {
        let is_something = part.as_object().is_some_and(|part| !part.is_empty());
        require(is_something, found, format!("G6: a part that says nothing in {at}"));
    }
}

fn is_name(name: &str) -> bool {
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_next = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    name.starts_with(is_first) && name.len() <= 64 && name.chars().all(is_next)
}

/// G8: the turn after a turn with calls begins with as many responses, with the same names and ids in the same order.
/// No other turn has responses.
fn pairs(contents: &[Value], found: &mut Violations) {
    let said = |content: &Value, field: &str| -> Vec<(String, String)> {
        let parts = list(&content["parts"]).iter().filter_map(|part| part.get(field));
        let pair = |it: &Value| (text(&it["name"]).to_owned(), text(&it["id"]).to_owned());
        parts.map(pair).collect()
    };
    let mut calls = Vec::new();
    for (at, content) in contents.iter().enumerate() {
        let responses = said(content, "functionResponse");
        require(calls == responses, found, format!("G8: {calls:?} by {responses:?} in {at}"));
        let is_response = |part: &&Value| part.get("functionResponse").is_some();
        let leading = list(&content["parts"]).iter().take_while(is_response).count();
        require(leading == responses.len(), found, format!("G8: responses not first in {at}"));
        calls = said(content, "functionCall");
    }
    require(calls.is_empty(), found, format!("G8: {calls:?} not answered"));
}

/// G9: functions have different names, and their schemas describe objects.
fn tools(request: &Value, found: &mut Violations) {
    let functions = list(&request["tools"]).iter();
    let functions = functions.flat_map(|tool| list(&tool["functionDeclarations"]));
    let names: Vec<_> = functions.clone().map(|tool| text(&tool["name"])).collect();
    require(names.iter().all(|name| is_name(name)), found, "G9: name of a tool");
    require(all_differ(names.into_iter()), found, "G9: a tool twice");
    for tool in functions {
        let is_object = tool["parametersJsonSchema"]["type"] == "object";
        require(is_object, found, "G9: schema of a tool");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn breaches_are_seen() {
        let user = json!({"role": "user", "parts": [{"text": "hi"}]});
        let model = json!({"role": "model", "parts": [{"text": "hi"}]});
        let call = json!({"role": "model", "parts": [
            {"functionCall": {"id": "a", "name": "ls", "args": {}}}]});
        let response = |name: &str| {
            json!({"role": "user", "parts": [
            {"functionResponse": {"id": "a", "name": name, "response": {}}}]})
        };
        let breaches = [
            ("G1", json!([])),
            ("G2", json!([model, user])),
            ("G2", json!([user, user])),
            ("G3", json!([user, model])),
            ("G8", json!([user, call, user])),
            ("G8", json!([user, call, response("cat")])),
            ("G8", json!([response("ls")])),
            ("G6", json!([{"role": "user", "parts": [{"text": ""}]}])),
        ];
        for (rule, contents) in breaches {
            let found = check(&json!({"contents": contents}));
            assert!(found.iter().any(|sentence| sentence.starts_with(rule)), "{rule}: {found:?}");
        }
        let sound = json!([user, call, response("ls")]);
        assert_eq!(check(&json!({"contents": sound})), Violations::new());
    }
}
