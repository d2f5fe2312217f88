//! Compares a conversation with a plain list: whatever is added, imported, archived and cleared, both find the same
//! messages.

use std::num::NonZeroUsize;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use tertulia_context::{
    ContextManager, ContextManagerOptions, ContextRequest, ContextSnapshot, MessageCap,
};
use tertulia_session::{ConversationMessage, Fields, Message, MessageId, Speaker, Timestamp};

use super::arbitrary::{at_least, speaker};
use crate::harness::Notes;

/// Ids that a snapshot may contain, and that are searched for.
const IDS: [&str; 12] = [
    "msg-1",
    "msg-2",
    "msg-3",
    "msg-4",
    "msg-9",
    "msg-10",
    "msg-03",
    "msg-0",
    "x",
    "",
    "msg-18446744073709551615",
    "msg-18446744073709551613",
];

/// An operation on a conversation.
#[derive(Clone, Debug)]
enum Step {
    Add(Said),
    Import(Vec<(&'static str, Said)>),
    Clear,
}

#[derive(Clone, Debug)]
struct Said {
    speaker: Speaker,
    millis: Option<i64>,
    words: &'static str,
}

/// The conversation as a list; every search reads all of it.
#[derive(Default)]
struct Model {
    messages: Vec<(String, Said)>,
    archived: Vec<String>,
    next: u128,
}

fn said() -> impl Strategy<Value = Said> {
    let words = select(vec!["tea", "milk", "tea [NEXT: x]"]);
    (speaker(), option::of(-3..4_i64), words).prop_map(|(speaker, millis, words)| Said {
        speaker,
        millis,
        words,
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => said().prop_map(Step::Add),
        2 => vec((select(&IDS[..]), said()), 0..8).prop_map(Step::Import),
        1 => Just(Step::Clear),
    ]
}

impl Said {
    fn message(&self) -> Message {
        let message = Message::said(self.speaker.clone(), self.words);
        match self.millis {
            Some(millis) => message.at(Timestamp::from_millis(millis)),
            None => message,
        }
    }

    fn stripped(&self) -> &'static str {
        self.words.split(' ').next().unwrap()
    }
}

impl Model {
    fn take(&mut self, step: &Step, cap: Option<usize>) -> bool {
        match step {
            Step::Add(_) if self.next >= u128::from(u64::MAX) => return false,
            Step::Add(said) => {
                self.messages.push((format!("msg-{}", self.next), said.clone()));
                self.next += 1;
            }
            Step::Import(messages) => {
                let messages = messages.iter().map(|(id, said)| ((*id).to_owned(), said.clone()));
                self.messages = messages.collect();
                let numbers = self.messages.iter().filter_map(|(id, _)| number(id));
                self.next = numbers.max().unwrap_or(0) + 1;
            }
            Step::Clear => *self = Self { next: 1, ..Self::default() },
        }
        while cap.is_some_and(|cap| self.messages.len() > cap) {
            self.archived.push(self.messages.remove(0).0);
        }
        true
    }

    /// Returns the context before the newest message, as (id, stripped text).
    fn context(&self, window: usize) -> Vec<(String, &'static str)> {
        let Some((current, before)) = self.messages.split_last() else {
            return Vec::new();
        };
        let mut seen = &before[before.len().saturating_sub(window)..];
        if let Some((last, rest)) = seen.split_last() {
            let (current_id, current) = current;
            let same_words = last.1.stripped() == current.stripped();
            let same_name = last.1.speaker.role_name == current.speaker.role_name;
            let repeats = last.0 == *current_id || (same_name && same_words);
            if current.speaker.is_ai() && repeats {
                seen = rest;
            }
        }
        seen.iter().map(|(_, said)| (said.speaker.role_name.to_string(), said.stripped())).collect()
    }
}

/// Returns the number of `msg-N`, if the counter can continue after it.
fn number(id: &str) -> Option<u128> {
    let digits = id.strip_prefix("msg-").filter(|digits| !digits.is_empty())?;
    let number =
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())??;
    (number < u128::from(u64::MAX)).then_some(number)
}

fn perform(manager: &mut ContextManager, step: &Step) -> bool {
    match step {
        Step::Add(said) => manager.add_message(said.message()).is_ok(),
        Step::Import(messages) => {
            let messages = messages.iter().map(|(id, said)| {
                let id = MessageId::from(*id);
                ConversationMessage { id, message: said.message() }.into()
            });
            let snapshot = ContextSnapshot {
                messages: messages.collect(),
                team_task: None,
                timestamp: None,
                unknown: Fields::NONE,
            };
            manager.import_snapshot(snapshot).is_ok()
        }
        Step::Clear => {
            manager.clear();
            true
        }
    }
}

/// Returns a message in the form in which both sides are compared.
fn shown(id: &str, message: &Message) -> String {
    let speaker = message.speaker.as_deref().unwrap();
    let millis = message.timestamp.as_ref().map(Timestamp::millis);
    format!("{id} {} {millis:?} {}", speaker.role_id, message.text())
}

fn compare(manager: &ContextManager, model: &Model) -> Result<(), TestCaseError> {
    let all: Vec<String> =
        model.messages.iter().map(|(id, said)| shown(id, &said.message())).collect();
    let found = |message: &ConversationMessage| shown(&message.id.to_string(), &message.message);
    let listed: Vec<String> = manager.messages().map(|message| found(message)).collect();
    prop_assert_eq!(&listed, &all);
    let latest = manager.get_latest_message().map(|message| found(message));
    prop_assert_eq!(latest.as_ref(), all.last());

    let own = (0..model.next.min(40)).map(|number| format!("msg-{number}"));
    for id in own.chain(IDS.map(str::to_owned)) {
        let message = manager.message_by_id(&MessageId::from(id.as_str()));
        let first = model.messages.iter().position(|(other, _)| *other == id);
        prop_assert_eq!(message.map(|message| found(message)), first.map(|at| all[at].clone()));
    }
    for role_id in ["ann", "ivo", "ivo-2", "Ivo"] {
        let messages = manager.messages_by_speaker(role_id).map(|message| found(message));
        let expected = model.messages.iter().zip(&all);
        let expected = expected.filter(|((_, said), _)| &*said.speaker.role_id == role_id);
        prop_assert_eq!(
            messages.collect::<Vec<_>>(),
            expected.map(|(_, shown)| shown.clone()).collect::<Vec<_>>()
        );
    }
    for (from, to) in [(-3, 3), (0, 0), (-2, 1), (i64::MIN, i64::MAX), (2, i64::MAX), (3, -3)] {
        let range = from..=to;
        let messages = manager.messages_by_time(range.clone()).map(|message| found(message));
        let expected = model.messages.iter().zip(&all);
        let expected = expected
            .filter(|((_, said), _)| said.millis.is_some_and(|millis| range.contains(&millis)));
        prop_assert_eq!(
            messages.collect::<Vec<_>>(),
            expected.map(|(_, shown)| shown.clone()).collect::<Vec<_>>()
        );
    }
    for window in [0, 1, 2, 5, usize::MAX] {
        let request = ContextRequest { window_size: Some(window), ..ContextRequest::default() };
        let input = manager.get_context_for_agent("rosa", "claude", &request);
        let context = input.context_messages.iter();
        let context = context.map(|line| (line.from.to_string(), &*line.content));
        prop_assert_eq!(context.collect::<Vec<_>>(), model.context(window));
        let explanation = manager.explain("rosa", "claude", &request);
        prop_assert_eq!(explanation.verdicts().count(), all.len());
    }
    Ok(())
}

proptest! {
    #![proptest_config(at_least(500))]

    #[test]
    fn a_conversation_finds_what_a_list_finds(
        cap in option::of(1..6_usize),
        steps in vec(step(), 0..40),
    ) {
        let notes = Notes::default();
        let archive = notes.clone();
        let mut manager = ContextManager::new(ContextManagerOptions {
            message_cap: cap.map(|cap| MessageCap {
                messages_max: NonZeroUsize::new(cap).unwrap(),
                archive: Box::new(move |message| archive.take(message.id.to_string())),
            }),
            ..ContextManagerOptions::default()
        });
        let mut model = Model { next: 1, ..Model::default() };
        for step in &steps {
            prop_assert_eq!(perform(&mut manager, step), model.take(step, cap));
            compare(&manager, &model)?;
            prop_assert_eq!(notes.read(), std::mem::take(&mut model.archived));
        }
    }
}
