//! Generators of texts full of brackets, of inputs for assemblers, and of conversations.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use tertulia_context::{Assembler, AssemblerInput, ContextKind, ContextMessage};
use tertulia_session::json::Json;
use tertulia_session::{Message, Speaker, SpeakerType, Timestamp};

/// Pieces of prose that form markers, parts of markers, and whitespace of every kind.
const PROSE: [&str; 35] = [
    "[FROM:",
    "[NEXT:",
    "[DROP:",
    "[TEAM_TASK:",
    "[TEAM_TASK]",
    "[next: a]",
    "[From:b]",
    "[DROP: ALL]",
    "[team_task: c d]",
    "[FROM:]",
    "[NEXT:]",
    "[",
    "]",
    "[TEAM_TAS\u{212a}]",
    "[x]",
    " ",
    " ",
    "  ",
    "\t",
    "\n",
    "\n",
    "\n\n",
    "\r\n",
    "\u{a0}",
    "\u{feff}",
    "\u{85}",
    "\u{2028}",
    "a",
    "b, c",
    "é",
    "中",
    "😀",
    ">",
    ":",
    "!P1",
];

/// Pieces that turn prose into code.
const CODE: [&str; 6] = ["`", "``", "```", "\n```\n", "\n~~~\n", "\n    "];

/// Returns a configuration with at least this many cases, or more if `PROPTEST_CASES` requests them. It writes no
/// file for failures, because the message contains the input.
pub(crate) fn at_least(cases: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig { cases: cases.max(default.cases), failure_persistence: None, ..default }
}

/// Returns prose with markers and without code.
pub(crate) fn prose() -> impl Strategy<Value = String> {
    vec(select(&PROSE[..]), 0..24).prop_map(|pieces| pieces.concat())
}

/// Returns prose with code in it, closed or not.
pub(crate) fn prose_and_code() -> impl Strategy<Value = String> {
    let piece = prop_oneof![4 => select(&PROSE[..]), 1 => select(&CODE[..])];
    vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// Returns short texts with whitespace at both ends and characters of every width.
fn words() -> impl Strategy<Value = String> {
    let piece =
        select(vec!["a", "tea", " ", "\n", "é", "中", "😀", "[x]", "\u{feff}", ": ", "-> "]);
    vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn context_message() -> impl Strategy<Value = ContextMessage<'static>> {
    (words(), option::of(words()), words()).prop_map(|(from, to, content)| ContextMessage {
        from: from.into(),
        to: to.map(Into::into),
        content: content.into(),
        kind: ContextKind::Text,
    })
}

/// Returns any input, with a budget of about the size of its content.
pub(crate) fn input() -> impl Strategy<Value = AssemblerInput<'static>> {
    (
        vec(context_message(), 0..6),
        words(),
        option::of(words()),
        option::of(words()),
        option::of(words()),
        prop_oneof![4 => 0..250_u64, 1 => Just(u64::MAX)],
    )
        .prop_map(|(context_messages, message, task, instruction, file, max_bytes)| {
            AssemblerInput {
                context_messages,
                current_message: message.into(),
                team_task: task.map(Into::into),
                system_instruction: instruction.map(Into::into),
                instruction_file_text: file.map(Into::into),
                max_bytes,
            }
        })
}

/// Returns any of the formats, including one with another header.
pub(crate) fn assembler() -> impl Strategy<Value = Assembler> {
    select(vec![
        Assembler::claude(),
        Assembler::codex(),
        Assembler::gemini(),
        Assembler::plain_text(),
        Assembler::gemini().with_message_header("Last message:"),
    ])
}

/// Returns one of three speakers, two of whom have the same name.
pub(crate) fn speaker() -> impl Strategy<Value = Speaker> {
    select(vec![
        Speaker::new("ann", "Ann", SpeakerType::Human),
        Speaker::new("ivo", "Ivo", SpeakerType::Ai),
        Speaker::new("ivo-2", "Ivo", SpeakerType::Ai),
    ])
}

/// Returns a message with some of everything that a snapshot must keep.
pub(crate) fn message() -> impl Strategy<Value = Message> {
    let unknown = option::of(select(vec!["1.10", "1e400", "[{}]", "\"\\ud800\""]));
    (
        speaker(),
        prose_and_code(),
        option::of(vec("[a-c]{0,2}", 0..3)),
        option::of(any::<i64>()),
        unknown,
    )
        .prop_map(|(speaker, text, addressees, millis, unknown)| {
            let mut message = Message::said(speaker, text);
            if let Some(names) = addressees {
                message = message.to(names);
            }
            if let Some(millis) = millis {
                message = message.at(Timestamp::from_millis(millis));
            }
            if let Some(value) = unknown {
                message.unknown.push("x", Json::parse(value).unwrap());
            }
            message
        })
}
