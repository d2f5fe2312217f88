//! Generators of lists of messages, with every kind of error that the types allow.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use tertulia_session::json::Json;
use tertulia_session::{FileRef, ImageSource, Message, Part, PartKind, Role};

use crate::messages::{call_with, image, json, message, other, result_part, thinking, with_field};

/// Returns a configuration with at least this number of cases, or more if `PROPTEST_CASES` says so.
pub(crate) fn at_least(cases: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig { cases: cases.max(default.cases), failure_persistence: None, ..default }
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => select(vec!["", " ", "\n\t", "yes", "ends in spaces \n", "é\u{0}\"", "{}"])
            .prop_map(str::to_owned),
        1 => vec(any::<char>(), 0..6).prop_map(String::from_iter),
    ]
}

/// Generates few ids, so that they repeat, and some that vendors reject.
fn id() -> impl Strategy<Value = String> {
    let long = "long".repeat(30);
    prop_oneof![
        6 => select(vec!["a", "b", "c"]).prop_map(str::to_owned),
        1 => select(vec!["", "call|1", "é", "a b", "a_2"]).prop_map(str::to_owned),
        1 => Just(long),
    ]
}

fn tool_name() -> impl Strategy<Value = String> {
    select(vec!["ls", "read_file", "fs.read", "1st", "", "no good", "λ"]).prop_map(str::to_owned)
}

/// Generates JSON values of every kind, with lone surrogates.
fn any_json() -> impl Strategy<Value = &'static str> {
    select(vec![
        "null",
        "true",
        "12345678901234567890",
        r#""""#,
        r#""text""#,
        r#""\ud800 half""#,
        r#""{\"a\":1}""#,
        "[]",
        "[1]",
        "{}",
        r#"{"a":{"b":"\udc00"}}"#,
        r#"{"output":1}"#,
        r#"{"error":"x"}"#,
        r#"[{"type":"text","text":"a"},{"type":"text","text":" "}]"#,
        r#"[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]"#,
        r#"[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]"#,
        r#"[{"type":"image","source":{"type":"base64","media_type":"image/tiff","data":"?"}}]"#,
        r#"[{"type":"image","mimeType":"image/png","data":"AAAA"},{"type":"text","text":""}]"#,
    ])
}

fn picture() -> impl Strategy<Value = Part> {
    let mime_type = select(vec!["image/png", "image/tiff", "text/plain", ""]);
    let source = prop_oneof![
        select(vec!["AAAA", "AA==", "", "broken", "é"])
            .prop_map(|data| ImageSource::Data(data.into())),
        select(vec!["https://a.example/b.png", "data:image/png;base64,AAAA", "file:///x", ""])
            .prop_map(|url| ImageSource::Url(url.into())),
    ];
    (mime_type, source).prop_map(|(mime_type, source)| image(mime_type, source))
}

fn foreign() -> impl Strategy<Value = Part> {
    let payload = select(vec![
        r#"{"type":"document","source":{"type":"text"},"cache_control":{"type":"ephemeral"}}"#,
        r#"{"type":"redacted_thinking","data":"x"}"#,
        r#"{"type":"reasoning","summary":[]}"#,
        r#"{"type":"web_search_call","id":"ws"}"#,
        r#"{"type":"input_file","file_id":"f"}"#,
        r#"{"type":"text","text":""}"#,
        r#"{"executableCode":{"code":"1"}}"#,
        "null",
    ]);
    let kind = select(vec![
        "anthropic/document",
        "anthropic/redacted_thinking",
        "anthropic/text",
        "responses/reasoning",
        "responses/web_search_call",
        "responses/input_file",
        "openai/input_file",
        "gemini/executableCode",
        "video",
    ]);
    (kind, payload).prop_map(|(kind, payload)| other(kind, payload))
}

fn part() -> impl Strategy<Value = Part> {
    let signed = select(vec!["signature", "thoughtSignature", "encryptedContent"]);
    let call = (id(), tool_name(), any_json(), option::of(any_json()));
    prop_oneof![
        4 => words().prop_map(Part::text),
        1 => words().prop_map(|text| thinking(&text)),
        2 => (words(), signed.clone()).prop_map(|(text, field)| {
            with_field(thinking(&text), field, "c2ln")
        }),
        1 => (words(), signed).prop_map(|(text, field)| with_field(Part::text(text), field, "s")),
        4 => call.prop_map(|(id, name, arguments, raw)| call_with(&id, &name, arguments, raw)),
        4 => (id(), any::<bool>(), any_json())
            .prop_map(|(id, is_error, content)| result_part(&id, is_error, content)),
        1 => picture(),
        1 => words().prop_map(|path| {
            let file = FileRef { path: path.into(), mime_type: None, size: None };
            Part::new(PartKind::FileRef(Box::new(file)))
        }),
        1 => foreign(),
    ]
}

fn role() -> impl Strategy<Value = Option<Role>> {
    select(vec![
        None,
        Some(Role::System),
        Some(Role::User),
        Some(Role::Assistant),
        Some(Role::Assistant),
        Some(Role::Tool),
        Some(Role::Tool),
    ])
}

/// Generates any messages that are not volatile.
pub(crate) fn lasting_messages() -> impl Strategy<Value = Vec<Message>> {
    let one = (role(), vec(part(), 0..4))
        .prop_map(|(role, parts)| Message { role, ..message(Role::User, parts) });
    vec(one, 0..10)
}

/// Generates any messages.
pub(crate) fn messages() -> impl Strategy<Value = Vec<Message>> {
    let meta = select(vec![
        None,
        None,
        None,
        None,
        Some(r#"{"kind":"runtime_hints"}"#),
        Some(r#"{"kind":"recall"}"#),
        Some(r#"{"kind":7}"#),
        Some("[]"),
    ]);
    (lasting_messages(), vec(meta, 10)).prop_map(|(mut messages, metas)| {
        for (message, meta) in messages.iter_mut().zip(metas) {
            message.meta = meta.map(json);
        }
        messages
    })
}

/// Generates any tool specs.
pub(crate) fn tool_specs() -> impl Strategy<Value = Vec<Json>> {
    let spec = select(vec![
        r#"{"name":"ls","parameterSchema":{"type":"object"},"strict":true}"#,
        r#"{"name":"ls","description":"again","parameterSchema":{"type":"object"}}"#,
        r#"{"name":"fs.read","parameterSchema":{"type":"string"}}"#,
        r#"{"name":"","parameterSchema":null}"#,
        r#"{"name":"web","vendor":"anthropic","tool":{"type":"web_search_1","name":"web"}}"#,
        r#"{"description":"no name"}"#,
        "7",
    ]);
    vec(spec.prop_map(json), 0..4)
}
