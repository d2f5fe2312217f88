//! Tests the completions of a shell, requested in the way of the shell.

use std::process::Command;

use crate::workspace::{CommandOutput, Workspace};

const TEAM: &str = "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
    [[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [\"Done.\"]\n\
    [[member]]\nname = \"mona\"\nagent = \"command\"\ncommand = [\"touch\", \"started\"]\n";

/// Returns the completions of the last of these words.
fn offered(workspace: &Workspace, words: &[&str]) -> Vec<String> {
    let line = [&["--", "tertulia"], words].concat();
    let mut command = workspace.command(&line);
    let output = CommandOutput::wait(command.env("TERTULIA_COMPLETE", "bash").spawn().unwrap());
    assert_eq!((output.code, &*output.stderr), (Some(0), ""), "{words:?}");
    output.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn members_are_offered_and_no_agent_is_started_for_it() {
    let workspace = Workspace::new(TEAM);
    assert_eq!(offered(&workspace, &["run", "--member", "m"]), ["max", "mona"]);
    assert_eq!(offered(&workspace, &["context", "--member", "a"]), ["ann"]);
    workspace.write("other.toml", &TEAM.replace("mona", "mara"));
    let words = ["run", "--team", "other.toml", "--member", "m"];
    assert_eq!(offered(&workspace, &words), ["max", "mara"]);
    assert!(!workspace.path("started").exists());
    assert!(!workspace.root().join("data/sessions.db").exists());
}

#[test]
fn who_speaks_is_a_person_and_who_is_searched_for_may_be_anybody() {
    let workspace = Workspace::new(TEAM);
    assert_eq!(offered(&workspace, &["run", "--as", ""]), ["ann"]);
    assert_eq!(offered(&workspace, &["chat", "--as", ""]), ["ann"]);
    let all = ["ann", "max", "mona"];
    assert_eq!(offered(&workspace, &["sessions", "search", "x", "--speaker", ""]), all);
}

#[test]
fn types_of_entries_that_a_search_finds_are_offered() {
    let workspace = Workspace::empty();
    assert_eq!(offered(&workspace, &["sessions", "search", "x", "--type", "te"]), ["team_task"]);
    let all = offered(&workspace, &["sessions", "search", "x", "--type", ""]);
    assert_eq!(all.first().map(String::as_str), Some("message"));
}

#[test]
fn sessions_are_offered_by_their_short_ids() {
    let workspace = Workspace::new(TEAM);
    assert_eq!(offered(&workspace, &["sessions", "show", ""]).len(), 0);
    workspace.exits(0, &["run", "hello", "--trust"]);
    workspace.exits(0, &["run", "hello", "--new", "login-page"]);
    let made = workspace.exits(0, &["sessions", "list", "--json"]).json();
    let made = made[1]["sessionId"].as_str().unwrap();
    let short = made.rsplit('-').next().unwrap();
    for words in [
        &["sessions", "show", ""][..],
        &["chat", "--session", ""],
        &["replay", ""],
        &["build", "--session", ""],
        &["sessions", "delete", ""],
    ] {
        let offered = offered(&workspace, words);
        for name in ["latest", "login-page", short] {
            assert!(offered.iter().any(|one| one == name), "{words:?}: {offered:?}");
        }
    }
    assert_eq!(offered(&workspace, &["run", "--session", "log"]), ["login-page"]);
    assert_eq!(offered(&workspace, &["run", "--session", &made[..9]]), [made]);
}

/// Returns the short ID of the first message of the newest session.
fn first_message(workspace: &Workspace) -> String {
    let entry = workspace.entries().into_iter().find(|entry| entry["type"] == "message").unwrap();
    entry["id"].as_str().unwrap()[..10].to_owned()
}

#[test]
fn entries_of_the_session_that_is_meant_are_offered() {
    let workspace = Workspace::new(TEAM);
    workspace.exits(0, &["run", "hello", "--new", "one", "--trust"]);
    let first = first_message(&workspace);
    workspace.exits(0, &["run", "second", "--new", "two"]);
    let newest = offered(&workspace, &["why", ""]);
    assert!(newest.len() >= 2 && !newest.contains(&first), "{newest:?}");
    for words in [
        &["why", "--session", "one", ""][..],
        &["sessions", "redact", "one", ""],
        &["sessions", "show", "one", "--from", ""],
    ] {
        let offered = offered(&workspace, words);
        assert!(offered.contains(&first), "{words:?}: {offered:?}");
    }
    let turns = offered(&workspace, &["run", "--repeat", "e-"]);
    assert!(!turns.is_empty() && turns.iter().all(|turn| turn.len() == 10), "{turns:?}");
}

#[test]
fn behind_sessions_the_newest_session_is_that_of_the_store() {
    let workspace = Workspace::new(TEAM);
    workspace.exits(0, &["run", "hello", "--new", "here", "--trust"]);
    let first = first_message(&workspace);
    let log = crate::harness::said("m1", "user", "from elsewhere");
    let imported = workspace.tertulia_with(&["sessions", "import", "-"], log.as_bytes());
    assert_eq!(imported.code, Some(0), "{imported:?}");
    for words in [&["sessions", "redact", "latest", ""][..], &["sessions", "show", "--from", ""]] {
        assert_eq!(offered(&workspace, words), ["m1"], "{words:?}");
    }
    let named = offered(&workspace, &["sessions", "redact", "--json", "here", ""]);
    assert!(named.contains(&first), "{named:?}");
    // Commands with a team use the newest session of the folder.
    assert!(offered(&workspace, &["why", ""]).contains(&first));
}

#[test]
fn models_and_formats_are_offered() {
    let workspace = Workspace::empty();
    assert!(offered(&workspace, &["tokens", "--model", "gpt-5"]).contains(&"gpt-5".to_owned()));
    assert_eq!(offered(&workspace, &["tokens", "--tokenizer", "c"]), ["cl100k", "claude"]);
    let apis = ["openai", "responses", "anthropic", "gemini"];
    assert_eq!(offered(&workspace, &["build", "--format", ""]), apis);
    assert_eq!(offered(&workspace, &["build", "--from", "o"]), ["openai"]);
    let agents = ["claude", "codex", "gemini", "plain"];
    assert_eq!(offered(&workspace, &["context", "--type", ""]), agents);
    let agents = offered(&workspace, &["handover", "--to", ""]);
    assert!(agents.contains(&"opencode".to_owned()), "{agents:?}");
    let formats = offered(&workspace, &["sessions", "export", "x", "--format", ""]);
    assert!(formats.contains(&"markdown".to_owned()), "{formats:?}");
}

#[test]
fn what_cannot_be_read_is_no_noise_at_the_prompt() {
    let workspace = Workspace::new("this is no team file");
    assert_eq!(offered(&workspace, &["run", "--member", ""]).len(), 0);
    std::fs::write(workspace.root().join("data/sessions.db"), "this is no store").unwrap();
    assert_eq!(offered(&workspace, &["sessions", "show", ""]).len(), 0);
    assert_eq!(offered(&workspace, &["why", ""]).len(), 0);
}

#[test]
fn files_are_left_to_the_shell() {
    let workspace = Workspace::empty();
    let mut command = workspace.command(&["--", "tertulia", "sessions", "import", ""]);
    let output = CommandOutput::wait(command.env("TERTULIA_COMPLETE", "bash").spawn().unwrap());
    assert_eq!((output.code, &*output.stdout, &*output.stderr), (Some(1), "", ""));
}

/// Returns the completions of bash with the printed script, if bash has split the line into these words.
fn offered_by_bash(workspace: &Workspace, words: &str) -> String {
    let script = format!(
        "source <(tertulia completions bash); COMP_WORDS=(tertulia {words}); \
         COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
         _tertulia tertulia \"${{COMP_WORDS[COMP_CWORD]}}\"; \
         printf '%s\\n' \"${{COMPREPLY[@]}}\""
    );
    let program = std::path::absolute(env!("CARGO_BIN_EXE_tertulia")).unwrap();
    let folder = program.parent().unwrap().display();
    let output = Command::new("bash")
        .args(["--norc", "-c", &script])
        .env_clear()
        .env("PATH", format!("{folder}:/usr/bin:/bin"))
        .env("HOME", workspace.root().join("home"))
        .env("TERTULIA_HOME", workspace.root().join("data"))
        .current_dir(workspace.path(""))
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn bash_completes_with_the_script_that_is_printed() {
    let workspace = Workspace::new(TEAM);
    assert_eq!(offered_by_bash(&workspace, "run --member m"), "max\nmona\n");
}

#[test]
fn bash_completes_behind_colons_and_quotes_and_quotes_what_it_offers() {
    let workspace = Workspace::new(TEAM);
    workspace
        .exits(0, &["run", "hello", "--new", "login:one", "--store", "sqlite:there.db", "--trust"]);
    let there = "sessions --store sqlite : there.db show";
    assert_eq!(offered_by_bash(&workspace, &format!("{there} lo")), "login:one\n");
    // After a colon, bash replaces only the rest of the word.
    assert_eq!(offered_by_bash(&workspace, &format!("{there} login : o")), "one\n");
    assert_eq!(offered_by_bash(&workspace, "sessions --store sqlite :"), "\n");
    workspace.write("my team.toml", &TEAM.replace("mona", "mona lisa"));
    // Bash passes the words with the quotes of the line.
    let quoted = r#"run --team "'my team.toml'" --member m"#;
    assert_eq!(offered_by_bash(&workspace, quoted), "max\nmona\\ lisa\n");
    let escaped = r"run --team 'my\ team.toml' --member 'mona\ '";
    assert_eq!(offered_by_bash(&workspace, escaped), "mona\\ lisa\n");
}
