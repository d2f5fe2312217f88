//! Spending limits in the machine: for a turn, a member, the session and a day, before a turn and during it.

use tertulia_session::SpendingLimit;
use tertulia_team::{Dollars, Event, Limits, Member, Overspent, Roster};

use crate::test_driver::{TestDriver, members};

fn limited(turn: Option<f64>, session: Option<f64>, day: Option<f64>) -> TestDriver {
    let limits = Limits {
        budget_usd_turn: turn,
        budget_usd: session,
        budget_usd_day: day,
        ..Limits::default()
    };
    TestDriver::with_limits(limits)
}

fn reached(limit: SpendingLimit, spent: f64, allowed: f64) -> Overspent {
    let [spent, allowed] = [spent, allowed].map(Dollars::from_usd);
    Overspent { limit, spent, allowed }
}

#[track_caller]
fn check(driver: &TestDriver, costs: &[(&str, f64)], expected: &[Option<Overspent>]) {
    let found = driver.overspent(costs);
    let expected: Vec<Overspent> = expected.iter().flatten().copied().collect();
    assert_eq!(found.into_iter().map(|(_, reached)| reached).collect::<Vec<_>>(), expected);
}

#[test]
fn a_turn_at_its_limit_is_stopped_and_the_others_wait_for_a_person() {
    let mut driver = limited(Some(0.5), None, None);
    driver.person("[NEXT: max, eva]");
    check(&driver, &[("max", 0.49)], &[None]);
    check(&driver, &[("max", 0.5)], &[Some(reached(SpendingLimit::Turn, 0.5, 0.5))]);
    let effects = driver.overspend(0.52);
    assert_eq!(effects[0], "max failed");
    let question = &effects[1];
    assert!(question.starts_with("ask ann: turn e-"), "{question}");
    let end = "was stopped: max has spent $0.52 of $0.50 in it (budget_usd_turn). Its answer so far is \
               kept. Retry it, or continue without it?";
    assert!(question.ends_with(end), "{question}");
    assert_eq!(driver.step(Event::Continue), ["go on", "eva started", "start eva P2"]);
    // Every turn has its own limit.
    check(&driver, &[("eva", 0.49)], &[None]);
    driver.replays();
}

#[test]
fn the_question_is_asked_even_if_nothing_waits() {
    let mut driver = limited(Some(0.5), None, None);
    driver.person("@max");
    let effects = driver.overspend(1.0);
    assert_eq!(effects.len(), 2, "{effects:?}");
    assert!(effects[1].contains("max has spent $1.00 of $0.50 in it"), "{effects:?}");
    driver.replays();
    let (turn, _) = driver.machine.active().next().map_or_else(
        || (driver.log.iter().find_map(|entry| entry.turn().map(|_| entry.id.clone())), ()),
        |_| (None, ()),
    );
    let effects = driver.step(Event::Repeat { turn: turn.unwrap() });
    assert_eq!(effects, ["max queued", "max started", "start max P2"]);
    driver.replays();
}

#[test]
fn a_member_may_have_its_own_limit_for_a_turn() {
    let mut all = members();
    all[1] = Member { budget_usd_turn: Some(2.0), ..Member::ai("max") };
    let limits = Limits { budget_usd_turn: Some(0.5), ..Limits::default() };
    let mut driver = TestDriver::at(Roster::new(all).unwrap().with_limits(limits));
    driver.person("@max");
    check(&driver, &[("max", 1.9)], &[None]);
    check(&driver, &[("max", 2.0)], &[Some(reached(SpendingLimit::Turn, 2.0, 2.0))]);
    driver.answer("[NEXT: eva]");
    check(&driver, &[("eva", 0.5)], &[Some(reached(SpendingLimit::Turn, 0.5, 0.5))]);
}

#[test]
fn an_earlier_attempt_of_the_same_turn_counts() {
    let mut driver = limited(Some(0.5), None, None);
    driver.person("@max");
    driver.pay("max", 0.4);
    check(&driver, &[("max", 0.1)], &[Some(reached(SpendingLimit::Turn, 0.5, 0.5))]);
    driver.answer("done");
    driver.person("@max");
    check(&driver, &[("max", 0.4)], &[None]);
}

#[test]
fn a_limit_of_nothing_lets_no_turn_start() {
    for (turn, day, field) in
        [(Some(0.0), None, "budget_usd_turn"), (None, Some(0.0), "budget_usd_day")]
    {
        let mut driver = limited(turn, None, day);
        let effects = driver.person("@max");
        let question = &effects[1];
        assert!(question.contains(&format!("({field} = 0 in the team file)")), "{question}");
        driver.replays();
    }
}

#[test]
fn to_continue_does_not_raise_a_limit_of_nothing() {
    let mut driver = limited(None, None, Some(0.0));
    let first = driver.person("@max");
    let again = driver.step(Event::Continue);
    assert_eq!(again.last(), first.last(), "{again:?}");
    driver.replays();
}

#[test]
fn a_no_after_a_stopped_turn_starts_nothing_and_a_yes_raises_the_limit() {
    for (answer, expected) in [("no", "note: Stopped"), ("yes", "go on")] {
        let mut driver = limited(None, Some(0.5), None);
        driver.person("@max");
        driver.overspend(0.6);
        let effects = driver.person(answer);
        assert!(effects[0].starts_with(expected), "{answer}: {effects:?}");
        assert!(!effects.iter().any(|effect| effect.contains("queued")), "{answer}: {effects:?}");
        driver.replays();
    }
}

#[test]
fn all_running_turns_count_for_the_session() {
    let mut all = members();
    all.iter_mut().for_each(|member| member.may_run_beside = true);
    let limits = Limits { budget_usd: Some(1.0), parallel: 3, ..Limits::default() };
    let mut driver = TestDriver::at(Roster::new(all).unwrap().with_limits(limits));
    driver.person("[NEXT: max, eva]");
    check(&driver, &[("max", 0.5), ("eva", 0.4)], &[None, None]);
    let both = Some(reached(SpendingLimit::Session, 1.0, 1.0));
    check(&driver, &[("max", 0.5), ("eva", 0.5)], &[both, both]);
    driver.pay("leo", 0.25);
    let both = Some(reached(SpendingLimit::Session, 1.25, 1.0));
    check(&driver, &[("max", 0.5), ("eva", 0.5)], &[both, both]);
    driver.of("max").overspend(0.75);
    assert!(driver.of("eva").answer("Done.").iter().any(|line| line == "rest"));
    driver.replays();
}

#[test]
fn what_other_sessions_spent_today_counts_once_it_is_recorded() {
    let mut driver = limited(None, None, Some(2.0));
    assert!(driver.day_spent("2026-11-19", 1.5).is_empty());
    driver.person("[NEXT: max, eva]");
    check(&driver, &[("max", 0.4)], &[None]);
    check(&driver, &[("max", 0.5)], &[Some(reached(SpendingLimit::Day, 2.0, 2.0))]);
    driver.pay("max", 0.5);
    let effects = driver.answer("Done.");
    assert_eq!(
        effects[1],
        "ask ann: today, all sessions together have spent $2.00 of $2.00. Continue?"
    );
    // Continuing allows as much again, for this day.
    assert_eq!(driver.step(Event::Continue), ["go on", "eva started", "start eva P2"]);
    check(&driver, &[("eva", 1.9)], &[None]);
    // The recorded amount includes what this session spent.
    driver.day_spent("2026-11-19", 2.25);
    check(&driver, &[("eva", 1.8)], &[Some(reached(SpendingLimit::Day, 4.05, 4.0))]);
    driver.replays();
}

#[test]
fn a_day_begins_with_its_own_limit_also_after_the_clock_went_back() {
    let mut driver = limited(None, None, Some(2.0));
    driver.day_spent("2026-11-19", 3.0);
    driver.person("@max");
    driver.step(Event::Continue);
    driver.day_spent("2026-11-20", 0.0);
    check(&driver, &[("max", 1.9)], &[None]);
    check(&driver, &[("max", 2.0)], &[Some(reached(SpendingLimit::Day, 2.0, 2.0))]);
    // The consent to spend more was for a day that has ended, so a person is asked again.
    driver.day_spent("2026-11-19", 3.0);
    check(&driver, &[("max", 0.0)], &[Some(reached(SpendingLimit::Day, 3.0, 2.0))]);
    driver.answer("Done.");
    let effects = driver.person("@max");
    assert!(effects[1].contains("have spent $3.00 of $2.00"), "{effects:?}");
    driver.replays();
}

#[test]
fn an_old_log_without_days_and_limits_replays_as_before() {
    let mut driver = TestDriver::new();
    driver.person("[NEXT: max, eva]");
    driver.pay("max", 1_000.0);
    assert!(!driver.machine.limits_costs());
    check(&driver, &[("max", 1_000.0)], &[None]);
    driver.answer("Done.");
    assert_eq!(driver.machine.day(), None);
    driver.replays();
}
