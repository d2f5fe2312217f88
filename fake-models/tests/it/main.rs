//! Tests the server over a plain socket, as the clients of each vendor read it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod client;

use std::net::TcpStream;

use client::{Reply, post};
use serde_json::{Value, json};
use tertulia_fake_models::{FakeModels, Script, Step, Vendor};

const MESSAGES: &str = "/v1/messages?beta=true";
const RESPONSES: &str = "/v1/responses";
const CHAT: &str = "/v1/chat/completions";
const GEMINI: &str = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse";

fn start(steps: impl IntoIterator<Item = Step>) -> FakeModels {
    FakeModels::start(Script::new(steps)).unwrap()
}

/// Returns a main request of each vendor with this user text.
fn requests(user: &str) -> [(&'static str, Value); 4] {
    let messages = json!([{ "role": "user", "content": user }]);
    let input = json!([{ "type": "message", "role": "user",
        "content": [{ "type": "input_text", "text": user }] }]);
    let contents = json!([{ "role": "user", "parts": [{ "text": user }] }]);
    let tools = json!([{ "functionDeclarations": [{ "name": "run_shell_command" }] }]);
    [
        (MESSAGES, json!({ "model": "m", "stream": true, "messages": messages })),
        (RESPONSES, json!({ "model": "m", "stream": true, "input": input })),
        (CHAT, json!({ "model": "m", "stream": true, "messages": messages })),
        (GEMINI, json!({ "contents": contents, "tools": tools })),
    ]
}

/// Returns the text of a stream of any vendor.
fn streamed_text(reply: &Reply) -> String {
    let mut text = String::new();
    for event in reply.events() {
        let delta = &event["delta"];
        let pieces = [
            &delta["text"],
            delta,
            &event["choices"][0]["delta"]["content"],
            &event["candidates"][0]["content"]["parts"][0]["text"],
        ];
        text.extend(pieces.iter().filter_map(|piece| piece.as_str()));
    }
    text
}

#[test]
fn every_vendor_streams_the_text_byte_for_byte() {
    let text = "fn main() {\n    \"漢字 🙂\"\n}\n";
    let models = start([Step::text(text)]);
    for (path, body) in requests("hello") {
        let reply = post(&models, path, &body);
        assert_eq!(reply.status, 200, "{path}");
        assert!(reply.is_whole, "{path}");
        assert_eq!(streamed_text(&reply), text, "{path}");
    }
    let asked = models.asked();
    let vendors: Vec<Vendor> = asked.iter().map(|asked| asked.vendor).collect();
    use Vendor::{Anthropic, Chat, Gemini, Responses};
    assert_eq!(vendors, [Anthropic, Responses, Chat, Gemini]);
    assert!(asked.iter().all(|asked| asked.user == "hello"), "{asked:#?}");
}

#[test]
fn a_status_comes_in_the_vendor_s_words() {
    let models = start([Step::Status(429)]);
    let kinds = ["rate_limit_error", "rate_limit_exceeded", "rate_limit_exceeded", "EXHAUSTED"];
    for ((path, body), kind) in requests("hello").into_iter().zip(kinds) {
        let reply = post(&models, path, &body);
        assert_eq!(reply.status, 429, "{path}");
        assert!(reply.text.contains(kind), "{path}: {}", reply.text);
        assert!(!reply.head.to_lowercase().contains("retry-after"), "{}", reply.head);
    }
}

#[test]
fn an_overflow_is_a_bad_request() {
    let models = start([Step::Overflow]);
    for (path, body) in requests("hello") {
        assert_eq!(post(&models, path, &body).status, 400, "{path}");
    }
}

#[test]
fn a_dropped_stream_has_a_beginning_and_no_end() {
    let models = start([Step::DropMidStream("half of it".into())]);
    for (path, body) in requests("hello") {
        let reply = post(&models, path, &body);
        assert_eq!(streamed_text(&reply), "half of it", "{path}");
        assert!(!reply.is_whole, "{path}");
    }
}

#[test]
fn the_first_line_of_the_newest_user_text_is_echoed() {
    let models = start([Step::Echo]);
    for (path, body) in requests("\nfirst line\nsecond line") {
        assert_eq!(streamed_text(&post(&models, path, &body)), "first line", "{path}");
    }
}

#[test]
fn a_request_beside_the_main_one_takes_no_step() {
    let models = start([Step::text("the first step"), Step::Status(500)]);
    let count = post(&models, "/v1/messages/count_tokens", &json!({ "messages": [] }));
    assert!(count.text.contains("input_tokens"), "{}", count.text);
    let title = json!({ "model": "m", "messages": [{ "role": "user", "content": "title?" }] });
    assert_eq!(post(&models, MESSAGES, &title).status, 200);
    let [(path, body), ..] = requests("hello");
    assert_eq!(streamed_text(&post(&models, path, &body)), "the first step");
    assert_eq!(models.asked().len(), 1);
}

#[test]
fn a_model_may_have_a_script_of_its_own() {
    let models = start([Step::text("anybody")]);
    models.script_for("gemini-x", Script::new([Step::text("somebody")]));
    for (path, body) in requests("hello") {
        let expected = if path == GEMINI { "somebody" } else { "anybody" };
        assert_eq!(streamed_text(&post(&models, path, &body)), expected, "{path}");
    }
}

#[test]
fn a_request_that_wants_no_stream_gets_one_value() {
    let models = start([Step::text("all at once")]);
    for (path, mut body) in requests("hello") {
        let path = path.replace(":streamGenerateContent", ":generateContent");
        body["stream"] = json!(false);
        body["tools"] = json!([{ "name": "t", "functionDeclarations": [{ "name": "t" }] }]);
        let reply = post(&models, &path, &body);
        assert!(reply.head.contains("application/json"), "{path}");
        assert!(reply.text.contains("all at once"), "{path}: {}", reply.text);
    }
}

#[test]
fn a_server_that_is_dropped_hangs_up_and_is_gone() {
    let models = start([Step::Stall("a beginning".into())]);
    let address = models.url().trim_start_matches("http://").to_owned();
    let [(path, body), ..] = requests("hello");
    let reply = client::post_and_then(&address, path, &body, "beginning", || drop(models));
    assert_eq!(streamed_text(&reply), "a beginning");
    assert!(!reply.is_whole);
    assert!(TcpStream::connect(&address).is_err());
}
