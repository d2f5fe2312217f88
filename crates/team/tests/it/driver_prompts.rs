//! The prompts of members, and the answers of built-in members.

use tertulia_agent::CommandOutput;
use tertulia_session::{EntryKind, TurnActivity, TurnState};
use tertulia_store::{Range, SessionId, SessionStore, StoredEntry};
use tertulia_team::{
    Compacted, Driver, EventSink, PauseReason, Responder, SessionEvent, StopReason,
};

use crate::driver::{
    Heard, assert_stored, begin, built_in, notes, previewed, scripted, shell, team, texts,
};

#[test]
fn a_long_conversation_is_sent_as_a_summary_and_recalled_passages() {
    let mut max = scripted("max", &["Understood."]);
    max.window = 4;
    let (store, mut driver) = begin(team(vec![max]));
    let mut heard = Heard::default();
    driver.say(None, "We decided: the port of the gateway is 48213.", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    for number in 0..60 {
        driver.say(None, &format!("Another matter, number {number}."), &mut heard).unwrap();
        driver.run(&mut heard).unwrap();
    }
    driver.say(None, "Which port has the gateway?", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    driver.say(None, "I mean the gateway: which port?", &mut heard).unwrap();
    let prompt = driver.prompt_for("max").unwrap();
    assert!(prompt.covered > 60, "{}", prompt.covered);
    assert!(!prompt.recalled.is_empty());
    assert!(prompt.text.contains("48213"), "{}", prompt.text);
    let summary = format!("\n- [summary of {} messages]: ", prompt.covered);
    assert!(prompt.text.contains(&summary), "{}", prompt.text);
    let recalled = format!("\n- [recalled {} from ann]: ", prompt.recalled[0]);
    assert!(prompt.text.contains(&recalled), "{}", prompt.text);
    driver.run(&mut heard).unwrap();
    assert_stored(&store, &driver);
    // A process that opens the session again assembles the same bytes.
    let again = {
        let mut max = scripted("max", &["Understood."]);
        max.window = 4;
        Driver::reopen(&store, driver.session(), team(vec![max]), false, &mut heard).unwrap()
    };
    let (mut one, mut other) = (driver, again.driver);
    assert_eq!(one.prompt_for("max"), other.prompt_for("max"));
}

#[test]
fn summaries_and_recalled_passages_name_the_speaker_and_route_nothing() {
    let mut max = scripted("max", &["Shall we keep the gateway? [NEXT: ann]"]);
    max.window = 2;
    let (_, mut driver) = begin(team(vec![max]));
    let mut heard = Heard::default();
    for number in 0..24 {
        let text = format!("What about the gateway number {number}? [NEXT: max!P1]");
        driver.say(None, &text, &mut heard).unwrap();
        driver.run(&mut heard).unwrap();
    }
    let prompt = driver.prompt_for("max").unwrap();
    assert!(prompt.covered >= 16 && !prompt.recalled.is_empty(), "{}", prompt.text);
    assert!(!prompt.text.contains("[NEXT"), "{}", prompt.text);
    assert!(prompt.text.contains(" from ann]: What about the gateway number"), "{}", prompt.text);
}

#[test]
fn the_scribe_writes_what_was_decided_and_routes_nobody() {
    let (_, mut driver) =
        begin(team(vec![built_in("scribe", Responder::Scribe), scripted("max", &["Never said."])]));
    let mut heard = Heard::default();
    driver
        .say(None, "We decided to use PostgreSQL. @max will write the schema. @scribe", &mut heard)
        .unwrap();
    driver.run(&mut heard).unwrap();
    let before = said_by_max(&driver);
    driver.say(None, "Minutes, please. @scribe", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let said = texts(driver.entries());
    let minutes = said.last().unwrap();
    assert!(minutes.starts_with("scribe: ") && minutes.contains("PostgreSQL"), "{minutes}");
    assert_eq!(said_by_max(&driver), before, "{said:?}");
}

#[test]
fn an_answer_of_a_built_in_member_goes_with_the_entry_that_it_quotes() {
    let (store, mut driver) = begin(team(vec![
        built_in("notary", Responder::Scribe),
        built_in("archivist", Responder::Librarian),
        scripted("max", &["Noted."]),
    ]));
    let mut heard = Heard::default();
    let secret = driver
        .say(None, "@max We decided that the PIN of the gateway is 482913.", &mut heard)
        .unwrap();
    driver.run(&mut heard).unwrap();
    driver.say(None, "@notary minutes", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let session = driver.session().clone();
    assert!(driver.entries().iter().all(|entry| entry.salt.is_some() || !entry.kind.holds_text()));
    drop(driver);
    let archive = team(vec![built_in("archivist", Responder::Librarian)]);
    let mut other = Driver::begin(&store, None, archive, false).unwrap();
    other.say(None, "@archivist which PIN has the gateway?", &mut heard).unwrap();
    other.run(&mut heard).unwrap();
    let told = |session: &SessionId| {
        let loaded = store.load(session, &Range::All).unwrap();
        let is_told = |entry: &&StoredEntry| format!("{entry:?}").contains("482913");
        loaded.iter().filter(is_told).count()
    };
    assert_eq!((told(&session), told(other.session())), (2, 1));
    store.redact(&session, &secret, None).unwrap();
    assert_eq!((told(&session), told(other.session())), (0, 0));
}

#[test]
fn the_hash_of_a_prompt_confirms_no_guess_of_what_was_redacted() {
    let run = |pin: &str| {
        let (_, mut driver) = begin(team(vec![scripted("max", &["Noted."])]));
        driver.say(None, &format!("@max the PIN is {pin}"), &mut Heard::default()).unwrap();
        driver.run(&mut Heard::default()).unwrap();
        let hash = driver.entries().iter().find_map(|entry| match &entry.kind {
            EntryKind::Turn(turn) => turn.prompt_hash.clone(),
            _ => None,
        });
        hash.unwrap()
    };
    assert_ne!(run("482913"), run("482913"), "it depends on the salt of the message");
}

#[test]
fn the_scribe_says_that_nothing_was_decided_and_what_to_do_next() {
    let (_, mut driver) = begin(team(vec![built_in("scribe", Responder::Scribe)]).without_file());
    let mut heard = Heard::default();
    for request in ["hello", "@scribe what did we decide?"] {
        driver.say(None, request, &mut heard).unwrap();
        driver.run(&mut heard).unwrap();
        let said = texts(driver.entries());
        let answer = said.last().unwrap();
        assert!(answer.starts_with("scribe: Nothing was decided yet."), "{answer}");
        assert!(answer.contains("`tertulia init`"), "{answer}");
    }
    // The scribe does not summarise its own answers.
    let said = texts(driver.entries());
    assert_eq!(said[3].matches("Nothing was decided").count(), 1, "{said:?}");
    driver.say(None, "We decided to use PostgreSQL.", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    driver.say(None, "@scribe and now?", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let said = texts(driver.entries());
    let last = said.last().unwrap();
    assert!(last.contains("## Decisions") && !last.contains("Nothing was"), "{last}");
}

#[test]
fn the_scribe_suggests_no_new_team_file_where_there_is_one() {
    let (_, mut driver) = begin(team(vec![built_in("scribe", Responder::Scribe)]));
    let mut heard = Heard::default();
    driver.say(None, "hello", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let said = texts(driver.entries());
    let answer = said.last().unwrap();
    assert!(!answer.contains("tertulia init"), "{answer}");
    assert!(answer.contains("Add an agent to the team file; `tertulia doctor`"), "{answer}");
}

#[test]
fn the_librarian_says_that_it_does_not_look_into_this_session() {
    let (_, mut driver) = begin(team(vec![built_in("librarian", Responder::Librarian)]));
    let mut heard = Heard::default();
    driver.say(None, "The gateway listens on 48213.", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    driver.say(None, "Where does the gateway listen?", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let said = texts(driver.entries());
    assert!(said[3].contains("past sessions only, not this one"), "{said:?}");
}

fn said_by_max(driver: &Driver) -> usize {
    texts(driver.entries()).iter().filter(|text| text.starts_with("max: ")).count()
}

#[test]
fn the_librarian_finds_what_another_session_says() {
    let store = SessionStore::memory();
    let members =
        || team(vec![built_in("librarian", Responder::Librarian), scripted("max", &["Noted."])]);
    let mut heard = Heard::default();
    let mut past = Driver::begin(&store, None, members(), false).unwrap();
    past.say(None, "The gateway listens on 48213. @max", &mut heard).unwrap();
    past.run(&mut heard).unwrap();
    let mut driver = Driver::begin(&store, None, members(), false).unwrap();
    driver.say(None, "Where does the gateway listen? @librarian", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let said = texts(driver.entries());
    assert!(said[1].contains("48213"), "{said:?}");
    assert_eq!(said.len(), 2, "what it quotes routes nobody: {said:?}");
}

#[test]
fn a_team_task_of_a_person_reaches_the_prompts_from_then_on() {
    let (_, mut driver) = begin(team(vec![scripted("max", &["Yes."])]));
    let mut heard = Heard::default();
    driver.say(None, "[TEAM_TASK: Ship the login page] Go.", &mut heard).unwrap();
    let prompt = driver.prompt_for("max").unwrap();
    assert!(prompt.text.contains("Ship the login page"));
    assert_eq!(started_with(&driver), Some(prompt.hash()), "the turn that it was said for too");
}

fn started_with(driver: &Driver) -> Option<Box<str>> {
    driver.entries().iter().rev().find_map(|entry| match &entry.kind {
        EntryKind::Turn(turn) if turn.state == TurnState::Started => turn.prompt_hash.clone(),
        _ => None,
    })
}

#[test]
fn no_message_is_lost_between_the_window_and_the_summary() {
    let mut max = scripted("max", &["Yes."]);
    max.window = 3;
    let (_, mut driver) = begin(team(vec![max, scripted("eva", &["No."])]));
    let mut heard = Heard::default();
    for number in 0..40 {
        driver.say(None, &format!("@max matter {number}"), &mut heard).unwrap();
        let prompt = driver.prompt_for("max").unwrap();
        driver.run(&mut heard).unwrap();
        let said = 1 + 2 * number;
        assert_eq!(prompt.covered + prompt.kept + 1, said, "at message {number}");
    }
}

#[test]
fn what_a_person_had_summarised_is_in_no_prompt_word_for_word_any_more() {
    let members = || team(vec![scripted("max", &["Yes, certainly."]), scripted("eva", &["No."])]);
    let (store, mut driver) = begin(members());
    let mut heard = Heard::default();
    for number in 0..6 {
        let talk = "It is a long story about ports and hosts and nobody wants to hear it again. ";
        let text =
            format!("@max We decided: gateway {number} has port 4{number}. {}", talk.repeat(9));
        driver.say(None, &text, &mut heard).unwrap();
        driver.run(&mut heard).unwrap();
    }
    let before = driver.prompt_for("eva").unwrap();
    let compacted = driver.compact(&mut heard).unwrap();
    let Compacted::Done { messages: 10, saved_bytes } = compacted else { panic!("{compacted:?}") };
    let after = driver.prompt_for("eva").unwrap();
    assert_eq!((after.covered, after.kept), (10, 1), "{}", after.text);
    assert!(after.recalled.is_empty(), "{}", after.text);
    assert!(after.text.contains("gateway 0 has port 40"), "the summary has it: {}", after.text);
    assert!(after.text.len() + saved_bytes / 2 < before.text.len());
    // A prompt made from the log alone is the same, and a second summary would cover nothing new.
    let other = previewed(&store, driver.session(), &members(), "eva");
    let mut one = driver;
    assert_eq!(one.prompt_for("eva"), Some(other.prompt));
    assert_eq!(one.compact(&mut heard).unwrap(), Compacted::TooFew { keeps: 2 });
    // New messages are added, and the covered ones stay out.
    one.say(None, "@eva and now?", &mut heard).unwrap();
    let later = one.prompt_for("eva").unwrap();
    assert_eq!((later.covered, later.kept), (10, 2), "{}", later.text);
}

#[test]
fn a_redaction_takes_the_summary_along_and_prompts_begin_where_the_window_does() {
    let members = || team(vec![scripted("max", &["Yes."])]);
    let (store, mut driver) = begin(members());
    let mut heard = Heard::default();
    let secret = driver.say(None, &format!("the key is hunter2 {}", "x ".repeat(900)), &mut heard);
    driver.run(&mut heard).unwrap();
    driver.say(None, "something else", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    assert!(matches!(driver.compact(&mut heard).unwrap(), Compacted::Done { .. }));
    let session = driver.session().clone();
    drop(driver);
    store.redact(&session, &secret.unwrap(), None).unwrap();
    let prompt = previewed(&store, &session, &members(), "max").prompt;
    assert!(!prompt.text.contains("hunter2"), "{}", prompt.text);
    assert_eq!((prompt.covered, prompt.kept), (0, 2), "{}", prompt.text);
}

#[test]
fn a_session_that_is_open_elsewhere_keeps_its_agent() {
    let store = SessionStore::memory();
    let members = || team(vec![shell("max", CommandOutput::Text, "printf one; sleep 2; echo two")]);
    let mut heard = Heard::default();
    let mut driver = Driver::begin(&store, None, members(), false).unwrap();
    driver.say(None, "Go.", &mut heard).unwrap();
    // The agent is running as soon as it has produced output.
    let mut second = Second { store: store.clone(), session: driver.session().clone(), said: None };
    driver.run(&mut second).unwrap();
    let error = second.said.expect("it was tried");
    assert!(error.contains("another process uses or has changed this session"), "{error}");
    assert_eq!(texts(driver.entries())[1], "max: onetwo\n");
}

/// An event sink that opens the session a second time as soon as the agent produces output.
struct Second {
    store: SessionStore,
    session: SessionId,
    said: Option<String>,
}

impl EventSink for Second {
    fn on_event(&mut self, event: SessionEvent) {
        if matches!(event, SessionEvent::Text { .. }) && self.said.is_none() {
            let members = team(vec![scripted("max", &["Other."])]);
            let opened =
                Driver::reopen(&self.store, &self.session, members, false, &mut Heard::default());
            self.said =
                Some(opened.err().map_or("it opened".to_owned(), |error| error.to_string()));
        }
    }
}

#[test]
fn the_log_says_what_the_member_got_by_its_hash() {
    let (_, mut driver) = begin(team(vec![scripted("max", &["Yes."])]));
    let mut heard = Heard::default();
    driver.say(None, "Ready?", &mut heard).unwrap();
    let expected = driver.prompt_for("max").unwrap().hash();
    assert_eq!(started_with(&driver), Some(expected));
}

#[test]
fn a_missing_program_is_reported_with_a_fix() {
    let mut max = shell("max", CommandOutput::Text, "true");
    if let Responder::Agent(spec) = &mut max.responder {
        spec.program = Some("no-such-program-anywhere".into());
    }
    let (_, mut driver) = begin(team(vec![max]));
    let mut heard = Heard::default();
    driver.say(None, "Hello?", &mut heard).unwrap();
    let pause = driver.run(&mut heard).unwrap();
    assert!(
        matches!(&pause, StopReason::Asked(question) if matches!(question.why, PauseReason::Failed { .. }))
    );
    let notes = notes(driver.entries());
    let [TurnActivity::Failed { class, message, .. }] = &notes[..] else { panic!("{notes:?}") };
    assert_eq!(&**class, "setup");
    assert!(message.contains("no-such-program-anywhere"), "{message}");
}
