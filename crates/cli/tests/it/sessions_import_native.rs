//! Tests `tertulia sessions import` with sessions of agents: list, choose, import, and import again.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::pty::Pty;
use crate::workspace::Workspace;

/// A line of a session of Claude Code.
fn claude(session: &str, id: &str, parent: &str, role: &str, text: &str, folder: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("{parent:?}") };
    format!(
        "{{\"parentUuid\":{parent},\"isSidechain\":false,\"userType\":\"external\",\"cwd\":{folder:?},\
         \"sessionId\":{session:?},\"version\":\"2.1.0\",\"type\":{role:?},\
         \"message\":{{\"id\":\"msg-{id}\",\"role\":{role:?},\"content\":[{{\"type\":\"text\",\"text\":{text:?}}}]}},\
         \"uuid\":{id:?},\"timestamp\":\"2026-01-31T10:00:00.000Z\"}}\n"
    )
}

/// A workspace with sessions of Claude Code and Codex.
struct Machine {
    workspace: Workspace,
}

impl Machine {
    fn new() -> Self {
        let machine = Self { workspace: Workspace::empty() };
        let here = machine.here();
        let talk = |session: &str, folder: &str| {
            claude(session, "u1", "", "user", "Fix the login page", folder)
                + &claude(session, "a1", "u1", "assistant", "Which browser?", folder)
        };
        machine.claude("c-here", &talk("c-here", &here));
        machine.claude("c-elsewhere", &talk("c-elsewhere", "/no/such/folder"));
        let codex = concat!(
            r#"{"timestamp":"2026-01-31T09:00:00.000Z","type":"session_meta","payload":{"id":"x-1","timestamp":"2026-01-31T09:00:00.000Z","cwd":"/no/such/folder","originator":"codex_cli_rs","cli_version":"0.166.0"}}"#,
            "\n",
            r#"{"timestamp":"2026-01-31T09:00:01.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Count the files"}]}}"#,
            "\n",
            r#"{"timestamp":"2026-01-31T09:00:02.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"There are 3."}]}}"#,
            "\n",
        );
        machine.file(".codex/sessions/2026/01/31/rollout-2026-01-31T09-00-00-x-1.jsonl", codex);
        machine
    }

    fn here(&self) -> String {
        let path = self.workspace.path("").canonicalize().unwrap();
        path.display().to_string().trim_end_matches('/').to_owned()
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.workspace.root().join("home").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn claude(&self, id: &str, text: &str) -> PathBuf {
        self.file(&format!(".claude/projects/-p/{id}.jsonl"), text)
    }

    #[track_caller]
    fn import(&self, arguments: &[&str]) -> crate::workspace::CommandOutput {
        self.workspace.exits(0, &[&["sessions", "import"], arguments].concat())
    }

    fn ids(&self) -> Vec<String> {
        let listed = self.workspace.exits(0, &["sessions", "list", "--all", "--json"]).stdout;
        let id = |line: &str| {
            let session: Value = serde_json::from_str(line).unwrap();
            session["sessionId"].as_str().unwrap().to_owned()
        };
        let mut ids: Vec<String> = listed.lines().map(id).collect();
        ids.sort();
        ids
    }
}

#[test]
fn without_a_choice_the_sessions_are_listed_and_nothing_is_imported() {
    let machine = Machine::new();
    let listed = machine.import(&[]);
    for text in ["Claude Code", "Codex", "Fix the login page", "Count the files", "new"] {
        assert!(listed.stdout.contains(text), "{text}: {}", listed.stdout);
    }
    assert!(listed.stderr.contains("with --last, --all or an ID"), "{}", listed.stderr);
    let records = machine.import(&["--json"]).stdout;
    let states = records.lines().map(|line| {
        let record: Value = serde_json::from_str(line).unwrap();
        assert!(record["bytes"].as_u64().unwrap() > 0 && record["updatedAt"].is_i64());
        record["state"].as_str().unwrap().to_owned()
    });
    assert_eq!(states.collect::<Vec<_>>(), ["new"; 3]);
    assert!(machine.ids().is_empty());
}

#[test]
fn a_file_is_imported_whatever_it_is_called_and_shown_with_its_speakers() {
    let machine = Machine::new();
    let text =
        fs::read_to_string(machine.workspace.root().join("home/.claude/projects/-p/c-here.jsonl"));
    machine.workspace.write("notes.txt", &text.unwrap());
    let imported = machine.import(&["notes.txt"]);
    assert_eq!(imported.stdout, "claude-c-here\n");
    assert!(
        imported.stderr.contains("imported 2 entries (2 messages) of Claude Code session c-here"),
        "{}",
        imported.stderr
    );
    let shown = machine.workspace.exits(0, &["sessions", "show", "claude-c-here"]).stdout;
    assert!(shown.contains("User") && shown.contains("Claude Code"), "{shown}");
    assert!(shown.contains("Which browser?"), "{shown}");
    let all = machine.workspace.exits(0, &["sessions", "show", "claude-c-here", "--all"]).stdout;
    assert!(all.contains("· imported from Claude Code: session c-here, 2 records"), "{all}");
    let found = machine.workspace.exits(0, &["sessions", "search", "browser"]).stdout;
    assert!(found.contains("Which browser?"), "{found}");
    let listed = machine.workspace.exits(0, &["sessions", "list"]).stdout;
    assert!(listed.contains("Fix the login page"), "{listed}");
}

#[test]
fn agents_projects_and_ids_narrow_what_is_imported() {
    let machine = Machine::new();
    assert_eq!(machine.import(&["--last", "--agent", "codex"]).stdout, "codex-x-1\n");
    assert_eq!(machine.import(&["--all", "--project", "."]).stdout, "claude-c-here\n");
    assert_eq!(machine.import(&["c-else"]).stdout, "claude-c-elsewhere\n");
    assert_eq!(machine.ids(), ["claude-c-elsewhere", "claude-c-here", "codex-x-1"]);
    let unknown = machine.workspace.exits(1, &["sessions", "import", "nobody"]);
    assert!(unknown.stderr.contains("no agent has a session with this ID"), "{}", unknown.stderr);
    let none = machine.import(&["--agent", "goose"]);
    assert!(
        none.stderr.contains("no session of goose was found on this machine"),
        "{}",
        none.stderr
    );
    let none = machine.workspace.exits(1, &["sessions", "import", "--agent", "goose", "--last"]);
    assert!(
        none.stderr.contains("no session of goose was found on this machine"),
        "{}",
        none.stderr
    );
}

#[test]
fn a_session_belongs_to_its_project_or_if_that_is_missing_to_the_one_here() {
    let machine = Machine::new();
    let imported = machine.import(&["c-elsewhere"]);
    assert!(
        imported.stderr.contains(
            "the folder /no/such/folder of this session does not exist here; the session \
                now belongs to project"
        ),
        "{}",
        imported.stderr
    );
    let info = |id: &str| {
        let listed = machine.workspace.exits(0, &["sessions", "list", "--all", "--json"]).stdout;
        let mut sessions = listed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        sessions.find(|session| session["sessionId"] == id).unwrap()
    };
    assert_eq!(info("claude-c-elsewhere")["project"], machine.here());
}

#[test]
fn importing_again_adds_what_is_new_and_the_list_says_what_is_known() {
    let machine = Machine::new();
    let path = machine.workspace.root().join("home/.claude/projects/-p/c-here.jsonl");
    machine.import(&["c-here"]);
    let state = || {
        let records = machine.import(&["--json"]).stdout;
        let mut records = records.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let record = records.find(|record| record["nativeSessionId"] == "c-here").unwrap();
        (record["state"].clone(), record["sessionId"].clone())
    };
    assert_eq!(state(), ("imported".into(), "claude-c-here".into()));
    let more = claude("c-here", "u2", "a1", "user", "Firefox", &machine.here());
    let text = fs::read_to_string(&path).unwrap() + &more;
    fs::write(&path, &text).unwrap();
    assert_eq!(state().0, "grown");
    let again = machine.import(&["c-here"]);
    assert!(again.stderr.contains("added 1 entry (1 message)"), "{}", again.stderr);
    let unchanged = machine.import(&["c-here"]);
    assert!(
        unchanged.stderr.contains("is up to date with Claude Code session"),
        "{}",
        unchanged.stderr
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), text, "the file of the agent is as it was");
}

#[test]
fn a_dry_run_stores_nothing_and_says_what_would_be_stored() {
    let machine = Machine::new();
    let shown = machine.import(&["--all", "--dry-run", "--json"]).stdout;
    let records: Vec<Value> =
        shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records.len(), 3);
    for record in &records {
        assert_eq!((&record["isDryRun"], &record["isNew"]), (&true.into(), &true.into()));
        assert_eq!(record["addedMessages"], 2, "{record}");
        assert!(record.get("sessionId").is_none());
    }
    assert!(machine.ids().is_empty());
}

#[test]
fn problems_are_listed_by_file_and_line() {
    let machine = Machine::new();
    let mut text = claude("c-bad", "u1", "", "user", "Hello", "/src");
    text.push_str(&"broken\n".repeat(25));
    let path = machine.claude("c-bad", &text);
    let imported = machine.import(&["c-bad"]);
    let name = path.display().to_string();
    assert!(imported.stderr.contains(&format!("{name}: line 2: not JSON")), "{}", imported.stderr);
    assert!(imported.stderr.contains("5 more problems; --json lists all"), "{}", imported.stderr);
    assert_eq!(imported.stderr.matches(": line ").count(), 20);
    let path = machine.claude("c-bad-2", &text.replace("c-bad", "c-bad-2"));
    let record: Value =
        serde_json::from_str(&machine.import(&[path.to_str().unwrap(), "--json"]).stdout).unwrap();
    assert_eq!(
        (&record["problemCount"], &record["problems"][24]["line"]),
        (&25.into(), &26.into())
    );
}

#[test]
fn secrets_are_removed_and_counted() {
    let machine = Machine::new();
    let key = format!("ghp_{}", "a1B2".repeat(9));
    machine.claude("c-key", &claude("c-key", "u1", "", "user", &format!("use {key}"), "/src"));
    let imported = machine.import(&["c-key", "--redact-secrets"]);
    assert!(imported.stderr.contains("1 secret removed"), "{}", imported.stderr);
    let log = machine.workspace.exits(0, &["sessions", "export", "claude-c-key"]).stdout;
    assert!(!log.contains(&key) && log.contains("use [secret removed]"), "{log}");
}

#[test]
fn a_session_that_cannot_be_read_does_not_stop_the_others() {
    let machine = Machine::new();
    machine.claude("c-long", &format!("{{\"type\":\"user\",\"a\":\"{}\"}}\n", "x".repeat(1 << 20)));
    let imported =
        machine.workspace.exits(1, &["sessions", "import", "--all", "--max-line-bytes", "100000"]);
    assert!(imported.stderr.contains("line 1 is longer than 100000 bytes"), "{}", imported.stderr);
    assert!(imported.stderr.contains("1 session could not be imported"), "{}", imported.stderr);
    assert_eq!(machine.ids().len(), 3);
}

#[test]
fn our_own_formats_are_imported_as_before() {
    let machine = Machine::new();
    machine.import(&["c-here"]);
    let log = machine.workspace.exits(0, &["sessions", "export", "claude-c-here"]).stdout;
    machine.workspace.write("log.jsonl", &log);
    machine.import(&["log.jsonl", "--as", "copy"]);
    let copy = machine.workspace.exits(0, &["sessions", "export", "copy"]).stdout;
    assert_eq!(copy, log);
    let refused = machine
        .workspace
        .tertulia_with(&["sessions", "import", "-", "--format", "claude"], log.as_bytes());
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

#[test]
fn a_redaction_of_an_imported_message_removes_its_record_too() {
    let machine = Machine::new();
    machine.claude("c-pin", &claude("c-pin", "u1", "", "user", "The PIN is 482913", "/src"));
    machine.import(&["c-pin"]);
    machine.workspace.exits(0, &["sessions", "redact", "--text", "482913", "--yes"]);
    let log = machine.workspace.exits(0, &["sessions", "export", "claude-c-pin"]).stdout;
    assert!(!log.contains("482913"), "{log}");
    let again = machine.import(&["c-pin"]);
    assert!(again.stderr.contains("is up to date"), "{}", again.stderr);
}

#[test]
fn a_session_is_followed_while_its_agent_works() {
    use std::io::{BufRead, BufReader};
    let machine = Machine::new();
    let path = machine.workspace.root().join("home/.claude/projects/-p/c-here.jsonl");
    let mut child = machine.workspace.start(&["sessions", "import", "c-here", "--watch"]);
    let mut notes = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(notes.any(|line| line.unwrap().contains("importing new entries")));
    let more = claude("c-here", "u2", "a1", "user", "Firefox", &machine.here());
    let text = fs::read_to_string(&path).unwrap() + &more;
    fs::write(&path, text).unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("Firefox")));
    fs::remove_file(&path).unwrap();
    assert!(notes.any(|line| line.unwrap().contains("was removed")));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(machine.workspace.said().len(), 3);
}

#[test]
fn on_a_terminal_a_number_chooses() {
    let machine = Machine::new();
    let mut terminal = Pty::start(&machine.workspace, &["sessions", "import"], &[]);
    terminal.until("the question", |screen| screen.contains("Which sessions?"));
    terminal.types("1-2\r");
    let shown = terminal.ends();
    assert_eq!(shown.code, 0, "{shown:?}");
    assert_eq!(machine.ids().len(), 2);
}
