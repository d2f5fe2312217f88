//! Generators of any message that a reader can return, and any JSON that an unknown program can write. Used by
//! `properties`.

pub(crate) mod entries;
mod memory;

use std::sync::Arc;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use tertulia_session::json::Json;
use tertulia_session::{
    Addressee, Ask, ConversationMessage, Fields, FileRef, Image, ImageSource, Message, MessageId,
    OtherPart, Part, PartKind, Role, Routing, Speaker, SpeakerType, Timestamp, ToolCall,
    ToolResult,
};

/// Returns a configuration with at least this many cases, or more if `PROPTEST_CASES` requests them. It writes no
/// file for failures, because the message contains the input.
pub(crate) fn at_least(cases: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig { cases: cases.max(default.cases), failure_persistence: None, ..default }
}

/// Returns any characters, including control characters and NUL.
fn text() -> impl Strategy<Value = String> {
    vec(any::<char>(), 0..8).prop_map(String::from_iter)
}

fn boxed() -> impl Strategy<Value = Box<str>> {
    text().prop_map(Into::into)
}

fn json_string() -> impl Strategy<Value = String> {
    text().prop_map(|text| serde_json::to_string(&text).unwrap())
}

/// Returns any JSON value as text: unusual numbers, lone surrogates, whitespace, repeated names.
pub(crate) fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        select(vec![
            "null",
            "true",
            "false",
            "0",
            "-0",
            "1.10",
            "1e400",
            "-7",
            "123456789012345678901234567890",
            r#""\ud800""#,
            r#""""#,
            "[]",
            "{}",
        ])
        .prop_map(str::to_owned),
        json_string(),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let blank = select(vec!["", " ", "\n", "\t\r "]);
        prop_oneof![
            (vec(inner.clone(), 0..4), blank.clone()).prop_map(|(items, blank)| format!(
                "[{blank}{}]",
                items.join(&format!("{blank},"))
            )),
            (vec((name(), inner), 0..4), blank).prop_map(|(fields, blank)| {
                let fields: Vec<String> = fields
                    .into_iter()
                    .map(|(name, value)| format!("{name}{blank}:{value}"))
                    .collect();
                format!("{{{}{blank}}}", fields.join(","))
            }),
        ]
    })
}

/// Returns a field name as JSON text. It is nearly always the name of a field of some type.
fn name() -> impl Strategy<Value = String> {
    let known = select(vec![
        "id",
        "content",
        "parts",
        "speaker",
        "routing",
        "role",
        "runId",
        "timestamp",
        "meta",
        "roleId",
        "roleName",
        "roleTitle",
        "name",
        "displayName",
        "type",
        "resolvedAddressees",
        "identifier",
        "parentMessageId",
        "intent",
        "kind",
        "payload",
        "text",
        "toolCallId",
        "toolName",
        "arguments",
        "rawArgsText",
        "isError",
        "mimeType",
        "data",
        "url",
        "path",
        "size",
    ])
    .prop_map(|name| format!("{name:?}"));
    prop_oneof![8 => known, 1 => json_string(), 1 => Just(r#""\udc00""#.to_owned())]
}

/// Returns JSON that is nearly a message: the required fields exist, others are random.
pub(crate) fn nearly_message() -> impl Strategy<Value = String> {
    let content = json_string().prop_map(|value| ("\"content\"".to_owned(), value));
    let speaker = (json_string(), vec((name(), json()), 0..3)).prop_map(|(id, more)| {
        let fields = more.into_iter().chain([("\"roleId\"".to_owned(), id)]);
        ("\"speaker\"".to_owned(), object(fields))
    });
    let routing =
        vec((name(), json()), 0..3).prop_map(|fields| ("\"routing\"".to_owned(), object(fields)));
    let part = (name(), vec((name(), json()), 0..4)).prop_map(|(kind, payload)| {
        let payload = ("\"payload\"".to_owned(), object(payload));
        object([("\"kind\"".to_owned(), kind), payload])
    });
    let parts = vec(part, 0..3)
        .prop_map(|parts| ("\"parts\"".to_owned(), format!("[{}]", parts.join(","))));
    let others = vec((name(), json()), 0..4);
    (content, speaker, option::of(routing), option::of(parts), others).prop_map(
        |(content, speaker, routing, parts, others)| {
            let some = routing.into_iter().chain(parts).chain([content, speaker]);
            object(others.into_iter().chain(some))
        },
    )
}

fn object(fields: impl IntoIterator<Item = (String, String)>) -> String {
    let fields: Vec<String> =
        fields.into_iter().map(|(name, value)| format!("{name}:{value}")).collect();
    format!("{{{}}}", fields.join(","))
}

fn any_json() -> impl Strategy<Value = Json> {
    json().prop_map(|text| Json::parse(&text).unwrap())
}

/// Returns fields with unknown names.
fn fields() -> impl Strategy<Value = Fields> {
    let name = prop_oneof![
        "x[a-z]{0,3}",
        select(vec!["", "é\n\"", "$serde_json::private::RawValue"]).prop_map(str::to_owned),
    ];
    vec((name, any_json()), 0..3).prop_map(|fields| {
        let mut all = Fields::NONE;
        for (name, value) in fields {
            all.push(name, value);
        }
        all
    })
}

fn speaker() -> impl Strategy<Value = Speaker> {
    let id = vec(any::<char>(), 1..5).prop_map(|chars| Box::from(String::from_iter(chars)));
    let word = boxed().prop_map(|word| SpeakerType::from(&*word));
    let kind = prop_oneof![
        Just(SpeakerType::Human),
        Just(SpeakerType::Ai),
        Just(SpeakerType::System),
        word,
    ];
    (id, boxed(), option::of(boxed()), option::of(kind), fields()).prop_map(
        |(role_id, role_name, role_title, kind, unknown)| Speaker {
            role_id,
            role_name,
            role_title,
            kind,
            unknown,
        },
    )
}

fn routing() -> impl Strategy<Value = Routing> {
    let addressee =
        (boxed(), fields()).prop_map(|(identifier, unknown)| Addressee { identifier, unknown });
    let texts = (option::of(boxed()), option::of(boxed()));
    (option::of(vec(addressee, 0..4)), texts, option::of(ask()), fields()).prop_map(
        |(resolved_addressees, (parent_message_id, intent), ask, unknown)| Routing {
            resolved_addressees,
            parent_message_id,
            intent,
            ask,
            unknown,
        },
    )
}

fn ask() -> impl Strategy<Value = Box<Ask>> {
    let members = (vec(boxed(), 0..4), option::of(boxed()), any::<bool>());
    let numbers = (option::of(any::<u32>()), option::of(any::<u32>()), any::<u32>());
    (members, numbers, fields()).prop_map(
        |((members, judge, reactions), (quorum, grace_seconds, seed), unknown)| {
            Box::new(Ask { members, judge, reactions, quorum, grace_seconds, seed, unknown })
        },
    )
}

fn known_kind() -> impl Strategy<Value = PartKind> {
    let call = (boxed(), boxed(), any_json(), option::of(boxed())).prop_map(
        |(tool_call_id, tool_name, arguments, raw_args_text)| {
            PartKind::ToolCall(Box::new(ToolCall {
                tool_call_id,
                tool_name,
                arguments,
                raw_args_text,
            }))
        },
    );
    let result =
        (boxed(), any::<bool>(), any_json()).prop_map(|(tool_call_id, is_error, content)| {
            PartKind::ToolResult(Box::new(ToolResult { tool_call_id, is_error, content }))
        });
    let source =
        prop_oneof![boxed().prop_map(ImageSource::Data), boxed().prop_map(ImageSource::Url),];
    let image = (boxed(), source)
        .prop_map(|(mime_type, source)| PartKind::Image(Box::new(Image { mime_type, source })));
    let file = (boxed(), option::of(boxed()), option::of(any::<u64>())).prop_map(
        |(path, mime_type, size)| PartKind::FileRef(Box::new(FileRef { path, mime_type, size })),
    );
    prop_oneof![
        text().prop_map(PartKind::Text),
        text().prop_map(PartKind::Thinking),
        call,
        result,
        image,
        file,
    ]
}

fn part() -> impl Strategy<Value = Part> {
    let known = (known_kind(), fields(), fields())
        .prop_map(|(kind, part, payload)| Part::new(kind).with_unknown(part, payload));
    let other =
        ("y[a-z]{0,4}", option::of(any_json()), fields()).prop_map(|(kind, payload, unknown)| {
            let kind = kind.into();
            let other = PartKind::Other(Box::new(OtherPart { kind, payload }));
            Part::new(other).with_unknown(unknown, Fields::NONE)
        });
    prop_oneof![4 => known, 1 => other]
}

fn timestamp() -> impl Strategy<Value = Timestamp> {
    let date = select(vec![
        "2026-01-31T12:00:00.000Z",
        "2026-01-31T12:00:00Z",
        "1969-07-20T20:17:40.5+00:00",
    ]);
    prop_oneof![
        any::<i64>().prop_map(Timestamp::from_millis),
        date.prop_map(|text| text.parse::<Timestamp>().unwrap()),
    ]
}

/// Returns any message that a reader can return.
pub(crate) fn message() -> impl Strategy<Value = Message> {
    let role = select(vec![Role::System, Role::User, Role::Assistant, Role::Tool]);
    let meta = json().prop_map(|value| Json::parse(&format!("{{\"a\":{value}}}")).unwrap());
    (
        option::of(role),
        vec(part(), 0..4),
        speaker(),
        option::of(routing()),
        option::of(boxed()),
        option::of(timestamp()),
        option::of(meta),
        fields(),
    )
        .prop_map(|(role, parts, speaker, routing, run_id, timestamp, meta, unknown)| {
            Message {
                role,
                parts: parts.into(),
                speaker: Some(Arc::new(speaker)),
                routing: routing.map(Box::new),
                run_id,
                timestamp,
                meta,
                unknown,
            }
        })
}

/// Returns any message with an id, numbered or not.
pub(crate) fn conversation_message() -> impl Strategy<Value = ConversationMessage> {
    let id = prop_oneof![
        any::<u64>().prop_map(|number| format!("msg-{number}")),
        "msg-0[0-9]{0,3}",
        text(),
    ];
    (id, message())
        .prop_map(|(id, message)| ConversationMessage { id: MessageId::from(id.as_str()), message })
}
