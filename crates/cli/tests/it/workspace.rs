//! A folder with its own team file, store and home, in which the real command runs. The tests do not use any files
//! of the machine's user.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The folder of one test.
pub(crate) struct Workspace {
    folder: tempfile::TempDir,
}

/// The output and the exit code of a command.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Workspace {
    /// Creates a workspace with this team file.
    pub(crate) fn new(team: &str) -> Self {
        let workspace = Self::empty();
        workspace.write("tertulia.toml", team);
        workspace
    }

    /// Creates a workspace without a team file.
    pub(crate) fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["work", "home", "data", "bin"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    /// Returns the working folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("work").join(name)
    }

    /// Returns the folder that contains everything.
    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Creates a program in `PATH`.
    pub(crate) fn program(&self, name: &str, script: &str) {
        executable(&self.root().join("bin").join(name), &format!("#!/bin/sh\n{script}\n"));
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command =
            Command::new(std::path::absolute(env!("CARGO_BIN_EXE_tertulia")).unwrap());
        let bin = self.root().join("bin");
        command
            .args(arguments)
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
            .env("HOME", self.root().join("home"))
            .env("TERTULIA_HOME", self.root().join("data"))
            .env("LANG", "C.UTF-8")
            .current_dir(self.path(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).spawn().unwrap()
    }

    /// Runs the command with this standard input.
    pub(crate) fn tertulia_with(&self, arguments: &[&str], stdin: &[u8]) -> CommandOutput {
        CommandOutput::from(feed(self.start(arguments), stdin))
    }

    pub(crate) fn tertulia(&self, arguments: &[&str]) -> CommandOutput {
        self.tertulia_with(arguments, b"")
    }

    /// The same, with this exit code.
    #[track_caller]
    pub(crate) fn exits(&self, code: i32, arguments: &[&str]) -> CommandOutput {
        let output = self.tertulia(arguments);
        assert_eq!(output.code, Some(code), "{output:#?}");
        output
    }

    /// Returns the newest session's id.
    pub(crate) fn session(&self) -> String {
        let listed = self.exits(0, &["sessions", "list", "--json"]).stdout;
        let first: Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
        first["sessionId"].as_str().unwrap().to_owned()
    }

    /// Returns all entries of the newest session.
    pub(crate) fn entries(&self) -> Vec<Value> {
        let log = self.exits(0, &["sessions", "export", &self.session()]).stdout;
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns the speakers and texts of the newest session.
    pub(crate) fn said(&self) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let entries = self.entries();
        let messages = entries.iter().filter(|entry| entry["type"] == "message");
        messages
            .map(|entry| {
                let payload = &entry["payload"];
                let parts = payload["parts"].as_array().unwrap();
                let words = parts.iter().map(|part| text(&part["payload"]["text"]));
                (text(&payload["speaker"]["roleId"]), words.collect())
            })
            .collect()
    }

    /// Returns the states of all turns, in order: member and state.
    pub(crate) fn turns(&self) -> Vec<String> {
        let entries = self.entries();
        let turns = entries.iter().filter(|entry| entry["type"] == "turn");
        turns
            .map(|entry| {
                let payload = &entry["payload"];
                let word = |name: &str| payload[name].as_str().unwrap_or_default().to_owned();
                format!("{} {}", word("member"), word("state"))
            })
            .collect()
    }
}

impl CommandOutput {
    pub(crate) fn wait(child: Child) -> Self {
        Self::from(child.wait_with_output().unwrap())
    }

    pub(crate) fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Returns the lines of standard output as JSON.
    pub(crate) fn json(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Writes the standard input of a process and waits for its output. The process may end or write before it has read
/// everything; the test checks only the output.
pub(crate) fn feed(mut child: Child, input: &[u8]) -> Output {
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || tell(&mut stdin, input));
        child.wait_with_output().unwrap()
    })
}

/// Writes to a process that may have already ended. The test checks its output, which contains the reason.
#[track_caller]
pub(crate) fn tell(stdin: &mut impl Write, bytes: &[u8]) {
    match stdin.write_all(bytes).and_then(|()| stdin.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => panic!("{error}"),
        _ => {}
    }
}

/// Writes a program file with another process. If this process had the file open for writing, a child that another
/// test starts at that moment would also have it open, and the system would refuse to execute it ("text file
/// busy").
pub(crate) fn executable(path: &Path, script: &str) {
    let mut install = Command::new("install");
    install.args(["-m", "755", "/dev/stdin"]).arg(path).stdin(Stdio::piped());
    let output = feed(install.spawn().unwrap(), script.as_bytes());
    assert!(output.status.success(), "{}", path.display());
}

/// A time limit that is long enough for a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

/// Waits until a condition holds; fails if that takes too long.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut is_true: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_true() {
        assert!(began.elapsed() < LIMIT, "waited too long for: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until a script has written its process id, and returns it.
#[track_caller]
pub(crate) fn pid_in(path: &Path) -> String {
    let read = || std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    wait_until("the agent's process id", || !read().is_empty());
    read()
}

/// Returns whether a process with this id exists and is not a zombie.
pub(crate) fn is_alive(pid: &str) -> bool {
    state_of(pid).is_some_and(|state| state != 'Z' && state != 'X')
}

/// Returns the state of a process, as the system reports it: `T` means stopped.
fn state_of(pid: &str) -> Option<char> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status.rsplit(") ").next().and_then(|rest| rest.chars().next())
}

/// Sends several signals that arrive at the same moment, because the process is stopped meanwhile.
pub(crate) fn signals_at_once(names: &[&str], pid: u32) {
    signal("-STOP", pid);
    wait_until("a stopped process", || state_of(&pid.to_string()) == Some('T'));
    for name in names {
        signal(name, pid);
    }
    signal("-CONT", pid);
}

/// Sends a signal.
pub(crate) fn signal(name: &str, pid: u32) {
    let status = Command::new("kill").args([name, &pid.to_string()]).status().unwrap();
    assert!(status.success());
}
