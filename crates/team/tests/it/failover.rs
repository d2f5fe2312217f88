//! Which member takes over when another one has reached its usage limit, and when nobody does.

use crate::test_driver::TestDriver;
use tertulia_session::Timestamp;
use tertulia_team::{Effect, Event, FallbackProblem, Member, Roster, RosterError, Status};

/// Ann, Max, Eva and Leo; Max falls back to Eva, then Leo.
fn team() -> TestDriver {
    driver(&[("max", &["eva", "leo"]), ("eva", &[]), ("leo", &[])])
}

fn driver(agents: &[(&str, &[&str])]) -> TestDriver {
    let agents = agents
        .iter()
        .map(|(name, fallback)| Member::ai(*name).with_fallback(fallback.iter().copied()));
    TestDriver::at(Roster::new([Member::human("ann")].into_iter().chain(agents)).unwrap())
}

const THREE_O_CLOCK: i64 = 1_790_002_800_000;
const FOUR_O_CLOCK: i64 = THREE_O_CLOCK + 3_600_000;

#[test]
fn the_fallback_answers_the_same_message_at_once() {
    let mut driver = team();
    driver.person("[NEXT: max!P3] please");
    assert_eq!(
        driver.reach_limit(Some(THREE_O_CLOCK), None),
        [
            "max failed",
            "eva queued",
            "note: max has reached its usage limit until 2026-09-21 15:00 UTC; eva takes over turn \
             ID"
            .replace("ID", driver.log[1].id.as_str())
            .as_str(),
            "eva started",
            "start eva P3",
        ]
    );
    assert_eq!(driver.answer("Done."), ["eva done", "rest"]);
    driver.replays();
}

#[test]
fn every_change_of_the_member_has_a_reason() {
    let mut driver = team();
    driver.person("[NEXT: max]");
    let turn = driver.log[1].id.clone();
    driver.reach_limit(Some(THREE_O_CLOCK), None);
    let reasons: Vec<String> =
        driver.machine.why(turn.as_str()).iter().map(|decision| decision.to_string()).collect();
    let reasons = reasons.join("\n");
    assert!(
        reasons.contains("max has reached its usage limit until 2026-09-21 15:00 UTC"),
        "{reasons}"
    );
    let expected = format!("eva takes over, because turn {turn} reached a usage limit");
    assert!(reasons.contains(&expected), "{reasons}");
}

#[test]
fn without_a_fallback_a_person_is_asked_as_after_any_failure() {
    let mut driver = driver(&[("max", &[]), ("eva", &["max"])]);
    driver.person("[NEXT: max]");
    let turn = driver.log[1].id.clone();
    let asked =
        format!("ask ann: max could not answer (quota); retry turn {turn}, or say how to continue");
    assert_eq!(driver.reach_limit(Some(THREE_O_CLOCK), None), ["max failed", &asked]);
    driver.replays();
}

#[test]
fn an_error_that_is_no_usage_limit_never_moves_a_turn() {
    for class in ["quota", "limit", "network", "crash", "auth"] {
        let mut driver = team();
        driver.person("[NEXT: max]");
        driver.fail(class);
        assert_eq!(driver.started(), ["max"], "{class}");
    }
}

#[test]
fn a_waiting_turn_of_the_member_moves_when_its_time_comes() {
    let mut driver = team();
    driver.person("[NEXT: max]");
    driver.reach_limit(Some(THREE_O_CLOCK), None);
    driver.answer("@max, please check.");
    assert_eq!(driver.started(), ["max", "eva", "eva"]);
    driver.replays();
}

#[test]
fn a_turn_never_returns_to_a_member_that_tried_it() {
    let mut driver = driver(&[("max", &["eva"]), ("eva", &["max"])]);
    driver.person("[NEXT: max]");
    driver.reach_limit(Some(THREE_O_CLOCK), None);
    let effects = driver.reach_limit(Some(FOUR_O_CLOCK), None);
    assert_eq!(
        effects,
        [
            "eva failed",
            "max queued",
            "ask ann: max has reached its usage limit, and nobody else can take over before \
             2026-09-21 15:00 UTC",
        ]
    );
    assert_eq!(driver.started(), ["max", "eva"]);
    driver.replays();
}

#[test]
fn when_all_limits_last_the_turn_waits_for_the_earliest_end() {
    let mut driver = team();
    driver.person("[NEXT: max]");
    driver.reach_limit(Some(FOUR_O_CLOCK), None);
    driver.reach_limit(Some(THREE_O_CLOCK), None);
    driver.reach_limit(None, None);
    assert_eq!(driver.machine.next_reset(), Some(Timestamp::from_millis(THREE_O_CLOCK)));
    let ended = |at| driver.machine.ended_limits(&Timestamp::from_millis(at));
    assert!(ended(THREE_O_CLOCK - 1).is_empty());
    assert_eq!(ended(THREE_O_CLOCK), ["eva".into()]);
    assert_eq!(ended(FOUR_O_CLOCK), ["max".into(), "eva".into()]);
    let effects = driver.limit_ends("eva");
    assert_eq!(effects[..3], ["limit of eva ended", "max cancelled", "eva queued"]);
    assert_eq!(effects[4..], ["eva started", "start eva P2"]);
    driver.replays();
}

#[test]
fn after_its_limit_the_first_member_is_asked_again() {
    let mut driver = team();
    driver.person("[NEXT: max]");
    driver.reach_limit(Some(THREE_O_CLOCK), None);
    driver.answer("Done.");
    assert_eq!(driver.limit_ends("max"), ["limit of max ended", "rest"]);
    assert!(driver.limit_ends("max").is_empty(), "it had ended already");
    driver.person("[NEXT: max] and now?");
    assert_eq!(driver.started(), ["max", "eva", "max"]);
    driver.replays();
}

#[test]
fn an_answer_shows_that_the_limit_has_ended() {
    let mut driver = driver(&[("max", &["eva"]), ("eva", &["max"])]);
    driver.person("[NEXT: max]");
    let turn = driver.log[1].id.clone();
    driver.reach_limit(Some(THREE_O_CLOCK), None);
    driver.answer("Done.");
    let refused = driver.step(Event::Repeat { turn });
    assert!(refused[0].ends_with("cannot be retried: another member took it over"), "{refused:?}");
    driver.person("[NEXT: eva]");
    driver.reach_limit(None, None);
    driver.step(Event::Continue);
    driver.answer("I can work again.");
    driver.person("[NEXT: max]");
    assert_eq!(driver.started(), ["max", "eva", "eva", "eva", "max"]);
    driver.replays();
}

#[test]
fn a_person_sees_the_tools_of_the_failed_turn_before_another_member_takes_over() {
    let mut driver = team();
    driver.person("[NEXT: max]");
    let turn = driver.log[1].id.clone();
    let effects = driver.reach_limit(Some(THREE_O_CLOCK), Some("Bash `cargo test`"));
    let asked = format!(
        "ask ann: max reached its usage limit in turn {turn}, after it had called Bash `cargo \
         test`. Let eva take over?"
    );
    assert_eq!(effects.last(), Some(&asked));
    assert_eq!(driver.started(), ["max"]);
    let mut refused = driver.machine.clone();
    driver.person("yes");
    assert_eq!(driver.started(), ["max", "eva"]);
    driver.replays();
    std::mem::swap(&mut driver.machine, &mut refused);
    driver.log.truncate(4);
    driver.person("no");
    assert_eq!(driver.started(), ["max"]);
    assert_eq!(driver.waiting(), [""; 0]);
}

#[test]
fn a_limit_without_a_known_end_lasts_until_a_person_writes_again() {
    let mut driver = team();
    driver.person("[NEXT: max]");
    driver.reach_limit(None, None);
    driver.answer("Done. @max, look.");
    driver.answer("Looked.");
    driver.person("[NEXT: max]");
    assert_eq!(driver.started(), ["max", "eva", "eva", "max"]);
    driver.replays();
}

#[test]
fn a_person_can_try_again_before_the_end_of_the_limit() {
    let mut driver = driver(&[("max", &["eva"]), ("eva", &[])]);
    driver.person("[NEXT: max]");
    driver.reach_limit(Some(THREE_O_CLOCK), None);
    driver.reach_limit(Some(FOUR_O_CLOCK), None);
    assert_eq!(driver.step(Event::Continue), ["go on", "max started", "start max P2"]);
    driver.replays();
}

#[test]
fn a_message_in_between_leaves_the_turn_waiting_for_the_end_of_the_limit() {
    let mut driver = driver(&[("max", &["eva"]), ("eva", &[]), ("leo", &[])]);
    driver.person("[NEXT: max]");
    driver.reach_limit(Some(THREE_O_CLOCK), None);
    driver.reach_limit(Some(FOUR_O_CLOCK), None);
    driver.person("[NEXT: leo] what do you think?");
    driver.answer("Nothing.");
    let effects = driver.limit_ends("max");
    assert_eq!(effects, ["limit of max ended", "max started", "start max P2"]);
    driver.replays();
}

#[test]
fn a_session_that_waits_for_a_limit_asks_when_it_is_opened_again() {
    let mut driver = driver(&[("max", &["eva"]), ("eva", &[])]);
    driver.person("[NEXT: max]");
    driver.reach_limit(Some(THREE_O_CLOCK), None);
    driver.reach_limit(Some(FOUR_O_CLOCK), None);
    let effects = driver.step(Event::Resume);
    let question = "ask ann: the session was reopened. Continue with the queued turn?";
    assert_eq!(effects, ["go on", question]);
    let mut impatient = driver.machine.clone();
    assert_eq!(driver.limit_ends("max"), ["limit of max ended", question]);
    assert_eq!(driver.step(Event::Continue), ["go on", "max started", "start max P2"]);
    driver.replays();
    let started = |effect: &Effect| matches!(effect, Effect::StartTurn { .. });
    assert!(impatient.step(Event::Continue).iter().any(started), "it tries again at once");
}

#[test]
fn only_another_agent_of_the_team_can_take_over() {
    for (names, problem) in [
        (vec!["zed"], FallbackProblem::Unknown),
        (vec!["ann"], FallbackProblem::Human),
        (vec!["max"], FallbackProblem::Itself),
        (vec!["eva", "eva"], FallbackProblem::Twice),
    ] {
        let last = Box::from(*names.last().unwrap());
        let max = Member::ai("max").with_fallback(names);
        let error = Roster::new([Member::human("ann"), max, Member::ai("eva")]).unwrap_err();
        assert_eq!(error, RosterError::Fallback("max".into(), last, problem));
    }
}

#[test]
fn a_team_without_fallbacks_has_no_limits_to_end() {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: max]");
    driver.reach_limit(Some(THREE_O_CLOCK), Some("Bash"));
    assert!(driver.machine.ended_limits(&Timestamp::from_millis(i64::MAX)).is_empty());
    assert!(driver.limit_ends("max").is_empty());
    assert_eq!(driver.machine.status(), Status::Resting);
}
