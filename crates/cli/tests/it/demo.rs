//! `tertulia demo`: in a moment, without files, key or network.

use crate::room::Room;

#[test]
fn the_demo_shows_two_answers_and_what_each_member_received() {
    let room = Room::empty();
    let left = room.exits(0, &["demo"]);
    for text in [
        "52 messages",
        "you: @scribe",
        "scribe:\n",
        "you: @librarian",
        "librarian:\n",
        "E-2041",
        "what scribe received",
        "what librarian received",
        "messages covered by minutes",
        "tertulia init",
    ] {
        assert!(left.stdout.contains(text), "{text}:\n{}", left.stdout);
    }
    assert_eq!(left.stderr, "");
    // What was decided and what is open are told apart, and nothing else is among them.
    let lines_of = |heading: &str| {
        let lines = left.stdout.lines().skip_while(|line| *line != heading).skip(1);
        lines.take_while(|line| line.starts_with("- ")).collect::<Vec<_>>()
    };
    let decisions = lines_of("## Decisions");
    assert_eq!(decisions.len(), 5, "{decisions:#?}");
    for line in &decisions {
        assert!(line.contains("Decision: ") || line.contains("Agreed: "), "{line}");
    }
    let open = lines_of("## Open");
    assert_eq!(open.len(), 3, "{open:#?}");
    assert!(!left.stdout.contains("## Names"), "{}", left.stdout);
    assert!(left.stdout.contains("About E-2041, ledger, lock, past sessions say:"));
    // The minutes stand for more than nothing, and something is recalled.
    let covered = left.stdout.lines().find(|line| line.contains("covered by minutes")).unwrap();
    assert!(!covered.trim().starts_with("0 "), "{covered}");
}

#[test]
fn the_demo_touches_no_file() {
    let room = Room::empty();
    room.exits(0, &["demo"]);
    for name in ["work", "home", "data"] {
        let left: Vec<_> = std::fs::read_dir(room.root().join(name)).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn the_demo_says_the_same_every_time() {
    let room = Room::empty();
    assert_eq!(room.exits(0, &["demo"]).stdout, room.exits(0, &["demo"]).stdout);
}
