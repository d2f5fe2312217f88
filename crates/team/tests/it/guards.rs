//! What stops agents from going on for ever, and what lets them.

use crate::desk::Desk;
use tertulia_team::{Event, Limits, Member, Status, Table, Why};

#[test]
fn the_loop_guard_stops_at_its_limit_and_not_one_turn_later() {
    let mut desk = Desk::with_limits(Limits { turns: 5, pair: 100, ..Limits::default() });
    desk.person("[NEXT: max]");
    for other in ["eva", "max", "leo", "max"] {
        desk.answer(&format!("[NEXT: {other}]"));
    }
    let effects = desk.answer("[NEXT: eva]");
    assert_eq!(
        effects,
        [
            "max done",
            "eva queued",
            "ask ann: the agents have taken 5 turns since a person last wrote. Continue?"
        ]
    );
    assert_eq!(desk.machine.status(), Status::Paused(Why::LoopGuard { turns: 5 }));
    let waiting = desk.machine.waiting().next().unwrap();
    for stopped in [waiting.turn, waiting.parent] {
        let told = desk.machine.why(stopped.as_str()).iter().any(|decision| {
            decision.to_string().starts_with("ann was asked: the agents have taken 5 turns")
        });
        assert!(told, "{stopped}");
    }
    assert_eq!(desk.step(Event::Continue), ["go on", "eva started", "start eva P2"]);
    desk.replays();
}

#[test]
fn two_agents_that_answer_each_other_again_and_again_are_stopped() {
    let mut desk = Desk::new();
    desk.person("[NEXT: max]");
    let mut effects = Vec::new();
    for turn in 0..13 {
        effects = desk.answer(if turn % 2 == 0 { "@eva" } else { "@max" });
    }
    assert_eq!(effects[2], "ask ann: max and eva have taken 12 turns with each other. Continue?");
    assert_eq!(desk.started().len(), 13);
    desk.replays();
}

#[test]
fn an_agent_that_addresses_itself_for_ever_is_stopped() {
    let mut desk = Desk::new();
    desk.person("[NEXT: max]");
    while desk.running.is_some() {
        desk.answer("[NEXT: max!P1]");
    }
    assert_eq!(desk.started().len(), 13);
    assert!(matches!(desk.machine.status(), Status::Paused(Why::PairLoop { turns: 12, .. })));
}

#[test]
fn a_person_and_an_agent_may_talk_as_long_as_they_like() {
    let mut desk = Desk::new();
    for _ in 0..40 {
        desk.person("@max");
        assert_eq!(desk.answer("yes?"), ["max done", "rest"]);
    }
}

#[test]
fn a_members_spending_limit_pauses_and_go_on_allows_as_much_again() {
    let members = [
        Member::human("ann"),
        Member { budget_usd: Some(1.0), ..Member::ai("max") },
        Member::ai("eva"),
    ];
    let mut desk = Desk::at(Table::new(members).unwrap());
    desk.person("@max");
    assert!(desk.pay("max", 1.25).is_empty());
    desk.answer("done");
    let effects = desk.person("@max again");
    assert_eq!(effects[1], "ask ann: max has spent $1.25 of $1.00. Continue?");
    // Speaking is not paying: the pause stays, and others may be sent for instead.
    let effects = desk.person("[DROP: max] [NEXT: eva]");
    assert_eq!(effects, ["max cancelled", "eva queued", "eva started", "start eva P2"]);
    desk.answer("[NEXT: max]");
    assert_eq!(desk.step(Event::Continue), ["go on", "max started", "start max P2"]);
    desk.pay("max", 1.0);
    let effects = desk.answer("[NEXT: max]");
    assert_eq!(effects[2], "ask ann: max has spent $2.25 of $2.25. Continue?");
    desk.replays();
}

#[test]
fn the_sessions_spending_limit_counts_everybody() {
    let mut desk = Desk::with_limits(Limits { budget_usd: Some(0.5), ..Limits::default() });
    desk.person("@max");
    desk.pay("max", 0.25);
    desk.answer("[NEXT: eva]");
    assert_eq!(
        desk.pay("a stranger", 0.25),
        ["note: 'a stranger' is not in the team; the cost counts for the session"]
    );
    let effects = desk.answer("[NEXT: leo]");
    assert_eq!(effects[2], "ask ann: the session has spent $0.50 of $0.50. Continue?");
    desk.replays();
}

#[test]
fn a_persons_turn_is_never_held_back_by_a_guard() {
    let mut desk = Desk::with_limits(Limits { turns: 1, ..Limits::default() });
    desk.person("[NEXT: max]");
    assert_eq!(desk.answer("@ann")[2..], ["ann started", "ask ann: max asked a question in m2"]);
}
