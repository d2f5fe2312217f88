//! Tests which programs a team file may start, and where: of a project that is not trusted, of the user's own file,
//! and of a file that `init` has just written.

use crate::workspace::Workspace;

/// An agent that answers its first message with its working folder, in the format of Claude Code.
const CLAUDE: &str = r#"
case "$*" in *--version*) echo '9.8.7 (Claude Code)'; exit ;; esac
IFS= read -r line
printf '{"type":"result","subtype":"success","is_error":false,"result":"in %s"}\\n' "$(pwd -P)"
"#;

const TEAM: &str = "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
                    [[member]]\nname = \"max\"\nagent = \"claude\"\n";

const COMMAND: &str = "[[member]]\nname = \"ann\"\nkind = \"human\"\n[[member]]\nname = \"max\"\n\
                       agent = \"command\"\ncommand = [\"sh\", \"-c\", \"cat > /dev/null; pwd -P\"]\n";

fn own_file(workspace: &Workspace, team: &str) {
    let folder = workspace.root().join("home/.config/tertulia");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("tertulia.toml"), team).unwrap();
}

fn shown(path: &std::path::Path) -> String {
    path.canonicalize().unwrap().display().to_string()
}

#[test]
fn a_project_that_names_a_coding_agent_has_to_be_trusted() {
    for team in [
        TEAM.to_owned(),
        r#"{"schemaVersion": "1.1", "team": {"members": [{"name": "ann", "type": "human"},
            {"name": "max", "type": "ai", "agentType": "claude"}]}}"#
            .to_owned(),
    ] {
        let workspace = Workspace::new(&team);
        workspace.program("claude", CLAUDE);
        let output = workspace.exits(2, &["run", "hello"]);
        for reported in
            ["max is Claude Code", "the project's own settings", "run again with --trust."]
        {
            assert!(output.stderr.contains(reported), "{}", output.stderr);
        }
        let output = workspace.exits(1, &["doctor"]);
        assert!((output.stdout + &output.stderr).contains("is not trusted yet"));
    }
}

#[test]
fn a_file_that_init_wrote_is_trusted_until_it_changes() {
    let workspace = Workspace::empty();
    workspace.program("claude", CLAUDE);
    workspace.exits(0, &["init"]);
    let output = workspace.tertulia(&["run", "@scribe We decided to ship."]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let file = std::fs::read_to_string(workspace.path("tertulia.toml")).unwrap();
    workspace.write(
        "tertulia.toml",
        &(file + "args = [\"--x\"]\n").replace("scribe\"\nargs", "scribe\"\n# args"),
    );
    workspace.exits(2, &["run", "@scribe We decided to ship."]);
}

#[test]
fn agents_of_the_users_own_file_work_where_the_command_runs_and_need_no_trust() {
    let workspace = Workspace::empty();
    own_file(&workspace, COMMAND);
    let output = workspace.exits(0, &["run", "hello"]);
    assert_eq!(output.stdout, format!("max:\n{}\n", shown(&workspace.path(""))));
    // An unusable list of trusted files does not affect the user's own file.
    std::os::unix::fs::symlink("/dev/null", workspace.root().join("data/trusted")).unwrap();
    workspace.exits(0, &["run", "hello"]);
    // A path in the file is relative to the file.
    own_file(&workspace, &format!("{COMMAND}cwd = \"sub\"\n"));
    let sub = workspace.root().join("home/.config/tertulia/sub");
    std::fs::create_dir(&sub).unwrap();
    let output = workspace.exits(0, &["run", "hello"]);
    assert_eq!(output.stdout, format!("max:\n{}\n", shown(&sub)));
}

#[test]
fn agents_of_a_named_file_work_in_its_folder_only_if_it_lies_in_the_project() {
    let workspace = Workspace::empty();
    std::fs::create_dir(workspace.path("teams")).unwrap();
    std::fs::create_dir(workspace.root().join("elsewhere")).unwrap();
    let outside = workspace.root().join("elsewhere/team.toml");
    std::fs::write(&outside, COMMAND).unwrap();
    workspace.write("teams/team.toml", COMMAND);
    let at = |team: &str| workspace.exits(0, &["run", "hello", "--trust", "--team", team]).stdout;
    assert_eq!(
        at(&outside.display().to_string()),
        format!("max:\n{}\n", shown(&workspace.path("")))
    );
    assert_eq!(at("teams/team.toml"), format!("max:\n{}\n", shown(&workspace.path("teams"))));
}

#[test]
fn a_cwd_that_is_a_link_out_of_the_project_is_refused_even_with_trust() {
    let workspace = Workspace::new(&format!("{COMMAND}cwd = \"link\"\n"));
    std::os::unix::fs::symlink(workspace.root().join("home"), workspace.path("link")).unwrap();
    let output = workspace.exits(2, &["run", "hello", "--trust"]);
    assert!(
        output.stderr.contains("cwd of max") && output.stderr.contains("leads out"),
        "{}",
        output.stderr
    );
}

#[test]
fn a_spending_limit_that_cannot_hold_is_reported_by_run_and_doctor() {
    let limit = "[limits]\nbudget_usd = 5.0\n";
    let workspace = Workspace::new(&format!("{}{limit}", TEAM.replace("claude", "codex")));
    let words = "limits.budget_usd: does not count members whose cost is unknown: \"max\" (codex: set model)";
    let output = workspace.tertulia(&["doctor"]);
    assert!(
        (output.stdout.clone() + &output.stderr).contains(words),
        "{}{}",
        output.stdout,
        output.stderr
    );
    let output = workspace.tertulia(&["run", "[DROP: ALL]", "--trust"]);
    assert!(output.stderr.contains(words), "{}", output.stderr);
}

#[test]
fn settings_of_a_project_have_to_be_trusted_whoever_names_the_agents() {
    let workspace = Workspace::empty();
    workspace.program("claude", CLAUDE);
    own_file(&workspace, TEAM);
    // The turn may fail, but it is allowed to start.
    let code = |more: &[&str]| workspace.tertulia(&[&["run", "hello"], more].concat()).code;
    assert_ne!(code(&[]), Some(2), "without settings nobody is asked");
    std::fs::create_dir_all(workspace.path(".claude")).unwrap();
    workspace.write(".claude/settings.json", "{}");
    let output = workspace.exits(2, &["run", "hello"]);
    let head = "contains settings for agents that are not trusted yet. Used by max (hooks, MCP servers, \
                variables):\n  .claude/settings.json (2 bytes)\n";
    assert!(output.stderr.contains(head), "{}", output.stderr);
    assert_ne!(code(&["--trust"]), Some(2));
    assert_ne!(code(&[]), Some(2), "asked once");
}

#[test]
fn init_trusts_its_file_only_where_the_project_has_no_settings() {
    let workspace = Workspace::empty();
    workspace.program("claude", CLAUDE);
    workspace.write(".mcp.json", "{}");
    let output = workspace.exits(0, &["init"]);
    assert!(
        output.stderr.contains("also read") && output.stderr.contains(".mcp.json"),
        "{}",
        output.stderr
    );
    workspace.exits(2, &["run", "@scribe We decided to ship."]);
}

#[test]
fn the_question_after_a_change_shows_what_changed() {
    let workspace = Workspace::new(COMMAND);
    let output = workspace.exits(2, &["run", "hello"]);
    let head = "tertulia.toml is not trusted yet. If you trust it:\n  max starts sh";
    assert!(output.stderr.contains(head), "{}", output.stderr);
    workspace.exits(0, &["run", "hello", "--trust"]);
    workspace.write("tertulia.toml", &format!("# for all of us\n{COMMAND}"));
    let output = workspace.exits(2, &["run", "hello"]);
    for part in [
        "has changed since you trusted it.\nIt requests the same permissions as before (1 permission).\n",
        "Changed lines:\n  + # for all of us\nReview it",
    ] {
        assert!(output.stderr.contains(part), "{part:?} is not in:\n{}", output.stderr);
    }
    workspace.write(
        "tertulia.toml",
        &format!("{}env = {{ KEY = \"sk-1\" }}\n", COMMAND.replace("pwd -P", "ls")),
    );
    let output = workspace.exits(2, &["run", "hello"]);
    for part in [
        "It requests these permissions:\n  - max starts sh -c \"cat > /dev/null; pwd -P\"\n  + max \
         starts sh -c \"cat > /dev/null; ls\"\n",
        "  + max gets the variables KEY\n",
        "  + env (hidden, ",
    ] {
        assert!(output.stderr.contains(part), "{part:?} is not in:\n{}", output.stderr);
    }
    assert!(!output.stderr.contains("sk-1"), "{}", output.stderr);
}

#[test]
fn the_question_after_a_change_never_cuts_what_the_file_wants() {
    let workspace = Workspace::new(COMMAND);
    workspace.exits(0, &["run", "hello", "--trust"]);
    let more = (1..=46).map(|n| {
        format!("[[member]]\nname = \"m{n}\"\nagent = \"command\"\ncommand = [\"do-{n}\"]\n")
    });
    workspace.write("tertulia.toml", &more.fold(COMMAND.to_owned(), |file, member| file + &member));
    let reported = workspace.exits(2, &["run", "hello"]).stderr;
    let (wants, lines) = reported.split_once("Changed lines:\n").unwrap();
    for n in 1..=46 {
        assert!(wants.contains(&format!("  + m{n} starts do-{n}\n")), "{n}: {reported}");
    }
    assert!(lines.contains("\n  and 144 more\n"), "{reported}");
}

#[test]
fn a_hidden_value_that_changed_is_reported_first_whatever_else_changed() {
    let file = |value: &str| format!("{COMMAND}env = {{ MODE = \"{value}\" }}\n");
    let workspace = Workspace::new(&file("calm"));
    workspace.exits(0, &["run", "hello", "--trust"]);
    let comments: String = (1..=45).map(|n| format!("# note {n} (hidden, 1a2b3c4d)\n")).collect();
    workspace.write("tertulia.toml", &(comments + &file("evil")));
    let reported = workspace.exits(2, &["run", "hello"]).stderr;
    let head = "It requests the same permissions as before (2 permissions), but hidden values changed.\n\
                Changed lines:\n  - env (hidden, ";
    assert!(reported.contains(head), "{reported}");
    assert!(reported.contains("\n  + env (hidden, ") && !reported.contains("evil"), "{reported}");
    assert!(
        reported.contains("  + # note 40 ") && reported.contains("\n  and 5 more\n"),
        "{reported}"
    );
    assert!(!reported.contains("  + # note 41 "), "{reported}");
}
