//! Checks that every command that the program suggests works when it is pasted.

use crate::workspace::{CommandOutput, Workspace};

/// Returns the commands in backticks that a text suggests, for a shell.
fn suggested(text: &str) -> Vec<String> {
    let pieces = text.split('`').skip(1).step_by(2);
    pieces.filter(|piece| piece.starts_with("tertulia ")).map(str::to_owned).collect()
}

/// Pastes a command into a shell in this workspace.
fn paste(workspace: &Workspace, command: &str) -> CommandOutput {
    let program = workspace.command(&[]).get_program().to_owned();
    let line = command.replacen("tertulia", "\"$TERTULIA\"", 1);
    let mut shell = std::process::Command::new("sh");
    let template = workspace.command(&[]);
    shell.args(["-c", &line]).env_clear().env("TERTULIA", program).current_dir(workspace.path(""));
    for (name, value) in template.get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    let pipe = std::process::Stdio::piped;
    let child = shell.stdin(std::process::Stdio::null()).stdout(pipe()).stderr(pipe()).spawn();
    CommandOutput::wait(child.unwrap())
}

/// Pastes all commands that a text suggests, at least this many; none may be refused as wrong usage.
#[track_caller]
fn paste_all(workspace: &Workspace, text: &str, at_least: usize) {
    let commands = suggested(text);
    assert!(commands.len() >= at_least, "{commands:?} in {text}");
    for command in commands {
        let output = paste(workspace, &command);
        assert!(matches!(output.code, Some(0 | 3)), "{command}: {output:#?}");
    }
}

/// Returns Claude Code and Codex as scripts. Claude Code answers every message with one word.
fn with_agents() -> Workspace {
    let workspace = Workspace::empty();
    let version = |said: &str| format!("case \"$*\" in *--version*) echo '{said}'; exit ;; esac\n");
    let claude = r#"while IFS= read -r line; do printf '{"type":"system","subtype":"init","session_id":"s-1"}\n{"type":"result","subtype":"success","is_error":false,"session_id":"s-1","result":"Fine."}\n'; done"#;
    workspace.program("claude", &(version("9.8.7 (Claude Code)") + claude));
    workspace.program("codex", &version("codex-cli 0.1.2"));
    workspace
}

#[test]
fn what_init_suggests_works() {
    let workspace = with_agents();
    let output = workspace.exits(0, &["init"]);
    paste_all(&workspace, &output.stderr, 2);
    let workspace = Workspace::empty();
    let output = workspace.exits(0, &["init"]);
    paste_all(&workspace, &output.stderr, 2);
}

#[test]
fn what_doctor_suggests_works() {
    let workspace = with_agents();
    let output = workspace.exits(0, &["doctor"]);
    assert!(output.stdout.trim_end().lines().last().unwrap().starts_with("ready: `tertulia chat`"));
    paste_all(&workspace, &output.stdout, 2);
    let script = "[[member]]\nname = \"ann\"\nkind = \"human\"\n[[member]]\nname = \"max\"\n\
                  agent = \"command\"\ncommand = [\"sh\", \"-c\", \"cat\"]\n";
    let workspace = Workspace::new(script);
    let place = ["--team", "./tertulia.toml", "--store", "sqlite:own.db"];
    let output = workspace.exits(1, &[&["doctor"], &place[..]].concat());
    let trust = format!("`tertulia chat --trust {}`", place.join(" "));
    assert!(output.stdout.contains(&trust), "{}", output.stdout);
    paste_all(&workspace, &output.stdout, 1);
    workspace.exits(0, &["run", "hello"]);
}

#[test]
fn what_a_run_suggests_works() {
    let failing = "[[member]]\nname = \"ann\"\nkind = \"human\"\n[[member]]\nname = \"max\"\n\
                   agent = \"command\"\n\
                   command = [\"sh\", \"-c\", \"cat > /dev/null; test -e fixed && echo fine\"]\n";
    let workspace = Workspace::new(failing);
    let output = workspace.exits(1, &["run", "hello", "--trust", "--team", "tertulia.toml"]);
    workspace.write("fixed", "");
    paste_all(&workspace, &output.stderr, 1);

    let looping = "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
                   [[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [\"ping @eva\"]\n\
                   [[member]]\nname = \"eva\"\nagent = \"script\"\nanswers = [\"pong @max\"]\n";
    let workspace = Workspace::new(looping);
    let output = workspace.exits(3, &["run", "go", "--max-turns", "1", "--store", "sqlite:own.db"]);
    paste_all(&workspace, &output.stderr, 2);
}

#[test]
fn what_a_run_suggests_works_in_a_team_of_several_people() {
    let team = "[[member]]\nname = \"ann lee\"\nkind = \"human\"\n\
                [[member]]\nname = \"bob\"\nkind = \"human\"\n\
                [[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [\"ping @eva\"]\n\
                [[member]]\nname = \"eva\"\nagent = \"script\"\nanswers = [\"pong @max\"]\n";
    let workspace = Workspace::new(team);
    let stop =
        |reported: &str| suggested(reported).into_iter().find(|one| one.ends_with(" no")).unwrap();
    let first = workspace.exits(3, &["run", "--as", "ann lee", "--max-turns", "2", "go"]);
    assert!(stop(&first.stderr).ends_with(" --as 'ann lee' no"), "{}", first.stderr);
    // To continue, no speaker is needed.
    let again = workspace.exits(3, &["run", "--continue", "--max-turns", "2"]);
    let output = paste(&workspace, &stop(&again.stderr));
    assert_eq!(output.code, Some(0), "{output:#?}");
    assert!(output.stderr.contains("one queued turn was cancelled"), "{}", output.stderr);
}

#[test]
fn what_errors_suggest_works() {
    let workspace = Workspace::empty();
    let mut reported = String::new();
    for arguments in [
        &["run", "hello", "--team", "none.toml"][..],
        &["run", "--continue"],
        &["sessions", "show", "nothing"],
        &["context", "--member", "scribe"],
        &["context", "--member", "you"],
    ] {
        let output = workspace.tertulia(arguments);
        assert!(matches!(output.code, Some(1 | 2)), "{arguments:?}: {output:#?}");
        reported.push_str(&output.stderr);
    }
    paste_all(&workspace, &reported, 3);
}

#[test]
fn what_errors_suggest_leads_to_the_same_team_and_store() {
    let workspace = Workspace::empty();
    let team = "[[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [\"Done.\"]\n";
    workspace.write("team.toml", team);
    let place = ["--team", "team.toml", "--store", "sqlite:own.db"];
    let (both, store) = (place.join(" "), place[2..].join(" "));
    let reported = workspace.exits(1, &[&["run", "--continue"], &place[..]].concat()).stderr;
    assert!(reported.contains(&format!("`tertulia chat {both}` starts one")), "{reported}");
    paste_all(&workspace, &reported, 1);
    workspace.exits(0, &[&["run", "hello", "--new", "talk"], &place[..]].concat());
    let reported = workspace.exits(1, &[&["why", "zzz"], &place[..]].concat()).stderr;
    let show = format!("`tertulia sessions show talk --all {store}` lists them");
    assert!(reported.contains(&show), "{reported}");
    paste_all(&workspace, &reported, 1);
    let reported = workspace.exits(1, &["sessions", "show", "nothing", place[2], place[3]]).stderr;
    assert!(
        reported.contains(&format!("`tertulia sessions list --all {store}` shows all")),
        "{reported}"
    );
    paste_all(&workspace, &reported, 1);
}
