//! Turns that run at once: which may start beside others, what stops them, and what happens to the others.

use tertulia_team::{Cancel, Event, Limits, Machine, Member, Roster, Status, TurnPhase};

use crate::test_driver::TestDriver;

/// Returns Ann, four agents that write nothing, and Zoe, who writes. Up to this number of turns run at once.
fn team(parallel: usize) -> TestDriver {
    let readers = ["max", "eva", "leo", "kim"].map(|name| Member::ai(name).beside_others());
    let members = [Member::human("ann")].into_iter().chain(readers).chain([Member::ai("zoe")]);
    let limits = Limits { parallel, ..Limits::default() };
    TestDriver::at(Roster::new(members).unwrap().with_limits(limits))
}

fn active(driver: &TestDriver) -> Vec<String> {
    let show = |phase| match phase {
        TurnPhase::Running => "runs",
        TurnPhase::Asking => "is asked",
        TurnPhase::Stopping => "stops",
    };
    let active = driver.machine.active();
    active.map(|one| format!("{} {}", one.member, show(one.phase))).collect()
}

#[test]
fn as_many_turns_run_at_once_as_the_limit_allows() {
    let mut driver = team(3);
    driver.person("[NEXT: max, eva, leo, kim]");
    assert_eq!(active(&driver), ["max runs", "eva runs", "leo runs"]);
    assert_eq!(driver.waiting(), ["kim P2"]);
    assert_eq!(driver.of("eva").answer("Done."), ["eva done", "kim started", "start kim P2"]);
    assert_eq!(active(&driver), ["max runs", "leo runs", "kim runs"]);
    for member in ["kim", "max", "leo"] {
        driver.of(member).answer("Done.");
    }
    assert_eq!(driver.machine.status(), Status::Resting);
    driver.replays();
}

#[test]
fn with_the_usual_limit_one_turn_runs_at_a_time() {
    let mut driver = team(1);
    driver.person("[NEXT: max, eva]");
    assert_eq!(active(&driver), ["max runs"]);
    driver.answer("Done.");
    assert_eq!(active(&driver), ["eva runs"]);
}

#[test]
fn a_member_that_may_write_runs_alone_and_others_overtake_it_only_so_often() {
    let mut driver = team(2);
    driver.person("[NEXT: max, zoe, eva, leo, kim]");
    assert_eq!(active(&driver), ["max runs", "eva runs"]);
    let mut before = 0;
    while active(&driver) != ["zoe runs"] {
        // The readers would go on forever.
        let member = driver.machine.active().next().unwrap().member.to_owned();
        driver.of(&member).answer(&format!("[NEXT: {member}]"));
        before += 1;
        assert!(before < 10, "zoe starves");
    }
    assert!(!driver.waiting().is_empty());
    driver.answer("Done.");
    assert_eq!(active(&driver).len(), 2, "two readers run again");
    driver.replays();
}

#[test]
fn an_urgent_turn_that_may_not_start_yet_is_not_overtaken() {
    let mut driver = team(2);
    driver.person("@max");
    driver.person("[NEXT: zoe!P1, eva]");
    assert_eq!(active(&driver), ["max runs"]);
    driver.answer("Done.");
    assert_eq!(active(&driver), ["zoe runs"]);
    driver.answer("Done.");
    assert_eq!(active(&driver), ["eva runs"]);
    driver.replays();
}

#[test]
fn a_member_has_one_turn_at_a_time() {
    let mut driver = team(3);
    driver.person("@max");
    driver.person("@max again, and @eva");
    assert_eq!(active(&driver), ["max runs", "eva runs"]);
    assert_eq!(driver.waiting(), ["max P2"]);
    driver.of("max").answer("Done.");
    assert_eq!(active(&driver), ["eva runs", "max runs"]);
}

#[test]
fn an_answer_that_arrives_while_others_run_is_routed_at_once() {
    let mut driver = team(3);
    driver.person("[NEXT: max, eva]");
    let effects = driver.of("max").answer("[NEXT: leo]");
    assert_eq!(effects, ["max done", "leo queued", "leo started", "start leo P2"]);
    assert_eq!(active(&driver), ["eva runs", "leo runs"]);
    driver.replays();
}

#[test]
fn a_person_is_asked_while_agents_run_and_nothing_starts_before_the_answer() {
    let mut driver = team(3);
    driver.person("[NEXT: max, eva, leo]");
    driver.of("max").answer("[NEXT: ann, kim]");
    assert_eq!(active(&driver), ["eva runs", "leo runs", "ann is asked"]);
    assert!(matches!(driver.machine.status(), Status::Waiting { .. }));
    assert_eq!(driver.of("eva").answer("Done."), ["eva done"]);
    assert_eq!(driver.waiting(), ["kim P2"]);
    driver.person("It is blue.");
    assert_eq!(active(&driver), ["leo runs", "max runs", "kim runs"]);
    driver.replays();
}

#[test]
fn cancelling_one_turn_leaves_the_others_running_and_holds_the_queue() {
    let mut driver = team(2);
    driver.person("[NEXT: max, eva, leo]");
    assert_eq!(driver.of("max").cancel_running(), ["max cancelled", "stop max"]);
    assert_eq!(active(&driver), ["max stops", "eva runs"]);
    driver.of("max").fail("cancelled");
    assert_eq!(active(&driver), ["eva runs"]);
    assert_eq!(driver.waiting(), ["leo P2"], "a person decides first");
    let effects = driver.of("eva").answer("Done.");
    assert!(effects.last().unwrap().contains("was cancelled. Continue with the queued turn?"));
    driver.person("yes");
    assert_eq!(active(&driver), ["leo runs"]);
    driver.replays();
}

#[test]
fn nothing_starts_while_a_cancelled_agent_still_works() {
    let mut driver = team(3);
    driver.person("[NEXT: max, eva, leo, kim]");
    driver.of("max").cancel_running();
    driver.step(Event::Continue);
    driver.of("eva").answer("Done.");
    assert_eq!(active(&driver), ["max stops", "leo runs"]);
    let effects = driver.of("max").fail("cancelled");
    assert_eq!(effects, ["kim started", "start kim P2"]);
    driver.replays();
}

#[test]
fn cancelling_all_stops_every_agent_and_empties_the_queue() {
    let mut driver = team(2);
    driver.person("[NEXT: max, eva, leo]");
    let effects = driver.step(Event::Cancel(Cancel::All));
    let expected = ["max cancelled", "stop max", "eva cancelled", "stop eva", "leo cancelled"];
    assert_eq!(effects, expected);
    driver.of("max").fail("cancelled");
    assert_eq!(driver.of("eva").fail("cancelled"), ["rest"]);
    driver.replays();
}

#[test]
fn a_message_after_a_cancelled_turn_leaves_the_waiting_turns_paused() {
    let mut driver = team(2);
    driver.person("[NEXT: max, eva, leo]");
    driver.of("max").cancel_running();
    driver.of("max").fail("cancelled");
    driver.person("@kim");
    assert_eq!(active(&driver), ["eva runs", "kim runs"]);
    assert!(driver.machine.waiting().all(|waiting| waiting.is_paused));
    driver.of("eva").answer("Done.");
    let effects = driver.of("kim").answer("Done.");
    assert!(effects.last().unwrap().contains("one earlier turn is still paused"), "{effects:?}");
    driver.replays();
}

#[test]
fn a_failure_does_not_disturb_the_others() {
    let mut driver = team(2);
    driver.person("[NEXT: max, eva]");
    let effects = driver.of("max").fail("network");
    assert_eq!(effects.len(), 2);
    assert!(effects[1].ends_with("(network); the others continue"), "{effects:?}");
    let effects = driver.of("eva").fail("network");
    assert!(effects[1].starts_with("ask ann: eva could not answer (network)"), "{effects:?}");
    driver.replays();
}

#[test]
fn the_turn_limit_counts_turns_that_run_at_once_and_asks_when_they_have_ended() {
    let mut driver = team(3);
    driver.step(Event::TurnsLimited { turns: Some(2) });
    driver.person("[NEXT: max, eva, leo]");
    assert_eq!(active(&driver), ["max runs", "eva runs"]);
    assert_eq!(driver.of("max").answer("Done."), ["max done"]);
    let effects = driver.of("eva").answer("Done.");
    assert!(effects[1].contains("have taken 2 turns since a person"), "{effects:?}");
    driver.step(Event::Continue);
    assert_eq!(active(&driver), ["leo runs"]);
}

#[test]
fn after_a_crash_all_turns_that_ran_are_interrupted_and_a_yes_retries_them() {
    let mut driver = team(2);
    driver.person("[NEXT: max, eva]");
    let turns: Vec<String> = driver.machine.active().map(|one| one.turn.to_string()).collect();
    let replay = Machine::replay(driver.machine.roster().clone(), &driver.log);
    assert_eq!((replay.differences, replay.unfinished), (vec![], vec![]));
    driver.machine = replay.machine;
    assert_eq!(active(&driver), ["max runs", "eva runs"]);
    let question =
        format!("ask ann: turns {} and {} were interrupted. Retry them?", turns[0], turns[1]);
    let expected = ["max interrupted", "eva interrupted", &question];
    assert_eq!(driver.step(Event::Resume), expected);
    driver.person("yes");
    assert_eq!(active(&driver), ["max runs", "eva runs"]);
    driver.replays();
}

#[test]
fn after_a_crash_turns_that_wait_are_held_and_the_question_names_the_interrupted_ones() {
    let mut driver = team(2);
    driver.person("[NEXT: max, eva, leo]");
    let replay = Machine::replay(driver.machine.roster().clone(), &driver.log);
    driver.machine = replay.machine;
    let effects = driver.step(Event::Resume);
    let question = effects.last().unwrap();
    assert!(question.ends_with("were interrupted. Continue with the queued turn?"), "{question}");
    driver.step(Event::Continue);
    assert_eq!(active(&driver), ["leo runs"]);
    driver.replays();
}

#[test]
fn two_members_that_reach_their_limits_after_tools_are_asked_about_one_after_the_other() {
    let mut members = vec![Member::human("ann")];
    members.extend(["max", "eva"].map(|name| Member::ai(name).with_fallback(["leo"])));
    members.push(Member::ai("leo"));
    let members = members.into_iter().map(Member::beside_others);
    let limits = Limits { parallel: 2, ..Limits::default() };
    let mut driver = TestDriver::at(Roster::new(members).unwrap().with_limits(limits));
    driver.person("[NEXT: max, eva]");
    driver.of("max").reach_limit(Some(5_000), Some("Bash"));
    let effects = driver.of("eva").reach_limit(Some(6_000), Some("Edit"));
    assert!(effects.last().unwrap().contains("Bash"), "{effects:?}");
    let effects = driver.step(Event::Continue);
    assert!(effects.last().unwrap().contains("Edit"), "{effects:?}");
    driver.step(Event::Continue);
    assert_eq!(active(&driver), ["leo runs"]);
    driver.replays();
}

#[test]
fn a_turn_is_taken_over_while_others_run() {
    let members = [
        Member::human("ann"),
        Member::ai("max").with_fallback(["eva", "kim"]),
        Member::ai("eva"),
        Member::ai("kim"),
    ];
    let limits = Limits { parallel: 3, ..Limits::default() };
    let members = members.map(Member::beside_others);
    let mut driver = TestDriver::at(Roster::new(members).unwrap().with_limits(limits));
    driver.person("[NEXT: max, eva]");
    driver.of("max").reach_limit(Some(5_000), None);
    // Eva is the first fallback, and has a turn already.
    assert_eq!(active(&driver), ["eva runs"]);
    assert_eq!(driver.waiting(), ["eva P2"]);
    driver.of("eva").answer("Done.");
    assert_eq!(active(&driver), ["eva runs"]);
    driver.replays();
}
