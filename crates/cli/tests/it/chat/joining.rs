//! Several processes in one session, as real processes: chats on terminals, chats on pipes, and runs.

use std::process::{Command, Output, Stdio};

use super::ChatWorkspace;
use super::plain::chat;
use super::terminal::Terminal;
use crate::workspace::{is_alive, pid_in, signal};

const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
const ESC: &str = "\x1b";

const TEAM: &str = r#"
[[member]]
name = "ann"
kind = "human"

[[member]]
name = "bob"
kind = "human"

[[member]]
name = "max"
agent = "script"
script_file = "script.jsonl"

[[member]]
name = "slow"
agent = "command"
command = ["sh", "slow.sh"]
"#;

/// Counts for a minute.
const SLOW: &str = "cat >/dev/null\necho $$ >agent\ni=0\nwhile [ $i -lt 600 ]; do\n  i=$((i+1))\n  \
                    echo \"count $i of many\"\n  sleep 0.1\ndone\n";

/// Returns a folder with two people, `max` with these answers, and `slow`.
fn workspace(answers: &[&str]) -> ChatWorkspace {
    let script: Vec<String> =
        answers.iter().map(|text| serde_json::to_string(text).unwrap()).collect();
    ChatWorkspace::with(TEAM, &[("script.jsonl", &script.join("\n")), ("slow.sh", SLOW)])
}

/// Opens a chat that runs the session `talk`.
fn host(workspace: &ChatWorkspace) -> Terminal {
    let terminal = Terminal::chat(workspace, &["--new", "talk", "--as", "ann"]);
    terminal.shows("> ");
    terminal
}

/// Opens a chat that joins the session `talk`.
fn client(workspace: &ChatWorkspace, more: &[&str]) -> Terminal {
    let arguments = [&["--session", "talk", "--as", "bob"], more].concat();
    let terminal = Terminal::chat(workspace, &arguments);
    terminal.shows("runs this session.");
    terminal.shows("\n>");
    terminal
}

fn run(workspace: &ChatWorkspace, arguments: &[&str]) -> Output {
    let mut all = workspace.arguments(arguments);
    all[0] = "run".to_owned();
    Command::new(std::path::absolute(env!("CARGO_BIN_EXE_tertulia")).unwrap())
        .args(all)
        .envs(workspace.variables())
        .current_dir(workspace.path())
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Returns what `tertulia sessions show talk` prints, and checks the log.
fn shown(workspace: &ChatWorkspace) -> String {
    let store = workspace.arguments(&[]).pop().unwrap();
    let sessions = |arguments: &[&str]| {
        let output = Command::new(std::path::absolute(env!("CARGO_BIN_EXE_tertulia")).unwrap())
            .args(["sessions", "--store", &store])
            .args(arguments)
            .envs(workspace.variables())
            .output()
            .unwrap();
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {reported}");
        String::from_utf8(output.stdout).unwrap()
    };
    sessions(&["verify", "talk"]);
    sessions(&["show", "talk", "--messages"])
}

#[test]
fn a_second_chat_joins_and_both_people_see_everything() {
    let workspace = workspace(&["First answer.", "Second answer."]);
    let mut ann = host(&workspace);
    ann.types("@max hello\r");
    ann.has_answered("First answer.");
    let mut bob = client(&workspace, &[]);
    // The newest messages are shown, as when a session is resumed.
    bob.shows("First answer.");
    bob.types("@max and I?\r");
    ann.shows("bob: @max and I?");
    ann.has_answered("Second answer.");
    bob.shows("bob: @max and I?");
    bob.has_answered("Second answer.");
    ann.types("@bob welcome\r");
    bob.shows("ann: @bob welcome");
    bob.types("/quit\r");
    assert_eq!(bob.ends().0, 0);
    // The session goes on.
    ann.types("@bob are you there?\r");
    ann.shows("ann: @bob are you there?");
    ann.types(CTRL_D);
    assert_eq!(ann.ends().0, 0);
    let log = shown(&workspace);
    assert_eq!(log.matches("and I?").count(), 1, "{log}");
}

#[test]
fn who_joins_during_an_answer_sees_it_grow_and_can_stop_it() {
    let workspace = workspace(&["Unused."]);
    let mut ann = host(&workspace);
    ann.types("@slow count\r");
    ann.shows("count 5 of many");
    let mut bob = client(&workspace, &[]);
    bob.shows("count 5 of many");
    bob.shows("count 12 of many");
    bob.shows("slow is answering");
    bob.types(ESC);
    bob.shows("cancelled");
    ann.shows("cancelled");
    let agent = pid_in(&workspace.path().join("agent"));
    crate::workspace::wait_until("the end of the agent", || !is_alive(&agent));
}

#[test]
fn ctrl_c_twice_only_leaves_a_session_that_another_process_runs() {
    let workspace = workspace(&["Unused."]);
    let mut ann = host(&workspace);
    let mut bob = client(&workspace, &[]);
    bob.types(CTRL_C);
    bob.shows("Press Ctrl-C again to leave");
    ann.types("@slow count\r");
    bob.shows("count 2 of many");
    bob.types(CTRL_D);
    assert_eq!(bob.ends().0, 0);
    ann.shows("count 9 of many");
    // The first Ctrl-C stops the turn, as in every chat.
    let mut bob = client(&workspace, &[]);
    bob.shows("slow is answering");
    bob.types(CTRL_C);
    ann.shows("cancelled");
    bob.shows("cancelled");
}

#[test]
fn commands_work_in_a_joined_chat() {
    let workspace = workspace(&["An answer."]);
    let mut ann = host(&workspace);
    let mut bob = client(&workspace, &[]);
    bob.types("@max hello\r");
    bob.has_answered("An answer.");
    for (command, expected) in [
        ("/queue", "nothing"),
        ("/members", "script"),
        ("/why", "is queued"),
        ("/takeover", "another process runs the session"),
        ("/nonsense", "there is no command"),
    ] {
        bob.types(&format!("{command}\r"));
        bob.shows(&format!("> {command}"));
        if command != "/queue" {
            bob.shows(expected);
        }
    }
    bob.types("/export talk.jsonl\r");
    bob.shows("exported");
    assert!(workspace.path().join("talk.jsonl").exists());
    bob.types("/task be quick\r");
    ann.shows("team task: be quick");
    bob.types("/fork\r");
    bob.shows("Forked. You are now in session");
    bob.types("@ann only here\r");
    bob.shows("bob: @ann only here");
    ann.types("@bob only there\r");
    let screen = ann.shows("ann: @bob only there");
    assert!(!screen.contains("only here"), "{screen}");
}

#[test]
fn when_the_host_leaves_the_others_can_take_over() {
    let workspace = workspace(&["First answer.", "An answer."]);
    let mut ann = host(&workspace);
    let mut bob = client(&workspace, &[]);
    bob.types("@max hello\r");
    ann.has_answered("First answer.");
    ann.types(CTRL_D);
    assert_eq!(ann.ends().0, 0);
    bob.shows("has ended");
    bob.shows("/takeover continues it here");
    bob.types("@max nobody hears this\r");
    bob.shows("not sent, because no process runs this session");
    bob.shows("@max nobody hears this");
    bob.types("/takeover\r");
    bob.shows("This chat now runs session talk");
    bob.types("@max hello\r");
    bob.has_answered("An answer.");
    // It is the host now.
    let mut ann = Terminal::chat(&workspace, &["--session", "talk", "--as", "ann"]);
    ann.shows("runs this session.");
    ann.types("@bob thanks\r");
    bob.shows("ann: @bob thanks");
    let log = shown(&workspace);
    assert!(!log.contains("nobody hears this"), "{log}");
}

#[test]
fn what_is_said_while_the_host_leaves_is_reported_as_not_sent_and_a_run_sends_it_itself() {
    let workspace = workspace(&["An answer."]);
    // The agent ignores the request to end, so that it takes the host some time to leave.
    std::fs::write(workspace.path().join("slow.sh"), format!("trap '' TERM\n{SLOW}")).unwrap();
    let mut ann = host(&workspace);
    let mut bob = client(&workspace, &[]);
    ann.types("@slow count\r");
    bob.shows("count 3 of many");
    ann.types(CTRL_D);
    ann.shows("leaving…");
    bob.types("@max nobody hears this\r");
    let output = run(&workspace, &["--session", "talk", "--as", "ann", "@max hello"]);
    let reported = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{reported}");
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.ends_with("max:\nAn answer.\n"), "{printed} {reported}");
    assert_eq!(ann.ends().0, 0);
    bob.shows("not sent");
    bob.shows("@max nobody hears this");
    let log = shown(&workspace);
    assert!(!log.contains("nobody hears this"), "{log}");
    assert_eq!(log.matches("@max hello").count(), 1, "{log}");
}

#[test]
fn a_killed_host_is_noticed_and_its_turn_is_not_repeated_by_itself() {
    let workspace = workspace(&["An answer."]);
    let mut ann = host(&workspace);
    let mut bob = client(&workspace, &["--take-over"]);
    ann.types("@slow count\r");
    bob.shows("count 3 of many");
    let agent = pid_in(&workspace.path().join("agent"));
    signal("-KILL", ann.process());
    bob.shows("has ended");
    bob.shows("This chat now runs session talk");
    bob.shows("interrupted");
    crate::workspace::wait_until("the end of the agent", || !is_alive(&agent));
    bob.types("@max hello\r");
    bob.has_answered("An answer.");
    bob.types(CTRL_D);
    assert_eq!(bob.ends().0, 0);
    let log = shown(&workspace);
    assert_eq!(log.matches("@slow count").count(), 1, "{log}");
}

#[test]
fn of_several_who_take_over_one_runs_the_session_and_the_others_join_it() {
    let workspace = workspace(&["An answer."]);
    let mut ann = host(&workspace);
    ann.types("@bob hello\r");
    ann.shows("ann: @bob hello");
    let mut others: Vec<Terminal> = (0..4).map(|_| client(&workspace, &["--take-over"])).collect();
    signal("-KILL", ann.process());
    for other in &others {
        other.until("a new host", |screen| {
            screen.contains("This chat now runs session") || screen.contains("has ended")
        });
    }
    others[0].types("@max hello\r");
    // A message may not be sent while nobody runs the session.
    let is_heard = others[0]
        .until("an answer", |screen| screen.contains("An answer.") || screen.contains("not sent"));
    if is_heard.contains("not sent") {
        others[0].until("the new host", |screen| {
            screen.matches("runs this session.").count() > 1 || screen.contains("now runs session")
        });
        others[0].types("@max hello\r");
    }
    for other in &others {
        other.shows("An answer.");
    }
    // It is shown before it is stored.
    let is_stored = || shown(&workspace).contains("An answer.");
    crate::workspace::wait_until("the answer in the log", is_stored);
    let log = shown(&workspace);
    assert_eq!(log.matches("An answer.").count(), 1, "{log}");
}

#[test]
fn a_chat_without_a_terminal_joins_too() {
    let workspace = workspace(&["One.", "Two."]);
    let ann = host(&workspace);
    let output = chat(&workspace, &["--session", "talk", "--as", "bob"], b"@max go\n@max again\n");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text} {}", String::from_utf8_lossy(&output.stderr));
    let [one, two] = ["One.", "Two."].map(|answer| text.find(answer));
    assert!(one.is_some() && one < two, "{text}");
    ann.has_answered("Two.");
}

#[test]
fn a_run_joins_and_exits_as_it_would_alone() {
    let workspace = workspace(&["One.", "Two. @ann?"]);
    let mut ann = host(&workspace);
    let output = run(&workspace, &["--session", "talk", "--as", "bob", "@max go"]);
    let reported = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{reported}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "max:\nOne.\n");
    assert!(reported.contains("joined process"), "{reported}");
    ann.has_answered("One.");
    // A person who is not named.
    let output = run(&workspace, &["--session", "talk", "@max go"]);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    // As events.
    let output = run(&workspace, &["--session", "talk", "--as", "bob", "@max more", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let events = String::from_utf8(output.stdout).unwrap();
    let last: serde_json::Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
    assert_eq!(last["pause"]["question"]["why"], "answer", "{last}");
    ann.types("@bob done\r");
    ann.shows("ann: @bob done");
}

#[test]
fn a_run_can_be_joined_too() {
    let workspace = workspace(&["An answer."]);
    let program = std::path::absolute(env!("CARGO_BIN_EXE_tertulia")).unwrap();
    let mut arguments = workspace.arguments(&["--new", "talk", "--as", "ann", "@slow count"]);
    arguments[0] = "run".to_owned();
    let mut ran = Command::new(program)
        .args(arguments)
        .envs(workspace.variables())
        .current_dir(workspace.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    pid_in(&workspace.path().join("agent"));
    let mut bob = client(&workspace, &[]);
    bob.shows("of many");
    bob.types(ESC);
    bob.shows("cancelled");
    assert_eq!(ran.wait().unwrap().code(), Some(0));
    bob.shows("has ended");
}

#[test]
fn a_permission_is_answered_by_whoever_is_first_and_the_other_sees_it() {
    let workspace = super::permissions::asking();
    let mut ann = Terminal::chat(&workspace, &["--new", "talk"]);
    ann.shows("> ");
    ann.types("please tidy up\r");
    ann.shows("1 to 3, 0 = no");
    // Who joins later sees the open request.
    let mut bob = Terminal::chat(&workspace, &["--session", "talk"]);
    bob.shows("1 to 3, 0 = no");
    bob.types("3\r");
    bob.shows("(Reject)");
    ann.shows("(somebody else answered: \"Reject\")");
    ann.has_answered("So it stays.");
    bob.has_answered("So it stays.");
    ann.types(CTRL_D);
    assert_eq!(ann.ends().0, 0);
}
