//! What is on this machine: which agents are installed, which versions, and whether they seem to be signed
//! in. For `init` and `doctor`. Nothing is asked of a service, and no credential is read: only whether a
//! documented variable is set or a documented file is there.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use crate::process::environment::{Environment, Keys};
use crate::process::{CommandLine, StartError, pipes, program, start};
use crate::spec::{AgentKind, AgentSpec};

/// How long a program may take to say its version.
const VERSION_TIME: Duration = Duration::from_secs(10);
/// Much more than any version has.
const VERSION_BYTES_MAX: usize = 4 * 1024;
/// How long it may take to end when it is asked to.
const GRACE: Duration = Duration::from_millis(500);

/// The agents that are known by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeKind {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
}

/// What was found of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The program that was looked for.
    pub program: Box<str>,
    /// Where it is.
    pub path: Option<PathBuf>,
    /// Whether there is such a program, also one that cannot be started.
    pub is_installed: bool,
    /// The version it says it has.
    pub version: Option<String>,
    /// Whether it seems to be signed in.
    pub sign_in: SignIn,
    /// What to do, if something is to be done.
    pub advice: Option<String>,
}

/// Whether an agent seems to be signed in, and how one knows. No credential was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignIn {
    /// It has something to sign in with.
    Yes(Box<str>),
    /// It has nothing.
    No(Box<str>),
    /// It cannot be told from outside.
    Unknown(Box<str>),
}

impl ProbeKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Claude, Self::Codex, Self::Gemini];

    /// The word for it in a team file, which is also its program's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    fn keys(self) -> Keys {
        match self {
            Self::Claude => Keys::Anthropic,
            Self::Codex => Keys::OpenAi,
            Self::Gemini => Keys::Google,
        }
    }
}

/// Looks at an agent; at another program than its own where one is named. Takes as long as the program
/// needs to say its version, and no more than some ten seconds.
pub fn probe(kind: ProbeKind, program: Option<&str>) -> Probe {
    let name = program.unwrap_or(kind.name());
    let environment = Environment::of_agent(kind.keys(), &std::collections::BTreeMap::new());
    // As a turn would look for it: nothing that the project brings is started.
    let cwd = std::env::current_dir().unwrap_or_else(|_| Path::new("/").to_owned());
    let found = program::resolve(name, &environment, &cwd);
    let sign_in = sign_in(kind, &environment);
    let is_installed = !found.as_ref().is_err_and(StartError::is_missing);
    let (path, version, missing) = match found {
        Ok(path) => (Some(path.clone()), version(path, environment), None),
        Err(error) => (None, None, Some(error.to_string())),
    };
    let advice = missing.or_else(|| advice(kind, name, version.is_some(), &sign_in));
    Probe { program: name.into(), path, is_installed, version, sign_in, advice }
}

/// Where a member's own program is, and whether it seems to be signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whereabouts {
    /// Where it is.
    pub path: PathBuf,
    /// Whether it seems to be signed in; `None` where nobody can tell.
    pub sign_in: Option<SignIn>,
}

/// A program that cannot be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    /// Whether there is no such program. Else it is there and cannot be used.
    pub is_missing: bool,
    /// Why, and what to do.
    pub reason: String,
}

/// Looks for the program of an agent as a turn would, with its own settings. Nothing is started: a team file
/// may name a program that nobody has trusted yet. `None` for an agent that has no program.
pub fn look_for(spec: &AgentSpec) -> Option<Result<Whereabouts, Unusable>> {
    let kind = match &spec.kind {
        AgentKind::Claude => Some(ProbeKind::Claude),
        AgentKind::Codex => Some(ProbeKind::Codex),
        AgentKind::Gemini => Some(ProbeKind::Gemini),
        AgentKind::Command(_) | AgentKind::Acp => None,
        AgentKind::OpenAi(_) | AgentKind::Script(_) => return None,
    };
    let name = spec.program.as_deref().or(kind.map(ProbeKind::name))?;
    let keys = kind.map_or_else(|| Keys::of_program(name), ProbeKind::keys);
    let environment = Environment::of_agent(keys, &spec.env);
    let found = program::resolve(name, &environment, &spec.cwd)
        .map_err(|error| Unusable { is_missing: error.is_missing(), reason: error.to_string() });
    let sign_in = kind.map(|kind| sign_in(kind, &environment));
    Some(found.map(|path| Whereabouts { path, sign_in }))
}

fn advice(kind: ProbeKind, name: &str, has_version: bool, sign_in: &SignIn) -> Option<String> {
    if !has_version {
        return Some(format!("{name} did not say its version; run `{name} --version` to see why"));
    }
    let SignIn::No(_) = sign_in else { return None };
    Some(match kind {
        ProbeKind::Claude => format!("run `{name}` and its /login, or set ANTHROPIC_API_KEY"),
        ProbeKind::Codex => format!("run `{name} login`, or set CODEX_API_KEY"),
        ProbeKind::Gemini => format!("run `{name}` and sign in, or set GEMINI_API_KEY"),
    })
}

/// Asks a program for its version, in a containment of its own.
fn version(path: PathBuf, environment: Environment) -> Option<String> {
    let command = CommandLine::new(path, environment, Path::new("/")).args(["--version"]);
    let mut running = start(&command, "probe").ok()?;
    let _stderr = running.stderr.take().map(pipes::tail);
    running.stdin = None;
    let chunks = pipes::read(running.stdout.take()?);
    let said = collect(&chunks, Instant::now() + VERSION_TIME);
    running.end(GRACE);
    version_in(&String::from_utf8_lossy(&said))
}

/// What is said until the pipe ends or the time is up.
fn collect(chunks: &Receiver<Vec<u8>>, until: Instant) -> Vec<u8> {
    let mut said = Vec::new();
    while said.len() < VERSION_BYTES_MAX
        && let Ok(chunk) = chunks.recv_timeout(until.saturating_duration_since(Instant::now()))
    {
        said.extend_from_slice(&chunk);
    }
    said
}

/// The first word that looks like a version: digits, a dot, digits.
fn version_in(said: &str) -> Option<String> {
    let is_version = |word: &&str| {
        let (major, rest) = word.split_once('.').unwrap_or_default();
        let is_number = !major.is_empty() && major.bytes().all(|byte| byte.is_ascii_digit());
        is_number && rest.starts_with(|letter: char| letter.is_ascii_digit()) && word.len() <= 64
    };
    let words = said.split_whitespace().map(|word| word.trim_matches(['v', '(', ')', ',']));
    words.into_iter().find(is_version).map(str::to_owned)
}

/// Whether there is something to sign in with. Looks at names only.
fn sign_in(kind: ProbeKind, environment: &Environment) -> SignIn {
    let (variables, files, doubts): Lists = match kind {
        ProbeKind::Claude => (
            &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
            vec![home(environment, "CLAUDE_CONFIG_DIR", ".claude", "").join(".credentials.json")],
            &["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"],
        ),
        ProbeKind::Codex => (
            &["CODEX_API_KEY"],
            vec![home(environment, "CODEX_HOME", ".codex", "").join("auth.json")],
            &[],
        ),
        ProbeKind::Gemini => (
            &["GEMINI_API_KEY"],
            vec![
                home(environment, "GEMINI_CLI_HOME", ".gemini", ".gemini").join("oauth_creds.json"),
            ],
            &["GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"],
        ),
    };
    let is_set = |name: &&&str| environment.get(name).is_some();
    if let Some(name) = variables.iter().find(is_set) {
        return SignIn::Yes(format!("{name} is set").into());
    }
    if let Some(file) = files.iter().find(|file| file.is_file()) {
        return SignIn::Yes(format!("{} is there", file.display()).into());
    }
    if let Some(name) = doubts.iter().find(is_set) {
        return SignIn::Unknown(format!("{name} is set: another service is asked").into());
    }
    let config = home(environment, "CODEX_HOME", ".codex", "").join("config.toml");
    if kind == ProbeKind::Codex && config.is_file() {
        return SignIn::Unknown(format!("{} may name a provider", config.display()).into());
    }
    if kind == ProbeKind::Claude && cfg!(target_os = "macos") {
        return SignIn::Unknown("the keychain is not looked into".into());
    }
    let places: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    let (variables, places) = (variables.join(", "), places.join(", "));
    let reason = format!("none of these is set: {variables}; not found: {places}");
    SignIn::No(reason.into())
}

/// Variables and files that sign in, and variables that point to another service.
type Lists = (&'static [&'static str], Vec<PathBuf>, &'static [&'static str]);

/// An agent's own folder: by its variable and what is below, else by a name in the home folder.
fn home(environment: &Environment, variable: &str, name: &str, below: &str) -> PathBuf {
    let folder = |name: &str| environment.get(name).map(PathBuf::from);
    folder(variable).map(|set| set.join(below)).unwrap_or_else(|| {
        folder("HOME").unwrap_or_else(|| PathBuf::from(OsStr::new("/"))).join(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_that_the_agents_say_are_found() {
        assert_eq!(version_in("2.1.325 (Claude Code)\n").as_deref(), Some("2.1.325"));
        assert_eq!(version_in("codex-cli 0.166.0\n").as_deref(), Some("0.166.0"));
        assert_eq!(
            version_in("warning: x\nv0.61.0-nightly.1").as_deref(),
            Some("0.61.0-nightly.1")
        );
        assert_eq!(version_in("no version. 3 dogs"), None);
    }

    fn check(kind: ProbeKind, variables: &[(&str, &Path)], expected: &str) {
        let mut environment = Environment::default();
        for (name, value) in variables {
            environment.set(name, value);
        }
        let said = match sign_in(kind, &environment) {
            SignIn::Yes(reason) => format!("yes: {reason}"),
            SignIn::No(reason) => format!("no: {reason}"),
            SignIn::Unknown(reason) => format!("unknown: {reason}"),
        };
        assert!(said.starts_with(expected), "{said}");
    }

    #[test]
    fn a_key_or_a_file_signs_in_and_its_value_is_never_told() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        let key = Path::new("invented-key");
        check(
            ProbeKind::Claude,
            &[("HOME", home), ("ANTHROPIC_API_KEY", key)],
            "yes: ANTHROPIC_API_KEY is set",
        );
        let missing = "no: none of these is set: CODEX_API_KEY; not found: ";
        check(ProbeKind::Codex, &[("HOME", home)], missing);
        std::fs::create_dir(home.join(".codex")).unwrap();
        std::fs::write(home.join(".codex/config.toml"), "").unwrap();
        check(ProbeKind::Codex, &[("HOME", home)], "unknown: ");
        std::fs::write(home.join(".codex/auth.json"), "{}").unwrap();
        check(ProbeKind::Codex, &[("HOME", home)], "yes: ");
        check(
            ProbeKind::Gemini,
            &[("HOME", home), ("GOOGLE_API_KEY", key)],
            "unknown: GOOGLE_API_KEY is set",
        );
        std::fs::create_dir(home.join(".gemini")).unwrap();
        std::fs::write(home.join(".gemini/oauth_creds.json"), "{}").unwrap();
        check(ProbeKind::Gemini, &[("GEMINI_CLI_HOME", home)], "yes: ");
    }
}
