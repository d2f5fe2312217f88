//! Tests prompts and contexts from stored sessions.

use serde_json::Value;

use crate::harness::{Outcome, TestStore, repository_file, said, tertulia};

fn example(path: &str) -> String {
    std::fs::read_to_string(repository_file(path)).unwrap()
}

fn context(store: &TestStore, arguments: &[&str]) -> Outcome {
    tertulia(&[&["context", "--store", &store.url()], arguments].concat(), "")
}

fn build(store: &TestStore, arguments: &[&str], input: &str) -> Outcome {
    tertulia(&[&["build", "--store", &store.url()], arguments].concat(), input)
}

#[test]
fn one_of_session_and_snapshot_is_needed() {
    let store = TestStore::new();
    assert!(context(&store, &[]).exits_with(2));
    assert!(context(&store, &["--session", "a", "--snapshot", "-"]).exits_with(2));
    assert!(context(&store, &["--session", "a"]).stderr.contains("there are no sessions yet"));
}

/// Returns a session of this many messages, with its task at the beginning, and many entries that are not messages
/// between the last messages.
fn long(messages: usize, noise: usize) -> String {
    let mut log = vec![r#"{"id":"t","type":"team_task","payload":{"task":"Count"}}"#.to_owned()];
    for number in 0..messages {
        log.push(said(&format!("m-{number}"), "user", &format!("This is {number}.")));
    }
    log.extend((0..noise).map(|number| format!(r#"{{"id":"n-{number}","type":"custom"}}"#)));
    log.push(said("last", "user", "The last."));
    log.join("\n")
}

#[test]
fn messages_and_the_task_are_found_however_far_back_they_are() {
    let store = TestStore::new();
    store.import("noisy", &long(300, 700));
    let prompt = context(&store, &["--session", "noisy", "--type", "claude", "--window", "2"]);
    let end = "\n- user -> all: This is 298.\n- user -> all: This is 299.\n\n\
               [MESSAGE from user]\n  The last.";
    assert!(prompt.stdout.starts_with("[TEAM_TASK]\n  Count\n\n[CONTEXT]\n"), "{}", prompt.stdout);
    assert!(prompt.stdout.ends_with(end), "{}", prompt.stdout);
    assert_eq!(prompt.stderr, "");
}

#[test]
fn a_table_says_what_became_of_older_messages() {
    let store = TestStore::new();
    store.import("noisy", &long(300, 0));
    let table = context(&store, &["--session", "noisy", "--explain", "--window", "5"]);
    assert!(table.stdout.contains("This is 295."), "{}", table.stdout);
    assert!(table.stdout.contains("295  messages covered by the summary"), "{}", table.stdout);
    assert_eq!(table.stderr, "");
}

#[test]
fn what_was_redacted_and_what_is_on_another_branch_is_in_no_prompt() {
    let store = TestStore::new();
    store.import("login", &example("examples/session.jsonl"));
    store.prints(&["redact", "login", "e-3"], "");
    store.prints(&["branch", "login", "e-8"], "");
    let prompt = context(&store, &["--session", "login", "--type", "claude", "--window", "50"]);
    assert!(prompt.stdout.contains("I look for the code first."));
    assert!(prompt.stdout.ends_with("so every lock lasts for centuries."), "{}", prompt.stdout);
    for gone in ["do not touch the database", "Mend attempts::add, and write a test"] {
        assert!(!prompt.stdout.contains(gone), "{gone}");
        let built = build(&store, &["--session", "login", "--budget", "9000"], "");
        assert!(built.exits_with(0) && !built.stdout.contains(gone), "{gone}");
    }
}

#[test]
fn a_context_from_a_session_is_that_of_its_log() {
    let store = TestStore::new();
    store.import("login", &example("examples/session.jsonl"));
    let path = repository_file("examples/session.jsonl").display().to_string();
    let flags = ["--model", "claude-sonnet-4-5", "--budget", "600"];
    for more in [&[][..], &["--explain"], &["--format", "anthropic"]] {
        let from = |source: [&str; 2]| build(&store, &[&source, &flags[..], more].concat(), "");
        let (stored, file) = (from(["--session", "login"]), from(["--log", &path]));
        assert!(stored.exits_with(0), "{}", stored.stderr);
        assert_eq!(stored.stdout, file.stdout);
    }
    assert_eq!(store.prints(&["export", "login"], ""), example("examples/session.jsonl"));
}

#[test]
fn new_entries_are_appended_when_that_is_asked_for() {
    let store = TestStore::new();
    store.import("login", &example("examples/session.jsonl"));
    let flags =
        ["--session", "login", "--model", "claude-sonnet-4-5", "--budget", "600", "--append"];
    let input = r#"{"inputMessages":[{"role":"assistant","content":"Done."},{"role":"user","content":"Thanks."}]}"#;
    let built = build(&store, &[&flags[..], &["-"]].concat(), input);
    assert!(built.exits_with(0), "{}", built.stderr);
    let result: Value = serde_json::from_str(&built.stdout).unwrap();
    let made = result["entriesToAppend"].as_array().unwrap();
    assert!(made.len() >= 2);
    let log = store.prints(&["export", "login"], "");
    assert_eq!(log.lines().count(), 9 + made.len());
    let mut last: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    assert!(last.as_object_mut().unwrap().remove("salt").is_some(), "{last}");
    assert_eq!(last, made[made.len() - 1]);
    // The same input is already stored now.
    let again = build(&store, &[&flags[..], &["-"]].concat(), input);
    let result: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(result["entriesToAppend"], serde_json::json!([]));
    assert_eq!(store.prints(&["export", "login"], ""), log);
    assert!(build(&store, &["--append", "--budget", "9"], "{}").exits_with(2));
}

#[test]
fn counts_of_tokens_are_kept_with_the_entries() {
    use tertulia_store::{Range, SessionId, SessionStore, StoreUrl};
    let store = TestStore::new();
    store.import("login", &example("examples/session.jsonl"));
    build(&store, &["--session", "login", "--model", "claude-sonnet-4-5", "--budget", "9000"], "");
    let store = SessionStore::open(&store.url().parse::<StoreUrl>().unwrap()).unwrap();
    let stored = store.load(&"login".parse::<SessionId>().unwrap(), &Range::All).unwrap();
    let counted: Vec<_> = stored.iter().filter_map(|one| one.count.clone()).collect();
    assert_eq!(counted.len(), 7, "every message");
    assert!(counted.iter().all(|count| &*count.tokenizer == "claude" && count.tokens > 0));
}

#[test]
fn a_session_is_shown_as_to_a_member_and_a_snapshot_with_the_window_of_the_library() {
    let store = TestStore::new();
    let log: Vec<String> =
        (0..30).map(|n| said(&format!("m{n}"), "user", &format!("word{n}."))).collect();
    store.import("long", &log.join("\n"));
    let messages = |text: &str| (0..30).filter(|n| text.contains(&format!("word{n}."))).count();
    let session = context(&store, &["--session", "long", "--type", "claude"]);
    // Messages that no summary covers yet are included, too.
    assert_eq!(messages(&session.stdout), 30, "{}", session.stdout);
    let reported = context(&store, &["--session", "long", "--type", "claude", "--explain"]);
    assert!(
        reported.stderr.contains("window: 20 messages (--window changes it)"),
        "{}",
        reported.stderr
    );
    let snapshot = store.prints(&["export", "long", "--format", "snapshot"], "");
    let of_file = tertulia(&["context", "--snapshot", "-", "--type", "claude"], &snapshot);
    assert_eq!(messages(&of_file.stdout), 6, "{}", of_file.stdout);
}

#[test]
fn a_session_is_shown_with_the_settings_that_are_asked_for() {
    let store = TestStore::new();
    let text = "one   two [NEXT: max]\n\n\nthree";
    store.import("s", &[said("a", "user", text), said("b", "user", "Well?")].join("\n"));
    let shown = |arguments: &[&str]| {
        context(&store, &[&["--session", "s", "--type", "codex"], arguments].concat())
    };
    let whole = shown(&["--whitespace", "compact", "--instruction", "Be kind."]).stdout;
    assert_eq!(
        whole,
        "[SYSTEM]\n  Be kind.\n\n[CONTEXT]\n- user -> all: one two\n  three\n\n[MESSAGE from user]\n  Well?"
    );
    assert!(shown(&[]).stdout.starts_with("[CONTEXT]\n- user -> all: one   two"));
    assert_eq!(shown(&["--budget", "40"]).stdout, "[MESSAGE from user]\n  Well?");
    let cut = shown(&["--budget", "24"]);
    assert_eq!(cut.stdout, "[MESSAGE from user]\n  We");
    assert!(cut.stderr.contains("Message truncated: 2 of 5 bytes"), "{}", cut.stderr);
}
