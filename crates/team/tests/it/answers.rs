//! How turns end: failures, cancelling, incomplete answers, a crash, and retrying.

use crate::test_driver::TestDriver;
use tertulia_session::SpeakerType;
use tertulia_team::{Cancel, Effect, Event, Machine, Status};

#[test]
fn a_failure_never_stops_the_queue() {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: max, eva]");
    let effects = driver.fail("quota");
    assert!(effects[1].ends_with("(quota); the others continue"), "{effects:?}");
    assert_eq!(
        [&effects[0], &effects[2], &effects[3]],
        ["max failed", "eva started", "start eva P2"]
    );
    let effects = driver.fail("crash");
    assert!(
        effects[1].starts_with("ask ann: eva could not answer (crash); retry turn"),
        "{effects:?}"
    );
    assert_eq!(driver.person("@leo"), ["leo queued", "leo started", "start leo P2"]);
    driver.replays();
}

#[test]
fn cancelling_stops_the_turn_and_nothing_else_starts_until_a_word() {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: max, eva]");
    assert_eq!(driver.cancel_running(), ["max cancelled", "stop max"]);
    assert!(matches!(driver.machine.status(), Status::Stopping { .. }));
    let effects = driver.cut_off("half an answer [NEXT: leo]");
    assert!(effects[0].contains("came after turn") && effects[0].ends_with("is asked"));
    assert!(effects[1].ends_with("was cancelled. Continue with the queued turn?"), "{effects:?}");
    assert_eq!(driver.waiting(), ["eva P2"]);
    assert_eq!(driver.step(Event::Continue), ["go on", "eva started", "start eva P2"]);
    driver.replays();
}

#[test]
fn nothing_starts_while_a_cancelled_agent_has_not_ended() {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: max, eva]");
    driver.cancel_running();
    assert_eq!(driver.step(Event::Continue), ["go on"]);
    assert_eq!(driver.person("@leo"), ["leo queued"]);
    // The turn for the newest message starts first.
    assert_eq!(driver.fail("crash"), ["leo started", "start leo P2"]);
    driver.replays();
}

#[test]
fn cancelling_all_empties_the_queue() {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: max, eva, leo]");
    let effects = driver.step(Event::Cancel(Cancel::All));
    assert_eq!(effects, ["max cancelled", "stop max", "eva cancelled", "leo cancelled"]);
    assert_eq!(driver.fail("crash"), ["rest"]);
    driver.replays();
}

#[test]
fn a_waiting_turn_can_be_cancelled_alone_and_an_unknown_one_is_reported() {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: max, eva, leo]");
    let eva = driver.machine.waiting().next().unwrap().turn.clone();
    assert_eq!(driver.step(Event::Cancel(Cancel::Turn(eva.clone()))), ["eva cancelled"]);
    let effects = driver.step(Event::Cancel(Cancel::Turn(eva)));
    assert!(effects[0].ends_with("is neither running nor queued"), "{effects:?}");
    driver.replays();
}

#[test]
fn an_answer_that_was_cut_off_routes_nothing() {
    let mut driver = TestDriver::new();
    driver.person("hello");
    let effects = driver.cut_off("half [NEXT: eva]");
    assert_eq!(effects[0], "max interrupted");
    assert_eq!(effects[2], "rest");
    driver.replays();
}

#[test]
fn an_answer_to_no_running_turn_routes_nothing() {
    let mut driver = TestDriver::new();
    driver.person("hello");
    let (turn, entry) = ("nonsense".into(), driver.store("eva", SpeakerType::Ai, "[NEXT: leo]"));
    let text = "[NEXT: leo]".to_owned();
    let effects = driver.step(Event::AgentSaid { turn, entry, text, interrupted: false });
    assert_eq!(effects, ["note: m2 came after turn nonsense; nobody it addressed is asked"]);
    let turn = driver.running.clone().unwrap().0;
    driver.answer("done");
    let text = "[NEXT: leo]".to_owned();
    let again = Event::AgentSaid { turn, entry: "m2".into(), text, interrupted: false };
    assert!(driver.step(again)[0].starts_with("note: m2 came after turn"));
    driver.replays();
}

#[test]
fn after_a_crash_what_ran_is_interrupted_once_and_repeated_only_when_told() {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: max, eva]");
    let max = driver.running.clone().unwrap().0;
    driver.machine = Machine::replay(driver.machine.roster().clone(), &driver.log).machine;
    let effects = driver.step(Event::Resume);
    assert_eq!(effects[0], "max interrupted");
    assert!(effects[1].ends_with("was interrupted. Continue with the queued turn?"), "{effects:?}");
    assert_eq!(effects.len(), 2);
    driver.machine = Machine::replay(driver.machine.roster().clone(), &driver.log).machine;
    let effects = driver.step(Event::Resume);
    assert!(effects.len() == 1 && effects[0].starts_with("ask ann"), "{effects:?}");
    let effects = driver.step(Event::Repeat { turn: max.clone() });
    assert_eq!(effects, ["max queued", "eva started", "start eva P2"]);
    assert_eq!(driver.answer("done"), ["eva done", "max started", "start max P2"]);
    let Some(Effect::StartTurn { parent, .. }) = driver.effects.last() else { panic!() };
    assert_eq!(parent.as_str(), "m1");
    let effects = driver.step(Event::Repeat { turn: max });
    assert!(effects[0].ends_with("cannot be retried: it was already retried"), "{effects:?}");
    driver.replays();
}

#[test]
fn what_was_answered_or_still_waits_is_not_repeated() {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: max, eva]");
    let (max, eva) =
        (driver.running.clone().unwrap().0, driver.machine.waiting().next().unwrap().turn.clone());
    driver.answer("done");
    for (turn, reason) in
        [(max, "it was answered"), (eva, "it has not ended"), ("x".into(), "it does not exist")]
    {
        let effects = driver.step(Event::Repeat { turn });
        assert!(effects[0].ends_with(reason), "{effects:?}");
    }
}

#[test]
fn after_a_crash_a_person_who_was_waited_for_is_asked_again() {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: ann, eva]");
    driver.machine = Machine::replay(driver.machine.roster().clone(), &driver.log).machine;
    assert_eq!(driver.step(Event::Resume), ["ask ann: ann asked a question in m1"]);
    assert_eq!(driver.person("@leo")[0], "ann done");
    driver.replays();
}

#[test]
fn a_reported_start_decides_nothing() {
    let mut driver = TestDriver::new();
    driver.person("hello");
    let turn = driver.running.clone().unwrap().0;
    assert!(driver.step(Event::TurnStarted { turn }).is_empty());
    let effects = driver.step(Event::TurnStarted { turn: "x".into() });
    assert_eq!(effects, ["note: turn x is not running"]);
}
