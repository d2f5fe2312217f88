//! The record forms as they are stored: entries of every type with all their fields, and the entries of version 1.
//! These files are never changed to make a test pass, because a change of the form is a new version.

use std::collections::BTreeSet;

use insta::assert_snapshot;
use tertulia_session::record::read_entry_line;
use tertulia_session::{Entry, EntryKind};

use crate::entry_wire::{view, write};

pub(crate) const VERSION_1: &str = include_str!("../fixtures/entries-v1.jsonl");
pub(crate) const VERSION_2: &str = include_str!("../fixtures/entries-v2.jsonl");
const TEAM_OF_VERSION_1: &str = include_str!("../fixtures/team-v1.jsonl");

const TYPES: [&str; 20] = [
    "branch_summary",
    "compaction_summary",
    "context_cut",
    "custom",
    "message",
    "model_change",
    "native_record",
    "native_session",
    "purged",
    "recall",
    "redaction",
    "runtime_init",
    "session_header",
    "session_setting",
    "system_prompt_override",
    "team_task",
    "thinking_level_change",
    "turn",
    "turn_event",
    "usage",
];

fn entries(golden: &str) -> Vec<Entry> {
    golden.lines().map(|line| read_entry_line(1, line).unwrap()).collect()
}

#[test]
fn every_version_is_written_as_it_was_read() {
    for golden in [VERSION_1, VERSION_2, TEAM_OF_VERSION_1] {
        let written: String = entries(golden).iter().map(|entry| write(entry) + "\n").collect();
        for (written, golden) in written.lines().zip(golden.lines()) {
            assert_eq!(written, golden);
        }
        assert_eq!(written, golden);
    }
}

#[test]
fn every_type_is_among_the_golden_entries_and_unknown_ones_too() {
    let entries = entries(VERSION_2);
    let found: BTreeSet<&str> = entries.iter().map(|entry| entry.kind.type_name()).collect();
    assert!(TYPES.iter().all(|name| found.contains(name)), "{found:?}");
    assert!(found.len() > TYPES.len(), "{found:?}");
}

#[test]
fn the_golden_log_can_be_followed() {
    for golden in [VERSION_1, VERSION_2] {
        let entries = entries(golden);
        assert_eq!(view(&entries[..28]).unwrap().len(), 1);
        assert_eq!(view(&entries[..27]).unwrap().len(), 27);
    }
}

#[test]
fn the_ids_that_follow_from_the_golden_entries_stay() {
    let ids: Vec<String> =
        entries(VERSION_1).iter().map(|entry| entry.content_id().to_string()).take(8).collect();
    let golden = [
        "e-b2af7af0c977ec2729411f6601fbf839",
        "e-3b382eef2605644f675d26c84e9f1f52",
        "e-a927eb306145a26ec1030f5455cac5be",
        "e-b38f523dc5597a6160d1b3f002d19aba",
        "e-47958e30563ecc66f89370c5984b16f8",
        "e-2812c852b2f4b717e1fd55b02a946280",
        "e-bf38ed9b7e7576667d91f3c6208e59be",
        "e-63d6a2fa92ebf9352771b4e495c137f1",
    ];
    assert_eq!(ids, golden);
}

/// Returns the fields of an entry without the source that it is written from.
fn typed(entry: &Entry) -> String {
    match &entry.kind {
        EntryKind::Turn(turn) => {
            let about = turn.turn_id.as_ref().map(|id| format!("{id} ")).unwrap_or_default();
            format!("turn {about}{}: {:?}", turn.state.as_str(), turn.cause)
        }
        EntryKind::TurnEvent(event) => format!("event {} {:?}", event.turn_id, event.activity),
        EntryKind::SessionSetting(setting) => format!("setting {:?}", setting.setting),
        kind => kind.type_name().to_owned(),
    }
}

#[test]
fn what_a_team_wrote_in_version_1_is_read_as_the_types_of_version_2() {
    let read: Vec<String> = entries(TEAM_OF_VERSION_1).iter().map(typed).collect();
    assert_snapshot!(read.join("\n"), @r#"
    session_header
    turn queued: Asked { entry: EntryId("t00"), by: Some("ann"), route: Mention, intent: Reply }
    turn queued: Asked { entry: EntryId("a b%"), by: None, route: FirstAgent, intent: Interrupt }
    turn queued: Repeated { entry: EntryId("t00"), by: Some("ann"), turn: EntryId("t01"), intent: Extend }
    turn t01 started: Chosen { rule: LongestWait }
    turn t01 done: Answered { entry: EntryId("t00") }
    turn t01 failed: Failed { class: "overflow", limit: None, resets_at: None, tools: None }
    turn t01 cancelled: Cancelled { all: false }
    turn t01 cancelled: Cancelled { all: true }
    turn t01 cancelled: Dropped { entry: EntryId("t00"), by: Some("eva") }
    turn t01 cancelled: Declined { entry: EntryId("t00"), by: None }
    turn t01 cancelled: PassedOver
    turn t01 interrupted: CutOff { entry: EntryId("t00") }
    turn t01 interrupted: ProgramStopped
    turn started: Other("chosen turn=t01 rule=best: by lot")
    event t01 Began { session: "0197-aa", model: None }
    event t01 ToolStarted { id: "call-1", name: "Bash", input: {"command":"cargo test","limit":1.5} }
    event t01 ToolFinished { id: "call-1", name: None, output: Some("ok"), is_error: false }
    event t01 ToolDenied { name: "Write", reason: Some("read only") }
    event t01 PermissionAsked { title: "Run rm?" }
    event t01 PermissionAnswered { title: "Run rm?", choice: None }
    event t01 Thought { text: "Look first." }
    event t01 Warned { class: Some("network"), message: "slow" }
    event t01 Failed { class: "overflow", message: "too long", cure: "shorten it" }
    event t01 Retried { budget: 20000 }
    event t01 Resent { prompt_hash: "b3-2233", prompt_recipe: [2,"Be brief."] }
    setting Continued { count: 1 }
    setting Reopened { count: 2 }
    setting Folder { path: "/src/app" }
    setting TurnsMax { turns: Some(7) }
    setting TurnsMax { turns: None }
    setting Title { title: "Login page" }
    custom
    custom
    custom
    custom
    custom
    custom
    custom
    "#);
}

#[test]
fn a_turn_in_the_words_of_version_1_has_the_cause_and_the_id_of_version_1() {
    for entry in entries(TEAM_OF_VERSION_1) {
        let EntryKind::Turn(turn) = entry.kind else { continue };
        let Some(source) = turn.cause_source.clone() else { continue };
        let again = turn.with_cause_of_version_1().cause_source.unwrap();
        let text: String = serde_json::from_str(source.as_str()).unwrap();
        assert_eq!(again.as_str(), format!("{:?}", text.split(": ").next().unwrap()));
    }
}
