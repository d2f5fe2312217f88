//! A folder with a home, a team file and a store, a model server, and the program to try.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;
use tertulia_fake_models::{FakeModels, Script, Step};
use tertulia_session::EntryKind;
use tertulia_store::{ListFilter, Range, SessionStore, StoreUrl};

/// All that a table needs.
pub(crate) struct House {
    pub(crate) models: FakeModels,
    folder: TempDir,
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    #[expect(dead_code, reason = "shown when a test fails")]
    pub(crate) answers: String,
    pub(crate) talk: String,
}

impl House {
    pub(crate) fn new() -> Self {
        let models = FakeModels::start(Script::of([Step::Echo])).expect("a server on loopback");
        let home = std::env::var_os("HOME").expect("run by `cargo xtask agents`");
        let folder = tempfile::Builder::new().prefix("table-").tempdir_in(home).expect("a folder");
        for name in ["home/.gemini", "work", "data"] {
            std::fs::create_dir_all(folder.path().join(name)).expect("a folder");
        }
        let settings = r#"{"security":{"auth":{"selectedType":"gemini-api-key"}},
            "general":{"maxAttempts":1,"enableAutoUpdate":false},
            "privacy":{"usageStatisticsEnabled":false}}"#;
        std::fs::write(folder.path().join("home/.gemini/settings.json"), settings).unwrap();
        let team = team_file(&models.url(), &folder.path().join("home"));
        std::fs::write(folder.path().join("work/tertulia.toml"), team).unwrap();
        Self { models, folder }
    }

    /// What a model answers.
    pub(crate) fn says(&self, model: &str, text: &str) {
        self.models.script_for(model, Script::of([Step::text(text)]));
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tertulia"));
        command.args(words).current_dir(self.path("work")).env("HOME", self.path("home"));
        command.env("TERTULIA_HOME", self.path("data"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Run {
        self.run_with_input(words, "")
    }

    pub(crate) fn run_with_input(&self, words: &[&str], input: &str) -> Run {
        let mut child = self.command(&[&["run", "--trust"], words].concat()).spawn().unwrap();
        // It may end before it has read all; what it says tells why.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        finish(child, String::new())
    }

    /// Runs with events, and interrupts as soon as a piece of text comes.
    pub(crate) fn interrupt_after_text(&self, words: &[&str]) -> Run {
        let words = [&["run", "--trust", "--json"], words].concat();
        let mut child = self.command(&words).spawn().unwrap();
        drop(child.stdin.take());
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut answers = String::new();
        loop {
            let mut line = String::new();
            assert_ne!(lines.read_line(&mut line).unwrap(), 0, "no text came: {answers}");
            answers.push_str(&line);
            if line.contains(r#""type":"text""#) && line.contains("word") {
                break;
            }
        }
        let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(kill.unwrap().success());
        lines.read_to_string(&mut answers).unwrap();
        finish(child, answers)
    }

    /// Everything that was said in the newest session.
    pub(crate) fn said(&self) -> Vec<String> {
        let store = StoreUrl::Sqlite(self.path("data/sessions.db"));
        let store = SessionStore::open(&store).unwrap();
        let session = store.list(&ListFilter::default()).unwrap().remove(0).id;
        let said = store.load(&session, &Range::Branch { tail: None, limit: None }).unwrap();
        let text = |kind: &EntryKind| match kind {
            EntryKind::Message(message) => {
                let speaker = message.speaker.as_ref().unwrap();
                Some(format!("{}: {}", speaker.role_name, message.text()))
            }
            _ => None,
        };
        said.iter().filter_map(|stored| text(&stored.entry.kind)).collect()
    }

    /// Whether the machine decides the same again from the log.
    pub(crate) fn replay_is_equal(&self) -> bool {
        let store = StoreUrl::Sqlite(self.path("data/sessions.db"));
        let store = SessionStore::open(&store).unwrap();
        let session = store.list(&ListFilter::default()).unwrap().remove(0).id;
        drop(store);
        self.command(&["replay", session.as_str()]).status().unwrap().success()
    }

    /// The processes that know this home.
    pub(crate) fn processes(&self) -> Vec<String> {
        let home = self.path("home");
        let home = home.to_str().unwrap();
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap_or_default();
            if !name.bytes().all(|byte| byte.is_ascii_digit()) {
                continue;
            }
            let read = |file: &str| std::fs::read(entry.path().join(file)).unwrap_or_default();
            if String::from_utf8_lossy(&read("environ")).contains(home) {
                let line = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
                found.push(format!("{name}: {line}"));
            }
        }
        found
    }
}

fn finish(child: Child, before: String) -> Run {
    let output = child.wait_with_output().unwrap();
    let answers = before + &String::from_utf8_lossy(&output.stdout);
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    Run { code: output.status.code(), answers, talk }
}

/// The three programs, pointed at the server as their users would, with invented keys.
fn team_file(url: &str, home: &Path) -> String {
    let home = home.to_str().expect("a path in UTF-8");
    let provider = format!(
        "model_providers.invented={{name=\"invented\",base_url=\"{url}/v1\",env_key=\"INVENTED_KEY\",\
         wire_api=\"responses\",request_max_retries=0,stream_max_retries=0}}"
    );
    format!(
        r#"
[[member]]
name = "ann"
kind = "human"

[[member]]
name = "max"
agent = "claude"
model = "{claude}"
instruction = "You are Max."
[member.env]
HOME = "{home}"
ANTHROPIC_BASE_URL = "{url}"
ANTHROPIC_API_KEY = "sk-ant-invented"
CLAUDE_CODE_MAX_RETRIES = "0"
IS_SANDBOX = "1"

[[member]]
name = "eva"
agent = "codex"
model = "{codex}"
args = [
    "-c", "model_provider=invented", "-c", '{provider}',
    "-c", "analytics.enabled=false", "--disable", "plugins", "--disable", "apps",
]
[member.env]
HOME = "{home}"
INVENTED_KEY = "sk-invented"

[[member]]
name = "leo"
agent = "gemini"
model = "{gemini}"
[member.env]
HOME = "{home}"
GOOGLE_GEMINI_BASE_URL = "{url}"
GEMINI_API_KEY = "invented"
"#,
        claude = super::CLAUDE,
        codex = super::CODEX,
        gemini = super::GEMINI,
    )
}
