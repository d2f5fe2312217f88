//! `tertulia init`, `completions` and `man`.

use crate::room::Room;

fn with_agents() -> Room {
    let room = Room::empty();
    room.program("claude", "echo '9.8.7 (Claude Code)'");
    room.program("codex", "echo 'codex-cli 0.1.2'");
    room
}

#[test]
fn the_agents_of_this_machine_are_found_and_written() {
    let room = with_agents();
    let left = room.exits(0, &["init"]);
    assert_eq!(left.stdout, "");
    assert!(left.stderr.contains("claude: 9.8.7 at "), "{}", left.stderr);
    assert!(left.stderr.contains("gemini: not found"), "{}", left.stderr);
    assert!(left.stderr.contains("claude: author: designs"), "{}", left.stderr);
    assert!(left.stderr.contains("codex: reviewer: looks"), "{}", left.stderr);
    // It suggests a first task that uses both of them.
    let task =
        "`tertulia run '@claude suggest one small improvement to this project, then ask codex";
    assert!(left.stderr.contains(task), "{}", left.stderr);
    let file = std::fs::read_to_string(room.path("tertulia.toml")).unwrap();
    assert!(file.contains("agent = \"claude\"") && file.contains("agent = \"codex\""), "{file}");
    assert!(!file.contains("agent = \"gemini\""), "{file}");
    for role in ["role = \"author: ", "role = \"reviewer: "] {
        assert_eq!(file.matches(role).count(), 1, "{file}");
    }
    // What it writes can be used, and asks for no trust.
    let left = room.exits(0, &["run", "@scribe We decided to ship."]);
    assert!(left.stdout.starts_with("scribe:\n"), "{}", left.stdout);
}

#[test]
fn a_file_that_is_there_is_replaced_only_by_force() {
    let room = with_agents();
    room.write("tertulia.toml", "mine");
    let left = room.exits(1, &["init"]);
    assert!(left.stderr.contains("already exists; --force replaces it"), "{}", left.stderr);
    assert!(!left.stderr.contains("name another"), "{}", left.stderr);
    assert_eq!(std::fs::read_to_string(room.path("tertulia.toml")).unwrap(), "mine");
    room.exits(0, &["init", "--force"]);
    assert_ne!(std::fs::read_to_string(room.path("tertulia.toml")).unwrap(), "mine");
}

#[test]
fn a_file_can_be_printed_and_none_is_written() {
    let room = Room::empty();
    let left = room.exits(0, &["init", "--print"]);
    assert!(left.stdout.contains("name = \"scribe\""), "{}", left.stdout);
    assert!(!room.path("tertulia.toml").exists());
}

#[test]
fn shells_get_what_they_need() {
    let room = Room::empty();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let left = room.exits(0, &["completions", shell]);
        assert!(left.stdout.contains("tertulia"), "{shell}");
    }
    room.exits(2, &["completions", "tcsh"]);
}

#[test]
fn the_manual_is_a_page_or_a_folder_of_pages() {
    let room = Room::empty();
    let left = room.exits(0, &["man"]);
    assert!(left.stdout.contains(".TH"), "{}", left.stdout);
    room.exits(0, &["man", "--out", "pages"]);
    for page in ["tertulia.1", "tertulia-run.1", "tertulia-sessions-list.1"] {
        assert!(room.path("pages").join(page).is_file(), "{page}");
    }
    let page = std::fs::read_to_string(room.path("pages/tertulia-run.1")).unwrap();
    assert!(page.contains("\n.SH EXAMPLES\n.nf\n  tertulia run "), "{page}");
    let synopsis = page.split_once(".SH SYNOPSIS\n").unwrap().1.split_once("\n.SH").unwrap().0;
    for option in [
        r"[\fB\-\-as\fR \fINAME\fR]",
        r"[\fB\-\-max\-turns\fR \fIN\fR]",
        r"[\fB\-\-json\fR]",
        r"[\fITEXT\fR]",
    ] {
        assert!(synopsis.contains(option), "{option} is not in {synopsis}");
    }
}
