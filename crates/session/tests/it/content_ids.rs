//! Ids that are computed from content: the same content has the same id everywhere, and any other content has
//! another one.

use tertulia_session::{EntryId, EntryKind, NewEntry, RecordHash, Salt, TeamTask, Timestamp};

use crate::entry_wire::{at, read, said, view, write};

#[test]
fn an_id_is_the_hash_of_the_record_without_the_id() {
    let task = NewEntry::new(EntryKind::TeamTask(TeamTask::set("Ship it")));
    let mut entry = task.at(Timestamp::from_millis(5)).in_run("r").with_content_id();
    let record = r#"{"type":"team_task","timestamp":5,"runId":"r","payload":{"task":"Ship it"}}"#;
    let hex = blake3::hash(record.as_bytes()).to_hex();
    assert_eq!(entry.id.as_str(), format!("e-{}", &hex[..32]));
    assert_eq!(write(&entry), record.replacen('{', &format!("{{\"id\":\"{}\",", entry.id), 1));

    entry.parent_id = Some(EntryId::from("p"));
    let chained = blake3::hash(format!("{{\"parentId\":\"p\",{}", &record[1..]).as_bytes());
    assert_eq!(entry.content_id().as_str(), format!("e-{}", &chained.to_hex()[..32]));
}

#[test]
fn the_id_itself_does_not_count() {
    assert_eq!(at("a", said("x")).content_id(), at("b", said("x")).content_id());
}

#[test]
fn another_parent_time_run_or_note_is_another_id() {
    let texts = [
        r#"{"id":"a","type":"custom"}"#,
        r#"{"id":"a","type":"custom","payload":null}"#,
        r#"{"id":"a","type":"custom","payload":1}"#,
        r#"{"id":"a","type":"custom","payload":1.0}"#,
        r#"{"id":"a","type":"Custom"}"#,
        r#"{"id":"a","parentId":"b","type":"custom"}"#,
        r#"{"id":"a","parentId":"c","type":"custom"}"#,
        r#"{"id":"a","type":"custom","timestamp":0}"#,
        r#"{"id":"a","type":"custom","timestamp":"1970-01-01T00:00:00Z"}"#,
        r#"{"id":"a","type":"custom","runId":"b"}"#,
        r#"{"id":"a","type":"custom","meta":{}}"#,
        r#"{"id":"a","type":"custom","x":{}}"#,
    ];
    let ids: std::collections::HashSet<EntryId> =
        texts.iter().map(|text| read(text).unwrap().content_id()).collect();
    assert_eq!(ids.len(), texts.len());
}

#[test]
fn the_order_of_known_fields_and_whitespace_do_not_count() {
    let text =
        r#"{"id":"a","parentId":"b","type":"redaction","payload":{"targetId":"t","reason":"r"}}"#;
    let mixed = r#" { "payload" : {"reason":"r", "targetId":"t"}, "type":"redaction", "parentId":"b", "id":"a" }"#;
    assert_eq!(read(text).unwrap().content_id(), read(mixed).unwrap().content_id());
}

#[test]
fn the_example_of_the_reference_is_true() {
    let page = include_str!("../../../../docs/session-record.md");
    let record = page.lines().find(|line| line.starts_with("{\"id\":\"e-1\"")).unwrap();
    let id = read(record).unwrap().content_id();
    assert!(page.contains(&record.replacen("\"id\":\"e-1\",", "", 1)), "the record without its id");
    assert!(page.contains(&format!("\n{}\n", &id.as_str()[2..])), "{id}");
}

#[test]
fn a_salt_makes_the_id_and_the_hash_independent_of_a_guess() {
    let said = |salt: u8| {
        let task = NewEntry::new(EntryKind::TeamTask(TeamTask::set("PIN 482913")));
        task.salted(Salt::from_bytes([salt; 16])).with_content_id()
    };
    let plain = NewEntry::new(EntryKind::TeamTask(TeamTask::set("PIN 482913"))).with_content_id();
    assert_ne!(said(1).id, said(2).id);
    assert_ne!(said(1).id, plain.id);
    assert_ne!(RecordHash::from(&said(1)), RecordHash::from(&said(2)));
}

#[test]
fn an_entry_that_comes_again_with_another_salt_is_a_repetition() {
    let text = r#"{"id":"a","type":"team_task","payload":{"task":"x"},"meta":{},"x":1}"#;
    let salted = text.replace(r#","x":1"#, r#","salt":"000102030405060708090a0b0c0d0e0f","x":1"#);
    let other = salted.replace("000102", "ff0102");
    let log = [text, &salted, &other].map(|line| read(line).unwrap());
    assert_eq!(write(&log[1]), salted);
    assert_eq!(view(&log).unwrap().len(), 1);
    let changed = read(&salted.replace(r#""task":"x""#, r#""task":"y""#)).unwrap();
    assert!(view(&[log[0].clone(), changed]).is_err());
}

#[test]
fn what_is_no_salt_is_kept_as_an_unknown_field() {
    for salt in [r#""abc""#, "7", r#""000102030405060708090A0B0C0D0E0F""#, "null"] {
        let text = format!(r#"{{"id":"a","type":"custom","salt":{salt}}}"#);
        let entry = read(&text).unwrap();
        assert_eq!((entry.salt, write(&entry)), (None, text));
    }
}
