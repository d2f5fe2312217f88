//! Names that people can type: short ids, `latest`, titles, and errors for unknown or ambiguous names.

use crate::harness::{TestStore, request, said};
use crate::workspace::{CommandOutput, Workspace};

const TEAM: &str = "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
    [[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [\"Done.\"]\n\
    [[member]]\nname = \"bad\"\nagent = \"script\"\nanswers = [\" \"]\n";

/// A workspace with messages in a session whose id was generated.
fn talked() -> Workspace {
    let workspace = Workspace::new(TEAM);
    workspace.exits(0, &["run", "hello"]);
    workspace
}

/// Returns the last part of the id of the newest session.
fn tail(workspace: &Workspace) -> String {
    workspace.session().rsplit('-').next().unwrap().to_owned()
}

/// Returns the id of the first entry of this type.
fn id_of(workspace: &Workspace, kind: &str) -> String {
    let entries = workspace.entries();
    let entry = entries.iter().find(|entry| entry["type"] == kind).unwrap();
    entry["id"].as_str().unwrap().to_owned()
}

/// Returns whether a text contains the full id of an entry.
fn has_long_id(text: &str) -> bool {
    let digits = |place: usize| text[place + 2..].bytes().take_while(u8::is_ascii_hexdigit).count();
    text.match_indices("e-").any(|(place, _)| digits(place) == 32)
}

#[test]
fn a_short_id_of_an_entry_works_wherever_an_entry_is_named() {
    let workspace = talked();
    let message = id_of(&workspace, "message");
    let (short, digits) = (&message[..8], &message[2..9]);
    for entry in [short, digits] {
        workspace.exits(0, &["why", entry]);
        let shown =
            workspace.exits(0, &["sessions", "show", "latest", "--json", "--from", entry]).json();
        assert_eq!(shown[0]["id"], *message);
        let shown = workspace.exits(0, &["sessions", "show", "--json", "--branch", entry]).json();
        assert_eq!(shown.last().unwrap()["id"], *message);
    }
    let turn = id_of(&workspace, "turn");
    let sent = workspace.exits(0, &["context", "--turn", &turn[2..8], "--json"]).json();
    assert_eq!(sent[0]["turn"], *turn);
    let made =
        workspace.exits(0, &["sessions", "branch", "latest", digits, "--into", "fork"]).stdout;
    assert_eq!(made, "fork\n");
    workspace.exits(0, &["sessions", "branch", "fork", short]);
    workspace.exits(0, &["sessions", "redact", "fork", short]);
    let shown = workspace.exits(0, &["sessions", "show", "fork"]).stdout;
    assert!(shown.contains("[redacted message by e-"), "{shown}");
}

#[test]
fn an_entry_is_not_redacted_for_a_digit_or_two() {
    let workspace = Workspace::new(TEAM);
    let entry = said("e-c0ffee00", "user", "A secret");
    let import = ["sessions", "import", "-", "--as", "talk"];
    assert_eq!(workspace.tertulia_with(&import, entry.as_bytes()).code, Some(0));
    for (prefix, digits) in [("e-c", 1), ("c0f", 3), ("e-c0f", 3)] {
        let reported = workspace.exits(1, &["sessions", "redact", "talk", prefix]).stderr;
        let why =
            format!("redact needs at least four digits of the entry's ID; {prefix} has {digits}\n");
        assert!(reported.contains(&why), "{reported}");
        // A short prefix is enough for commands that remove nothing.
        workspace.exits(0, &["sessions", "show", "talk", "--from", prefix]);
    }
    assert!(workspace.exits(0, &["sessions", "show", "talk"]).stdout.contains("A secret"));
    workspace.exits(0, &["sessions", "redact", "talk", "c0ff"]);
    assert!(!workspace.exits(0, &["sessions", "show", "talk"]).stdout.contains("A secret"));
}

#[test]
fn a_turn_is_retried_by_the_command_that_is_suggested() {
    let workspace = Workspace::new(TEAM);
    let output = workspace.exits(1, &["run", "@bad hello"]);
    let command = output.stderr.split('`').find(|text| text.contains("--repeat")).unwrap();
    assert!(!has_long_id(command) && !command.contains("2026-"), "{command}");
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    workspace.exits(1, &words);
    assert_eq!(workspace.turns().iter().filter(|turn| *turn == "bad failed").count(), 2);
}

#[test]
fn an_ambiguous_id_is_answered_with_its_matches() {
    let workspace = talked();
    for command in [["why", "e-"], ["context", "--turn=e-"]] {
        let reported = workspace.exits(1, &command).stderr;
        assert!(reported.contains("Ambiguous ID \"e-\"; matches: e-"), "{reported}");
    }
    let reported = workspace.exits(1, &["sessions", "redact", "latest", "e-"]).stderr;
    assert!(reported.contains("Ambiguous ID \"e-\"; matches: e-"), "{reported}");
    workspace.exits(0, &["run", "again"]);
    let year = &workspace.session()[..4];
    let reported = workspace.exits(1, &["sessions", "show", year]).stderr;
    let matches = format!("Ambiguous ID \"{year}\"; matches: {}, ", workspace.session());
    assert!(reported.contains(&matches), "{reported}");
}

#[test]
fn a_session_is_named_by_the_last_part_of_its_id() {
    let workspace = talked();
    let tail = tail(&workspace);
    for name in [&tail[..], &tail[..5]] {
        workspace.exits(0, &["run", "again", "--session", name]);
        workspace.exits(0, &["why", "--session", name]);
        workspace.exits(0, &["replay", name]);
        workspace.exits(0, &["build", "--session", name, "--budget", "9000"]);
        workspace.exits(0, &["context", "--session", name, "--member", "max"]);
        workspace.exits(0, &["sessions", "verify", name]);
        workspace.exits(0, &["sessions", "export", name]);
    }
    let listed = workspace.exits(0, &["sessions", "list", "--json"]).stdout;
    assert_eq!(listed.lines().count(), 1, "{listed}");
    let reported = workspace.exits(1, &["sessions", "delete", &tail, "--yes"]).stderr;
    assert!(reported.contains(&format!("did you mean {}?", workspace.session())), "{reported}");
}

#[test]
fn deleting_without_a_question_takes_the_full_id_only_and_says_so() {
    let workspace = talked();
    workspace.exits(0, &["sessions", "rename", "latest", "Login page"]);
    let (made, tail) = (workspace.session(), tail(&workspace));
    for (name, hint) in [
        ("latest", String::new()),
        ("-", String::new()),
        (&tail[..], format!("; did you mean {made}?")),
        ("login page", format!("; did you mean {made}?")),
    ] {
        let reported = workspace.exits(1, &["sessions", "delete", "--yes", name]).stderr;
        let why = format!("tertulia: --yes requires the full ID; {name} is not one{hint}\n");
        assert_eq!(reported, why);
    }
    let reported = workspace.exits(1, &["sessions", "delete", "--yes", "zebra"]).stderr;
    assert!(reported.contains("there is no session zebra"), "{reported}");
    workspace.exits(0, &["sessions", "delete", "--yes", &made]);
}

#[test]
fn latest_and_a_dash_name_the_newest_session() {
    let workspace = talked();
    workspace.exits(0, &["run", "second", "--new", "newer"]);
    for name in ["latest", "-"] {
        let output = workspace.exits(0, &["run", "more", "--session", name]);
        assert!(output.stderr.contains("session newer\n"), "{}", output.stderr);
        let shown = workspace.exits(0, &["sessions", "show", name, "--messages"]).stdout;
        assert!(shown.contains("second") && !shown.contains("hello"), "{shown}");
        workspace.exits(0, &["replay", name]);
        workspace.exits(0, &["build", "--session", name, "--budget", "9000"]);
    }
    // In another folder, `latest` is the newest session of that folder.
    let other = workspace.root().join("home");
    let mut command = workspace.command(&["why", "--session", "latest"]);
    let output = CommandOutput::wait(command.current_dir(other).spawn().unwrap());
    assert_eq!(output.code, Some(1), "{output:?}");
}

#[test]
fn a_session_that_is_called_latest_is_not_taken_where_none_is_named() {
    let workspace = talked();
    let (made, turn) = (workspace.session(), id_of(&workspace, "turn"));
    // Programs may still use this name.
    let line = request("createSession", r#"{"sessionId":"latest"}"#) + "\n";
    let output = workspace.tertulia_with(&["rpc"], line.as_bytes());
    assert!(output.stdout.contains(r#""sessionId":"latest""#), "{output:?}");
    for command in [
        &["replay", "--json"][..],
        &["context", "--member", "max", "--json"],
        &["context", "--turn", &turn, "--json"],
    ] {
        assert_eq!(workspace.exits(0, command).json()[0]["sessionId"], *made, "{command:?}");
    }
    let output = workspace.exits(0, &["why"]);
    assert!(!output.stderr.contains("no messages yet"), "{output:?}");
}

#[test]
fn no_session_can_be_called_latest_or_a_dash() {
    let workspace = talked();
    let message = id_of(&workspace, "message");
    for name in ["latest", "-"] {
        for command in [
            &["run", "hello", "--new", name][..],
            &["chat", "--new", name],
            &["sessions", "branch", "latest", &message, "--into", name],
            &["sessions", "import", "-", "--as", name],
            &["sessions", "rename", "latest", name],
        ] {
            let reported = workspace.exits(2, command).stderr;
            let why = format!("{name} means the newest session; use another name");
            assert!(reported.contains(&why), "{command:?}: {reported}");
        }
    }
    assert_eq!(workspace.exits(0, &["sessions", "list", "--json"]).json().len(), 1);
}

#[test]
fn why_replay_and_show_take_the_newest_session_if_none_is_named() {
    let workspace = talked();
    workspace.exits(0, &["run", "@max second", "--new", "newer"]);
    let entries = workspace.entries();
    let newest = entries.iter().rfind(|entry| entry["type"] == "message").unwrap();
    let named = workspace.exits(0, &["why", newest["id"].as_str().unwrap()]);
    let alone = workspace.exits(0, &["why"]);
    assert_eq!((alone.stdout, alone.stderr), (named.stdout, named.stderr));
    assert_eq!(
        workspace.exits(0, &["replay"]).stderr,
        "tertulia: 1 turn compared; all decisions are the same\n"
    );
    let output = workspace.exits(0, &["sessions", "show"]);
    assert!(
        output.stdout.contains("@max second") && !output.stdout.contains("hello"),
        "{output:?}"
    );
    assert!(output.stderr.contains("session newer · @max second"), "{output:?}");
    let empty = Workspace::new(TEAM);
    for command in [&["why"][..], &["replay"], &["sessions", "show"]] {
        let reported = empty.exits(1, command).stderr;
        assert!(reported.contains("there are no sessions yet"), "{reported}");
    }
}

#[test]
fn a_mistyped_session_is_an_error_with_the_nearest_and_creates_nothing() {
    let workspace = Workspace::new(TEAM);
    let reported = workspace.exits(2, &["run", "hello", "--session", "login"]).stderr;
    assert!(reported.contains("there is no session login; `--new login` creates it"), "{reported}");
    assert!(!workspace.root().join("data/sessions.db").exists());
    workspace.exits(0, &["run", "hello", "--new", "login-page"]);
    for command in ["run", "chat"] {
        let words = [&[command, "--session", "logni-page"], &["hello"][..]].concat();
        let words = &words[..if command == "run" { 4 } else { 3 }];
        let reported = workspace.exits(2, words).stderr;
        let hint = "did you mean login-page? `--new logni-page` creates it";
        assert!(reported.contains(hint), "{reported}");
    }
    assert_eq!(workspace.exits(0, &["sessions", "list", "--json"]).json().len(), 1);
}

#[test]
fn new_creates_a_session_and_refuses_one_that_exists() {
    let workspace = Workspace::new(TEAM);
    workspace.exits(0, &["run", "hello", "--new", "talk"]);
    for command in [&["run", "more", "--new", "talk"][..], &["chat", "--new", "talk"]] {
        let reported = workspace.exits(2, command).stderr;
        assert!(
            reported.contains("session talk already exists; resume it with `--session"),
            "{reported}"
        );
    }
    assert_eq!(workspace.said().len(), 2);
    workspace.exits(2, &["run", "more", "--new", "a b"]);
    workspace.exits(2, &["run", "more", "--new", "x", "--session", "talk"]);
    workspace.exits(2, &["run", "more", "--new", "x", "--continue"]);
    let output = workspace.tertulia_with(&["chat", "--new", "second"], b"hello\n");
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(workspace.session(), "second");
}

#[test]
fn a_title_is_shown_and_names_the_session() {
    let workspace = talked();
    let output = workspace.exits(0, &["sessions", "rename", "latest", "Login page"]);
    let reported = format!("session {} is now called \"Login page\"", tail(&workspace));
    assert!(output.stderr.contains(&reported), "{output:?}");
    let listed = workspace.exits(0, &["sessions", "list"]).stdout;
    assert!(listed.contains("Login page"), "{listed}");
    for name in ["Login page", "login page", "login"] {
        workspace.exits(0, &["run", "again", "--session", name]);
    }
    // The title does not affect routing and prompts.
    workspace.exits(0, &["replay"]);
    let prompt = workspace.exits(0, &["context", "--member", "max"]).stdout;
    assert!(!prompt.contains("Login page"), "{prompt}");
    workspace.exits(0, &["sessions", "rename", "login page", "Sign-in"]);
    assert!(
        workspace.exits(2, &["run", "x", "--session", "login"]).stderr.contains("no session login")
    );
    workspace.exits(0, &["sessions", "rename", "sign-in", ""]);
    assert!(workspace.exits(0, &["sessions", "list"]).stdout.contains("hello"));
    workspace.exits(0, &["sessions", "verify"]);
    workspace.exits(2, &["sessions", "rename", "latest", "two\nlines"]);
}

#[test]
fn a_title_in_full_wins_over_a_part_of_an_id() {
    let workspace = Workspace::new(TEAM);
    workspace.exits(0, &["run", "first", "--new", "my-login-page"]);
    workspace.exits(0, &["run", "second", "--new", "s1"]);
    let shown = |name: &str| workspace.exits(0, &["sessions", "show", name, "--messages"]).stdout;
    assert!(shown("login").contains("first"), "a later part of the ID");
    for title in ["login", "my", "Page"] {
        workspace.exits(0, &["sessions", "rename", "s1", title]);
        assert!(shown(title).contains("second"), "{title}");
    }
    // But a full ID takes precedence over a title, and a part of an ID over the beginning of a title.
    workspace.exits(0, &["sessions", "rename", "s1", "my-login-page"]);
    assert!(shown("my-login-page").contains("first"));
    workspace.exits(0, &["sessions", "rename", "s1", "login form"]);
    assert!(shown("login").contains("first") && shown("login f").contains("second"));
}

#[test]
fn a_title_travels_with_an_export_and_a_backup() {
    let store = TestStore::new();
    store.import("a", &said("m", "user", "Hello"));
    store.prints(&["rename", "a", "The \"first\" one"], "");
    let log = store.prints(&["export", "a"], "");
    store.import("b", &log);
    let title = |store: &TestStore, id: &str| {
        let json = store.prints(&["list", "--prefix", id, "--json"], "");
        let session: serde_json::Value = serde_json::from_str(&json).unwrap();
        session["title"].as_str().unwrap().to_owned()
    };
    assert_eq!(title(&store, "b"), "The \"first\" one");
    let file = store.path("copy.db").display().to_string();
    store.prints(&["backup", &file], "");
    let other = TestStore::new();
    other.prints(&["restore", &file], "");
    assert_eq!(title(&other, "a"), "The \"first\" one");
    let reported = store.refuses(&["show", "the \"first\" one"], "");
    assert!(reported.contains("matches: b, a") || reported.contains("matches: a, b"), "{reported}");
}

#[test]
fn an_id_in_a_table_can_be_typed_back() {
    let workspace = talked();
    for command in [
        &["context", "--session", "latest", "--explain"][..],
        &["context", "--session", "latest", "--explain", "--window", "0"],
        &["build", "--session", "latest", "--model", "gpt-5", "--explain"],
    ] {
        let table = workspace.exits(0, command).stdout;
        let ids: Vec<&str> =
            table.split_whitespace().filter(|word| word.starts_with("e-")).collect();
        assert!(!ids.is_empty(), "{table}");
        for id in ids {
            workspace.exits(0, &["why", id]);
        }
    }
}

#[test]
fn people_read_short_ids_and_programs_long_ones() {
    let workspace = talked();
    let made = workspace.session();
    let output = workspace.exits(0, &["run", "--continue", "@max again"]);
    let why = workspace.exits(0, &["why"]);
    let show = workspace.exits(0, &["sessions", "show", "--all"]);
    let search = workspace.exits(0, &["sessions", "search", "hello"]);
    let list = workspace.exits(0, &["sessions", "list"]);
    for CommandOutput { stdout, stderr, .. } in [&output, &why, &show, &search, &list] {
        for text in [stdout, stderr] {
            assert!(!has_long_id(text) && !text.contains(&made), "{text}");
        }
    }
    for shown in [&output.stderr, &search.stdout, &list.stdout] {
        assert!(shown.contains(&tail(&workspace)), "{shown}");
    }
    for json in [&["why", "--json"][..], &["sessions", "search", "hello", "--json"]] {
        assert!(has_long_id(&workspace.exits(0, json).stdout));
    }
}
