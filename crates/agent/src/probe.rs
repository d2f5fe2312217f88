//! What is on this machine: which agents are installed, which versions, and whether they seem to be signed
//! in. For `init` and `doctor`. Nothing is asked of a service, and no credential is read: only whether a
//! documented variable is set or a documented file is there.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use crate::agents::{AgentDefinition, Cli, HomeFile, SignInSources};
use crate::process::environment::Environment;
use crate::process::{CommandLine, StartError, pipes, program, start};
use crate::{AgentSpec, ResourceLimits};

const VERSION_TIME: Duration = Duration::from_secs(10);
/// Much more than any version has.
const VERSION_BYTES_MAX: usize = 4 * 1024;
const GRACE: Duration = Duration::from_millis(500);

/// What was found of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    pub program: Box<str>,
    pub path: Option<PathBuf>,
    /// Whether there is such a program, also one that cannot be started.
    pub is_installed: bool,
    pub version: Option<String>,
    pub sign_in: SignIn,
    pub advice: Option<String>,
}

/// Whether an agent seems to be signed in, and how one knows. No credential was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignIn {
    Yes(Box<str>),
    No(Box<str>),
    Unknown(Box<str>),
}

/// Looks at an agent; at another program than its own where one is named. Takes as long as the program needs to say its
/// version, and no more than some ten seconds. `None` for an agent that is not known by a program of its own.
pub fn probe(agent: &AgentDefinition, program: Option<&str>) -> Option<Probe> {
    let cli = agent.cli.as_ref()?;
    let name = program.unwrap_or(cli.program);
    let environment = Environment::of_agent(Some(agent), &std::collections::BTreeMap::new());
    // As a turn would look for it: nothing that the project brings is started.
    let cwd = std::env::current_dir().unwrap_or_else(|_| Path::new("/").to_owned());
    let found = program::resolve(name, &environment, &cwd);
    let sign_in = sign_in(&cli.sign_in, &environment);
    let is_installed = !found.as_ref().is_err_and(StartError::is_missing);
    let (path, version, missing) = match found {
        Ok(path) => (Some(path.clone()), version(path, environment), None),
        Err(error) => (None, None, Some(error.to_string())),
    };
    let advice = missing.or_else(|| advice(cli, name, version.is_some(), &sign_in));
    Some(Probe { program: name.into(), path, is_installed, version, sign_in, advice })
}

/// Where a member's own program is, and whether it seems to be signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whereabouts {
    pub path: PathBuf,
    /// Whether it seems to be signed in; `None` where nobody can tell.
    pub sign_in: Option<SignIn>,
}

/// A program that cannot be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    /// Whether there is no such program. Else it is there and cannot be used.
    pub is_missing: bool,
    pub reason: String,
}

/// Looks for the program of an agent as a turn would, with its own settings. Nothing is started: a team file
/// may name a program that nobody has trusted yet. `None` for an agent that has no program.
pub fn look_for(spec: &AgentSpec) -> Option<Result<Whereabouts, Unusable>> {
    let agent = spec.kind.definition();
    let known = agent.cli.as_ref();
    let name = spec.program.as_deref().or(known.map(|cli| cli.program))?;
    let keys = if known.is_some() { Some(agent) } else { AgentDefinition::of_adapter(name) };
    let environment = Environment::of_agent(keys, &spec.env);
    let found = program::resolve(name, &environment, &spec.cwd)
        .map_err(|error| Unusable { is_missing: error.is_missing(), reason: error.to_string() });
    let sign_in = known.map(|cli| sign_in(&cli.sign_in, &environment));
    Some(found.map(|path| Whereabouts { path, sign_in }))
}

fn advice(cli: &Cli, name: &str, has_version: bool, sign_in: &SignIn) -> Option<String> {
    if !has_version {
        return Some(format!("{name} did not say its version; run `{name} --version` to see why"));
    }
    let SignIn::No(_) = sign_in else { return None };
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
    let said = collect(&chunks, Instant::now() + VERSION_TIME);
    running.end(GRACE);
    version_in(&String::from_utf8_lossy(&said))
}

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

fn sign_in(sources: &SignInSources, environment: &Environment) -> SignIn {
    let is_set = |name: &&&str| environment.get(name).is_some();
    let files: Vec<_> = sources.files.iter().map(|file| path_of(file, environment)).collect();
    if let Some(name) = sources.variables.iter().find(is_set) {
        return SignIn::Yes(format!("{name} is set").into());
    }
    if let Some(file) = files.iter().find(|file| file.is_file()) {
        return SignIn::Yes(format!("{} is there", file.display()).into());
    }
    if let Some(name) = sources.other_services.iter().find(is_set) {
        return SignIn::Unknown(format!("{name} is set: another service is asked").into());
    }
    let mut settings = sources.settings.iter().map(|file| path_of(file, environment));
    if let Some(file) = settings.find(|file| file.is_file()) {
        return SignIn::Unknown(
            format!("{} may name a provider or hold a sign-in", file.display()).into(),
        );
    }
    if sources.is_in_keychain && cfg!(target_os = "macos") {
        return SignIn::Unknown("the keychain is not looked into".into());
    }
    let places: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    let (variables, places) = (sources.variables.join(", "), places.join(", "));
    let reason = format!("none of these is set: {variables}; not found: {places}");
    SignIn::No(reason.into())
}

/// A file in an agent's own folder: by its variable and what is below, else by a name in the home folder.
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
        let said = match sign_in(&agent.cli.as_ref().unwrap().sign_in, &environment) {
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
