//! Tests the notes of `tertulia run` about waiting turns, earlier turns, and likely mistakes.

use crate::workspace::{CommandOutput, Workspace, pid_in, signal};

/// A team of two people and two scripted members.
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

fn types(output: &CommandOutput) -> Vec<String> {
    output.json().iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_note_says_that_another_person_must_answer_first() {
    let workspace = Workspace::new(TWO_PEOPLE);
    let output = workspace.exits(0, &["run", "--as", "ann", "@bob, what do you think?"]);
    assert_eq!(
        output.stderr.matches("waiting for bob to answer\n").count(),
        1,
        "{}",
        output.stderr
    );

    let output = workspace.exits(0, &["run", "--continue", "--as", "ann", "@max hello"]);
    assert_eq!(output.stdout, "");
    let waits = "your message waits until bob has answered\n";
    assert_eq!(output.stderr.matches(waits).count(), 1, "{}", output.stderr);

    let output = workspace.exits(0, &["run", "--continue", "--as", "ann", "@max again", "--json"]);
    let end = output.json().pop().unwrap();
    assert_eq!(
        (&end["pause"]["why"], &end["pause"]["question"]["to"]),
        (&"asked".into(), &"bob".into())
    );
    assert_eq!(types(&output).iter().filter(|event| *event == "asked").count(), 1);

    let output = workspace.exits(0, &["run", "--continue", "--as", "bob", "I think so too."]);
    assert_eq!(output.stdout, "max:\nYes.\n");
    assert!(!output.stderr.contains("bob"), "{}", output.stderr);
}

#[test]
fn what_was_asked_before_is_not_asked_again_by_going_on() {
    let workspace = Workspace::new(&TWO_PEOPLE.replace("\"Yes.\"", "\"@eva look\""));
    let output = workspace.exits(3, &["run", "--as", "ann", "@max go", "--max-turns", "1"]);
    assert!(output.stderr.contains("one turn since a person last wrote"), "{}", output.stderr);
    let output = workspace.exits(0, &["run", "--continue"]);
    assert_eq!(output.stdout, "eva:\n@ann which one?\n");
    assert!(!output.stderr.contains("since a person last wrote"), "{}", output.stderr);
    // The question of the new answer is a new one.
    assert!(
        output.stderr.contains("your turn, ann: eva asked you a question\n"),
        "{}",
        output.stderr
    );
    let output = workspace.exits(0, &["run", "--continue"]);
    assert!(!output.stderr.contains("your turn"), "{}", output.stderr);
}

#[test]
fn a_session_that_is_resumed_rests_only_after_what_is_new() {
    let workspace = Workspace::new(TWO_PEOPLE);
    let run = |flag| ["run", "--as", "ann", "hello", flag, "talk", "--json"];
    let whole = types(&workspace.exits(0, &run("--new")));
    assert_eq!(whole.iter().filter(|event| *event == "rested").count(), 1);
    let again = types(&workspace.exits(0, &run("--session")));
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
        let workspace = Workspace::new(&team);
        let child = workspace.start(&["run", text, "--trust", "--new", "talk"]);
        pid_in(&workspace.path("pid"));
        signal("-INT", child.id());
        let output = CommandOutput::wait(child);
        assert_eq!(output.code, Some(130), "{output:?}");
        (workspace, output.stderr)
    };
    let (workspace, reported) = interrupted("@max @eva go");
    assert!(reported.contains("--repeat e-"), "{reported}");
    let go_on = "`tertulia run --session talk --continue` continues with eva\n";
    assert!(reported.contains(go_on), "{reported}");
    let output = workspace.exits(0, &["run", "--session", "talk", "--continue"]);
    assert_eq!(output.stdout, "eva:\nFine.\n");
    let (_, reported) = interrupted("@max go");
    assert!(reported.contains("--repeat e-") && !reported.contains("--continue"), "{reported}");
}

#[test]
fn a_name_that_nobody_has_is_reported_and_the_message_goes_on() {
    let workspace = Workspace::new(TWO_PEOPLE);
    workspace.write("Makefile", "all:");
    let run = |text: &str| workspace.exits(0, &["run", "--as", "ann", text]).stderr;
    for text in ["@zzz hello", "@zzz, hello", "@zzz: hello", "@zzz", "\n@zzz hello"] {
        let reported = run(text);
        let note = "tertulia: nobody in the team is called zzz; the message goes to max\n";
        assert_eq!(reported.matches(note).count(), 1, "{text:?}: {reported}");
    }
    assert!(run("@zzz and @eva, hello").contains("called zzz; the message goes to eva\n"));
    for text in ["@Makefile is odd", "@src/zzz is odd", "@zzz.rs is odd", "hello @zzz", "`@zzz`"] {
        let reported = run(text);
        assert!(!reported.contains("nobody in the team"), "{text:?}: {reported}");
    }
    let output = workspace.exits(0, &["run", "--as", "ann", "@zzz hello", "--json"]);
    let notes: Vec<_> = output.json().into_iter().filter(|event| event["type"] == "note").collect();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert_eq!(notes[0]["text"], "nobody in the team is called zzz; the message goes to max");
    assert!(notes[0]["entries"][0].as_str().unwrap().starts_with("e-"));
}

#[test]
fn a_line_that_nobody_may_say_begins_no_session() {
    let workspace = Workspace::new(TWO_PEOPLE);
    workspace.exits(3, &["run", "hello", "--new", "talk"]);
    assert!(!workspace.root().join("data/sessions.db").exists());
    workspace.exits(0, &["run", "hello", "--as", "ann", "--new", "other"]);
    workspace.exits(3, &["run", "hello", "--new", "talk"]);
    workspace.exits(2, &["run", "[FROM: max] hello", "--new", "talk"]);
    let listed = workspace.exits(0, &["sessions", "list", "--json"]).stdout;
    assert_eq!(listed.lines().count(), 1, "{listed}");
}

#[test]
fn a_team_file_that_is_no_file_is_named_with_its_path_and_a_hint() {
    let workspace = Workspace::empty();
    std::fs::create_dir(workspace.path("tertulia.toml")).unwrap();
    let reported = workspace.exits(2, &["run", "hello"]).stderr;
    let path = workspace.path("tertulia.toml").display().to_string();
    assert!(
        reported.contains(&format!("{path}: is a directory; pass a team file\n")),
        "{reported}"
    );
    let reported = workspace.exits(2, &["run", "hello", "--team", "/tmp"]).stderr;
    assert_eq!(reported, "tertulia: /tmp: is a directory; pass a team file\n");
    let reported = workspace.exits(1, &["doctor"]).stdout;
    assert!(reported.contains("is a directory; pass a team file"), "{reported}");

    std::fs::remove_dir(workspace.path("tertulia.toml")).unwrap();
    std::os::unix::fs::symlink("nowhere", workspace.path("tertulia.toml")).unwrap();
    let reported = workspace.exits(2, &["run", "hello"]).stderr;
    assert!(
        reported.contains(&path) && reported.contains("pass an existing team file"),
        "{reported}"
    );

    // Root can read every file, so the file is removed instead.
    std::fs::remove_file(workspace.path("tertulia.toml")).unwrap();
    workspace.write("tertulia.toml", TWO_PEOPLE);
    let nobody = std::os::unix::fs::PermissionsExt::from_mode(0o000);
    std::fs::set_permissions(workspace.path("tertulia.toml"), nobody).unwrap();
    if std::fs::read(workspace.path("tertulia.toml")).is_err() {
        let reported = workspace.exits(2, &["run", "hello"]).stderr;
        assert!(
            reported.contains(&path) && reported.contains("change its permissions"),
            "{reported}"
        );
    }
}

#[test]
fn a_byte_that_is_no_character_is_named() {
    let workspace = Workspace::new(
        "[[member]]\nname = \"ann\"\nkind = \"human\"\n[[member]]\nname = \"max\"\n\
         agent = \"command\"\n\
         command = [\"sh\", \"-c\", \"cat >/dev/null; printf 'caf\\\\351 now\\\\n\\\\377'\"]\n",
    );
    let output = workspace.exits(0, &["run", "hello", "--trust"]);
    assert_eq!(output.stdout, "max:\ncaf\u{fffd} now\n\u{fffd}\n");
    let reported = "max: warning: it wrote text that is not UTF-8: 0xE9 is not a character; \u{fffd} replaces it";
    assert_eq!(output.stderr.matches(reported).count(), 1, "{}", output.stderr);
    assert!(!output.stderr.contains("cannot be read"), "{}", output.stderr);
}
