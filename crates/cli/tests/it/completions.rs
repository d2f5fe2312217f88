//! What a shell offers at Tab, asked the way a shell does it.

use std::process::Command;

use crate::room::{Left, Room};

const TEAM: &str = "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
    [[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [\"Done.\"]\n\
    [[member]]\nname = \"mona\"\nagent = \"command\"\ncommand = [\"touch\", \"started\"]\n";

/// What the program offers for the last of these words.
fn offered(room: &Room, words: &[&str]) -> Vec<String> {
    let line = [&["--", "tertulia"], words].concat();
    let mut command = room.command(&line);
    let left = Left::of(command.env("TERTULIA_COMPLETE", "bash").spawn().unwrap());
    assert_eq!((left.code, &*left.stderr), (Some(0), ""), "{words:?}");
    left.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn members_are_offered_and_no_agent_is_started_for_it() {
    let room = Room::new(TEAM);
    assert_eq!(offered(&room, &["run", "--member", "m"]), ["max", "mona"]);
    assert_eq!(offered(&room, &["run", "--as", ""]), ["ann", "max", "mona"]);
    assert_eq!(offered(&room, &["context", "--member", "a"]), ["ann"]);
    room.write("other.toml", &TEAM.replace("mona", "mara"));
    let words = ["run", "--team", "other.toml", "--member", "m"];
    assert_eq!(offered(&room, &words), ["max", "mara"]);
    assert!(!room.path("started").exists());
    assert!(!room.root().join("data/sessions.db").exists());
}

#[test]
fn sessions_are_offered_by_their_short_ids() {
    let room = Room::new(TEAM);
    assert_eq!(offered(&room, &["sessions", "show", ""]).len(), 0);
    room.exits(0, &["run", "hello", "--trust"]);
    room.exits(0, &["run", "hello", "--new", "login-page"]);
    let made = room.exits(0, &["sessions", "list", "--json"]).json();
    let made = made[1]["sessionId"].as_str().unwrap();
    let short = made.rsplit('-').next().unwrap();
    for words in [
        &["sessions", "show", ""][..],
        &["chat", "--session", ""],
        &["replay", ""],
        &["build", "--session", ""],
        &["sessions", "delete", ""],
    ] {
        let offered = offered(&room, words);
        for name in ["latest", "login-page", short] {
            assert!(offered.iter().any(|one| one == name), "{words:?}: {offered:?}");
        }
    }
    assert_eq!(offered(&room, &["run", "--session", "log"]), ["login-page"]);
    assert_eq!(offered(&room, &["run", "--session", &made[..9]]), [made]);
}

#[test]
fn entries_of_the_session_that_is_meant_are_offered() {
    let room = Room::new(TEAM);
    room.exits(0, &["run", "hello", "--new", "one", "--trust"]);
    let first = room.entries().into_iter().find(|entry| entry["type"] == "message").unwrap();
    let first = first["id"].as_str().unwrap()[..10].to_owned();
    room.exits(0, &["run", "second", "--new", "two"]);
    let newest = offered(&room, &["why", ""]);
    assert!(newest.len() >= 2 && !newest.contains(&first), "{newest:?}");
    for words in [
        &["why", "--session", "one", ""][..],
        &["sessions", "redact", "one", ""],
        &["sessions", "show", "one", "--from", ""],
    ] {
        let offered = offered(&room, words);
        assert!(offered.contains(&first), "{words:?}: {offered:?}");
    }
    let turns = offered(&room, &["run", "--repeat", "e-"]);
    assert!(!turns.is_empty() && turns.iter().all(|turn| turn.len() == 10), "{turns:?}");
}

#[test]
fn models_and_formats_are_offered() {
    let room = Room::empty();
    assert!(offered(&room, &["tokens", "--model", "gpt-5"]).contains(&"gpt-5".to_owned()));
    assert_eq!(offered(&room, &["tokens", "--tokenizer", "c"]), ["cl100k", "claude"]);
    let apis = ["openai", "responses", "anthropic", "gemini"];
    assert_eq!(offered(&room, &["build", "--format", ""]), apis);
    assert_eq!(offered(&room, &["build", "--from", "o"]), ["openai"]);
    let agents = ["claude", "codex", "gemini", "plain"];
    assert_eq!(offered(&room, &["context", "--type", ""]), agents);
    let formats = offered(&room, &["sessions", "export", "x", "--format", ""]);
    assert!(formats.contains(&"markdown".to_owned()), "{formats:?}");
}

#[test]
fn what_cannot_be_read_is_no_noise_at_the_prompt() {
    let room = Room::new("this is no team file");
    assert_eq!(offered(&room, &["run", "--member", ""]).len(), 0);
    std::fs::write(room.root().join("data/sessions.db"), "this is no store").unwrap();
    assert_eq!(offered(&room, &["sessions", "show", ""]).len(), 0);
    assert_eq!(offered(&room, &["why", ""]).len(), 0);
}

#[test]
fn files_are_left_to_the_shell() {
    let room = Room::empty();
    let mut command = room.command(&["--", "tertulia", "sessions", "import", ""]);
    let left = Left::of(command.env("TERTULIA_COMPLETE", "bash").spawn().unwrap());
    assert_eq!((left.code, &*left.stdout, &*left.stderr), (Some(1), "", ""));
}

#[test]
fn bash_completes_with_the_script_that_is_printed() {
    let room = Room::new(TEAM);
    let script = "source <(tertulia completions bash); COMP_WORDS=(tertulia run --member m); \
                  COMP_CWORD=3; _tertulia tertulia m --member; \
                  printf '%s\\n' \"${COMPREPLY[@]}\"";
    let program = std::path::absolute(env!("CARGO_BIN_EXE_tertulia")).unwrap();
    let folder = program.parent().unwrap().display();
    let output = Command::new("bash")
        .args(["--norc", "-c", script])
        .env_clear()
        .env("PATH", format!("{folder}:/usr/bin:/bin"))
        .env("HOME", room.root().join("home"))
        .env("TERTULIA_HOME", room.root().join("data"))
        .current_dir(room.path(""))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "max\nmona\n", "{:?}", output.stderr);
}
