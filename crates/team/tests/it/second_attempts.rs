//! The second attempt of a turn, whose prompt was too large or whose agent could not continue its session. Other
//! processes may write to the session during the first attempt.

#![expect(clippy::disallowed_methods, reason = "agents are programs, and leave files")]

use tertulia_agent::CommandOutput;
use tertulia_session::{EntryId, EntryKind, Message, NewEntry, Speaker, SpeakerType, TurnState};
use tertulia_store::{Append, SessionId, SessionStore};
use tertulia_team::{Cancel, Command, Driver};

use crate::driver::{Heard, assert_stored, begin, shell, team, texts};
use crate::native_memory::{Talk, members};

/// Returns a conversation in which the first attempt of a turn runs, which will not open its session.
fn first_attempt() -> Talk {
    let mut talk = Talk::new();
    talk.say("The key is ab12 @max").say("Hello again @max");
    std::fs::write(talk.folder.path().join("lost"), "").unwrap();
    talk.driver().say(None, "And now, @max?", &mut Heard::default()).unwrap();
    talk
}

fn finish(talk: &mut Talk) {
    talk.driver().run(&mut Heard::default()).unwrap();
}

fn id_of(driver: &Driver, text: &str) -> EntryId {
    let has = |message: &Message| message.text().contains(text);
    let mut entries = driver.entries().iter();
    entries.find(|entry| entry.message().is_some_and(has)).unwrap().id.clone()
}

/// Appends a message, as another process does.
fn append(store: &SessionStore, session: &SessionId, text: &str) {
    let parent = store.info(session).unwrap().tail.unwrap();
    let message = Message::said(Speaker::new("leo", "leo", SpeakerType::Human), text);
    let entry = NewEntry::new(EntryKind::Message(message)).with_parent(parent).with_content_id();
    store.append(session, Append::new([entry])).unwrap();
}

#[test]
fn what_was_redacted_during_the_first_attempt_is_not_in_the_second_prompt() {
    let mut talk = first_attempt();
    let secret = id_of(talk.driver(), "ab12");
    talk.store.redact(&talk.session, &secret, None).unwrap();
    finish(&mut talk);
    let prompts = talk.prompts();
    assert_eq!(prompts.len(), 2, "{prompts:#?}");
    assert!(prompts[1][0].contains("And now, @max?"), "{prompts:#?}");
    assert!(!prompts[1][0].contains("ab12"), "{prompts:#?}");
}

#[test]
fn what_was_said_during_the_first_attempt_is_in_the_second_prompt() {
    let mut talk = first_attempt();
    append(&talk.store, &talk.session, "I found gateway_7.");
    finish(&mut talk);
    let _ = std::fs::remove_file(talk.folder.path().join("lost"));
    talk.say("And then, @max?");
    let prompts = talk.prompts();
    assert_eq!(prompts.len(), 2, "{prompts:#?}");
    assert_eq!(prompts[1].concat().matches("gateway_7").count(), 1, "{prompts:#?}");
}

#[test]
fn a_turn_whose_branch_was_left_has_no_second_attempt() {
    let mut talk = first_attempt();
    let from = id_of(talk.driver(), "Hello again");
    talk.store.branch(&talk.session, &from).unwrap();
    finish(&mut talk);
    let prompts = talk.prompts();
    assert_eq!(prompts.len(), 1, "{prompts:#?}");
    let store = talk.store.clone();
    assert_stored(&store, talk.driver());
    talk.say("And then, @max?");
    assert_eq!(talk.turns(TurnState::Done).len(), 2);
}

#[test]
fn a_turn_that_another_process_cancelled_has_no_second_attempt() {
    let mut talk = Talk::new();
    talk.say("Hello @max");
    let (store, session) = (talk.store.clone(), talk.session.clone());
    let team = members(talk.folder.path());
    let opened = Driver::reopen(&store, &session, team, false, &mut Heard::default());
    let mut other = opened.unwrap().driver;
    std::fs::write(talk.folder.path().join("lost"), "").unwrap();
    talk.driver().say(None, "And now, @max?", &mut Heard::default()).unwrap();
    other.say(None, "Stop.", &mut Heard::default()).unwrap();
    other.execute(Command::Cancel(Cancel::All), &mut Heard::default()).unwrap();
    finish(&mut talk);
    assert_eq!(talk.prompts().len(), 1);
    assert_eq!(
        talk.turns(TurnState::Cancelled).len(),
        1 + 1,
        "the running turn and the queued one"
    );
    assert!(!talk.driver().is_running());
}

#[test]
fn a_prompt_that_is_made_smaller_is_made_from_the_newest_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display();
    let script = format!(
        "cat >{path}/$$.prompt; [ -e {path}/first ] && echo read && exit 0; touch {path}/first; \
         echo 'prompt is too long: context length exceeded' >&2; exit 1"
    );
    let (store, mut driver) = begin(team(vec![shell("max", CommandOutput::Text, &script)]));
    driver.say(None, "The key is ab12.", &mut Heard::default()).unwrap();
    let secret = id_of(&driver, "ab12");
    store.redact(driver.session(), &secret, None).unwrap();
    append(&store, driver.session(), "I found gateway_7.");
    driver.run(&mut Heard::default()).unwrap();
    let mut prompts = Vec::new();
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let path = file.unwrap().path();
        prompts.extend(path.extension().map(|_| std::fs::read_to_string(&path).unwrap()));
    }
    prompts.sort_by_key(|prompt| !prompt.contains("ab12"));
    assert_eq!(prompts.len(), 2, "{prompts:#?}");
    assert!(!prompts[1].contains("ab12") && prompts[1].contains("gateway_7"), "{prompts:#?}");
    assert_eq!(texts(driver.entries()).last().map(String::as_str), Some("max: read\n"));
    assert_stored(&store, &driver);
}
