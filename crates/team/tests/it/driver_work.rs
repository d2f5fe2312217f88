//! How the driver handles what an agent does besides answering: tools that must not run twice, implausible figures,
//! processes that do not end, and a person who cancels the turn.

#![expect(clippy::disallowed_methods, reason = "agents are programs, and leave files")]

use std::time::Duration;

use tertulia_agent::CommandOutput;
use tertulia_session::{EntryKind, TurnActivity};
use tertulia_store::{SessionStore, StoreUrl};
use tertulia_team::{Command, Driver, DriverHandle, EventSink, SessionEvent};

use crate::driver::{Heard, begin, notes, shell, team, texts};

/// Returns a script that reads its prompt and prints these lines.
fn writes(lines: &str) -> String {
    format!("cat >/dev/null; cat <<'END'\n{lines}\nEND\n")
}

#[test]
fn a_turn_whose_tools_ran_is_not_repeated_because_its_prompt_grew_too_long() {
    let folder = tempfile::tempdir().unwrap();
    let starts = folder.path().join("starts");
    let lines = r#"{"type":"tool_start","id":"t1","name":"Bash","input":{"command":"migrate"}}
{"type":"tool_end","id":"t1","output":"done","is_error":false}
{"type":"error","class":"overflow","message":"ran out of room"}"#;
    let script = format!("echo start >> {}; {}", starts.display(), writes(lines));
    let (_, mut driver) = begin(team(vec![shell("max", CommandOutput::Jsonl, &script)]));
    let mut heard = Heard::default();
    driver.say(None, "Migrate.", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    assert_eq!(std::fs::read_to_string(starts).unwrap(), "start\n");
    let notes = notes(driver.entries());
    let [.., TurnActivity::Warned { message, .. }, TurnActivity::Failed { class, .. }] = &notes[..]
    else {
        panic!("{notes:?}")
    };
    assert_eq!(&**class, "overflow");
    assert!(message.contains("do their work twice"), "{message}");
}

#[test]
fn the_agents_own_session_is_noted_when_it_begins() {
    let lines = r#"{"type":"start","session_id":"native-7","model":"m-1"}
{"type":"text","text":"Hello."}
{"type":"end"}"#;
    let (_, mut driver) = begin(team(vec![shell("max", CommandOutput::Jsonl, &writes(lines))]));
    let mut heard = Heard::default();
    driver.say(None, "Hi.", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let began = TurnActivity::Began { session: "native-7".into(), model: Some("m-1".into()) };
    assert_eq!(notes(driver.entries()), [began]);
}

#[test]
fn figures_that_cannot_be_are_counted_to_the_end_and_no_further() {
    let lines = r#"{"type":"usage","input":18446744073709551615,"cache_read":1,"output":2}
{"type":"text","text":"Cheap."}
{"type":"end"}"#;
    let (_, mut driver) = begin(team(vec![shell("max", CommandOutput::Jsonl, &writes(lines))]));
    let mut heard = Heard::default();
    driver.say(None, "Hi.", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let read = driver.entries().iter().find_map(|entry| match &entry.kind {
        EntryKind::Usage(usage) => Some(usage.input_tokens),
        _ => None,
    });
    assert_eq!(read, Some(u64::MAX));
}

#[test]
fn processes_that_a_good_turn_leaves_behind_are_ended_and_reported() {
    let script = "cat >/dev/null; sleep 600 </dev/null >/dev/null 2>&1 & echo Served.";
    let (_, mut driver) = begin(team(vec![shell("max", CommandOutput::Text, script)]));
    let mut heard = Heard::default();
    driver.say(None, "Serve.", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let notes = notes(driver.entries());
    assert!(
        matches!(&notes[..], [TurnActivity::Warned { message, .. }] if message.contains("was still running")),
        "{notes:?}"
    );
    assert_eq!(texts(driver.entries())[1].trim_end(), "max: Served.");
}

#[test]
fn tool_names_and_refusals_of_megabytes_are_not_stored_whole() {
    let script = r#"cat >/dev/null; x=$(head -c 2000000 /dev/zero | tr '\0' x); i=0
        while [ $i -lt 20 ]; do
          echo '{"type":"tool_start","id":"t'$i$x'","name":"'$x'","input":{}}'
          echo '{"type":"tool_denied","id":"d'$i'","name":"'$x'","reason":"'$x'"}'; i=$((i+1))
        done; echo '{"type":"end","text":"Done."}'"#;
    let (_, mut driver) = begin(team(vec![shell("max", CommandOutput::Jsonl, script)]));
    let mut heard = Heard::default();
    driver.say(None, "Flood.", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let notes = notes(driver.entries());
    assert_eq!(notes.len(), 40, "{notes:?}");
    for note in &notes {
        let (name, others) = match note {
            TurnActivity::ToolStarted { id, name, .. } => (name, id.len()),
            TurnActivity::ToolDenied { name, reason } => {
                (name, reason.as_deref().map_or(0, str::len))
            }
            other => panic!("{other:?}"),
        };
        assert!(name.starts_with("xxx") && name.ends_with(" bytes more)"), "{name}");
        assert!(name.len() < 1200 && others < 5000, "{} {others}", name.len());
    }
}

/// An event sink that cancels the turn at its first tool, and handles each event slowly.
struct Stops {
    handle: Option<DriverHandle>,
    tools: usize,
}

impl EventSink for Stops {
    fn on_event(&mut self, event: SessionEvent) {
        let SessionEvent::Stored(entry) = event else { return };
        if matches!(&entry.kind, EntryKind::TurnEvent(_)) {
            self.tools += 1;
            if let Some(handle) = self.handle.take() {
                assert!(handle.send(Command::CancelRunning));
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn stopping_an_agent_does_not_wait_for_its_queued_output() {
    let script = r#"cat >/dev/null; i=0; while [ $i -lt 1900 ]; do
        echo '{"type":"tool_denied","id":"t'$i'","name":"Write","reason":"no"}'; i=$((i+1)); done; sleep 600"#;
    let folder = tempfile::tempdir().unwrap();
    let place = StoreUrl::Sqlite(folder.path().join("sessions.db"));
    let store = SessionStore::open(&place).unwrap();
    let roster = team(vec![shell("max", CommandOutput::Jsonl, script)]);
    let mut driver = Driver::begin(&store, None, roster, true).unwrap();
    let mut stops = Stops { handle: Some(driver.handle()), tools: 0 };
    driver.say(None, "Flood.", &mut stops).unwrap();
    driver.run(&mut stops).unwrap();
    assert!(stops.tools < 1_000, "{} notes were stored after the word to stop", stops.tools);
}
