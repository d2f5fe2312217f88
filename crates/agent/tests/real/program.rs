//! The programs, and how each is configured to use a model server: by variables, arguments or settings of its own, as
//! its user would do it. The keys are invented.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use tertulia_agent::{AgentKind, AgentSpec, Permissions, Timeouts, agents};

/// An agent program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    Claude,
    Codex,
    Gemini,
    OpenCode,
    Copilot,
    Pi,
}

/// Returns Gemini's settings: this number of attempts for each request, no statistics, no updates.
fn gemini_settings(attempts: u32) -> String {
    format!(
        r#"{{
  "security": {{ "auth": {{ "selectedType": "gemini-api-key" }} }},
  "general": {{ "maxAttempts": {attempts}, "retryFetchErrors": true, "enableAutoUpdate": false }},
  "privacy": {{ "usageStatisticsEnabled": false }}
}}"#
    )
}

fn write_gemini_settings(home: &Path, attempts: u32) {
    let settings = home.join(".gemini");
    fs::create_dir_all(&settings).expect("a folder for the settings");
    let text = gemini_settings(attempts);
    fs::write(settings.join("settings.json"), text).expect("the settings");
}

impl Program {
    /// Returns the spec of the program with this home and this working folder.
    pub(crate) fn spec(self, url: &str, home: &Path, cwd: &Path) -> AgentSpec {
        let home_text = home.to_str().expect("a path in UTF-8");
        let mut env = BTreeMap::new();
        let mut set = |name: &str, value: &str| env.insert(Box::from(name), Box::from(value));
        set("HOME", home_text);
        let (mut args, mut model) = (Vec::new(), None);
        let kind = match self {
            Self::Claude => {
                set("ANTHROPIC_BASE_URL", url);
                set("ANTHROPIC_API_KEY", "sk-ant-invented");
                set("CLAUDE_CODE_MAX_RETRIES", "0");
                // Allows Claude Code to run as root, as it may in the isolated network.
                set("IS_SANDBOX", "1");
                AgentKind::Cli(agents::CLAUDE)
            }
            Self::Codex => {
                set("INVENTED_KEY", "sk-invented");
                args = codex_args(url);
                AgentKind::Cli(agents::CODEX)
            }
            Self::Gemini => {
                set("GOOGLE_GEMINI_BASE_URL", url);
                set("GEMINI_API_KEY", "invented");
                write_gemini_settings(home, 1);
                model = Some("gemini-3-pro-preview".into());
                AgentKind::Cli(agents::GEMINI)
            }
            Self::OpenCode => {
                set("OPENCODE_CONFIG_CONTENT", &opencode_settings(url));
                set("OPENCODE_DISABLE_MODELS_FETCH", "1");
                model = Some("invented/m1".into());
                AgentKind::Cli(agents::OPENCODE)
            }
            Self::Copilot => {
                set("COPILOT_PROVIDER_BASE_URL", &format!("{url}/v1"));
                set("COPILOT_PROVIDER_API_KEY", "invented");
                set("COPILOT_OFFLINE", "true");
                // Copilot unpacks itself into this folder, which takes seconds, so all trials share it.
                let cache = home.ancestors().nth(2).expect("a home of all trials").join("cache");
                set("XDG_CACHE_HOME", cache.to_str().expect("a path in UTF-8"));
                model = Some("gpt-5.5".into());
                AgentKind::Cli(agents::COPILOT)
            }
            Self::Pi => {
                write_pi_settings(url, home);
                set("PI_OFFLINE", "1");
                model = Some("invented/m1".into());
                AgentKind::Cli(agents::PI)
            }
        };
        AgentSpec {
            kind,
            program: None,
            args,
            env,
            model,
            cwd: cwd.to_owned(),
            permissions: Permissions::Read,
            timeouts: Timeouts { total: Duration::from_secs(90), ..Timeouts::default() },
            limits: tertulia_dialect::stream::Limits::default(),
            resources: tertulia_agent::ResourceLimits::default(),
        }
    }

    /// Allows one retry after a failure, if the program has none by default.
    pub(crate) fn allow_retry(self, spec: &mut AgentSpec) {
        match self {
            Self::Claude => {
                spec.env.insert("CLAUDE_CODE_MAX_RETRIES".into(), "1".into());
            }
            Self::Codex => {
                for word in &mut spec.args {
                    *word = word.replace("stream_max_retries=0", "stream_max_retries=1").into();
                }
            }
            Self::Gemini => write_gemini_settings(Path::new(&*spec.env["HOME"]), 3),
            // These programs retry by default.
            Self::OpenCode | Self::Copilot | Self::Pi => {}
        }
    }

    /// Returns whether the program streams its answer in pieces.
    pub(crate) fn streams(self) -> bool {
        !matches!(self, Self::Codex | Self::OpenCode)
    }
}

fn opencode_settings(url: &str) -> String {
    format!(
        r#"{{"autoupdate":false,"share":"disabled","small_model":"invented/m1","provider":{{"invented":{{
  "npm":"@ai-sdk/openai-compatible","options":{{"baseURL":"{url}/v1","apiKey":"invented"}},
  "models":{{"m1":{{}}}}}}}}}}"#
    )
}

fn write_pi_settings(url: &str, home: &Path) {
    let folder = home.join(".pi/agent");
    fs::create_dir_all(&folder).expect("a folder for the settings");
    let text = format!(
        r#"{{"providers":{{"invented":{{"baseUrl":"{url}/v1","apiKey":"invented","api":"openai-completions","models":[{{"id":"m1"}}]}}}}}}"#
    );
    fs::write(folder.join("models.json"), text).expect("the settings");
}

fn codex_args(url: &str) -> Vec<Box<str>> {
    let provider = format!(
        "model_providers.invented={{name=\"invented\",base_url=\"{url}/v1\",env_key=\"INVENTED_KEY\",\
         wire_api=\"responses\",request_max_retries=0,stream_max_retries=0}}"
    );
    let words = [
        "-c",
        "model_provider=invented",
        "-c",
        &provider,
        "-c",
        "analytics.enabled=false",
        "--disable",
        "plugins",
        "--disable",
        "apps",
    ];
    words.map(Box::from).to_vec()
}
