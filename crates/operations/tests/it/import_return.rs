//! Records that an agent adds to a session that was written for it are imported into the same log.

use tertulia_dialect::native::NativeFormat;
use tertulia_native::prefix_hash;
use tertulia_operations::handover::Link;
use tertulia_operations::handover::save::restore;
use tertulia_session::{
    EntryId, EntryKind, Fields, Message, NativeDirection, NativeSession, NewEntry, Speaker,
    SpeakerType, Timestamp,
};
use tertulia_store::{Append, NewSession, SessionId};

use crate::machine::{Machine, NOW, SESSION, lines};

/// Creates a session of ours with two messages, and records that a file was written from it.
fn handed_over(machine: &Machine, path: &std::path::Path, records: u64) -> SessionId {
    let id = "team".parse::<SessionId>().unwrap();
    machine.store.create(&NewSession { id: Some(id.clone()) }).unwrap();
    let header = machine.store.info(&id).unwrap().tail.unwrap();
    let said = |text: &str| {
        let ann = Speaker::new("ann", "Ann", SpeakerType::Human);
        NewEntry::new(EntryKind::Message(Message::said(ann, text)))
    };
    let first = said("Hello").with_parent(header).with_id("m1".into());
    let second = said("Well?").after(&first).with_id("m2".into());
    let bytes = std::fs::metadata(path).unwrap().len();
    let link = NativeSession {
        agent: "claude".into(),
        native_session_id: "s-1".into(),
        direction: NativeDirection::Written,
        path: path.to_str().map(Into::into),
        records,
        bytes,
        hash: prefix_hash(path, bytes).unwrap().unwrap().into(),
        last_record_id: Some("u2".into()),
        receipt: None,
        unknown: Fields::NONE,
    };
    let link = NewEntry::new(EntryKind::NativeSession(Box::new(link)));
    let link = link.after(&second).at(Timestamp::from_millis(NOW - 1000)).with_content_id();
    machine.store.append(&id, Append::new([first, second, link])).unwrap();
    id
}

#[test]
fn what_the_agent_added_follows_what_was_handed_over() {
    let mut machine = Machine::new();
    let path = machine.claude("s.jsonl", "u1=Hello u2=Well?");
    let id = handed_over(&machine, &path, 2);
    machine.claude("s.jsonl", "u1=Hello u2=Well? a1=Yes u3=Good");
    let imported = machine.import(&path);
    assert_eq!((imported.session.clone(), imported.is_new), (id, false));
    assert_eq!((imported.entries, imported.messages), (2, 2));
    let said = machine.said("team");
    assert_eq!(said, "m1:Hello m2:Well? claude-s-1/a1:Yes claude-s-1/u3:Good");
    assert_eq!(machine.import(&path).entries, 0);
    let log = machine.log("team");
    let link = Link::of(log.last().unwrap()).unwrap();
    assert_eq!((link.direction, link.records), (NativeDirection::Imported, 4));
    assert_eq!(link.anchor.as_str(), "claude-s-1/u3");
}

#[test]
fn an_untouched_session_adds_nothing() {
    let mut machine = Machine::new();
    let path = machine.claude("s.jsonl", "u1=Hello u2=Well?");
    handed_over(&machine, &path, 2);
    let before = machine.log("team");
    assert_eq!(machine.import(&path).entries, 0);
    assert_eq!(machine.log("team"), before);
}

#[test]
fn a_session_that_its_agent_rewrote_without_new_content_can_be_continued() {
    let aside = "{\"type\":\"mode\",\"mode\":\"normal\",\"sessionId\":\"s-1\"}\n";
    let mut machine = Machine::new();
    let path = machine.write("s.jsonl", &(lines("u1=Hello u2=Well?") + aside));
    machine.import(&path);
    machine.claude("s.jsonl", "u1=Hello u2=Well?");
    assert_eq!(machine.import(&path).entries, 0);
    let link = Link::of(machine.log(SESSION).last().unwrap()).unwrap();
    let bytes = std::fs::metadata(&path).unwrap().len();
    assert_eq!((link.bytes, link.direction), (bytes, NativeDirection::Imported));
    assert_eq!(Some(&*link.hash), prefix_hash(&path, bytes).unwrap().as_deref());
    let before = machine.log(SESSION);
    assert_eq!(machine.import(&path).entries, 0);
    assert_eq!(machine.log(SESSION), before, "the link is up to date");
    machine.claude("s.jsonl", "u1=Hello u2=Well? a1=Yes");
    assert_eq!(machine.import(&path).entries, 1);
    assert_eq!(machine.said(SESSION), "u1:Hello u2:Well? a1:Yes");
}

#[test]
fn a_line_break_that_arrived_after_its_record_is_restored_too() {
    let mut machine = Machine::new();
    let whole = lines("u1=Hello u2=Well?");
    let path = machine.write("s.jsonl", whole.trim_end());
    machine.import(&path);
    machine.write("s.jsonl", &whole);
    assert_eq!(machine.import(&path).entries, 0);
    std::fs::remove_file(&path).unwrap();
    let log = machine.log(SESSION);
    let link = Link::of(log.last().unwrap()).unwrap();
    assert!(restore(&log, &link).unwrap().is_some());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), whole);
}

#[test]
fn a_session_that_moved_is_continued_in_its_new_place_and_a_copy_is_not() {
    let mut machine = Machine::new();
    let path = machine.claude("s.jsonl", "u1=Hello u2=Well?");
    handed_over(&machine, &path, 2);
    let before = machine.log("team");
    let copy = machine.claude("copy/s.jsonl", "u1=Hello u2=Well?");
    assert_eq!(machine.import(&copy).entries, 0);
    assert_eq!(machine.log("team"), before, "the file of the agent still exists");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(machine.import(&copy).entries, 0);
    let link = Link::of(machine.log("team").last().unwrap()).unwrap();
    assert_eq!(link.path.as_deref(), copy.to_str());
}

#[test]
fn what_branches_off_stays_a_branch_and_what_goes_on_follows_the_newest_entry() {
    let mut machine = Machine::new();
    let path = machine.claude("s.jsonl", "u1=Hello u2=Well?");
    let id = handed_over(&machine, &path, 2);
    let ann = Speaker::new("ann", "Ann", SpeakerType::Human);
    let meanwhile = NewEntry::new(EntryKind::Message(Message::said(ann, "Meanwhile")));
    machine
        .store
        .append_to_tail(&id, |tail| {
            let mut entry = meanwhile.clone();
            entry.parent_id = tail.cloned();
            Append::new([entry.with_id("m3".into())])
        })
        .unwrap();
    machine.claude("s.jsonl", "u1=Hello u2=Well? a1=Yes");
    machine.import(&path);
    assert_eq!(machine.said("team"), "m1:Hello m2:Well? m3:Meanwhile claude-s-1/a1:Yes");
}

#[test]
fn records_in_which_nothing_is_said_do_not_lead_away_from_what_others_said() {
    let mut machine = Machine::new();
    let path = machine.claude("s.jsonl", "u1=Hello u2=Well?");
    let id = handed_over(&machine, &path, 2);
    let ann = Speaker::new("ann", "Ann", SpeakerType::Human);
    let meanwhile = NewEntry::new(EntryKind::Message(Message::said(ann, "Meanwhile")));
    let meanwhile = |tail: Option<&EntryId>| {
        let mut entry = meanwhile.clone();
        entry.parent_id = tail.cloned();
        Append::new([entry.with_id("m3".into())])
    };
    machine.store.append_to_tail(&id, meanwhile).unwrap();
    let aside = "{\"type\":\"mode\",\"mode\":\"normal\",\"sessionId\":\"s-1\"}\n";
    machine.write("s.jsonl", &(lines("u1=Hello u2=Well?") + aside));
    assert_eq!(machine.import(&path).entries, 1);
    assert_eq!(machine.said("team"), "m1:Hello m2:Well? m3:Meanwhile");
    machine.write("s.jsonl", &(lines("u1=Hello u2=Well?") + aside + &lines("a1<u2=Yes")));
    assert_eq!(machine.import(&path).entries, 1);
    assert_eq!(machine.said("team"), "m1:Hello m2:Well? m3:Meanwhile claude-s-1/a1:Yes");
}

#[test]
fn records_of_two_agents_with_the_same_names_do_not_collide() {
    let mut machine = Machine::new();
    let first = machine.claude("s.jsonl", "u1=Hello a1=Hi");
    let imported = machine.import(&first);
    // The same log is handed over as another session whose records happen to have the same ids.
    let text = lines("u1=Hello a1=Hi").replace("s-1", "s-2");
    let second = machine.write("t.jsonl", &text);
    let bytes = text.len() as u64;
    let link = NativeSession {
        agent: NativeFormat::Claude.as_str().into(),
        native_session_id: "s-2".into(),
        direction: NativeDirection::Written,
        path: None,
        records: 2,
        bytes,
        hash: prefix_hash(&second, bytes).unwrap().unwrap().into(),
        last_record_id: None,
        receipt: None,
        unknown: Fields::NONE,
    };
    let link = NewEntry::new(EntryKind::NativeSession(Box::new(link)));
    let link = link.with_parent("a1".into()).at(Timestamp::from_millis(NOW)).with_content_id();
    machine.store.append(&imported.session, Append::new([link])).unwrap();
    machine.write("t.jsonl", &(text + &lines("u2<a1=Two").replace("s-1", "s-2")));
    let back = machine.import(&second);
    assert_eq!((back.session.as_str(), back.entries), (imported.session.as_str(), 1));
    machine.claude("s.jsonl", "u1=Hello a1=Hi u2=One");
    assert_eq!(machine.import(&first).entries, 1);
    let said = machine.said(imported.session.as_str());
    assert_eq!(said, "u1:Hello a1:Hi claude-s-2/u2:Two u2:One");
}
