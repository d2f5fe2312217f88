//! `tertulia run`: what is told of what waits, of what is past, and of what was not meant so.

use crate::room::{Left, Room, pid_in, signal};

/// A table of two people and two written members.
const TWO_PEOPLE: &str = r#"
[[member]]
name = "ann"
kind = "human"
[[member]]
name = "bob"
kind = "human"
[[member]]
name = "max"
agent = "script"
answers = ["Yes."]
[[member]]
name = "eva"
agent = "script"
answers = ["@ann which one?"]
"#;

fn types(left: &Left) -> Vec<String> {
    left.json().iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn whoever_speaks_is_told_that_another_person_is_waited_for() {
    let room = Room::new(TWO_PEOPLE);
    let left = room.exits(0, &["run", "--as", "ann", "@bob, what do you think?"]);
    assert_eq!(left.stderr.matches("waiting for bob to answer\n").count(), 1, "{}", left.stderr);

    let left = room.exits(0, &["run", "--continue", "--as", "ann", "@max hello"]);
    assert_eq!(left.stdout, "");
    let waits = "your message waits until bob has answered\n";
    assert_eq!(left.stderr.matches(waits).count(), 1, "{}", left.stderr);

    let left = room.exits(0, &["run", "--continue", "--as", "ann", "@max again", "--json"]);
    let end = left.json().pop().unwrap();
    assert_eq!(
        (&end["pause"]["why"], &end["pause"]["question"]["to"]),
        (&"asked".into(), &"bob".into())
    );
    assert_eq!(types(&left).iter().filter(|event| *event == "asked").count(), 1);

    let left = room.exits(0, &["run", "--continue", "--as", "bob", "I think so too."]);
    assert_eq!(left.stdout, "max:\nYes.\n");
    assert!(!left.stderr.contains("bob"), "{}", left.stderr);
}

#[test]
fn what_was_asked_before_is_not_asked_again_by_going_on() {
    let room = Room::new(&TWO_PEOPLE.replace("\"Yes.\"", "\"@eva look\""));
    let left = room.exits(3, &["run", "--as", "ann", "@max go", "--max-turns", "1"]);
    assert!(left.stderr.contains("one turn since a person last wrote"), "{}", left.stderr);
    let left = room.exits(0, &["run", "--continue"]);
    assert_eq!(left.stdout, "eva:\n@ann which one?\n");
    assert!(!left.stderr.contains("since a person last wrote"), "{}", left.stderr);
    // What the new answer asks is new.
    assert!(left.stderr.contains("your turn, ann: eva asked you a question\n"), "{}", left.stderr);
    let left = room.exits(0, &["run", "--continue"]);
    assert!(!left.stderr.contains("your turn"), "{}", left.stderr);
}

#[test]
fn a_session_that_is_gone_on_with_rests_only_after_what_is_new() {
    let room = Room::new(TWO_PEOPLE);
    let run = |flag| ["run", "--as", "ann", "hello", flag, "talk", "--json"];
    let whole = types(&room.exits(0, &run("--new")));
    assert_eq!(whole.iter().filter(|event| *event == "rested").count(), 1);
    let again = types(&room.exits(0, &run("--session")));
    assert_eq!(again.first().unwrap(), "session");
    assert_eq!(again.get(1).unwrap(), "stored", "{again:?}");
    let rested: Vec<usize> = (0..again.len()).filter(|at| again[*at] == "rested").collect();
    assert_eq!(rested, [again.len() - 2], "{again:?}");
}

#[test]
fn an_interrupt_offers_to_go_on_with_those_that_wait() {
    let script = "cat > /dev/null; echo one; echo $$ > pid; sleep 60";
    let team = format!(
        "[[member]]\nname = \"ann\"\nkind = \"human\"\n[[member]]\nname = \"max\"\n\
         agent = \"command\"\ncommand = [\"sh\", \"-c\", \"{}\"]\n\
         [[member]]\nname = \"eva\"\nagent = \"script\"\nanswers = [\"Fine.\"]\n",
        script.replace('"', "\\\"")
    );
    let interrupted = |text: &str| {
        let room = Room::new(&team);
        let child = room.start(&["run", text, "--trust", "--new", "talk"]);
        pid_in(&room.path("pid"));
        signal("-INT", child.id());
        let left = Left::of(child);
        assert_eq!(left.code, Some(130), "{left:?}");
        (room, left.stderr)
    };
    let (room, told) = interrupted("@max @eva go");
    assert!(told.contains("--repeat e-"), "{told}");
    let go_on = "`tertulia run --session talk --continue` continues with eva\n";
    assert!(told.contains(go_on), "{told}");
    let left = room.exits(0, &["run", "--session", "talk", "--continue"]);
    assert_eq!(left.stdout, "eva:\nFine.\n");
    let (_, told) = interrupted("@max go");
    assert!(told.contains("--repeat e-") && !told.contains("--continue"), "{told}");
}

#[test]
fn a_name_that_nobody_has_is_told_and_the_message_goes_on() {
    let room = Room::new(TWO_PEOPLE);
    room.write("Makefile", "all:");
    let run = |text: &str| room.exits(0, &["run", "--as", "ann", text]).stderr;
    for text in ["@zzz hello", "@zzz, hello", "@zzz: hello", "@zzz", "\n@zzz hello"] {
        let told = run(text);
        let note = "tertulia: nobody in the team is called zzz; it goes to max\n";
        assert_eq!(told.matches(note).count(), 1, "{text:?}: {told}");
    }
    assert!(run("@zzz and @eva, hello").contains("called zzz; it goes to eva\n"));
    for text in ["@Makefile is odd", "@src/zzz is odd", "@zzz.rs is odd", "hello @zzz", "`@zzz`"] {
        let told = run(text);
        assert!(!told.contains("nobody in the team"), "{text:?}: {told}");
    }
    let left = room.exits(0, &["run", "--as", "ann", "@zzz hello", "--json"]);
    let notes: Vec<_> = left.json().into_iter().filter(|event| event["type"] == "note").collect();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert_eq!(notes[0]["text"], "nobody in the team is called zzz; it goes to max");
    assert!(notes[0]["entries"][0].as_str().unwrap().starts_with("e-"));
}

#[test]
fn a_line_that_nobody_may_say_begins_no_session() {
    let room = Room::new(TWO_PEOPLE);
    room.exits(3, &["run", "hello", "--new", "talk"]);
    assert!(!room.root().join("data/sessions.db").exists());
    room.exits(0, &["run", "hello", "--as", "ann", "--new", "other"]);
    room.exits(3, &["run", "hello", "--new", "talk"]);
    room.exits(2, &["run", "[FROM: max] hello", "--new", "talk"]);
    let listed = room.exits(0, &["sessions", "list", "--json"]).stdout;
    assert_eq!(listed.lines().count(), 1, "{listed}");
}

#[test]
fn a_team_file_that_is_no_file_is_named_with_its_path_and_a_hint() {
    let room = Room::empty();
    std::fs::create_dir(room.path("tertulia.toml")).unwrap();
    let told = room.exits(2, &["run", "hello"]).stderr;
    let path = room.path("tertulia.toml").display().to_string();
    assert!(told.contains(&format!("{path}: is a directory; pass a team file\n")), "{told}");
    let told = room.exits(2, &["run", "hello", "--team", "/tmp"]).stderr;
    assert_eq!(told, "tertulia: /tmp: is a directory; pass a team file\n");
    let told = room.exits(1, &["doctor"]).stdout;
    assert!(told.contains("is a directory; pass a team file"), "{told}");

    std::fs::remove_dir(room.path("tertulia.toml")).unwrap();
    std::os::unix::fs::symlink("nowhere", room.path("tertulia.toml")).unwrap();
    let told = room.exits(2, &["run", "hello"]).stderr;
    assert!(told.contains(&path) && told.contains("pass an existing team file"), "{told}");

    // Who may read everything cannot be refused.
    std::fs::remove_file(room.path("tertulia.toml")).unwrap();
    room.write("tertulia.toml", TWO_PEOPLE);
    let nobody = std::os::unix::fs::PermissionsExt::from_mode(0o000);
    std::fs::set_permissions(room.path("tertulia.toml"), nobody).unwrap();
    if std::fs::read(room.path("tertulia.toml")).is_err() {
        let told = room.exits(2, &["run", "hello"]).stderr;
        assert!(told.contains(&path) && told.contains("change its permissions"), "{told}");
    }
}

#[test]
fn a_byte_that_is_no_character_is_named() {
    let room = Room::new(
        "[[member]]\nname = \"ann\"\nkind = \"human\"\n[[member]]\nname = \"max\"\n\
         agent = \"command\"\n\
         command = [\"sh\", \"-c\", \"cat >/dev/null; printf 'caf\\\\351 now\\\\n\\\\377'\"]\n",
    );
    let left = room.exits(0, &["run", "hello", "--trust"]);
    assert_eq!(left.stdout, "max:\ncaf\u{fffd} now\n\u{fffd}\n");
    let told = "max: warning: it wrote text that is not UTF-8: 0xE9 is no character; \u{fffd} stands for it";
    assert_eq!(left.stderr.matches(told).count(), 1, "{}", left.stderr);
    assert!(!left.stderr.contains("cannot be read"), "{}", left.stderr);
}
