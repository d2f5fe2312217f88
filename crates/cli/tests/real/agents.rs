//! Runs the agent programs alone, as in a user's script: configures each for the model server, asks it, and asks
//! again in an existing session.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::workspace::{Run, codex_settings, finish, pi_settings};
use crate::{CLAUDE, CODEX, COPILOT, GEMINI, GEMINI_ASKED, OPENCODE, PI};

/// An agent program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agent {
    Claude,
    Codex,
    Gemini,
    Opencode,
    Copilot,
    Pi,
}

/// Variables of a process.
type Variables = Vec<(&'static str, String)>;

/// The time, in seconds, after which a program is ended.
const LIMIT: &str = "300";

impl Agent {
    /// All agents. Each one's session is handed over to the next one and back.
    pub(crate) const ALL: [Self; 6] =
        [Self::Claude, Self::Codex, Self::Gemini, Self::Opencode, Self::Copilot, Self::Pi];

    /// Returns its name in commands.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Copilot => "copilot",
            Self::Pi => "pi",
        }
    }

    /// Returns the next agent.
    pub(crate) fn next(self) -> Self {
        let mut all = Self::ALL.into_iter().cycle();
        all.find(|one| *one == self);
        all.next().unwrap_or(self)
    }

    /// Returns the model that it uses.
    pub(crate) fn model(self) -> &'static str {
        match self {
            Self::Claude => CLAUDE,
            Self::Codex => CODEX,
            Self::Gemini => GEMINI_ASKED,
            Self::Opencode => OPENCODE,
            Self::Copilot => COPILOT,
            Self::Pi => PI,
        }
    }

    /// Writes its settings files.
    pub(crate) fn write_settings(self, url: &str, home: &Path) {
        let (folder, file, text) = match self {
            Self::Codex => (".codex", "config.toml", codex_settings(url)),
            Self::Pi => (".pi/agent", "models.json", pi_settings(url)),
            Self::Claude | Self::Gemini | Self::Opencode | Self::Copilot => return,
        };
        std::fs::create_dir_all(home.join(folder)).unwrap();
        std::fs::write(home.join(folder).join(file), text).unwrap();
    }

    /// Returns the variables that configure it for the server.
    pub(crate) fn variables(self, url: &str) -> Variables {
        let text = str::to_owned;
        match self {
            Self::Claude => vec![
                ("ANTHROPIC_BASE_URL", text(url)),
                ("ANTHROPIC_API_KEY", text("sk-ant-invented")),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", text("1")),
                ("CLAUDE_CODE_MAX_RETRIES", text("0")),
                // In the isolated network it may run as root.
                ("IS_SANDBOX", text("1")),
            ],
            Self::Codex => vec![("OPENAI_API_KEY", text("sk-invented"))],
            Self::Gemini => vec![
                ("GOOGLE_GEMINI_BASE_URL", text(url)),
                ("GEMINI_API_KEY", text("invented")),
                ("GEMINI_CLI_NO_RELAUNCH", text("true")),
            ],
            Self::Opencode => vec![
                ("OPENCODE_CONFIG_CONTENT", opencode_settings(url)),
                ("OPENCODE_DISABLE_AUTOUPDATE", text("1")),
                ("OPENCODE_DISABLE_MODELS_FETCH", text("1")),
            ],
            Self::Copilot => vec![
                ("COPILOT_PROVIDER_BASE_URL", format!("{url}/v1")),
                ("COPILOT_PROVIDER_API_KEY", text("invented")),
                ("COPILOT_OFFLINE", text("true")),
            ],
            Self::Pi => vec![("PI_OFFLINE", text("1"))],
        }
    }

    /// Returns the arguments with which it reads the prompt from standard input.
    fn words(self, session: Option<&str>) -> Vec<String> {
        let options = match self {
            Self::Claude => {
                "-p --output-format stream-json --verbose --permission-mode bypassPermissions --model"
            }
            Self::Codex => {
                "exec --json --skip-git-repo-check --sandbox danger-full-access \
                 -c features.unbounded_connection_retries=false -m"
            }
            Self::Gemini => "--skip-trust -o stream-json --approval-mode yolo -m",
            Self::Opencode => "run --format json --auto --model",
            Self::Copilot => {
                "--output-format json --no-color --no-auto-update --no-ask-user --allow-all --model"
            }
            Self::Pi => "--mode json --print --model",
        };
        let model = match self {
            Self::Opencode | Self::Pi => format!("invented/{}", self.model()),
            Self::Gemini => GEMINI.to_owned(),
            Self::Claude | Self::Codex | Self::Copilot => self.model().to_owned(),
        };
        let mut words: Vec<String> = options.split_whitespace().map(str::to_owned).collect();
        words.push(model);
        let mut add = |more: &[&str]| words.extend(more.iter().map(|word| (*word).to_owned()));
        match (self, session) {
            (Self::Codex, Some(session)) => add(&["resume", session, "-"]),
            (Self::Codex, None) => add(&["-"]),
            // Without a title, it asks the model for one.
            (Self::Opencode, None) => add(&["--title", "The leaves"]),
            (Self::Claude | Self::Gemini | Self::Copilot, Some(session)) => {
                add(&["--resume", session]);
            }
            (Self::Opencode | Self::Pi, Some(session)) => add(&["--session", session]),
            (Self::Claude | Self::Gemini | Self::Copilot | Self::Pi, None) => {}
        }
        words
    }

    /// Asks it, in a new or in an existing session, and waits until it is done.
    pub(crate) fn ask(self, folder: &Path, url: &str, session: Option<&str>, prompt: &str) -> Run {
        let home = folder.join("home");
        let mut command = Command::new("timeout");
        command.args([LIMIT, self.word()]).args(self.words(session));
        command.current_dir(folder.join("work")).env_clear();
        for name in ["PATH", "TMPDIR", "LANG", "TERM"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.env("HOME", &home).envs(self.variables(url));
        if self == Self::Copilot {
            // The program unpacks itself into this folder, which takes seconds; all tests share it.
            let shared = folder.parent().expect("a folder of all tests").join("cache");
            command.env("XDG_CACHE_HOME", shared);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // It may end before it has read everything; its output contains the reason.
        let _ = child.stdin.take().unwrap().write_all(prompt.as_bytes());
        finish(child, String::new())
    }
}

fn opencode_settings(url: &str) -> String {
    format!(
        r#"{{"autoupdate":false,"share":"disabled","small_model":"invented/{OPENCODE}","provider":{{"invented":{{
  "npm":"@ai-sdk/openai-compatible","options":{{"baseURL":"{url}/v1","apiKey":"invented"}},
  "models":{{"{OPENCODE}":{{}}}}}}}}}}"#
    )
}
