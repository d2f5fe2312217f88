//! Names that people can type: short ids, `latest`, titles, and what an unknown or ambiguous one leads to.

use crate::harness::{Shelf, request, said};
use crate::room::{Left, Room};

const TEAM: &str = "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
    [[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [\"Done.\"]\n\
    [[member]]\nname = \"bad\"\nagent = \"script\"\nanswers = [\" \"]\n";

/// A room in which something was said in a session whose id the store made.
fn talked() -> Room {
    let room = Room::new(TEAM);
    room.exits(0, &["run", "hello"]);
    room
}

/// The last part of the id of the newest session.
fn tail(room: &Room) -> String {
    room.session().rsplit('-').next().unwrap().to_owned()
}

/// The id of the first entry of this type.
fn id_of(room: &Room, kind: &str) -> String {
    let entries = room.entries();
    let entry = entries.iter().find(|entry| entry["type"] == kind).unwrap();
    entry["id"].as_str().unwrap().to_owned()
}

/// Whether a text has an id of an entry in full.
fn has_long_id(text: &str) -> bool {
    let digits = |place: usize| text[place + 2..].bytes().take_while(u8::is_ascii_hexdigit).count();
    text.match_indices("e-").any(|(place, _)| digits(place) == 32)
}

#[test]
fn a_short_id_of_an_entry_works_wherever_an_entry_is_named() {
    let room = talked();
    let message = id_of(&room, "message");
    let (short, digits) = (&message[..8], &message[2..9]);
    for entry in [short, digits] {
        room.exits(0, &["why", entry]);
        let shown =
            room.exits(0, &["sessions", "show", "latest", "--json", "--from", entry]).json();
        assert_eq!(shown[0]["id"], *message);
        let shown = room.exits(0, &["sessions", "show", "--json", "--branch", entry]).json();
        assert_eq!(shown.last().unwrap()["id"], *message);
    }
    let turn = id_of(&room, "turn");
    let sent = room.exits(0, &["context", "--turn", &turn[2..8], "--json"]).json();
    assert_eq!(sent[0]["turn"], *turn);
    let made = room.exits(0, &["sessions", "branch", "latest", digits, "--into", "fork"]).stdout;
    assert_eq!(made, "fork\n");
    room.exits(0, &["sessions", "branch", "fork", short]);
    room.exits(0, &["sessions", "redact", "fork", short]);
    let shown = room.exits(0, &["sessions", "show", "fork"]).stdout;
    assert!(shown.contains("[redacted message by e-"), "{shown}");
}

#[test]
fn an_entry_is_not_redacted_for_a_digit_or_two() {
    let room = Room::new(TEAM);
    let entry = said("e-c0ffee00", "user", "A secret");
    let import = ["sessions", "import", "-", "--as", "talk"];
    assert_eq!(room.tertulia_with(&import, entry.as_bytes()).code, Some(0));
    for (prefix, digits) in [("e-c", 1), ("c0f", 3), ("e-c0f", 3)] {
        let told = room.exits(1, &["sessions", "redact", "talk", prefix]).stderr;
        let why =
            format!("redact needs at least four digits of the entry's ID; {prefix} has {digits}\n");
        assert!(told.contains(&why), "{told}");
        // Where nothing is lost, it is enough.
        room.exits(0, &["sessions", "show", "talk", "--from", prefix]);
    }
    assert!(room.exits(0, &["sessions", "show", "talk"]).stdout.contains("A secret"));
    room.exits(0, &["sessions", "redact", "talk", "c0ff"]);
    assert!(!room.exits(0, &["sessions", "show", "talk"]).stdout.contains("A secret"));
}

#[test]
fn a_turn_is_retried_by_the_command_that_is_suggested() {
    let room = Room::new(TEAM);
    let left = room.exits(1, &["run", "@bad hello"]);
    let command = left.stderr.split('`').find(|text| text.contains("--repeat")).unwrap();
    assert!(!has_long_id(command) && !command.contains("2026-"), "{command}");
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    room.exits(1, &words);
    assert_eq!(room.turns().iter().filter(|turn| *turn == "bad failed").count(), 2);
}

#[test]
fn an_ambiguous_id_is_answered_with_its_matches() {
    let room = talked();
    for command in [["why", "e-"], ["context", "--turn=e-"]] {
        let told = room.exits(1, &command).stderr;
        assert!(told.contains("Ambiguous ID \"e-\"; matches: e-"), "{told}");
    }
    let told = room.exits(1, &["sessions", "redact", "latest", "e-"]).stderr;
    assert!(told.contains("Ambiguous ID \"e-\"; matches: e-"), "{told}");
    room.exits(0, &["run", "again"]);
    let year = &room.session()[..4];
    let told = room.exits(1, &["sessions", "show", year]).stderr;
    let matches = format!("Ambiguous ID \"{year}\"; matches: {}, ", room.session());
    assert!(told.contains(&matches), "{told}");
}

#[test]
fn a_session_is_named_by_the_last_part_of_its_id() {
    let room = talked();
    let tail = tail(&room);
    for name in [&tail[..], &tail[..5]] {
        room.exits(0, &["run", "again", "--session", name]);
        room.exits(0, &["why", "--session", name]);
        room.exits(0, &["replay", name]);
        room.exits(0, &["build", "--session", name, "--budget", "9000"]);
        room.exits(0, &["context", "--session", name, "--member", "max"]);
        room.exits(0, &["sessions", "verify", name]);
        room.exits(0, &["sessions", "export", name]);
    }
    let listed = room.exits(0, &["sessions", "list", "--json"]).stdout;
    assert_eq!(listed.lines().count(), 1, "{listed}");
    let told = room.exits(1, &["sessions", "delete", &tail, "--yes"]).stderr;
    assert!(told.contains(&format!("did you mean {}?", room.session())), "{told}");
}

#[test]
fn deleting_without_a_question_takes_the_full_id_only_and_says_so() {
    let room = talked();
    room.exits(0, &["sessions", "rename", "latest", "Login page"]);
    let (made, tail) = (room.session(), tail(&room));
    for (name, hint) in [
        ("latest", String::new()),
        ("-", String::new()),
        (&tail[..], format!("; did you mean {made}?")),
        ("login page", format!("; did you mean {made}?")),
    ] {
        let told = room.exits(1, &["sessions", "delete", "--yes", name]).stderr;
        let why = format!("tertulia: --yes requires the full ID; {name} is not one{hint}\n");
        assert_eq!(told, why);
    }
    let told = room.exits(1, &["sessions", "delete", "--yes", "zebra"]).stderr;
    assert!(told.contains("there is no session zebra"), "{told}");
    room.exits(0, &["sessions", "delete", "--yes", &made]);
}

#[test]
fn latest_and_a_dash_name_the_newest_session() {
    let room = talked();
    room.exits(0, &["run", "second", "--new", "newer"]);
    for name in ["latest", "-"] {
        let left = room.exits(0, &["run", "more", "--session", name]);
        assert!(left.stderr.contains("session newer\n"), "{}", left.stderr);
        let shown = room.exits(0, &["sessions", "show", name, "--messages"]).stdout;
        assert!(shown.contains("second") && !shown.contains("hello"), "{shown}");
        room.exits(0, &["replay", name]);
        room.exits(0, &["build", "--session", name, "--budget", "9000"]);
    }
    // In another folder the newest session of that folder is meant.
    let other = room.root().join("home");
    let mut command = room.command(&["why", "--session", "latest"]);
    let left = Left::of(command.current_dir(other).spawn().unwrap());
    assert_eq!(left.code, Some(1), "{left:?}");
}

#[test]
fn a_session_that_is_called_latest_is_not_taken_where_none_is_named() {
    let room = talked();
    let (made, turn) = (room.session(), id_of(&room, "turn"));
    // A program may still call one so.
    let line = request("createSession", r#"{"sessionId":"latest"}"#) + "\n";
    let left = room.tertulia_with(&["rpc"], line.as_bytes());
    assert!(left.stdout.contains(r#""sessionId":"latest""#), "{left:?}");
    for command in [
        &["replay", "--json"][..],
        &["context", "--member", "max", "--json"],
        &["context", "--turn", &turn, "--json"],
    ] {
        assert_eq!(room.exits(0, command).json()[0]["sessionId"], *made, "{command:?}");
    }
    let left = room.exits(0, &["why"]);
    assert!(!left.stderr.contains("nothing was said"), "{left:?}");
}

#[test]
fn no_session_can_be_called_latest_or_a_dash() {
    let room = talked();
    let message = id_of(&room, "message");
    for name in ["latest", "-"] {
        for command in [
            &["run", "hello", "--new", name][..],
            &["chat", "--new", name],
            &["sessions", "branch", "latest", &message, "--into", name],
            &["sessions", "import", "-", "--as", name],
            &["sessions", "rename", "latest", name],
        ] {
            let told = room.exits(2, command).stderr;
            let why = format!("{name} means the newest session; use another name");
            assert!(told.contains(&why), "{command:?}: {told}");
        }
    }
    assert_eq!(room.exits(0, &["sessions", "list", "--json"]).json().len(), 1);
}

#[test]
fn why_replay_and_show_take_the_newest_session_if_none_is_named() {
    let room = talked();
    room.exits(0, &["run", "@max second", "--new", "newer"]);
    let entries = room.entries();
    let newest = entries.iter().rfind(|entry| entry["type"] == "message").unwrap();
    let named = room.exits(0, &["why", newest["id"].as_str().unwrap()]);
    let alone = room.exits(0, &["why"]);
    assert_eq!((alone.stdout, alone.stderr), (named.stdout, named.stderr));
    assert_eq!(room.exits(0, &["replay"]).stderr, "tertulia: 1 turn, every decision as before\n");
    let left = room.exits(0, &["sessions", "show"]);
    assert!(left.stdout.contains("@max second") && !left.stdout.contains("hello"), "{left:?}");
    assert!(left.stderr.contains("session newer · @max second"), "{left:?}");
    let empty = Room::new(TEAM);
    for command in [&["why"][..], &["replay"], &["sessions", "show"]] {
        let told = empty.exits(1, command).stderr;
        assert!(told.contains("there are no sessions yet"), "{told}");
    }
}

#[test]
fn a_mistyped_session_is_an_error_with_the_nearest_and_creates_nothing() {
    let room = Room::new(TEAM);
    let told = room.exits(2, &["run", "hello", "--session", "login"]).stderr;
    assert!(told.contains("there is no session login; `--new login` creates it"), "{told}");
    assert!(!room.root().join("data/sessions.db").exists());
    room.exits(0, &["run", "hello", "--new", "login-page"]);
    for command in ["run", "chat"] {
        let words = [&[command, "--session", "logni-page"], &["hello"][..]].concat();
        let words = &words[..if command == "run" { 4 } else { 3 }];
        let told = room.exits(2, words).stderr;
        let hint = "did you mean login-page? `--new logni-page` creates it";
        assert!(told.contains(hint), "{told}");
    }
    assert_eq!(room.exits(0, &["sessions", "list", "--json"]).json().len(), 1);
}

#[test]
fn new_creates_a_session_and_refuses_one_that_exists() {
    let room = Room::new(TEAM);
    room.exits(0, &["run", "hello", "--new", "talk"]);
    for command in [&["run", "more", "--new", "talk"][..], &["chat", "--new", "talk"]] {
        let told = room.exits(2, command).stderr;
        assert!(told.contains("session talk already exists; resume it with `--session"), "{told}");
    }
    assert_eq!(room.said().len(), 2);
    room.exits(2, &["run", "more", "--new", "a b"]);
    room.exits(2, &["run", "more", "--new", "x", "--session", "talk"]);
    room.exits(2, &["run", "more", "--new", "x", "--continue"]);
    let left = room.tertulia_with(&["chat", "--new", "second"], b"hello\n");
    assert_eq!(left.code, Some(0), "{left:?}");
    assert_eq!(room.session(), "second");
}

#[test]
fn a_title_is_shown_and_names_the_session() {
    let room = talked();
    let left = room.exits(0, &["sessions", "rename", "latest", "Login page"]);
    let told = format!("session {} is now called \"Login page\"", tail(&room));
    assert!(left.stderr.contains(&told), "{left:?}");
    let listed = room.exits(0, &["sessions", "list"]).stdout;
    assert!(listed.contains("Login page"), "{listed}");
    for name in ["Login page", "login page", "login"] {
        room.exits(0, &["run", "again", "--session", name]);
    }
    // Routing and prompts know nothing of it.
    room.exits(0, &["replay"]);
    let prompt = room.exits(0, &["context", "--member", "max"]).stdout;
    assert!(!prompt.contains("Login page"), "{prompt}");
    room.exits(0, &["sessions", "rename", "login page", "Sign-in"]);
    assert!(room.exits(2, &["run", "x", "--session", "login"]).stderr.contains("no session login"));
    room.exits(0, &["sessions", "rename", "sign-in", ""]);
    assert!(room.exits(0, &["sessions", "list"]).stdout.contains("hello"));
    room.exits(0, &["sessions", "verify"]);
    room.exits(2, &["sessions", "rename", "latest", "two\nlines"]);
}

#[test]
fn a_title_in_full_wins_over_a_part_of_an_id() {
    let room = Room::new(TEAM);
    room.exits(0, &["run", "first", "--new", "my-login-page"]);
    room.exits(0, &["run", "second", "--new", "s1"]);
    let shown = |name: &str| room.exits(0, &["sessions", "show", name, "--messages"]).stdout;
    assert!(shown("login").contains("first"), "a later part of the ID");
    for title in ["login", "my", "Page"] {
        room.exits(0, &["sessions", "rename", "s1", title]);
        assert!(shown(title).contains("second"), "{title}");
    }
    // But an ID in full wins over a title, and a part of one over the beginning of a title.
    room.exits(0, &["sessions", "rename", "s1", "my-login-page"]);
    assert!(shown("my-login-page").contains("first"));
    room.exits(0, &["sessions", "rename", "s1", "login form"]);
    assert!(shown("login").contains("first") && shown("login f").contains("second"));
}

#[test]
fn a_title_travels_with_an_export_and_a_backup() {
    let shelf = Shelf::new();
    shelf.import("a", &said("m", "user", "Hello"));
    shelf.prints(&["rename", "a", "The \"first\" one"], "");
    let log = shelf.prints(&["export", "a"], "");
    shelf.import("b", &log);
    let title = |shelf: &Shelf, id: &str| {
        let json = shelf.prints(&["list", "--prefix", id, "--json"], "");
        let session: serde_json::Value = serde_json::from_str(&json).unwrap();
        session["title"].as_str().unwrap().to_owned()
    };
    assert_eq!(title(&shelf, "b"), "The \"first\" one");
    let file = shelf.path("copy.db").display().to_string();
    shelf.prints(&["backup", &file], "");
    let other = Shelf::new();
    other.prints(&["restore", &file], "");
    assert_eq!(title(&other, "a"), "The \"first\" one");
    let told = shelf.refuses(&["show", "the \"first\" one"], "");
    assert!(told.contains("matches: b, a") || told.contains("matches: a, b"), "{told}");
}

#[test]
fn an_id_in_a_table_can_be_typed_back() {
    let room = talked();
    for command in [
        &["context", "--session", "latest", "--explain"][..],
        &["context", "--session", "latest", "--explain", "--window", "0"],
        &["build", "--session", "latest", "--model", "gpt-5", "--explain"],
    ] {
        let table = room.exits(0, command).stdout;
        let ids: Vec<&str> =
            table.split_whitespace().filter(|word| word.starts_with("e-")).collect();
        assert!(!ids.is_empty(), "{table}");
        for id in ids {
            room.exits(0, &["why", id]);
        }
    }
}

#[test]
fn people_read_short_ids_and_programs_long_ones() {
    let room = talked();
    let made = room.session();
    let left = room.exits(0, &["run", "--continue", "@max again"]);
    let why = room.exits(0, &["why"]);
    let show = room.exits(0, &["sessions", "show", "--all"]);
    let search = room.exits(0, &["sessions", "search", "hello"]);
    let list = room.exits(0, &["sessions", "list"]);
    for Left { stdout, stderr, .. } in [&left, &why, &show, &search, &list] {
        for text in [stdout, stderr] {
            assert!(!has_long_id(text) && !text.contains(&made), "{text}");
        }
    }
    for shown in [&left.stderr, &search.stdout, &list.stdout] {
        assert!(shown.contains(&tail(&room)), "{shown}");
    }
    for json in [&["why", "--json"][..], &["sessions", "search", "hello", "--json"]] {
        assert!(has_long_id(&room.exits(0, json).stdout));
    }
}
