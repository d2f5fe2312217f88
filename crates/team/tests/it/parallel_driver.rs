//! The driver with several agents that run at once: they overlap, their output is kept apart, one or all of them are
//! stopped, and a crash interrupts all of them.

#![expect(clippy::disallowed_methods, reason = "agents are programs, and leave files")]

use std::collections::BTreeMap;
use std::path::Path;

use tertulia_agent::CommandOutput;
use tertulia_session::{Entry, EntryKind, TurnState};
use tertulia_store::{SessionStore, StoreUrl};
use tertulia_team::{
    Cancel, Command, Driver, DriverHandle, EventSink, Limits, SessionEvent, StopReason, Team,
    TeamMember, sent_prompt,
};

use crate::driver::{Heard, begin, shell, texts};

/// Waits for a file, for up to two minutes.
const WAIT: &str = "wait_for() { n=0; until [ -e \"$1\" ]; do sleep 0.02; n=$((n+1)); \
                    [ $n -gt 6000 ] && exit 9; done; }";

/// Returns a member that runs this script, and may do so beside others.
fn worker(name: &str, script: &str) -> TeamMember {
    let mut member = shell(name, CommandOutput::Text, &format!("cat >/dev/null; {WAIT}; {script}"));
    member.member = member.member.beside_others();
    member
}

fn team(members: Vec<TeamMember>, parallel: usize) -> Team {
    let mut all = vec![TeamMember::person("ann")];
    all.extend(members);
    Team::new(all, Limits { parallel, ..Limits::default() }, None).unwrap()
}

/// Returns three members of which none answers before all have started.
fn three_that_meet(folder: &Path) -> Vec<TeamMember> {
    let folder = folder.display();
    let names = ["max", "eva", "leo"];
    let all: String = names.map(|name| format!("wait_for {folder}/{name}; ")).concat();
    let script = |name: &str| format!("touch {folder}/{name}; {all} printf '{name} met them'");
    names.map(|name| worker(name, &script(name))).into()
}

fn states(entries: &[Entry]) -> Vec<String> {
    let turns = entries.iter().filter_map(Entry::turn);
    let turns = turns.filter(|turn| turn.state != TurnState::Queued);
    turns.map(|turn| format!("{} {}", turn.member, turn.state.as_str())).collect()
}

#[test]
fn three_slow_members_work_at_the_same_time() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut driver) = begin(team(three_that_meet(folder.path()), 3));
    let mut heard = Heard::default();
    driver.say(None, "[NEXT: max, eva, leo]", &mut heard).unwrap();
    assert_eq!(driver.run(&mut heard).unwrap(), StopReason::Rested);
    let mut said = texts(driver.entries());
    said.sort();
    let expected = [
        "ann: [NEXT: max, eva, leo]",
        "eva: eva met them",
        "leo: leo met them",
        "max: max met them",
    ];
    assert_eq!(said, expected);
    assert_eq!(states(driver.entries())[..3], ["max started", "eva started", "leo started"]);
}

#[test]
fn the_prompts_of_turns_that_start_together_can_be_read_again_to_the_byte() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display();
    let member = |name: &str| {
        let script = format!(
            "n=$(ls {place} | grep -c '^{name}'); cat >{place}/{name}.$n; echo \"$n from {name}\""
        );
        let mut member = shell(name, CommandOutput::Text, &script);
        member.member = member.member.beside_others();
        member
    };
    let (_, mut driver) = begin(team(["max", "eva", "leo"].map(member).into(), 3));
    let mut heard = Heard::default();
    for text in ["[NEXT: max, eva, leo] one", "[NEXT: leo, eva, max] two", "[NEXT: eva, leo] three"]
    {
        driver.say(None, text, &mut heard).unwrap();
        driver.run(&mut heard).unwrap();
    }
    let started = driver
        .entries()
        .iter()
        .filter(|entry| entry.turn().is_some_and(|turn| turn.state == TurnState::Started));
    let mut counts = BTreeMap::<&str, usize>::new();
    for entry in started {
        let name = &*entry.turn().unwrap().member;
        let count = counts.entry(name).or_default();
        let sent = sent_prompt(driver.entries(), &entry.id).unwrap();
        let received = std::fs::read_to_string(folder.path().join(format!("{name}.{count}")));
        assert_eq!(sent.text, received.unwrap(), "{name} {count}");
        *count += 1;
    }
    assert_eq!(counts.values().sum::<usize>(), 8);
}

/// Cancels something as soon as the first of these files exists.
struct CancelsWhenStarted {
    handle: DriverHandle,
    command: Option<Command>,
    starts: usize,
}

impl EventSink for CancelsWhenStarted {
    fn on_event(&mut self, event: SessionEvent) {
        if let SessionEvent::Fed { .. } = event {
            self.starts -= 1;
            if self.starts == 0
                && let Some(command) = self.command.take()
            {
                assert!(self.handle.send(command));
            }
        }
    }
}

#[test]
fn one_cancelled_turn_ends_and_the_other_finishes() {
    let folder = tempfile::tempdir().unwrap();
    let free = folder.path().join("free");
    let members = vec![
        worker("max", "wait_for /nowhere; echo never"),
        worker("eva", &format!("wait_for {}; printf done", free.display())),
    ];
    let (_, mut driver) = begin(team(members, 2));
    driver.say(None, "[NEXT: max, eva]", &mut Heard::default()).unwrap();
    let max = driver.machine().active().next().unwrap().turn.clone();
    driver.execute(Command::Cancel(Cancel::Turn(max)), &mut Heard::default()).unwrap();
    std::fs::write(&free, "").unwrap();
    driver.run(&mut Heard::default()).unwrap();
    let mut states = states(driver.entries());
    states.sort();
    assert_eq!(states, ["eva done", "eva started", "max cancelled", "max started"]);
    assert_eq!(texts(driver.entries())[1..], ["eva: done"]);
}

#[test]
fn cancelling_what_runs_stops_all_agents() {
    for command in [Command::CancelRunning, Command::Cancel(Cancel::All), Command::Close] {
        let members = ["max", "eva", "leo"].map(|name| worker(name, "wait_for /nowhere"));
        let (_, mut driver) = begin(team(members.into(), 3));
        let mut sink =
            CancelsWhenStarted { handle: driver.handle(), command: Some(command), starts: 3 };
        driver.say(None, "[NEXT: max, eva, leo]", &mut sink).unwrap();
        driver.run(&mut sink).unwrap();
        let states = states(driver.entries());
        assert_eq!(states[3..], ["max cancelled", "eva cancelled", "leo cancelled"]);
        assert!(!driver.is_running());
    }
}

#[test]
fn a_dropped_driver_leaves_no_agent_and_a_new_one_interrupts_all_turns() {
    let folder = tempfile::tempdir().unwrap();
    let url = StoreUrl::Sqlite(folder.path().join("sessions.db"));
    let store = SessionStore::open(&url).unwrap();
    let members: Vec<TeamMember> =
        ["max", "eva"].map(|name| worker(name, "wait_for /nowhere")).into();
    let team = team(members, 2);
    let mut driver = Driver::begin(&store, None, team.clone(), false).unwrap();
    driver.say(None, "[NEXT: max, eva]", &mut Heard::default()).unwrap();
    let session = driver.session().clone();
    drop(driver);
    let mut heard = Heard::default();
    let opened = Driver::reopen(&store, &session, team, false, &mut heard).unwrap();
    assert_eq!(opened.differences, []);
    let states = states(opened.driver.entries());
    assert_eq!(states[2..], ["max interrupted", "eva interrupted"]);
    assert!(heard.lines.last().unwrap().ends_with("were interrupted. Retry them?"));
}

#[test]
fn a_question_to_a_person_stays_open_while_others_finish() {
    let folder = tempfile::tempdir().unwrap();
    let free = folder.path().join("free");
    let ask = "echo '@ann, which colour?'";
    let slow = format!("wait_for {}; printf done", free.display());
    let (_, mut driver) = begin(team(vec![worker("max", ask), worker("eva", &slow)], 2));
    struct Frees(std::path::PathBuf, Vec<String>);
    impl EventSink for Frees {
        fn on_event(&mut self, event: SessionEvent) {
            if let SessionEvent::Asked(question) = event {
                self.1.push(question.why.to_string());
                std::fs::write(&self.0, "").unwrap();
            }
        }
    }
    let mut sink = Frees(free, Vec::new());
    driver.say(None, "[NEXT: max, eva]", &mut sink).unwrap();
    let stopped = driver.run(&mut sink).unwrap();
    assert!(matches!(stopped, StopReason::Asked(_)), "{stopped:?}");
    assert_eq!(sink.1.len(), 1);
    let last =
        driver.entries().iter().rev().find(|entry| matches!(entry.kind, EntryKind::Message(_)));
    assert_eq!(last.unwrap().message().unwrap().text(), "done");
}
