//! Tests what a redaction removes, what it finds in other places, and which copies it reports.

use std::os::unix::fs::PermissionsExt;

use crate::workspace::Workspace;

const TEAM: &str = "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
    [[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [\"Noted.\"]\n\
    [[member]]\nname = \"scribe\"\nagent = \"scribe\"\n";
const SECRET: &str = "sk-secret-0234567890";

fn talked() -> Workspace {
    let workspace = Workspace::new(TEAM);
    let said = format!("@max We decided that the key is {SECRET}.");
    workspace.exits(0, &["run", &said, "--new", "talk", "--trust"]);
    workspace.exits(0, &["run", "@scribe minutes please", "--session", "talk"]);
    workspace
}

/// Returns the first entry that contains the secret.
fn reported_in(workspace: &Workspace) -> String {
    let reported =
        workspace.entries().into_iter().find(|entry| entry.to_string().contains(SECRET)).unwrap();
    reported["id"].as_str().unwrap().to_owned()
}

#[test]
fn summaries_of_the_scribe_are_redacted_with_the_entry_that_they_cite() {
    let workspace = talked();
    assert!(workspace.exits(0, &["sessions", "search", SECRET]).stdout.contains("scribe"));
    let entry = reported_in(&workspace);
    let output = workspace.exits(0, &["sessions", "redact", "talk", &entry]);
    assert!(
        output.stderr.contains("entries derived from it were redacted too: e-"),
        "{}",
        output.stderr
    );
    assert!(
        output.stderr.contains("cannot remove may remain in: earlier backups and exports"),
        "{}",
        output.stderr
    );
    assert!(!output.stderr.contains("guess"), "{}", output.stderr);
    for arguments in [&["sessions", "export", "talk"][..], &["sessions", "search", SECRET]] {
        let shown = workspace.exits(0, arguments).stdout;
        assert!(!shown.contains(SECRET), "{shown}");
    }
    assert!(workspace.exits(0, &["sessions", "verify"]).stdout.contains("  ok  "));
}

#[test]
fn the_same_text_elsewhere_is_named_with_the_command_that_redacts_it() {
    let workspace = talked();
    let said = format!("@max We decided that the key is {SECRET}.");
    let entry = reported_in(&workspace);
    workspace.exits(0, &["run", &said, "--new", "again"]);
    let output = workspace.exits(0, &["sessions", "redact", "talk", &entry, "--json"]);
    let record = &output.json()[0];
    assert_eq!(record["sameText"].as_array().unwrap().len(), 1, "{record}");
    assert_eq!(record["sameText"][0]["sessionId"], "again");
    let output = workspace.exits(0, &["sessions", "redact", "talk", &entry]);
    assert!(output.stderr.contains("was already redacted"), "{}", output.stderr);
}

#[test]
fn a_text_is_redacted_in_all_sessions_and_in_the_chat_history() {
    let workspace = talked();
    workspace.exits(0, &["run", &format!("@max psst {SECRET} psst"), "--new", "other"]);
    let history = workspace.root().join("data/chat_history");
    std::fs::write(&history, format!("hello\nthe key is {SECRET}\nbye\n")).unwrap();
    let refused = workspace.exits(2, &["sessions", "redact", "--text", SECRET]).stderr;
    assert!(refused.contains("--yes"), "{refused}");
    let output = workspace.exits(0, &["sessions", "redact", "--text", SECRET, "--yes", "--json"]);
    let record = &output.json()[0];
    assert!(record["purged"].as_array().unwrap().len() >= 3, "{record}");
    assert_eq!(record["chatHistoryLines"], 1, "{record}");
    assert_eq!(std::fs::read_to_string(&history).unwrap(), "hello\nbye\n");
    for session in ["talk", "other"] {
        let shown = workspace.exits(0, &["sessions", "export", session]).stdout;
        assert!(!shown.contains(SECRET), "{shown}");
    }
    let again = workspace.exits(0, &["sessions", "redact", "--text", SECRET, "--yes"]).stderr;
    assert!(again.contains("no entry contains this text"), "{again}");
}

#[test]
fn a_deletion_removes_what_was_said_in_the_session_from_the_chat_history() {
    let workspace = talked();
    let history = workspace.root().join("data/chat_history");
    let line = format!("@max We decided that the key is {SECRET}.");
    std::fs::write(&history, format!("hello\n{line}\nbye\n")).unwrap();
    let output = workspace.exits(0, &["sessions", "delete", "talk", "--yes"]);
    assert!(output.stderr.contains("removed 1 line from the chat history"), "{}", output.stderr);
    assert_eq!(std::fs::read_to_string(&history).unwrap(), "hello\nbye\n");
}

/// Returns a store of the first version, which the first command migrates, with a copy beside it.
fn migrated() -> (Workspace, std::path::PathBuf) {
    let workspace = Workspace::empty();
    let old = crate::harness::repository_file("crates/store/tests/fixtures/sessions-v1.db");
    let file = workspace.root().join("data/sessions.db");
    std::fs::copy(old, &file).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    workspace.exits(0, &["sessions", "list", "--all"]);
    let copies = std::fs::read_dir(workspace.root().join("data")).unwrap();
    let mut copies = copies.map(|one| one.unwrap().path());
    let copy = copies.find(|path| path.extension() == Some("bak".as_ref())).unwrap();
    (workspace, copy)
}

#[test]
fn a_redaction_removes_the_copy_of_a_migration_and_says_what_confirms_a_guess() {
    let (workspace, copy) = migrated();
    let log = workspace.exits(0, &["sessions", "export", "talk"]).stdout;
    let entries = log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let message = entries.into_iter().find(|entry| entry["type"] == "message").unwrap();
    let id = message["id"].as_str().unwrap();
    let output = workspace.exits(0, &["sessions", "redact", "talk", id]);
    let removed = format!("removed {}, a copy from before an update", copy.display());
    assert!(output.stderr.contains(&removed), "{}", output.stderr);
    // Entries of earlier versions have no salt.
    let guess = format!("the hash or the id of {id} can still be used to check a guess");
    assert!(output.stderr.contains(&guess), "{}", output.stderr);
    assert!(!copy.exists());
}

#[test]
fn a_deletion_removes_the_copy_of_a_migration() {
    let (workspace, copy) = migrated();
    let output = workspace.exits(0, &["sessions", "delete", "talk", "--yes"]);
    assert!(output.stderr.contains("a copy from before an update"), "{}", output.stderr);
    assert!(!copy.exists());
}

#[test]
fn a_redaction_of_an_entry_removes_its_lines_from_the_chat_history() {
    let workspace = talked();
    let history = workspace.root().join("data/chat_history");
    let line = format!("@max We decided that the key is {SECRET}.");
    std::fs::write(&history, format!("hello\n{line}\nbye\n")).unwrap();
    let output = workspace.exits(0, &["sessions", "redact", "talk", &reported_in(&workspace)]);
    assert!(output.stderr.contains("removed 1 line from the chat history"), "{}", output.stderr);
    assert_eq!(std::fs::read_to_string(&history).unwrap(), "hello\nbye\n");
}
