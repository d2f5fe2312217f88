//! `tertulia run`: answers, exit codes, sessions, and what a person is told.

use crate::room::Room;

/// A table of a person and two written members.
const TEAM: &str = r#"
[[member]]
name = "ann"
kind = "human"
[[member]]
name = "max"
agent = "script"
answers = ["  first\n\n\tline  é 设计 \u0007"]
[[member]]
name = "eva"
agent = "script"
answers = ["Looks good."]
"#;

/// A table where one says this.
fn one(answer: &str) -> String {
    let answer = serde_json::Value::from(answer);
    format!(
        "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
         [[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [{answer}]\n"
    )
}

#[test]
fn an_answer_is_printed_with_its_name_byte_for_byte() {
    let room = Room::new(TEAM);
    let left = room.exits(0, &["run", "hello"]);
    assert_eq!(left.stdout, "max:\n  first\n\n\tline  é 设计 \u{7}\n");
    assert!(left.stderr.contains("tertulia: max is working\n"), "{}", left.stderr);
    assert!(left.stderr.contains("tertulia: max is done after "), "{}", left.stderr);
    assert_eq!(room.said()[0], ("ann".to_owned(), "hello".to_owned()));
}

#[test]
fn several_answers_have_an_empty_line_between_them() {
    let room = Room::new(&TEAM.replace("Looks good.", r"a\n"));
    let left = room.exits(0, &["run", "[NEXT: eva, max] go"]);
    assert_eq!(left.stdout, "eva:\na\n\nmax:\n  first\n\n\tline  é 设计 \u{7}\n");
}

#[test]
fn a_text_comes_from_standard_input() {
    let room = Room::new(TEAM);
    let left = room.tertulia_with(&["run", "-"], "@eva two\nlines\n".as_bytes());
    assert_eq!((left.code, &*left.stdout), (Some(0), "eva:\nLooks good.\n"));
    assert_eq!(room.said()[0].1, "@eva two\nlines\n");
}

#[test]
fn quiet_means_answers_and_nothing_else() {
    let left = Room::new(TEAM).exits(0, &["run", "--quiet", "@eva hello"]);
    assert_eq!((&*left.stdout, &*left.stderr), ("eva:\nLooks good.\n", ""));
}

#[test]
fn nothing_to_say_is_wrong_usage() {
    let room = Room::new(TEAM);
    for arguments in [&["run"][..], &["run", " \n"], &["run", "--session", "x"]] {
        let left = room.exits(2, arguments);
        assert!(left.stderr.contains("there is nothing to say"), "{}", left.stderr);
    }
    assert!(!room.root().join("data/sessions.db").exists());
}

#[test]
fn a_member_is_addressed_if_the_text_addresses_nobody() {
    let room = Room::new(TEAM);
    room.exits(0, &["run", "hello", "--member", "Eva"]);
    assert_eq!(room.said()[0].1, "@eva hello");
    let room = Room::new(TEAM);
    room.exits(0, &["run", "@max hello", "--member", "eva"]);
    assert_eq!(room.said()[0].1, "@max hello");
    assert_eq!(room.turns(), ["max queued", "max started", "max done"]);
}

#[test]
fn an_unknown_member_is_refused_with_the_nearest_one() {
    let room = Room::new(TEAM);
    let left = room.exits(2, &["run", "hello", "--member", "ewa"]);
    assert!(left.stderr.contains("did you mean eva?"), "{}", left.stderr);
    let left = room.exits(3, &["run", "[NEXT: mx] hello"]);
    assert!(left.stderr.contains("did you mean max?"), "{}", left.stderr);
    assert!(left.stderr.contains("tertulia run --session"), "{}", left.stderr);
    // The message is kept, and its session is the one that is gone on with.
    room.exits(0, &["run", "--continue", "@max hello"]);
    assert_eq!(room.said().len(), 3);
}

#[test]
fn where_several_people_sit_one_of_them_speaks() {
    let team = TEAM.replace(
        "[[member]]\nname = \"max\"",
        "[[member]]\nname = \"bob\"\nkind = \"human\"\n[[member]]\nname = \"max\"",
    );
    let room = Room::new(&team);
    let left = room.exits(3, &["run", "hello"]);
    assert!(left.stderr.contains("ann, bob") && left.stderr.contains("--as"), "{}", left.stderr);
    let left = room.exits(2, &["run", "hello", "--as", "max"]);
    assert!(left.stderr.contains("is an agent"), "{}", left.stderr);
    assert!(!room.root().join("data/sessions.db").exists());
    room.exits(0, &["run", "hello", "--as", "bob"]);
    assert_eq!(room.said()[0].0, "bob");
}

#[test]
fn no_person_has_to_sit_at_the_table() {
    let room = Room::new("[[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [\"Hi.\"]\n");
    assert_eq!(room.exits(0, &["run", "hello"]).stdout, "max:\nHi.\n");
}

#[test]
fn a_table_without_agents_says_what_to_do() {
    let room = Room::new("[[member]]\nname = \"ann\"\nkind = \"human\"\n");
    let left = room.exits(1, &["run", "hello"]);
    assert!(left.stderr.contains("nobody at the table answers"), "{}", left.stderr);
}

#[test]
fn a_question_to_the_person_ends_well() {
    let left = Room::new(&one("@ann which one?")).exits(0, &["run", "hello"]);
    assert_eq!(left.stdout, "max:\n@ann which one?\n");
    assert!(left.stderr.contains("it is ann's turn"), "{}", left.stderr);
}

#[test]
fn the_house_answers_without_a_team_file() {
    let room = Room::empty();
    let left = room.exits(0, &["run", "We decided to ship on Monday."]);
    assert!(left.stdout.starts_with("scribe:\n"), "{}", left.stdout);
}

#[test]
fn a_session_is_begun_under_its_id_and_gone_on_with() {
    let room = Room::new(TEAM);
    let left = room.exits(0, &["run", "one", "--session", "talk"]);
    assert!(left.stderr.contains("tertulia: session talk\n"), "{}", left.stderr);
    let left = room.exits(0, &["run", "two", "--session", "talk"]);
    assert!(left.stderr.contains("going on with session talk\n"), "{}", left.stderr);
    assert_eq!(room.said().len(), 4);
    room.exits(0, &["run", "elsewhere"]);
    let left = room.exits(0, &["run", "--session", "tal", "--continue", "three"]);
    assert!(left.stderr.contains("going on with session talk\n"), "{}", left.stderr);
}

#[test]
fn the_newest_table_is_gone_on_with_and_no_import() {
    let room = Room::new(TEAM);
    let left = room.exits(1, &["run", "--continue"]);
    assert!(left.stderr.contains("there are no sessions yet"), "{}", left.stderr);
    let log = crate::harness::said("m1", "user", "an import");
    let imported = room.tertulia_with(&["sessions", "import", "-", "--as", "old"], log.as_bytes());
    assert_eq!(imported.code, Some(0), "{imported:?}");
    let left = room.exits(1, &["run", "--continue", "hello"]);
    assert!(left.stderr.contains("there is no table of /"), "{}", left.stderr);
    room.exits(0, &["run", "one", "--session", "talk"]);
    let again = room.tertulia_with(&["sessions", "import", "-", "--as", "new"], log.as_bytes());
    assert_eq!(again.code, Some(0), "{again:?}");
    let left = room.exits(0, &["run", "--continue", "two"]);
    assert!(left.stderr.contains("going on with session talk\n"), "{}", left.stderr);
}

#[test]
fn the_newest_table_is_that_of_the_folder() {
    let room = Room::new(TEAM);
    room.exits(0, &["run", "one", "--session", "here"]);
    let other = room.root().join("home/other");
    std::fs::create_dir_all(other.join("deep")).unwrap();
    std::fs::create_dir(other.join(".git")).unwrap();
    let team = room.path("tertulia.toml");
    let there = |folder: &str, words: &[&str]| {
        let mut words = words.to_vec();
        words.extend(["--team", team.to_str().unwrap()]);
        let mut command = room.command(&words);
        let output = command.current_dir(other.join(folder)).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, told) = there("", &["run", "--continue", "two"]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("other to go on with"), "{told}");
    assert!(told.contains("the newest one in ") && told.contains("--session here"), "{told}");
    let (code, told) = there("", &["run", "two", "--session", "there"]);
    assert_eq!(code, Some(0), "{told}");
    // Within a repository it is all one folder.
    let (_, told) = there("deep", &["run", "--continue", "three"]);
    assert!(told.contains("going on with session there\n"), "{told}");
    let left = room.exits(0, &["run", "--continue", "four"]);
    assert!(left.stderr.contains("going on with session here\n"), "{}", left.stderr);
    // A table that moves is found where it stands now.
    let (code, told) = there("", &["run", "five", "--session", "here"]);
    assert_eq!(code, Some(0), "{told}");
    let (_, told) = there("", &["run", "--continue", "six"]);
    assert!(told.contains("going on with session here\n"), "{told}");
}

#[test]
fn an_import_can_be_talked_about_and_nothing_of_it_is_answered_again() {
    let room = Room::new(TEAM);
    let log = crate::harness::said("m1", "user", "hello?");
    room.tertulia_with(&["sessions", "import", "-", "--as", "old"], log.as_bytes());
    room.exits(0, &["run", "@eva and now?", "--session", "old"]);
    assert_eq!(room.turns(), ["eva queued", "eva started", "eva done"]);
}

#[test]
fn two_that_ask_each_other_are_stopped_and_go_on_when_told_so() {
    let team = "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
        [[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [\"@eva ping\"]\n\
        [[member]]\nname = \"eva\"\nagent = \"script\"\nanswers = [\"@max pong\"]\n\
        [limits]\nturns = 6\n";
    let room = Room::new(team);
    let left = room.exits(3, &["run", "@max begin"]);
    assert_eq!(left.stdout.matches(":\n@").count(), 6);
    assert!(left.stderr.contains("6 turns since a person spoke"), "{}", left.stderr);
    assert!(left.stderr.contains("--continue` lets them go on"), "{}", left.stderr);
    let left = room.exits(3, &["run", "--continue"]);
    assert_eq!(left.stdout.matches(":\n@").count(), 6);
    assert!(!room.turns().iter().any(|turn| turn.ends_with("interrupted")));
}

#[test]
fn a_number_of_turns_ends_the_run_and_the_rest_goes_on_later() {
    let room = Room::new(TEAM);
    let left = room.exits(3, &["run", "[NEXT: eva, max] go", "--max-turns", "1"]);
    assert_eq!(left.stdout, "eva:\nLooks good.\n");
    let left = room.exits(0, &["run", "--continue"]);
    assert!(left.stdout.starts_with("max:\n"), "{}", left.stdout);
    let ended = ["eva done", "max started", "max done"];
    assert!(room.turns().ends_with(&ended.map(str::to_owned)), "{:?}", room.turns());
}

#[test]
fn a_spending_limit_asks_a_person() {
    let team = TEAM.replace("name = \"eva\"", "name = \"eva\"\nbudget_usd = 0.0");
    let left = Room::new(&team).exits(3, &["run", "@eva hello"]);
    assert!(left.stderr.contains("eva has spent $0"), "{}", left.stderr);
}

#[test]
fn a_broken_team_file_is_told_with_its_place() {
    let room = Room::new("[[member]]\nname = \"max\"\nagent = \"clod\"\n");
    let left = room.exits(1, &["run", "hello"]);
    assert!(left.stderr.contains("tertulia.toml:3:"), "{}", left.stderr);
}

#[test]
fn a_team_comes_from_the_flag_before_the_variable_before_the_project() {
    let room = Room::new(&one("project"));
    room.write("flag.toml", &one("flag"));
    room.write("variable.toml", &one("variable"));
    assert_eq!(room.exits(0, &["run", "x"]).stdout, "max:\nproject\n");
    let with_variable = |arguments: &[&str]| {
        let output = room.command(arguments).env("TERTULIA_TEAM", "variable.toml").output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    assert_eq!(with_variable(&["run", "x"]), "max:\nvariable\n");
    assert_eq!(with_variable(&["run", "x", "--team", "flag.toml"]), "max:\nflag\n");
    let user = room.root().join("home/.config/tertulia");
    std::fs::create_dir_all(&user).unwrap();
    std::fs::write(user.join("tertulia.toml"), one("user")).unwrap();
    assert_eq!(room.exits(0, &["run", "x"]).stdout, "max:\nproject\n");
    std::fs::remove_file(room.path("tertulia.toml")).unwrap();
    assert_eq!(room.exits(0, &["run", "x"]).stdout, "max:\nuser\n");
}
