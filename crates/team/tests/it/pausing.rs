//! How a person's message affects paused turns: a plain no cancels them, a plain yes resumes them, and any other
//! message leaves them paused.

use crate::test_driver::TestDriver;
use tertulia_team::{Event, Limits, Machine, Member, PauseReason, Roster, Status};

/// Returns a driver in which max and eva handed over to each other until a person was asked.
fn paused_pair() -> TestDriver {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: max]");
    for turn in 0..13 {
        driver.answer(if turn % 2 == 0 { "@eva" } else { "@max" });
    }
    assert!(matches!(driver.machine.status(), Status::Paused(PauseReason::PairLoop { .. })));
    driver
}

/// Returns a driver with a limit of one turn, in which eva's turn is paused.
fn paused_eva() -> TestDriver {
    let mut driver = TestDriver::with_limits(Limits { turns: 1, ..Limits::default() });
    driver.person("[NEXT: max]");
    driver.answer("[NEXT: eva]");
    assert_eq!(driver.machine.status(), Status::Paused(PauseReason::LoopGuard { turns: 1 }));
    driver
}

const STILL: &str = "ask ann: one earlier turn is still paused. Continue?";

#[test]
fn a_no_to_the_question_cancels_what_waits_and_starts_nothing() {
    for no in ["no", "No!", "n", "stop", "nein", "Stop it."] {
        let mut driver = paused_pair();
        assert_eq!(
            driver.person(no),
            ["note: Stopped: one queued turn was cancelled", "eva cancelled", "rest"],
            "{no}"
        );
        assert_eq!(driver.machine.status(), Status::Resting);
        driver.replays();
    }
    let mut driver = paused_pair();
    driver.person("no");
    let why = driver.machine.why("m15").last().unwrap().to_string();
    assert!(why.ends_with("is cancelled: ann said no in m15"), "{why}");
    // Afterwards the session behaves normally.
    assert_eq!(driver.person("hello"), ["max queued", "max started", "start max P2"]);
    driver.replays();
}

#[test]
fn a_yes_to_the_question_resumes_what_waits() {
    for yes in ["yes", "Y", "ok", "Go on!", "continue"] {
        let mut driver = paused_pair();
        assert_eq!(driver.person(yes), ["go on", "eva started", "start eva P2"], "{yes}");
        driver.replays();
    }
}

#[test]
fn a_yes_allows_as_much_money_again() {
    let members = [Member::human("ann"), Member { budget_usd: Some(1.0), ..Member::ai("max") }];
    let mut driver = TestDriver::at(Roster::new(members).unwrap());
    driver.person("@max");
    driver.pay("max", 1.25);
    driver.answer("done");
    assert_eq!(driver.person("@max")[1], "ask ann: max has spent $1.25 of $1.00. Continue?");
    assert_eq!(driver.person("yes"), ["go on", "max started", "start max P2"]);
    driver.replays();
}

#[test]
fn a_no_means_no_after_a_cancelled_turn_and_after_a_reopened_session() {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: max, eva]");
    driver.cancel_running();
    driver.fail("cancelled");
    let effects = driver.person("no");
    assert_eq!(effects[1..], ["eva cancelled", "rest"]);
    driver.replays();

    let mut driver = TestDriver::new();
    driver.person("[NEXT: max, eva]");
    driver.step(Event::Resume);
    driver.running = None;
    assert_eq!(driver.person("no")[1..], ["eva cancelled", "rest"]);
    driver.replays();
}

#[test]
fn yes_and_no_answer_whether_an_interrupted_turn_is_retried() {
    for (word, expected) in [
        ("no", vec!["note: Stopped: nothing was started", "rest"]),
        ("yes", vec!["max queued", "max started", "start max P2"]),
        ("@eva no", vec!["eva queued", "eva started", "start eva P2"]),
    ] {
        let mut driver = TestDriver::new();
        driver.person("[NEXT: max]");
        let effects = driver.step(Event::Resume);
        assert!(effects[1].ends_with("was interrupted. Retry it?"), "{effects:?}");
        driver.running = None;
        assert_eq!(driver.person(word), expected);
        driver.replays();
    }
}

#[test]
fn without_a_question_yes_and_no_are_messages() {
    let mut driver = TestDriver::new();
    assert_eq!(driver.person("no"), ["max queued", "max started", "start max P2"]);
    assert_eq!(driver.answer("Why not?"), ["max done", "rest"]);
    assert_eq!(driver.person("ok"), ["max queued", "max started", "start max P2"]);
    driver.replays();
}

#[test]
fn only_those_whom_the_new_message_addresses_answer_and_the_rest_stays_paused() {
    let mut driver = paused_pair();
    assert_eq!(driver.person("@leo what is this?"), ["leo queued", "leo started", "start leo P2"]);
    assert_eq!(driver.waiting(), ["eva P2"]);
    assert_eq!(driver.answer("A loop."), ["leo done", STILL]);
    // A message that addresses nobody goes to the default member.
    assert_eq!(
        driver.person("stop, this is nonsense"),
        ["max queued", "max started", "start max P2"]
    );
    assert_eq!(driver.answer("I see."), ["max done", STILL]);
    assert_eq!(driver.step(Event::Continue), ["go on", "eva started", "start eva P2"]);
    driver.replays();
}

#[test]
fn a_yes_or_no_with_a_marker_is_more_than_an_answer() {
    // With a marker, `continue` is not a yes, so eva's turn does not start.
    let mut driver = paused_eva();
    let effects = driver.person("[DROP: eva] continue");
    assert!(effects.contains(&"eva cancelled".to_owned()), "{effects:?}");
    assert!(!effects.iter().any(|effect| effect.contains("eva started")), "{effects:?}");
    let mut driver = paused_eva();
    let effects = driver.person("[NEXT: leo] ok");
    assert_eq!(effects, ["leo queued", "leo started", "start leo P2"]);
    driver.replays();
}

#[test]
fn when_an_agent_fails_while_others_are_paused_the_note_says_that_they_stay_so() {
    let mut driver = paused_eva();
    driver.person("@leo hi");
    let effects = driver.fail("crash");
    assert!(effects.iter().any(|it| it.ends_with("; the other turns stay paused")), "{effects:?}");
    assert_eq!(effects.last().map(String::as_str), Some(STILL));
}

#[test]
fn a_paused_member_that_is_addressed_again_answers_the_new_message() {
    let mut driver = paused_eva();
    assert_eq!(
        driver.person("@eva do something else"),
        ["eva queued", "eva started", "start eva P2"]
    );
    assert_eq!(driver.answer("Done."), ["eva done", STILL]);
    assert_eq!(driver.person("yes"), ["go on", "eva started", "start eva P2"]);
    driver.replays();
}

#[test]
fn hand_overs_that_the_new_message_leads_to_run_and_are_counted() {
    let mut driver = TestDriver::with_limits(Limits { turns: 2, ..Limits::default() });
    driver.person("[NEXT: max]");
    driver.answer("[NEXT: eva]");
    driver.answer("[NEXT: max]");
    driver.person("@leo look");
    assert_eq!(driver.answer("@eva?"), ["leo done", "eva queued", "eva started", "start eva P2"]);
    let effects = driver.answer("@leo!");
    assert_eq!(
        effects[2],
        "ask ann: the agents have taken 2 turns since a person last wrote. Continue?"
    );
    assert_eq!(driver.waiting(), ["max P2", "leo P2"]);
    // Both turns wait until the person decides, and a no cancels both.
    assert_eq!(
        driver.person("[TEAM_TASK: t]")[1],
        "ask ann: 2 earlier turns are still paused. Continue?"
    );
    assert_eq!(driver.person("no")[0], "note: Stopped: 2 queued turns were cancelled");
    driver.replays();
}

#[test]
fn a_message_that_reaches_nobody_resumes_nothing() {
    let mut driver = paused_eva();
    for text in
        ["@nobody hi [NEXT: zed]", "[NEXT: zed]", "[TEAM_TASK: t]", "[DROP: leo]", "@evaa hm"]
    {
        let effects = driver.person(text);
        assert_eq!(effects.last().unwrap(), STILL, "{text}");
        assert!(!effects.iter().any(|effect| effect.starts_with("start")), "{text}: {effects:?}");
    }
    assert_eq!(driver.waiting(), ["eva P2"]);
    assert_eq!(driver.person("[DROP: eva]"), ["eva cancelled", "rest"]);
    driver.replays();
}

#[test]
fn another_limit_of_turns_does_not_resume_them_either() {
    let mut driver = TestDriver::new();
    driver.step(Event::TurnsLimited { turns: Some(1) });
    driver.person("[NEXT: max]");
    driver.answer("[NEXT: eva]");
    driver.step(Event::TurnsLimited { turns: None });
    assert_eq!(driver.person("[NEXT: leo]"), ["leo queued", "leo started", "start leo P2"]);
    assert_eq!(driver.answer("Done."), ["leo done", STILL]);
}

#[test]
fn what_is_said_while_a_cancelled_agent_ends_pauses_the_rest() {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: max, eva]");
    driver.cancel_running();
    assert_eq!(driver.person("@leo instead"), ["leo queued"]);
    assert_eq!(driver.person("and @max"), ["max queued"]);
    assert_eq!(driver.fail("cancelled"), ["max started", "start max P2"]);
    assert_eq!(driver.answer("ok"), ["max done", "leo started", "start leo P2"]);
    assert_eq!(driver.answer("ok"), ["leo done", STILL]);
    driver.replays();
}

#[test]
fn turns_that_could_start_wait_after_a_crash_and_the_log_says_so() {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: max, eva]");
    // Simulate a log that ends in the middle of a step.
    driver.log.truncate(3);
    driver.running = None;
    let replay = Machine::replay(driver.machine.roster().clone(), &driver.log);
    driver.machine = replay.into_recorded();
    let effects = driver.step(Event::Resume);
    assert_eq!(
        effects,
        ["go on", "ask ann: the session was reopened. Continue with the 2 queued turns?"]
    );
    assert_eq!(driver.person("@leo hi"), ["leo queued", "leo started", "start leo P2"]);
    let again = Machine::replay(driver.machine.roster().clone(), &driver.log);
    assert!(again.machine.waiting().eq(driver.machine.waiting()));
    assert_eq!(again.machine.status(), driver.machine.status());
}

#[test]
fn a_log_of_the_time_when_a_message_resumed_all_is_believed() {
    let mut driver = paused_eva();
    driver.person("@leo hi");
    // Record it as earlier versions did: eva's turn started first.
    let turns: Vec<_> = driver.log.iter().map(|entry| entry.id.clone()).collect();
    let started = driver.log.pop().unwrap();
    let queued = |name: &str| {
        let mut log = driver.log.iter().rev();
        log.find(|entry| matches!(&entry.kind, tertulia_session::EntryKind::Turn(turn) if &*turn.member == name)).unwrap().id.clone()
    };
    let (eva, leo) = (queued("eva"), queued("leo"));
    let mut old = started.clone();
    if let tertulia_session::EntryKind::Turn(turn) = &mut old.kind {
        assert_eq!(turn.turn_id, Some(leo));
        turn.turn_id = Some(eva.clone());
        turn.member = "eva".into();
    }
    driver.log.push(old);
    assert_eq!(turns.len(), driver.log.len());
    let again = Machine::replay(driver.machine.roster().clone(), &driver.log);
    assert_eq!(again.differences.len(), 1, "{:?}", again.differences);
    assert_eq!(again.machine.status(), Status::Running { turn: eva });
    assert!(again.machine.waiting().all(|waiting| !waiting.is_paused));
}
