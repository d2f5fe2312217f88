//! Every message is one line and is read back; lines are the same however their bytes arrive; garbage is refused.

use std::sync::Arc;

use proptest::prelude::*;
use tertulia_agent::PermissionChoice;
use tertulia_session::json::Json;
use tertulia_session::{
    EntryKind, Intent, Message, NewEntry, Speaker, SpeakerType, SpendingLimit, Timestamp,
};

use super::*;
use crate::guard::Dollars;
use crate::{PauseReason, SessionEvent, SpeakerError};

fn id() -> impl Strategy<Value = EntryId> {
    any::<String>().prop_map(EntryId::from)
}

fn words() -> impl Strategy<Value = Box<str>> {
    any::<String>().prop_map(String::into_boxed_str)
}

fn some_words() -> impl Strategy<Value = Option<Box<str>>> {
    prop::option::of(words())
}

fn several() -> impl Strategy<Value = Vec<Box<str>>> {
    prop::collection::vec(words(), 0..3)
}

fn time() -> impl Strategy<Value = Option<Timestamp>> {
    prop::option::of((0_i64..4_000_000_000_000).prop_map(Timestamp::from_millis))
}

fn answer() -> impl Strategy<Value = PermissionAnswer> {
    prop_oneof![
        words().prop_map(PermissionAnswer::Choose),
        Just(PermissionAnswer::Deny),
        Just(PermissionAnswer::EndTurn),
    ]
}

fn client_message() -> impl Strategy<Value = ClientMessage> {
    let number = || any::<u64>();
    prop_oneof![
        (any::<u32>(), words(), words(), some_words()).prop_map(
            |(version, session, folder, speaker)| {
                ClientMessage::Hello { version, session, folder, speaker }
            }
        ),
        (number(), words()).prop_map(|(number, text)| ClientMessage::Say { number, text }),
        (number(), words()).prop_map(|(number, text)| ClientMessage::Command { number, text }),
        number().prop_map(|number| ClientMessage::Cancel { number }),
        number().prop_map(|number| ClientMessage::Continue { number }),
        (number(), id()).prop_map(|(number, turn)| ClientMessage::Repeat { number, turn }),
        number().prop_map(|number| ClientMessage::Compact { number }),
        (number(), any::<u64>(), answer()).prop_map(|(number, request, answer)| {
            ClientMessage::Permit { number, request: PermissionNumber(request), answer }
        }),
        number().prop_map(|number| ClientMessage::Status { number }),
    ]
}

fn speaker_error() -> impl Strategy<Value = SpeakerError> {
    prop_oneof![
        (words(), some_words(), several())
            .prop_map(|(name, nearest, people)| SpeakerError::Unknown { name, nearest, people }),
        (words(), several()).prop_map(|(name, people)| SpeakerError::Agent { name, people }),
        several().prop_map(|people| SpeakerError::Several { people }),
    ]
}

fn reason() -> impl Strategy<Value = PauseReason> {
    let spending_limit = prop::sample::select(&SpendingLimit::ALL[..]);
    let dollars = || any::<u64>().prop_map(Dollars::from_millionths);
    let names = prop::collection::vec((words(), some_words()), 0..3);
    prop_oneof![
        (id(), id(), some_words()).prop_map(|(turn, entry, by)| PauseReason::Answer {
            turn,
            entry,
            by
        }),
        any::<u32>().prop_map(|turns| PauseReason::LoopGuard { turns }),
        (words(), words(), any::<u32>())
            .prop_map(|(a, b, turns)| PauseReason::PairLoop { pair: [a, b], turns }),
        (spending_limit, some_words(), dollars(), dollars(), prop::option::of(id())).prop_map(
            |(limit, member, spent, allowed, stopped)| PauseReason::Spending {
                limit,
                member,
                spent,
                allowed,
                stopped,
            },
        ),
        (id(), names).prop_map(|(entry, names)| PauseReason::Unresolved { entry, names }),
        id().prop_map(|entry| PauseReason::NobodyToAnswer { entry }),
        (id(), speaker_error()).prop_map(|(entry, error)| PauseReason::WhoSpeaks { entry, error }),
        (id(), words(), words()).prop_map(|(turn, member, class)| PauseReason::Failed {
            turn,
            member,
            class
        }),
        (id(), words(), words(), some_words()).prop_map(|(turn, member, tools, next)| {
            PauseReason::LimitedAfterTools { turn, member, tools, next }
        }),
        (words(), time())
            .prop_map(|(member, resets_at)| PauseReason::Limited { member, resets_at }),
        (id(), any::<usize>()).prop_map(|(turn, waiting)| PauseReason::Cancelled { turn, waiting }),
        (prop::option::of(id()), any::<usize>())
            .prop_map(|(interrupted, waiting)| PauseReason::Resumed { interrupted, waiting }),
        (prop::collection::vec(id(), 0..3), any::<usize>()).prop_map(|(interrupted, waiting)| {
            PauseReason::ResumedSeveral { interrupted, waiting }
        }),
        any::<usize>().prop_map(|waiting| PauseReason::Paused { waiting }),
    ]
}

fn note() -> impl Strategy<Value = Note> {
    let intent = prop_oneof![Just(Intent::Interrupt), Just(Intent::Reply), Just(Intent::Extend)];
    prop_oneof![
        (id(), words(), some_words()).prop_map(|(entry, name, nearest)| Note::UnknownName {
            entry,
            name,
            nearest
        }),
        (id(), words(), several()).prop_map(|(entry, name, members)| Note::AmbiguousName {
            entry,
            name,
            members
        }),
        (id(), id(), words(), intent).prop_map(|(entry, turn, member, asked)| Note::Demoted {
            entry,
            turn,
            member,
            asked
        }),
        (id(), words(), words()).prop_map(|(entry, marker, name)| Note::LookAlike {
            entry,
            marker: String::from(marker).into(),
            name
        }),
        (id(), prop::option::of(id())).prop_map(|(turn, entry)| Note::Late { turn, entry }),
        (id(), words(), words(), any::<bool>()).prop_map(|(turn, member, class, is_paused)| {
            Note::Failed { turn, member, class, is_paused }
        }),
        (id(), words(), words(), time()).prop_map(|(turn, member, to, resets_at)| {
            Note::PassedOn { turn, member, to, resets_at }
        }),
        (id(), words(), id()).prop_map(|(entry, member, turn)| Note::Duplicate {
            entry,
            member,
            turn
        }),
        (id(), words(), id()).prop_map(|(entry, member, turn)| Note::Adjacent {
            entry,
            member,
            turn
        }),
        (id(), words(), any::<usize>()).prop_map(|(entry, member, limit)| Note::Overflow {
            entry,
            member,
            limit
        }),
        (id(), any::<usize>()).prop_map(|(entry, ignored)| Note::TooManyNames { entry, ignored }),
        (id(), words()).prop_map(|(entry, marker)| Note::MarkerIgnored { entry, marker }),
        (id(), words()).prop_map(|(entry, name)| Note::FromIgnored { entry, name }),
        id().prop_map(|entry| Note::TeamTaskIgnored { entry }),
        (id(), id()).prop_map(|(turn, entry)| Note::Partial { turn, entry }),
        (id(), any::<usize>()).prop_map(|(entry, turns)| Note::Declined { entry, turns }),
        id().prop_map(|turn| Note::NothingToCancel { turn }),
        words().prop_map(|member| Note::UnknownSpender { member }),
        (id(), several()).prop_map(|(entry, ignored)| Note::AskIgnores { entry, ignored }),
        (id(), words()).prop_map(|(turn, text)| Note::Worktree { turn, text }),
        (id(), words()).prop_map(|(turn, reason)| Note::CannotRepeat {
            turn,
            reason: String::from(reason).into()
        }),
    ]
}

fn request() -> impl Strategy<Value = PermissionRequest> {
    let choice = (words(), words(), any::<bool>(), any::<bool>()).prop_map(
        |(id, name, allows, is_lasting)| PermissionChoice { id, name, allows, is_lasting },
    );
    let input = prop::option::of(any::<String>().prop_map(|text| Json::text(&text)));
    (words(), some_words(), input, prop::collection::vec(choice, 0..4))
        .prop_map(|(title, tool, input, choices)| PermissionRequest { title, tool, input, choices })
}

fn entry() -> impl Strategy<Value = StoredEntry> {
    (any::<String>(), "[a-zé ]{1,8}").prop_map(|(text, name)| {
        let speaker = Speaker::new(&*name, &*name, SpeakerType::Human);
        let entry = NewEntry::new(EntryKind::Message(Message::said(speaker, text)));
        StoredEntry(Arc::new(entry.with_content_id()))
    })
}

fn host_message() -> impl Strategy<Value = HostMessage> {
    let style = (words(), words());
    let lines = prop::collection::vec(prop::collection::vec(style, 0..3), 0..3);
    let welcome = (
        any::<u32>(),
        words(),
        any::<u32>(),
        prop::option::of(id()),
        prop::collection::vec(id(), 0..3),
    );
    let bye =
        prop_oneof![Just(ByeReason::Ended), Just(ByeReason::Behind), Just(ByeReason::Refused)];
    prop_oneof![
        welcome.prop_map(|(version, session, process, tail, running)| HostMessage::Welcome {
            version,
            session,
            process,
            tail,
            running
        }),
        entry().prop_map(|entry| HostMessage::Stored { entry }),
        id().prop_map(|entry| HostMessage::StoredLong { entry }),
        (id(), words()).prop_map(|(turn, member)| HostMessage::Fed { turn, member }),
        (id(), words(), words()).prop_map(|(turn, member, text)| HostMessage::Text {
            turn,
            member,
            text
        }),
        (id(), words()).prop_map(|(turn, member)| HostMessage::TextEnd { turn, member }),
        (id(), words()).prop_map(|(turn, member)| HostMessage::TextWithdrawn { turn, member }),
        note().prop_map(|note| HostMessage::Note { note }),
        (some_words(), reason())
            .prop_map(|(to, why)| HostMessage::Asked { question: Question { to, why } }),
        (any::<u64>(), words(), request()).prop_map(|(number, member, asks)| {
            HostMessage::Permission { request: PermissionNumber(number), member, asks }
        }),
        Just(HostMessage::Rested),
        (any::<u64>(), lines).prop_map(|(number, lines)| HostMessage::Lines { number, lines }),
        (any::<u64>(), words(), any::<bool>(), any::<Option<bool>>()).prop_map(
            |(number, text, needs_person, is_closing)| HostMessage::Refused {
                number,
                text,
                needs_person,
                is_closing
            }
        ),
        (any::<u64>(), any::<bool>())
            .prop_map(|(number, runs)| HostMessage::Status { number, runs }),
        (any::<u64>(), words())
            .prop_map(|(number, session)| HostMessage::Forked { number, session }),
        any::<u64>().prop_map(|number| HostMessage::Done { number }),
        (bye, words()).prop_map(|(reason, text)| HostMessage::Bye { reason, text }),
    ]
}

/// Splits the bytes into lines, in chunks of these sizes.
fn lines_of(bytes: &[u8], sizes: &[usize]) -> Vec<Result<String, WireError>> {
    let (mut buffer, mut lines, mut rest) = (LineBuffer::default(), Vec::new(), bytes);
    let mut sizes = sizes.iter().cycle();
    while !rest.is_empty() {
        let size = sizes.next().copied().unwrap_or(1).clamp(1, rest.len());
        let (chunk, later) = rest.split_at(size);
        rest = later;
        buffer.push(chunk);
        while let Some(line) = buffer.next_line() {
            lines.push(line.map(str::to_owned));
        }
    }
    lines
}

proptest! {
    #[test]
    fn every_message_of_a_client_is_one_line_and_is_read_back(message in client_message()) {
        let line = message.to_line();
        prop_assert!(!line.contains('\n'));
        prop_assert_eq!(ClientMessage::read(&line), Ok(message));
    }

    #[test]
    fn every_message_of_a_host_is_one_line_and_is_read_back(message in host_message()) {
        let line = message.to_line();
        prop_assert!(!line.contains('\n'));
        prop_assert_eq!(HostMessage::read(&line), Ok(message.clone()));
        // An event is the same event on the other side.
        if let Ok(event) = message.clone().into_event() {
            prop_assert_eq!(HostMessage::from_event(&event), Some(message));
        }
    }

    #[test]
    fn lines_do_not_depend_on_how_the_bytes_arrive(
        messages in prop::collection::vec(host_message(), 0..6),
        sizes in prop::collection::vec(1_usize..40, 1..6),
    ) {
        let expected: Vec<_> = messages.iter().map(|one| Ok(one.to_line())).collect();
        let bytes: String = messages.iter().map(|one| one.to_line() + "\n").collect();
        prop_assert_eq!(lines_of(bytes.as_bytes(), &sizes), expected);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'\n'), Just(b'{'), Just(b'"')], 0..300),
        sizes in prop::collection::vec(1_usize..40, 1..6),
    ) {
        for line in lines_of(&bytes, &sizes).into_iter().flatten() {
            let _ = (ClientMessage::read(&line), HostMessage::read(&line));
        }
    }

    #[test]
    fn a_changed_line_is_refused_or_read_and_written_without_loss(
        message in host_message(), place in any::<prop::sample::Index>(), byte in any::<char>(),
    ) {
        let mut chars: Vec<char> = message.to_line().chars().collect();
        let place = place.index(chars.len());
        chars[place] = byte;
        let line: String = chars.into_iter().collect();
        if let Ok(read) = ClientMessage::read(&line) {
            prop_assert_eq!(ClientMessage::read(&read.to_line()), Ok(read));
        }
        if let Ok(read) = HostMessage::read(&line) {
            prop_assert_eq!(HostMessage::read(&read.to_line()), Ok(read));
        }
    }
}

#[test]
fn unknown_fields_are_ignored_and_unknown_types_are_named() {
    let read = HostMessage::read(r#"{"type":"done","number":7,"later":{"a":[1]}}"#);
    assert_eq!(read, Ok(HostMessage::Done { number: 7 }));
    let read = HostMessage::read(r#"{"type":"dance","number":7}"#);
    assert_eq!(read, Err(WireError::UnknownType("dance".into())));
}

#[test]
fn a_wrong_field_is_named() {
    for (line, expected) in [
        (r#"{"type":"say","number":1}"#, "text is missing; give a string"),
        (
            r#"{"type":"say","number":-1,"text":""}"#,
            "number must be a whole number of 0 or more; got -1",
        ),
        (
            r#"{"type":"permit","number":1,"request":2,"answer":{"what":"so"}}"#,
            "answer.what must be choose, deny or endTurn; got \"so\"",
        ),
        (r#"{"type":"say","#, "not JSON at line 1, column 14: unexpected end of the text"),
        ("[1]", "must be an object; got a list"),
    ] {
        let error = ClientMessage::read(line).unwrap_err().to_string();
        assert!(error.ends_with(expected) || line.ends_with(','), "{error}");
    }
}

#[test]
fn a_line_that_never_ends_is_refused_before_it_fills_the_memory() {
    let mut buffer = LineBuffer::default();
    let chunk = vec![b'x'; 1 << 20];
    let refused = (0..40).find_map(|_| {
        buffer.push(&chunk);
        buffer.next_line().map(|line| line.map(str::to_owned))
    });
    assert_eq!(refused, Some(Err(WireError::TooLong)));
}

#[test]
fn an_entry_that_is_too_long_is_sent_as_its_id() {
    let speaker = Speaker::new("ann", "Ann", SpeakerType::Human);
    let text = "x".repeat(LINE_BYTES_MAX);
    let entry = NewEntry::new(EntryKind::Message(Message::said(speaker, text))).with_content_id();
    let id = entry.id.clone();
    let event = SessionEvent::Stored(Arc::new(entry));
    let line = HostMessage::from_event(&event).unwrap().to_line();
    assert_eq!(HostMessage::read(&line), Ok(HostMessage::StoredLong { entry: id }));
}
