//! A folder with a home, a team file and a store, a model server, and the program to test.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;
use tertulia_fake_models::{Asked, FakeModels, Script, Step};
use tertulia_session::{EntryKind, TurnState};
use tertulia_store::{ListFilter, Range, SessionStore, StoreUrl};

use crate::agents::Agent;

/// The files of a team and the model server that its agents use.
pub(crate) struct Workspace {
    pub(crate) models: FakeModels,
    folder: TempDir,
    /// Additional environment variables.
    variables: Vec<(&'static str, String)>,
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) answers: String,
    pub(crate) talk: String,
}

impl Workspace {
    /// Creates a workspace with a team of the three programs, which the team file configures for the server.
    pub(crate) fn new() -> Self {
        let workspace = Self::empty();
        let team = team_file(&workspace.models.url(), &workspace.path("home"));
        std::fs::write(workspace.path("work/tertulia.toml"), team).unwrap();
        workspace
    }

    /// Same as [`Self::new`], but other members take over for the author.
    pub(crate) fn with_fallbacks() -> Self {
        let workspace = Self::new();
        let file = workspace.path("work/tertulia.toml");
        let team = std::fs::read_to_string(&file).unwrap();
        let agent = "agent = \"claude\"\n";
        let fallback = format!("{agent}fallback = [\"eva\", \"leo\"]\n");
        std::fs::write(file, team.replace(agent, &fallback)).unwrap();
        workspace
    }

    /// Creates a workspace with a team of Claude Code, Codex, opencode and an agent of the Agent Client Protocol, which
    /// all have this memory.
    pub(crate) fn of_four(memory: &str) -> Self {
        let workspace = Self::empty();
        let (url, home) = (workspace.models.url(), workspace.path("home"));
        let (three, open) = (team_file(&url, &home), open_team_file(&url, &home));
        let member = |file: &str, name: &str| {
            let is_named = |text: &&str| text.starts_with(&format!("name = \"{name}\""));
            file.split("[[member]]\n").find(is_named).unwrap().to_owned()
        };
        let opencode = member(&open, "max").replace("name = \"max\"", "name = \"leo\"");
        let model = super::GEMINI;
        let acp = member(&three, "leo").replace("name = \"leo\"", "name = \"kim\"").replace(
            &format!("agent = \"gemini\"\nmodel = \"{model}\""),
            &format!(
                "agent = \"acp\"\ncommand = [\"gemini\", \"--acp\", \"--model\", \"{model}\"]"
            ),
        );
        let mut team = "[limits]\nturns = 100\npair = 100\n\n".to_owned();
        for text in
            [member(&three, "ann"), member(&three, "max"), member(&three, "eva"), opencode, acp]
        {
            let (name, rest) = text.split_once('\n').unwrap();
            let memory = match name.contains("ann") {
                true => String::new(),
                false => format!("memory = \"{memory}\"\nwindow = 1000\nbudget_bytes = 2000000\n"),
            };
            team.push_str(&format!(
                "[[member]]\n{name}\n{memory}{}",
                rest.replace("budget_bytes = 786432\n", "")
            ));
        }
        std::fs::write(workspace.path("work/tertulia.toml"), team).unwrap();
        workspace
    }

    /// Creates a workspace with a team of opencode, Copilot CLI and pi.
    pub(crate) fn of_open_programs() -> Self {
        let workspace = Self::empty();
        let (url, home) = (workspace.models.url(), workspace.path("home"));
        std::fs::create_dir_all(home.join(".pi/agent")).unwrap();
        std::fs::write(home.join(".pi/agent/models.json"), pi_settings(&url)).unwrap();
        std::fs::write(workspace.path("work/tertulia.toml"), open_team_file(&url, &home)).unwrap();
        workspace
    }

    /// Creates a workspace without a team file, on a machine with Claude Code and Codex alone. The user has
    /// configured them for the server.
    pub(crate) fn of_a_new_user() -> Self {
        let mut workspace = Self::empty();
        let url = workspace.models.url();
        std::fs::create_dir_all(workspace.path("home/.codex")).unwrap();
        std::fs::write(workspace.path("home/.codex/config.toml"), codex_settings(&url)).unwrap();
        let bin = workspace.path("bin");
        std::fs::create_dir(&bin).unwrap();
        for program in ["claude", "codex", "node"] {
            std::os::unix::fs::symlink(found(program), bin.join(program)).unwrap();
        }
        workspace.variables = vec![
            ("PATH", format!("{}:/usr/bin:/bin", bin.display())),
            ("USER", "ann".to_owned()),
            ("ANTHROPIC_BASE_URL", url),
            ("ANTHROPIC_API_KEY", "sk-ant-invented".to_owned()),
            ("ANTHROPIC_MODEL", super::CLAUDE.to_owned()),
            ("CLAUDE_CODE_MAX_RETRIES", "0".to_owned()),
            ("OPENAI_API_KEY", "sk-invented".to_owned()),
        ];
        workspace
    }

    /// Creates a workspace without a team file, on a machine with all programs. The user has configured each for
    /// the server.
    pub(crate) fn of_all_programs() -> Self {
        let mut workspace = Self::empty();
        let url = workspace.models.url();
        for agent in Agent::ALL {
            agent.write_settings(&url, &workspace.path("home"));
        }
        // A handover to opencode runs the command of opencode.
        workspace.variables = Agent::Opencode.variables(&url);
        workspace
    }

    /// Asks an agent directly, in a new or in an existing session.
    pub(crate) fn ask(&self, agent: Agent, session: Option<&str>, prompt: &str) -> Run {
        agent.ask(self.folder.path(), &self.models.url(), session, prompt)
    }

    fn empty() -> Self {
        let models = FakeModels::start(Script::new([Step::Echo])).expect("a server on loopback");
        let home = std::env::var_os("HOME").expect("run by `cargo xtask agents`");
        let folder = tempfile::Builder::new().prefix("team-").tempdir_in(home).expect("a folder");
        for name in ["home/.gemini", "work", "data"] {
            std::fs::create_dir_all(folder.path().join(name)).expect("a folder");
        }
        let settings = r#"{"security":{"auth":{"selectedType":"gemini-api-key"}},
            "general":{"maxAttempts":1,"enableAutoUpdate":false},
            "privacy":{"usageStatisticsEnabled":false}}"#;
        std::fs::write(folder.path().join("home/.gemini/settings.json"), settings).unwrap();
        Self { models, folder, variables: Vec::new() }
    }

    /// Sets the steps of a model.
    pub(crate) fn does(&self, model: &str, steps: impl IntoIterator<Item = Step>) {
        self.models.script_for(model, Script::new(steps));
    }

    /// Writes a file into the folder that the agents work in.
    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path("work").join(name), text).unwrap();
    }

    /// Returns the requests to a model, oldest first.
    pub(crate) fn asked(&self, model: &str) -> Vec<Asked> {
        let asked = self.models.asked().into_iter();
        asked.filter(|one| one.model.contains(model)).collect()
    }

    /// Sets the answer of a model.
    pub(crate) fn says(&self, model: &str, text: &str) {
        self.models.script_for(model, Script::new([Step::text(text)]));
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tertulia"));
        command.args(words).current_dir(self.path("work")).env("HOME", self.path("home"));
        command.env("TERTULIA_HOME", self.path("data"));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Run {
        self.run_with_input(words, "")
    }

    /// Runs any command of the program.
    pub(crate) fn tertulia(&self, words: &[&str]) -> Run {
        let mut child = self.command(words).spawn().unwrap();
        drop(child.stdin.take());
        finish(child, String::new())
    }

    pub(crate) fn run_with_input(&self, words: &[&str], input: &str) -> Run {
        let mut child = self.command(&[&["run", "--trust"], words].concat()).spawn().unwrap();
        // It may end before it has read everything; its output contains the reason.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        finish(child, String::new())
    }

    /// Runs with events, and interrupts after two pieces of text.
    pub(crate) fn interrupt_after_text(&self, words: &[&str]) -> Run {
        let words = [&["run", "--trust", "--json"], words].concat();
        let mut child = self.command(&words).spawn().unwrap();
        drop(child.stdin.take());
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut answers = String::new();
        let mut pieces = 0;
        while pieces < 2 {
            let mut line = String::new();
            assert_ne!(lines.read_line(&mut line).unwrap(), 0, "no text came: {answers}");
            answers.push_str(&line);
            pieces += usize::from(line.contains(r#""type":"text""#) && line.contains("word"));
        }
        let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(kill.unwrap().success());
        lines.read_to_string(&mut answers).unwrap();
        finish(child, answers)
    }

    /// Returns all messages of the newest session.
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

    /// Returns the last turn of a member that started in the newest session.
    pub(crate) fn turn_of(&self, member: &str) -> String {
        let store = StoreUrl::Sqlite(self.path("data/sessions.db"));
        let store = SessionStore::open(&store).unwrap();
        let session = store.list(&ListFilter::default()).unwrap().remove(0).id;
        let entries = store.load(&session, &Range::Branch { tail: None, limit: None }).unwrap();
        let is_start = |kind: &EntryKind| {
            matches!(kind, EntryKind::Turn(turn)
                if turn.state == TurnState::Started && *turn.member == *member)
        };
        let start = entries.iter().rev().find(|stored| is_start(&stored.entry.kind));
        start.unwrap().entry.id.as_str().to_owned()
    }

    /// Returns whether the machine decides the same again from the log.
    pub(crate) fn replay_is_equal(&self) -> bool {
        let store = StoreUrl::Sqlite(self.path("data/sessions.db"));
        let store = SessionStore::open(&store).unwrap();
        let session = store.list(&ListFilter::default()).unwrap().remove(0).id;
        drop(store);
        self.command(&["replay", session.as_str()]).status().unwrap().success()
    }

    /// Returns the processes that use this home.
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

pub(crate) fn finish(child: Child, before: String) -> Run {
    let output = child.wait_with_output().unwrap();
    let answers = before + &String::from_utf8_lossy(&output.stdout);
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    Run { code: output.status.code(), answers, talk }
}

/// Returns the path of a program on the PATH of the tests.
fn found(program: &str) -> PathBuf {
    let path = std::env::var_os("PATH").expect("run by `cargo xtask agents`");
    let found = std::env::split_paths(&path).map(|folder| folder.join(program));
    found.into_iter().find(|file| file.is_file()).expect(program)
}

fn provider(url: &str, key: &str) -> String {
    format!(
        "{{name=\"invented\",base_url=\"{url}/v1\",env_key=\"{key}\",wire_api=\"responses\",\
         request_max_retries=0,stream_max_retries=0}}"
    )
}

/// Returns Codex's own settings.
pub(crate) fn codex_settings(url: &str) -> String {
    let provider = provider(url, "OPENAI_API_KEY");
    let model = super::CODEX;
    format!(
        "model = \"{model}\"\nmodel_provider = \"invented\"\nmodel_providers.invented = {provider}\n\
         analytics.enabled = false\nfeatures = {{ plugins = false, apps = false }}\n"
    )
}

/// Returns pi's own settings.
pub(crate) fn pi_settings(url: &str) -> String {
    let model = super::PI;
    format!(
        r#"{{"providers":{{"invented":{{"baseUrl":"{url}/v1","apiKey":"invented",
            "api":"openai-completions","models":[{{"id":"{model}"}}]}}}}}}"#
    )
}

/// Returns opencode, Copilot CLI and pi, configured for the server as users would do it, with invented keys.
fn open_team_file(url: &str, home: &Path) -> String {
    let home = home.to_str().expect("a path in UTF-8");
    let (opencode, copilot, pi) = (super::OPENCODE, super::COPILOT, super::PI);
    format!(
        r#"
[[member]]
name = "ann"
kind = "human"

[[member]]
name = "max"
role = "author: writes code"
agent = "opencode"
model = "invented/{opencode}"
[member.env]
HOME = "{home}"
OPENCODE_DISABLE_MODELS_FETCH = "1"
OPENCODE_CONFIG_CONTENT = '{{"provider":{{"invented":{{"npm":"@ai-sdk/openai-compatible","options":{{"baseURL":"{url}/v1","apiKey":"invented"}},"models":{{"{opencode}":{{}}}}}}}}}}'

[[member]]
name = "eva"
role = "reviewer: looks for bugs"
agent = "copilot"
model = "{copilot}"
[member.env]
HOME = "{home}"
COPILOT_PROVIDER_BASE_URL = "{url}/v1"
COPILOT_PROVIDER_API_KEY = "invented"
COPILOT_OFFLINE = "true"

[[member]]
name = "leo"
role = "researcher: reads documents"
agent = "pi"
model = "invented/{pi}"
[member.env]
HOME = "{home}"
PI_OFFLINE = "1"
"#
    )
}

/// Returns the three programs, configured for the server as users would do it, with invented keys.
fn team_file(url: &str, home: &Path) -> String {
    let home = home.to_str().expect("a path in UTF-8");
    let provider = format!("model_providers.invented={}", provider(url, "INVENTED_KEY"));
    format!(
        r#"
[[member]]
name = "ann"
kind = "human"

[[member]]
name = "max"
role = "author: designs the change and writes it"
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
role = "reviewer: looks for bugs"
agent = "codex"
budget_bytes = 786432
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
role = "researcher: reads documents"
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
