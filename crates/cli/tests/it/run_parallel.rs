//! Tests `tertulia run` with turns that run at once, and `tertulia worktrees`.

use std::process::Command;

use crate::workspace::{CommandOutput, Workspace, feed};

/// A team whose members answer at once.
const TEAM: &str = r#"
[limits]
parallel = 3
[[member]]
name = "ann"
kind = "human"
[[member]]
name = "max"
agent = "script"
answers = ["one of max\ntwo of max"]
[[member]]
name = "eva"
agent = "script"
answers = ["one of eva\ntwo of eva"]
[[member]]
name = "leo"
agent = "script"
answers = ["one of leo\ntwo of leo"]
"#;

#[test]
fn answers_of_turns_that_run_at_once_are_printed_whole() {
    let workspace = Workspace::new(TEAM);
    let output = workspace.exits(0, &["run", "[NEXT: max, eva, leo] go"]);
    for name in ["max", "eva", "leo"] {
        let answer = format!("{name}:\none of {name}\ntwo of {name}\n");
        assert!(output.stdout.contains(&answer), "{}", output.stdout);
        assert!(output.stderr.contains(&format!("{name} is done: ")), "{}", output.stderr);
    }
    assert_eq!(workspace.turns()[3..6], ["max started", "eva started", "leo started"]);
    workspace.exits(0, &["replay", "latest"]);
}

#[test]
fn events_of_turns_that_run_at_once_name_their_turn() {
    let workspace = Workspace::new(TEAM);
    let output = workspace.exits(0, &["run", "--json", "[NEXT: max, eva, leo] go"]);
    let events = output.stdout.lines().map(|line| serde_json::from_str(line).unwrap());
    let mut texts = std::collections::BTreeMap::<String, String>::new();
    for event in events.filter(|event: &serde_json::Value| event["type"] == "text") {
        let name = |name: &str| event[name].as_str().unwrap().to_owned();
        assert!(name("turn").starts_with("e-"));
        texts.entry(name("member")).or_default().push_str(&name("text"));
    }
    assert_eq!(texts.len(), 3);
    assert!(texts.iter().all(|(name, text)| *text == format!("one of {name}\ntwo of {name}")));
}

fn git(workspace: &Workspace, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]).args(arguments);
    let output = command.current_dir(workspace.path("")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Returns a project in a repository, in which Max works in a worktree.
fn project() -> Workspace {
    let workspace = Workspace::new(
        "[[member]]\nname = \"ann\"\nkind = \"human\"\n[[member]]\nname = \"max\"\nagent = \
         \"command\"\nworktree = true\ncommand = [\"/bin/sh\", \"-c\", \"cat >/dev/null; echo new > \
         new.txt; echo done\"]\n",
    );
    git(&workspace, &["init", "--quiet"]);
    git(&workspace, &["add", "."]);
    git(&workspace, &["commit", "--quiet", "-m", "one"]);
    workspace
}

#[test]
fn a_worktree_is_listed_compared_and_removed_when_nothing_would_be_lost() {
    let workspace = project();
    assert!(workspace.exits(0, &["worktrees", "list"]).stderr.contains("there are no worktrees"));
    let ran = workspace.exits(0, &["run", "--trust", "--new", "talk", "go"]);
    let offered = "branch tertulia/talk/max of max: 1 file with uncommitted changes; `tertulia \
                   worktrees diff talk/max` shows the changes";
    assert!(ran.stderr.contains(offered), "{}", ran.stderr);
    assert!(!workspace.path("new.txt").exists());
    let listed = workspace.exits(0, &["worktrees", "list"]).stdout;
    let expected =
        "talk/max  1 file with uncommitted changes\n  branch tertulia/talk/max\n  folder ";
    assert!(listed.starts_with(expected), "{listed}");
    let json = workspace.exits(0, &["worktrees", "list", "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["member"], &json["changed"]), (&"max".into(), &1.into()));
    let patch = workspace.exits(0, &["worktrees", "diff", "max"]).stdout;
    assert!(patch.contains("+new\n"), "{patch}");
    let kept = workspace.exits(1, &["worktrees", "remove", "talk/max"]);
    assert!(kept.stderr.contains("it has changes that are not committed"), "{}", kept.stderr);
    let path = std::path::PathBuf::from(json["path"].as_str().unwrap());
    std::fs::remove_file(path.join("new.txt")).unwrap();
    let removed = workspace.exits(0, &["worktrees", "remove", "--all"]).stdout;
    assert_eq!(removed, "removed talk/max and its branch\n");
    let unknown = workspace.exits(1, &["worktrees", "diff", "max"]);
    assert!(unknown.stderr.contains("there is no worktree max"), "{}", unknown.stderr);
}

#[test]
fn without_git_the_turn_fails_and_says_what_is_missing() {
    let workspace = project();
    let mut command = workspace.command(&["run", "--trust", "go"]);
    command.env("PATH", workspace.root().join("bin"));
    let output = CommandOutput::from(feed(command.spawn().unwrap(), b""));
    assert_eq!(output.code, Some(1), "{output:#?}");
    assert!(output.stderr.contains("needs git, which is not installed"), "{}", output.stderr);
}
