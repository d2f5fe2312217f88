//! Tests `tertulia run`: answers, exit codes, sessions, and the output for people.

use crate::workspace::Workspace;

/// A team of a person and two scripted members.
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

/// Returns a team with one member that gives this answer.
fn one(answer: &str) -> String {
    let answer = serde_json::Value::from(answer);
    format!(
        "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
         [[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [{answer}]\n"
    )
}

#[test]
fn an_answer_is_printed_with_its_name_byte_for_byte() {
    let workspace = Workspace::new(TEAM);
    let output = workspace.exits(0, &["run", "hello"]);
    assert_eq!(output.stdout, "max:\n  first\n\n\tline  é 设计 \u{7}\n");
    assert!(output.stderr.contains("tertulia: max is working\n"), "{}", output.stderr);
    assert!(output.stderr.contains("tertulia: max is done: "), "{}", output.stderr);
    assert_eq!(workspace.said()[0], ("ann".to_owned(), "hello".to_owned()));
}

#[test]
fn several_answers_have_an_empty_line_between_them() {
    let workspace = Workspace::new(&TEAM.replace("Looks good.", r"a\n"));
    let output = workspace.exits(0, &["run", "[NEXT: eva, max] go"]);
    assert_eq!(output.stdout, "eva:\na\n\nmax:\n  first\n\n\tline  é 设计 \u{7}\n");
}

#[test]
fn a_text_comes_from_standard_input() {
    let workspace = Workspace::new(TEAM);
    let output = workspace.tertulia_with(&["run", "-"], "@eva two\nlines\n".as_bytes());
    assert_eq!((output.code, &*output.stdout), (Some(0), "eva:\nLooks good.\n"));
    assert_eq!(workspace.said()[0].1, "@eva two\nlines\n");
}

#[test]
fn quiet_means_answers_and_nothing_else() {
    let output = Workspace::new(TEAM).exits(0, &["run", "--quiet", "@eva hello"]);
    assert_eq!((&*output.stdout, &*output.stderr), ("eva:\nLooks good.\n", ""));
}

#[test]
fn nothing_to_say_is_wrong_usage() {
    let workspace = Workspace::new(TEAM);
    for arguments in [&["run"][..], &["run", " \n"], &["run", "--session", "x"]] {
        let output = workspace.exits(2, arguments);
        assert!(output.stderr.contains("nothing to send"), "{}", output.stderr);
    }
    assert!(!workspace.root().join("data/sessions.db").exists());
}

#[test]
fn a_member_is_addressed_if_the_text_addresses_nobody() {
    let workspace = Workspace::new(TEAM);
    workspace.exits(0, &["run", "hello", "--member", "Eva"]);
    assert_eq!(workspace.said()[0].1, "@eva hello");
    let workspace = Workspace::new(TEAM);
    workspace.exits(0, &["run", "@max hello", "--member", "eva"]);
    assert_eq!(workspace.said()[0].1, "@max hello");
    assert_eq!(workspace.turns(), ["max queued", "max started", "max done"]);
}

#[test]
fn an_unknown_member_is_refused_with_the_nearest_one() {
    let workspace = Workspace::new(TEAM);
    let output = workspace.exits(2, &["run", "hello", "--member", "ewa"]);
    assert!(output.stderr.contains("did you mean eva?"), "{}", output.stderr);
    let output = workspace.exits(3, &["run", "[NEXT: mx] hello"]);
    assert!(output.stderr.contains("did you mean max?"), "{}", output.stderr);
    assert!(output.stderr.contains("tertulia run --session"), "{}", output.stderr);
    // The message is kept, and its session is resumed.
    workspace.exits(0, &["run", "--continue", "@max hello"]);
    assert_eq!(workspace.said().len(), 3);
}

#[test]
fn where_several_people_sit_one_of_them_speaks() {
    let team = TEAM.replace(
        "[[member]]\nname = \"max\"",
        "[[member]]\nname = \"bob\"\nkind = \"human\"\n[[member]]\nname = \"max\"",
    );
    let workspace = Workspace::new(&team);
    let output = workspace.exits(3, &["run", "hello"]);
    assert!(
        output.stderr.contains("ann, bob") && output.stderr.contains("--as"),
        "{}",
        output.stderr
    );
    let output = workspace.exits(2, &["run", "hello", "--as", "max"]);
    assert!(output.stderr.contains("is an agent"), "{}", output.stderr);
    assert!(output.stderr.contains("name one with --as: ann, bob"), "{}", output.stderr);
    let output = workspace.exits(2, &["run", "hello", "--as", "bub"]);
    assert!(output.stderr.contains("did you mean --as bob?"), "{}", output.stderr);
    assert!(!workspace.root().join("data/sessions.db").exists());
    workspace.exits(0, &["run", "hello", "--as", "bob"]);
    assert_eq!(workspace.said()[0].0, "bob");
}

#[test]
fn a_speaker_who_is_named_twice_is_one_and_the_same() {
    let workspace =
        Workspace::new(&format!("[[member]]\nname = \"bob\"\nkind = \"human\"\n{TEAM}"));
    for text in ["[FROM: bob] @eva hello", "[FROM: max] @eva hello", "[FROM: eve] @eva hello"] {
        let output = workspace.exits(2, &["run", text, "--as", "ann"]);
        let name = &text[..text.find(']').unwrap() + 1];
        let reported = format!("--as ann and {name} in the text name different speakers");
        assert!(output.stderr.contains(&reported), "{}", output.stderr);
    }
    assert!(!workspace.root().join("data/sessions.db").exists());
    workspace.exits(0, &["run", "[FROM: Ann] @eva hello", "--as", "ann"]);
    assert_eq!(workspace.said()[0].0, "ann");
}

#[test]
fn an_entry_that_is_not_a_turn_is_not_repeated_and_the_error_suggests_a_whole_command() {
    let workspace = Workspace::new(TEAM);
    workspace.write("other team.toml", TEAM);
    let place = ["--team", "other team.toml", "--store", "sqlite:here.db"];
    workspace.exits(0, &[&["run", "hello", "--new", "talk"], &place[..]].concat());
    let log = [&["sessions", "export", "talk"], &place[2..]].concat();
    let log = workspace.exits(0, &log).stdout;
    let message = log.lines().find(|line| line.contains("\"type\":\"message\"")).unwrap();
    let message: serde_json::Value = serde_json::from_str(message).unwrap();
    let id = message["id"].as_str().unwrap();
    let output =
        workspace.exits(1, &[&["run", "--repeat", id, "--session", "talk"], &place[..]].concat());
    let short = &id[..10];
    let why = format!("why {short} --team 'other team.toml' --store sqlite:here.db --session talk");
    assert!(output.stderr.contains(&format!("`tertulia {why}`")), "{}", output.stderr);
    let words = [&["why", id, "--session", "talk"], &place[..]].concat();
    assert!(workspace.exits(0, &words).stdout.contains("max's turn"));
    let output = workspace.exits(1, &[&["run", "--repeat", "zzz"], &place[..]].concat());
    let show = "`tertulia sessions show talk --all --store sqlite:here.db` lists them";
    assert!(output.stderr.contains(show), "{}", output.stderr);
}

#[test]
fn the_session_that_is_announced_is_the_one_that_is_resumed() {
    let workspace = Workspace::new(TEAM);
    workspace.exits(0, &["run", "hello", "--new", "login-one"]);
    workspace.exits(0, &["run", "hello", "--new", "other"]);
    for arguments in [&["run", "again", "--session", "login"][..], &["run", "more", "--continue"]] {
        let output = workspace.exits(0, arguments);
        assert!(output.stderr.contains("resuming session login-one\n"), "{}", output.stderr);
        assert_eq!(workspace.session(), "login-one");
    }
    assert_eq!(workspace.said().iter().filter(|(name, _)| name == "ann").count(), 3);
}

#[test]
fn the_speaker_cannot_be_the_member_to_answer() {
    let workspace = Workspace::new(TEAM);
    for arguments in
        [&["run", "hello", "--member", "ann"][..], &["run", "x", "--member", "Ann", "--as", "ann"]]
    {
        let output = workspace.exits(2, arguments);
        assert!(output.stderr.contains("name an agent: max, eva"), "{}", output.stderr);
    }
    let workspace =
        Workspace::new(&format!("[[member]]\nname = \"bob\"\nkind = \"human\"\n{TEAM}"));
    let output = workspace.exits(0, &["run", "hello", "--member", "bob", "--as", "ann"]);
    assert!(output.stderr.contains("waiting for bob to answer"), "{}", output.stderr);
}

#[test]
fn the_person_of_the_built_in_team_is_addressed_in_good_english() {
    let workspace = Workspace::empty();
    let output = workspace.exits(0, &["run", "@you hello"]);
    assert!(output.stderr.contains("your turn"), "{}", output.stderr);
    let output = workspace.exits(3, &["run", "[NEXT: scibe] hello"]);
    let id = output.stderr.split("tertulia: e-").nth(1).and_then(|rest| rest.split(' ').next());
    let output = workspace.exits(0, &["why", &format!("e-{}", id.unwrap())]);
    assert!(output.stdout.contains("you were asked: "), "{}", output.stdout);
}

#[test]
fn a_team_file_that_is_named_and_not_there_is_reported_with_who_named_it() {
    let workspace = Workspace::new(TEAM);
    let output = workspace.exits(2, &["run", "hello", "--team", "other.toml"]);
    assert!(output.stderr.contains("other.toml (from --team)"), "{}", output.stderr);
    assert!(output.stderr.contains("create one here with `tertulia init`"), "{}", output.stderr);
    let output = workspace.command(&["doctor"]).env("TERTULIA_TEAM", "gone.toml").output().unwrap();
    let reported = String::from_utf8(output.stdout).unwrap();
    assert!(
        reported.contains("error    team file: ") && reported.contains("(from TERTULIA_TEAM)"),
        "{reported}"
    );
}

#[test]
fn a_home_that_is_no_folder_is_reported_with_its_variable() {
    let workspace = Workspace::new(TEAM);
    workspace.write("file", "");
    let file = workspace.path("file");
    let below = file.join("below");
    let nowhere = std::path::PathBuf::from("/proc/no-such-folder");
    for (home, why) in [
        (&file, "file is not a folder"),
        (&below, "file is not a folder"),
        (&nowhere, "it cannot be created"),
    ] {
        let run = |arguments: &[&str]| {
            let output = workspace.command(arguments).env("TERTULIA_HOME", home).output().unwrap();
            (output.status.code(), String::from_utf8(output.stderr).unwrap())
        };
        let (code, reported) = run(&["run", "hello"]);
        assert_eq!(code, Some(1), "{reported}");
        assert!(reported.contains("(from TERTULIA_HOME)") && reported.contains(why), "{reported}");
        assert!(reported.contains("set TERTULIA_HOME to a folder"), "{reported}");
        let (_, reported) = run(&["run", "hello", "--store", "memory"]);
        assert!(!reported.contains("TERTULIA_HOME"), "{reported}");
    }
    // The list of trusted files is also in this folder.
    workspace.write(
        "program.toml",
        "[[member]]\nname = \"max\"\nagent = \"command\"\ncommand = [\"cat\"]\n",
    );
    let run = ["run", "hello", "--team", "program.toml", "--store", "memory", "--trust"];
    let output = workspace.command(&run).env("TERTULIA_HOME", &file).output().unwrap();
    let reported = String::from_utf8(output.stderr).unwrap();
    assert!(reported.contains("file is not a folder; set TERTULIA_HOME"), "{reported}");
    // Without this variable, the error names the variable that is used.
    let mut command = workspace.command(&["run", "hello"]);
    let output = command.env_remove("TERTULIA_HOME").env("HOME", &file).output().unwrap();
    let reported = String::from_utf8(output.stderr).unwrap();
    assert!(
        reported.contains("(from HOME)") && reported.contains("set TERTULIA_HOME"),
        "{reported}"
    );
}

#[test]
fn a_team_needs_no_person() {
    let workspace =
        Workspace::new("[[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [\"Hi.\"]\n");
    assert_eq!(workspace.exits(0, &["run", "hello"]).stdout, "max:\nHi.\n");
}

#[test]
fn a_team_without_agents_says_what_to_do() {
    let workspace = Workspace::new("[[member]]\nname = \"ann\"\nkind = \"human\"\n");
    let output = workspace.exits(2, &["run", "hello"]);
    assert!(output.stderr.contains("no agent is configured"), "{}", output.stderr);
}

#[test]
fn a_question_to_the_person_ends_well() {
    let output = Workspace::new(&one("@ann which one?")).exits(0, &["run", "hello"]);
    assert_eq!(output.stdout, "max:\n@ann which one?\n");
    assert!(output.stderr.contains("your turn, ann"), "{}", output.stderr);
}

#[test]
fn the_built_in_team_answers_without_a_team_file() {
    let workspace = Workspace::empty();
    let output = workspace.exits(0, &["run", "We decided to ship on Monday."]);
    assert!(output.stdout.starts_with("scribe:\n"), "{}", output.stdout);
}

#[test]
fn a_session_is_begun_under_its_id_and_resumed() {
    let workspace = Workspace::new(TEAM);
    let output = workspace.exits(0, &["run", "one", "--new", "talk"]);
    assert!(output.stderr.contains("tertulia: session talk\n"), "{}", output.stderr);
    let output = workspace.exits(0, &["run", "two", "--session", "talk"]);
    assert!(output.stderr.contains("resuming session talk\n"), "{}", output.stderr);
    assert_eq!(workspace.said().len(), 4);
    workspace.exits(0, &["run", "elsewhere"]);
    let output = workspace.exits(0, &["run", "--session", "tal", "--continue", "three"]);
    assert!(output.stderr.contains("resuming session talk\n"), "{}", output.stderr);
}

#[test]
fn the_newest_team_session_is_resumed_and_no_import() {
    let workspace = Workspace::new(TEAM);
    let output = workspace.exits(1, &["run", "--continue"]);
    assert!(output.stderr.contains("there are no sessions yet"), "{}", output.stderr);
    let log = crate::harness::said("m1", "user", "an import");
    let imported =
        workspace.tertulia_with(&["sessions", "import", "-", "--as", "old"], log.as_bytes());
    assert_eq!(imported.code, Some(0), "{imported:?}");
    let output = workspace.exits(1, &["run", "--continue", "hello"]);
    assert!(output.stderr.contains("there is no session of /"), "{}", output.stderr);
    workspace.exits(0, &["run", "one", "--new", "talk"]);
    let again =
        workspace.tertulia_with(&["sessions", "import", "-", "--as", "new"], log.as_bytes());
    assert_eq!(again.code, Some(0), "{again:?}");
    let output = workspace.exits(0, &["run", "--continue", "two"]);
    assert!(output.stderr.contains("resuming session talk\n"), "{}", output.stderr);
}

#[test]
fn the_newest_team_session_is_that_of_the_folder() {
    let workspace = Workspace::new(TEAM);
    workspace.exits(0, &["run", "one", "--new", "here"]);
    let other = workspace.root().join("home/other");
    std::fs::create_dir_all(other.join("deep")).unwrap();
    std::fs::create_dir(other.join(".git")).unwrap();
    let team = workspace.path("tertulia.toml");
    let there = |folder: &str, words: &[&str]| {
        let mut words = words.to_vec();
        words.extend(["--team", team.to_str().unwrap()]);
        let mut command = workspace.command(&words);
        let output = command.current_dir(other.join(folder)).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for words in [&["run", "--continue", "two"][..], &["replay"]] {
        let (code, reported) = there("", words);
        assert_eq!(code, Some(1), "{reported}");
        assert!(reported.contains("/other in "), "{reported}");
        assert!(reported.contains("; the newest one is here, in /"), "{reported}");
    }
    let (code, reported) = there("", &["run", "two", "--new", "there"]);
    assert_eq!(code, Some(0), "{reported}");
    // All folders of a repository are one project.
    let (_, reported) = there("deep", &["run", "--continue", "three"]);
    assert!(reported.contains("resuming session there\n"), "{reported}");
    let output = workspace.exits(0, &["run", "--continue", "four"]);
    assert!(output.stderr.contains("resuming session here\n"), "{}", output.stderr);
    // A named session is found from every folder, and keeps its project.
    let (code, reported) = there("", &["run", "five", "--session", "here"]);
    assert_eq!(code, Some(0), "{reported}");
    assert!(reported.contains("session here belongs to another project: /"), "{reported}");
    let (_, reported) = there("", &["run", "--continue", "six"]);
    assert!(reported.contains("resuming session there\n"), "{reported}");
}

#[test]
fn an_import_can_be_talked_about_and_nothing_of_it_is_answered_again() {
    let workspace = Workspace::new(TEAM);
    let log = crate::harness::said("m1", "user", "hello?");
    workspace.tertulia_with(&["sessions", "import", "-", "--as", "old"], log.as_bytes());
    workspace.exits(0, &["run", "@eva and now?", "--session", "old"]);
    assert_eq!(workspace.turns(), ["eva queued", "eva started", "eva done"]);
}

#[test]
fn two_that_ask_each_other_are_stopped_and_continue_when_asked_to() {
    let team = "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
        [[member]]\nname = \"max\"\nagent = \"script\"\nanswers = [\"@eva ping\"]\n\
        [[member]]\nname = \"eva\"\nagent = \"script\"\nanswers = [\"@max pong\"]\n\
        [limits]\nturns = 6\n";
    let workspace = Workspace::new(team);
    let output = workspace.exits(3, &["run", "@max begin"]);
    assert_eq!(output.stdout.matches(":\n@").count(), 6);
    assert!(output.stderr.contains("6 turns since a person last wrote"), "{}", output.stderr);
    assert!(output.stderr.contains("--continue` continues"), "{}", output.stderr);
    let output = workspace.exits(3, &["run", "--continue"]);
    assert_eq!(output.stdout.matches(":\n@").count(), 6);
    assert!(!workspace.turns().iter().any(|turn| turn.ends_with("interrupted")));
}

#[test]
fn a_number_of_turns_ends_the_run_and_the_rest_goes_on_later() {
    let workspace = Workspace::new(TEAM);
    let output = workspace.exits(3, &["run", "[NEXT: eva, max] go", "--max-turns", "1"]);
    assert_eq!(output.stdout, "eva:\nLooks good.\n");
    assert!(
        output.stderr.contains("taken one turn since a person last wrote"),
        "{}",
        output.stderr
    );
    let output = workspace.exits(0, &["run", "--continue"]);
    assert!(output.stdout.starts_with("max:\n"), "{}", output.stdout);
    let ended = ["eva done", "max started", "max done"];
    assert!(workspace.turns().ends_with(&ended.map(str::to_owned)), "{:?}", workspace.turns());
}

#[test]
fn a_spending_limit_asks_a_person() {
    let team = TEAM.replace("name = \"eva\"", "name = \"eva\"\nbudget_usd = 0.0");
    let output = Workspace::new(&team).exits(3, &["run", "@eva hello"]);
    assert!(
        output.stderr.contains("eva may not spend anything (budget_usd = 0"),
        "{}",
        output.stderr
    );
    assert!(!output.stderr.contains("--continue"), "{}", output.stderr);
    // One write, because a turn that has not ended is stopped at the limit.
    let dear = "cat > /dev/null; printf '%s\\n' '{\"type\":\"cost\",\"usd\":0.5}' '{\"type\":\"end\",\"text\":\"So.\"}'";
    let workspace = Workspace::new(&format!(
        "[[member]]\nname = \"ann\"\nkind = \"human\"\n[[member]]\nname = \"eva\"\n\
         agent = \"command\"\noutput = \"jsonl\"\nbudget_usd = 0.25\n\
         command = [\"sh\", \"-c\", {dear:?}]\n"
    ));
    workspace.exits(0, &["run", "hello", "--new", "talk", "--trust"]);
    let output = workspace.exits(3, &["run", "again", "--session", "talk"]);
    assert!(output.stderr.contains("eva has spent $0.50 of $0.25. Continue?"), "{}", output.stderr);
    assert!(output.stderr.contains("--continue` continues"), "{}", output.stderr);
}

#[test]
fn a_broken_team_file_is_named_with_its_place_and_exits_as_an_untrusted_one() {
    let workspace = Workspace::new("[[member]]\nname = \"max\"\nagent = \"clod\"\n");
    let output = workspace.exits(2, &["run", "hello"]);
    assert!(output.stderr.contains("tertulia.toml:3:"), "{}", output.stderr);
    // The exit code for an untrusted file is the same.
    let program = "[[member]]\nname = \"max\"\nagent = \"command\"\ncommand = [\"cat\"]\n";
    Workspace::new(program).exits(2, &["run", "hello"]);
}

#[test]
fn a_team_comes_from_the_flag_before_the_variable_before_the_project() {
    let workspace = Workspace::new(&one("project"));
    workspace.write("flag.toml", &one("flag"));
    workspace.write("variable.toml", &one("variable"));
    assert_eq!(workspace.exits(0, &["run", "x"]).stdout, "max:\nproject\n");
    let with_variable = |arguments: &[&str]| {
        let output = workspace.command(arguments).env("TERTULIA_TEAM", "variable.toml").output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    assert_eq!(with_variable(&["run", "x"]), "max:\nvariable\n");
    assert_eq!(with_variable(&["run", "x", "--team", "flag.toml"]), "max:\nflag\n");
    let user = workspace.root().join("home/.config/tertulia");
    std::fs::create_dir_all(&user).unwrap();
    std::fs::write(user.join("tertulia.toml"), one("user")).unwrap();
    assert_eq!(workspace.exits(0, &["run", "x"]).stdout, "max:\nproject\n");
    std::fs::remove_file(workspace.path("tertulia.toml")).unwrap();
    assert_eq!(workspace.exits(0, &["run", "x"]).stdout, "max:\nuser\n");
}

#[test]
fn a_session_where_nothing_waits_says_so() {
    let workspace = Workspace::new(TEAM);
    workspace.exits(0, &["run", "hello"]);
    let output = workspace.exits(0, &["run", "--continue"]);
    assert!(output.stderr.contains("no turns are queued"), "{}", output.stderr);
}

#[test]
fn a_branch_at_a_message_is_no_other_decision() {
    let workspace = Workspace::new(TEAM);
    workspace.exits(0, &["run", "hello", "--new", "talk"]);
    let entries = workspace.entries();
    let message = entries.iter().find(|entry| entry["type"] == "message").unwrap();
    workspace.exits(0, &["sessions", "branch", "talk", message["id"].as_str().unwrap()]);
    workspace.exits(0, &["replay", "talk"]);
    let output = workspace.exits(0, &["run", "@eva and now?", "--session", "talk"]);
    assert!(!output.stderr.contains("would differ"), "{}", output.stderr);
    workspace.exits(0, &["replay", "talk"]);
}
