//! Finding the sessions of each agent.

use std::fs;

use tertulia_dialect::native::NativeFormat;
use tertulia_native::{Cause, Environment, list, locate};

use crate::Home;

/// Returns the agents and ids that are listed, in alphabetical order.
fn found(environment: &Environment) -> Vec<String> {
    let listing = list(environment, &NativeFormat::ALL);
    assert!(listing.problems.is_empty(), "{:?}", listing.problems);
    let name = |found: &tertulia_native::FoundSession| {
        format!("{} {}", found.format.as_str(), found.native_id)
    };
    let mut names: Vec<String> = listing.sessions.iter().map(name).collect();
    names.sort();
    names
}

/// Content without a recognisable format, so that only the names of files decide.
const ANY: &str = "{}\n";

#[test]
fn every_agent_has_its_place_in_the_home_folder() {
    let home = Home::new();
    for name in [
        ".claude/projects/-src/c-1.jsonl",
        ".claude/projects/-src/agent-1.jsonl",
        ".claude/projects/-src/c-1/subagents/agent-2.jsonl",
        ".claude/projects/-src/notes.txt",
        ".codex/sessions/2026/01/31/rollout-x.jsonl",
        ".codex/archived_sessions/rollout-y.jsonl",
        ".codex/history.jsonl",
        ".gemini/tmp/src/chats/session-g.json",
        ".gemini/tmp/src/logs.json",
        ".copilot/session-state/p-1/events.jsonl",
        ".pi/agent/sessions/--src--/pi-1.jsonl",
        ".cline/data/sessions/l-1/l-1.messages.json",
        ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/17/api_conversation_history.json",
        ".local/share/goose/sessions/o-1.jsonl",
        "project/.aider.chat.history.md",
    ] {
        home.file(name, ANY);
    }
    let environment = home.environment().with_project(home.path().join("home/project"));
    assert_eq!(
        found(&environment),
        [
            "aider project",
            "claude c-1",
            "cline 17",
            "cline l-1",
            "codex rollout-x",
            "codex rollout-y",
            "copilot p-1",
            "gemini session-g",
            "goose o-1",
            "pi pi-1",
        ]
    );
}

#[test]
fn a_variable_names_another_place() {
    let home = Home::new();
    for name in [
        ".claude/projects/-src/not-here.jsonl",
        "CLAUDE_CONFIG_DIR/projects/-src/c.jsonl",
        "CODEX_HOME/sessions/rollout-x.jsonl",
        "GEMINI_CLI_HOME/.gemini/tmp/src/chats/session-g.jsonl",
        "COPILOT_HOME/session-state/p/events.jsonl",
        "PI_CODING_AGENT_DIR/sessions/--src--/pi.jsonl",
        "GOOSE_PATH_ROOT/data/sessions/o.jsonl",
        "CLINE_DATA_DIR/sessions/l/l.messages.json",
    ] {
        home.file(name, ANY);
    }
    let base = home.path().join("home");
    let all = home.environment().with_variables(|name| Some(base.join(name).into()));
    let here =
        ["claude c", "cline l", "codex rollout-x", "copilot p", "gemini session-g", "goose o"];
    assert_eq!(found(&all), here, "PI_CODING_AGENT_SESSION_DIR counts before the other");
    let few = home
        .environment()
        .with_variables(|name| (name == "PI_CODING_AGENT_DIR").then(|| base.join(name).into()));
    assert_eq!(found(&few), ["claude not-here", "pi pi"]);
    let none = home.environment().with_variables(|_| Some("".into()));
    assert_eq!(found(&none), ["claude not-here"], "an empty variable counts as unset");
}

#[test]
fn the_newest_session_comes_first_and_empty_files_are_left_out() {
    let home = Home::new();
    for (name, seconds) in [("old", 10), ("new", 30), ("middle", 20)] {
        let path = home.file(&format!(".claude/projects/p/{name}.jsonl"), ANY);
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    }
    home.file(".claude/projects/p/empty.jsonl", "");
    let listing = list(&home.environment(), &NativeFormat::ALL);
    let ids: Vec<_> = listing.sessions.iter().map(|found| &*found.native_id).collect();
    assert_eq!(ids, ["new", "middle", "old"]);
    assert_eq!(listing.sessions[0].size, Some(3));
    assert_eq!(listing.sessions[0].updated.as_ref().unwrap().millis(), 30_000);
}

#[test]
fn a_home_without_agents_has_no_sessions() {
    let home = Home::new();
    assert!(found(&home.environment()).is_empty());
}

#[test]
fn a_file_of_no_agent_is_refused_unless_its_format_is_named() {
    let home = Home::new();
    let path = home.file("note.txt", ANY);
    let error = locate(&home.environment(), &path, None).unwrap_err();
    assert!(matches!(error.cause, Cause::UnknownFormat), "{error}");
    let named = locate(&home.environment(), &path, Some(NativeFormat::Claude)).unwrap();
    assert_eq!((named.len(), &*named[0].native_id), (1, "note"));
    let folder = path.parent().unwrap();
    let error = locate(&home.environment(), folder, None).unwrap_err();
    assert!(matches!(error.cause, Cause::NoSessions), "{error}");
    let missing = locate(&home.environment(), &folder.join("missing"), None).unwrap_err();
    assert!(missing.is_missing());
}

#[cfg(unix)]
#[test]
fn a_folder_that_contains_itself_is_read_once() {
    let home = Home::new();
    let path = home.file(".claude/projects/p/c.jsonl", ANY);
    std::os::unix::fs::symlink(path.parent().unwrap(), path.with_file_name("again")).unwrap();
    assert_eq!(found(&home.environment()), ["claude c"]);
}

#[test]
fn the_content_decides_what_a_file_is_and_not_its_ending() {
    let home = Home::new();
    let database = home.file("sessions.jsonl", "");
    rusqlite::Connection::open(&database)
        .unwrap()
        .execute_batch(
            "CREATE TABLE sessions (id TEXT, working_dir TEXT, created_at TIMESTAMP, updated_at TIMESTAMP);
             CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content_json TEXT);
             INSERT INTO sessions VALUES ('g', '/src', NULL, NULL);",
        )
        .unwrap();
    let lines = home.file(
        "opencode.db",
        r#"{"type":"session_meta","timestamp":"2026-01-31T12:00:00Z","payload":{"id":"c","cwd":"/src"}}"#,
    );
    let empty = home.file("empty.db", "");
    let environment = home.environment();
    let format = |path| locate(&environment, path, None).map(|found| found[0].format);
    assert_eq!(format(&database).unwrap(), NativeFormat::Goose);
    assert_eq!(format(&lines).unwrap(), NativeFormat::Codex);
    let error = format(&empty).unwrap_err();
    assert!(matches!(error.cause, Cause::UnknownFormat), "{error}");
    // A format that is named does not make a database of other tables readable.
    let other = home.file("other.jsonl", "");
    rusqlite::Connection::open(&other).unwrap().execute_batch("CREATE TABLE t (a TEXT)").unwrap();
    let error = locate(&environment, &other, Some(NativeFormat::Codex)).unwrap_err();
    assert!(matches!(error.cause, Cause::ForeignDatabase), "{error}");
    assert!(error.to_string().contains("other.jsonl"), "{error}");
}
