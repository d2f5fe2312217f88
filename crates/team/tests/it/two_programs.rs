//! Two programs in one session, branches and settings: no message is lost, and the log is complete.

use std::time::Duration;

use tertulia_agent::CommandOutput;
use tertulia_session::{EntryId, EntryKind, Setting, TurnActivity, TurnState};
use tertulia_store::{SessionId, SessionStore, StoreUrl};
use tertulia_team::{
    Cancel, Command, DriveError, Driver, Machine, PauseReason, StopReason, Team, preview,
};

use crate::driver::{Heard, assert_stored, begin, notes, scripted, shell, team, texts};

fn reopen(store: &SessionStore, session: &SessionId, team: Team) -> Driver {
    Driver::reopen(store, session, team, false, &mut Heard::default()).unwrap().driver
}

fn members() -> Team {
    team(vec![scripted("max", &["Yes.", "Again.", "Still."])])
}

#[test]
fn messages_of_two_programs_are_in_one_log() {
    let (store, mut one) = begin(members());
    let mut other = reopen(&store, one.session(), members());
    let mut heard = Heard::default();
    one.say(None, "Me first.", &mut Heard::default()).unwrap();
    one.run(&mut Heard::default()).unwrap();
    other.say(None, "And me.", &mut heard).unwrap();
    other.run(&mut heard).unwrap();
    let said = ["ann: Me first.", "max: Yes.", "ann: And me.", "max: Again."];
    assert_eq!(texts(other.entries()), said);
    assert_stored(&store, &other);
    // Messages of the other program are shown before one's own.
    let shown = heard.lines.iter().filter(|line| *line == "stored message").count();
    assert_eq!(shown, 4, "{:?}", heard.lines);
    one.say(None, "Back to me.", &mut Heard::default()).unwrap();
    one.run(&mut Heard::default()).unwrap();
    assert_eq!(texts(one.entries()).len(), 6);
    assert_stored(&store, &one);
}

#[test]
fn an_answer_is_stored_though_somebody_wrote_meanwhile() {
    let slow = "cat >/dev/null; echo started; echo done";
    let members = || team(vec![shell("max", CommandOutput::Text, slow)]);
    let (store, mut one) = begin(members());
    one.say(None, "Go.", &mut Heard::default()).unwrap();
    let is_said = |kind: &EntryKind| matches!(kind, EntryKind::Message(_));
    let said = one.entries().iter().find(|entry| is_said(&entry.kind)).unwrap().id.clone();
    store.redact(one.session(), &said, None).unwrap();
    one.run(&mut Heard::default()).unwrap();
    let last = texts(one.entries()).pop().unwrap();
    assert!(last.starts_with("max: started"), "{last}");
    assert!(!texts(one.entries()).iter().any(|text| text.contains("Go.")), "it was redacted");
    let turns = one.entries().iter().filter_map(|entry| match &entry.kind {
        EntryKind::Turn(turn) => Some(turn.state),
        _ => None,
    });
    let states: Vec<TurnState> = turns.collect();
    assert_eq!(states, [TurnState::Queued, TurnState::Started, TurnState::Done]);
}

#[test]
fn a_message_to_a_session_that_runs_elsewhere_is_queued_and_answered_there() {
    let store = SessionStore::memory();
    let slow = "cat >/dev/null; echo done";
    let members = || team(vec![shell("max", CommandOutput::Text, slow)]);
    let mut one = Driver::begin(&store, None, members(), false).unwrap();
    let mut other = reopen(&store, one.session(), members());
    one.say(None, "Go.", &mut Heard::default()).unwrap();
    let mut heard = Heard::default();
    other.say(None, "And this?", &mut heard).unwrap();
    assert_eq!(other.run(&mut heard).unwrap(), StopReason::Elsewhere);
    one.run(&mut Heard::default()).unwrap();
    assert_eq!(texts(one.entries()), ["ann: Go.", "ann: And this?", "max: done\n", "max: done\n"]);
    assert_stored(&store, &one);
    // The other program has not read yet that the turn ended.
    other.say(None, "Once more?", &mut heard).unwrap();
    assert_eq!(other.run(&mut heard).unwrap(), StopReason::Rested);
    assert_eq!(texts(other.entries()).len(), 6);
    assert_stored(&store, &other);
}

#[test]
fn a_person_who_wanted_to_continue_decides_again_when_somebody_was_faster() {
    let members = || team(vec![scripted("max", &["One."]), scripted("eva", &["Two."])]);
    let (store, mut one) = begin(members());
    let mut heard = Heard::default();
    one.say(None, "[NEXT: max, eva]", &mut heard).unwrap();
    one.execute(Command::Cancel(Cancel::All), &mut heard).unwrap();
    one.run(&mut heard).unwrap();
    let turn = one.entries().iter().find_map(|entry| match &entry.kind {
        EntryKind::Turn(turn) if turn.state == TurnState::Queued => Some(entry.id.clone()),
        _ => None,
    });
    let turn: EntryId = turn.unwrap();
    let mut other = reopen(&store, one.session(), members());
    one.execute(Command::Repeat(turn.clone()), &mut heard).unwrap();
    one.run(&mut heard).unwrap();
    // Decisions in the same millisecond get the same id, so wait.
    std::thread::sleep(Duration::from_millis(5));
    let error = other.execute(Command::Repeat(turn), &mut heard).unwrap_err();
    assert!(matches!(error, DriveError::SessionInUse), "{error}");
    assert!(error.to_string().contains("another process uses or has changed"), "{error}");
    // After the error, the new entries are read and the session can be used.
    assert_eq!(texts(other.entries()), texts(one.entries()));
    other.say(None, "@eva and you?", &mut heard).unwrap();
    other.run(&mut heard).unwrap();
    assert_stored(&store, &other);
}

#[test]
fn a_refused_command_does_not_end_the_session() {
    let two = vec![tertulia_team::TeamMember::person("bob"), scripted("max", &["Yes."])];
    let (store, mut driver) = begin(team(two));
    let handle = driver.handle();
    let mut heard = Heard::default();
    let roster = driver.team().roster().clone();
    let say = |text: &str| {
        let message = Box::new(tertulia_team::PersonMessage::new(text, &roster));
        Command::Say { member: None, message }
    };
    assert!(handle.send(say("Who am I?")));
    assert!(handle.send(say("[FROM: bob] It is me.")));
    assert!(handle.send(Command::Close));
    driver.attend(&mut heard).unwrap();
    assert!(heard.lines[0].starts_with("refused: "), "{:?}", heard.lines);
    assert_eq!(texts(driver.entries())[0], "bob: [FROM: bob] It is me.");
    assert_stored(&store, &driver);
}

#[test]
fn new_work_for_a_session_that_is_being_closed_is_refused_and_stores_nothing() {
    let (store, mut driver) = begin(team(vec![scripted("max", &["Yes."])]));
    let mut heard = Heard::default();
    driver.execute(Command::Close, &mut heard).unwrap();
    let before = driver.entries().len();
    let message = tertulia_team::PersonMessage::new("@max hello", driver.team().roster());
    let say = Command::Say { member: None, message: Box::new(message) };
    for command in [say, Command::Continue, Command::Repeat("e-1".into()), Command::Compact] {
        let error = driver.execute(command, &mut heard).unwrap_err();
        assert!(matches!(error, DriveError::Closing) && !error.is_fatal(), "{error}");
    }
    assert_eq!(driver.entries().len(), before);
    assert_stored(&store, &driver);
}

#[test]
fn a_command_that_is_not_executed_is_dropped_with_the_driver() {
    let (_, driver) = begin(team(vec![scripted("max", &["Yes."])]));
    let handle = driver.handle();
    let held = std::sync::Arc::new(());
    let hold = |held: std::sync::Arc<()>| {
        Command::Call(tertulia_team::Call::new(move |_, _| {
            drop(held);
            Ok(())
        }))
    };
    assert!(handle.send(hold(held.clone())));
    assert_eq!(std::sync::Arc::strong_count(&held), 2);
    drop(driver);
    assert_eq!(std::sync::Arc::strong_count(&held), 1);
    assert!(!handle.send(hold(held.clone())));
    assert_eq!(std::sync::Arc::strong_count(&held), 1, "although the handle still exists");
}

#[test]
fn the_same_decision_on_another_branch_is_another_entry() {
    let failing = || team(vec![shell("max", CommandOutput::Text, "cat >/dev/null; exit 1")]);
    let (store, mut driver) = begin(failing());
    let mut heard = Heard::default();
    driver.say(None, "Go.", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let turn = |driver: &Driver, state| {
        let found = driver
            .entries()
            .iter()
            .rev()
            .find(|entry| matches!(&entry.kind, EntryKind::Turn(turn) if turn.state == state));
        found.unwrap().id.clone()
    };
    let (queued, failed) = (turn(&driver, TurnState::Queued), turn(&driver, TurnState::Failed));
    let started = turn(&driver, TurnState::Started);
    driver.execute(Command::Repeat(queued.clone()), &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    driver.execute(Command::Continue, &mut heard).unwrap();
    // Retry and continue again: on another branch, and on a branch that begins within the turn.
    for from in [failed, started] {
        store.branch(driver.session(), &from).unwrap();
        let mut again = reopen(&store, driver.session(), failing());
        again.execute(Command::Repeat(queued.clone()), &mut heard).unwrap();
        again.run(&mut heard).unwrap();
        again.execute(Command::Continue, &mut heard).unwrap();
        assert_stored(&store, &again);
    }
    assert_eq!(store.verify(driver.session()).unwrap().damage, None);
}

fn folders(driver: &Driver) -> Vec<&str> {
    let settings = driver.entries().iter().filter_map(|entry| entry.kind.setting());
    let folders = settings.filter_map(|setting| match setting {
        Setting::Folder { path } => Some(&**path),
        _ => None,
    });
    folders.collect()
}

#[test]
fn the_log_records_how_many_turns_were_allowed() {
    let members = || team(vec![scripted("max", &["@eva"; 9]), scripted("eva", &["@max"; 9])]);
    let (store, mut driver) = begin(members());
    let mut heard = Heard::default();
    driver.update_settings(Some("/projects/shop"), Some(2));
    driver.say(None, "Go.", &mut heard).unwrap();
    let pause = driver.run(&mut heard).unwrap();
    let StopReason::Asked(question) = &pause else { panic!("{pause:?}") };
    assert_eq!(question.why, PauseReason::LoopGuard { turns: 2 });
    assert_stored(&store, &driver);
    assert_eq!(folders(&driver), ["/projects/shop"]);
    // When the limit is not given again, the team's own limit applies.
    let mut again = reopen(&store, driver.session(), members());
    assert_eq!(again.machine().turns_max(), Some(2));
    again.update_settings(Some("/projects/shop"), None);
    again.execute(Command::Continue, &mut heard).unwrap();
    let pause = again.run(&mut heard).unwrap();
    assert!(
        matches!(&pause, StopReason::Asked(question) if !matches!(question.why, PauseReason::LoopGuard { turns: 2 })),
        "{pause:?}"
    );
    assert_eq!(folders(&again).len(), 1);
    let replay = Machine::replay(again.team().roster().clone(), again.entries());
    assert_eq!(replay.differences, []);
}

#[test]
fn a_question_stays_asked_when_nothing_was_changed() {
    let (_store, mut driver) = begin(team(vec![scripted("max", &["@ann your turn"])]));
    let mut heard = Heard::default();
    driver.say(None, "Go.", &mut heard).unwrap();
    let asked = driver.run(&mut heard).unwrap();
    assert!(matches!(asked, StopReason::Asked(_)), "{asked:?}");
    driver.execute(Command::Cancel(Cancel::Turn("nothing".into())), &mut heard).unwrap();
    assert_eq!(driver.run(&mut heard).unwrap(), asked);
}

#[test]
fn a_failure_is_reported_once_though_somebody_wrote_meanwhile() {
    let failing = "cat >/dev/null; echo half; sleep 0.5; exit 3";
    let (store, mut one) = begin(team(vec![shell("max", CommandOutput::Text, failing)]));
    one.say(None, "Go.", &mut Heard::default()).unwrap();
    store.redact(one.session(), &one.entries()[0].id.clone(), None).unwrap();
    one.run(&mut Heard::default()).unwrap();
    let failed = |what: &TurnActivity| matches!(what, TurnActivity::Failed { .. });
    assert_eq!(notes(one.entries()).iter().filter(|what| failed(what)).count(), 1);
    assert_eq!(texts(one.entries()), ["ann: Go.", "max: half\n"]);
    assert_stored(&store, &one);
}

#[test]
fn nothing_that_is_said_at_the_same_time_is_lost_or_answered_twice() {
    const EACH: usize = 20;
    let store = SessionStore::memory();
    let session = Driver::begin(&store, None, members(), false).unwrap().session().clone();
    let programs = ["one", "two", "three"].map(|name| (name, reopen(&store, &session, members())));
    std::thread::scope(|scope| {
        for (name, mut driver) in programs {
            scope.spawn(move || {
                for number in 0..EACH {
                    let text = format!("{name} {number}");
                    driver.say(None, &text, &mut Heard::default()).unwrap();
                    driver.run(&mut Heard::default()).unwrap();
                }
            });
        }
    });
    let driver = reopen(&store, &session, members());
    let (mut asked, answered): (Vec<_>, Vec<_>) =
        texts(driver.entries()).into_iter().partition(|text| text.starts_with("ann: "));
    assert_eq!(asked.len(), 3 * EACH);
    asked.sort();
    asked.dedup();
    assert_eq!(asked.len(), 3 * EACH);
    let count = |state| {
        let turns = driver
            .entries()
            .iter()
            .filter(|entry| matches!(&entry.kind, EntryKind::Turn(turn) if turn.state == state));
        turns.count()
    };
    assert_eq!(count(TurnState::Interrupted), 0);
    assert_eq!(count(TurnState::Started), answered.len());
    assert_eq!(count(TurnState::Done), answered.len());
    assert_eq!(store.verify(&session).unwrap().damage, None);
}

#[test]
fn a_session_in_a_file_is_open_in_one_program_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let url = StoreUrl::Sqlite(folder.path().join("sessions.db"));
    let store = SessionStore::open(&url).unwrap();
    let mut one = Driver::begin(&store, None, members(), false).unwrap();
    let session = one.session().clone();
    let again = || Driver::reopen(&store, &session, members(), false, &mut Heard::default());
    let Err(error) = again() else { panic!("two drivers for one session") };
    assert!(error.to_string().contains("another process uses or has changed"), "{error}");
    // Computing a preview does not affect others.
    let team = members();
    assert!(preview(&store, &session, &team, team.member("max").unwrap()).unwrap().is_none());
    one.say(None, "Go.", &mut Heard::default()).unwrap();
    one.run(&mut Heard::default()).unwrap();
    drop(one);
    again().unwrap();
}

#[test]
fn a_cancelled_turn_does_not_block_the_session_when_somebody_wrote_after_it() {
    let slow = "cat >/dev/null; echo half; sleep 5";
    let (store, mut one) =
        begin(team(vec![shell("max", CommandOutput::Text, slow), scripted("eva", &["Here."])]));
    one.say(None, "Go.", &mut Heard::default()).unwrap();
    one.execute(Command::CancelRunning, &mut Heard::default()).unwrap();
    one.run(&mut Heard::default()).unwrap();
    store.redact(one.session(), &one.entries()[1].id.clone(), None).unwrap();
    one.say(None, "@eva and you?", &mut Heard::default()).unwrap();
    assert_eq!(one.run(&mut Heard::default()).unwrap(), StopReason::Rested);
    assert_eq!(texts(one.entries()).pop().as_deref(), Some("eva: Here."));
}

#[test]
fn an_agent_whose_branch_was_left_is_ended_and_not_taken_for_another() {
    let slow = "cat >/dev/null; echo max; sleep 5";
    let (store, mut one) =
        begin(team(vec![shell("max", CommandOutput::Text, slow), scripted("eva", &["Here."])]));
    one.say(None, "Go.", &mut Heard::default()).unwrap();
    let first = one.entries()[0].id.clone();
    store.branch(one.session(), &first).unwrap();
    one.say(None, "@eva and you?", &mut Heard::default()).unwrap();
    assert_eq!(one.run(&mut Heard::default()).unwrap(), StopReason::Rested);
    assert_eq!(texts(one.entries()), ["ann: @eva and you?", "eva: Here."]);
    assert_stored(&store, &one);
}

#[test]
fn queued_turns_stay_when_the_session_is_left() {
    let slow = "cat >/dev/null; sleep 5";
    let members =
        || team(vec![shell("max", CommandOutput::Text, slow), scripted("eva", &["Here."])]);
    let (store, mut one) = begin(members());
    one.say(None, "[NEXT: max, eva]", &mut Heard::default()).unwrap();
    let handle = one.handle();
    assert!(handle.send(Command::Close));
    one.attend(&mut Heard::default()).unwrap();
    let mut again = reopen(&store, one.session(), members());
    again.execute(Command::Continue, &mut Heard::default()).unwrap();
    again.run(&mut Heard::default()).unwrap();
    assert_eq!(texts(again.entries()).pop().as_deref(), Some("eva: Here."));
}
