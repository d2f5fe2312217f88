//! Finds the installed agents, their versions, and whether they seem to be signed in. For `init`
//! and `doctor`. Contacts no service and reads no credential: it only checks whether a documented
//! variable is set or a documented file exists.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use crate::agents::{AgentDefinition, Cli, HomeFile, SignInSources};
use crate::kept::support_of;
use crate::process::environment::Environment;
use crate::process::{CommandLine, StartError, pipes, program, start};
use crate::{AgentSpec, MemorySupport, ResourceLimits};

const VERSION_TIME: Duration = Duration::from_secs(10);
/// Maximum number of bytes that are read; a version text is much shorter.
const VERSION_BYTES_MAX: usize = 4 * 1024;
const GRACE: Duration = Duration::from_millis(500);

/// Result of probing an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    pub program: Box<str>,
    pub path: Option<PathBuf>,
    /// Whether the program exists, even if it cannot be started.
    pub is_installed: bool,
    pub version: Option<String>,
    pub sign_in: AuthState,
    pub advice: Option<String>,
    /// Whether it can continue its own session in a later turn, with the reason if it cannot.
    pub memory: MemorySupport,
}

/// Whether an agent seems to be signed in, with the reason. No credential was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthState {
    Yes(Box<str>),
    No(Box<str>),
    Unknown(Box<str>),
}

/// Probes an agent, or another program of its kind if one is named. Waits until the program has
/// printed its version, for about ten seconds at most. Returns `None` for an agent without a
/// program of its own.
pub fn probe(agent: &AgentDefinition, program: Option<&str>) -> Option<Probe> {
    let cli = agent.cli.as_ref()?;
    let name = program.unwrap_or(cli.program);
    let environment = Environment::for_agent(Some(agent), &std::collections::BTreeMap::new());
    // The program is searched in the same way as for a turn, so that nothing inside the project is started.
    let cwd = std::env::current_dir().unwrap_or_else(|_| Path::new("/").to_owned());
    let found = program::resolve(name, &environment, &cwd);
    let sign_in = sign_in(&cli.sign_in, &environment);
    let is_installed = !found.as_ref().is_err_and(StartError::is_missing);
    let (path, version, missing) = match found {
        Ok(path) => (Some(path.clone()), version(path, environment), None),
        Err(error) => (None, None, Some(error.to_string())),
    };
    let advice = missing.or_else(|| advice(cli, name, version.is_some(), &sign_in));
    let memory = support_of(cli);
    Some(Probe { program: name.into(), path, is_installed, version, sign_in, advice, memory })
}

/// Location of a member's own program, and whether it seems to be signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramLocation {
    pub path: PathBuf,
    /// `None` if that cannot be known.
    pub sign_in: Option<AuthState>,
}

/// The reason why a program cannot be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    /// Whether the program does not exist. Otherwise it exists but cannot be used.
    pub is_missing: bool,
    pub reason: String,
}

/// Locates the program of an agent in the same way as a turn, with its own settings. Starts nothing, because a team
/// file may name a program that nobody has trusted yet. Returns `None` for an agent without a program.
pub fn locate_program(spec: &AgentSpec) -> Option<Result<ProgramLocation, Unusable>> {
    let agent = spec.kind.definition();
    let known = agent.cli.as_ref();
    let name = spec.program.as_deref().or(known.map(|cli| cli.program))?;
    let keys = if known.is_some() { Some(agent) } else { AgentDefinition::for_adapter(name) };
    let environment = Environment::for_agent(keys, &spec.env);
    let found = program::resolve(name, &environment, &spec.cwd)
        .map_err(|error| Unusable { is_missing: error.is_missing(), reason: error.to_string() });
    let sign_in = known.map(|cli| sign_in(&cli.sign_in, &environment));
    Some(found.map(|path| ProgramLocation { path, sign_in }))
}

fn advice(cli: &Cli, name: &str, has_version: bool, sign_in: &AuthState) -> Option<String> {
    if !has_version {
        return Some(format!(
            "{name} did not print its version; run `{name} --version` to see why"
        ));
    }
    let AuthState::No(_) = sign_in else { return None };
    Some(cli.sign_in.advice.replace("{}", name))
}

fn version(path: PathBuf, environment: Environment) -> Option<String> {
    let (args, cwd) = (vec!["--version".into()], "/".into());
    let limits = ResourceLimits::default();
    let command = CommandLine { program: path, args, environment, cwd, limits };
    let mut running = start(&command, "probe", None).ok()?;
    let _stderr = running.stderr.take().map(pipes::tail);
    running.stdin = None;
    let chunks = pipes::read(running.stdout.take()?);
    let output = collect(&chunks, Instant::now() + VERSION_TIME);
    running.end(GRACE);
    version_in(&String::from_utf8_lossy(&output))
}

fn collect(chunks: &Receiver<Vec<u8>>, until: Instant) -> Vec<u8> {
    let mut output = Vec::new();
    while output.len() < VERSION_BYTES_MAX
        && let Ok(chunk) = chunks.recv_timeout(until.saturating_duration_since(Instant::now()))
    {
        output.extend_from_slice(&chunk);
    }
    output
}

/// Returns the first word that looks like a version: digits, a dot, digits.
fn version_in(output: &str) -> Option<String> {
    let is_version = |word: &&str| {
        let (major, rest) = word.split_once('.').unwrap_or_default();
        let is_number = !major.is_empty() && major.bytes().all(|byte| byte.is_ascii_digit());
        is_number && rest.starts_with(|letter: char| letter.is_ascii_digit()) && word.len() <= 64
    };
    let words = output.split_whitespace().map(|word| word.trim_matches(['v', '(', ')', ',']));
    words.into_iter().find(is_version).map(str::to_owned)
}

fn sign_in(sources: &SignInSources, environment: &Environment) -> AuthState {
    let is_set = |name: &&&str| environment.get(name).is_some();
    let files: Vec<_> = sources.files.iter().map(|file| path_of(file, environment)).collect();
    if let Some(name) = sources.variables.iter().find(is_set) {
        return AuthState::Yes(format!("{name} is set").into());
    }
    if let Some(file) = files.iter().find(|file| file.is_file()) {
        return AuthState::Yes(format!("{} exists", file.display()).into());
    }
    if let Some(name) = sources.other_services.iter().find(is_set) {
        return AuthState::Unknown(format!("{name} is set: the agent uses another service").into());
    }
    let mut settings = sources.settings.iter().map(|file| path_of(file, environment));
    if let Some(file) = settings.find(|file| file.is_file()) {
        return AuthState::Unknown(
            format!("{} may name a provider or track a sign-in", file.display()).into(),
        );
    }
    if sources.is_in_keychain && cfg!(target_os = "macos") {
        return AuthState::Unknown("Tertulia does not read the keychain".into());
    }
    let paths: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    let (variables, paths) = (sources.variables.join(", "), paths.join(", "));
    let reason = format!("none of these is set: {variables}; not found: {paths}");
    AuthState::No(reason.into())
}

/// Returns the path of a file in an agent's own folder: below its variable if set, otherwise in the
/// home folder.
fn path_of(file: &HomeFile, environment: &Environment) -> PathBuf {
    let folder = |name: &str| environment.get(name).map(PathBuf::from);
    let (variable, below) = file.variable;
    let home = folder(variable).map(|set| set.join(below)).unwrap_or_else(|| {
        folder("HOME").unwrap_or_else(|| PathBuf::from(OsStr::new("/"))).join(file.folder)
    });
    home.join(file.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::{CLAUDE, CODEX, GEMINI};

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

    fn check(agent: &AgentDefinition, variables: &[(&str, &Path)], expected: &str) {
        let mut environment = Environment::default();
        for (name, value) in variables {
            environment.set(name, value);
        }
        let output = match sign_in(&agent.cli.as_ref().unwrap().sign_in, &environment) {
            AuthState::Yes(reason) => format!("yes: {reason}"),
            AuthState::No(reason) => format!("no: {reason}"),
            AuthState::Unknown(reason) => format!("unknown: {reason}"),
        };
        assert!(output.starts_with(expected), "{output}");
    }

    #[test]
    fn a_key_or_a_file_signs_in_and_its_value_is_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        let key = Path::new("invented-key");
        check(
            CLAUDE,
            &[("HOME", home), ("ANTHROPIC_API_KEY", key)],
            "yes: ANTHROPIC_API_KEY is set",
        );
        let missing = "no: none of these is set: CODEX_API_KEY; not found: ";
        check(CODEX, &[("HOME", home)], missing);
        std::fs::create_dir(home.join(".codex")).unwrap();
        std::fs::write(home.join(".codex/config.toml"), "").unwrap();
        check(CODEX, &[("HOME", home)], "unknown: ");
        std::fs::write(home.join(".codex/auth.json"), "{}").unwrap();
        check(CODEX, &[("HOME", home)], "yes: ");
        check(GEMINI, &[("HOME", home), ("GOOGLE_API_KEY", key)], "unknown: GOOGLE_API_KEY is set");
        std::fs::create_dir(home.join(".gemini")).unwrap();
        std::fs::write(home.join(".gemini/oauth_creds.json"), "{}").unwrap();
        check(GEMINI, &[("GEMINI_CLI_HOME", home)], "yes: ");
    }
}
