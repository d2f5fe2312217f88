//! Every change of a native session that Tertulia did not cause is noticed, in the files that the real programs write.

use std::fs;
use std::path::PathBuf;

use tertulia_agent::{AgentSpec, Drift, KeptAgents};

use crate::injected;
use crate::kept::{Conversation, for_each_kept_program};
use crate::program::Program;

mod kept {
    use super::*;

    for_each_kept_program![
        every_change_of_the_file_is_noticed,
        what_the_agent_writes_when_it_exits_is_no_change,
        a_summary_is_noticed,
        another_setting_is_noticed,
        another_session_of_the_same_agent_does_not_matter,
    ];
}

mod resumed {
    use super::*;

    mod copilot {
        #[test]
        fn every_change_of_the_file_is_noticed() {
            super::every_change_of_the_file_is_noticed(crate::program::Program::Copilot);
        }
    }
    mod pi {
        #[test]
        fn every_change_of_the_file_is_noticed() {
            super::every_change_of_the_file_is_noticed(crate::program::Program::Pi);
        }
    }
    mod opencode {
        #[test]
        fn a_turn_of_somebody_else_is_noticed() {
            super::a_turn_of_somebody_else_is_noticed(crate::program::Program::OpenCode);
        }
    }
}

fn talk(program: Program) -> (Conversation, PathBuf) {
    let mut talk = Conversation::new(program);
    talk.say_well("The first question. say: one");
    talk.say_well("The second question. say: two");
    let path = talk.head.as_ref().and_then(|head| head.path.clone()).expect("a file");
    (talk, path)
}

/// Returns the word of the drift after this change of the file. The file is restored.
#[track_caller]
fn drift_after(
    talk: &Conversation,
    path: &PathBuf,
    change: impl FnOnce(&mut Vec<u8>),
) -> &'static str {
    let original = fs::read(path).expect("the session");
    assert_eq!(talk.check(), Ok(()), "nothing has changed yet");
    let mut changed = original.clone();
    change(&mut changed);
    fs::write(path, changed).expect("a changed session");
    let drift = talk.check();
    fs::write(path, original).expect("the session");
    assert_eq!(talk.check(), Ok(()), "nothing is changed any more");
    drift.expect_err("the change was not noticed").word()
}

fn every_change_of_the_file_is_noticed(program: Program) {
    let (talk, path) = talk(program);
    let size = fs::metadata(&path).expect("the session").len() as usize;
    // A byte of every part of the file.
    for part in 0..20 {
        let at = part * (size - 1) / 19;
        let word = drift_after(&talk, &path, |bytes| bytes[at] ^= 1);
        assert!(["edited", "other_session", "continued", "unreadable"].contains(&word), "{word}");
    }
    assert_eq!(drift_after(&talk, &path, |bytes| bytes.truncate(size / 2)), "shortened");
    assert_eq!(drift_after(&talk, &path, Vec::clear), "shortened");
    // The last answer again, as if somebody else had written it.
    let word = drift_after(&talk, &path, |bytes| {
        let answer = last_answer(&String::from_utf8_lossy(bytes)).to_owned();
        bytes.extend_from_slice(format!("{answer}\n").as_bytes());
    });
    assert!(["continued", "forked"].contains(&word), "{word}");
    assert_eq!(drift_after(&talk, &path, |bytes| bytes.extend(b"{\"half")), "continued");
    let moved = path.with_extension("moved");
    fs::rename(&path, &moved).expect("a moved session");
    assert_eq!(talk.check().expect_err("it is gone").word(), "missing");
    fs::create_dir(&path).expect("a folder in its place");
    assert_eq!(talk.check().expect_err("it is a folder").word(), "unreadable");
    fs::remove_dir(&path).expect("no folder");
    fs::rename(&moved, &path).expect("the session");
    assert_eq!(talk.check(), Ok(()));
    every_injected_change_is_noticed(&talk, &path);
    // The turn checks again.
    let original = fs::read(&path).expect("the session");
    fs::write(&path, &original[..original.len() / 2]).expect("half of it");
    let before = talk.trial.models.asked().len();
    let outcome = talk.trial.run_with(("Third. say: three", 0), talk.memory(), || false);
    assert_eq!(outcome.report.drift, Some(Drift::Shortened { path }));
    assert_eq!(outcome.asked.len(), before, "nothing was sent");
    assert!(outcome.report.native.is_none());
}

/// Returns the line with the last answer.
fn last_answer(text: &str) -> &str {
    let is_screen = |line: &str| line.contains("event_msg");
    let is_answer =
        |line: &&str| line.contains("two") && !line.contains("question") && !is_screen(line);
    text.lines().rfind(is_answer).expect("an answer")
}

/// Changes the file in many ways from a seed.
fn every_injected_change_is_noticed(talk: &Conversation, path: &PathBuf) {
    let known = talk.head.as_ref().expect("a head").bytes;
    for number in 0..injected::CHANGES {
        let original = fs::read(path).expect("the session");
        let text = String::from_utf8_lossy(&original).into_owned();
        let messages = [last_answer(&text)];
        let (kind, changed) = injected::Lines::read(&original, known, &messages).changed(number);
        fs::write(path, changed).expect("a changed session");
        let drift = talk.check();
        fs::write(path, original).expect("the session");
        assert!(drift.is_err(), "change {number} ({kind}) was missed");
        assert_eq!(talk.check(), Ok(()), "after change {number} ({kind})");
    }
}

fn what_the_agent_writes_when_it_exits_is_no_change(program: Program) {
    let (mut talk, _) = talk(program);
    talk.kept.end_all();
    assert_eq!(talk.check(), Ok(()));
    talk.say_well("The third question. say: three");
    talk.kept = KeptAgents::new();
    assert_eq!(talk.check(), Ok(()));
}

fn a_summary_is_noticed(program: Program) {
    let (talk, path) = talk(program);
    let line = match program {
        Program::Claude => {
            r#"{"parentUuid":null,"isSidechain":false,"type":"system","subtype":"compact_boundary","content":"Conversation compacted","compactMetadata":{"trigger":"auto","preTokens":900},"uuid":"00000000-0000-4000-8000-000000000001","timestamp":"2026-03-01T10:00:09.000Z","sessionId":"s-1"}"#
        }
        _ => {
            r#"{"timestamp":"2026-03-01T10:00:09.000Z","type":"compacted","payload":{"message":"Done.","replacement_history":[]}}"#
        }
    };
    let word = drift_after(&talk, &path, |bytes| bytes.extend(format!("{line}\n").into_bytes()));
    assert_eq!(word, "compacted");
}

fn another_setting_is_noticed(program: Program) {
    let (talk, _) = talk(program);
    let head = talk.head.as_ref().expect("a head");
    let changed =
        |spec: &AgentSpec, system: Option<&str>| match talk.kept.check("max", spec, system, head) {
            Err(Drift::Settings { changed }) => changed,
            other => panic!("{other:?}"),
        };
    let spec = AgentSpec { model: Some("other".into()), ..talk.trial.spec.clone() };
    assert_eq!(&*changed(&spec, talk.trial.system), "model");
    assert_eq!(&*changed(&talk.trial.spec, Some("You are Eva.")), "instructions");
    let spec = AgentSpec { cwd: talk.trial.home(), ..talk.trial.spec.clone() };
    assert_eq!(&*changed(&spec, talk.trial.system), "folder");
}

fn another_session_of_the_same_agent_does_not_matter(program: Program) {
    let (talk, _) = talk(program);
    let outcome = talk.trial.run("A turn of its own. say: three");
    assert_eq!(outcome.text(), "three");
    assert_eq!(talk.check(), Ok(()));
}

fn a_turn_of_somebody_else_is_noticed(program: Program) {
    let mut talk = Conversation::new(program);
    talk.say_well("The first question. say: one");
    let ours = talk.head.clone();
    let outcome = talk.trial.run("A turn of its own. say: three");
    assert_eq!(outcome.text(), "three");
    assert_eq!(talk.check(), Ok(()));
    talk.say_well("The second question. say: two");
    talk.head = ours;
    // Its session is in a database, so only the turn compares it.
    let prompt = ("The third question.", 0);
    let asked = talk.trial.models.asked().len();
    let outcome = talk.trial.run_with(prompt, talk.memory(), || false);
    assert_eq!(outcome.report.drift, Some(Drift::Continued { messages: 2 }));
    assert_eq!(talk.trial.models.asked().len(), asked, "nothing was sent");
}
