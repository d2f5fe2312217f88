//! Every command that the program suggests works when it is pasted.

use crate::room::{Left, Room};

/// The commands in backticks that a text suggests, as a shell takes them.
fn suggested(text: &str) -> Vec<String> {
    let pieces = text.split('`').skip(1).step_by(2);
    pieces.filter(|piece| piece.starts_with("tertulia ")).map(str::to_owned).collect()
}

/// Pastes a command into a shell in this room.
fn paste(room: &Room, command: &str) -> Left {
    let program = room.command(&[]).get_program().to_owned();
    let line = command.replacen("tertulia", "\"$TERTULIA\"", 1);
    let mut shell = std::process::Command::new("sh");
    let template = room.command(&[]);
    shell.args(["-c", &line]).env_clear().env("TERTULIA", program).current_dir(room.path(""));
    for (name, value) in template.get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    let pipe = std::process::Stdio::piped;
    let child = shell.stdin(std::process::Stdio::null()).stdout(pipe()).stderr(pipe()).spawn();
    Left::of(child.unwrap())
}

/// Pastes all that a text suggests, at least this many; none may be refused as wrong usage.
#[track_caller]
fn paste_all(room: &Room, text: &str, at_least: usize) {
    let commands = suggested(text);
    assert!(commands.len() >= at_least, "{commands:?} in {text}");
    for command in commands {
        let left = paste(room, &command);
        assert!(matches!(left.code, Some(0 | 3)), "{command}: {left:#?}");
    }
}

/// Claude Code and Codex that say nothing but a word.
fn with_agents() -> Room {
    let room = Room::empty();
    let version = |said: &str| format!("case \"$*\" in *--version*) echo '{said}'; exit ;; esac\n");
    let claude = r#"cat > /dev/null; printf '{"type":"system","subtype":"init","session_id":"s-1"}\n{"type":"result","subtype":"success","is_error":false,"session_id":"s-1","result":"Fine."}\n'"#;
    room.program("claude", &(version("9.8.7 (Claude Code)") + claude));
    room.program("codex", &version("codex-cli 0.1.2"));
    room
}

#[test]
fn what_init_suggests_works() {
    let room = with_agents();
    let left = room.exits(0, &["init"]);
    paste_all(&room, &left.stderr, 2);
    let room = Room::empty();
    let left = room.exits(0, &["init"]);
    paste_all(&room, &left.stderr, 2);
}

#[test]
fn what_doctor_suggests_works() {
    let room = with_agents();
    let left = room.exits(0, &["doctor"]);
    assert!(left.stdout.trim_end().lines().last().unwrap().starts_with("ready: `tertulia chat`"));
    paste_all(&room, &left.stdout, 2);
    let script = "[[member]]\nname = \"ann\"\nkind = \"human\"\n[[member]]\nname = \"max\"\n\
                  agent = \"command\"\ncommand = [\"sh\", \"-c\", \"cat\"]\n";
    let room = Room::new(script);
    let place = ["--team", "./tertulia.toml", "--store", "sqlite:own.db"];
    let left = room.exits(1, &[&["doctor"], &place[..]].concat());
    let trust = format!("`tertulia chat --trust {}`", place.join(" "));
    assert!(left.stdout.contains(&trust), "{}", left.stdout);
    paste_all(&room, &left.stdout, 1);
    room.exits(0, &["run", "hello"]);
}

#[test]
fn what_a_run_suggests_works() {
    let failing = "[[member]]\nname = \"ann\"\nkind = \"human\"\n[[member]]\nname = \"max\"\n\
                   agent = \"command\"\n\
                   command = [\"sh\", \"-c\", \"cat > /dev/null; test -e fixed && echo fine\"]\n";
    let room = Room::new(failing);
    let left = room.exits(1, &["run", "hello", "--trust", "--team", "tertulia.toml"]);
    room.write("fixed", "");
    paste_all(&room, &left.stderr, 1);

    let looping = "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
                   [[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [\"ping @eva\"]\n\
                   [[member]]\nname = \"eva\"\nagent = \"script\"\nanswers = [\"pong @max\"]\n";
    let room = Room::new(looping);
    let left = room.exits(3, &["run", "go", "--max-turns", "1", "--store", "sqlite:own.db"]);
    paste_all(&room, &left.stderr, 2);
}

#[test]
fn what_a_run_suggests_works_in_a_team_of_several_people() {
    let team = "[[member]]\nname = \"ann lee\"\nkind = \"human\"\n\
                [[member]]\nname = \"bob\"\nkind = \"human\"\n\
                [[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [\"ping @eva\"]\n\
                [[member]]\nname = \"eva\"\nagent = \"script\"\nanswers = [\"pong @max\"]\n";
    let room = Room::new(team);
    let stop = |told: &str| suggested(told).into_iter().find(|one| one.ends_with(" no")).unwrap();
    let first = room.exits(3, &["run", "--as", "ann lee", "--max-turns", "2", "go"]);
    assert!(stop(&first.stderr).ends_with(" --as 'ann lee' no"), "{}", first.stderr);
    // Whoever only lets it continue does not say who speaks.
    let again = room.exits(3, &["run", "--continue", "--max-turns", "2"]);
    let left = paste(&room, &stop(&again.stderr));
    assert_eq!(left.code, Some(0), "{left:#?}");
    assert!(left.stderr.contains("one queued turn was cancelled"), "{}", left.stderr);
}

#[test]
fn what_errors_suggest_works() {
    let room = Room::empty();
    let mut told = String::new();
    for arguments in [
        &["run", "hello", "--team", "none.toml"][..],
        &["run", "--continue"],
        &["sessions", "show", "nothing"],
        &["context", "--member", "scribe"],
        &["context", "--member", "you"],
    ] {
        let left = room.tertulia(arguments);
        assert!(matches!(left.code, Some(1 | 2)), "{arguments:?}: {left:#?}");
        told.push_str(&left.stderr);
    }
    paste_all(&room, &told, 3);
}

#[test]
fn what_errors_suggest_leads_to_the_same_team_and_store() {
    let room = Room::empty();
    let team = "[[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [\"Done.\"]\n";
    room.write("team.toml", team);
    let place = ["--team", "team.toml", "--store", "sqlite:own.db"];
    let (both, store) = (place.join(" "), place[2..].join(" "));
    let told = room.exits(1, &[&["run", "--continue"], &place[..]].concat()).stderr;
    assert!(told.contains(&format!("`tertulia chat {both}` starts one")), "{told}");
    paste_all(&room, &told, 1);
    room.exits(0, &[&["run", "hello", "--new", "talk"], &place[..]].concat());
    let told = room.exits(1, &[&["why", "zzz"], &place[..]].concat()).stderr;
    let show = format!("`tertulia sessions show talk --all {store}` lists them");
    assert!(told.contains(&show), "{told}");
    paste_all(&room, &told, 1);
    let told = room.exits(1, &["sessions", "show", "nothing", place[2], place[3]]).stderr;
    assert!(told.contains(&format!("`tertulia sessions list --all {store}` shows all")), "{told}");
    paste_all(&room, &told, 1);
}
