//! A host and many clients in one process: nothing is missing, nothing comes twice, and nobody delays the session.

mod ending;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tertulia_session::Entry;
use tertulia_store::{Range, SessionId, SessionStore, StoreUrl};
use tertulia_team::file::TeamFile;
use tertulia_team::wire::{ClientMessage, HostMessage, LINE_BYTES_MAX, VERSION};
use tertulia_team::{Command, Driver, DriverHandle, SessionEvent, Team};

use super::broadcast::{Broadcast, SharedSink};
use super::client::{Client, JoinError};
use super::host::Host;
use super::place::SocketPlace;
use crate::ChatSession;

const TEAM: &str = r#"
[limits]
turns = 100000

[[member]]
name = "ann"
kind = "human"

[[member]]
name = "bob"
kind = "human"

[[member]]
name = "max"
agent = "command"
command = ["sh", "-c", "cat >/dev/null; i=0; while [ $i -lt 40 ]; do i=$((i+1)); echo line $i of this answer; done"]

[[member]]
name = "eva"
agent = "command"
command = ["sh", "-c", "trap '' TERM; cat >/dev/null; echo I do not stop; while :; do sleep 0.1; done"]
"#;

const LONG: Duration = Duration::from_secs(120);

/// A session that runs in a thread of this process.
struct Running {
    chat: ChatSession,
    session: SessionId,
    handle: DriverHandle,
    thread: Option<JoinHandle<()>>,
    _folder: tempfile::TempDir,
}

impl Running {
    fn start() -> Self {
        let (mut running, driver) = Self::prepare();
        running.thread = Some(running.attend(driver));
        running
    }

    /// Creates the session, without a thread that runs it.
    fn prepare() -> (Self, Driver) {
        let folder = tempfile::tempdir().unwrap();
        let url = StoreUrl::Sqlite(folder.path().join("sessions.db"));
        let store = SessionStore::open(&url).unwrap();
        let file = TeamFile::parse(TEAM, "tertulia.toml").unwrap();
        let team = Team::from_file(&file, folder.path()).unwrap();
        let chat = ChatSession {
            store,
            team,
            file,
            folder: folder.path().to_owned(),
            home: Some(folder.path().join("home")),
            speaker: None,
            back: None,
            attended: true,
            takes_over: false,
        };
        let driver = Driver::begin(&chat.store, None, chat.team.clone(), true).unwrap();
        let (session, handle) = (driver.session().clone(), driver.handle());
        (Self { chat, session, handle, thread: None, _folder: folder }, driver)
    }

    fn attend(&self, mut driver: Driver) -> JoinHandle<()> {
        let broadcast = Arc::new(Broadcast::default());
        let host = Host::start(&self.place(), &broadcast, &driver, self.chat.clone()).unwrap();
        thread::spawn(move || {
            let mut nobody = std::sync::mpsc::channel().0;
            driver.attend(&mut SharedSink { broadcast: &broadcast, sink: &mut nobody }).unwrap();
            drop(driver);
            drop(host);
        })
    }

    fn place(&self) -> SocketPlace {
        self.chat.place(&self.session).unwrap()
    }

    fn join(&self, speaker: &str) -> Client {
        let folder = &self.chat.folder;
        Client::join(&self.place(), &self.session, folder, Some(speaker)).unwrap()
    }

    /// Connects without the code of a client.
    fn connect(&self) -> UnixStream {
        let stream = self.place().connect().unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream
    }

    fn log(&self) -> Vec<Entry> {
        let read = self.chat.store.load(&self.session, &Range::All).unwrap();
        read.into_iter().map(|stored| stored.entry).collect()
    }

    fn close(&mut self) {
        self.handle.send(Command::Close);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.close();
        }
    }
}

/// Says something and returns the events until it was executed and no turn is running.
fn say(client: &mut Client, text: &str) -> Vec<SessionEvent> {
    let said = client.sender().say(text).unwrap();
    let mut events = Vec::new();
    let mut is_done = false;
    loop {
        match client.receive().unwrap().into_event() {
            Ok(event) => {
                let is_end = matches!(event, SessionEvent::Rested | SessionEvent::Asked(_));
                events.push(event);
                if is_done && is_end {
                    ask(client);
                }
            }
            Err(HostMessage::Done { number }) if number == said => {
                is_done = true;
                ask(client);
            }
            Err(HostMessage::Status { runs: false, .. }) if is_done => return events,
            Err(_) => {}
        }
    }
}

fn ask(client: &Client) {
    client.sender().request(|number| ClientMessage::Status { number }).unwrap();
}

/// Follows until a message of a person with this text is stored, and returns the ids of all stored entries.
fn stored_until(client: &mut Client, text: &str) -> Vec<String> {
    let mut ids = Vec::new();
    loop {
        let Ok(SessionEvent::Stored(entry)) = client.receive().unwrap().into_event() else {
            continue;
        };
        ids.push(entry.id.to_string());
        if entry.message().is_some_and(|message| message.text() == text) {
            return ids;
        }
    }
}

/// Returns the ids of the log after an entry, up to the message with this text.
fn logged(running: &Running, after: Option<&str>, text: &str) -> Vec<String> {
    let log = running.log();
    let first = after
        .map_or(0, |after| 1 + log.iter().position(|entry| entry.id.to_string() == after).unwrap());
    let last = log
        .iter()
        .position(|entry| entry.message().is_some_and(|message| message.text() == text))
        .unwrap();
    log[first..=last].iter().map(|entry| entry.id.to_string()).collect()
}

#[test]
fn what_one_client_says_the_others_see_in_the_order_of_the_log() {
    let running = Running::start();
    let (mut ann, mut bob) = (running.join("ann"), running.join("bob"));
    let tail = ann.tail.as_ref().map(ToString::to_string);
    let events = say(&mut ann, "@max go on");
    let text: String = events
        .iter()
        .filter_map(|event| match event {
            SessionEvent::Text { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert!(text.contains("line 40 of this answer"), "{text}");
    say(&mut ann, "@bob enough");
    let seen = stored_until(&mut bob, "@bob enough");
    assert_eq!(seen, logged(&running, tail.as_deref(), "@bob enough"));
    let said: Vec<String> = running
        .log()
        .iter()
        .filter_map(Entry::message)
        .map(|message| message.speaker.as_ref().unwrap().role_id.to_string())
        .collect();
    assert_eq!(said[..2], ["ann", "max"]);
}

#[test]
fn two_people_who_speak_at_once_are_both_in_the_log_once() {
    let running = Running::start();
    thread::scope(|scope| {
        for (name, other) in [("ann", "bob"), ("bob", "ann")] {
            let running = &running;
            scope.spawn(move || {
                let mut client = running.join(name);
                for number in 0..20 {
                    say(&mut client, &format!("@{other} {number}"));
                }
                assert!(client.sender().unconfirmed().is_empty());
            });
        }
    });
    let texts: Vec<String> = running
        .log()
        .iter()
        .filter_map(Entry::message)
        .filter(|message| message.is_from_human())
        .map(|message| message.text().into_owned())
        .collect();
    let different: BTreeSet<&String> = texts.iter().collect();
    assert_eq!((texts.len(), different.len()), (40, 40));
    for name in ["@ann", "@bob"] {
        let own: Vec<_> = texts.iter().filter(|text| text.starts_with(name)).collect();
        let expected: Vec<String> = (0..20).map(|number| format!("{name} {number}")).collect();
        assert_eq!(
            own,
            expected.iter().collect::<Vec<_>>(),
            "in the order in which they were said"
        );
    }
}

#[test]
fn a_hundred_clients_come_and_go_and_each_sees_every_entry_once() {
    let running = Running::start();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut ann = running.join("ann");
            let mut number = 0;
            while !is_over.load(Ordering::SeqCst) {
                say(&mut ann, &format!("@bob round {number}"));
                number += 1;
            }
            say(&mut ann, "@bob the end");
        });
        let clients: Vec<_> = (0..100)
            .map(|number| {
                let running = &running;
                scope.spawn(move || {
                    for visit in 0..3 {
                        let mut client = running.join("bob");
                        let tail = client.tail.as_ref().map(ToString::to_string);
                        // A client reads the log up to the tail and gets everything after it.
                        let mut seen = Vec::new();
                        while seen.len() < 3 + (number + visit) % 5 {
                            if let Ok(SessionEvent::Stored(entry)) =
                                client.receive().unwrap().into_event()
                            {
                                seen.push(entry.id.to_string());
                            }
                        }
                        let log: Vec<String> =
                            running.log().iter().map(|entry| entry.id.to_string()).collect();
                        let first = tail
                            .map_or(0, |tail| 1 + log.iter().position(|id| *id == tail).unwrap());
                        assert_eq!(seen, log[first..first + seen.len()], "client {number}");
                    }
                })
            })
            .collect();
        let done: Vec<_> = clients.into_iter().map(thread::ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::SeqCst);
        assert!(done.into_iter().all(|one| one.is_ok()));
    });
}

#[test]
fn a_client_that_never_reads_delays_nobody_and_is_disconnected() {
    let running = Running::start();
    let mut stuck = running.connect();
    let hello = ClientMessage::Hello {
        version: VERSION,
        session: running.session.as_str().into(),
        folder: "/".into(),
        speaker: None,
    };
    stuck.write_all((hello.to_line() + "\n").as_bytes()).unwrap();
    let mut ann = running.join("ann");
    let mut bob = running.join("bob");
    let tail = ann.tail.as_ref().map(ToString::to_string);
    // More than its queue and the buffers of the system hold.
    let big = "x".repeat(1024 * 1024);
    let mut seen = Vec::new();
    for number in 0..16 {
        let text = format!("@bob {number} {big}");
        say(&mut ann, &text);
        seen.extend(stored_until(&mut bob, &text));
    }
    say(&mut ann, "@bob the end");
    seen.extend(stored_until(&mut bob, "@bob the end"));
    assert_eq!(seen, logged(&running, tail.as_deref(), "@bob the end"));
    // What it had not read is gone, and its connection has ended.
    let mut read = Vec::new();
    let _ = stuck.read_to_end(&mut read);
    assert!(read.len() < 12 * 1024 * 1024, "{} bytes waited for it", read.len());
    // It joins again and continues after the last entry that it saw.
    let again = running.join("ann");
    assert_eq!(again.tail, running.log().last().map(|entry| entry.id.clone()));
}

#[test]
fn a_client_that_reads_slowly_is_told_and_finds_the_rest_in_the_log() {
    let running = Running::start();
    let mut slow = running.join("bob");
    let mut ann = running.join("ann");
    let big = "y".repeat(1024 * 1024);
    for number in 0..16 {
        say(&mut ann, &format!("@bob {number} {big}"));
    }
    let mut last = slow.tail.clone();
    let error = loop {
        match slow.receive() {
            Ok(message) => {
                if let Ok(SessionEvent::Stored(entry)) = message.into_event() {
                    last = Some(entry.id.clone());
                }
            }
            Err(error) => break error,
        }
    };
    assert!(matches!(error, JoinError::Behind | JoinError::HostEnded), "{error}");
    let log = running.log();
    let last = last.unwrap();
    assert!(log.iter().any(|entry| entry.id == last), "what it saw is in the log");
}

#[test]
fn a_late_client_gets_the_running_answer_and_can_stop_it() {
    let running = Running::start();
    let mut ann = running.join("ann");
    ann.sender().say("@max go on").unwrap();
    loop {
        if let Ok(SessionEvent::Text { text, .. }) = ann.receive().unwrap().into_event()
            && text.contains("line")
        {
            break;
        }
    }
    let late = running.join("bob");
    // The turn may have ended meanwhile; then the log has the whole answer.
    let log = running.log();
    let is_in_log = log.iter().filter_map(Entry::message).any(|one| one.text().contains("line 40"));
    assert!(!late.running.is_empty() || is_in_log);
    late.sender().request(|number| ClientMessage::Cancel { number }).unwrap();
    let mut ann_sees = Vec::new();
    say(&mut ann, "@bob enough").iter().for_each(|event| ann_sees.push(format!("{event:?}")));
    assert!(!ann_sees.is_empty());
}

/// Sends bytes and returns the answer.
fn answer_to(running: &Running, bytes: &[u8]) -> String {
    let mut stream = running.connect();
    let _ = stream.write_all(bytes);
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

#[test]
fn unknown_programs_and_other_versions_are_refused_with_a_reason() {
    let running = Running::start();
    let hello = |version: u32, session: &str| {
        let session = session.into();
        let hello = ClientMessage::Hello { version, session, folder: "/".into(), speaker: None };
        hello.to_line() + "\n"
    };
    for (bytes, reason) in [
        (hello(VERSION + 1, running.session.as_str()), "another version of Tertulia"),
        (hello(VERSION, "other"), "another session"),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), "not JSON"),
        ("{\"type\":\"dance\"}\n".to_owned(), "unknown type"),
        (ClientMessage::Cancel { number: 1 }.to_line() + "\n", "introduce itself first"),
        ("\u{fffd}\n".to_owned(), "not JSON"),
    ] {
        let answer = answer_to(&running, bytes.as_bytes());
        assert!(answer.contains("\"type\":\"bye\"") && answer.contains(reason), "{answer}");
    }
    assert!(answer_to(&running, b"\xff\xfe\n").contains("not UTF-8"));
    // The session works as before.
    let mut ann = running.join("ann");
    say(&mut ann, "@bob still here");
}

#[test]
fn a_line_without_an_end_is_refused() {
    let running = Running::start();
    let mut stream = running.connect();
    let chunk = vec![b'x'; 1024 * 1024];
    let begun = Instant::now();
    // It is cut off soon after the limit.
    let mut sent = 0;
    while begun.elapsed() < LONG && stream.write_all(&chunk).is_ok() {
        sent += chunk.len();
    }
    assert!(sent < 2 * LINE_BYTES_MAX, "{sent}");
    say(&mut running.join("ann"), "@bob still here");
}

#[test]
fn commands_of_the_chat_are_answered_only_to_who_asked() {
    let running = Running::start();
    let (mut ann, mut bob) = (running.join("ann"), running.join("bob"));
    say(&mut ann, "@bob hello");
    let sender = ann.sender().clone();
    let command = |text: &str| {
        let text = text.into();
        let sent = sender.request(|number| ClientMessage::Command { number, text });
        sent.unwrap()
    };
    for (text, expected) in [
        ("/queue", "bob"),
        ("/why", "hello"),
        ("/cost", ""),
        ("/context max", "max"),
        ("/nonsense", "no command"),
        ("/export x", "no command for the process"),
        ("/quit", "no command for the process"),
    ] {
        let number = command(text);
        let mut lines = String::new();
        loop {
            match ann.receive().unwrap() {
                HostMessage::Lines { number: of, lines: new } if of == number => {
                    lines.extend(new.iter().flatten().map(|(_, text)| &**text));
                }
                HostMessage::Done { number: of } if of == number => break,
                _ => {}
            }
        }
        assert!(lines.contains(expected), "{text}: {lines}");
    }
    say(&mut ann, "@bob the end");
    loop {
        match bob.receive().unwrap() {
            HostMessage::Lines { lines, .. } => panic!("{lines:?}"),
            message => {
                if let Ok(SessionEvent::Stored(entry)) = message.into_event()
                    && entry.message().is_some_and(|message| message.text() == "@bob the end")
                {
                    break;
                }
            }
        }
    }
}

#[test]
fn a_refused_message_concerns_only_its_sender() {
    let running = Running::start();
    let folder = &running.chat.folder;
    let mut nobody = Client::join(&running.place(), &running.session, folder, None).unwrap();
    let number = nobody.sender().say("Who am I?").unwrap();
    let refused = loop {
        if let HostMessage::Refused { number: of, text, needs_person, .. } =
            nobody.receive().unwrap()
        {
            assert_eq!((of, needs_person), (number, true));
            break text;
        }
    };
    assert!(refused.contains("several people"), "{refused}");
    say(&mut nobody, "[FROM: bob] It is me, @ann.");
}
