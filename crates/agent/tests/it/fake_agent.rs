//! A shell script that plays an agent: its folder, its spec, its listener, and the notes that it writes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tertulia_agent::{
    AgentKind, AgentSpec, CancelToken, Containment, Listener, Mentions, PermissionAnswer,
    PermissionRequest, Permissions, Timeouts, TurnReport, TurnRequest, run, run_in_containment,
};
use tertulia_dialect::stream::{Limits, StreamEvent};

/// All containments; where this machine does not support one, a weaker one is used.
pub(crate) const CONTAINMENTS: [Containment; 3] =
    [Containment::ControlGroup, Containment::Supervisor, Containment::Descendants];

/// Turns on supervision for all later turns of this process.
pub(crate) fn set_supervisor() {
    tertulia_agent::set_supervisor(Path::new(env!("CARGO_BIN_EXE_tertulia-supervisor")));
}

/// A script, its working folder, and the folder to which it writes its notes (`$OUT`).
pub(crate) struct FakeAgent {
    folder: TempDir,
}

impl FakeAgent {
    /// Writes the script to a new folder.
    pub(crate) fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["work", "out"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        std::fs::write(folder.path().join("agent.sh"), script).unwrap();
        Self { folder }
    }

    /// Returns a spec that runs the script as an agent of this kind. Timeouts that no test waits for are short;
    /// timeouts that must not expire are long.
    pub(crate) fn spec(&self, kind: AgentKind) -> AgentSpec {
        let long = Duration::from_secs(60);
        let path = |name: &str| self.folder.path().join(name).to_str().unwrap().into();
        AgentSpec {
            kind,
            program: Some("/bin/sh".into()),
            args: vec![path("agent.sh")],
            env: BTreeMap::from([("OUT".into(), path("out"))]),
            model: None,
            cwd: self.folder.path().join("work"),
            permissions: Permissions::Read,
            timeouts: Timeouts {
                first_byte: long,
                silence: long,
                total: long,
                after_final: long,
                grace: Duration::from_millis(500),
            },
            limits: Limits::default(),
            resources: tertulia_agent::ResourceLimits::default(),
        }
    }

    /// Returns whether this machine has a program at this path.
    pub(crate) fn has(path: &str) -> bool {
        Path::new(path).is_file()
    }

    pub(crate) fn out(&self, name: &str) -> PathBuf {
        self.folder.path().join("out").join(name)
    }

    /// Returns the content of a note of the script.
    pub(crate) fn note(&self, name: &str) -> String {
        String::from_utf8(std::fs::read(self.out(name)).unwrap()).unwrap()
    }

    /// Waits for a note and for the end of its line.
    pub(crate) fn await_note(&self, name: &str) -> String {
        let path = self.out(name);
        await_that(|| std::fs::read_to_string(&path).is_ok_and(|note| note.ends_with('\n')));
        self.note(name)
    }
}

/// Waits until a condition is true. Fails if it never is.
pub(crate) fn await_that(mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(120), "it never came to be");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Tries longer and longer times until one is long enough for this machine, which may be busy. Fails if none is. For
/// tests in which a timeout must expire, but only after an agent has reached a certain point.
#[track_caller]
pub(crate) fn with_growing_time(mut is_long_enough: impl FnMut(Duration) -> bool) {
    let times = [300, 1_200, 4_800, 19_200].map(Duration::from_millis);
    assert!(times.into_iter().any(&mut is_long_enough), "no time is long enough");
}

/// Writes an executable file from another process. If this process had the file open for writing, a child that
/// another test starts at that moment would inherit the open file, and the system would refuse to execute it ("text
/// file busy").
pub(crate) fn executable(path: &Path, script: &str) {
    use std::io::Write;
    let mut install = std::process::Command::new("install");
    install.args(["-m", "755", "/dev/stdin"]).arg(path).stdin(std::process::Stdio::piped());
    let mut install = install.spawn().unwrap();
    install.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(install.wait().unwrap().success(), "{}", path.display());
}

/// Records the events of a turn.
#[derive(Default)]
pub(crate) struct RecordingListener {
    pub(crate) events: Vec<StreamEvent>,
    pub(crate) fed: usize,
}

impl Listener for RecordingListener {
    fn fed(&mut self) {
        self.fed += 1;
    }

    fn event(&mut self, event: StreamEvent) {
        self.events.push(event);
    }

    fn permit(&mut self, _request: &PermissionRequest) -> PermissionAnswer {
        PermissionAnswer::Deny
    }
}

impl RecordingListener {
    /// Returns the final text of the recorded events.
    pub(crate) fn final_text(&self) -> Option<&str> {
        self.events.iter().find_map(|event| match event {
            StreamEvent::FinalText { text, .. } => Some(text.as_str()),
            _ => None,
        })
    }
}

pub(crate) fn request(prompt: &str) -> TurnRequest<'_> {
    TurnRequest {
        turn: "t-1",
        number: 0,
        prompt,
        mentions: Mentions::none(),
        system: None,
        body: None,
        memory: tertulia_agent::Memory::Fresh,
        message_start: 0,
    }
}

/// Runs a turn to its end.
pub(crate) fn play(spec: &AgentSpec, prompt: &str) -> TurnReport {
    set_supervisor();
    run(spec, &request(prompt), &CancelToken::new(), &mut RecordingListener::default())
}

/// Runs a turn in this containment.
pub(crate) fn run_contained(
    containment: Containment,
    spec: &AgentSpec,
    cancel: &CancelToken,
) -> TurnReport {
    set_supervisor();
    run_in_containment(containment, spec, &request("go"), cancel, &mut RecordingListener::default())
}

/// Returns the answer of a turn. Fails if the turn has failed.
pub(crate) fn answer(report: &TurnReport) -> &str {
    assert_eq!(report.output.error, None);
    &report.output.final_text.as_ref().unwrap().text
}

/// Returns the class and the message of a failed turn. Fails if the turn has succeeded.
pub(crate) fn failure(report: &TurnReport) -> (&'static str, &str) {
    let error = report.output.error.as_ref().unwrap();
    (error.class.as_str(), &error.message)
}

/// Returns whether a process exists and is not a zombie.
pub(crate) fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat"));
    stat.is_ok_and(|stat| !stat.rsplit_once(')').unwrap().1.trim_start().starts_with('Z'))
}

/// Runs a test again in a separate process whose environment has only these variables. Returns whether we are that
/// process. The first process waits for it and fails if it fails.
pub(crate) fn is_in_own_process(test: &str, variables: &[(&str, &str)]) -> bool {
    const INNER: &str = "STAGE_INNER";
    if std::env::var_os(INNER).is_some() {
        return true;
    }
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env_clear();
    command.envs(variables.iter().copied()).env(INNER, "1");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
    false
}
