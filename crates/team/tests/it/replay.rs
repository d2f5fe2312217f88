//! A log is read again: the same decisions, or the difference by its name.

use crate::desk::{Desk, members, show};
use tertulia_session::json::Json;
use tertulia_session::{
    Cause, EntryId, EntryKind, NewEntry, Redaction, Routing, SpeakerType, Turn,
};
use tertulia_team::{Difference, Event, Limits, Machine, Member, Table};

fn conversation() -> Desk {
    let mut desk = Desk::new();
    desk.person("[NEXT: max, eva]");
    desk.answer("[NEXT: leo]");
    desk.answer("done");
    desk
}

fn turn(desk: &mut Desk, place: usize) -> &mut Turn {
    let turns = desk.log.iter_mut().filter_map(|entry| match &mut entry.kind {
        EntryKind::Turn(turn) => Some(turn),
        _ => None,
    });
    turns.into_iter().nth(place).unwrap()
}

fn replay(desk: &Desk) -> tertulia_team::Replay {
    Machine::replay(desk.machine.table().clone(), &desk.log)
}

#[test]
fn a_log_gives_the_same_decisions_and_the_same_reasons() {
    let desk = conversation();
    let again = replay(&desk);
    assert_eq!((again.differences.len(), again.unfinished.len()), (0, 0));
    for entry in &desk.log {
        assert_eq!(again.machine.why(entry.id.as_str()), desk.machine.why(entry.id.as_str()));
    }
}

#[test]
fn what_a_crash_left_undone_is_given_to_the_driver() {
    let mut desk = Desk::new();
    desk.person("[NEXT: max, eva]");
    let complete = std::mem::take(&mut desk.log);
    for kept in 1..complete.len() {
        let again = Machine::replay(desk.machine.table().clone(), &complete[..kept]);
        assert_eq!(again.differences, []);
        let left: Vec<String> = again.unfinished.iter().map(show).collect();
        let all = ["max queued", "eva queued", "max started", "start max P2"];
        assert_eq!(left, all[kept - 1..]);
    }
}

#[test]
fn another_decision_is_named_and_the_log_is_believed() {
    let mut desk = conversation();
    turn(&mut desk, 2).member = "eva".into();
    let again = replay(&desk);
    let Some(Difference::Decision { expected: Some(expected), found, .. }) =
        again.differences.first()
    else {
        panic!("{:?}", again.differences)
    };
    assert!(expected.starts_with("max's turn is started"), "{expected}");
    assert!(found.starts_with("eva's turn is started"), "{found}");
    // What the log says afterwards fits again.
    assert_eq!(again.differences.len(), 1);
}

#[test]
fn a_missing_decision_is_named() {
    let mut desk = conversation();
    desk.person("@max");
    let place = desk.log.iter().position(|e| e.id.as_str() == "m1").unwrap();
    desk.log.remove(place + 2);
    let again = replay(&desk);
    assert!(
        matches!(&again.differences[0], Difference::Decision { .. }),
        "{:?}",
        again.differences
    );
    let mut desk = Desk::new();
    desk.person("hello");
    desk.log.truncate(2);
    desk.person("hello?");
    let again = replay(&desk);
    let Difference::Missing { before, expected } = &again.differences[0] else { panic!() };
    assert_eq!(before.as_str(), "m2");
    assert!(expected.starts_with("max's turn is started"), "{expected}");
}

#[test]
fn of_messages_that_no_team_has_heard_nothing_was_decided() {
    let mut desk = Desk::new();
    for number in 0..3 {
        desk.store("ann", SpeakerType::Human, &format!("@max imported {number}"));
        desk.store("max", SpeakerType::Ai, "@eva as they said elsewhere");
    }
    desk.person("@max and now here");
    desk.answer("Well.");
    desk.replays();
    // One that the team did hear, and found nobody for, is another matter.
    let EntryKind::Message(first) = &mut desk.log[0].kind else { panic!() };
    first.routing = Some(Box::new(Routing::to::<&str>([])));
    let again = replay(&desk);
    assert!(matches!(&again.differences[..], [Difference::Missing { .. }]), "{again:?}");
}

/// The entry with which a fork or a branch begins.
fn branched(desk: &Desk, log: &[tertulia_session::Entry]) -> tertulia_team::Replay {
    let from = log.last().unwrap().id.clone();
    let summary = tertulia_session::BranchSummary {
        source_session_id: "elsewhere".into(),
        source_entry_id: from,
        summary: None,
        unknown: tertulia_session::Fields::NONE,
    };
    let entry = NewEntry::new(EntryKind::BranchSummary(summary)).with_id("b1".into());
    let log: Vec<_> = log.iter().cloned().chain([entry]).collect();
    Machine::replay(desk.machine.table().clone(), &log)
}

#[test]
fn a_fork_at_an_answer_finds_the_turn_done_and_says_whom_it_asks_for() {
    let desk = conversation();
    let place = desk.log.iter().position(|entry| entry.id.as_str() == "m2").unwrap();
    let fork = branched(&desk, &desk.log[..=place]);
    let undecided = fork.undecided.clone().unwrap();
    assert_eq!((undecided.entry.as_str(), undecided.members), ("m2", vec!["leo".into()]));
    let mut machine = fork.into_recorded();
    let shown: Vec<String> = machine.step(Event::Resume).iter().map(show).collect();
    // Eva waits since the request; nothing was interrupted.
    assert!(matches!(&shown[..], [_, asks] if asks.starts_with("ask ann: ")), "{shown:?}");
    assert!(!shown[1].contains("interrupted"), "{shown:?}");
    let whole = branched(&desk, &desk.log);
    assert_eq!(whole.undecided, None);
}

#[test]
fn a_fork_at_a_request_says_whom_it_asks_for() {
    let desk = conversation();
    let fork = branched(&desk, &desk.log[..1]);
    let undecided = fork.undecided.unwrap();
    assert_eq!(undecided.members, vec![Box::from("max"), Box::from("eva")]);
    assert_eq!(fork.differences, []);
}

#[test]
fn a_cause_of_another_program_and_a_member_who_left_are_named() {
    let mut desk = conversation();
    turn(&mut desk, 0).cause = Cause::Other(Json::text("because"));
    let again = replay(&desk);
    assert!(
        matches!(&again.differences[0], Difference::Unreadable { cause, .. } if &**cause == "because")
    );

    let desk = conversation();
    let without_eva = members().into_iter().filter(|member| &*member.name != "eva");
    let again = Machine::replay(Table::new(without_eva).unwrap(), &desk.log);
    assert!(
        again
            .differences
            .iter()
            .any(|d| matches!(d, Difference::Stranger { member, .. } if &**member == "eva"))
    );
    assert!(again.machine.waiting().all(|waiting| waiting.member != "eva"));
}

#[test]
fn what_follows_from_a_text_that_is_gone_is_taken_as_recorded() {
    let mut desk = conversation();
    desk.log.retain(|entry| entry.id.as_str() != "m2");
    let again = replay(&desk);
    assert_eq!((again.differences, again.unchecked), (vec![], vec![EntryId::from("m2")]));
    assert!(again.machine.waiting().eq(desk.machine.waiting()));
}

#[test]
fn a_message_of_a_person_that_was_purged_is_no_difference() {
    let mut desk = Desk::with_limits(Limits { turns: 2, ..Limits::default() });
    desk.person("@max one");
    desk.answer("@eva two");
    desk.answer("three");
    // Without it the agents would have had too many turns.
    desk.person("@eva four");
    desk.answer("@max five");
    desk.answer("six");
    let place = desk.log.iter().position(|entry| entry.id.as_str() == "m4").unwrap();
    let purged = tertulia_session::Purged {
        type_name: "message".into(),
        hash: tertulia_session::RecordHash::from(&desk.log[place]),
        by: "r1".into(),
        unknown: tertulia_session::Fields::NONE,
    };
    desk.log[place].kind = EntryKind::Purged(purged);
    let again = replay(&desk);
    assert_eq!((again.differences, again.unchecked), (vec![], vec![EntryId::from("m4")]));
    assert!(again.machine.waiting().eq(desk.machine.waiting()));
    assert_eq!(again.machine.status(), desk.machine.status());
}

#[test]
fn a_wording_of_version_1_is_no_difference() {
    let mut desk = conversation();
    for place in 0..6 {
        let turn = turn(&mut desk, place);
        *turn = turn.clone().with_cause_of_version_1();
        let head = turn.cause_source.as_ref().unwrap().as_str().trim_matches('"');
        turn.cause_source = Some(Json::text(&format!("{head}: put better")));
    }
    desk.replays();
}

#[test]
fn entries_of_others_change_nothing() {
    let mut desk = conversation();
    let redaction = EntryKind::Redaction(Redaction::new(&EntryId::from("elsewhere")));
    for place in (0..=desk.log.len()).rev() {
        let id = EntryId::from(format!("other{place}"));
        desk.log.insert(place, NewEntry::new(redaction.clone()).with_id(id));
    }
    desk.replays();
}

#[test]
fn why_tells_the_whole_story_of_a_turn() {
    let mut desk = Desk::new();
    desk.person("Who can fix it? [NEXT: max]");
    let turn = desk.running.clone().unwrap().0;
    desk.fail("quota");
    desk.step(Event::Repeat { turn: turn.clone() });
    let again = desk.running.clone().unwrap().0;
    let why: Vec<String> =
        desk.machine.why(turn.as_str()).iter().map(ToString::to_string).collect();
    assert_eq!(
        why,
        [
            format!("max's turn {turn} is queued: ann asked for max in m1"),
            format!("max's turn {turn} is started: it waited longest at its priority"),
            format!("max's turn {turn} is failed: max could not answer (quota)"),
            format!(
                "ann was asked: max could not answer (quota); retry turn {turn}, or say how to continue"
            ),
            format!("max's turn {again} is queued: the person wants turn {turn} again"),
        ]
    );
    assert!(desk.machine.why("nobody knows it").is_empty());
}

#[test]
fn a_table_of_one_agent_replays() {
    let mut desk = Desk::at(Table::new([Member::ai("max")]).unwrap());
    desk.person("hello");
    desk.answer("[NEXT: max]");
    desk.replays();
}
