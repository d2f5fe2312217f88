//! Replaying a log gives the same decisions, or names the difference.

use crate::test_driver::{TestDriver, members, show};
use tertulia_session::json::Json;
use tertulia_session::{
    Cause, EntryId, EntryKind, NewEntry, Redaction, Routing, SpeakerType, Turn,
};
use tertulia_team::{Difference, Event, Limits, Machine, Member, Roster};

fn conversation() -> TestDriver {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: max, eva]");
    driver.answer("[NEXT: leo]");
    driver.answer("done");
    driver
}

fn turn(driver: &mut TestDriver, place: usize) -> &mut Turn {
    let turns = driver.log.iter_mut().filter_map(|entry| match &mut entry.kind {
        EntryKind::Turn(turn) => Some(turn),
        _ => None,
    });
    turns.into_iter().nth(place).unwrap()
}

fn replay(driver: &TestDriver) -> tertulia_team::Replay {
    Machine::replay(driver.machine.roster().clone(), &driver.log)
}

#[test]
fn a_log_gives_the_same_decisions_and_the_same_reasons() {
    let driver = conversation();
    let again = replay(&driver);
    assert_eq!((again.differences.len(), again.unfinished.len()), (0, 0));
    for entry in &driver.log {
        assert_eq!(again.machine.why(entry.id.as_str()), driver.machine.why(entry.id.as_str()));
    }
}

#[test]
fn what_a_crash_left_undone_is_given_to_the_driver() {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: max, eva]");
    let complete = std::mem::take(&mut driver.log);
    for kept in 1..complete.len() {
        let again = Machine::replay(driver.machine.roster().clone(), &complete[..kept]);
        assert_eq!(again.differences, []);
        let left: Vec<String> = again.unfinished.iter().map(show).collect();
        let all = ["max queued", "eva queued", "max started", "start max P2"];
        assert_eq!(left, all[kept - 1..]);
    }
}

#[test]
fn another_decision_is_named_and_the_log_is_believed() {
    let mut driver = conversation();
    turn(&mut driver, 2).member = "eva".into();
    let again = replay(&driver);
    let Some(Difference::Decision { expected: Some(expected), found, .. }) =
        again.differences.first()
    else {
        panic!("{:?}", again.differences)
    };
    assert!(expected.starts_with("max's turn is started"), "{expected}");
    assert!(found.starts_with("eva's turn is started"), "{found}");
    // After the difference, the log matches again.
    assert_eq!(again.differences.len(), 1);
}

#[test]
fn a_missing_decision_is_named() {
    let mut driver = conversation();
    driver.person("@max");
    let place = driver.log.iter().position(|e| e.id.as_str() == "m1").unwrap();
    driver.log.remove(place + 2);
    let again = replay(&driver);
    assert!(
        matches!(&again.differences[0], Difference::Decision { .. }),
        "{:?}",
        again.differences
    );
    let mut driver = TestDriver::new();
    driver.person("hello");
    driver.log.truncate(2);
    driver.person("hello?");
    let again = replay(&driver);
    let Difference::Missing { before, expected } = &again.differences[0] else { panic!() };
    assert_eq!(before.as_str(), "m2");
    assert!(expected.starts_with("max's turn is started"), "{expected}");
}

#[test]
fn nothing_was_decided_for_messages_that_no_team_received() {
    let mut driver = TestDriver::new();
    for number in 0..3 {
        driver.store("ann", SpeakerType::Human, &format!("@max imported {number}"));
        driver.store("max", SpeakerType::Ai, "@eva as they said elsewhere");
    }
    driver.person("@max and now here");
    driver.answer("Well.");
    driver.replays();
    // It is different if a driver received the message and found no addressee.
    let EntryKind::Message(first) = &mut driver.log[0].kind else { panic!() };
    first.routing = Some(Box::new(Routing::to::<&str>([])));
    let again = replay(&driver);
    assert!(matches!(&again.differences[..], [Difference::Missing { .. }]), "{again:?}");
}

/// Replays a log followed by the entry with which a fork or a branch begins.
fn branched(driver: &TestDriver, log: &[tertulia_session::Entry]) -> tertulia_team::Replay {
    let from = log.last().unwrap().id.clone();
    let summary = tertulia_session::BranchSummary {
        source_session_id: "elsewhere".into(),
        source_entry_id: from,
        summary: None,
        unknown: tertulia_session::Fields::NONE,
    };
    let entry = NewEntry::new(EntryKind::BranchSummary(summary)).with_id("b1".into());
    let log: Vec<_> = log.iter().cloned().chain([entry]).collect();
    Machine::replay(driver.machine.roster().clone(), &log)
}

#[test]
fn a_fork_at_an_answer_finds_the_turn_done_and_says_whom_it_asks_for() {
    let driver = conversation();
    let place = driver.log.iter().position(|entry| entry.id.as_str() == "m2").unwrap();
    let fork = branched(&driver, &driver.log[..=place]);
    let undecided = fork.undecided.clone().unwrap();
    assert_eq!((undecided.entry.as_str(), undecided.members), ("m2", vec!["leo".into()]));
    let mut machine = fork.into_recorded();
    let shown: Vec<String> = machine.step(Event::Resume).iter().map(show).collect();
    // Eva's turn waits for its start, and no turn was interrupted.
    assert!(matches!(&shown[..], [_, asks] if asks.starts_with("ask ann: ")), "{shown:?}");
    assert!(!shown[1].contains("interrupted"), "{shown:?}");
    let whole = branched(&driver, &driver.log);
    assert_eq!(whole.undecided, None);
}

#[test]
fn a_fork_at_a_request_says_whom_it_asks_for() {
    let driver = conversation();
    let fork = branched(&driver, &driver.log[..1]);
    let undecided = fork.undecided.unwrap();
    assert_eq!(undecided.members, vec![Box::from("max"), Box::from("eva")]);
    assert_eq!(fork.differences, []);
}

#[test]
fn a_cause_of_another_program_and_a_member_who_left_are_named() {
    let mut driver = conversation();
    turn(&mut driver, 0).cause = Cause::Other(Json::text("because"));
    let again = replay(&driver);
    assert!(
        matches!(&again.differences[0], Difference::Unreadable { cause, .. } if &**cause == "because")
    );

    let driver = conversation();
    let without_eva = members().into_iter().filter(|member| &*member.name != "eva");
    let again = Machine::replay(Roster::new(without_eva).unwrap(), &driver.log);
    assert!(
        again
            .differences
            .iter()
            .any(|d| matches!(d, Difference::UnknownMember { member, .. } if &**member == "eva"))
    );
    assert!(again.machine.waiting().all(|waiting| waiting.member != "eva"));
}

#[test]
fn what_follows_from_a_text_that_is_gone_is_taken_as_recorded() {
    let mut driver = conversation();
    driver.log.retain(|entry| entry.id.as_str() != "m2");
    let again = replay(&driver);
    assert_eq!((again.differences, again.unchecked), (vec![], vec![EntryId::from("m2")]));
    assert!(again.machine.waiting().eq(driver.machine.waiting()));
}

#[test]
fn a_message_of_a_person_that_was_purged_is_no_difference() {
    let mut driver = TestDriver::with_limits(Limits { turns: 2, ..Limits::default() });
    driver.person("@max one");
    driver.answer("@eva two");
    driver.answer("three");
    // Without that message the agents would have exceeded the turn limit.
    driver.person("@eva four");
    driver.answer("@max five");
    driver.answer("six");
    let place = driver.log.iter().position(|entry| entry.id.as_str() == "m4").unwrap();
    let purged = tertulia_session::Purged {
        type_name: "message".into(),
        hash: tertulia_session::RecordHash::from(&driver.log[place]),
        by: "r1".into(),
        unknown: tertulia_session::Fields::NONE,
    };
    driver.log[place].kind = EntryKind::Purged(purged);
    let again = replay(&driver);
    assert_eq!((again.differences, again.unchecked), (vec![], vec![EntryId::from("m4")]));
    assert!(again.machine.waiting().eq(driver.machine.waiting()));
    assert_eq!(again.machine.status(), driver.machine.status());
}

#[test]
fn a_wording_of_version_1_is_no_difference() {
    let mut driver = conversation();
    for place in 0..6 {
        let turn = turn(&mut driver, place);
        *turn = turn.clone().with_cause_of_version_1();
        let head = turn.cause_source.as_ref().unwrap().as_str().trim_matches('"');
        turn.cause_source = Some(Json::text(&format!("{head}: put better")));
    }
    driver.replays();
}

#[test]
fn entries_of_others_change_nothing() {
    let mut driver = conversation();
    let redaction = EntryKind::Redaction(Redaction::new(&EntryId::from("elsewhere")));
    for place in (0..=driver.log.len()).rev() {
        let id = EntryId::from(format!("other{place}"));
        driver.log.insert(place, NewEntry::new(redaction.clone()).with_id(id));
    }
    driver.replays();
}

#[test]
fn why_shows_the_full_history_of_a_turn() {
    let mut driver = TestDriver::new();
    driver.person("Who can fix it? [NEXT: max]");
    let turn = driver.running.clone().unwrap().0;
    driver.fail("quota");
    driver.step(Event::Repeat { turn: turn.clone() });
    let again = driver.running.clone().unwrap().0;
    let why: Vec<String> =
        driver.machine.why(turn.as_str()).iter().map(ToString::to_string).collect();
    assert_eq!(
        why,
        [
            format!("max's turn {turn} is queued: ann asked for max in m1"),
            format!(
                "max's turn {turn} is started: it waited longest of all turns with its priority"
            ),
            format!("max's turn {turn} is failed: max could not answer (quota)"),
            format!(
                "ann was asked: max could not answer (quota); retry turn {turn}, or say how to continue"
            ),
            format!("max's turn {again} is queued: the person retried turn {turn}"),
        ]
    );
    assert!(driver.machine.why("nobody knows it").is_empty());
}

#[test]
fn a_session_of_one_agent_replays() {
    let mut driver = TestDriver::at(Roster::new([Member::ai("max")]).unwrap());
    driver.person("hello");
    driver.answer("[NEXT: max]");
    driver.replays();
}
