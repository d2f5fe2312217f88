//! Importing a session again adds only the new records, with the same ids, wherever the session was changed.

use proptest::prelude::*;
use tertulia_dialect::native::original_bytes;
use tertulia_session::{EntryId, EntryKind, NewEntry, Setting, TeamTask};
use tertulia_store::{Append, SessionId};

use crate::machine::{Machine, SESSION, lines};

fn is_link(kind: &EntryKind) -> bool {
    matches!(kind, EntryKind::NativeSession(_))
}

#[test]
fn importing_an_unchanged_session_adds_nothing() {
    let mut machine = Machine::new();
    let path = machine.claude("s.jsonl", "u1=Hello a1=Hi");
    machine.import(&path);
    let before = machine.log(SESSION);
    let again = machine.import_afresh(&path);
    assert_eq!((again.is_new, again.entries, again.problem_count), (false, 0, 0));
    assert_eq!(machine.log(SESSION), before);
}

#[test]
fn what_was_added_is_imported_behind_what_was_there() {
    let mut machine = Machine::new();
    let path = machine.claude("s.jsonl", "u1=Hello a1=Hi");
    machine.import(&path);
    machine.claude("s.jsonl", "u1=Hello a1=Hi u2=More a2=Yes");
    let again = machine.import_afresh(&path);
    assert_eq!((again.entries, again.messages, again.records), (2, 2, 4));
    assert_eq!(machine.said(SESSION), "u1:Hello a1:Hi u2:More a2:Yes");
    assert_eq!(machine.count(SESSION, is_link), 2);
    let whole = lines("u1=Hello a1=Hi u2=More a2=Yes");
    assert_eq!(original_bytes(&machine.log(SESSION), "").unwrap(), whole.as_bytes());
}

#[test]
fn new_records_follow_what_others_said_since() {
    let mut machine = Machine::new();
    let path = machine.claude("s.jsonl", "u1=Hello a1=Hi");
    machine.import(&path);
    let session = SESSION.parse::<SessionId>().unwrap();
    let task = NewEntry::new(EntryKind::TeamTask(TeamTask::set("Ship it")));
    machine
        .store
        .append_to_tail(&session, |tail| {
            let mut task = task.clone();
            task.parent_id = tail.cloned();
            Append::new([task.with_id("task".into())])
        })
        .unwrap();
    machine.claude("s.jsonl", "u1=Hello a1=Hi u2=More u3<u1=Aside");
    machine.import(&path);
    let log = machine.log(SESSION);
    let parent =
        |id: &str| log.iter().find(|one| one.id.as_str() == id).unwrap().parent_id.clone().unwrap();
    assert_eq!(parent("u2").as_str(), "task");
    assert_eq!(parent("u3").as_str(), "u1", "a branch of the agent stays one");
    assert_eq!(machine.said(SESSION), "u1:Hello u3:Aside");
}

#[test]
fn a_title_that_a_person_gave_stays() {
    let mut machine = Machine::new();
    let path = machine.claude("s.jsonl", "u1=Hello");
    machine.import(&path);
    let session = SESSION.parse::<SessionId>().unwrap();
    machine.store.rename(&session, "Mine").unwrap();
    let title = r#"{"type":"custom-title","customTitle":"Theirs","sessionId":"s-1"}"#;
    machine.write("s.jsonl", &format!("{}{title}\n", lines("u1=Hello")));
    machine.import(&path);
    assert_eq!(machine.store.own_title(&session).unwrap().as_deref(), Some("Mine"));
    let titles = |kind: &EntryKind| matches!(kind.setting(), Some(Setting::Title { .. }));
    assert_eq!(machine.count(SESSION, titles), 1);
}

#[test]
fn a_changed_record_becomes_another_version_on_a_branch() {
    let mut machine = Machine::new();
    let path = machine.claude("s.jsonl", "u1=Hello a1=Hi u2=Well?");
    machine.import(&path);
    machine.claude("s.jsonl", "u1=Hello a1=Bye u2=Well? a2=Yes");
    let again = machine.import_afresh(&path);
    assert_eq!((again.changed, again.entries), (1, 2));
    let log = machine.log(SESSION);
    let ids: Vec<_> = log.iter().map(|entry| entry.id.as_str()).collect();
    assert!(ids.contains(&"a1~2") && ids.contains(&"a2"), "{ids:?}");
    let once_more = machine.import_afresh(&path);
    assert_eq!((once_more.changed, once_more.entries), (0, 0));
    machine.claude("s.jsonl", "u1=Hello a1=Bye u2=Well? a2=Yes u3=On");
    assert_eq!(machine.import(&path).entries, 1);
}

#[test]
fn a_record_that_was_cut_off_is_imported_when_it_is_whole() {
    let mut machine = Machine::new();
    let whole = lines("u1=Hello a1=Hi");
    let cut = &whole[..whole.len() - 20];
    let path = machine.write("s.jsonl", cut);
    let first = machine.import(&path);
    assert_eq!((first.messages, first.problem_count), (1, 1));
    machine.write("s.jsonl", &whole);
    let again = machine.import(&path);
    assert_eq!((again.messages, again.problem_count, again.changed), (1, 0, 0));
    assert_eq!(original_bytes(&machine.log(SESSION), "").unwrap(), whole.as_bytes());
}

#[test]
fn a_redacted_record_stays_redacted() {
    let mut machine = Machine::new();
    let path = machine.claude("s.jsonl", "u1=Hello a1=the_secret u2=On");
    machine.import(&path);
    let session = SESSION.parse::<SessionId>().unwrap();
    machine.store.redact(&session, &"a1".into(), None).unwrap();
    machine.claude("s.jsonl", "u1=Hello a1=the_secret u2=On a2=More");
    let again = machine.import_afresh(&path);
    assert_eq!((again.entries, again.changed), (1, 0));
    // The result is the same if the records are compared one by one.
    machine.claude("s.jsonl", "u1=Hello a1=the_secret u2=Oh a2=More");
    machine.import_afresh(&path);
    assert!(!format!("{:?}", machine.log(SESSION)).contains("the secret"));
}

/// Returns everything in a log except its header and the entries that say how far it was imported.
fn content(machine: &Machine, id: &str) -> Vec<String> {
    let log = machine.log(id);
    let entry = |id: &EntryId| log.iter().find(|entry| entry.id == *id).unwrap();
    let entries = log.iter().skip(1).filter(|entry| !is_link(&entry.kind));
    let shown = entries.map(|one| {
        let mut parent = one.parent_id.as_ref().map(entry);
        while let Some(link) = parent.filter(|parent| is_link(&parent.kind)) {
            parent = link.parent_id.as_ref().map(entry);
        }
        let parent = parent.map(|parent| &parent.id).filter(|parent| **parent != log[0].id);
        format!("{} {parent:?} {:?} {:?} {:?}", one.id, one.kind, one.timestamp, one.meta)
    });
    shown.collect()
}

const AIDER: &str = "# aider chat started at 2026-01-31 12:00:00\n\n> Aider v0.86.0  \n> Model: gpt-5  \n\n\
    #### Rename f  \n#### to g.  \n\nDone:\n\n> a quote\n\n```\ng()\n```\n\n\n\
    > Tokens: 3.4k sent, 45 received.  \n> Applied edit to a.py  \n\n#### Café?  \n\nYes.\n\n\n\
    # aider chat started at 2026-02-01 12:00:00\n\n#### And now?  \n\nNow it is done.\n\n\
    > Tokens: 9 sent, 4 received.  \n";

#[test]
fn a_history_of_aider_that_grew_from_any_byte_is_the_history_imported_at_once() {
    let mut once = Machine::new();
    let imported = once.import(&once.write("p/.aider.chat.history.md", AIDER));
    assert_eq!((imported.problem_count, imported.messages), (0, 6));
    let id = imported.session.to_string();
    let expected = content(&once, &id);
    for cut in 1..AIDER.len() {
        let mut grown = Machine::new();
        let path = grown.path("p/.aider.chat.history.md");
        grown.write("p/.aider.chat.history.md", "");
        std::fs::write(&path, &AIDER.as_bytes()[..cut]).unwrap();
        if tertulia_dialect::native::detect(&AIDER.as_bytes()[..cut]).is_some()
            && let Ok(first) = grown.try_import(&path)
        {
            assert!(first.problem_count <= 1, "{cut}: {:?}", first.problems);
        }
        std::fs::write(&path, AIDER).unwrap();
        let last = grown.import_afresh(&path);
        assert_eq!((last.problem_count, last.changed), (0, 0), "{cut}");
        assert_eq!(content(&grown, &id), expected, "{cut}");
    }
}

#[test]
fn the_last_message_of_aider_is_left_out_and_reported_until_the_file_is_quiet() {
    let mut machine = Machine::new();
    let cut = AIDER.find("\n> Tokens").unwrap();
    let path = machine.write("p/.aider.chat.history.md", &AIDER[..cut]);
    let first = machine.import(&path);
    assert_eq!(first.messages, 1);
    assert_eq!(
        first.problems[0].to_string().split(';').next().unwrap(),
        "line 9: the last message may not be complete"
    );
    assert_eq!(machine.import_afresh(&path).problem_count, 1, "it is reported again");
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    let quiet = std::time::UNIX_EPOCH
        + std::time::Duration::from_millis(crate::machine::NOW as u64 - 61_000);
    file.set_modified(quiet).unwrap();
    let last = machine.import_afresh(&path);
    assert_eq!((last.messages, last.problem_count), (1, 0));
    // The agent had stopped for this long in the middle of a message.
    machine.write("p/.aider.chat.history.md", &AIDER.replace("g()", "g() or h()"));
    let again = machine.import_afresh(&path);
    assert_eq!(again.changed, 1, "both versions are kept, and nothing is lost");
    let log = machine.log(first.session.as_str());
    let said = log.iter().filter_map(|entry| entry.message()).map(|message| message.text());
    assert_eq!(said.filter(|text| text.contains("or h()")).count(), 1);
}

#[test]
fn a_message_that_an_agent_put_before_a_known_record_stays_on_the_branch() {
    let export = |first: &str, second: &str| {
        let text = |id: &str, text: &str| {
            format!(r#"{{"id":"{id}","messageID":"m","type":"text","text":"{text}"}}"#)
        };
        let parts = |said: &str| {
            let parts = said.split_whitespace().map(|word| text(&format!("prt_{word}"), word));
            parts.collect::<Vec<_>>().join(",").replace("\"m\"", "\"msg_1\"")
        };
        let info = |id: &str, role: &str| {
            format!(r#"{{"id":"{id}","sessionID":"ses_1","role":"{role}","time":{{"created":1}}}}"#)
        };
        let (one, two) = (info("msg_1", "user"), info("msg_2", "assistant"));
        let second = parts(second).replace("msg_1", "msg_2");
        format!(
            r#"{{"info":{{"id":"ses_1","projectID":"p","directory":"/src"}},"messages":[{{"info":{one},"parts":[{}]}},{{"info":{two},"parts":[{second}]}}]}}"#,
            parts(first)
        )
    };
    let mut machine = Machine::new();
    let id = machine.import(&machine.write("e.json", &export("one", ""))).session;
    machine.import_afresh(&machine.write("e.json", &export("one two", "three")));
    assert_eq!(machine.said(id.as_str()), "prt_one:one prt_two:two prt_three:three");
}

#[test]
fn a_document_that_grew_is_the_document_imported_at_once() {
    let document = |count: usize| {
        let message = |number: usize| {
            format!(
                "    {{\n      \"role\": \"{}\",\n      \"content\": [{{\"type\": \"text\", \"text\": \"m{number}\"}}]\n    }}",
                if usize::is_multiple_of(number, 2) { "user" } else { "assistant" }
            )
        };
        let messages: Vec<String> = (0..count).map(message).collect();
        format!("[\n{}\n]\n", messages.join(",\n"))
    };
    let mut grown = Machine::new();
    for count in 1..5 {
        let path = grown.write("task/api_conversation_history.json", &document(count));
        let imported = grown.import_afresh(&path);
        assert_eq!((imported.messages, imported.changed), (1, 0), "{count}");
    }
    assert_eq!(grown.said("cline-task").matches(":m").count(), 4);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_session_that_grew_in_any_steps_is_the_session_imported_at_once(
        parents in prop::collection::vec(any::<prop::sample::Index>(), 1..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let mut words = vec!["u0=m0".to_owned()];
        for (number, parent) in (1..).zip(&parents) {
            // Most records follow the previous one.
            let parent = parent.index(3 * number).min(number - 1);
            let name = |n: usize| if n.is_multiple_of(2) { format!("u{n}") } else { format!("a{n}") };
            words.push(format!("{}<{}=m{number}", name(number), name(parent)));
        }
        let whole = lines(&words.join(" "));
        let mut grown = Machine::new();
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(whole.len())).collect();
        ends.sort_unstable();
        ends.push(whole.len());
        for end in ends {
            let path = grown.write("s.jsonl", &whole[..end]);
            // A file without a complete record has no recognisable format yet.
            if whole[..end].contains('\n') {
                grown.import(&path);
            }
        }
        let mut once = Machine::new();
        let path = once.write("s.jsonl", &whole);
        once.import(&path);
        let records = |machine: &Machine| {
            let log = machine.log(SESSION);
            let texts = log.iter().filter(|entry| entry.message().is_some());
            texts.map(|entry| entry.id.to_string()).collect::<Vec<_>>()
        };
        prop_assert_eq!(records(&grown), records(&once));
        prop_assert_eq!(grown.said(SESSION), once.said(SESSION));
        // A line break that arrives after its record is no record of its own.
        let kept = original_bytes(&grown.log(SESSION), "").unwrap();
        prop_assert_eq!(kept.trim_ascii_end(), whole.as_bytes().trim_ascii_end());
    }
}
