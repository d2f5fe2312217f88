//! Questions to several members in the machine: the rounds, who is asked, what ends a round, and what an ask does not do.

use tertulia_session::{Ask, Cause, EntryId, Fields, Turn};
use tertulia_team::{
    AskComparison, AskFinding, AskFollower, AskResult, Cancel, Event, Limits, Machine, Member,
    Roster, Status,
};

use crate::test_driver::TestDriver;

/// Returns Ann, four agents that write nothing, and Zoe, who writes. One turn runs at a time, except in asks.
fn team() -> TestDriver {
    with_limits(Limits::default())
}

fn with_limits(limits: Limits) -> TestDriver {
    let readers = ["max", "eva", "leo", "kim"].map(|name| Member::ai(name).beside_others());
    let members = [Member::human("ann")].into_iter().chain(readers).chain([Member::ai("zoe")]);
    TestDriver::at(Roster::new(members).unwrap().with_limits(limits))
}

fn ask(members: &[&str]) -> Ask {
    Ask {
        members: members.iter().map(|name| (*name).into()).collect(),
        judge: None,
        reactions: false,
        quorum: None,
        grace_seconds: None,
        seed: 3,
        unknown: Fields::NONE,
    }
}

fn judged(members: &[&str], judge: &str) -> Ask {
    Ask { judge: Some(judge.into()), ..ask(members) }
}

fn active(driver: &TestDriver) -> Vec<&str> {
    driver.machine.active().map(|one| one.member).collect()
}

/// Returns the result of the newest ask, as every display computes it.
fn result(driver: &TestDriver) -> AskResult {
    let mut follower = AskFollower::default();
    driver.log.iter().for_each(|entry| drop(follower.on_entry(entry)));
    let question = follower.last().unwrap().clone();
    follower.result(&question).unwrap()
}

fn answered(driver: &TestDriver) -> Vec<String> {
    result(driver).answers.iter().map(|one| one.member.to_string()).collect()
}

fn missing(driver: &TestDriver) -> Vec<String> {
    let missing = result(driver).missing;
    missing.iter().map(|one| format!("{}: {}", one.member, one.why)).collect()
}

#[test]
fn all_members_answer_at_once_and_then_the_judge_compares() {
    let mut driver = team();
    let effects = driver.ask("Which?", &judged(&["max", "eva", "leo"], "kim"));
    assert_eq!(effects[..3], ["max queued", "eva queued", "leo queued"]);
    assert_eq!(active(&driver), ["max", "eva", "leo"], "although one turn runs at a time");
    driver.of("eva").answer("Tea.");
    driver.of("max").answer("Coffee.");
    let effects = driver.of("leo").answer("Tea!");
    assert_eq!(effects, ["leo done", "kim queued", "kim started", "start kim P2"]);
    assert_eq!(driver.answer("AGREED A, B: a hot drink"), ["kim done", "rest"]);
    let result = result(&driver);
    assert!(result.is_complete());
    assert!(matches!(result.comparison, AskComparison::Judged { .. }));
    assert_eq!(result.findings.len(), 1);
    driver.replays();
}

#[test]
fn members_that_answered_react_once() {
    let mut driver = team();
    driver.ask("Which?", &Ask { reactions: true, ..ask(&["max", "eva", "leo"]) });
    driver.of("eva").fail("network");
    driver.of("max").answer("Coffee.");
    driver.of("leo").answer("Tea.");
    assert_eq!(active(&driver), ["max", "leo"]);
    driver.of("max").answer("ONLY max: coffee");
    driver.of("leo").answer("I have no opinion.");
    assert_eq!(driver.machine.status(), Status::Resting);
    let result = result(&driver);
    assert_eq!(result.findings[0].by, ["max".into()]);
    assert_eq!(result.unread[0].member, "leo".into());
    assert_eq!(missing(&driver), ["eva: eva could not answer (network)"]);
    driver.replays();
}

#[test]
fn members_who_say_the_same_are_named_together_and_disagreement_stays_visible() {
    let mut driver = team();
    driver.ask("Which?", &Ask { reactions: true, ..ask(&["max", "eva"]) });
    driver.of("max").answer("Tea.");
    driver.of("eva").answer("Tea!");
    driver
        .of("max")
        .answer("AGREED max, eva: A hot drink.\nAGREED: tea is enough\nONLY eva: a mark");
    driver
        .of("eva")
        .answer("- agreed (eva, max): a hot drink\n- CONTRADICTED max / eva: Tea is enough!");
    let found = result(&driver).findings;
    let show = |one: &AskFinding| {
        let sides: Vec<&str> = one.sides.iter().map(|side| &*side.member).collect();
        format!("{:?} {} [{}] by {}", one.kind, one.text, sides.join(", "), one.by.join(", "))
    };
    assert_eq!(
        found.iter().map(show).collect::<Vec<_>>(),
        [
            "Agreed A hot drink. [max, eva] by max, eva",
            "Only a mark [eva] by max",
            "Contradicted tea is enough [max, eva] by max",
            "Contradicted Tea is enough! [max, eva] by eva",
        ]
    );
}

#[test]
fn without_a_judge_and_reactions_the_answers_end_the_ask() {
    let mut driver = team();
    driver.ask("Which?", &ask(&["max", "eva"]));
    driver.of("max").answer("Coffee.");
    assert_eq!(driver.of("eva").answer("Tea."), ["eva done", "rest"]);
    assert_eq!(result(&driver).comparison, AskComparison::NotAsked);
    assert!(result(&driver).is_complete());
}

#[test]
fn an_answer_routes_nowhere_and_says_so() {
    let mut driver = team();
    driver.ask("Which?", &ask(&["max", "eva"]));
    let effects =
        driver.of("max").answer("[NEXT: leo] Tea.\n\n@kim what do you think?\n\n[DROP: ALL]");
    assert_eq!(effects.len(), 2, "{effects:?}");
    let ignored = "belongs to an ask, so it addresses nobody else; ignored @leo, @kim, [DROP: ALL]";
    assert!(effects[1].ends_with(ignored), "{effects:?}");
    assert_eq!(active(&driver), ["eva"]);
    driver.replays();
}

#[test]
fn a_question_goes_only_to_those_it_asks() {
    let mut driver = team();
    let effects = driver.ask("@kim said tea. @max, yes?", &ask(&["max", "eva"]));
    assert!(effects[0].ends_with("ignored @kim"), "{effects:?}");
    assert_eq!(active(&driver), ["max", "eva"]);
    // A plain yes is a question here.
    driver.of("max").cancel_running();
    driver.of("max").fail("cancelled");
    driver.of("eva").answer("Tea.");
    driver.ask("yes", &ask(&["leo", "kim"]));
    assert_eq!(active(&driver), ["leo", "kim"]);
    driver.replays();
}

#[test]
fn members_that_may_write_answer_one_after_the_other() {
    let mut driver = team();
    driver.ask("Which?", &judged(&["zoe", "max", "eva"], "kim"));
    assert_eq!(active(&driver), ["zoe"]);
    driver.answer("Tea.");
    assert_eq!(active(&driver), ["max", "eva"]);
    driver.of("max").answer("Tea.");
    driver.of("eva").answer("Tea.");
    assert_eq!(active(&driver), ["kim"]);
    driver.replays();
}

#[test]
fn other_turns_wait_for_room_and_an_ask_waits_for_other_turns() {
    let mut driver = team();
    driver.person("@kim");
    driver.ask("Which?", &ask(&["max", "eva"]));
    assert_eq!(active(&driver), ["kim"]);
    driver.answer("Done.");
    assert_eq!(active(&driver), ["max", "eva"]);
    driver.person("@leo");
    assert_eq!(active(&driver), ["max", "eva"]);
    driver.of("max").answer("Tea.");
    driver.of("eva").answer("Tea.");
    assert_eq!(active(&driver), ["leo"]);
    driver.replays();
}

#[test]
fn a_judge_may_be_asked_too_and_answers_before_it_judges() {
    let mut driver = team();
    driver.ask("Which?", &judged(&["max", "eva"], "max"));
    driver.of("max").answer("Tea.");
    assert_eq!(active(&driver), ["eva"]);
    driver.of("eva").answer("Coffee.");
    assert_eq!(active(&driver), ["max"]);
    driver.answer("CONTRADICTED A / B: the drink");
    assert_eq!(answered(&driver), ["max", "eva"]);
    assert_eq!(result(&driver).findings.len(), 1);
    driver.replays();
}

#[test]
fn with_fewer_than_two_answers_nothing_is_compared() {
    let mut driver = team();
    driver.ask("Which?", &judged(&["max", "eva"], "kim"));
    driver.of("max").fail("quota");
    assert_eq!(driver.of("eva").answer("Tea."), ["eva done", "rest"]);
    assert_eq!(result(&driver).comparison, AskComparison::TooFew);
    assert!(!result(&driver).is_complete());
    let class = result(&driver).missing[0].class.clone();
    assert_eq!(class.as_deref(), Some("quota"));
    // If the member can be asked again, the judge follows.
    let failed = turn_of(&driver, "max");
    driver.step(Event::Repeat { turn: failed });
    assert_eq!(driver.answer("Coffee.")[1], "kim queued");
    driver.answer("CONTRADICTED A / B: the drink");
    assert!(result(&driver).is_complete());
    driver.replays();
}

/// Returns the newest turn of a member.
fn turn_of(driver: &TestDriver, member: &str) -> EntryId {
    let is_theirs = |turn: &Turn| *turn.member == *member && turn.turn_id.is_none();
    let queued = driver.log.iter().rev().find(|entry| entry.turn().is_some_and(is_theirs));
    queued.unwrap().id.clone()
}

#[test]
fn labels_have_no_gaps_and_stay_when_a_member_answers_later() {
    for seed in 0..20 {
        let mut driver = team();
        driver.ask("Which?", &Ask { seed, ..judged(&["max", "eva", "leo"], "kim") });
        driver.of("max").fail("network");
        driver.of("eva").answer("Tea.");
        driver.of("leo").answer("Coffee.");
        driver.answer("ONLY A: first\nONLY B: second");
        let before = result(&driver);
        let mut labels: Vec<&str> = before.answers.iter().map(|one| &*one.label).collect();
        labels.sort_unstable();
        assert_eq!(labels, ["A", "B"]);
        let failed = turn_of(&driver, "max");
        driver.step(Event::Repeat { turn: failed });
        driver.answer("Water.");
        let after = result(&driver);
        assert_eq!(answered(&driver), ["eva", "leo", "max"]);
        assert_eq!((&before.findings, &*after.answers[2].label), (&after.findings, ""));
        driver.replays();
    }
}

#[test]
fn when_enough_have_answered_the_others_are_stopped_after_the_grace_time() {
    let mut driver = team();
    let quorum = Ask {
        quorum: Some(2),
        grace_seconds: Some(5),
        ..judged(&["max", "eva", "leo", "zoe"], "kim")
    };
    driver.ask("Which?", &quorum);
    driver.of("max").answer("Tea.");
    assert_eq!(driver.machine.graces().count(), 0);
    driver.of("leo").answer("Tea.");
    let (question, seconds) = driver.machine.graces().next().unwrap();
    assert_eq!(seconds, 5);
    let effects = driver.step(Event::GraceEnded { question: question.clone() });
    assert_eq!(effects, ["eva cancelled", "stop eva", "zoe cancelled", "kim queued"]);
    assert_eq!(driver.step(Event::GraceEnded { question }), Vec::<String>::new());
    assert_eq!(active(&driver), ["eva"], "the judge waits until the agent has ended");
    // Her answer comes too late.
    let effects = driver.of("eva").answer("[NEXT: max] Coffee.");
    assert!(effects[0].contains("came after turn"), "{effects:?}");
    assert_eq!(active(&driver), ["kim"], "no person is asked");
    driver.answer("AGREED: tea");
    assert_eq!(answered(&driver), ["max", "leo"]);
    let late = "enough others had answered m1, and the grace time was over";
    assert_eq!(missing(&driver), [format!("eva: {late}"), format!("zoe: {late}")]);
    driver.replays();
}

#[test]
fn no_grace_time_runs_without_a_quorum_or_when_all_have_answered() {
    let mut driver = team();
    driver.ask("Which?", &Ask { quorum: Some(2), ..ask(&["max", "eva"]) });
    driver.of("max").answer("Tea.");
    driver.of("eva").answer("Tea.");
    assert_eq!(driver.machine.graces().count(), 0);
    driver.ask("And now?", &ask(&["max", "eva"]));
    driver.of("max").answer("Tea.");
    assert_eq!(driver.machine.graces().count(), 0);
}

#[test]
fn cancelling_one_member_holds_the_judge_and_cancelling_all_ends_the_ask() {
    let mut driver = team();
    let question = judged(&["max", "eva", "leo"], "kim");
    driver.ask("Which?", &question);
    assert_eq!(driver.of("leo").cancel_running(), ["leo cancelled", "stop leo"]);
    driver.of("leo").fail("cancelled");
    driver.of("max").answer("Tea.");
    let effects = driver.of("eva").answer("Tea.");
    assert_eq!(effects[1], "kim queued");
    assert!(effects[2].contains("was cancelled. Continue with the queued turn?"), "{effects:?}");
    driver.person("yes");
    driver.answer("AGREED: tea");
    assert_eq!(missing(&driver), ["leo: the person cancelled it"]);

    driver.ask("Which?", &question);
    driver.of("max").answer("Tea.");
    driver.of("eva").answer("Tea.");
    driver.step(Event::Cancel(Cancel::All));
    assert_eq!(driver.of("leo").fail("cancelled"), ["rest"], "no judge follows");
    driver.replays();
}

#[test]
fn a_no_ends_a_paused_ask() {
    let mut driver = team();
    driver.ask("Which?", &judged(&["max", "eva", "leo"], "kim"));
    driver.of("leo").cancel_running();
    driver.of("leo").fail("cancelled");
    driver.of("max").answer("Tea.");
    driver.of("eva").answer("Tea.");
    driver.person("no");
    assert_eq!(driver.machine.status(), Status::Resting);
    assert_eq!(result(&driver).comparison, AskComparison::Missing);
    driver.replays();
}

/// Opens the session again after a crash.
fn crash(driver: &mut TestDriver) -> Vec<String> {
    let replay = Machine::replay(driver.machine.roster().clone(), &driver.log);
    assert_eq!((replay.differences, replay.unfinished), (vec![], vec![]));
    driver.machine = replay.machine;
    (driver.running, driver.others) = (None, Vec::new());
    driver.step(Event::Resume)
}

#[test]
fn after_a_crash_continue_resumes_the_ask_and_asks_nobody_twice() {
    let mut driver = team();
    driver.ask("Which?", &judged(&["max", "eva", "leo"], "kim"));
    driver.of("eva").answer("Tea.");
    let effects = crash(&mut driver);
    let expected = ["max interrupted", "leo interrupted", "max queued", "leo queued"];
    assert_eq!(effects[..4], expected);
    assert!(effects[4].ends_with("were interrupted. Continue with the 2 queued turns?"));
    // It may crash again before anybody continues.
    let effects = crash(&mut driver);
    assert_eq!(effects.len(), 1, "{effects:?}");
    driver.step(Event::Continue);
    assert_eq!(active(&driver), ["max", "leo"]);
    driver.of("max").answer("Tea.");
    driver.of("leo").answer("Tea.");
    assert_eq!(active(&driver), ["kim"]);
    assert_eq!(crash(&mut driver)[..2], ["kim interrupted", "kim queued"]);
    driver.person("yes");
    driver.answer("AGREED: tea");
    assert!(result(&driver).is_complete());
    assert_eq!(missing(&driver), Vec::<String>::new());
    let answers = driver.log.iter().filter(|entry| {
        entry.turn().is_some_and(|turn| matches!(turn.cause, Cause::Answered { .. }))
    });
    assert_eq!(answers.count(), 4);
    driver.replays();
}

#[test]
fn the_turn_limit_holds_the_rest_of_an_ask() {
    let mut driver = team();
    driver.step(Event::TurnsLimited { turns: Some(2) });
    driver.ask("Which?", &judged(&["max", "eva", "leo"], "kim"));
    assert_eq!(active(&driver), ["max", "eva"]);
    driver.of("max").answer("Tea.");
    let effects = driver.of("eva").answer("Tea.");
    assert!(effects[1].contains("have taken 2 turns since a person"), "{effects:?}");
    driver.step(Event::Continue);
    driver.of("leo").answer("Tea.");
    assert_eq!(active(&driver), ["kim"]);
}

#[test]
fn a_spending_limit_stops_an_ask_until_a_person_continues() {
    let limits = Limits { budget_usd: Some(1.0), ..Limits::default() };
    let mut driver = with_limits(limits);
    driver.ask("Which?", &judged(&["max", "eva"], "kim"));
    driver.pay("max", 1.0);
    driver.of("max").answer("Tea.");
    let effects = driver.of("eva").answer("Tea.");
    assert_eq!(effects[1], "kim queued");
    assert!(effects[2].contains("has spent $1.00 of $1.00"), "{effects:?}");
    driver.step(Event::Continue);
    driver.answer("AGREED: tea");
    let result = result(&driver);
    assert_eq!(result.total().cost.to_string(), "1.00");
    assert_eq!(result.costs.len(), 1);
    driver.replays();
}

#[test]
fn a_turn_that_is_stopped_for_its_cost_has_no_answer_and_a_person_is_asked_once() {
    let limits = Limits { budget_usd_turn: Some(0.5), ..Limits::default() };
    let mut driver = with_limits(limits);
    driver.ask("Which?", &judged(&["max", "eva", "leo"], "kim"));
    driver.of("max").answer("Tea.");
    driver.of("eva").answer("Tea.");
    let effects = driver.of("leo").overspend(0.6);
    assert_eq!(effects[..2], ["leo failed", "kim queued"]);
    assert!(effects.len() == 3 && effects[2].contains("was stopped"), "{effects:?}");
    driver.step(Event::Continue);
    driver.answer("AGREED: tea");
    assert_eq!(result(&driver).missing[0].class.as_deref(), Some("spending"));
    driver.replays();
}

#[test]
fn nobody_takes_over_the_turn_of_a_member_at_its_usage_limit() {
    let members = [
        Member::human("ann"),
        Member::ai("max").with_fallback(["kim"]).beside_others(),
        Member::ai("eva").beside_others(),
        Member::ai("kim").beside_others(),
    ];
    let mut driver = TestDriver::at(Roster::new(members).unwrap());
    driver.ask("Which?", &ask(&["max", "eva"]));
    let effects = driver.of("max").reach_limit(Some(5_000), Some("Bash"));
    assert_eq!(effects.len(), 2, "{effects:?}");
    driver.of("eva").answer("Tea.");
    assert_eq!(driver.machine.status(), Status::Resting);
    // Later turns go to the fallback, but those of an ask do not.
    driver.person("@max");
    assert_eq!(active(&driver), ["kim"]);
    driver.answer("Done.");
    driver.ask("And now?", &ask(&["max", "eva"]));
    assert_eq!(active(&driver), ["max", "eva"]);
    driver.replays();
}

#[test]
fn members_that_cannot_be_asked_are_named() {
    let mut driver = team();
    driver.ask("Which?", &ask(&["max", "zed", "ann", "eva"]));
    assert_eq!(active(&driver), ["max", "eva"]);
    assert_eq!(missing(&driver)[2..], ["zed: it was not asked", "ann: it was not asked"]);
    let effects = driver.ask("Which?", &ask(&["zed"]));
    assert!(effects.iter().any(|effect| effect.contains("was sent to nobody")), "{effects:?}");
}

#[test]
fn a_full_queue_refuses_members_and_says_so() {
    let limits = Limits { queue: 2, ..Limits::default() };
    let mut driver = with_limits(limits);
    let effects = driver.ask("Which?", &ask(&["max", "eva", "leo"]));
    assert!(effects[2].ends_with("so leo was not queued for m1"), "{effects:?}");
    driver.of("max").answer("Tea.");
    driver.of("eva").answer("Tea.");
    assert_eq!(missing(&driver), ["leo: it was not asked"]);
    driver.replays();
}
