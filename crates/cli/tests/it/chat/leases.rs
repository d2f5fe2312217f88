//! Two machines and one session on a PostgreSQL server. The machines are processes with different data folders, so they
//! cannot reach each other's sockets.

use std::process::Command;

use portable_pty::CommandBuilder;
use tertulia_test_needs::{Need, POSTGRES, PostgresServer, skip};

use super::ChatWorkspace;
use super::terminal::Terminal;
use crate::workspace::{is_alive, pid_in, signal, wait_until};

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

[[member]]
name = "writer"
agent = "command"
command = ["sh", "writer.sh"]
worktree = true

[[member]]
name = "warm"
agent = "claude"
command = ["sh", "warm.sh"]
env = { CLAUDE_CONFIG_DIR = "FOLDER" }
"#;

/// Notes its start in the project, waits for a file there, and writes to its own worktree.
const WRITER: &str = "cat >/dev/null\ntop=$(dirname \"$(git rev-parse --git-common-dir)\")\n\
                      number=$(ls \"$top/turns\" | wc -l)\ntouch \"$top/turns/$number\"\n\
                      until [ -e \"$top/go\" ]; do sleep 0.05; done\necho mine >note && cat note\n";

const WARM: &str = include_str!("warm_claude.sh");

/// Counts for five minutes.
const SLOW: &str = "cat >/dev/null\necho $$ >agent\ni=0\nwhile [ $i -lt 3000 ]; do\n  i=$((i+1))\n  \
                    echo \"count $i of many\"\n  sleep 0.1\ndone\n";

/// A server with an empty database, and a team.
struct Machines {
    workspace: ChatWorkspace,
    store: String,
    _server: Option<PostgresServer>,
}

impl Machines {
    /// Returns `None` if there is no server. The test is then skipped.
    fn new() -> Option<Self> {
        let (folder, server) = match std::env::var(POSTGRES) {
            Ok(folder) => (folder, None),
            Err(_) => {
                let Some(programs) = PostgresServer::find_programs() else {
                    skip(Need::PostgreSql);
                    return None;
                };
                let server = PostgresServer::start(programs).unwrap();
                (server.folder().to_owned(), Some(server))
            }
        };
        let script = "\"An answer.\"\n\"Another answer.\"";
        let files =
            [("script.jsonl", script), ("slow.sh", SLOW), ("writer.sh", WRITER), ("warm.sh", WARM)];
        let workspace = ChatWorkspace::with(TEAM, &files);
        // Both machines see the same sessions of the agent.
        let native = workspace.path().join("native").display().to_string();
        let team = TEAM.replace("FOLDER", &native);
        std::fs::write(workspace.path().join("tertulia.toml"), team).unwrap();
        let store = format!("postgres://tertulia@{}/postgres", folder.replace('/', "%2F"));
        Some(Self { workspace, store, _server: server })
    }

    /// Opens a chat on one of the machines.
    fn chat(&self, session: &[&str], machine: &str, speaker: &str, more: &[&str]) -> Terminal {
        let program = std::path::absolute(env!("CARGO_BIN_EXE_tertulia")).unwrap();
        let team = self.workspace.path().join("tertulia.toml");
        let home = self.workspace.path().join(machine);
        std::fs::create_dir_all(&home).unwrap();
        let mut command = CommandBuilder::new(program);
        command.args(["chat", "--trust", "--team"]);
        command.arg(team);
        command.args(["--store", &self.store, "--as", speaker]);
        command.args([session, more].concat());
        command.env_remove("XDG_RUNTIME_DIR");
        let home = home.display().to_string();
        let env = [("TERM", "xterm-256color"), ("HOME", &*home), ("TERTULIA_HOME", &*home)];
        Terminal::start(&self.workspace, command, &env)
    }

    fn agent(&self) -> String {
        pid_in(&self.workspace.path().join("agent"))
    }

    /// Returns the entries of the session as JSON, after a check of its log.
    fn log(&self, session: &str) -> Vec<serde_json::Value> {
        let sessions = |arguments: &[&str]| {
            let output = Command::new(env!("CARGO_BIN_EXE_tertulia"))
                .args(["sessions", "--store", &self.store])
                .args(arguments)
                .env("TERTULIA_HOME", self.workspace.path().join("here"))
                .output()
                .unwrap();
            let reported = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{arguments:?}: {reported}");
            String::from_utf8(output.stdout).unwrap()
        };
        sessions(&["verify", session]);
        let shown = sessions(&["export", session]);
        shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Checks that the counting turn was started once and interrupted once, and that nothing of it came later.
    fn assert_one_turn(&self, session: &str) {
        let log = self.log(session);
        let states: Vec<&str> = log
            .iter()
            .filter(|entry| entry["type"] == "turn" && entry["payload"]["member"] == "slow")
            .filter_map(|entry| entry["payload"]["state"].as_str())
            .collect();
        assert_eq!(states, ["queued", "started", "interrupted"], "{log:?}");
        let interrupted = log.iter().position(|entry| {
            entry["type"] == "turn" && entry["payload"]["state"] == "interrupted"
        });
        let later = &log[interrupted.unwrap() + 1..];
        let by_slow = |entry: &&serde_json::Value| {
            entry["payload"]["speaker"]["roleId"] == "slow" || entry["payload"]["member"] == "slow"
        };
        assert_eq!(later.iter().filter(by_slow).count(), 0, "{later:?}");
    }
}

/// Returns a name for a session. Several tests may use one server.
fn name(test: &str) -> String {
    format!("{test}-{}", std::process::id())
}

#[test]
fn another_machine_reads_along_and_takes_over_when_the_first_has_left() {
    let Some(machines) = Machines::new() else { return };
    let name = name("leave");
    let mut ann = machines.chat(&["--new", &name], "here", "ann", &[]);
    ann.shows("> ");
    ann.types("@max hello\r");
    ann.has_answered("An answer.");
    let mut bob = machines.chat(&["--session", &name], "there", "bob", &[]);
    bob.shows("cannot be reached from here");
    bob.shows(&format!("process {} on ", ann.process()));
    bob.types("@max do you hear me?\r");
    bob.shows("not sent");
    ann.types("@bob hello\r");
    bob.shows("ann: @bob hello");
    bob.types("/takeover\r");
    bob.shows("still has the right to run the session");
    ann.types("@bob good bye\r");
    bob.shows("ann: @bob good bye");
    ann.types("\x04");
    assert_eq!(ann.ends().0, 0);
    bob.shows("Nobody runs this session now");
    bob.types("/takeover\r");
    bob.shows("This chat now runs session");
    bob.types("@max hello again\r");
    bob.has_answered("Another answer.");
}

#[test]
fn when_a_machine_is_killed_another_takes_over_at_once_and_no_turn_runs_twice() {
    let Some(machines) = Machines::new() else { return };
    let name = name("kill");
    let mut ann = machines.chat(&["--new", &name], "here", "ann", &[]);
    ann.shows("> ");
    ann.types("@slow count\r");
    let agent = machines.agent();
    let bob = machines.chat(&["--session", &name], "there", "bob", &["--take-over"]);
    bob.shows("cannot be reached from here");
    signal("-KILL", ann.process());
    bob.shows("This chat now runs session");
    bob.shows("interrupted");
    wait_until("the end of the agent", || !is_alive(&agent));
    machines.assert_one_turn(&name);
}

#[test]
fn a_paused_machine_is_replaced_after_its_lease_and_cannot_write_when_it_goes_on() {
    let Some(machines) = Machines::new() else { return };
    let name = name("pause");
    let mut ann = machines.chat(&["--new", &name], "here", "ann", &[]);
    ann.shows("> ");
    ann.types("@slow count\r");
    ann.shows("count 3 of many");
    let agent = machines.agent();
    let mut bob = machines.chat(&["--session", &name], "there", "bob", &["--take-over"]);
    bob.shows("cannot be reached from here");
    signal("-STOP", ann.process());
    bob.shows("This chat now runs session");
    bob.shows("interrupted");
    // The agent of the paused process ends, although its driver cannot stop it.
    wait_until("the end of the agent", || !is_alive(&agent));
    signal("-CONT", ann.process());
    let (code, screen, _) = ann.ends();
    assert_ne!(code, 0, "{screen}");
    assert!(screen.contains("another process runs this session now"), "{screen}");
    bob.types("@max hello\r");
    bob.has_answered("An answer.");
    machines.assert_one_turn(&name);
}

#[test]
fn a_paused_machine_that_goes_on_leaves_the_worktree_in_which_another_works() {
    let Some(machines) = Machines::new() else { return };
    let (name, project) = (name("worktree"), machines.workspace.path());
    for arguments in [
        &["init", "--quiet"][..],
        &["add", "writer.sh"],
        &["-c", "user.name=Ann", "-c", "user.email=a@b.c", "commit", "--quiet", "-m", "one"],
    ] {
        assert!(
            Command::new("git").current_dir(project).args(arguments).status().unwrap().success()
        );
    }
    std::fs::create_dir(project.join("turns")).unwrap();
    let mut ann = machines.chat(&["--new", &name], "here", "ann", &[]);
    ann.shows("> ");
    ann.types("@writer one\r");
    wait_until("the first turn", || project.join("turns/0").exists());
    signal("-STOP", ann.process());
    let mut bob = Command::new(env!("CARGO_BIN_EXE_tertulia"));
    bob.args(["run", "--trust", "--session", &name, "--as", "bob", "--store", &machines.store]);
    bob.arg("@writer two").current_dir(project).env_remove("XDG_RUNTIME_DIR");
    bob.env("TERTULIA_HOME", project.join("here")).stdout(std::process::Stdio::piped());
    let mut running = bob.spawn().unwrap();
    wait_until("the second turn", || {
        // The lease of the paused machine lasts for a while.
        if running.try_wait().unwrap().is_some() {
            running = bob.spawn().unwrap();
        }
        project.join("turns/1").exists()
    });
    signal("-CONT", ann.process());
    let (code, screen, _) = ann.ends();
    assert_ne!(code, 0, "{screen}");
    std::fs::write(project.join("go"), "").unwrap();
    let output = running.wait_with_output().unwrap();
    let answer = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && answer.contains("mine"), "{output:?}");
}

#[test]
fn the_agent_that_waits_for_a_paused_machine_ends_before_its_session_is_continued() {
    let Some(machines) = Machines::new() else { return };
    let name = name("warm");
    let mut ann = machines.chat(&["--new", &name], "here", "ann", &[]);
    ann.shows("> ");
    // The process starts in the first turn, and waits after the second one.
    ann.types("@warm one\r");
    ann.has_answered("warm answer 1.");
    ann.types("@warm two\r");
    ann.has_answered("warm answer 2.");
    let starts = || {
        let starts = std::fs::read_to_string(machines.workspace.path().join("native/starts"));
        let starts = starts.unwrap_or_default();
        starts.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let [start] = &starts()[..] else { panic!("{:?}", starts()) };
    let agent = start.split(' ').next().unwrap().to_owned();
    assert!(is_alive(&agent));
    let mut bob = machines.chat(&["--session", &name], "there", "bob", &["--take-over"]);
    bob.shows("cannot be reached from here");
    signal("-STOP", ann.process());
    bob.shows("This chat now runs session");
    assert!(!is_alive(&agent), "it would use the session, too");
    bob.types("@warm three\r");
    bob.has_answered("warm answer 3.");
    let starts = starts();
    assert_eq!(starts.len(), 2, "{starts:?}");
    assert!(starts[1].contains("--resume 11111111-"), "{starts:?}");
    signal("-CONT", ann.process());
    let (code, screen, _) = ann.ends();
    assert_ne!(code, 0, "{screen}");
}
