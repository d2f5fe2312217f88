//! What stops agents from running forever, and what lets them continue.

use crate::test_driver::TestDriver;
use tertulia_team::{Event, Limits, Member, PauseReason, Roster, Status};

#[test]
fn the_loop_guard_stops_at_its_limit_and_not_one_turn_later() {
    let mut driver = TestDriver::with_limits(Limits { turns: 5, pair: 100, ..Limits::default() });
    driver.person("[NEXT: max]");
    for other in ["eva", "max", "leo", "max"] {
        driver.answer(&format!("[NEXT: {other}]"));
    }
    let effects = driver.answer("[NEXT: eva]");
    assert_eq!(
        effects,
        [
            "max done",
            "eva queued",
            "ask ann: the agents have taken 5 turns since a person last wrote. Continue?"
        ]
    );
    assert_eq!(driver.machine.status(), Status::Paused(PauseReason::LoopGuard { turns: 5 }));
    let waiting = driver.machine.waiting().next().unwrap();
    for stopped in [waiting.turn, waiting.parent] {
        let told = driver.machine.why(stopped.as_str()).iter().any(|decision| {
            decision.to_string().starts_with("ann was asked: the agents have taken 5 turns")
        });
        assert!(told, "{stopped}");
    }
    assert_eq!(driver.step(Event::Continue), ["go on", "eva started", "start eva P2"]);
    driver.replays();
}

#[test]
fn two_agents_that_answer_each_other_again_and_again_are_stopped() {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: max]");
    let mut effects = Vec::new();
    for turn in 0..13 {
        effects = driver.answer(if turn % 2 == 0 { "@eva" } else { "@max" });
    }
    assert_eq!(effects[2], "ask ann: max and eva have taken 12 turns with each other. Continue?");
    assert_eq!(driver.started().len(), 13);
    driver.replays();
}

#[test]
fn an_agent_that_addresses_itself_for_ever_is_stopped() {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: max]");
    while driver.running.is_some() {
        driver.answer("[NEXT: max!P1]");
    }
    assert_eq!(driver.started().len(), 13);
    assert!(matches!(
        driver.machine.status(),
        Status::Paused(PauseReason::PairLoop { turns: 12, .. })
    ));
}

#[test]
fn a_person_and_an_agent_may_talk_as_long_as_they_like() {
    let mut driver = TestDriver::new();
    for _ in 0..40 {
        driver.person("@max");
        assert_eq!(driver.answer("yes?"), ["max done", "rest"]);
    }
}

#[test]
fn a_members_spending_limit_pauses_and_go_on_allows_as_much_again() {
    let members = [
        Member::human("ann"),
        Member { budget_usd: Some(1.0), ..Member::ai("max") },
        Member::ai("eva"),
    ];
    let mut driver = TestDriver::at(Roster::new(members).unwrap());
    driver.person("@max");
    assert!(driver.pay("max", 1.25).is_empty());
    driver.answer("done");
    let effects = driver.person("@max again");
    assert_eq!(effects[1], "ask ann: max has spent $1.25 of $1.00. Continue?");
    // A message does not raise the limit: the turn stays paused, and other members may be addressed instead.
    let effects = driver.person("[DROP: max] [NEXT: eva]");
    assert_eq!(effects, ["max cancelled", "eva queued", "eva started", "start eva P2"]);
    driver.answer("[NEXT: max]");
    assert_eq!(driver.step(Event::Continue), ["go on", "max started", "start max P2"]);
    driver.pay("max", 1.0);
    let effects = driver.answer("[NEXT: max]");
    assert_eq!(effects[2], "ask ann: max has spent $2.25 of $2.25. Continue?");
    driver.replays();
}

#[test]
fn the_sessions_spending_limit_counts_everybody() {
    let mut driver = TestDriver::with_limits(Limits { budget_usd: Some(0.5), ..Limits::default() });
    driver.person("@max");
    driver.pay("max", 0.25);
    driver.answer("[NEXT: eva]");
    assert_eq!(
        driver.pay("nobody", 0.25),
        ["note: 'nobody' is not in the team; the cost counts for the session"]
    );
    let effects = driver.answer("[NEXT: leo]");
    assert_eq!(effects[2], "ask ann: the session has spent $0.50 of $0.50. Continue?");
    driver.replays();
}

#[test]
fn a_persons_turn_is_never_held_back_by_a_guard() {
    let mut driver = TestDriver::with_limits(Limits { turns: 1, ..Limits::default() });
    driver.person("[NEXT: max]");
    assert_eq!(driver.answer("@ann")[2..], ["ann started", "ask ann: max asked a question in m2"]);
}
