//! Spending limits in the driver: agents that report usage while they work, and other sessions of the store.

use tertulia_agent::CommandOutput;
use tertulia_session::{Cause, EntryKind, NewEntry, Setting, SpendingLimit, Timestamp, Usage, Usd};
use tertulia_store::{Append, NewSession, SessionStore, now_millis};
use tertulia_team::{
    Dollars, Driver, Limits, PauseReason, Responder, StopReason, Team, TeamMember, is_partial,
};

use crate::driver::{Heard, assert_stored, scripted, shell, texts};

/// Returns a member that prints these lines and then works until it is stopped.
fn endless(name: &str, model: Option<&str>, lines: &str) -> TeamMember {
    let script = format!("cat >/dev/null; cat <<'END'\n{lines}END\nexec sleep 600\n");
    let mut member = shell(name, CommandOutput::Jsonl, &script);
    if let Responder::Agent(spec) = &mut member.responder {
        spec.model = model.map(Into::into);
    }
    member
}

fn team(members: Vec<TeamMember>, limits: Limits) -> Team {
    let mut all = vec![TeamMember::person("ann")];
    all.extend(members);
    Team::new(all, limits, None).unwrap()
}

fn begin(store: &SessionStore, team: Team) -> Driver {
    Driver::begin(store, None, team, false).unwrap()
}

#[track_caller]
fn asked(driver: &mut Driver, text: &str) -> PauseReason {
    let mut heard = Heard::default();
    driver.say(None, text, &mut heard).unwrap();
    match driver.run(&mut heard).unwrap() {
        StopReason::Asked(question) => question.why,
        other => panic!("{other:?}: {:?}", heard.lines),
    }
}

fn usages(driver: &Driver) -> Vec<Usage> {
    let usage = |entry: &tertulia_session::Entry| match &entry.kind {
        EntryKind::Usage(usage) => Some(usage.clone()),
        _ => None,
    };
    driver.entries().iter().filter_map(usage).collect()
}

const BEGINNING: &str = "{\"type\":\"text\",\"text\":\"I begin.\"}\n";

#[test]
fn a_turn_is_stopped_when_the_cost_that_it_reports_reaches_the_limit() {
    let lines = format!("{BEGINNING}{{\"type\":\"cost\",\"usd\":0.5}}\n");
    let limits = Limits { budget_usd_turn: Some(0.25), ..Limits::default() };
    let store = SessionStore::memory();
    let members = vec![endless("max", None, &lines), scripted("eva", &["Never."])];
    let mut driver = begin(&store, team(members, limits));
    let why = asked(&mut driver, "Please test. [NEXT: max, eva]");
    let PauseReason::Spending { limit, member, spent, allowed, stopped } = why else {
        panic!("{why:?}")
    };
    assert_eq!((limit, member.as_deref()), (SpendingLimit::Turn, Some("max")));
    assert_eq!([spent, allowed], [0.5, 0.25].map(Dollars::from_usd));
    let turn = stopped.unwrap();
    let cause = driver.entries().iter().filter_map(|entry| entry.turn());
    let cause = cause.rev().find(|one| one.turn_id.as_ref() == Some(&turn)).unwrap();
    assert!(
        matches!(cause.cause, Cause::Overspent { limit: SpendingLimit::Turn, .. }),
        "{cause:?}"
    );
    assert_eq!(texts(driver.entries()), ["ann: Please test. [NEXT: max, eva]", "max: I begin."]);
    assert_eq!(driver.entries().iter().filter(|entry| is_partial(entry)).count(), 1);
    assert_eq!(usages(&driver)[0].cost_usd, Usd::new(0.5));
    assert_eq!(driver.machine().waiting().count(), 1);
    assert_stored(&store, &driver);
}

#[test]
fn a_computed_cost_stops_a_turn_too_and_is_recorded_with_its_prices() {
    // 200,000 tokens of output of GPT-5 cost two dollars.
    let usage = "{\"type\":\"usage\",\"input\":1000,\"cache_write\":500,\"output\":200000}\n";
    let limits = Limits { budget_usd: Some(2.0), ..Limits::default() };
    let store = SessionStore::memory();
    let lines = format!("{BEGINNING}{usage}");
    let mut driver = begin(&store, team(vec![endless("max", Some("gpt-5"), &lines)], limits));
    let why = asked(&mut driver, "@max");
    assert!(
        matches!(
            why,
            PauseReason::Spending { limit: SpendingLimit::Session, stopped: Some(_), .. }
        ),
        "{why:?}"
    );
    let usages = usages(&driver);
    let [usage] = &usages[..] else { panic!("{usages:?}") };
    assert_eq!(usage.cost_usd.as_ref().unwrap().digits(), "2.001875");
    assert_eq!(usage.prices_date.as_deref(), Some("2026-10-31"));
    assert_eq!((usage.model.as_deref(), usage.agent.as_deref()), (Some("gpt-5"), Some("command")));
    assert_eq!((usage.input_tokens, usage.cache_write_tokens), (1500, Some(500)));
    assert_stored(&store, &driver);
}

#[test]
fn a_turn_below_its_limits_goes_on_and_an_answer_that_came_is_kept() {
    let script = "cat >/dev/null; cat <<'END'\n{\"type\":\"cost\",\"usd\":0.1}\n\
                  {\"type\":\"cost\",\"usd\":0.2}\n{\"type\":\"end\",\"text\":\"Done.\"}\nEND\n";
    let max = shell("max", CommandOutput::Jsonl, script);
    let limits = Limits { budget_usd_turn: Some(0.25), ..Limits::default() };
    let store = SessionStore::memory();
    let mut driver = begin(&store, team(vec![max], limits));
    let mut heard = Heard::default();
    driver.say(None, "@max", &mut heard).unwrap();
    assert_eq!(driver.run(&mut heard).unwrap(), StopReason::Rested, "{:?}", heard.lines);
    assert_eq!(usages(&driver)[0].cost_usd, Usd::new(0.2));
}

/// Stores a session with an answer that cost this much at this time.
fn other_session(store: &SessionStore, usd: f64, at: i64) {
    let session = store.create(&NewSession { id: None }).unwrap();
    let usage = Usage { member: "leo".into(), cost_usd: Usd::new(usd), ..Usage::default() };
    let entry = NewEntry::new(EntryKind::Usage(usage)).at(Timestamp::from_millis(at));
    store.append(&session.id, Append::new([entry.with_content_id()])).unwrap();
}

#[test]
fn what_other_sessions_spent_today_stops_this_one() {
    let store = SessionStore::memory();
    other_session(&store, 1.5, now_millis());
    // Two days ago, whatever the time zone.
    other_session(&store, 100.0, now_millis() - 2 * 86_400_000);
    let limits = Limits { budget_usd_day: Some(2.0), ..Limits::default() };
    let lines = format!("{BEGINNING}{{\"type\":\"cost\",\"usd\":0.75}}\n");
    let mut driver = begin(&store, team(vec![endless("max", None, &lines)], limits.clone()));
    let why = asked(&mut driver, "@max");
    let PauseReason::Spending { limit, spent, stopped: Some(_), .. } = why else {
        panic!("{why:?}")
    };
    assert_eq!((limit, spent), (SpendingLimit::Day, Dollars::from_usd(2.25)));
    let days = driver.entries().iter().filter(|entry| {
        matches!(entry.kind.setting(), Some(Setting::DaySpent { spent, .. }) if spent.digits() == "1.50")
    });
    assert_eq!(days.count(), 1, "it is recorded once");
    assert_stored(&store, &driver);
    // The next session of the day starts no agent before a person is asked.
    let mut next = begin(&store, team(vec![scripted("max", &["Never."])], limits));
    let why = asked(&mut next, "@max");
    assert!(
        matches!(why, PauseReason::Spending { limit: SpendingLimit::Day, stopped: None, .. }),
        "{why:?}"
    );
    assert_stored(&store, &next);
}
