//! The log shows which prompt an agent got: byte for byte, after changes of the team, without redacted text, and in
//! little space.

#![expect(clippy::disallowed_methods, reason = "agents are programs, and leave files")]

use tertulia_agent::CommandOutput;
use tertulia_session::{Entry, EntryId, EntryKind, TurnState};
use tertulia_store::{Append, NewSession, Range, SessionId, SessionStore, StoreUrl};
use tertulia_team::{Driver, PromptLost, Responder, SentPrompt, sent_prompt};

use crate::driver::{Heard, begin, built_in, scripted, shell, team};

/// Returns the started turns of a member.
fn started(driver: &Driver, member: &str) -> Vec<EntryId> {
    let is_started = |kind: &EntryKind| {
        matches!(kind, EntryKind::Turn(turn)
            if turn.state == TurnState::Started && *turn.member == *member)
    };
    let started = driver.entries().iter().filter(|entry| is_started(&entry.kind));
    started.map(|entry| entry.id.clone()).collect()
}

/// Redacts this entry, and returns the entries of the log.
fn redacted(store: &SessionStore, session: &SessionId, entry: &EntryId) -> Vec<Entry> {
    store.redact(session, entry, None).unwrap();
    let stored = store.load(session, &Range::Branch { tail: None, limit: None }).unwrap();
    stored.into_iter().map(|stored| stored.entry).collect()
}

#[test]
fn every_prompt_can_be_read_again_to_the_byte() {
    let folder = tempfile::tempdir().unwrap();
    let count = folder.path().join("count");
    // This script saves its prompt, and answers with a marker and a text that differs each time.
    let script = format!(
        "n=$(ls {0} | wc -l); cat >{0}/$(printf %03d $n); echo \"Answer $n.\"; echo '[NEXT: ann]'",
        count.display()
    );
    std::fs::create_dir(&count).unwrap();
    let mut max = shell("max", CommandOutput::Text, &script);
    max.window = 3;
    max.instruction = Some("Answer @once, /please.".to_owned());
    let (_, mut driver) = begin(team(vec![max, scripted("eva", &["Yes. @ann"])]));
    let mut heard = Heard::default();
    for number in 0..80 {
        let text =
            format!("@max [DROP: eva] Question {number} about the gateway.\n\n  It is @odd.");
        driver.say(None, &text, &mut heard).unwrap();
        driver.run(&mut heard).unwrap();
        if number % 5 == 0 {
            driver.say(None, "[TEAM_TASK: Find the gateway] @eva ready?", &mut heard).unwrap();
            driver.run(&mut heard).unwrap();
        }
    }
    let turns = started(&driver, "max");
    assert_eq!(turns.len(), 80);
    let mut recalled = 0;
    for (number, turn) in turns.iter().enumerate() {
        let sent = sent_prompt(driver.entries(), turn).unwrap();
        let received = std::fs::read_to_string(count.join(format!("{number:03}"))).unwrap();
        assert_eq!(sent.text, received, "prompt {number}");
        assert_eq!((&*sent.member, sent.system, sent.redacted), ("max", None, Vec::new()));
        recalled += usize::from(received.contains("\n- [recalled "));
    }
    assert!(recalled > 10, "passages were recalled {recalled} times");
}

#[test]
fn an_answer_and_every_entry_of_a_turn_name_the_same_prompt() {
    let (_, mut driver) =
        begin(team(vec![scripted("max", &["Yes."]), built_in("scribe", Responder::Scribe)]));
    let mut heard = Heard::default();
    driver.say(None, "@max ready?", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    driver.say(None, "@scribe and you?", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let entries = driver.entries();
    let expected = sent_prompt(entries, &started(&driver, "max")[0]).unwrap();
    let named: Vec<SentPrompt> =
        entries.iter().filter_map(|entry| sent_prompt(entries, &entry.id).ok()).collect();
    // These are the queued, started and done entries, and the answer.
    assert_eq!(named, vec![expected; 4]);
    let lost = |id: &EntryId| sent_prompt(entries, id).unwrap_err();
    assert!(matches!(lost(&entries[0].id), PromptLost::NoTurn(_)));
    let scribe = &started(&driver, "scribe")[0];
    assert!(matches!(lost(scribe), PromptLost::NotRecorded { .. }));
}

#[test]
fn a_prompt_is_still_shown_after_the_team_has_changed() {
    let store = SessionStore::memory();
    let mut heard = Heard::default();
    let mut driver =
        Driver::begin(&store, None, team(vec![scripted("max", &["Yes."])]), false).unwrap();
    driver.say(None, "@max ready?", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let turn = started(&driver, "max").remove(0);
    let before = sent_prompt(driver.entries(), &turn).unwrap();
    let session = driver.session().clone();
    drop(driver);
    let mut max = scripted("max", &["No."]);
    max.instruction = Some("Be brief.".to_owned());
    let opened = Driver::reopen(&store, &session, team(vec![max]), false, &mut heard).unwrap();
    let mut driver = opened.driver;
    driver.say(None, "@max and now?", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    assert_eq!(sent_prompt(driver.entries(), &turn).unwrap(), before);
    let after = sent_prompt(driver.entries(), &started(&driver, "max")[1]).unwrap();
    assert!(
        after.text.contains("Be brief.") && after.text.contains("@max ready?"),
        "{}",
        after.text
    );
}

#[test]
fn what_was_redacted_is_in_no_recorded_prompt() {
    let (store, mut driver) = begin(team(vec![scripted("max", &["Noted."])]));
    let mut heard = Heard::default();
    for text in ["@max key ab12", "@max go", "@max on"] {
        driver.say(None, text, &mut heard).unwrap();
        driver.run(&mut heard).unwrap();
    }
    let session = driver.session().clone();
    let secret = driver.entries().iter().find(|entry| {
        matches!(&entry.kind, EntryKind::Message(message) if message.text().contains("ab12"))
    });
    let secret = secret.unwrap().id.clone();
    let turns = started(&driver, "max");
    drop(driver);
    let entries = redacted(&store, &session, &secret);
    for turn in &turns {
        let sent = sent_prompt(&entries, turn).unwrap();
        assert!(!sent.text.contains("ab12"), "{}", sent.text);
        assert_eq!(sent.redacted, std::slice::from_ref(&secret));
        assert!(sent.text.contains(&format!("[redacted: {secret}]")), "{}", sent.text);
    }
}

#[test]
fn a_redacted_turn_makes_later_records_unreadable_and_that_is_said() {
    let (store, mut driver) = begin(team(vec![scripted("max", &["Noted."])]));
    let mut heard = Heard::default();
    for text in ["@max one", "@max two", "@max three"] {
        driver.say(None, text, &mut heard).unwrap();
        driver.run(&mut heard).unwrap();
    }
    let session = driver.session().clone();
    let turns = started(&driver, "max");
    drop(driver);
    let entries = redacted(&store, &session, &turns[1]);
    assert!(sent_prompt(&entries, &turns[0]).is_ok());
    let lost = sent_prompt(&entries, &turns[2]).unwrap_err();
    assert_eq!(lost, PromptLost::TurnRedacted { turn: turn_of(&entries, &turns[2]) });
}

/// Returns the queued entry of a started turn.
fn turn_of(entries: &[Entry], started: &EntryId) -> EntryId {
    let at = entries.iter().position(|entry| entry.id == *started).unwrap();
    let is_queued =
        |kind: &EntryKind| matches!(kind, EntryKind::Turn(turn) if turn.state == TurnState::Queued);
    entries[..at].iter().rev().find(|entry| is_queued(&entry.kind)).unwrap().id.clone()
}

#[test]
fn a_marker_that_is_text_stays_in_the_prompt() {
    let (_, mut driver) = begin(team(vec![scripted("max", &["Files:\n- a.txt\n- [NEXT: eva]"])]));
    let mut heard = Heard::default();
    driver
        .say(None, "@max what does [NEXT: max] mean in the docs? [NEXT: max]", &mut heard)
        .unwrap();
    driver.run(&mut heard).unwrap();
    driver.say(None, "@max go on", &mut heard).unwrap();
    driver.run(&mut heard).unwrap();
    let sent = sent_prompt(driver.entries(), &started(&driver, "max")[1]).unwrap();
    assert!(sent.text.contains("what does [NEXT: max] mean in the docs?\n"), "{}", sent.text);
    assert!(sent.text.contains("- a.txt\n  - [NEXT: eva]\n"), "{}", sent.text);
}

#[test]
fn the_record_of_a_thousand_prompts_takes_at_most_four_percent_of_a_store_of_short_answers() {
    let entries = a_thousand_turns();
    let turns = entries.iter().filter(|entry| recipe_of(entry).is_some());
    for turn in turns.clone().step_by(111) {
        sent_prompt(&entries, &turn.id).unwrap();
    }
    let recipes: usize = turns.filter_map(recipe_of).map(str::len).sum();
    let with = bytes_of(&entries);
    let mut bare = entries;
    for entry in &mut bare {
        if let EntryKind::Turn(turn) = &mut entry.kind {
            turn.prompt_recipe = None;
        }
    }
    let without = bytes_of(&bare);
    let percent = (with as f64 / without as f64 - 1.0) * 100.0;
    println!(
        "{with} bytes with records, {without} without: {percent:.2} % more; {} bytes each",
        recipes / 1_000
    );
    assert!(percent <= 4.0, "{with} instead of {without} bytes: {percent:.2} %");
}

/// Returns the size of the database file of a store with these entries.
fn bytes_of(entries: &[Entry]) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let store = SessionStore::open(&StoreUrl::Sqlite(path.clone())).unwrap();
    let session = store.create(&NewSession::default()).unwrap().id;
    for entry in entries {
        store.append(&session, Append::new([entry.clone()])).unwrap();
    }
    store.catch_up(|_| {}).unwrap();
    drop(store);
    path.metadata().unwrap().len()
}

/// Returns a session of a person and three agents who hand over to each other, with the default window.
fn a_thousand_turns() -> Vec<Entry> {
    let names = ["max", "eva", "leo"];
    let member = |number: usize| {
        let next = names[(number + 1) % 3];
        let answers: Vec<String> = (0..334)
            .map(|turn| match turn % 2 == 0 {
                true => format!("{}\n\n[NEXT: {next}]", answer(turn * 3 + number)),
                false => format!("@ann {}", answer(turn * 3 + number)),
            })
            .collect();
        scripted(names[number], &answers.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let mut heard = Heard::default();
    let (_, mut driver) = begin(team((0..3).map(member).collect()));
    let turns = |driver: &Driver| {
        driver.entries().iter().filter(|entry| recipe_of(entry).is_some()).count()
    };
    for number in 0.. {
        if turns(&driver) >= 1_000 {
            break;
        }
        let text = format!("@{} look at part {number} of the plan.", names[number % 3]);
        driver.say(None, &text, &mut heard).unwrap();
        driver.run(&mut heard).unwrap();
    }
    driver.entries().to_vec()
}

fn recipe_of(entry: &Entry) -> Option<&str> {
    match &entry.kind {
        EntryKind::Turn(turn) => turn.prompt_recipe.as_ref().map(|recipe| recipe.as_str()),
        _ => None,
    }
}

/// Returns an answer of realistic size, about 1,500 bytes. No two answers are equal, and their lengths differ. With
/// equal lengths, the measured share would depend on how many rows happen to fit in one page of the store.
fn answer(number: usize) -> String {
    let sentence = |part: usize| {
        let step = number * 31 + part * 7;
        format!(
            "Step {step} reads chunk {} of file src/part_{}.rs and writes {} rows. ",
            step * 3,
            step % 97,
            step % 13 + 1
        )
    };
    (0..8 + number * 7 % 25).map(sentence).collect()
}
