//! The settings of a project that agents obey: trusted by content, all of them, whatever starts the program.

use std::os::unix::fs::symlink;

use crate::room::Room;

/// It ends at once, also where it is expected to speak ACP.
const PROGRAM: &str = "echo started";

/// A team of one program, in the words of each kind of member.
fn teams() -> [String; 3] {
    let head = "[[member]]\nname = \"ann\"\nkind = \"human\"\n[[member]]\nname = \"max\"\n";
    [
        "agent = \"command\"\ncommand = [\"gemini\"]\n",
        "agent = \"acp\"\ncommand = [\"gemini\", \"--acp\"]\n",
        "agent = \"gemini\"\n",
    ]
    .map(|member| format!("{head}{member}"))
}

/// A room with the person's own team file, which needs no trust.
fn own_room(team: &str) -> Room {
    let room = Room::empty();
    room.program("gemini", PROGRAM);
    let folder = room.root().join("home/.config/tertulia");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("tertulia.toml"), team).unwrap();
    room
}

fn put(room: &Room, name: &str, text: &str) {
    let path = room.path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Runs the team, which must be refused, and returns the message.
fn refused(room: &Room) -> String {
    let left = room.exits(2, &["run", "hello"]);
    assert!(!left.stdout.contains("started"), "{}", left.stdout);
    left.stderr
}

fn starts(room: &Room) {
    let left = room.tertulia(&["run", "hello"]);
    assert_ne!(left.code, Some(2), "{}", left.stderr);
}

fn trust(room: &Room) {
    let left = room.tertulia(&["run", "hello", "--trust"]);
    assert_ne!(left.code, Some(2), "{}", left.stderr);
}

#[test]
fn every_member_that_starts_a_program_is_asked_about_settings() {
    for team in teams() {
        let room = own_room(&team);
        starts(&room);
        put(&room, ".gemini/settings.json", "{}");
        let told = refused(&room);
        assert!(told.contains(".gemini/settings.json"), "{told}");
        let left = room.tertulia(&["doctor"]);
        assert!((left.stdout + &left.stderr).contains("settings for agents that are not trusted"));
        trust(&room);
        starts(&room);
    }
}

#[test]
fn all_settings_count_and_a_change_of_any_is_asked_about_and_shown() {
    let room = own_room(&teams()[0]);
    put(&room, ".claude/hooks/deep/run.sh", "echo one\n");
    put(&room, ".mcp.json", "{\"servers\": {}}");
    put(&room, ".env", "CODEX_HOME=/one-secret\n");
    let told = refused(&room);
    for name in [".claude/hooks/deep/run.sh", ".mcp.json", ".env"] {
        assert!(told.contains(&format!("  {name} (")), "{told}");
    }
    trust(&room);
    starts(&room);
    for (name, text, shown) in [
        (".claude/hooks/deep/run.sh", "echo two\n", "  + .claude/hooks/deep/run.sh: echo two\n"),
        (".mcp.json", "{\"servers\": {\"x\": 1}}", "  + .mcp.json: {\"servers\": {\"x\": 1}}\n"),
        (".env", "CODEX_HOME=/two-secret\n", "  + .env: CODEX_HOME (hidden, "),
        (".codex/config.toml", "mcp = 1\n", "  + .codex/config.toml: mcp = 1\n"),
        ("opencode.json", "{}", "  + opencode.json: {}\n"),
    ] {
        put(&room, name, text);
        let told = refused(&room);
        assert!(told.contains("have changed since you trusted them"), "{told}");
        assert!(told.contains(shown), "{shown:?} is not in:\n{told}");
        assert!(!told.contains("-secret"), "{told}");
        trust(&room);
        starts(&room);
    }
}

#[test]
fn settings_are_asked_about_for_the_team_file_of_the_project_too_and_at_once() {
    let room = Room::new(&teams()[0]);
    room.program("gemini", PROGRAM);
    put(&room, ".gemini/settings.json", "{}");
    let told = refused(&room);
    assert!(told.contains("max starts gemini") && told.contains(".gemini/settings.json"), "{told}");
    trust(&room);
    starts(&room);
    // What a later version of the project brings is asked about.
    put(&room, ".gemini/settings.json", "{\"hooks\": 1}");
    let told = refused(&room);
    assert!(!told.contains("tertulia.toml"), "{told}");
}

#[test]
fn settings_above_the_working_folder_count_up_to_the_repository() {
    let room = own_room(&teams()[0]);
    std::fs::create_dir_all(room.path("repo/.git")).unwrap();
    std::fs::create_dir_all(room.path("repo/sub")).unwrap();
    put(&room, ".claude/settings.json", "{}");
    let run = || {
        let mut command = room.command(&["run", "hello"]);
        command.current_dir(room.path("repo/sub")).output().unwrap().status.code()
    };
    assert_ne!(run(), Some(2), "those above the repository are nobody's matter");
    put(&room, "repo/.claude/settings.json", "{}");
    assert_eq!(run(), Some(2));
}

#[test]
fn a_link_to_settings_that_were_trusted_elsewhere_is_refused() {
    let room = own_room(&teams()[0]);
    std::fs::create_dir_all(room.root().join("good/.claude")).unwrap();
    std::fs::write(room.root().join("good/.claude/settings.json"), "{}").unwrap();
    symlink(room.root().join("good/.claude"), room.path(".claude")).unwrap();
    let told = room.exits(2, &["run", "hello", "--trust"]).stderr;
    assert!(
        told.contains(".claude links to a file outside") && told.contains("replace it"),
        "{told}"
    );
    std::fs::remove_file(room.path(".claude")).unwrap();
    put(&room, ".gemini/settings.json", "{}");
    symlink("/etc/passwd", room.path(".gemini/more")).unwrap();
    let told = room.exits(2, &["run", "hello", "--trust"]).stderr;
    assert!(told.contains(".gemini/more links to a file outside"), "{told}");
    // One that stays among the settings leads to what is trusted too.
    std::fs::remove_file(room.path(".gemini/more")).unwrap();
    symlink("../.gemini/settings.json", room.path(".gemini/more")).unwrap();
    trust(&room);
    starts(&room);
}

#[test]
fn too_many_settings_and_such_that_are_no_files_are_refused() {
    let room = own_room(&teams()[0]);
    std::fs::create_dir(room.path(".claude")).unwrap();
    for number in 0..5001 {
        std::fs::write(room.path(&format!(".claude/{number}")), "").unwrap();
    }
    let told = room.exits(2, &["run", "hello", "--trust"]).stderr;
    assert!(told.contains("more settings than can be trusted"), "{told}");
    std::fs::remove_dir_all(room.path(".claude")).unwrap();
    std::fs::create_dir(room.path(".claude")).unwrap();
    let pipe = room.path(".claude/pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let told = room.exits(2, &["run", "hello", "--trust"]).stderr;
    assert!(
        told.contains(".claude/pipe is among the settings") && told.contains("no file"),
        "{told}"
    );
}

#[test]
fn the_key_that_tells_hidden_values_apart_is_the_persons_alone() {
    use std::os::unix::fs::PermissionsExt;
    let room = own_room(&teams()[0]);
    put(&room, ".env", "PIN=1234\n");
    trust(&room);
    let key = room.root().join("data/trust-key");
    let about = std::fs::metadata(&key).unwrap();
    assert_eq!((about.permissions().mode() & 0o777, about.len()), (0o600, 32));
}

#[test]
fn a_librarian_that_searches_all_projects_is_a_reason_for_trust() {
    let team = "[[member]]\nname = \"ann\"\nkind = \"human\"\n[[member]]\nname = \"lib\"\n\
                agent = \"librarian\"\n";
    Room::new(team).exits(0, &["run", "hello @lib"]);
    let told =
        Room::new(&format!("{team}scope = \"all\"\n")).exits(2, &["run", "hello @lib"]).stderr;
    assert!(told.contains("lib searches the sessions of all projects"), "{told}");
}

#[test]
fn settings_that_a_member_changes_stop_the_next_program() {
    let room = Room::new(
        "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
         [[member]]\nname = \"max\"\nagent = \"command\"\ncommand = [\"./max.sh\"]\n\
         [[member]]\nname = \"eva\"\nagent = \"command\"\ncommand = [\"./eva.sh\"]\n",
    );
    let script = "#!/bin/sh\ncat >/dev/null; mkdir -p .claude; echo '{}' >.claude/settings.json\n\
                  echo 'Done. @eva please look.'\n";
    crate::room::executable(&room.path("max.sh"), script);
    crate::room::executable(&room.path("eva.sh"), "#!/bin/sh\ntouch started; echo Fine.\n");
    let left = room.tertulia(&["run", "@max change them", "--trust"]);
    assert_eq!(left.code, Some(1), "{}", left.stderr);
    assert!(left.stderr.contains("have changed since you trusted them"), "{}", left.stderr);
    assert!(!room.path("started").exists());
    assert!(refused(&room).contains(".claude/settings.json"));
}

#[test]
fn a_link_to_what_is_not_read_is_refused() {
    let room = own_room(&teams()[0]);
    put(&room, ".claude/worktrees/x.json", "{}");
    symlink(".claude/worktrees/x.json", room.path(".mcp.json")).unwrap();
    assert!(refused(&room).contains(".mcp.json"));
}

#[test]
fn hooks_of_other_agents_and_variables_of_other_files_count() {
    for name in [".github/hooks/pre.json", ".env.local", "bunfig.toml"] {
        let room = own_room(&teams()[0]);
        starts(&room);
        put(&room, name, "preload = 1\n");
        assert!(refused(&room).contains(name));
    }
}
