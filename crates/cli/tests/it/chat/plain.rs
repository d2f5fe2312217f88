//! Without a terminal: lines in, plain text out.

use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use super::ChatWorkspace;
use crate::workspace::{feed, is_alive, pid_in, signal, tell, wait_until};

pub(super) fn chat(workspace: &ChatWorkspace, more: &[&str], input: &[u8]) -> Output {
    let child = Command::new(std::path::absolute(env!("CARGO_BIN_EXE_tertulia")).unwrap())
        .args(workspace.arguments(more))
        .envs(workspace.variables())
        .current_dir(workspace.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    feed(child, input)
}

/// Returns the output of a chat, without the parts that differ from run to run.
#[track_caller]
pub(super) fn talk(workspace: &ChatWorkspace, more: &[&str], input: &str) -> String {
    let output = chat(workspace, more, input.as_bytes());
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?} {reported}", output.status);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains('\x1b'), "{text:?}");
    text.lines().filter(|line| !is_time(line)).collect::<Vec<_>>().join("\n")
}

fn is_time(line: &str) -> bool {
    line.strip_suffix(" s").is_some_and(|number| number.parse::<f64>().is_ok())
}

/// Returns a chat in the session `talk`, whose lines come through a pipe.
fn begun(workspace: &ChatWorkspace, stdout: Stdio) -> Child {
    opened(workspace, "--new", stdout)
}

/// Returns a chat in the session `talk`, which this option creates or resumes.
fn opened(workspace: &ChatWorkspace, option: &str, stdout: Stdio) -> Child {
    Command::new(std::path::absolute(env!("CARGO_BIN_EXE_tertulia")).unwrap())
        .args(workspace.arguments(&[option, "talk"]))
        .envs(workspace.variables())
        .current_dir(workspace.path())
        .stdin(Stdio::piped())
        .stdout(stdout)
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn lines_are_said_in_turn_and_answered_in_plain_text() {
    let workspace = ChatWorkspace::new(&["It is **done**.\n```sh\n  ls\n```", "Twice."]);
    let shown = talk(&workspace, &["--new", "talk"], "hello\n\nagain\n");
    let expected = "session talk · @ann @max @slow · /help\nann: hello\nmax:\nIt is done.\n```sh\n  ls\n\
                    ```\n\nann: again\nmax:\nTwice.\n";
    assert_eq!(shown, expected);
}

#[test]
fn a_line_that_is_not_utf8_is_named_and_not_said() {
    let workspace = ChatWorkspace::new(&["One.", "Two."]);
    let output = chat(&workspace, &["--new", "talk"], b"first\n\ncaf\xe9 now\n\xff\nlast\n");
    // As in `run`: the error of the line that was not sent decides the exit code.
    assert_eq!(output.status.code(), Some(1));
    let reported = String::from_utf8(output.stderr).unwrap();
    assert!(reported.contains("standard input: line 3 is not UTF-8"), "{reported}");
    let shown = String::from_utf8(output.stdout).unwrap();
    for part in [
        "ann: first\nmax:\nOne.",
        "line 3 is not UTF-8: byte 4 of it is invalid; it was not sent\n",
        "line 4 is not UTF-8: byte 1 of it is invalid; it was not sent\n",
        "ann: last\nmax:\nTwo.",
    ] {
        assert!(shown.contains(part), "{part:?} is not in:\n{shown}");
    }
    assert!(!shown.contains('\u{fffd}') && !shown.contains("caf"), "{shown}");
}

#[test]
fn commands_work_without_a_terminal_too() {
    let workspace = ChatWorkspace::new(&["One.", "Two."]);
    let input = "/members\n/nxt\n/cost\n/next max: go\n/queue\n/why\n/context max\n/task Build it\n\
                 /drop all\n/export log.jsonl\n/export log.jsonl\n/compact\n/resume nothing\n/quit\n\
                 never said\n";
    let shown = talk(&workspace, &["--new", "talk"], input);
    for part in [
        "@ann  a person",
        "there is no command /nxt; did you mean /next?",
        "no agent has reported costs",
        "ann:\n[NEXT: max]\ngo",
        "no turn is running or queued",
        "max would get ",
        "team task: Build it",
        " entries to log.jsonl",
        "log.jsonl already exists and was not changed; name another file",
        "there is no entry nothing",
    ] {
        assert!(shown.contains(part), "{part:?} is not in:\n{shown}");
    }
    assert!(!shown.contains("never said"));
    let log = std::fs::read_to_string(workspace.path().join("log.jsonl")).unwrap();
    assert!(log.lines().count() > 5 && log.contains("[NEXT: max]"));
}

#[test]
fn a_fork_goes_on_in_a_session_of_its_own() {
    let workspace = ChatWorkspace::new(&["One.", "Two."]);
    let shown = talk(&workspace, &["--new", "talk"], "first\n/fork\nsecond\n");
    assert!(shown.contains("Forked. You are now in session "), "{shown}");
    let first = talk(&workspace, &["--session", "talk"], "");
    assert!(first.contains("ann: first") && !first.contains("second"), "{first}");
    let newest = talk(&workspace, &["--continue"], "");
    assert!(newest.contains("ann: first") && newest.contains("ann: second"), "{newest}");
}

#[test]
fn after_a_fork_the_next_piped_line_goes_to_the_fork() {
    // A built-in member answers at once, so that several things happen before the next line is read.
    let team = "[[member]]\nname = \"scribe\"\nagent = \"scribe\"\n";
    for _ in 0..5 {
        let workspace = ChatWorkspace::with(team, &[]);
        let shown = talk(&workspace, &["--new", "talk"], "hello there\n/fork\nsecond\n");
        let at = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text}: {shown}"));
        assert!(at("hello there") < at("Forked. You") && at("Forked. You") < at("you: second"));
        let first = talk(&workspace, &["--session", "talk"], "");
        assert!(!first.contains("second"), "{first}");
        let newest = talk(&workspace, &["--continue"], "");
        assert!(newest.contains("you: second"), "{newest}");
    }
}

#[test]
fn the_exit_code_says_that_an_agent_failed() {
    let workspace = ChatWorkspace::new(&[" "]);
    let output = chat(&workspace, &[], b"hello\n");
    assert_eq!(output.status.code(), Some(1));
    let reported = String::from_utf8(output.stderr).unwrap();
    assert!(reported.contains("max could not answer (empty)"), "{reported}");
}

#[test]
fn a_turn_that_did_not_come_to_its_end_is_named_once_whenever_somebody_comes() {
    let workspace = ChatWorkspace::new(&["One."]);
    let mut child = begun(&workspace, Stdio::piped());
    let mut stdin = child.stdin.take().unwrap();
    tell(&mut stdin, b"@slow count\n");
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    assert!(lines.by_ref().any(|line| line.unwrap().contains("count 1")));
    child.kill().unwrap();
    child.wait().unwrap();
    let files = || std::fs::read_dir(workspace.path().join("home")).unwrap().flatten();
    let is_left = || files().any(|file| file.file_name().to_string_lossy().contains("-table-"));
    assert!(is_left(), "what a killed program leaves");
    let come = || {
        let output = chat(&workspace, &["--session", "talk"], b"");
        String::from_utf8(output.stdout).unwrap()
    };
    let named = "slow's last turn was interrupted; /resume slow retries it\n";
    let first = come();
    assert!(first.contains("was interrupted. Retry it?"), "{first}");
    assert!(!first.contains(named), "{first}");
    assert!(come().contains(named));
    assert!(!is_left());
    let other = talk(&workspace, &["--session", "talk"], "@max hello\n");
    assert!(other.contains(named), "{other}");
    assert!(!come().contains("last turn"), "the last one came to its end");
}

#[test]
fn a_chat_that_is_asked_to_end_stores_what_was_said() {
    let workspace = ChatWorkspace::new(&["One."]);
    let mut child = begun(&workspace, Stdio::piped());
    let mut stdin = child.stdin.take().unwrap();
    tell(&mut stdin, b"@slow count\n");
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    assert!(lines.by_ref().any(|line| line.unwrap().contains("count 3")));
    let kill = Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert!(kill.success());
    assert!(lines.count() > 0, "what was said until the end is shown");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let shown = talk(&workspace, &["--session", "talk"], "");
    assert!(shown.contains("count 2 of many") && shown.contains("(cut off here)"), "{shown}");
}

#[test]
fn a_chat_that_is_asked_twice_to_end_takes_the_agent_along() {
    let team = "[[member]]\nname = \"ann\"\nkind = \"human\"\n\n\
                [[member]]\nname = \"max\"\nagent = \"command\"\ncommand = [\"sh\", \"deaf.sh\"]\n";
    let deaf = "trap 'echo asked >asked' TERM INT HUP\ncat >/dev/null\n\
                setsid sh -c 'trap \"\" TERM INT HUP; echo $$ >child; while :; do sleep 1; done' &\n\
                echo $$ >pid\nwhile :; do sleep 0.1; done\n";
    let workspace = ChatWorkspace::with(team, &[("deaf.sh", deaf)]);
    let mut child = begun(&workspace, Stdio::null());
    let mut stdin = child.stdin.take().unwrap();
    tell(&mut stdin, b"hello\n");
    let pids = ["pid", "child"].map(|name| pid_in(&workspace.path().join(name)));
    signal("-TERM", child.id());
    // The first signal was handled; one a quarter of a second later is a new one.
    wait_until("the agent is asked to end", || workspace.path().join("asked").exists());
    std::thread::sleep(Duration::from_millis(300));
    signal("-TERM", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    for pid in &pids {
        wait_until("the agent's end", || !is_alive(pid));
    }
    let shown = talk(&workspace, &["--session", "talk"], "");
    assert!(shown.contains("ann: hello"), "{shown}");
}

fn sessions(workspace: &ChatWorkspace, more: &[&str]) -> Output {
    let store = format!("sqlite:{}", workspace.path().join("home/sessions.db").display());
    Command::new(std::path::absolute(env!("CARGO_BIN_EXE_tertulia")).unwrap())
        .args(["sessions", "--store", &store])
        .args(more)
        .envs(workspace.variables())
        .output()
        .unwrap()
}

#[test]
fn a_chat_that_is_left_at_once_leaves_no_session() {
    let workspace = ChatWorkspace::new(&["One."]);
    talk(&workspace, &[], "");
    talk(&workspace, &["--new", "talk"], "/members\n/quit\n");
    let listed = sessions(&workspace, &["list", "--all", "--json"]);
    assert_eq!(String::from_utf8(listed.stdout).unwrap(), "");
    // A session with messages is kept, even if a person only opens it.
    talk(&workspace, &["--new", "talk"], "hello\n");
    talk(&workspace, &["--session", "talk"], "");
    let listed = sessions(&workspace, &["list", "--all", "--json"]);
    assert!(String::from_utf8(listed.stdout).unwrap().contains("\"talk\""));
}

#[test]
fn a_session_that_is_open_elsewhere_is_not_deleted_and_nothing_typed_is_lost() {
    let workspace = ChatWorkspace::new(&["One.", "Two."]);
    talk(&workspace, &["--new", "talk"], "hello\n");
    let mut child = opened(&workspace, "--session", Stdio::piped());
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    assert!(lines.by_ref().any(|line| line.unwrap().contains("ann: hello")));
    let refused = sessions(&workspace, &["delete", "talk", "--yes"]);
    assert_eq!(refused.status.code(), Some(1));
    let reported = String::from_utf8(refused.stderr).unwrap();
    let wanted = "session talk is open in another process; close it or wait, then try again";
    assert!(reported.contains(wanted), "{reported}");
    tell(&mut stdin, b"and again\n");
    drop(stdin);
    assert!(lines.by_ref().any(|line| line.unwrap().contains("Two.")));
    assert!(child.wait().unwrap().success());
    let shown = talk(&workspace, &["--session", "talk"], "");
    assert!(shown.contains("ann: and again"), "{shown}");
    assert!(sessions(&workspace, &["delete", "talk", "--yes"]).status.success());
}
