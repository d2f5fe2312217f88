//! Tests `tertulia replay`: the same log leads to the same decisions, and differences of another team are found.

use crate::workspace::Workspace;

const TEAM: &str = "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
    [[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [\"@eva please look.\"]\n\
    [[member]]\nname = \"eva\"\nagent = \"script\"\nanswers = [\"Fine.\"]\n";

fn talked() -> Workspace {
    let workspace = Workspace::new(TEAM);
    workspace.exits(0, &["run", "hello", "--new", "talk"]);
    workspace.exits(0, &["run", "once more", "--session", "talk"]);
    workspace
}

#[test]
fn the_same_team_decides_the_same() {
    let workspace = talked();
    let before = workspace.entries();
    let output = workspace.exits(0, &["replay", "tal"]);
    assert_eq!(output.stdout, "");
    assert_eq!(output.stderr, "tertulia: 4 turns compared; all decisions are the same\n");
    let record = &workspace.exits(0, &["replay", "talk", "--json"]).json()[0];
    assert_eq!((&record["equal"], &record["turns"]), (&true.into(), &4.into()));
    assert_eq!(record["differences"].as_array().map(Vec::len), Some(0));
    assert_eq!(workspace.entries(), before);
}

#[test]
fn another_team_decides_otherwise_and_every_difference_is_reported() {
    let workspace = talked();
    workspace.write("other.toml", &format!("default = \"eva\"\n{TEAM}"));
    let output = workspace.exits(1, &["replay", "talk", "--team", "other.toml"]);
    assert!(output.stdout.contains("with the current team, eva's turn"), "{}", output.stdout);
    assert!(output.stderr.contains("the stored decisions did not change"), "{}", output.stderr);
}

#[test]
fn a_removed_member_is_reported_as_unknown() {
    let workspace = talked();
    workspace.write("small.toml", TEAM.split("[[member]]\nname = \"eva\"").next().unwrap());
    let output = workspace.exits(1, &["replay", "talk", "--team", "small.toml", "--json"]);
    let record = &output.json()[0];
    let kinds: Vec<_> = record["differences"].as_array().unwrap().iter().collect();
    assert!(kinds.iter().any(|one| one["kind"] == "stranger"), "{record}");
    let text = kinds[0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("eva is not in the team"), "{text}");
}

#[test]
fn a_session_that_would_continue_now_is_reported() {
    let limits = |turns: u32| format!("[limits]\nturns = {turns}\n{TEAM}");
    let workspace = Workspace::new(&limits(1));
    workspace.exits(3, &["run", "hello", "--new", "talk"]);
    workspace.exits(0, &["replay", "talk"]);
    workspace.write("tertulia.toml", &limits(9));
    let output = workspace.exits(1, &["replay", "talk"]);
    assert!(output.stdout.contains("with the current team, eva's turn is started"));
    assert!(
        output
            .stderr
            .contains("1 turn compared: 1 difference; the stored decisions did not change"),
        "{}",
        output.stderr
    );
    let record = &workspace.exits(1, &["replay", "talk", "--json"]).json()[0];
    assert_eq!(record["differences"][0]["kind"], "ending");
}

#[test]
fn a_log_that_ends_with_an_unrouted_message_is_no_difference() {
    let workspace = talked();
    let log = workspace.exits(0, &["sessions", "export", "talk"]).stdout;
    let lines: Vec<&str> = log.lines().collect();
    let asked = lines.iter().rposition(|line| line.contains("once more")).unwrap();
    workspace.write("begun.jsonl", &lines[..=asked].join("\n"));
    workspace.exits(0, &["sessions", "import", "begun.jsonl", "--as", "begun"]);
    workspace.exits(0, &["replay", "begun"]);
}

#[test]
fn of_many_differences_the_first_are_reported_and_that_there_may_be_more() {
    let workspace = Workspace::new(TEAM);
    let lines = "hello\n".repeat(55);
    workspace.tertulia_with(&["chat", "--new", "talk"], lines.as_bytes());
    workspace.write("other.toml", &format!("default = \"eva\"\n{TEAM}"));
    let output = workspace.exits(1, &["replay", "talk", "--team", "other.toml"]);
    assert!(output.stderr.contains("at least 50 differences"), "{}", output.stderr);
}

#[test]
fn one_difference_is_reported_as_one() {
    let workspace = Workspace::new(&TEAM.replace("@eva please look.", "Fine too."));
    workspace.exits(0, &["run", "hello", "--new", "talk"]);
    workspace.write("tertulia.toml", &format!("default = \"eva\"\n{TEAM}"));
    let output = workspace.exits(1, &["replay", "talk"]);
    assert!(
        output
            .stderr
            .contains("1 turn compared: 1 difference; the stored decisions did not change"),
        "{}",
        output.stderr
    );
    let output = workspace.exits(0, &["run", "@eva hello", "--session", "talk"]);
    let reported = "1 past decision would differ with the current team file";
    assert!(output.stderr.contains(reported), "{}", output.stderr);
}

#[test]
fn a_run_with_fewer_turns_is_replayed_with_as_many_and_the_next_one_with_all() {
    let workspace = Workspace::new(TEAM);
    workspace.exits(3, &["run", "hello", "--new", "talk", "--max-turns", "1"]);
    let shown = workspace.exits(0, &["sessions", "show", "talk", "--all"]).stdout;
    assert!(shown.contains("· project folder: /"), "{shown}");
    assert!(shown.contains("· a person is asked after one turn"), "{shown}");
    workspace.exits(0, &["replay", "talk"]);
    let output = workspace.exits(0, &["run", "--continue"]);
    assert!(!output.stderr.contains("would differ"), "{}", output.stderr);
    workspace.exits(0, &["replay", "talk"]);
}

#[test]
fn after_a_redaction_no_decision_differs() {
    let workspace = talked();
    for text in ["once more", "please look", "Fine."] {
        let said = |entry: &&serde_json::Value| {
            entry["type"] == "message" && entry["payload"].to_string().contains(text)
        };
        let log = workspace.exits(0, &["sessions", "export", "talk"]).json();
        let id = log.iter().find(said).expect(text)["id"].as_str().unwrap().to_owned();
        workspace.exits(0, &["sessions", "redact", "talk", &id]);
        let output = workspace.exits(0, &["replay", "talk"]);
        assert!(output.stderr.contains(" redacted; the decisions about "), "{}", output.stderr);
        let record = &workspace.exits(0, &["replay", "talk", "--json"]).json()[0];
        assert!(record["unchecked"].as_array().unwrap().contains(&id.into()), "{record}");
    }
    let output = workspace.exits(0, &["run", "and now?", "--session", "talk"]);
    assert!(!output.stderr.contains("would differ"), "{}", output.stderr);
}

#[test]
fn after_the_redaction_of_a_turn_no_decision_differs() {
    for state in ["queued", "started", "done"] {
        let workspace = talked();
        let log = workspace.exits(0, &["sessions", "export", "talk"]).json();
        let is_turn = |entry: &&serde_json::Value| {
            entry["type"] == "turn" && entry["payload"]["state"] == state
        };
        let id = log.iter().find(is_turn).unwrap()["id"].as_str().unwrap().to_owned();
        workspace.exits(0, &["sessions", "redact", "talk", &id]);
        workspace.exits(0, &["replay", "talk"]);
        let output = workspace.exits(0, &["run", "and now?", "--session", "talk"]);
        assert!(!output.stderr.contains("would differ"), "{state}: {}", output.stderr);
        workspace.exits(0, &["replay", "talk"]);
    }
}

#[test]
fn of_an_imported_session_no_decision_differs() {
    let workspace = Workspace::new(TEAM);
    let said = |number: usize, role: &str, text: &str| {
        let payload = serde_json::json!({"role": role, "content": text});
        format!("{{\"id\":\"m{number}\",\"type\":\"message\",\"payload\":{payload}}}\n")
    };
    let log: String = (0..20)
        .map(|number| match number % 2 {
            0 => said(number, "user", "@max do it"),
            _ => said(number, "assistant", "@eva please look."),
        })
        .collect();
    workspace.write("old.jsonl", &log);
    workspace.exits(0, &["sessions", "import", "old.jsonl", "--as", "old"]);
    workspace.exits(0, &["replay", "old"]);
    let output = workspace.exits(0, &["run", "and now?", "--session", "old"]);
    assert!(!output.stderr.contains("would differ"), "{}", output.stderr);
    workspace.exits(0, &["replay", "old"]);
}

#[test]
fn a_fork_at_an_answer_interrupts_nobody_and_says_who_was_not_asked() {
    let workspace = talked();
    let log = workspace.exits(0, &["sessions", "export", "talk"]).json();
    let said = |entry: &&serde_json::Value| {
        entry["type"] == "message" && entry["payload"].to_string().contains("please look")
    };
    let id = log.iter().find(said).unwrap()["id"].as_str().unwrap();
    workspace.exits(0, &["sessions", "branch", "talk", id, "--into", "fork"]);
    let output = workspace.exits(0, &["chat", "--session", "fork"]);
    let reported = "The last message is for eva. Nobody has been asked in this session yet; to \
        ask, type /next eva.";
    assert!(output.stdout.contains(reported), "{}", output.stdout);
    let output = workspace.exits(0, &["run", "@eva go", "--session", "fork"]);
    assert!(!output.stderr.contains("would differ") && !output.stderr.contains("interrupted"));
    workspace.exits(0, &["replay", "fork"]);
    let typed = format!("/fork {id}\n/next eva\n");
    let output = workspace.tertulia_with(&["chat", "--session", "talk"], typed.as_bytes());
    assert!(output.stdout.contains(reported), "{}", output.stdout);
    assert!(output.stdout.contains("eva:\nFine."), "{}", output.stdout);
    assert!(!output.stdout.contains("interrupted"), "{}", output.stdout);
}
