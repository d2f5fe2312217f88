//! A run whose agent keeps its own session is killed at any moment: the next run knows what the agent has. Nothing is
//! lost, nothing is delivered twice, and no process is left. `TERTULIA_KILLS` sets the number of kills.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::workspace::{CommandOutput, Workspace, is_alive, wait_until};

const KILLS: u64 = 12;
/// The kills are spread over this time after the start.
const SPREAD_MICROS: u64 = 250_000;

const TEAM: &str = r#"
[[member]]
name = "ann"
kind = "human"

[[member]]
name = "max"
agent = "pi"
command = ["/bin/sh", "./pi.sh"]
window = 100000
budget_bytes = 1000000000
env = { PI_CODING_AGENT_SESSION_DIR = "FOLDER" }

[limits]
turns = 100000
"#;

/// Writes its process id before it starts, so that a test can look for it.
const PI: &str = concat!(
    "echo $$ >>\"$PI_CODING_AGENT_SESSION_DIR/pids\"\n",
    include_str!("../../../team/tests/it/fake_pi.sh"),
);

struct Talk {
    workspace: Workspace,
    said: usize,
}

impl Talk {
    fn new() -> Self {
        let workspace = Workspace::empty();
        let folder = workspace.root().join("native");
        std::fs::create_dir(&folder).unwrap();
        workspace.write("tertulia.toml", &TEAM.replace("FOLDER", folder.to_str().unwrap()));
        workspace.write("pi.sh", PI);
        workspace.exits(0, &["run", "Hello @max", "--trust", "--new", "talk"]);
        Self { workspace, said: 0 }
    }

    fn message(&mut self) -> String {
        self.said += 1;
        format!("token{}x, @max", self.said)
    }

    /// Starts a run, and kills it after this time.
    fn kill(&mut self, after: Duration) {
        let message = self.message();
        let mut child = self.workspace.start(&["run", &message, "--session", "talk"]);
        drop(child.stdin.take());
        std::thread::sleep(after);
        // It may have ended already.
        let _ = child.kill();
        CommandOutput::wait(child);
        let pids = std::fs::read_to_string(self.folder().join("pids")).unwrap();
        let last = pids.lines().last().unwrap().to_owned();
        wait_until("the end of the agent", || !is_alive(&last));
    }

    fn folder(&self) -> PathBuf {
        self.workspace.root().join("native")
    }

    /// Returns the prompts of each session of the agent, without messages that are marked as repeated.
    fn prompts(&self) -> BTreeMap<String, String> {
        let mut sessions: BTreeMap<String, String> = BTreeMap::new();
        for file in std::fs::read_dir(self.folder()).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|end| end != "prompt") {
                continue;
            }
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let session = name.split('.').next().unwrap().to_owned();
            let prompt = std::fs::read_to_string(&path).unwrap();
            let new = prompt.split(", repeated]").next().unwrap();
            sessions.entry(session).or_default().push_str(new);
        }
        sessions
    }

    /// Runs a turn to its end, and checks what the agent got.
    fn check(&mut self) {
        let message = self.message();
        self.workspace.exits(0, &["run", &message, "--session", "talk"]);
        let sessions = self.prompts();
        for (session, prompts) in &sessions {
            for number in 1..=self.said {
                let count = prompts.matches(&format!("token{number}x")).count();
                assert!(count <= 1, "token{number}x is {count} times in {session}");
            }
        }
        let entries = self.workspace.entries();
        let last = entries.iter().rev().find_map(|entry| {
            let payload = &entry["payload"];
            payload["nativeHead"].is_object().then(|| payload["nativeSessionId"].clone())
        });
        let last = &sessions[last.unwrap().as_str().unwrap()];
        for entry in entries.iter().filter(|entry| entry["type"] == "message") {
            let is_token = |word: &&str| word.starts_with("token");
            let text = text_of(entry);
            let Some(token) = text.split(',').next().filter(is_token) else { continue };
            assert_eq!(last.matches(&format!("{token},")).count(), 1, "{token} in {last}");
        }
    }
}

fn text_of(entry: &Value) -> String {
    entry["payload"]["parts"][0]["payload"]["text"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn after_any_kill_the_agent_has_every_message_once() {
    let kills = std::env::var("TERTULIA_KILLS").ok().and_then(|count| count.parse().ok());
    let mut talk = Talk::new();
    for number in 0..kills.unwrap_or(KILLS) {
        // The golden ratio spreads the moments evenly, however many there are.
        let micros = number.wrapping_mul(11_400_714_819_323_198_485) >> 32;
        talk.kill(Duration::from_micros((micros * SPREAD_MICROS) >> 32));
        if number % 4 == 3 {
            talk.check();
        }
    }
    talk.check();
    let turns = talk.workspace.entries();
    let continues = |entry: &&Value| entry["payload"]["memory"]["deliveredId"].is_string();
    assert!(turns.iter().any(|entry| continues(&entry)), "no turn continued a session");
}
