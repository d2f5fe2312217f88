//! Conversations, contexts and texts for the measurements. They are generated, the same in every run, and ASCII
//! only. They have no markers unless the name says otherwise.

use std::borrow::Cow;
use std::sync::Arc;

use tertulia_context::{
    AddMessageError, AssemblerInput, ContextKind, ContextManager, ContextMessage,
};
use tertulia_session::{Message, Speaker, SpeakerType, Timestamp};

/// The size of every message.
pub(crate) const MESSAGE_BYTES: usize = 200;

/// The task of the team.
const TEAM_TASK: &str = "Design the login page, and say what it costs to keep it.";

const PROSE: &str = "We keep the form as it is, move the two links below the button and ask for the \
                     second factor only when the device is new. Sarah has numbers for that; they \
                     are two weeks old, so somebody should look again before we decide. ";

/// The addressees of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Addressed {
    ToNobody,
    ToOne,
}

/// Returns a conversation of four speakers, a time at each message.
///
/// Speakers and words are numbered from the end, so that conversations of different lengths end with the same
/// messages.
pub(crate) fn conversation(
    messages: usize,
    addressed: Addressed,
) -> Result<ContextManager, AddMessageError> {
    let speakers = [
        ("ann", "Ann", SpeakerType::Human),
        ("max", "Max", SpeakerType::Ai),
        ("sarah", "Sarah", SpeakerType::Ai),
        ("tom", "Tom", SpeakerType::Ai),
    ]
    .map(|(id, name, kind)| Arc::new(Speaker::new(id, name, kind)));
    let mut manager = ContextManager::default();
    manager.set_team_task(TEAM_TASK);
    for (back, millis) in (0..messages).rev().zip((1_769_860_800_000..).step_by(1_000)) {
        let speaker = &speakers[back % speakers.len()];
        let message = Message::said(Arc::clone(speaker), message_text(back));
        let message = match addressed {
            Addressed::ToNobody => message,
            Addressed::ToOne => message.to(["sarah"]),
        };
        manager.add_message(message.at(Timestamp::from_millis(millis)))?;
    }
    Ok(manager)
}

/// Returns the input of an assembler: a context of this many messages, and a budget for all of them.
pub(crate) fn assembler_input(messages: usize) -> AssemblerInput<'static> {
    let line = |back| ContextMessage {
        from: Cow::Borrowed("Max"),
        to: Some(Cow::Borrowed("Sarah")),
        content: Cow::Owned(message_text(back)),
        kind: ContextKind::Text,
    };
    AssemblerInput {
        context_messages: (1..=messages).rev().map(line).collect(),
        current_message: Cow::Owned(message_text(0)),
        team_task: Some(Cow::Borrowed(TEAM_TASK)),
        system_instruction: None,
        instruction_file_text: None,
        max_bytes: u64::MAX,
    }
}

/// Returns the text of one message, in a `String` without spare capacity.
pub(crate) fn message_text(number: usize) -> String {
    let mut text = String::with_capacity(MESSAGE_BYTES);
    text.push_str(&number.to_string());
    text.push(' ');
    fill(&mut text, PROSE, MESSAGE_BYTES - 1);
    text.push('.');
    text
}

/// Returns lines of prose that stripping does not change.
pub(crate) fn plain_text(bytes: usize) -> String {
    let line = format!("{}\n", &PROSE[..PROSE.find(" Sarah").unwrap_or(PROSE.len())]);
    let mut text = String::with_capacity(bytes);
    fill(&mut text, &line, bytes - 1);
    text.push('.');
    text
}

/// Returns messages like those of agents: prose, code, and markers of all kinds.
pub(crate) fn marked_text(bytes: usize) -> String {
    const ROUND: &str = "[FROM: max]\nThe form needs `[NEXT: field]` for the second factor. \
                         [NEXT: sarah!P1, tom]\n\n```rust\nlet form = Form::new();\n    \
                         form.show(); // [NEXT: nobody]\n```\n\n\
                         [TEAM_TASK: Design the login page]\nNothing   else is left to do here, \
                         I think. [DROP: ann]\n[TEAM_TASK] Keep it small.\n\nAgreed?\n";
    let mut text = String::with_capacity(bytes);
    fill(&mut text, ROUND, bytes);
    text
}

/// Repeats the piece until the text has this many bytes.
fn fill(text: &mut String, piece: &str, bytes: usize) {
    while text.len() < bytes {
        let left = bytes - text.len();
        text.push_str(&piece[..left.min(piece.len())]);
    }
}

#[cfg(test)]
mod tests {
    use tertulia_context::{Strip, parse_markers, strip_markers};

    use super::*;

    #[test]
    fn every_message_has_its_size_and_no_spare_room() {
        for number in [0, 7, 999_999] {
            let text = message_text(number);
            assert_eq!((text.len(), text.capacity()), (MESSAGE_BYTES, MESSAGE_BYTES));
        }
    }

    #[test]
    fn plain_texts_pass_stripping_unchanged_and_uncopied() {
        for text in [message_text(12), plain_text(5_000)] {
            for strip in [Strip::COMPACT, Strip::Preserve] {
                let stripped = strip_markers(&text, strip).text;
                assert!(matches!(stripped, Cow::Borrowed(whole) if whole == text));
            }
        }
    }

    #[test]
    fn marked_texts_have_markers_and_code() {
        let markers = parse_markers(&marked_text(2_000));
        assert!(!markers.next.is_empty() && !markers.drop.is_empty());
        assert!(markers.clean_text.contains("[NEXT: nobody]"));
    }

    #[test]
    fn conversations_of_any_length_end_in_the_same_messages() {
        let [short, long] = [10, 31].map(|messages| {
            let manager = conversation(messages, Addressed::ToOne).unwrap();
            let newest = manager.messages().rev().take(10);
            let said: Vec<_> = newest
                .map(|stored| (stored.message.speaker.clone(), stored.message.text().into_owned()))
                .collect();
            said
        });
        assert_eq!(short, long);
    }
}
