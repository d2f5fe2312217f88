//! Which members a message queues, in which order, and what is refused.

use crate::test_driver::TestDriver;
use tertulia_team::{Limits, Member, PersonMessage, Roster};

#[test]
fn a_message_that_addresses_nobody_goes_to_the_first_agent() {
    let mut driver = TestDriver::new();
    assert_eq!(driver.person("hello"), ["max queued", "max started", "start max P2"]);
    driver.replays();
}

#[test]
fn a_message_that_addresses_nobody_goes_to_the_default_member_if_there_is_one() {
    let members =
        [Member::human("ann"), Member::ai("max"), Member { is_default: true, ..Member::ai("eva") }];
    let mut driver = TestDriver::at(Roster::new(members).unwrap());
    assert_eq!(driver.person("hello"), ["eva queued", "eva started", "start eva P2"]);
    let why: Vec<String> = driver.machine.why("m1").iter().map(ToString::to_string).collect();
    assert!(why[0].ends_with("is queued: m1 addresses nobody, and eva is the default"), "{why:?}");
}

#[test]
fn without_an_agent_in_the_team_the_person_is_told() {
    let mut driver = TestDriver::at(Roster::new([Member::human("ann")]).unwrap());
    assert_eq!(driver.person("hello"), ["ask ann: m1 addresses nobody, and the team has no agent"]);
}

#[test]
fn addressees_are_queued_in_order_and_run_one_at_a_time() {
    let mut driver = TestDriver::new();
    let effects = driver.person("[NEXT: eva, leo!P3] and [NEXT: max]");
    assert_eq!(effects, ["eva queued", "leo queued", "max queued", "eva started", "start eva P2"]);
    assert_eq!(driver.answer("done"), ["eva done", "max started", "start max P2"]);
    assert_eq!(driver.answer("done"), ["max done", "leo started", "start leo P3"]);
    assert_eq!(driver.answer("done"), ["leo done", "rest"]);
    driver.replays();
}

#[test]
fn an_answer_that_addresses_nobody_reaches_nobody() {
    let mut driver = TestDriver::new();
    driver.person("hello");
    assert_eq!(driver.answer("Hello."), ["max done", "rest"]);
}

#[test]
fn a_turn_names_the_message_that_it_answers() {
    let mut driver = TestDriver::new();
    driver.person("hello");
    driver.answer("@eva, have a look");
    let starts = driver.effects.iter().find_map(|effect| match effect {
        tertulia_team::Effect::StartTurn { parent, .. } => Some(parent),
        _ => None,
    });
    assert_eq!(starts.unwrap().as_str(), "m2");
}

#[test]
fn an_urgent_turn_goes_first_and_does_not_kill_the_one_that_runs() {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: max, eva]");
    assert_eq!(driver.person("[NEXT: leo!P1]"), ["leo queued"]);
    assert_eq!(driver.answer("done"), ["max done", "leo started", "start leo P1"]);
    driver.replays();
}

#[test]
fn urgent_turns_go_in_order_of_arrival() {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: max]");
    driver.person("[NEXT: eva!P1, leo!P1, max!P1]");
    for _ in 0..4 {
        driver.answer("done");
    }
    assert_eq!(driver.started(), ["max", "eva", "leo", "max"]);
}

#[test]
fn an_urgent_turn_for_the_member_at_the_tail_is_queued() {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: max, eva]");
    assert_eq!(driver.person("[NEXT: eva!P1]"), ["eva queued"]);
    assert_eq!(driver.waiting(), ["eva P2", "eva P1"]);
}

#[test]
fn the_same_again_is_refused_with_the_turn_that_there_is() {
    let mut driver = TestDriver::new();
    let effects = driver.person("[NEXT: max, eva, max, eva!P3]");
    assert!(effects[2].starts_with("note: m1 asks for max twice; turn e-"), "{effects:?}");
    assert!(effects[3].starts_with("note: eva is already queued (turn e-"), "{effects:?}");
}

#[test]
fn a_message_that_is_given_twice_is_routed_once() {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: max]");
    driver.answer("done");
    let message = Box::new(PersonMessage::new("[NEXT: max]", driver.machine.roster()));
    let event = tertulia_team::Event::PersonSaid { entry: "m1".into(), member: None, message };
    let effects = driver.step(event);
    assert!(effects[0].starts_with("note: m1 asks for max twice"), "{effects:?}");
    assert_eq!(effects[1..], ["rest"]);
}

#[test]
fn a_full_queue_and_a_crowded_branch_are_reported() {
    let mut driver = TestDriver::with_limits(Limits { queue: 3, branch: 2, ..Limits::default() });
    let effects = driver.person("[NEXT: max, eva, leo, ann]");
    assert!(
        effects[3].contains("leo's turn") && effects[3].ends_with("has priority P3 instead of P2"),
        "{effects:?}"
    );
    assert_eq!(
        effects[4],
        "note: 3 turns are queued, which is the limit, so ann was not queued for m1"
    );
    driver.replays();
}

#[test]
fn names_beyond_the_limit_are_counted_and_left() {
    let mut driver = TestDriver::with_limits(Limits { names: 2, ..Limits::default() });
    let effects = driver.person("[NEXT: max, eva, leo, ann]");
    assert_eq!(effects[2], "note: m1 addresses too many names; 2 were ignored");
}

#[test]
fn drop_takes_waiting_turns_away_before_next_is_read_and_leaves_the_running_one() {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: max, eva, leo]");
    assert_eq!(driver.person("[DROP: eva] @max"), ["eva cancelled", "max queued"]);
    assert_eq!(
        driver.answer("[DROP: ALL] [NEXT: leo]"),
        ["max done", "leo cancelled", "max cancelled", "leo queued", "leo started", "start leo P2"]
    );
    driver.replays();
}

#[test]
fn a_message_of_drop_alone_is_a_command_and_asks_nobody() {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: max, eva]");
    assert_eq!(driver.person("[DROP: ALL]"), ["eva cancelled"]);
    let effects = driver.person("[DROP: evva]");
    assert_eq!(
        effects,
        ["note: m3 addresses 'evva', but nobody is called that; did you mean eva?"]
    );
}

#[test]
fn an_unknown_name_is_noted_with_the_nearest_and_the_others_are_queued() {
    let mut driver = TestDriver::new();
    let effects = driver.person("[NEXT: maxx, eva]");
    assert_eq!(
        effects,
        [
            "note: m1 addresses 'maxx', but nobody is called that; did you mean max?",
            "eva queued",
            "eva started",
            "start eva P2"
        ]
    );
}

#[test]
fn when_no_name_is_known_the_sender_is_asked_and_the_queue_goes_on() {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: max, eva]");
    let effects = driver.answer("[NEXT: levo]");
    assert_eq!(
        effects,
        [
            "max done",
            "note: m2 addresses 'levo', but nobody is called that; did you mean leo?",
            "ask ann: m2 was sent to nobody: nobody is called 'levo' (did you mean leo?)",
            "eva started",
            "start eva P2"
        ]
    );
    driver.replays();
}

#[test]
fn a_display_name_that_two_share_is_refused_with_both() {
    let members = [
        Member::human("ann"),
        Member { display_name: Some("Claude".into()), ..Member::ai("a") },
        Member { display_name: Some("Claude".into()), ..Member::ai("b") },
    ];
    let mut driver = TestDriver::at(Roster::new(members).unwrap());
    let effects = driver.person("[NEXT: Claude]");
    assert_eq!(effects[0], "note: m1 addresses 'Claude', which can mean a or b");
    assert!(effects[1].starts_with("ask ann: m1 was sent to nobody"), "{effects:?}");
}

#[test]
fn answers_to_the_last_message_go_first_but_not_for_ever() {
    let mut driver = TestDriver::with_limits(Limits { pair: 100, ..Limits::default() });
    driver.person("[NEXT: max, leo!P3]");
    for _ in 0..8 {
        let other =
            if driver.running.as_ref().unwrap().1.as_ref() == "max" { "eva" } else { "max" };
        driver.answer(&format!("[NEXT: {other}]"));
    }
    // Max has the oldest turn. Five other turns overtake leo.
    assert_eq!(driver.started(), ["max", "eva", "max", "eva", "max", "eva", "leo", "max", "eva"]);
    driver.replays();
}

#[test]
fn a_message_that_begins_with_a_mistyped_name_is_asked_about() {
    let mut driver = TestDriver::new();
    assert_eq!(
        driver.person("@evaa have a look"),
        [
            "note: m1 addresses 'evaa', but nobody is called that; did you mean eva?",
            "ask ann: m1 was sent to nobody: nobody is called 'evaa' (did you mean eva?)",
        ]
    );
    // Inside a message the name may be anything, so the message goes to its usual addressee.
    let effects = driver.person("Ask @evaa about this.");
    assert_eq!(
        effects,
        [
            "note: m2 addresses 'evaa', but nobody is called that; did you mean eva?",
            "max queued",
            "max started",
            "start max P2",
        ]
    );
    driver.replays();
}

#[test]
fn a_message_addresses_nobody_whoever_waits_already() {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: eva, max]");
    let nobody = |text| PersonMessage::new(text, driver.machine.roster()).addresses_nobody();
    assert!(nobody("third thing"));
    assert!(nobody("ask @somebody else"));
    for text in ["@max third", "third [NEXT: eva]", "@evaa third"] {
        assert!(!nobody(text), "{text}");
    }
}
