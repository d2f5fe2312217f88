//! Readers accept the output of the SDKs: short forms, responses and both spellings. Invalid JSON causes an error
//! that names the field.

use proptest::prelude::*;
use tertulia_dialect::Dialect;
use tertulia_session::json;
use tertulia_session::{Message, Part, PartKind, Role};

use crate::arbitrary::at_least;
use crate::messages::{assistant, call, render, result, thinking, user};
use crate::rules::assert_valid;

fn read(dialect: Dialect, text: &str) -> Vec<Message> {
    dialect.read(json::parse(text).unwrap()).unwrap().messages
}

#[track_caller]
fn check_error(dialect: Dialect, text: &str, sentence: &str) {
    let error = dialect.read(json::parse(text).unwrap()).unwrap_err();
    assert_eq!(error.to_string(), sentence);
}

#[test]
fn short_forms_are_read() {
    let hello = [user("hello")];
    assert_eq!(read(Dialect::OpenAiResponses, r#"{"input":"hello"}"#), hello);
    assert_eq!(read(Dialect::OpenAiResponses, r#"[{"role":"user","content":"hello"}]"#), hello);
    assert_eq!(read(Dialect::Anthropic, r#"[{"role":"user","content":"hello"}]"#), hello);
    assert_eq!(read(Dialect::Gemini, r#"{"contents":"hello"}"#), hello);
    assert_eq!(read(Dialect::Gemini, r#"[{"parts":[{"text":"hello"}]}]"#), hello);
    assert_eq!(
        read(Dialect::Anthropic, r#"{"system":"s","messages":[]}"#)[0].role,
        Some(Role::System)
    );
}

#[test]
fn the_message_of_a_response_is_read() {
    let parts = |messages: Vec<Message>| messages[0].parts.to_vec();
    let chat = r#"{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"",
        "reasoning_content":"hm","refusal":null,"tool_calls":[{"id":"a","type":"function",
        "function":{"name":"ls","arguments":""}}]}}]}"#;
    assert_eq!(parts(read(Dialect::OpenAiChat, chat)), [thinking("hm"), call("a", "ls")]);
    let responses = r#"{"object":"response","output":[{"type":"message","id":"m","role":"assistant",
        "status":"completed","content":[{"type":"output_text","text":"hi","annotations":[]}]}]}"#;
    assert_eq!(read(Dialect::OpenAiResponses, responses)[0].text(), "hi");
    let anthropic = r#"{"id":"msg","type":"message","role":"assistant","model":"m",
        "content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{}}"#;
    assert_eq!(read(Dialect::Anthropic, anthropic)[0].text(), "hi");
    let gemini = r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"hi"}]}}]}"#;
    assert_eq!(read(Dialect::Gemini, gemini), [assistant(vec![Part::text("hi")])]);
}

#[test]
fn gemini_calls_without_ids_are_paired_by_name() {
    let text = r#"{"contents":[{"role":"user","parts":[{"text":"go"}]},
        {"role":"model","parts":[{"function_call":{"name":"ls"}},{"functionCall":{"name":"cat","args":{}}}]},
        {"role":"function","parts":[{"function_response":{"name":"cat","response":{"output":"2"}}},
          {"functionResponse":{"name":"ls","response":{"output":"1"}}}]}]}"#;
    let messages = read(Dialect::Gemini, text);
    assert_eq!(
        messages[1..],
        [
            assistant(vec![call("call-1", "ls"), call("call-2", "cat")]),
            result("call-2", "2"),
            result("call-1", "1")
        ]
    );
    assert_valid(Dialect::Gemini, &render(Dialect::Gemini, &messages).fragment.to_json());
}

#[test]
fn unknown_blocks_are_kept_and_sent_back_to_their_vendor() {
    let text = r#"[{"role":"user","content":[{"type":"hologram","of":"a cat"}]}]"#;
    let messages = read(Dialect::Anthropic, text);
    let PartKind::Other(other) = &messages[0].parts[0].kind else { panic!("{messages:?}") };
    assert_eq!(&*other.kind, "anthropic/hologram");
    let request = render(Dialect::Anthropic, &messages).fragment.to_json();
    assert_eq!(request, format!("{{\"messages\":{text}}}"));
}

#[test]
fn a_field_that_cannot_be_read_is_named_with_a_fix() {
    check_error(
        Dialect::OpenAiChat,
        r#"{"messages":[{"role":"user","content":"a"},{"content":"b"}]}"#,
        "messages[1].role is missing; give a string",
    );
    check_error(
        Dialect::Anthropic,
        r#"{"messages":[{"role":"user","content":[{"type":"tool_result"}]}]}"#,
        "messages[0].content[0].tool_use_id is missing; give a string",
    );
    check_error(
        Dialect::Anthropic,
        r#"[{"role":"model","content":"a"}]"#,
        r#"[0].role must be "user", "assistant" or "system"; got "model""#,
    );
    check_error(
        Dialect::OpenAiResponses,
        r#"{"model":"m"}"#,
        "input is missing; give a string or a list of items",
    );
    check_error(
        Dialect::Gemini,
        r#"{"contents":[{"role":"user","parts":[{"functionCall":{}}]}]}"#,
        "contents[0].parts[0].functionCall.name is missing; give a string",
    );
    for dialect in Dialect::ALL {
        check_error(dialect, "7", "the value must be an object; got a number");
    }
}

/// Generates JSON with field names that the readers use, mostly in the wrong position.
fn nearly_a_request() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "null",
        "true",
        "7",
        "\"user\"",
        "\"assistant\"",
        "\"model\"",
        "\"tool\"",
        "\"text\"",
        "\"tool_use\"",
        "\"tool_result\"",
        "\"function_call\"",
        "\"reasoning\"",
        "\"message\"",
        "\"\"",
        "\"\\ud800\"",
        "[]",
        "{}",
    ]);
    let name = prop::sample::select(vec![
        "messages",
        "input",
        "contents",
        "role",
        "content",
        "parts",
        "type",
        "text",
        "id",
        "name",
        "tool_calls",
        "function",
        "arguments",
        "tool_call_id",
        "call_id",
        "output",
        "source",
        "functionCall",
        "functionResponse",
        "response",
        "system",
        "tools",
        "summary",
        "input_schema",
        "tool_use_id",
        "cache_control",
        "encrypted_content",
        "inlineData",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(6, 40, 5, move |inner| {
        let field =
            (name.clone(), inner.clone()).prop_map(|(name, value)| format!("{name:?}:{value}"));
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(|list| format!("[{}]", list.join(","))),
            prop::collection::vec(field, 0..5).prop_map(|list| format!("{{{}}}", list.join(","))),
        ]
    })
}

proptest! {
    #![proptest_config(at_least(2000))]

    #[test]
    fn messages_or_one_sentence_come_of_any_json(text in nearly_a_request()) {
        for dialect in Dialect::ALL {
            match dialect.read(json::parse(&text).unwrap()) {
                Ok(reading) => {
                    let request = render(dialect, &reading.messages).fragment.to_json();
                    assert_valid(dialect, &request);
                }
                Err(error) => prop_assert!(!error.to_string().contains('\n')),
            }
        }
    }
}
