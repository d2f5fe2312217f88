//! What a team file may start, and where: agents of a project that nobody trusted, of the user's own file, and
//! of one that the person has just had written.

use crate::room::Room;

/// An agent that tells where it works, in the words of Claude Code.
const CLAUDE: &str = r#"
case "$*" in *--version*) echo '9.8.7 (Claude Code)'; exit ;; esac
cat > /dev/null
printf '{"type":"result","subtype":"success","is_error":false,"result":"in %s"}\\n' "$(pwd -P)"
"#;

const TEAM: &str = "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
                    [[member]]\nname = \"max\"\nagent = \"claude\"\n";

const COMMAND: &str = "[[member]]\nname = \"ann\"\nkind = \"human\"\n[[member]]\nname = \"max\"\n\
                       agent = \"command\"\ncommand = [\"sh\", \"-c\", \"cat > /dev/null; pwd -P\"]\n";

fn own_file(room: &Room, team: &str) {
    let folder = room.root().join("home/.config/tertulia");
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
        let room = Room::new(&team);
        room.program("claude", CLAUDE);
        let left = room.exits(2, &["run", "hello"]);
        for told in ["max is Claude Code", "the project's own settings", "run again with --trust."]
        {
            assert!(left.stderr.contains(told), "{}", left.stderr);
        }
        let left = room.exits(1, &["doctor"]);
        assert!((left.stdout + &left.stderr).contains("is not trusted yet"));
    }
}

#[test]
fn a_file_that_init_wrote_is_trusted_until_it_changes() {
    let room = Room::empty();
    room.program("claude", CLAUDE);
    room.exits(0, &["init"]);
    let left = room.tertulia(&["run", "@scribe We decided to ship."]);
    assert_eq!(left.code, Some(0), "{}", left.stderr);
    let file = std::fs::read_to_string(room.path("tertulia.toml")).unwrap();
    room.write(
        "tertulia.toml",
        &(file + "args = [\"--x\"]\n").replace("scribe\"\nargs", "scribe\"\n# args"),
    );
    room.exits(2, &["run", "@scribe We decided to ship."]);
}

#[test]
fn agents_of_the_users_own_file_work_where_the_command_runs_and_need_no_trust() {
    let room = Room::empty();
    own_file(&room, COMMAND);
    let left = room.exits(0, &["run", "hello"]);
    assert_eq!(left.stdout, format!("max:\n{}\n", shown(&room.path(""))));
    // A list of trusted files that cannot be used is no matter of the user's own file.
    std::os::unix::fs::symlink("/dev/null", room.root().join("data/trusted")).unwrap();
    room.exits(0, &["run", "hello"]);
    // Where a path is written, it starts at the file.
    own_file(&room, &format!("{COMMAND}cwd = \"sub\"\n"));
    let sub = room.root().join("home/.config/tertulia/sub");
    std::fs::create_dir(&sub).unwrap();
    let left = room.exits(0, &["run", "hello"]);
    assert_eq!(left.stdout, format!("max:\n{}\n", shown(&sub)));
}

#[test]
fn agents_of_a_named_file_work_in_its_folder_only_if_it_lies_in_the_project() {
    let room = Room::empty();
    std::fs::create_dir(room.path("teams")).unwrap();
    std::fs::create_dir(room.root().join("elsewhere")).unwrap();
    let outside = room.root().join("elsewhere/team.toml");
    std::fs::write(&outside, COMMAND).unwrap();
    room.write("teams/team.toml", COMMAND);
    let at = |team: &str| room.exits(0, &["run", "hello", "--trust", "--team", team]).stdout;
    assert_eq!(at(&outside.display().to_string()), format!("max:\n{}\n", shown(&room.path(""))));
    assert_eq!(at("teams/team.toml"), format!("max:\n{}\n", shown(&room.path("teams"))));
}

#[test]
fn a_cwd_that_is_a_link_out_of_the_project_is_refused_even_with_trust() {
    let room = Room::new(&format!("{COMMAND}cwd = \"link\"\n"));
    std::os::unix::fs::symlink(room.root().join("home"), room.path("link")).unwrap();
    let left = room.exits(2, &["run", "hello", "--trust"]);
    assert!(
        left.stderr.contains("cwd of max") && left.stderr.contains("leads out"),
        "{}",
        left.stderr
    );
}

#[test]
fn a_spending_limit_that_cannot_hold_is_told_by_run_and_doctor() {
    let limit = "[limits]\nbudget_usd = 5.0\n";
    let room = Room::new(&format!("{}{limit}", TEAM.replace("claude", "codex")));
    let words = "limits.budget_usd: does not count members that report no costs: \"max\" (codex)";
    let left = room.tertulia(&["doctor"]);
    assert!((left.stdout.clone() + &left.stderr).contains(words), "{}{}", left.stdout, left.stderr);
    let left = room.tertulia(&["run", "[DROP: ALL]", "--trust"]);
    assert!(left.stderr.contains(words), "{}", left.stderr);
}

#[test]
fn settings_of_a_project_have_to_be_trusted_whoever_names_the_agents() {
    let room = Room::empty();
    room.program("claude", CLAUDE);
    own_file(&room, TEAM);
    // Whatever becomes of the turn, it may begin.
    let code = |more: &[&str]| room.tertulia(&[&["run", "hello"], more].concat()).code;
    assert_ne!(code(&[]), Some(2), "without settings nobody is asked");
    std::fs::create_dir_all(room.path(".claude")).unwrap();
    room.write(".claude/settings.json", "{}");
    let left = room.exits(2, &["run", "hello"]);
    let head = "holds settings for agents that are not trusted yet. Obeyed by max (hooks, MCP servers, \
                variables):\n  .claude/settings.json (2 bytes)\n";
    assert!(left.stderr.contains(head), "{}", left.stderr);
    assert_ne!(code(&["--trust"]), Some(2));
    assert_ne!(code(&[]), Some(2), "asked once");
}

#[test]
fn init_trusts_its_file_only_where_the_project_has_no_settings() {
    let room = Room::empty();
    room.program("claude", CLAUDE);
    room.write(".mcp.json", "{}");
    let left = room.exits(0, &["init"]);
    assert!(
        left.stderr.contains("also obey") && left.stderr.contains(".mcp.json"),
        "{}",
        left.stderr
    );
    room.exits(2, &["run", "@scribe We decided to ship."]);
}

#[test]
fn the_question_after_a_change_shows_what_changed() {
    let room = Room::new(COMMAND);
    let left = room.exits(2, &["run", "hello"]);
    let head = "tertulia.toml is not trusted yet. With it:\n  max starts sh";
    assert!(left.stderr.contains(head), "{}", left.stderr);
    room.exits(0, &["run", "hello", "--trust"]);
    room.write("tertulia.toml", &format!("# for all of us\n{COMMAND}"));
    let left = room.exits(2, &["run", "hello"]);
    for part in [
        "has changed since you trusted it.\nWhat it wants is the same as before (1 thing).\n",
        "Changed lines:\n  + # for all of us\nReview it",
    ] {
        assert!(left.stderr.contains(part), "{part:?} is not in:\n{}", left.stderr);
    }
    room.write(
        "tertulia.toml",
        &format!("{}env = {{ KEY = \"sk-1\" }}\n", COMMAND.replace("pwd -P", "ls")),
    );
    let left = room.exits(2, &["run", "hello"]);
    for part in [
        "What it wants:\n  - max starts sh -c \"cat > /dev/null; pwd -P\"\n  + max starts sh -c \"cat > /dev/null; ls\"\n",
        "  + max is given the variables KEY\n",
        "  + env (hidden, ",
    ] {
        assert!(left.stderr.contains(part), "{part:?} is not in:\n{}", left.stderr);
    }
    assert!(!left.stderr.contains("sk-1"), "{}", left.stderr);
}

#[test]
fn the_question_after_a_change_never_cuts_what_the_file_wants() {
    let room = Room::new(COMMAND);
    room.exits(0, &["run", "hello", "--trust"]);
    let more = (1..=46).map(|n| {
        format!("[[member]]\nname = \"m{n}\"\nagent = \"command\"\ncommand = [\"do-{n}\"]\n")
    });
    room.write("tertulia.toml", &more.fold(COMMAND.to_owned(), |file, member| file + &member));
    let told = room.exits(2, &["run", "hello"]).stderr;
    let (wants, lines) = told.split_once("Changed lines:\n").unwrap();
    for n in 1..=46 {
        assert!(wants.contains(&format!("  + m{n} starts do-{n}\n")), "{n}: {told}");
    }
    assert!(lines.contains("\n  and 144 more\n"), "{told}");
}

#[test]
fn a_hidden_value_that_changed_is_told_first_whatever_else_changed() {
    let file = |value: &str| format!("{COMMAND}env = {{ MODE = \"{value}\" }}\n");
    let room = Room::new(&file("calm"));
    room.exits(0, &["run", "hello", "--trust"]);
    let comments: String = (1..=45).map(|n| format!("# note {n} (hidden, 1a2b3c4d)\n")).collect();
    room.write("tertulia.toml", &(comments + &file("evil")));
    let told = room.exits(2, &["run", "hello"]).stderr;
    let head = "The commands and permissions are the same as before (2 things); hidden values changed.\n\
                Changed lines:\n  - env (hidden, ";
    assert!(told.contains(head), "{told}");
    assert!(told.contains("\n  + env (hidden, ") && !told.contains("evil"), "{told}");
    assert!(told.contains("  + # note 40 ") && told.contains("\n  and 5 more\n"), "{told}");
    assert!(!told.contains("  + # note 41 "), "{told}");
}
