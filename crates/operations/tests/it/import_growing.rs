//! Importing a session again adds only the new records, with the same ids, wherever the session was changed.

use proptest::prelude::*;
use tertulia_dialect::native::original_bytes;
use tertulia_session::{EntryKind, NewEntry, Setting, TeamTask};
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
        prop_assert_eq!(original_bytes(&grown.log(SESSION), "").unwrap(), whole.as_bytes());
    }
}
