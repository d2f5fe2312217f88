//! What clients learn when a host ends, and that no message is lost or stored twice.

use std::sync::mpsc::Receiver;

use tertulia_session::TurnState;
use tertulia_store::now_millis;

use super::*;
use crate::engine::{ChatEvent, without_waker};
use crate::join::host::EMPTY_MESSAGE;
use crate::join::{JoinedSession, is_message_stored};

#[test]
fn when_the_host_ends_its_clients_learn_it_and_the_session_is_free() {
    let mut running = Running::start();
    let mut clients: Vec<Client> = (0..10).map(|_| running.join("ann")).collect();
    running.close();
    for client in &mut clients {
        let error = loop {
            if let Err(error) = client.receive() {
                break error;
            }
        };
        assert!(matches!(error, JoinError::HostEnded), "{error}");
    }
    let joined = Client::join(&running.place(), &running.session, "/".as_ref(), None);
    assert!(matches!(joined.err(), Some(JoinError::NoHost)));
    assert!(running.chat.store.lock_session(&running.session).unwrap().is_some());
}

#[test]
fn a_client_whose_welcome_is_never_sent_learns_that_the_host_has_ended() {
    let (running, driver) = Running::prepare();
    let broadcast = Arc::new(Broadcast::default());
    let host = Host::start(&running.place(), &broadcast, &driver, running.chat.clone()).unwrap();
    let hello = ClientMessage::Hello {
        version: VERSION,
        session: running.session.as_str().into(),
        folder: "/".into(),
        speaker: None,
    };
    let mut stream = running.connect();
    stream.write_all((hello.to_line() + "\n").as_bytes()).unwrap();
    // The driver ends without a look at its inbox.
    drop(driver);
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let bye = HostMessage::read(answer.trim_end()).unwrap();
    assert!(
        matches!(bye, HostMessage::Bye { reason: tertulia_team::wire::ByeReason::Ended, .. }),
        "{answer}"
    );
    // A process that joins later gets the same answer.
    let late = Client::join(&running.place(), &running.session, "/".as_ref(), None);
    assert!(matches!(late.err(), Some(JoinError::HostEnded)));
    drop(host);
}

/// Returns the next event that `find` accepts.
fn next<T>(events: &Receiver<ChatEvent>, mut find: impl FnMut(ChatEvent) -> Option<T>) -> T {
    loop {
        if let Some(found) = find(events.recv_timeout(LONG).unwrap()) {
            return found;
        }
    }
}

/// Says something in a chat of bob while the host is closing and waits for its agent. Returns the errors that bob sees.
fn say_to_a_closing_host(text: &str) -> String {
    let mut running = Running::start();
    let mut ann = running.join("ann");
    let client = running.join("bob");
    let (sender, events) = without_waker();
    let chat = ChatSession { speaker: Some("bob".into()), ..running.chat.clone() };
    let tail = client.tail.clone();
    let bob = JoinedSession::start(&chat, &running.session, Some(client), tail, &sender).unwrap();
    ann.sender().say("@eva go on").unwrap();
    while !matches!(ann.receive().unwrap().into_event(), Ok(SessionEvent::Text { .. })) {}
    running.handle.send(Command::Close);
    bob.link.say(text).unwrap();
    let mut errors = String::new();
    next(&events, |event| match event {
        ChatEvent::NotSaid(error) => {
            errors.push_str(&error.to_string());
            None
        }
        ChatEvent::Lines(lines) => {
            errors.extend(lines.iter().map(|line| line.text() + "\n"));
            lines.iter().any(|line| line.text().contains("has ended")).then_some(())
        }
        _ => None,
    });
    bob.link.leave();
    bob.join();
    running.close();
    let log = running.log();
    let is_stored = log.iter().filter_map(Entry::message).any(|said| said.text() == text);
    assert!(!is_stored, "{errors}");
    errors
}

#[test]
fn a_message_to_a_host_that_is_closing_is_reported_as_not_sent_with_its_text() {
    // On a busy machine, the host may have ended before it reads the message. That is reported, too.
    let is_refused = (0..20).any(|_| {
        let errors = say_to_a_closing_host("@max too late");
        assert_eq!(errors.matches("@max too late").count(), 1, "{errors}");
        assert!(errors.contains("not sent"), "{errors}");
        errors.contains("is closing it")
    });
    assert!(is_refused);
}

#[test]
fn a_message_without_text_is_refused_and_not_stored() {
    let running = Running::start();
    let mut ann = running.join("ann");
    let before = running.log().len();
    for blank in ["", "  \n\t "] {
        let number = ann.sender().say(blank).unwrap();
        let refused = loop {
            match ann.receive().unwrap() {
                HostMessage::Refused { number: of, text, .. } if of == number => break text,
                HostMessage::Done { number: of } if of == number => panic!("accepted"),
                _ => {}
            }
        };
        assert_eq!(&*refused, EMPTY_MESSAGE);
    }
    assert_eq!(running.log().len(), before);
}

#[test]
fn only_the_same_text_of_the_same_person_after_the_entry_counts_as_stored() {
    let running = Running::start();
    let mut ann = running.join("ann");
    let as_ann = ChatSession { speaker: Some("Ann".into()), ..running.chat.clone() };
    let is_stored = |chat: &ChatSession, text: &str, after: &Entry| {
        is_message_stored(chat, &running.session, text, Some(&after.id)).unwrap()
    };
    let start = running.log().pop().unwrap();
    // What an agent says is not a message of a person.
    say(&mut ann, "@max go on");
    let answer = running.log().iter().find_map(|entry| {
        entry
            .message()
            .filter(|message| !message.is_from_human())
            .map(|one| one.text().into_owned())
    });
    assert!(!is_stored(&running.chat, &answer.unwrap(), &start));
    assert!(!is_stored(&as_ann, "@bob yes", &start));
    say(&mut ann, "@bob yes");
    let said = running.log().pop().unwrap();
    assert!(is_stored(&as_ann, "@bob yes", &start));
    assert!(!is_stored(&as_ann, "@bob yes ", &start));
    assert!(!is_stored(&as_ann, "@bob yes", &said), "it was stored before");
    let as_bob = ChatSession { speaker: Some("bob".into()), ..running.chat.clone() };
    assert!(!is_stored(&as_bob, "@bob yes", &start), "somebody else has said it");
    // A marker names the person, too.
    say(&mut ann, "[FROM: ann] @bob no");
    assert!(is_stored(&running.chat, "[FROM: ann] @bob no", &said));
}

#[test]
fn who_joins_during_an_answer_learns_when_it_has_begun() {
    let running = Running::start();
    let mut ann = running.join("ann");
    ann.sender().say("@eva go on").unwrap();
    while !matches!(ann.receive().unwrap().into_event(), Ok(SessionEvent::Text { .. })) {}
    let log = running.log();
    let started =
        log.iter().find(|entry| entry.turn().is_some_and(|turn| turn.state == TurnState::Started));
    let started = started.unwrap().timestamp.as_ref().unwrap().millis();
    while now_millis() < started + 20 {
        thread::yield_now();
    }
    let least = Duration::from_millis(u64::try_from(now_millis() - started).unwrap());
    let client = running.join("bob");
    let (sender, events) = without_waker();
    let tail = client.tail.clone();
    let bob =
        JoinedSession::start(&running.chat, &running.session, Some(client), tail, &sender).unwrap();
    let ago = next(&events, |event| match event {
        ChatEvent::Past { entry, ago } => {
            let is_start = |turn: &tertulia_session::Turn| turn.state == TurnState::Started;
            entry.turn().is_some_and(is_start).then_some(ago)
        }
        _ => None,
    });
    assert!(ago >= least, "{ago:?} {least:?}");
    bob.link.leave();
    bob.join();
}
