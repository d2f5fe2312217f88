//! Sessions belong to projects: lists, searches and `latest` show those of the project where the command runs.

use crate::room::{Left, Room};

/// Runs a command in a folder beside the room's own, which is another project.
fn there(room: &Room, arguments: &[&str]) -> Left {
    let other = room.root().join("other");
    std::fs::create_dir_all(&other).unwrap();
    let output = room.command(arguments).current_dir(other).output().unwrap();
    Left {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A room with a session in each of two projects.
fn two_projects() -> Room {
    let room = Room::empty();
    room.exits(0, &["run", "--new", "mine", "@scribe The price of Initech is 48213."]);
    let left = there(&room, &["run", "--new", "theirs", "@scribe The price of Globex is 59371."]);
    assert_eq!(left.code, Some(0), "{}", left.stderr);
    room
}

#[test]
fn a_list_shows_the_sessions_of_this_project_and_says_that_there_are_more() {
    let room = two_projects();
    let left = room.exits(0, &["sessions", "list"]);
    assert!(left.stdout.contains("mine") && !left.stdout.contains("theirs"), "{}", left.stdout);
    assert!(left.stderr.contains("1 more in other projects; --all shows them"), "{}", left.stderr);
    let left = room.exits(0, &["sessions", "list", "--all"]);
    assert!(left.stdout.contains("mine") && left.stdout.contains("theirs"), "{}", left.stdout);
    assert!(left.stdout.contains("project") && left.stdout.contains("/other"), "{}", left.stdout);
    assert_eq!(left.stderr, "");
    let json = room.exits(0, &["sessions", "list", "--json"]).json();
    assert_eq!(json.len(), 1);
    let work = room.path("").canonicalize().unwrap();
    assert_eq!(json[0]["project"].as_str(), work.to_str());
}

#[test]
fn a_search_finds_what_was_said_in_this_project() {
    let room = two_projects();
    let left = room.exits(0, &["sessions", "search", "price"]);
    assert!(left.stdout.contains("Initech") && !left.stdout.contains("Globex"), "{}", left.stdout);
    assert!(left.stderr.contains("matches in other projects; --all"), "{}", left.stderr);
    let left = room.exits(0, &["sessions", "search", "price", "--all"]);
    assert!(left.stdout.contains("Initech") && left.stdout.contains("Globex"), "{}", left.stdout);
    let left = room.exits(0, &["sessions", "search", "Globex", "--session", "theirs"]);
    assert!(left.stdout.contains("Globex"), "{}", left.stdout);
}

#[test]
fn latest_is_of_this_project_and_a_name_is_found_everywhere() {
    let room = two_projects();
    for given in
        [&["sessions", "show"][..], &["sessions", "show", "-"], &["sessions", "show", "latest"]]
    {
        let left = room.exits(0, given);
        assert!(
            left.stdout.contains("Initech") && !left.stdout.contains("Globex"),
            "{}",
            left.stdout
        );
    }
    let left = room.exits(0, &["sessions", "show", "theirs"]);
    assert!(left.stdout.contains("Globex"), "{}", left.stdout);
    assert!(left.stderr.contains("theirs belongs to another project: /"), "{}", left.stderr);
    room.exits(0, &["sessions", "delete", "mine", "--yes"]);
    let left = room.exits(1, &["sessions", "show", "latest"]);
    assert!(left.stderr.contains("sessions list --all"), "{}", left.stderr);
}

#[test]
fn the_words_of_one_project_never_enter_the_prompt_of_another() {
    let room = two_projects();
    let team = "[[member]]\nname = \"ann\"\nkind = \"human\"\n[[member]]\nname = \"librarian\"\n\
                agent = \"librarian\"\n[[member]]\nname = \"max\"\nagent = \"command\"\n\
                command = [\"sh\", \"-c\", \"cat >> prompts; echo '@librarian price of Globex?'\"]\n";
    room.write("tertulia.toml", team);
    room.tertulia(&["run", "@max go on", "--trust", "--new", "talk", "--max-turns", "4"]);
    let prompts = std::fs::read_to_string(room.path("prompts")).unwrap();
    assert!(prompts.contains("go on") && !prompts.contains("59371"), "{prompts}");
    let said = room.exits(0, &["sessions", "show", "talk"]).stdout;
    assert!(said.contains("48213") || said.contains("No past session of this project"), "{said}");
    assert!(!said.contains("59371"), "{said}");
}

#[test]
fn what_is_imported_belongs_to_the_project_where_it_is_imported() {
    let room = Room::empty();
    let log = crate::harness::said("m1", "user", "hello?");
    room.tertulia_with(&["sessions", "import", "-", "--as", "old"], log.as_bytes());
    assert!(room.exits(0, &["sessions", "list"]).stdout.contains("old"));
    let left = there(&room, &["sessions", "list"]);
    assert!(!left.stdout.contains("old"), "{}", left.stdout);
    assert!(left.stderr.contains("no sessions of this project yet"), "{}", left.stderr);
}
