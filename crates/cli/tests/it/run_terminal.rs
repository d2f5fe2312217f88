//! Tests `tertulia run` on a terminal: trust questions and permission requests.

use std::io::{Read, Write};

use portable_pty::{CommandBuilder, NativePtySystem, PtySize, PtySystem};

use crate::workspace::{Workspace, wait_until};

/// Runs the command on a terminal, answers its first question, and returns its exit code and its output.
fn on_terminal(workspace: &Workspace, arguments: &[&str], answer: &str) -> (u32, String) {
    let size = PtySize { rows: 24, cols: 100, pixel_width: 0, pixel_height: 0 };
    let pair = NativePtySystem::default().openpty(size).unwrap();
    let mut command =
        CommandBuilder::new(std::path::absolute(env!("CARGO_BIN_EXE_tertulia")).unwrap());
    command.args(arguments);
    command.cwd(workspace.path(""));
    command.env("HOME", workspace.root().join("home"));
    command.env("TERTULIA_HOME", workspace.root().join("data"));
    command.env_remove("TERTULIA_TEAM");
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().unwrap();
    let mut keyboard = pair.master.take_writer().unwrap();
    write!(keyboard, "{answer}\r").unwrap();
    keyboard.flush().unwrap();
    let shown = std::thread::spawn(move || {
        let mut shown = Vec::new();
        // The end of a terminal is an error on some systems.
        let _ = reader.read_to_end(&mut shown);
        String::from_utf8_lossy(&shown).into_owned()
    });
    let mut status = None;
    wait_until("the command's end", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    drop(keyboard);
    (status.unwrap().exit_code(), shown.join().unwrap())
}

const TEAM: &str = r#"
[[member]]
name = "max"
agent = "command"
command = ["sh", "-c", "cat > /dev/null; printf 'a\\033[2Jb'"]
"#;

#[test]
fn a_person_is_asked_for_trust_once_and_may_say_no() {
    let workspace = Workspace::new(TEAM);
    let (code, shown) = on_terminal(&workspace, &["run", "hello"], "n");
    assert_eq!(code, 2, "{shown}");
    assert!(shown.contains("max starts sh -c") && shown.contains("[y/N]"), "{shown}");
    let (code, shown) = on_terminal(&workspace, &["run", "hello"], "y");
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("a␛[2Jb") && !shown.contains("\u{1b}[2J"), "{shown:?}");
    let (code, shown) = on_terminal(&workspace, &["run", "hello"], "");
    assert_eq!(code, 0, "{shown}");
    assert!(!shown.contains("[y/N]"), "{shown}");
}

/// An agent that uses ACP and wants to write a file.
const ASKING: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
  case "$line" in
    *'"session/new"'*) answer "$id" '{"sessionId":"s1"}' ;;
    *'"initialize"'*) answer "$id" '{"protocolVersion":1,"agentCapabilities":{}}' ;;
    *'"session/prompt"'*) prompt=$id
      printf '%s\n' '{"jsonrpc":"2.0","id":900,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"c1","title":"Write notes.txt","kind":"edit"},"options":[{"optionId":"yes","name":"Allow","kind":"allow_once"},{"optionId":"no","name":"Reject","kind":"reject_once"}]}}' ;;
    *'"id":900'*) answer "$prompt" '{"stopReason":"cancelled"}' ;;
  esac
done
"#;

#[test]
fn an_agent_that_wants_to_be_allowed_something_needs_a_person() {
    let workspace =
        Workspace::new("[[member]]\nname = \"max\"\nagent = \"acp\"\ncommand = [\"asking\"]\n");
    workspace.program("asking", ASKING);
    let output = workspace.exits(3, &["run", "hello", "--trust"]);
    assert!(
        output.stderr.contains("max asks for permission: Write notes.txt"),
        "{}",
        output.stderr
    );
    assert!(output.stderr.contains("tertulia chat --session"), "{}", output.stderr);
    assert!(output.stderr.contains("and type /resume max there"), "{}", output.stderr);
    assert!(!output.stderr.contains("rephrase the request"), "{}", output.stderr);
    // The turn that can be retried is shown later.
    let session = workspace.session();
    let shown = workspace.exits(0, &["chat", "--session", &session]).stdout;
    assert!(shown.contains("max's last turn failed; /resume max retries it\n"), "{shown}");
    // A session that no longer exists is not named.
    let output = workspace.exits(3, &["run", "hello", "--store", "memory"]);
    assert!(output.stderr.contains("or ask in `tertulia chat`\n"), "{}", output.stderr);
    assert!(!output.stderr.contains("--session"), "{}", output.stderr);
    let events = workspace.exits(3, &["run", "hello", "--json"]).json();
    let asked = events.iter().find(|event| event["type"] == "permission").unwrap();
    assert_eq!(asked["request"]["choices"][0]["allows"], true);
    assert_eq!(events.last().unwrap()["pause"]["why"], "permissionNeeded");
}
