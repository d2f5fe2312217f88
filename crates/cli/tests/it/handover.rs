//! Tests `tertulia handover` and `tertulia receipt`: a session continues in another agent.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::workspace::{CommandOutput, Workspace};

/// A workspace with a session of Claude Code: a request, a call of a tool, and an answer.
struct Machine {
    workspace: Workspace,
    here: String,
}

impl Machine {
    fn new() -> Self {
        let workspace = Workspace::empty();
        let here = workspace.path("").canonicalize().unwrap().display().to_string();
        let machine = Self { workspace, here: here.trim_end_matches('/').to_owned() };
        let talk = [
            machine.claude("u1", "", "user", r#""Which files are here?""#),
            machine.claude(
                "a1",
                "u1",
                "assistant",
                r#"[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}]"#,
            ),
            machine.claude(
                "u2",
                "a1",
                "user",
                r#"[{"type":"tool_result","tool_use_id":"toolu_1","content":"a.txt\nb.txt"}]"#,
            ),
            machine.claude(
                "a2",
                "u2",
                "assistant",
                r#"[{"type":"thinking","thinking":"Two files.","signature":"c2ln"},{"type":"text","text":"There are two: a.txt and b.txt."}]"#,
            ),
        ];
        let path = machine.session();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, talk.concat()).unwrap();
        machine
    }

    fn session(&self) -> PathBuf {
        self.home(".claude/projects/-p/0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f.jsonl")
    }

    fn home(&self, name: &str) -> PathBuf {
        self.workspace.root().join("home").join(name)
    }

    fn claude(&self, id: &str, parent: &str, role: &str, content: &str) -> String {
        let parent = if parent.is_empty() { "null".to_owned() } else { format!("{parent:?}") };
        format!(
            "{{\"parentUuid\":{parent},\"isSidechain\":false,\"userType\":\"external\",\"cwd\":{:?},\
             \"sessionId\":\"0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f\",\"version\":\"2.1.325\",\"type\":{role:?},\
             \"message\":{{\"id\":\"msg-{id}\",\"role\":{role:?},\"content\":{content}}},\
             \"uuid\":{id:?},\"timestamp\":\"2026-01-31T10:00:00.000Z\"}}\n",
            self.here
        )
    }

    #[track_caller]
    fn run(&self, arguments: &[&str]) -> CommandOutput {
        self.workspace.exits(0, arguments)
    }

    #[track_caller]
    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.run(&[arguments, &["--json"]].concat()).stdout).unwrap()
    }
}

#[test]
fn the_newest_session_of_an_agent_goes_on_in_another_one() {
    let machine = Machine::new();
    let source = fs::read(machine.session()).unwrap();
    let done = machine.run(&["handover", "--from", "claude", "--to", "codex"]);
    let id = done.stdout.trim().strip_prefix("codex resume ").unwrap();
    assert!(done.stderr.contains("handed over to Codex: 4 kept, "), "{}", done.stderr);
    assert!(done.stderr.contains("shows the outcome of every item"), "{}", done.stderr);
    assert_eq!(fs::read(machine.session()).unwrap(), source);

    let listed = machine.json(&["sessions", "import", "--agent", "codex"]);
    assert_eq!((&listed["nativeSessionId"], &listed["state"]), (&id.into(), &"imported".into()));
    let path = listed["path"].as_str().unwrap();
    let text = fs::read_to_string(path).unwrap();
    for said in
        ["Which files are here?", r#"{\"command\":\"ls\"}"#, r"a.txt\nb.txt", "There are two"]
    {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(!text.contains("Two files."), "{text}");
}

#[test]
fn a_second_handover_adds_what_is_new_and_nothing_else() {
    let machine = Machine::new();
    let first = machine.json(&["handover", "--from", "claude", "--to", "pi"]);
    let path = first["path"].as_str().unwrap();
    let before = fs::read_to_string(path).unwrap();
    let again = machine.workspace.exits(1, &["handover", "--to", "pi"]);
    assert!(again.stderr.contains("already has everything"), "{}", again.stderr);

    let more = machine.claude("u3", "a2", "user", "\"Delete b.txt.\"");
    fs::write(machine.session(), fs::read_to_string(machine.session()).unwrap() + &more).unwrap();
    let second = machine.json(&["handover", "--to", "pi"]);
    assert_eq!(second["nativeSessionId"], first["nativeSessionId"]);
    assert_eq!(second["continued"], true);
    let after = fs::read_to_string(path).unwrap();
    assert!(after.starts_with(&before) && after.contains("Delete b.txt."), "{after}");

    let other = machine.json(&["handover", "--to", "pi", "--new"]);
    assert_ne!(other["nativeSessionId"], first["nativeSessionId"]);
}

#[test]
fn a_session_that_its_agent_deleted_is_restored_byte_for_byte() {
    let machine = Machine::new();
    let before = fs::read(machine.session()).unwrap();
    machine.run(&["sessions", "import", "--last"]);
    fs::remove_file(machine.session()).unwrap();
    let restored = machine.run(&["handover", "--to", "claude"]);
    assert_eq!(restored.stdout, "claude --resume 0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f\n");
    assert!(restored.stderr.contains("Tertulia restored it byte for byte"), "{}", restored.stderr);
    assert_eq!(fs::read(machine.session()).unwrap(), before);
    let again = machine.workspace.exits(1, &["handover", "--to", "claude"]);
    assert!(again.stderr.contains("already has everything"), "{}", again.stderr);
}

#[test]
fn a_file_from_elsewhere_is_not_written_and_its_id_is_not_trusted() {
    let machine = Machine::new();
    let text = fs::read_to_string(machine.session()).unwrap();
    let text = text.replace("0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f", "x; touch pwned");
    machine.workspace.write("shared.jsonl", &text);
    machine.run(&["sessions", "import", "shared.jsonl"]);
    let more = machine.run(&["handover", "--to", "claude"]);
    let id = more.stdout.trim().strip_prefix("claude --resume ").unwrap();
    assert!(id.len() == 36 && !id.contains("pwned"), "{id}");
    let kept = fs::read_to_string(machine.workspace.path("shared.jsonl")).unwrap();
    assert_eq!(kept, text);
}

#[test]
fn a_dry_run_shows_the_receipt_and_writes_no_session() {
    let machine = Machine::new();
    let shown = machine.run(&["handover", "--from", "claude", "--to", "gemini", "--dry-run"]);
    assert!(shown.stdout.starts_with("would create Gemini CLI session "), "{}", shown.stdout);
    for line in
        ["tool result", "largest losses", "only the model that wrote this thinking can use it"]
    {
        assert!(shown.stdout.contains(line), "{line}: {}", shown.stdout);
    }
    assert!(!machine.home(".gemini").exists());
}

#[test]
fn a_receipt_accounts_for_every_item_and_is_verified_on_both_sides() {
    let machine = Machine::new();
    let done = machine.json(&["handover", "--from", "claude", "--to", "claude", "--new"]);
    let id = done["receiptId"].as_str().unwrap();
    let receipt = machine.json(&["receipt", id.get(..10).unwrap(), "--verify"]);
    assert_eq!(receipt["verified"]["ok"], true, "{receipt:#}");
    let items = receipt["items"].as_array().unwrap();
    let bytes: u64 = items.iter().map(|item| item["bytes"].as_u64().unwrap()).sum();
    assert_eq!(receipt["total"]["bytes"], bytes);
    let totals = ["kept", "reshaped", "shortened", "leftOut"]
        .map(|word| receipt["totals"][word]["items"].as_u64().unwrap());
    assert_eq!(totals.iter().sum::<u64>(), items.len() as u64);

    let path = done["path"].as_str().unwrap();
    let text = fs::read_to_string(path).unwrap();
    fs::write(path, text.replacen("two", "six", 1)).unwrap();
    let broken = machine.workspace.exits(1, &["receipt", id, "--verify"]);
    assert!(broken.stdout.contains(" has changed"), "{}", broken.stdout);
}

#[test]
fn codex_finds_the_title_in_its_list_of_names() {
    let machine = Machine::new();
    let done = machine.json(&["handover", "--from", "claude", "--to", "codex"]);
    let index = fs::read_to_string(machine.home(".codex/session_index.jsonl")).unwrap();
    let line: Value = serde_json::from_str(&index).unwrap();
    assert_eq!(line["id"], done["nativeSessionId"]);
    assert_eq!(line["thread_name"], "Which files are here?");
}

#[test]
fn limits_of_zero_and_unknown_receipts_are_refused_by_name() {
    let machine = Machine::new();
    for (option, wrong) in [("--budget", "at least 1 token"), ("--last", "1 or more")] {
        let refused = machine.workspace.exits(2, &["handover", "--to", "codex", option, "0"]);
        assert!(refused.stderr.contains(wrong), "{}", refused.stderr);
    }
    machine.run(&["sessions", "import", "--last"]);
    let unknown = machine.workspace.exits(1, &["receipt", "nosuch"]);
    assert!(unknown.stderr.contains("no session and no receipt nosuch"), "{}", unknown.stderr);
}

#[test]
fn the_receipt_of_an_import_keeps_every_byte() {
    let machine = Machine::new();
    machine.run(&["sessions", "import", "--last"]);
    let receipt = machine.json(&["receipt", "--verify"]);
    let size = fs::metadata(machine.session()).unwrap().len();
    assert_eq!(receipt["total"]["bytes"], size);
    assert_eq!(receipt["totals"]["kept"]["bytes"], size);
}

#[test]
fn what_does_not_exist_cannot_be_handed_over_and_the_message_says_what_to_do() {
    let machine = Machine::new();
    let none = machine.workspace.exits(1, &["receipt"]);
    assert!(none.stderr.contains("there are no sessions yet"), "{}", none.stderr);
    let unknown = machine.workspace.exits(1, &["handover", "--from", "codex", "--to", "claude"]);
    assert!(unknown.stderr.contains("and none elsewhere on this machine"), "{}", unknown.stderr);
    let goose = machine.workspace.exits(1, &["handover", "--from", "claude", "--to", "goose"]);
    assert!(goose.stderr.contains("can be read but not written"), "{}", goose.stderr);
    let elsewhere = machine.claude("u1", "", "user", r#""Elsewhere?""#);
    fs::write(machine.session(), elsewhere.replace(&machine.here, "/elsewhere")).unwrap();
    let other = machine.workspace.exits(1, &["handover", "--from", "claude", "--to", "codex"]);
    let advice = "`tertulia sessions import --agent claude` lists those of other folders";
    assert!(other.stderr.contains(advice), "{}", other.stderr);
}
