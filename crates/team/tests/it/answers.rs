//! How turns end: failures, cancelling, cut-off answers, a crash, and repeating.

use crate::desk::Desk;
use tertulia_session::SpeakerType;
use tertulia_team::{Cancel, Effect, Event, Machine, Status};

#[test]
fn a_failure_never_stops_the_queue() {
    let mut desk = Desk::new();
    desk.person("[NEXT: max, eva]");
    let effects = desk.fail("quota");
    assert!(effects[1].ends_with("(quota); the others continue"), "{effects:?}");
    assert_eq!(
        [&effects[0], &effects[2], &effects[3]],
        ["max failed", "eva started", "start eva P2"]
    );
    let effects = desk.fail("crash");
    assert!(
        effects[1].starts_with("ask ann: eva could not answer (crash); retry turn"),
        "{effects:?}"
    );
    assert_eq!(desk.person("@leo"), ["leo queued", "leo started", "start leo P2"]);
    desk.replays();
}

#[test]
fn cancelling_stops_the_turn_and_nothing_else_starts_until_a_word() {
    let mut desk = Desk::new();
    desk.person("[NEXT: max, eva]");
    assert_eq!(desk.cancel_running(), ["max cancelled", "stop max"]);
    assert!(matches!(desk.machine.status(), Status::Stopping { .. }));
    let effects = desk.cut_off("half an answer [NEXT: leo]");
    assert!(effects[0].contains("came after turn") && effects[0].ends_with("is asked"));
    assert!(effects[1].ends_with("was cancelled. Continue with the queued turn?"), "{effects:?}");
    assert_eq!(desk.waiting(), ["eva P2"]);
    assert_eq!(desk.step(Event::Continue), ["go on", "eva started", "start eva P2"]);
    desk.replays();
}

#[test]
fn nothing_starts_while_a_cancelled_agent_has_not_ended() {
    let mut desk = Desk::new();
    desk.person("[NEXT: max, eva]");
    desk.cancel_running();
    assert_eq!(desk.step(Event::Continue), ["go on"]);
    assert_eq!(desk.person("@leo"), ["leo queued"]);
    // What was said last goes first.
    assert_eq!(desk.fail("crash"), ["leo started", "start leo P2"]);
    desk.replays();
}

#[test]
fn cancelling_all_empties_the_queue() {
    let mut desk = Desk::new();
    desk.person("[NEXT: max, eva, leo]");
    let effects = desk.step(Event::Cancel(Cancel::All));
    assert_eq!(effects, ["max cancelled", "stop max", "eva cancelled", "leo cancelled"]);
    assert_eq!(desk.fail("crash"), ["rest"]);
    desk.replays();
}

#[test]
fn a_waiting_turn_can_be_cancelled_alone_and_an_unknown_one_is_told() {
    let mut desk = Desk::new();
    desk.person("[NEXT: max, eva, leo]");
    let eva = desk.machine.waiting().next().unwrap().turn.clone();
    assert_eq!(desk.step(Event::Cancel(Cancel::Turn(eva.clone()))), ["eva cancelled"]);
    let effects = desk.step(Event::Cancel(Cancel::Turn(eva)));
    assert!(effects[0].ends_with("neither runs nor waits"), "{effects:?}");
    desk.replays();
}

#[test]
fn an_answer_that_was_cut_off_routes_nothing() {
    let mut desk = Desk::new();
    desk.person("hello");
    let effects = desk.cut_off("half [NEXT: eva]");
    assert_eq!(effects[0], "max interrupted");
    assert_eq!(effects[2], "rest");
    desk.replays();
}

#[test]
fn an_answer_to_no_running_turn_routes_nothing() {
    let mut desk = Desk::new();
    desk.person("hello");
    let (turn, entry) = ("nonsense".into(), desk.store("eva", SpeakerType::Ai, "[NEXT: leo]"));
    let text = "[NEXT: leo]".to_owned();
    let effects = desk.step(Event::AgentSaid { turn, entry, text, interrupted: false });
    assert_eq!(effects, ["note: m2 came after turn nonsense; nobody it addressed is asked"]);
    let turn = desk.running.clone().unwrap().0;
    desk.answer("done");
    let text = "[NEXT: leo]".to_owned();
    let again = Event::AgentSaid { turn, entry: "m2".into(), text, interrupted: false };
    assert!(desk.step(again)[0].starts_with("note: m2 came after turn"));
    desk.replays();
}

#[test]
fn after_a_crash_what_ran_is_interrupted_once_and_repeated_only_when_told() {
    let mut desk = Desk::new();
    desk.person("[NEXT: max, eva]");
    let max = desk.running.clone().unwrap().0;
    desk.machine = Machine::replay(desk.machine.table().clone(), &desk.log).machine;
    let effects = desk.step(Event::Resume);
    assert_eq!(effects[0], "max interrupted");
    assert!(effects[1].ends_with("was interrupted. Continue with the queued turn?"), "{effects:?}");
    assert_eq!(effects.len(), 2);
    desk.machine = Machine::replay(desk.machine.table().clone(), &desk.log).machine;
    let effects = desk.step(Event::Resume);
    assert!(effects.len() == 1 && effects[0].starts_with("ask ann"), "{effects:?}");
    let effects = desk.step(Event::Repeat { turn: max.clone() });
    assert_eq!(effects, ["max queued", "eva started", "start eva P2"]);
    assert_eq!(desk.answer("done"), ["eva done", "max started", "start max P2"]);
    let Some(Effect::StartTurn { parent, .. }) = desk.effects.last() else { panic!() };
    assert_eq!(parent.as_str(), "m1");
    let effects = desk.step(Event::Repeat { turn: max });
    assert!(effects[0].ends_with("cannot be repeated: it was repeated already"), "{effects:?}");
    desk.replays();
}

#[test]
fn what_was_answered_or_still_waits_is_not_repeated() {
    let mut desk = Desk::new();
    desk.person("[NEXT: max, eva]");
    let (max, eva) =
        (desk.running.clone().unwrap().0, desk.machine.waiting().next().unwrap().turn.clone());
    desk.answer("done");
    for (turn, reason) in
        [(max, "it was answered"), (eva, "it has not ended"), ("x".into(), "nobody knows it")]
    {
        let effects = desk.step(Event::Repeat { turn });
        assert!(effects[0].ends_with(reason), "{effects:?}");
    }
}

#[test]
fn after_a_crash_a_person_who_was_waited_for_is_asked_again() {
    let mut desk = Desk::new();
    desk.person("[NEXT: ann, eva]");
    desk.machine = Machine::replay(desk.machine.table().clone(), &desk.log).machine;
    assert_eq!(desk.step(Event::Resume), ["ask ann: ann asked a question in m1"]);
    assert_eq!(desk.person("@leo")[0], "ann done");
    desk.replays();
}

#[test]
fn a_start_that_is_told_decides_nothing() {
    let mut desk = Desk::new();
    desk.person("hello");
    let turn = desk.running.clone().unwrap().0;
    assert!(desk.step(Event::TurnStarted { turn }).is_empty());
    let effects = desk.step(Event::TurnStarted { turn: "x".into() });
    assert_eq!(effects, ["note: turn x is not running"]);
}
