//! What a redaction takes along, what it finds elsewhere, and what it says is left.

use std::os::unix::fs::PermissionsExt;

use crate::room::Room;

const TEAM: &str = "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
    [[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [\"Noted.\"]\n\
    [[member]]\nname = \"scribe\"\nagent = \"scribe\"\n";
const SECRET: &str = "sk-secret-0234567890";

fn talked() -> Room {
    let room = Room::new(TEAM);
    let said = format!("@max We decided that the key is {SECRET}.");
    room.exits(0, &["run", &said, "--new", "talk", "--trust"]);
    room.exits(0, &["run", "@scribe minutes please", "--session", "talk"]);
    room
}

/// The first entry that holds the secret.
fn told_in(room: &Room) -> String {
    let told = room.entries().into_iter().find(|entry| entry.to_string().contains(SECRET)).unwrap();
    told["id"].as_str().unwrap().to_owned()
}

#[test]
fn minutes_of_the_scribe_go_with_the_entry_that_they_cite() {
    let room = talked();
    assert!(room.exits(0, &["sessions", "search", SECRET]).stdout.contains("scribe"));
    let entry = told_in(&room);
    let left = room.exits(0, &["sessions", "redact", "talk", &entry]);
    assert!(left.stderr.contains("so are entries that were made from it: e-"), "{}", left.stderr);
    assert!(left.stderr.contains("out of reach: backups and exports"), "{}", left.stderr);
    assert!(!left.stderr.contains("guess"), "{}", left.stderr);
    for arguments in [&["sessions", "export", "talk"][..], &["sessions", "search", SECRET]] {
        let shown = room.exits(0, arguments).stdout;
        assert!(!shown.contains(SECRET), "{shown}");
    }
    assert!(room.exits(0, &["sessions", "verify"]).stdout.contains("whole"));
}

#[test]
fn the_same_text_elsewhere_is_named_with_the_command_that_redacts_it() {
    let room = talked();
    let said = format!("@max We decided that the key is {SECRET}.");
    let entry = told_in(&room);
    room.exits(0, &["run", &said, "--new", "again"]);
    let left = room.exits(0, &["sessions", "redact", "talk", &entry, "--json"]);
    let record = &left.json()[0];
    assert_eq!(record["sameText"].as_array().unwrap().len(), 1, "{record}");
    assert_eq!(record["sameText"][0]["sessionId"], "again");
    let left = room.exits(0, &["sessions", "redact", "talk", &entry]);
    assert!(left.stderr.contains("was redacted before"), "{}", left.stderr);
}

#[test]
fn a_text_is_redacted_in_all_sessions_and_in_the_chat_history() {
    let room = talked();
    room.exits(0, &["run", &format!("@max psst {SECRET} psst"), "--new", "other"]);
    let history = room.root().join("data/chat_history");
    std::fs::write(&history, format!("hello\nthe key is {SECRET}\nbye\n")).unwrap();
    let refused = room.exits(2, &["sessions", "redact", "--text", SECRET]).stderr;
    assert!(refused.contains("--yes"), "{refused}");
    let left = room.exits(0, &["sessions", "redact", "--text", SECRET, "--yes", "--json"]);
    let record = &left.json()[0];
    assert!(record["purged"].as_array().unwrap().len() >= 3, "{record}");
    assert_eq!(record["chatHistoryLines"], 1, "{record}");
    assert_eq!(std::fs::read_to_string(&history).unwrap(), "hello\nbye\n");
    for session in ["talk", "other"] {
        let shown = room.exits(0, &["sessions", "export", session]).stdout;
        assert!(!shown.contains(SECRET), "{shown}");
    }
    let again = room.exits(0, &["sessions", "redact", "--text", SECRET, "--yes"]).stderr;
    assert!(again.contains("no entry holds this text"), "{again}");
}

#[test]
fn a_deletion_removes_what_was_said_in_the_session_from_the_chat_history() {
    let room = talked();
    let history = room.root().join("data/chat_history");
    let line = format!("@max We decided that the key is {SECRET}.");
    std::fs::write(&history, format!("hello\n{line}\nbye\n")).unwrap();
    let left = room.exits(0, &["sessions", "delete", "talk", "--yes"]);
    assert!(left.stderr.contains("1 line of the chat history removed"), "{}", left.stderr);
    assert_eq!(std::fs::read_to_string(&history).unwrap(), "hello\nbye\n");
}

/// A store of the first version, which the first command migrates, with a copy beside it.
fn migrated() -> (Room, std::path::PathBuf) {
    let room = Room::empty();
    let old = crate::harness::repository_file("crates/store/tests/fixtures/sessions-v1.db");
    let file = room.root().join("data/sessions.db");
    std::fs::copy(old, &file).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    room.exits(0, &["sessions", "list", "--all"]);
    let copies = std::fs::read_dir(room.root().join("data")).unwrap();
    let mut copies = copies.map(|one| one.unwrap().path());
    let copy = copies.find(|path| path.extension() == Some("bak".as_ref())).unwrap();
    (room, copy)
}

#[test]
fn a_redaction_removes_the_copy_of_a_migration_and_says_what_confirms_a_guess() {
    let (room, copy) = migrated();
    let log = room.exits(0, &["sessions", "export", "talk"]).stdout;
    let entries = log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let message = entries.into_iter().find(|entry| entry["type"] == "message").unwrap();
    let id = message["id"].as_str().unwrap();
    let left = room.exits(0, &["sessions", "redact", "talk", id]);
    let removed = format!("removed {}, a copy from before an update", copy.display());
    assert!(left.stderr.contains(&removed), "{}", left.stderr);
    // Entries of earlier versions have no salt.
    let guess = format!("the hash or the id of {id} can still confirm a guess");
    assert!(left.stderr.contains(&guess), "{}", left.stderr);
    assert!(!copy.exists());
}

#[test]
fn a_deletion_removes_the_copy_of_a_migration() {
    let (room, copy) = migrated();
    let left = room.exits(0, &["sessions", "delete", "talk", "--yes"]);
    assert!(left.stderr.contains("a copy from before an update"), "{}", left.stderr);
    assert!(!copy.exists());
}

#[test]
fn a_redaction_of_an_entry_removes_its_lines_from_the_chat_history() {
    let room = talked();
    let history = room.root().join("data/chat_history");
    let line = format!("@max We decided that the key is {SECRET}.");
    std::fs::write(&history, format!("hello\n{line}\nbye\n")).unwrap();
    let left = room.exits(0, &["sessions", "redact", "talk", &told_in(&room)]);
    assert!(left.stderr.contains("1 line of the chat history removed"), "{}", left.stderr);
    assert_eq!(std::fs::read_to_string(&history).unwrap(), "hello\nbye\n");
}
