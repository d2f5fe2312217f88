//! `tertulia run` with programs as agents: trust, failures, floods, Ctrl-C and crashes.

use crate::room::{Left, Room, is_alive, pid_in, signal, signals_at_once, wait_until};

/// A person, and an agent that is this script.
fn team(script: &str) -> String {
    let words = serde_json::json!(["sh", "-c", script]);
    format!(
        "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
         [[member]]\nname = \"max\"\nagent = \"command\"\ncommand = {words}\n"
    )
}

/// Says how it goes and waits; its process id is in a file.
const SLOW: &str = "cat > /dev/null; echo one; echo two; sleep 300 & echo $$ > pid; wait";

#[test]
fn a_project_that_starts_programs_is_trusted_once_and_by_its_content() {
    let room = Room::new(&team("cat > /dev/null; echo hi"));
    let left = room.exits(2, &["run", "hello"]);
    assert!(left.stderr.contains("max starts sh -c"), "{}", left.stderr);
    assert!(left.stderr.contains("run again with --trust"), "{}", left.stderr);
    assert!(!room.root().join("data/sessions.db").exists());
    let left = room.exits(0, &["run", "hello", "--trust"]);
    assert_eq!(left.stdout, "max:\nhi\n");
    room.exits(0, &["run", "hello"]);
    room.write("tertulia.toml", &team("cat > /dev/null; echo other"));
    room.exits(2, &["run", "hello"]);
}

#[test]
fn the_answer_of_a_program_is_what_it_wrote() {
    let room = Room::new(&team(r"cat > /dev/null; printf 'a\033[31m  b\n\n\tc'"));
    let left = room.exits(0, &["run", "hello", "--trust"]);
    assert_eq!(left.stdout, "max:\na\u{1b}[31m  b\n\n\tc\n");
}

#[test]
fn what_an_agent_did_is_shown_and_stays_in_the_session_in_words() {
    let lines = [
        r#"{"type":"tool_start","id":"t","name":"Bash","input":{"command":"ls"}}"#,
        r#"{"type":"tool_end","id":"t","output":"a b"}"#,
        r#"{"type":"tool_denied","id":"u","name":"Write","reason":"read only"}"#,
        r#"{"type":"usage","input":1200,"output":42}"#,
        r#"{"type":"text","text":"Two."}"#,
        r#"{"type":"end"}"#,
    ];
    let script = format!("cat > /dev/null; cat <<'END'\n{}\nEND", lines.join("\n"));
    let room = Room::new(&(team(&script) + "output = \"jsonl\"\n"));
    let left = room.exits(0, &["run", "hello", "--trust", "--new", "talk"]);
    assert_eq!(left.stdout, "max:\nTwo.\n");
    for told in ["max: → Bash ls\n", "max: ✗ Write was not allowed: read only\n"] {
        assert!(left.stderr.contains(told), "{}", left.stderr);
    }
    let shown = room.exits(0, &["sessions", "show", "talk", "--all"]).stdout;
    for told in [
        "· max: → Bash ls",
        "· max: ← a b",
        "· max: ✗ Write was not allowed: read only",
        "· usage of max: 1,200 tokens in, 42 out",
    ] {
        assert!(shown.contains(told), "{shown}");
    }
}

#[test]
fn figures_that_were_not_told_are_not_shown() {
    let script = |input: u64| {
        let usage = format!(r#"{{"type":"usage","input":{input},"output":{input}}}"#);
        format!(
            "cat > /dev/null; cat <<'END'\n{usage}\n{{\"type\":\"text\",\"text\":\"Hi.\"}}\n{{\"type\":\"end\"}}\nEND"
        )
    };
    let run = |input| {
        let room = Room::new(&(team(&script(input)) + "output = \"jsonl\"\n"));
        room.exits(0, &["run", "hello", "--trust"]).stderr
    };
    assert!(!run(0).contains("token"), "{}", run(0));
    assert!(run(1).contains("max is done: 1 token in, 1 out · "), "{}", run(1));
}

#[test]
fn a_program_that_does_not_exist_fails_with_its_hint() {
    let room = Room::new(&team("true").replace("\"sh\"", "\"no-such-program-here\""));
    let left = room.exits(1, &["run", "hello", "--trust"]);
    assert!(left.stderr.contains("no-such-program-here"), "{}", left.stderr);
    assert!(left.stderr.contains("max could not answer (setup)"), "{}", left.stderr);
    assert!(left.stderr.contains("--repeat e-"), "{}", left.stderr);
    assert_eq!(left.stdout, "");
}

#[test]
fn a_failure_is_two_lines_with_a_fitting_hint_and_no_long_id() {
    let missing = team("true").replace("\"sh\"", "\"./missing.sh\"");
    for (team, said) in [
        (missing, "missing.sh does not exist; correct `command`, or install it there\n"),
        (team("exit 7"), "ended with exit code 7; try again, or run it manually"),
    ] {
        let room = Room::new(&team);
        let left = room.exits(1, &["run", "hello", "--trust", "--new", "talk"]);
        let told = left.stderr.split_once("max is working\n").unwrap().1;
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines.len(), 2, "{told}");
        assert!(
            lines[0].starts_with("tertulia: max could not answer (") && told.contains(said),
            "{told}"
        );
        assert!(lines[1].starts_with("tertulia: max could not answer ("), "{told}");
        assert!(!told.contains("check the agent's settings"), "{told}");
        let is_long = |word: &str| word.bytes().filter(u8::is_ascii_hexdigit).count() >= 32;
        assert!(!told.split([' ', '`']).any(is_long), "{told}");
    }
}

#[test]
fn a_script_whose_interpreter_is_missing_is_told_as_that() {
    let room = Room::new(&team("true").replace("\"sh\"", "\"./bot\""));
    room.write("bot", "#!/no/such/python3\nprint()\n");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(room.path("bot"), executable).unwrap();
    let words = "bot needs /no/such/python3 (its #! line), which does not exist; install it";
    let left = room.exits(1, &["run", "hello", "--trust"]);
    assert!(left.stderr.contains(words), "{}", left.stderr);
    let left = room.exits(1, &["doctor"]);
    assert!(left.stdout.contains("member max: its program ./bot cannot be started"));
    assert!(left.stdout.contains(words), "{}", left.stdout);
}

#[test]
fn of_a_store_in_memory_nothing_is_named_that_is_gone() {
    let room = Room::new(&team("cat > /dev/null; echo oops >&2; exit 7"));
    let left = room.exits(1, &["run", "hello", "--trust", "--store", "memory"]);
    assert!(left.stderr.ends_with("tertulia: max could not answer (crash)\n"), "{}", left.stderr);
    assert!(left.stderr.contains("stderr ends with: oops; try again"), "{}", left.stderr);
    let room = Room::new(&team(SLOW));
    let child = room.start(&["run", "hello", "--trust", "--store", "memory"]);
    pid_in(&room.path("pid"));
    signal("-INT", child.id());
    let left = Left::of(child);
    assert_eq!(left.code, Some(130), "{left:?}");
    let end = "interrupted; the store is in memory, so nothing was saved\n";
    assert!(left.stderr.ends_with(end), "{}", left.stderr);
}

#[test]
fn a_member_has_one_name_in_all_that_people_read() {
    let script = r#"cat > /dev/null; cat <<'END'
{"type":"tool_start","id":"t","name":"Bash","input":{"command":"ls"}}
END
exit 7"#;
    let named = "output = \"jsonl\"\ndisplay_name = \"Maximilian\"\n";
    let room = Room::new(&(team(script) + named));
    let left = room.exits(1, &["run", "hello", "--trust"]);
    for told in [
        "tertulia: Maximilian is working\n",
        "tertulia: Maximilian: → Bash ls\n",
        "tertulia: Maximilian could not answer (crash) after ",
        " s: ended with exit code 7",
        "tertulia: Maximilian could not answer (crash); `tertulia run",
    ] {
        assert!(left.stderr.contains(told), "{told:?} is not in:\n{}", left.stderr);
    }
    assert!(!left.stderr.contains("max"), "{}", left.stderr);
    let session = room.session();
    let shown = room.exits(0, &["chat", "--session", &session]).stdout;
    assert!(shown.contains("Maximilian's last turn failed; /resume max repeats it\n"), "{shown}");
    let shown = room.tertulia_with(&["chat"], b"hello\n");
    assert!(shown.stdout.contains("\nMaximilian could not answer (crash): "), "{shown:?}");
    assert!(shown.stdout.contains("\n? ann: Maximilian could not answer"), "{shown:?}");
    assert!(shown.stderr.contains("tertulia: Maximilian could not answer"), "{shown:?}");
}

#[test]
fn an_endpoint_that_wants_a_key_is_told_with_the_variable_of_it() {
    use std::io::{Read, Write};
    let door = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = door.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in door.incoming().flatten() {
            let mut stream = stream;
            let _ = stream.read(&mut [0; 65536]);
            let answer = "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\n\
                          Connection: close\r\nContent-Length: 2\r\n\r\n{}";
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    let room = Room::new(&format!(
        "[[member]]\nname = \"far\"\nagent = \"openai\"\nmodel = \"m\"\n\
         base_url = \"http://{address}/v1\"\nkey_variable = \"FAR_KEY\"\n"
    ));
    let run = ["run", "hello", "--trust", "--store", "memory"];
    let output = room.command(&run).env("FAR_KEY", "invented").output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("far could not answer (auth) after "), "{told}");
    assert!(told.contains("; check its key in the variable FAR_KEY\n"), "{told}");
    assert!(!told.contains("invented"), "{told}");
}

#[test]
fn a_failed_turn_is_repeated_by_the_beginning_of_its_id() {
    let room = Room::new(&team("cat > /dev/null; test -e mended && echo fine || exit 7"));
    let left = room.exits(1, &["run", "hello", "--trust"]);
    let turn = left.stderr.split("--repeat ").nth(1).unwrap();
    let turn = turn.split('`').next().unwrap().to_owned();
    room.write("mended", "");
    let left = room.exits(0, &["run", "--repeat", &turn[..turn.len() - 2]]);
    assert_eq!(left.stdout, "max:\nfine\n");
    let left = room.exits(1, &["run", "--repeat", "nothing-like-it"]);
    assert!(left.stderr.contains("there is no entry"), "{}", left.stderr);
}

#[test]
fn a_failure_does_not_keep_the_others_from_answering() {
    let eva = "[[member]]\nname = \"eva\"\nagent = \"script\"\nanswers = [\"Here.\"]\n";
    let room = Room::new(&(team("exit 3") + eva));
    let left = room.exits(0, &["run", "[NEXT: max, eva] hello", "--trust"]);
    assert_eq!(left.stdout, "eva:\nHere.\n");
    assert!(left.stderr.contains("max could not answer (crash) after "), "{}", left.stderr);
}

#[test]
fn a_flood_is_cut_off_and_told() {
    let room = Room::new(&team("cat > /dev/null; yes tertulia | head -c 300000000"));
    let left = room.tertulia(&["run", "hello", "--trust"]);
    assert_eq!(left.code, Some(1), "{}", left.stderr);
    // The session carries a megabyte of it and not more.
    assert_eq!(left.stdout.len(), "max (cut off):\n".len() + 1024 * 1024 + 1);
    assert!(
        left.stderr.contains("bytes that it wrote, the first 1048576 are kept"),
        "{}",
        left.stderr
    );
    assert!(left.stderr.contains("max could not answer"), "{}", left.stderr);
}

/// As `timeout` does, which signals its child and then the whole group. Two different signals: of the same
/// one the system would deliver only one.
#[test]
fn two_requests_to_end_at_the_same_moment_are_one() {
    let room = Room::new(&team(SLOW));
    let child = room.start(&["run", "hello", "--trust"]);
    let pid = pid_in(&room.path("pid"));
    signals_at_once(&["-TERM", "-INT"], child.id());
    let left = Left::of(child);
    assert_eq!(left.code, Some(130), "{left:?}");
    assert_eq!(left.stdout, "max (cut off):\none\ntwo\n");
    wait_until("the agent's end", || !is_alive(&pid));
}

#[test]
fn an_interrupt_keeps_what_was_said_and_ends_the_agent() {
    let room = Room::new(&team(SLOW));
    let child = room.start(&["run", "hello", "--trust"]);
    let pid = pid_in(&room.path("pid"));
    signal("-INT", child.id());
    let left = Left::of(child);
    assert_eq!(left.code, Some(130), "{left:?}");
    assert_eq!(left.stdout, "max (cut off):\none\ntwo\n");
    assert!(left.stderr.contains("interrupted; what was said is saved"), "{}", left.stderr);
    assert!(left.stderr.contains("cancelled: the person cancelled it"), "{}", left.stderr);
    assert!(left.stderr.contains("--repeat e-"), "{}", left.stderr);
    for wrong in ["crash", "stderr", "had ended"] {
        assert!(!left.stderr.contains(wrong), "{wrong}: {}", left.stderr);
    }
    wait_until("the agent's end", || !is_alive(&pid));
    let shown = room.exits(0, &["sessions", "show", &room.session()]).stdout;
    assert!(shown.contains(" max (cut off)  e-"), "{shown}");
    assert!(shown.contains("· max: ended, since its turn was cancelled"), "{shown}");
    assert!(!shown.contains("crash"), "{shown}");
    assert_eq!(room.turns(), ["max queued", "max started", "max cancelled"]);
    assert_eq!(room.said()[1], ("max".to_owned(), "one\ntwo\n".to_owned()));
}

/// Does not mind being asked to end, and neither does its child in a session of its own.
const DEAF: &str = "trap 'echo asked > asked' TERM INT HUP; cat > /dev/null; echo one
setsid sh -c 'trap \"\" TERM INT HUP; echo $$ > child; while :; do sleep 1; done' &
( trap '' TERM INT HUP; ( setsid sleep 300 & echo $! > orphan ) & )
echo $$ > pid; while :; do sleep 0.1; done";

#[test]
fn a_second_interrupt_ends_at_once_and_takes_the_agent_along() {
    let room = Room::new(&team(DEAF));
    let child = room.start(&["run", "hello", "--trust"]);
    let pids = ["pid", "child", "orphan"].map(|name| pid_in(&room.path(name)));
    signal("-INT", child.id());
    // The first request was heard; what comes a quarter of a second after it is another one.
    wait_until("the agent is asked to end", || room.path("asked").exists());
    std::thread::sleep(std::time::Duration::from_millis(300));
    signal("-INT", child.id());
    let left = Left::of(child);
    assert_eq!(left.code, Some(130), "{left:?}");
    // Not when the table is opened next: now.
    for pid in &pids {
        wait_until("the agent's end", || !is_alive(pid));
    }
    let before = room.entries();
    room.tertulia(&["run", "--continue"]);
    assert_eq!(room.entries()[..before.len()], before);
    // Its end may have been stored in the same moment.
    let turns = room.turns();
    let expected = ["max queued", "max started"];
    assert_eq!(turns[..2], expected);
    assert!(["max interrupted", "max cancelled"].contains(&&*turns[2]), "{turns:?}");
}

#[test]
fn after_a_crash_nothing_is_lost_nothing_repeated_and_no_process_left() {
    let room = Room::new(
        &(team(SLOW) + "[[member]]\nname = \"eva\"\nagent = \"script\"\nanswers = [\"Here.\"]\n"),
    );
    let mut child = room.start(&["run", "[NEXT: max, eva] hello", "--trust"]);
    let pid = pid_in(&room.path("pid"));
    signal("-KILL", child.id());
    child.wait().unwrap();
    let before = room.entries();
    std::fs::remove_file(room.path("pid")).unwrap();
    let left = room.exits(0, &["run", "--continue"]);
    assert_eq!(left.stdout, "eva:\nHere.\n");
    assert!(left.stderr.contains("max's turn was interrupted"), "{}", left.stderr);
    wait_until("the agent's end", || !is_alive(&pid));
    assert!(!room.path("pid").exists(), "the turn was not repeated");
    assert_eq!(room.entries()[..before.len()], before);
    let states =
        ["max queued", "eva queued", "max started", "max interrupted", "eva started", "eva done"];
    assert_eq!(room.turns(), states);
}

#[test]
fn a_reader_that_has_enough_is_no_failure() {
    let room = Room::new(&team("cat > /dev/null; echo hi"));
    let mut child = room.start(&["run", "hello", "--trust", "--json"]);
    drop(child.stdout.take());
    let left = Left::of(child);
    assert_eq!(left.code, Some(0), "{left:?}");
    assert_eq!(room.turns(), ["max queued", "max started", "max done"]);
}
