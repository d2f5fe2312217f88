//! Tests `tertulia doctor`: what it finds, what is missing, and what would stop a run.

use serde_json::Value;

use crate::workspace::{Workspace, executable};

/// Returns the finding about something.
fn finding(workspace: &Workspace, code: i32, about: &str) -> Value {
    let output = workspace.exits(code, &["doctor", "--json"]);
    let record = output.json().remove(0);
    let findings = record["findings"].as_array().unwrap();
    let found = findings.iter().find(|one| one["about"] == about);
    found.unwrap_or_else(|| panic!("{about}: {record}")).clone()
}

#[test]
fn a_fresh_machine_is_good_enough() {
    let workspace = Workspace::empty();
    let output = workspace.exits(0, &["doctor"]);
    for text in ["claude: not found", "containment: ", "team file: none", "store: ", "terminal: "] {
        assert!(output.stdout.contains(text), "{text}: {}", output.stdout);
    }
    assert_eq!(output.stderr, "");
    assert!(!workspace.root().join("data/sessions.db").exists());
    let store = finding(&workspace, 0, "store");
    assert!(store["text"].as_str().unwrap().contains("MiB free"), "{store}");
    assert_eq!(finding(&workspace, 0, "terminal")["health"], "ok");
}

#[test]
fn an_agent_is_reported_with_place_version_and_sign_in() {
    let workspace = Workspace::empty();
    workspace.program("claude", "echo '9.8.7 (Claude Code)'");
    let claude = finding(&workspace, 0, "claude");
    let text = claude["text"].as_str().unwrap();
    assert!(text.starts_with("9.8.7 at ") && text.contains("not signed in"), "{text}");
    assert_eq!(claude["health"], "optional");
    assert!(claude["advice"].as_str().unwrap().contains("/login"), "{claude}");
}

#[test]
fn a_team_file_that_cannot_be_read_would_stop_a_run() {
    let workspace = Workspace::new("[[member]]\nname = \"max\"\nagent = \"clod\"\n");
    let team = finding(&workspace, 1, "team file");
    assert_eq!(team["health"], "error");
    assert!(team["text"].as_str().unwrap().contains("tertulia.toml:3:"), "{team}");
}

#[test]
fn a_file_without_trust_would_stop_a_run() {
    let command =
        "[[member]]\nname = \"max\"\nagent = \"command\"\ncommand = [\"sh\", \"-c\", \"cat\"]\n";
    let workspace = Workspace::new(command);
    let team = finding(&workspace, 1, "team file");
    assert!(team["text"].as_str().unwrap().contains("max starts sh -c cat"), "{team}");
    workspace.exits(0, &["run", "hello", "--trust"]);
    assert_eq!(finding(&workspace, 0, "team file")["health"], "ok");
    assert!(finding(&workspace, 0, "store")["text"].as_str().unwrap().contains("opened"));
}

#[test]
fn a_file_that_changed_since_it_was_trusted_is_reported_as_in_a_run() {
    let team = |program: &str| {
        format!("[[member]]\nname = \"max\"\nagent = \"command\"\ncommand = [\"{program}\"]\n")
    };
    let workspace = Workspace::new(&team("cat"));
    workspace.exits(0, &["run", "hello", "--trust"]);
    workspace.write("tertulia.toml", &team("tac"));
    let run = workspace.exits(2, &["run", "hello"]).stderr;
    let found = finding(&workspace, 1, "team file");
    let text = found["text"].as_str().unwrap();
    assert!(text.contains("tertulia.toml has changed since you trusted it."), "{text}");
    assert!(text.contains("+ max starts tac") && !text.contains("not trusted yet"), "{text}");
    assert!(run.contains(text), "{run}\n{text}");
}

#[test]
fn settings_of_a_project_without_trust_would_stop_a_run() {
    let workspace = Workspace::empty();
    workspace.program("claude", "echo '9.8.7 (Claude Code)'");
    let own = workspace.root().join("home/.config/tertulia");
    std::fs::create_dir_all(&own).unwrap();
    let team = "[[member]]\nname = \"max\"\nagent = \"claude\"\n";
    std::fs::write(own.join("tertulia.toml"), team).unwrap();
    std::fs::create_dir(workspace.path(".claude")).unwrap();
    workspace.write(".claude/settings.json", "{}");
    workspace.exits(2, &["run", "hello"]);
    let settings = finding(&workspace, 1, "project settings");
    assert_eq!((&settings["health"], &settings["blocks"]), (&"error".into(), &true.into()));
    let text = settings["text"].as_str().unwrap();
    assert!(text.contains("contains settings for agents that are not trusted yet"), "{text}");
    assert_eq!(settings["advice"], "review it, then run `tertulia chat --trust`");
    // The turn may fail, but it is allowed to start.
    assert_ne!(workspace.tertulia(&["run", "hello", "--trust"]).code, Some(2));
    let reported = workspace.tertulia(&["doctor"]).stdout;
    assert!(!reported.contains("project settings"), "{reported}");
    workspace.write(".claude/settings.json", "{\"hooks\": {}}");
    let settings = finding(&workspace, 1, "project settings");
    let text = settings["text"].as_str().unwrap();
    assert!(text.contains("have changed since you trusted them"), "{text}");
}

#[test]
fn a_missing_program_stops_a_run_only_if_everybody_needs_it() {
    let claude = "[[member]]\nname = \"max\"\nagent = \"claude\"\n";
    let scribe = "[[member]]\nname = \"scribe\"\nagent = \"scribe\"\n";
    let workspace = Workspace::new(&format!("{claude}{scribe}"));
    let needed = finding(&workspace, 1, "member max");
    assert_eq!((&needed["health"], &needed["blocks"]), (&"missing".into(), &true.into()));
    let workspace = Workspace::new(&format!("{scribe}{claude}"));
    workspace.exits(0, &["run", "hello", "--trust"]);
    let other = finding(&workspace, 0, "member max");
    assert_eq!((&other["health"], &other["blocks"]), (&"missing".into(), &false.into()));
}

#[test]
fn agents_that_the_team_does_not_use_are_optional_and_listed_last() {
    let workspace = Workspace::new(
        "[[member]]\nname = \"max\"\nagent = \"claude\"\n\
         [[member]]\nname = \"eva\"\nagent = \"codex\"\n\
         [[member]]\nname = \"leo\"\nagent = \"codex\"\n",
    );
    let reported = workspace.exits(1, &["doctor"]).stdout;
    let (used, optional) = reported.split_once("\nOptional, not used by this team:\n").unwrap();
    // A problem of several members is reported once.
    assert!(used.contains("missing  member max: claude not found\n"), "{reported}");
    assert!(used.contains("missing  members eva, leo: codex not found\n"), "{reported}");
    assert_eq!(reported.matches("install Codex").count(), 1, "{reported}");
    assert!(!used.contains("gemini") && optional.contains("gemini: not found\n"), "{reported}");
}

#[test]
fn the_last_line_says_that_all_is_ready_or_what_to_do() {
    let last = |workspace: &Workspace, code: i32, more: &[&str]| {
        let output = workspace.exits(code, &[&["doctor"], more].concat());
        assert_eq!(output.stderr, "");
        output.stdout.lines().last().unwrap().to_owned()
    };
    assert_eq!(
        last(&Workspace::empty(), 0, &[]).split(" (").next(),
        Some("ready: `tertulia chat`")
    );
    let scribe = Workspace::new("[[member]]\nname = \"scribe\"\nagent = \"scribe\"\n");
    let team = ["--team", "tertulia.toml"];
    assert!(last(&scribe, 0, &team).starts_with("ready: `tertulia chat --team tertulia.toml`"));
    let broken = Workspace::new("[[member]]\nname = 5\n");
    assert_eq!(last(&broken, 1, &[]), "not ready: fix the problem above, then run it again");
}

#[test]
fn an_agent_that_cannot_be_started_is_no_missing_one() {
    let workspace = Workspace::new("[[member]]\nname = \"max\"\nagent = \"claude\"\n");
    workspace.program("claude", "");
    std::fs::write(workspace.root().join("bin/claude"), "#!/usr/bin/env no-such-node\n").unwrap();
    let claude = finding(&workspace, 1, "member max");
    assert_eq!(claude["health"], "error");
    assert_eq!(claude["text"], "claude cannot be started");
    let advice = claude["advice"].as_str().unwrap();
    assert!(advice.contains("needs no-such-node (its #! line)"), "{advice}");
}

#[test]
fn a_folder_to_work_in_that_is_not_there_is_reported() {
    let team =
        "[[member]]\nname = \"max\"\nagent = \"command\"\ncommand = [\"cat\"]\ncwd = \"api\"\n";
    let workspace = Workspace::new(team);
    workspace.exits(1, &["run", "hello", "--trust"]);
    let max = finding(&workspace, 1, "member max");
    assert_eq!(max["health"], "missing");
    assert!(max["text"].as_str().unwrap().ends_with("api does not exist"), "{max}");
    workspace.write("api", "");
    let max = finding(&workspace, 1, "member max");
    assert!(max["text"].as_str().unwrap().ends_with("api is not a folder"), "{max}");
    std::fs::remove_file(workspace.path("api")).unwrap();
    std::fs::create_dir(workspace.path("api")).unwrap();
    workspace.exits(0, &["doctor"]);
    workspace.exits(0, &["run", "hello"]);
}

#[test]
fn the_folders_of_programs_are_reported_once_if_the_team_misses_one() {
    let member = "[[member]]\nname = \"max\"\nagent = ";
    for (team, times) in [
        ("\"scribe\"", 0),
        ("\"claude\"", 1),
        ("\"command\"\ncommand = [\"no-such-program\"]", 1),
        ("\"command\"\ncommand = [\"cat\"]", 0),
    ] {
        let workspace = Workspace::new(&format!("{member}{team}\n"));
        let reported = workspace.tertulia(&["doctor"]).stdout;
        let bin = workspace.root().join("bin").display().to_string();
        assert_eq!(reported.matches(&bin).count(), times, "{reported}");
        assert_eq!(reported.matches("ok       PATH: ").count(), times, "{reported}");
        assert!(reported.contains("in PATH; install"), "{reported}");
    }
}

#[test]
fn what_cannot_be_started_is_an_error_whoever_uses_it() {
    let workspace = Workspace::new(
        "[[member]]\nname = \"max\"\nagent = \"claude\"\n\
         [[member]]\nname = \"eva\"\nagent = \"command\"\ncommand = [\"./broken\"]\n\
         [[member]]\nname = \"bot\"\nagent = \"command\"\ncommand = [\"./gone\"]\n",
    );
    executable(&workspace.root().join("bin/claude"), "#!/usr/bin/env no-such-node\n");
    executable(&workspace.path("broken"), "#!/usr/bin/env no-such-node\n");
    for (about, health) in
        [("member max", "error"), ("member eva", "error"), ("member bot", "missing")]
    {
        assert_eq!(finding(&workspace, 1, about)["health"], health, "{about}");
    }
}

#[test]
fn the_last_line_counts_what_stops_a_run_among_the_problems_above() {
    let claude = "[[member]]\nname = \"max\"\nagent = \"claude\"\n";
    let codex = "[[member]]\nname = \"eva\"\nagent = \"codex\"\n";
    let gemini = "[[member]]\nname = \"leo\"\nagent = \"gemini\"\n";
    let workspace = Workspace::new(&format!("{claude}{codex}{gemini}"));
    // The file is not trusted, and the first agent is missing; the others are not needed.
    let reported = workspace.exits(1, &["doctor"]).stdout;
    let last = reported.lines().last();
    assert_eq!(
        last,
        Some("not ready: 2 of the 4 problems above stop `tertulia run`"),
        "{reported}"
    );
}

#[test]
fn a_store_that_cannot_be_opened_would_stop_a_run() {
    let workspace = Workspace::empty();
    workspace
        .write("sessions.db", "this is no database, and long enough to be seen as none at all");
    let output = workspace.exits(1, &["doctor", "--store", "sqlite:sessions.db"]);
    assert!(output.stdout.contains("error    store: "), "{}", output.stdout);
}

#[test]
fn members_are_looked_for_with_their_own_settings() {
    let workspace = Workspace::new(
        "[[member]]\nname = \"max\"\nagent = \"claude\"\ncommand = [\"./bin/clever\"]\n\
         env = { CLAUDE_CONFIG_DIR = \"/nowhere\" }\n\
         [[member]]\nname = \"bot\"\nagent = \"command\"\ncommand = [\"./bin/dull\"]\n\
         [[member]]\nname = \"far\"\nagent = \"openai\"\nmodel = \"m\"\n\
         base_url = \"http://127.0.0.1:9/v1\"\n",
    );
    std::fs::create_dir(workspace.path("bin")).unwrap();
    let script = "#!/bin/sh\ntouch started\n";
    workspace.write("bin/dull", script);
    executable(&workspace.path("bin/clever"), script);
    let max = finding(&workspace, 1, "member max");
    let text = max["text"].as_str().unwrap();
    assert!(text.contains("bin/clever, not signed in"), "{text}");
    let bot = finding(&workspace, 1, "member bot");
    assert_eq!(bot["text"], "its program ./bin/dull cannot be started");
    assert_eq!(bot["health"], "error");
    assert!(bot["advice"].as_str().unwrap().contains("is not executable"), "{bot}");
    let far = finding(&workspace, 1, "member far");
    assert!(far["text"].as_str().unwrap().starts_with("endpoint http://127.0.0.1:9/v1, no key"));
    assert!(
        !workspace.path("started").exists(),
        "doctor started a program of a file without trust"
    );
}

#[test]
fn the_memory_of_each_agent_is_listed_with_its_reason() {
    let workspace = Workspace::new(
        "[[member]]\nname = \"max\"\nagent = \"claude\"\n\
         [[member]]\nname = \"eva\"\nagent = \"codex\"\n\
         [[member]]\nname = \"leo\"\nagent = \"pi\"\n\
         [[member]]\nname = \"kim\"\nagent = \"pi\"\nmemory = \"fresh\"\n\
         [[member]]\nname = \"bob\"\nagent = \"acp\"\ncommand = [\"bot\", \"--acp\"]\n\
         [[member]]\nname = \"ada\"\nagent = \"script\"\nanswers = [\"Yes.\"]\n",
    );
    let output = workspace.exits(1, &["doctor", "--json"]);
    let record = output.json().remove(0);
    let memory: Vec<String> = record["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["about"].as_str().unwrap().starts_with("memory of "))
        .map(|one| format!("{}: {}", one["about"].as_str().unwrap(), one["text"].as_str().unwrap()))
        .collect();
    assert_eq!(
        memory,
        [
            "memory of max, eva: its own session, in a process that waits for the next turn",
            "memory of bob: its own session, in a process that waits for the next turn; after the process has ended, a new one \
             continues it only if the agent can load it and replays exactly what was said, else the turn starts fresh",
            "memory of leo: its own session, which a new process continues in each turn",
            "memory of kim: none, each turn gets the whole prompt: the team file says memory = \"fresh\"",
            "memory of ada: none, each turn gets the whole prompt: written answers need no memory",
        ]
    );
}
