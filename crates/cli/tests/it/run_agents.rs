//! Tests `tertulia run` with programs as agents: trust, failures, large outputs, Ctrl-C and crashes.

use crate::workspace::{
    CommandOutput, Workspace, is_alive, pid_in, signal, signals_at_once, wait_until,
};

/// Returns a team of a person and an agent that runs this script.
fn team(script: &str) -> String {
    let words = serde_json::json!(["sh", "-c", script]);
    format!(
        "[[member]]\nname = \"ann\"\nkind = \"human\"\n\
         [[member]]\nname = \"max\"\nagent = \"command\"\ncommand = {words}\n"
    )
}

/// Prints two lines and waits; its process id is in a file.
const SLOW: &str = "cat > /dev/null; echo one; echo two; sleep 300 & echo $$ > pid; wait";

#[test]
fn a_project_that_starts_programs_is_trusted_once_and_by_its_content() {
    let workspace = Workspace::new(&team("cat > /dev/null; echo hi"));
    let output = workspace.exits(2, &["run", "hello"]);
    assert!(output.stderr.contains("max starts sh -c"), "{}", output.stderr);
    assert!(output.stderr.contains("run again with --trust"), "{}", output.stderr);
    assert!(!workspace.root().join("data/sessions.db").exists());
    let output = workspace.exits(0, &["run", "hello", "--trust"]);
    assert_eq!(output.stdout, "max:\nhi\n");
    workspace.exits(0, &["run", "hello"]);
    workspace.write("tertulia.toml", &team("cat > /dev/null; echo other"));
    workspace.exits(2, &["run", "hello"]);
}

#[test]
fn the_answer_of_a_program_is_what_it_wrote() {
    let workspace = Workspace::new(&team(r"cat > /dev/null; printf 'a\033[31m  b\n\n\tc'"));
    let output = workspace.exits(0, &["run", "hello", "--trust"]);
    assert_eq!(output.stdout, "max:\na\u{1b}[31m  b\n\n\tc\n");
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
    let workspace = Workspace::new(&(team(&script) + "output = \"jsonl\"\n"));
    let output = workspace.exits(0, &["run", "hello", "--trust", "--new", "talk"]);
    assert_eq!(output.stdout, "max:\nTwo.\n");
    for reported in ["max: → Bash ls\n", "max: ✗ Write was not allowed: read only\n"] {
        assert!(output.stderr.contains(reported), "{}", output.stderr);
    }
    let shown = workspace.exits(0, &["sessions", "show", "talk", "--all"]).stdout;
    for reported in [
        "· max: → Bash ls",
        "· max: ← a b",
        "· max: ✗ Write was not allowed: read only",
        "· usage of max: 1,200 tokens in, 42 out",
    ] {
        assert!(shown.contains(reported), "{shown}");
    }
}

#[test]
fn figures_that_were_not_reported_are_not_shown() {
    let script = |input: u64| {
        let usage = format!(r#"{{"type":"usage","input":{input},"output":{input}}}"#);
        format!(
            "cat > /dev/null; cat <<'END'\n{usage}\n{{\"type\":\"text\",\"text\":\"Hi.\"}}\n{{\"type\":\"end\"}}\nEND"
        )
    };
    let run = |input| {
        let workspace = Workspace::new(&(team(&script(input)) + "output = \"jsonl\"\n"));
        workspace.exits(0, &["run", "hello", "--trust"]).stderr
    };
    assert!(!run(0).contains("token"), "{}", run(0));
    assert!(run(1).contains("max is done: 1 token in, 1 out · "), "{}", run(1));
}

#[test]
fn a_program_that_does_not_exist_fails_with_its_hint() {
    let workspace = Workspace::new(&team("true").replace("\"sh\"", "\"no-such-program-here\""));
    let output = workspace.exits(1, &["run", "hello", "--trust"]);
    assert!(output.stderr.contains("no-such-program-here"), "{}", output.stderr);
    assert!(output.stderr.contains("max could not answer (setup)"), "{}", output.stderr);
    assert!(output.stderr.contains("--repeat e-"), "{}", output.stderr);
    assert_eq!(output.stdout, "");
}

#[test]
fn a_failure_is_two_lines_with_a_fitting_hint_and_no_long_id() {
    let missing = team("true").replace("\"sh\"", "\"./missing.sh\"");
    for (team, said) in [
        (missing, "missing.sh does not exist; correct `command`, or install it there\n"),
        (team("exit 7"), "ended with exit code 7; try again, or run it manually"),
    ] {
        let workspace = Workspace::new(&team);
        let output = workspace.exits(1, &["run", "hello", "--trust", "--new", "talk"]);
        let reported = output.stderr.split_once("max is working\n").unwrap().1;
        let lines: Vec<&str> = reported.lines().collect();
        assert_eq!(lines.len(), 2, "{reported}");
        assert!(
            lines[0].starts_with("tertulia: max could not answer (") && reported.contains(said),
            "{reported}"
        );
        assert!(lines[1].starts_with("tertulia: max could not answer ("), "{reported}");
        assert!(!reported.contains("check the agent's settings"), "{reported}");
        let is_long = |word: &str| word.bytes().filter(u8::is_ascii_hexdigit).count() >= 32;
        assert!(!reported.split([' ', '`']).any(is_long), "{reported}");
    }
}

#[test]
fn a_script_whose_interpreter_is_missing_is_reported_as_that() {
    let workspace = Workspace::new(&team("true").replace("\"sh\"", "\"./bot\""));
    workspace.write("bot", "#!/no/such/python3\nprint()\n");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(workspace.path("bot"), executable).unwrap();
    let words = "bot needs /no/such/python3 (its #! line), which does not exist; install it";
    let output = workspace.exits(1, &["run", "hello", "--trust"]);
    assert!(output.stderr.contains(words), "{}", output.stderr);
    let output = workspace.exits(1, &["doctor"]);
    assert!(output.stdout.contains("member max: its program ./bot cannot be started"));
    assert!(output.stdout.contains(words), "{}", output.stdout);
}

#[test]
fn of_a_store_in_memory_nothing_is_named_that_is_gone() {
    let workspace = Workspace::new(&team("cat > /dev/null; echo oops >&2; exit 7"));
    let output = workspace.exits(1, &["run", "hello", "--trust", "--store", "memory"]);
    assert!(
        output.stderr.ends_with("tertulia: max could not answer (crash)\n"),
        "{}",
        output.stderr
    );
    assert!(output.stderr.contains("stderr ends with: oops; try again"), "{}", output.stderr);
    let workspace = Workspace::new(&team(SLOW));
    let child = workspace.start(&["run", "hello", "--trust", "--store", "memory"]);
    pid_in(&workspace.path("pid"));
    signal("-INT", child.id());
    let output = CommandOutput::wait(child);
    assert_eq!(output.code, Some(130), "{output:?}");
    let end = "interrupted; the store is in memory, so nothing was saved\n";
    assert!(output.stderr.ends_with(end), "{}", output.stderr);
}

#[test]
fn a_member_has_one_name_in_all_that_people_read() {
    let script = r#"cat > /dev/null; cat <<'END'
{"type":"tool_start","id":"t","name":"Bash","input":{"command":"ls"}}
END
exit 7"#;
    let named = "output = \"jsonl\"\ndisplay_name = \"Maximilian\"\n";
    let workspace = Workspace::new(&(team(script) + named));
    let output = workspace.exits(1, &["run", "hello", "--trust"]);
    for reported in [
        "tertulia: Maximilian is working\n",
        "tertulia: Maximilian: → Bash ls\n",
        "tertulia: Maximilian could not answer (crash) after ",
        " s: ended with exit code 7",
        "tertulia: Maximilian could not answer (crash); `tertulia run",
    ] {
        assert!(output.stderr.contains(reported), "{reported:?} is not in:\n{}", output.stderr);
    }
    assert!(!output.stderr.contains("max"), "{}", output.stderr);
    let session = workspace.session();
    let shown = workspace.exits(0, &["chat", "--session", &session]).stdout;
    assert!(shown.contains("Maximilian's last turn failed; /resume max retries it\n"), "{shown}");
    let shown = workspace.tertulia_with(&["chat"], b"hello\n");
    assert!(shown.stdout.contains("\nMaximilian could not answer (crash): "), "{shown:?}");
    assert!(shown.stdout.contains("\n? ann: Maximilian could not answer"), "{shown:?}");
    assert!(shown.stderr.contains("tertulia: Maximilian could not answer"), "{shown:?}");
}

#[test]
fn an_endpoint_that_wants_a_key_is_reported_with_the_variable_of_it() {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let _ = stream.read(&mut [0; 65536]);
            let answer = "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\n\
                          Connection: close\r\nContent-Length: 2\r\n\r\n{}";
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    let workspace = Workspace::new(&format!(
        "[[member]]\nname = \"far\"\nagent = \"openai\"\nmodel = \"m\"\n\
         base_url = \"http://{address}/v1\"\nkey_variable = \"FAR_KEY\"\n"
    ));
    let run = ["run", "hello", "--trust", "--store", "memory"];
    let output = workspace.command(&run).env("FAR_KEY", "invented").output().unwrap();
    let reported = String::from_utf8(output.stderr).unwrap();
    assert!(reported.contains("far could not answer (auth) after "), "{reported}");
    assert!(
        reported.contains("; check its key in the environment variable FAR_KEY\n"),
        "{reported}"
    );
    assert!(!reported.contains("invented"), "{reported}");
}

#[test]
fn a_failed_turn_is_repeated_by_the_beginning_of_its_id() {
    let workspace = Workspace::new(&team("cat > /dev/null; test -e mended && echo fine || exit 7"));
    let output = workspace.exits(1, &["run", "hello", "--trust"]);
    let turn = output.stderr.split("--repeat ").nth(1).unwrap();
    let turn = turn.split('`').next().unwrap().to_owned();
    workspace.write("mended", "");
    let output = workspace.exits(0, &["run", "--repeat", &turn[..turn.len() - 2]]);
    assert_eq!(output.stdout, "max:\nfine\n");
    let output = workspace.exits(1, &["run", "--repeat", "nothing-like-it"]);
    assert!(output.stderr.contains("there is no entry"), "{}", output.stderr);
}

#[test]
fn a_failure_does_not_keep_the_others_from_answering() {
    let eva = "[[member]]\nname = \"eva\"\nagent = \"script\"\nanswers = [\"Here.\"]\n";
    let workspace = Workspace::new(&(team("exit 3") + eva));
    let output = workspace.exits(0, &["run", "[NEXT: max, eva] hello", "--trust"]);
    assert_eq!(output.stdout, "eva:\nHere.\n");
    assert!(output.stderr.contains("max could not answer (crash) after "), "{}", output.stderr);
}

#[test]
fn a_flood_is_cut_off_and_reported() {
    let workspace = Workspace::new(&team("cat > /dev/null; yes tertulia | head -c 300000000"));
    let output = workspace.tertulia(&["run", "hello", "--trust"]);
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    // The session contains only one megabyte of it.
    assert_eq!(output.stdout.len(), "max (cut off):\n".len() + 1024 * 1024 + 1);
    assert!(output.stderr.contains("bytes; the first 1048576 are kept"), "{}", output.stderr);
    assert!(output.stderr.contains("max could not answer"), "{}", output.stderr);
}

/// Like `timeout`, which signals its child and then the whole group. Uses two different signals, because the system
/// would deliver only one of two equal ones.
#[test]
fn two_requests_to_end_at_the_same_moment_are_one() {
    let workspace = Workspace::new(&team(SLOW));
    let child = workspace.start(&["run", "hello", "--trust"]);
    let pid = pid_in(&workspace.path("pid"));
    signals_at_once(&["-TERM", "-INT"], child.id());
    let output = CommandOutput::wait(child);
    assert_eq!(output.code, Some(130), "{output:?}");
    assert_eq!(output.stdout, "max (cut off):\none\ntwo\n");
    wait_until("the agent's end", || !is_alive(&pid));
}

#[test]
fn an_interrupt_keeps_what_was_said_and_ends_the_agent() {
    let workspace = Workspace::new(&team(SLOW));
    let child = workspace.start(&["run", "hello", "--trust"]);
    let pid = pid_in(&workspace.path("pid"));
    signal("-INT", child.id());
    let output = CommandOutput::wait(child);
    assert_eq!(output.code, Some(130), "{output:?}");
    assert_eq!(output.stdout, "max (cut off):\none\ntwo\n");
    assert!(output.stderr.contains("interrupted; all messages are saved"), "{}", output.stderr);
    assert!(output.stderr.contains("cancelled: the person cancelled it"), "{}", output.stderr);
    assert!(output.stderr.contains("--repeat e-"), "{}", output.stderr);
    for wrong in ["crash", "stderr", "had ended"] {
        assert!(!output.stderr.contains(wrong), "{wrong}: {}", output.stderr);
    }
    wait_until("the agent's end", || !is_alive(&pid));
    let shown = workspace.exits(0, &["sessions", "show", &workspace.session()]).stdout;
    assert!(shown.contains(" max (cut off)  e-"), "{shown}");
    assert!(shown.contains("· max: ended because its turn was cancelled"), "{shown}");
    assert!(!shown.contains("crash"), "{shown}");
    assert_eq!(workspace.turns(), ["max queued", "max started", "max cancelled"]);
    assert_eq!(workspace.said()[1], ("max".to_owned(), "one\ntwo\n".to_owned()));
}

/// Ignores signals that ask it to end, as does its child in a separate session.
const DEAF: &str = "trap 'echo asked > asked' TERM INT HUP; cat > /dev/null; echo one
setsid sh -c 'trap \"\" TERM INT HUP; echo $$ > child; while :; do sleep 1; done' &
( trap '' TERM INT HUP; ( setsid sleep 300 & echo $! > orphan ) & )
echo $$ > pid; while :; do sleep 0.1; done";

#[test]
fn a_second_interrupt_ends_at_once_and_takes_the_agent_along() {
    let workspace = Workspace::new(&team(DEAF));
    let child = workspace.start(&["run", "hello", "--trust"]);
    let pids = ["pid", "child", "orphan"].map(|name| pid_in(&workspace.path(name)));
    signal("-INT", child.id());
    // The first signal was handled; one a quarter of a second later is a new one.
    wait_until("the agent is asked to end", || workspace.path("asked").exists());
    std::thread::sleep(std::time::Duration::from_millis(300));
    signal("-INT", child.id());
    let output = CommandOutput::wait(child);
    assert_eq!(output.code, Some(130), "{output:?}");
    // They end now, not only when the session is opened again.
    for pid in &pids {
        wait_until("the agent's end", || !is_alive(pid));
    }
    let before = workspace.entries();
    workspace.tertulia(&["run", "--continue"]);
    assert_eq!(workspace.entries()[..before.len()], before);
    // Its end may have been stored at the same moment.
    let turns = workspace.turns();
    let expected = ["max queued", "max started"];
    assert_eq!(turns[..2], expected);
    assert!(["max interrupted", "max cancelled"].contains(&&*turns[2]), "{turns:?}");
}

#[test]
fn after_a_crash_nothing_is_lost_nothing_repeated_and_no_process_left() {
    let workspace = Workspace::new(
        &(team(SLOW) + "[[member]]\nname = \"eva\"\nagent = \"script\"\nanswers = [\"Here.\"]\n"),
    );
    let mut child = workspace.start(&["run", "[NEXT: max, eva] hello", "--trust"]);
    let pid = pid_in(&workspace.path("pid"));
    signal("-KILL", child.id());
    child.wait().unwrap();
    let before = workspace.entries();
    std::fs::remove_file(workspace.path("pid")).unwrap();
    let output = workspace.exits(0, &["run", "--continue"]);
    assert_eq!(output.stdout, "eva:\nHere.\n");
    assert!(output.stderr.contains("max's turn was interrupted"), "{}", output.stderr);
    wait_until("the agent's end", || !is_alive(&pid));
    assert!(!workspace.path("pid").exists(), "the turn was not retried");
    assert_eq!(workspace.entries()[..before.len()], before);
    let states =
        ["max queued", "eva queued", "max started", "max interrupted", "eva started", "eva done"];
    assert_eq!(workspace.turns(), states);
}

#[test]
fn a_reader_that_has_enough_is_no_failure() {
    let workspace = Workspace::new(&team("cat > /dev/null; echo hi"));
    let mut child = workspace.start(&["run", "hello", "--trust", "--json"]);
    drop(child.stdout.take());
    let output = CommandOutput::wait(child);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(workspace.turns(), ["max queued", "max started", "max done"]);
}
