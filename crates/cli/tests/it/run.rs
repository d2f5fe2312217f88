//! `tertulia run`: answers, exit codes, sessions, and what a person is told.

use crate::room::{Room, wait_until};

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
    assert!(left.stderr.contains("tertulia: max is done: "), "{}", left.stderr);
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
        assert!(left.stderr.contains("nothing to send"), "{}", left.stderr);
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
    assert!(left.stderr.contains("name one with --as: ann, bob"), "{}", left.stderr);
    let left = room.exits(2, &["run", "hello", "--as", "bub"]);
    assert!(left.stderr.contains("did you mean --as bob?"), "{}", left.stderr);
    assert!(!room.root().join("data/sessions.db").exists());
    room.exits(0, &["run", "hello", "--as", "bob"]);
    assert_eq!(room.said()[0].0, "bob");
}

#[test]
fn a_speaker_who_is_named_twice_is_one_and_the_same() {
    let room = Room::new(&format!("[[member]]\nname = \"bob\"\nkind = \"human\"\n{TEAM}"));
    for text in ["[FROM: bob] @eva hello", "[FROM: max] @eva hello", "[FROM: eve] @eva hello"] {
        let left = room.exits(2, &["run", text, "--as", "ann"]);
        let name = &text[..text.find(']').unwrap() + 1];
        let told = format!("--as ann and {name} in the text name two speakers");
        assert!(left.stderr.contains(&told), "{}", left.stderr);
    }
    assert!(!room.root().join("data/sessions.db").exists());
    room.exits(0, &["run", "[FROM: Ann] @eva hello", "--as", "ann"]);
    assert_eq!(room.said()[0].0, "ann");
}

#[test]
fn what_is_no_turn_is_not_repeated_and_the_cure_is_a_whole_command() {
    let room = Room::new(TEAM);
    room.write("other team.toml", TEAM);
    let place = ["--team", "other team.toml", "--store", "sqlite:here.db"];
    room.exits(0, &[&["run", "hello", "--new", "talk"], &place[..]].concat());
    let log = [&["sessions", "export", "talk"], &place[2..]].concat();
    let log = room.exits(0, &log).stdout;
    let message = log.lines().find(|line| line.contains("\"type\":\"message\"")).unwrap();
    let message: serde_json::Value = serde_json::from_str(message).unwrap();
    let id = message["id"].as_str().unwrap();
    let left = room.exits(1, &[&["run", "--repeat", id, "--session", "talk"], &place[..]].concat());
    let short = &id[..10];
    let why = format!("why {short} --team 'other team.toml' --store sqlite:here.db --session talk");
    assert!(left.stderr.contains(&format!("`tertulia {why}`")), "{}", left.stderr);
    let words = [&["why", id, "--session", "talk"], &place[..]].concat();
    assert!(room.exits(0, &words).stdout.contains("max's turn"));
    let left = room.exits(1, &[&["run", "--repeat", "zzz"], &place[..]].concat());
    let show = "`tertulia sessions show talk --all --store sqlite:here.db` lists them";
    assert!(left.stderr.contains(show), "{}", left.stderr);
}

#[test]
fn the_session_that_is_announced_is_the_one_that_is_resumed() {
    let room = Room::new(TEAM);
    room.exits(0, &["run", "hello", "--new", "login-one"]);
    room.exits(0, &["run", "hello", "--new", "other"]);
    for arguments in [&["run", "again", "--session", "login"][..], &["run", "more", "--continue"]] {
        let left = room.exits(0, arguments);
        assert!(left.stderr.contains("resuming session login-one\n"), "{}", left.stderr);
        assert_eq!(room.session(), "login-one");
    }
    assert_eq!(room.said().iter().filter(|(name, _)| name == "ann").count(), 3);
}

#[test]
fn whoever_speaks_is_not_the_one_to_answer() {
    let room = Room::new(TEAM);
    for arguments in
        [&["run", "hello", "--member", "ann"][..], &["run", "x", "--member", "Ann", "--as", "ann"]]
    {
        let left = room.exits(2, arguments);
        assert!(left.stderr.contains("name an agent: max, eva"), "{}", left.stderr);
    }
    let room = Room::new(&format!("[[member]]\nname = \"bob\"\nkind = \"human\"\n{TEAM}"));
    let left = room.exits(0, &["run", "hello", "--member", "bob", "--as", "ann"]);
    assert!(left.stderr.contains("waiting for bob to answer"), "{}", left.stderr);
}

#[test]
fn the_person_of_the_house_is_spoken_to_in_good_english() {
    let room = Room::empty();
    let left = room.exits(0, &["run", "@you hello"]);
    assert!(left.stderr.contains("your turn"), "{}", left.stderr);
    let left = room.exits(3, &["run", "[NEXT: scibe] hello"]);
    let id = left.stderr.split("tertulia: e-").nth(1).and_then(|rest| rest.split(' ').next());
    let left = room.exits(0, &["why", &format!("e-{}", id.unwrap())]);
    assert!(left.stdout.contains("you were asked: "), "{}", left.stdout);
}

#[test]
fn a_team_file_that_is_named_and_not_there_is_told_with_who_named_it() {
    let room = Room::new(TEAM);
    let left = room.exits(2, &["run", "hello", "--team", "other.toml"]);
    assert!(left.stderr.contains("other.toml (from --team)"), "{}", left.stderr);
    assert!(left.stderr.contains("create one here with `tertulia init`"), "{}", left.stderr);
    let output = room.command(&["doctor"]).env("TERTULIA_TEAM", "gone.toml").output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(
        told.contains("error    team file: ") && told.contains("(from TERTULIA_TEAM)"),
        "{told}"
    );
}

#[test]
fn a_home_that_is_no_folder_is_told_with_its_variable() {
    let room = Room::new(TEAM);
    room.write("file", "");
    let file = room.path("file");
    let below = file.join("below");
    let nowhere = std::path::PathBuf::from("/proc/no-such-folder");
    for (home, why) in [
        (&file, "file is no folder"),
        (&below, "file is no folder"),
        (&nowhere, "it cannot be made"),
    ] {
        let run = |arguments: &[&str]| {
            let output = room.command(arguments).env("TERTULIA_HOME", home).output().unwrap();
            (output.status.code(), String::from_utf8(output.stderr).unwrap())
        };
        let (code, told) = run(&["run", "hello"]);
        assert_eq!(code, Some(1), "{told}");
        assert!(told.contains("(from TERTULIA_HOME)") && told.contains(why), "{told}");
        assert!(told.contains("set TERTULIA_HOME to a folder"), "{told}");
        let (_, told) = run(&["run", "hello", "--store", "memory"]);
        assert!(!told.contains("TERTULIA_HOME"), "{told}");
    }
    // A list of trusted files is kept there too.
    room.write(
        "program.toml",
        "[[member]]\nname = \"max\"\nagent = \"command\"\ncommand = [\"cat\"]\n",
    );
    let run = ["run", "hello", "--team", "program.toml", "--store", "memory", "--trust"];
    let output = room.command(&run).env("TERTULIA_HOME", &file).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("file is no folder; set TERTULIA_HOME"), "{told}");
    // Without that variable the one that counts is named.
    let mut command = room.command(&["run", "hello"]);
    let output = command.env_remove("TERTULIA_HOME").env("HOME", &file).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("(from HOME)") && told.contains("set TERTULIA_HOME"), "{told}");
}

#[test]
fn no_person_has_to_sit_at_the_table() {
    let room = Room::new("[[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [\"Hi.\"]\n");
    assert_eq!(room.exits(0, &["run", "hello"]).stdout, "max:\nHi.\n");
}

#[test]
fn a_table_without_agents_says_what_to_do() {
    let room = Room::new("[[member]]\nname = \"ann\"\nkind = \"human\"\n");
    let left = room.exits(2, &["run", "hello"]);
    assert!(left.stderr.contains("no agent is configured"), "{}", left.stderr);
}

#[test]
fn a_question_to_the_person_ends_well() {
    let left = Room::new(&one("@ann which one?")).exits(0, &["run", "hello"]);
    assert_eq!(left.stdout, "max:\n@ann which one?\n");
    assert!(left.stderr.contains("your turn, ann"), "{}", left.stderr);
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
    let left = room.exits(0, &["run", "one", "--new", "talk"]);
    assert!(left.stderr.contains("tertulia: session talk\n"), "{}", left.stderr);
    let left = room.exits(0, &["run", "two", "--session", "talk"]);
    assert!(left.stderr.contains("resuming session talk\n"), "{}", left.stderr);
    assert_eq!(room.said().len(), 4);
    room.exits(0, &["run", "elsewhere"]);
    let left = room.exits(0, &["run", "--session", "tal", "--continue", "three"]);
    assert!(left.stderr.contains("resuming session talk\n"), "{}", left.stderr);
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
    assert!(left.stderr.contains("there is no session of /"), "{}", left.stderr);
    room.exits(0, &["run", "one", "--new", "talk"]);
    let again = room.tertulia_with(&["sessions", "import", "-", "--as", "new"], log.as_bytes());
    assert_eq!(again.code, Some(0), "{again:?}");
    let left = room.exits(0, &["run", "--continue", "two"]);
    assert!(left.stderr.contains("resuming session talk\n"), "{}", left.stderr);
}

#[test]
fn the_newest_table_is_that_of_the_folder() {
    let room = Room::new(TEAM);
    room.exits(0, &["run", "one", "--new", "here"]);
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
    for words in [&["run", "--continue", "two"][..], &["replay"]] {
        let (code, told) = there("", words);
        assert_eq!(code, Some(1), "{told}");
        assert!(told.contains("/other in "), "{told}");
        assert!(told.contains("; the newest one is here, in /"), "{told}");
    }
    let (code, told) = there("", &["run", "two", "--new", "there"]);
    assert_eq!(code, Some(0), "{told}");
    // Within a repository it is all one folder.
    let (_, told) = there("deep", &["run", "--continue", "three"]);
    assert!(told.contains("resuming session there\n"), "{told}");
    let left = room.exits(0, &["run", "--continue", "four"]);
    assert!(left.stderr.contains("resuming session here\n"), "{}", left.stderr);
    // A session that is named is found everywhere, and stays with its project.
    let (code, told) = there("", &["run", "five", "--session", "here"]);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("session here belongs to another project: /"), "{told}");
    let (_, told) = there("", &["run", "--continue", "six"]);
    assert!(told.contains("resuming session there\n"), "{told}");
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
    assert!(left.stderr.contains("6 turns since a person last wrote"), "{}", left.stderr);
    assert!(left.stderr.contains("--continue` continues"), "{}", left.stderr);
    let left = room.exits(3, &["run", "--continue"]);
    assert_eq!(left.stdout.matches(":\n@").count(), 6);
    assert!(!room.turns().iter().any(|turn| turn.ends_with("interrupted")));
}

#[test]
fn a_number_of_turns_ends_the_run_and_the_rest_goes_on_later() {
    let room = Room::new(TEAM);
    let left = room.exits(3, &["run", "[NEXT: eva, max] go", "--max-turns", "1"]);
    assert_eq!(left.stdout, "eva:\nLooks good.\n");
    assert!(left.stderr.contains("taken one turn since a person last wrote"), "{}", left.stderr);
    let left = room.exits(0, &["run", "--continue"]);
    assert!(left.stdout.starts_with("max:\n"), "{}", left.stdout);
    let ended = ["eva done", "max started", "max done"];
    assert!(room.turns().ends_with(&ended.map(str::to_owned)), "{:?}", room.turns());
}

#[test]
fn a_spending_limit_asks_a_person() {
    let team = TEAM.replace("name = \"eva\"", "name = \"eva\"\nbudget_usd = 0.0");
    let left = Room::new(&team).exits(3, &["run", "@eva hello"]);
    assert!(left.stderr.contains("eva may not spend anything (budget_usd = 0"), "{}", left.stderr);
    assert!(!left.stderr.contains("--continue"), "{}", left.stderr);
    let dear = "cat > /dev/null; echo '{\"type\":\"cost\",\"usd\":0.5}'; echo '{\"type\":\"end\",\"text\":\"So.\"}'";
    let room = Room::new(&format!(
        "[[member]]\nname = \"ann\"\nkind = \"human\"\n[[member]]\nname = \"eva\"\n\
         agent = \"command\"\noutput = \"jsonl\"\nbudget_usd = 0.25\n\
         command = [\"sh\", \"-c\", {dear:?}]\n"
    ));
    room.exits(0, &["run", "hello", "--new", "talk", "--trust"]);
    let left = room.exits(3, &["run", "again", "--session", "talk"]);
    assert!(left.stderr.contains("eva has spent $0.50 of $0.25. Continue?"), "{}", left.stderr);
    assert!(left.stderr.contains("--continue` continues"), "{}", left.stderr);
}

#[test]
fn a_broken_team_file_is_named_with_its_place_and_exits_as_an_untrusted_one() {
    let room = Room::new("[[member]]\nname = \"max\"\nagent = \"clod\"\n");
    let left = room.exits(2, &["run", "hello"]);
    assert!(left.stderr.contains("tertulia.toml:3:"), "{}", left.stderr);
    // Whoever reads the code of an untrusted file finds the same.
    let program = "[[member]]\nname = \"max\"\nagent = \"command\"\ncommand = [\"cat\"]\n";
    Room::new(program).exits(2, &["run", "hello"]);
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

#[test]
fn a_second_program_at_a_table_is_refused_and_stores_nothing() {
    let team = "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
        [[member]]\nname = \"max\"\nagent = \"command\"\n\
        command = [\"sh\", \"-c\", \"cat >/dev/null; touch begun; until test -e go; do sleep 0.05; done; echo Done.\"]\n";
    let room = Room::new(team);
    room.exits(0, &["run", "[DROP: max]", "--new", "talk", "--trust"]);
    let first = room.start(&["run", "one", "--session", "talk"]);
    wait_until("the first turn", || room.path("begun").exists());
    for words in [["run", "two", "--session", "talk"], ["run", "--continue", "--session", "talk"]] {
        let left = room.exits(1, &words);
        let told = "another process uses or has changed this session, so nothing was stored; \
                    try again, or close it there";
        assert!(left.stderr.contains(told), "{}", left.stderr);
    }
    // Who only looks disturbs nobody.
    room.exits(0, &["context", "--member", "max", "--session", "talk"]);
    room.write("go", "");
    let left = crate::room::Left::of(first);
    assert_eq!((left.code, &*left.stdout), (Some(0), "max:\nDone.\n"), "{left:?}");
    let said = |(who, text): &(String, String)| format!("{who}: {text}");
    let talk: Vec<String> = room.said().iter().map(said).collect();
    assert_eq!(talk, ["ann: [DROP: max]", "ann: one", "max: Done.\n"]);
}

#[test]
fn a_table_where_nothing_waits_says_so() {
    let room = Room::new(TEAM);
    room.exits(0, &["run", "hello"]);
    let left = room.exits(0, &["run", "--continue"]);
    assert!(left.stderr.contains("no turns are queued"), "{}", left.stderr);
}

#[test]
fn a_branch_at_a_message_is_no_other_decision() {
    let room = Room::new(TEAM);
    room.exits(0, &["run", "hello", "--new", "talk"]);
    let entries = room.entries();
    let message = entries.iter().find(|entry| entry["type"] == "message").unwrap();
    room.exits(0, &["sessions", "branch", "talk", message["id"].as_str().unwrap()]);
    room.exits(0, &["replay", "talk"]);
    let left = room.exits(0, &["run", "@eva and now?", "--session", "talk"]);
    assert!(!left.stderr.contains("would differ"), "{}", left.stderr);
    room.exits(0, &["replay", "talk"]);
}
