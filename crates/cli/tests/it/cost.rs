//! `tertulia cost`, and spending limits in `tertulia run`, with agents that report their usage while they work.

use std::os::unix::fs::symlink;

use serde_json::Value;

use crate::harness::{TestStore, repository_file, tertulia};
use crate::workspace::Workspace;

/// Returns a team of a person and a command that prints these lines and then works until it is stopped.
fn endless(limits: &str, model: &str, lines: &[&str]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| format!("'{line}'")).collect();
    let script = format!("cat > /dev/null; printf '%s\\n' {}; exec sleep 600", lines.join(" "));
    format!(
        "[limits]\n{limits}\n[[member]]\nname = \"ann\"\nkind = \"human\"\n[[member]]\nname = \"max\"\n\
         agent = \"command\"\noutput = \"jsonl\"\ncommand = [\"sh\", \"-c\", {script:?}]\n{model}"
    )
}

const TEXT: &str = r#"{"type":"text","text":"I begin."}"#;
const START: &str = r#"{"type":"start","model":"gpt-5"}"#;
/// 0.1 million tokens of output of GPT-5 cost one dollar.
const USAGE: &str = r#"{"type":"usage","input":0,"output":100000}"#;

fn json(workspace: &Workspace, arguments: &[&str]) -> Value {
    let output = workspace.exits(0, &[&["cost", "--json"], arguments].concat());
    serde_json::from_str(&output.stdout).unwrap()
}

#[test]
fn a_turn_that_reaches_its_limit_is_stopped_and_run_exits_with_3() {
    let team = endless("budget_usd_turn = 0.5", "", &[START, TEXT, USAGE]);
    let workspace = Workspace::new(&team);
    let output = workspace.exits(3, &["run", "hello", "--new", "talk", "--trust"]);
    let question =
        "max has spent $1.00 of $0.50 in it (budget_usd_turn). Its answer so far is kept.";
    assert!(output.stderr.contains(question), "{}", output.stderr);
    assert!(output.stderr.contains("--repeat"), "{}", output.stderr);
    assert_eq!(workspace.said().last().unwrap(), &("max".to_owned(), "I begin.".to_owned()));
    assert!(workspace.turns().ends_with(&["max started".into(), "max failed".into()]));
    let total = &json(&workspace, &[])["total"];
    assert_eq!((&total["computedUsd"], &total["answers"]), (&Value::from(1), &Value::from(1)));
    let by_agent = &json(&workspace, &["--by", "agent"])["groups"][0];
    assert_eq!(by_agent["name"], "command");
}

#[test]
fn the_limit_of_a_day_counts_earlier_sessions() {
    let team = endless("budget_usd_day = 1.5", "", &[START, TEXT, USAGE]);
    let cheap = team.replace("exec sleep 600", "echo '{\\\"type\\\":\\\"end\\\"}'");
    let workspace = Workspace::new(&cheap);
    let output = workspace.exits(0, &["run", "hello", "--new", "first", "--trust"]);
    assert!(
        output.stderr.contains("max is done: 0 tokens in, 100,000 out · ~$1.00"),
        "{}",
        output.stderr
    );
    workspace.write("tertulia.toml", &team);
    let output = workspace.exits(3, &["run", "hello", "--new", "second", "--trust"]);
    let question = "today, all sessions together have spent $2.00 of $1.50 (budget_usd_day)";
    assert!(output.stderr.contains(question), "{}", output.stderr);
    let output = workspace.exits(3, &["run", "hello", "--new", "third", "--trust"]);
    let question = "today, all sessions together have spent $2.00 of $1.50. Continue?";
    assert!(output.stderr.contains(question), "{}", output.stderr);
    let replayed = workspace.exits(0, &["replay", "second"]);
    assert!(!replayed.stdout.contains("in the log"), "{}", replayed.stdout);
    let report = json(&workspace, &["--by", "session"]);
    assert_eq!(report["groups"].as_array().unwrap().len(), 2);
    assert_eq!(json(&workspace, &["--session", "first"])["total"]["computedUsd"], 1);
}

#[test]
fn the_prices_of_the_user_and_of_the_team_file_come_first() {
    let own = "date = \"2027-01-02\"\n[vendor.x.models]\n\"gpt-5\" = { input = 0, output = 1 }\n";
    let team = endless("budget_usd_turn = 0.05", "", &[START, TEXT, USAGE]);
    let workspace = Workspace::new(&team);
    let folder = workspace.root().join("home/.config/tertulia");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("prices.toml"), own).unwrap();
    let output = workspace.exits(3, &["run", "hello", "--trust"]);
    assert!(output.stderr.contains("has spent $0.10 of $0.05"), "{}", output.stderr);
    let dates = &json(&workspace, &[])["total"]["pricesDates"];
    assert_eq!(dates, &serde_json::json!(["2027-01-02"]));
    let prices = "[prices]\ndate = \"2027-03-04\"\n[prices.vendor.x.models]\n\"gpt-*\" = { input = 0, \
                  output = 2 }\n";
    workspace.write("tertulia.toml", &format!("{prices}{team}"));
    let output = workspace.exits(3, &["run", "hello", "--trust"]);
    assert!(output.stderr.contains("has spent $0.20 of $0.05"), "{}", output.stderr);
    // A broken file is named, and nothing starts.
    std::fs::write(folder.join("prices.toml"), "date = \"soon\"\n").unwrap();
    let output = workspace.exits(2, &["run", "hello", "--trust"]);
    assert!(output.stderr.contains("prices.toml:1:8: date: must be a date"), "{}", output.stderr);
}

#[test]
fn a_model_without_a_price_has_an_unknown_cost_and_never_0() {
    let model = START.replace("gpt-5", "llama-9");
    let team = endless("", "", &[&model, TEXT, USAGE]);
    let team = team.replace("exec sleep 600", "echo '{\\\"type\\\":\\\"end\\\"}'");
    let workspace = Workspace::new(&team);
    let output = workspace.exits(0, &["run", "hello", "--trust"]);
    assert!(!output.stderr.contains('$'), "{}", output.stderr);
    let output = workspace.exits(0, &["cost", "--by", "model"]);
    assert!(!output.stdout.contains('$'), "{}", output.stdout);
    let unknown = "The cost of 1 answer with 100,000 tokens is unknown";
    assert!(output.stdout.contains(unknown), "{}", output.stdout);
    let report = json(&workspace, &["--by", "model"]);
    assert_eq!(report["total"]["unknownTokens"], 100_000);
    assert_eq!(report["groups"][0]["name"], "llama-9");
}

#[test]
fn answers_are_selected_by_time_session_and_project() {
    let store = TestStore::new();
    let log = std::fs::read_to_string(repository_file("examples/costs.jsonl")).unwrap();
    store.import("one", &log);
    store.import("two", &log.replace("\"c", "\"d"));
    let url = store.url();
    let total = |arguments: &[&str]| {
        let outcome = tertulia(&[&["cost", "--json", "--store", &url], arguments].concat(), "");
        let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
        report["total"]["answers"].as_u64().unwrap()
    };
    assert_eq!(total(&[]), 8);
    assert_eq!(total(&["--session", "two"]), 4);
    assert_eq!(total(&["--since", "2026-11-13T00:00:00Z"]), 4);
    assert_eq!(total(&["--since", "2027-01-01T00:00:00Z"]), 0);
    assert_eq!(total(&["--project=/nowhere"]), 0);
    let outcome = tertulia(&["cost", "--by", "colour", "--store", &url], "");
    assert!(outcome.stderr.contains("must be one of day, session"), "{}", outcome.stderr);
}

#[test]
fn a_project_is_named_by_any_of_its_folders() {
    let team = endless("", "", &[START, TEXT, USAGE]);
    let team = team.replace("exec sleep 600", "echo '{\\\"type\\\":\\\"end\\\"}'");
    let workspace = Workspace::new(&team);
    workspace.exits(0, &["run", "hello", "--trust"]);
    assert_eq!(json(&workspace, &["--project"])["total"]["answers"], 1);
    symlink(workspace.path(""), workspace.root().join("link")).unwrap();
    let linked = format!("--project={}", workspace.root().join("link").display());
    assert_eq!(json(&workspace, &[&linked])["total"]["answers"], 1);
    let other = format!("--project={}", workspace.root().join("home").display());
    assert_eq!(json(&workspace, &[&other])["total"]["answers"], 0);
}
