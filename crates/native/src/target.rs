//! The location of a session that is written for an agent, so that the agent finds it, and the commands that import
//! and continue it.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use tertulia_dialect::native::NativeFormat;
use tertulia_dialect::native::write::codex_file;
use tertulia_session::Timestamp;
use tertulia_session::json::{self, Json, Object};

use crate::{Cause, Environment, NativeError};

/// The way in which a new session reaches an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A file that the agent finds, and other files that must exist with it.
    File { path: PathBuf, beside: Vec<Beside> },
    /// A document that a command of the agent imports. The name of the file is the last argument of the command.
    Command { program: &'static str, arguments: &'static [&'static str] },
}

/// A small file of the agent that contains the session's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    pub path: PathBuf,
    pub text: String,
    /// Whether an existing file is replaced; otherwise it is kept.
    pub replaces: bool,
}

/// Returns the way in which a new session with this id reaches an agent that works in this folder.
pub fn target(
    environment: &Environment,
    format: NativeFormat,
    native_id: &str,
    (folder, title): (&str, Option<&str>),
    now: &Timestamp,
) -> Result<Target, NativeError> {
    let file = |path: PathBuf| Ok(Target::File { path, beside: Vec::new() });
    // 2026-01-31T12:00:00.000Z
    let iso = now.to_iso();
    match format {
        NativeFormat::Claude => {
            let projects = environment.folder("CLAUDE_CONFIG_DIR", ".claude").join("projects");
            file(projects.join(dashed(folder)).join(format!("{native_id}.jsonl")))
        }
        NativeFormat::Codex => {
            let sessions = environment.folder("CODEX_HOME", ".codex").join("sessions");
            file(sessions.join(codex_file(native_id, now)))
        }
        NativeFormat::Gemini => gemini(environment, native_id, folder, &iso),
        NativeFormat::Pi => {
            let sessions = match environment.named("PI_CODING_AGENT_SESSION_DIR") {
                Some(folder) => folder.to_owned(),
                None => environment.folder("PI_CODING_AGENT_DIR", ".pi/agent").join("sessions"),
            };
            let inside = folder.trim_start_matches('/').replace(['/', '\\', ':'], "-");
            let time = iso.replace([':', '.'], "-");
            file(sessions.join(format!("--{inside}--")).join(format!("{time}_{native_id}.jsonl")))
        }
        NativeFormat::Opencode => {
            Ok(Target::Command { program: "opencode", arguments: &["import"] })
        }
        NativeFormat::Copilot => Ok(copilot(environment, native_id, (folder, title), &iso)),
        NativeFormat::Goose | NativeFormat::Cline | NativeFormat::Aider => {
            let cause = std::io::Error::from(ErrorKind::Unsupported);
            Err(NativeError { path: PathBuf::from(folder), cause: Cause::Io(cause) })
        }
    }
}

/// Returns the program and the arguments that continue a session in the session's folder.
pub fn resume_command(format: NativeFormat, native_id: &str) -> Vec<String> {
    let words: &[&str] = match format {
        NativeFormat::Claude => &["claude", "--resume"],
        NativeFormat::Codex => &["codex", "resume"],
        NativeFormat::Gemini => &["gemini", "--resume"],
        NativeFormat::Opencode => &["opencode", "--session"],
        NativeFormat::Copilot => &["copilot", "--resume"],
        NativeFormat::Pi => &["pi", "--session"],
        NativeFormat::Goose => &["goose", "session", "--resume", "--session-id"],
        NativeFormat::Cline => &["cline", "--id"],
        // aider continues the history of its folder.
        NativeFormat::Aider => return vec!["aider".into(), "--restore-chat-history".into()],
    };
    words.iter().map(|word| (*word).to_owned()).chain([native_id.to_owned()]).collect()
}

/// Returns the name that Claude Code gives to the sessions of a folder. All characters except letters, digits and
/// dashes become dashes.
fn dashed(folder: &str) -> String {
    let dash = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' };
    folder.chars().map(dash).collect()
}

/// Returns the location for Copilot CLI. It keeps each session in a folder of its own, with the title in a small
/// file.
fn copilot(
    environment: &Environment,
    native_id: &str,
    (folder, title): (&str, Option<&str>),
    iso: &str,
) -> Target {
    let root = environment.folder("COPILOT_HOME", ".copilot").join("session-state").join(native_id);
    // In YAML, a JSON string is a text.
    let quoted = |text: &str| Json::text(text).as_str().to_owned();
    let name = title.map(|title| format!("name: {}\n", quoted(title))).unwrap_or_default();
    let text = format!(
        "id: {native_id}\ncwd: {}\n{name}user_named: {}\nsummary_count: 0\nfork_count: 0\n\
         created_at: {iso}\nupdated_at: {iso}\n",
        quoted(folder),
        title.is_some()
    );
    let beside = vec![Beside { path: root.join("workspace.yaml"), text, replaces: false }];
    Target::File { path: root.join("events.jsonl"), beside }
}

/// Returns the location for Gemini CLI. It gives every project folder a short name, and searches for sessions only
/// there.
fn gemini(
    environment: &Environment,
    native_id: &str,
    folder: &str,
    iso: &str,
) -> Result<Target, NativeError> {
    let home = environment.named("GEMINI_CLI_HOME").unwrap_or(environment.home()).join(".gemini");
    let list = home.join("projects.json");
    let text = match fs::read_to_string(&list) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => r#"{"projects":{}}"#.to_owned(),
        Err(error) => return Err(NativeError::new(&list, error)),
    };
    let (projects, others) = read_projects(&text).ok_or_else(|| {
        let reason =
            "it is not a list of projects; start `gemini` once in the folder, then try again";
        let error = std::io::Error::new(ErrorKind::InvalidData, reason);
        NativeError::new(&list, error)
    })?;
    let known = projects.iter().find(|(path, _)| path == folder).map(|(_, slug)| slug.clone());
    let is_new = known.is_none();
    let slug = known.unwrap_or_else(|| free_slug(&home, folder, &projects));
    let root = home.join("tmp").join(&slug);
    let mut beside = Vec::new();
    if is_new {
        let path = root.join(".project_root");
        beside.push(Beside { path, text: folder.to_owned(), replaces: false });
        let pairs = projects.iter().cloned().chain([(folder.to_owned(), slug)]);
        let pairs = pairs.map(|(path, slug)| {
            format!("{}:{}", Json::text(&path).as_str(), Json::text(&slug).as_str())
        });
        let pairs = pairs.collect::<Vec<_>>().join(",");
        let text = format!("{{\"projects\":{{{pairs}}}{others}}}\n");
        beside.push(Beside { path: list, text, replaces: true });
    }
    let minute = iso.get(..16).unwrap_or_default().replace(':', "-");
    let short = native_id.get(..8).unwrap_or(native_id);
    let path = root.join("chats").join(format!("session-{minute}-{short}.jsonl"));
    Ok(Target::File { path, beside })
}

/// Reads the folders with their short names. Also returns the other fields as JSON, each with a comma before it.
fn read_projects(text: &str) -> Option<(Vec<(String, String)>, String)> {
    let mut whole = Object::try_from(json::parse(text).ok()?).ok()?;
    let projects = Object::try_from(whole.take("projects")?).ok()?;
    let pair = |(path, slug): (std::borrow::Cow<'_, str>, &json::RawValue)| {
        Some((path.into_owned(), json::text(slug).ok()?))
    };
    let projects = projects.into_fields().map(pair).collect::<Option<_>>()?;
    let other = |(name, value): (std::borrow::Cow<'_, str>, &json::RawValue)| {
        format!(",{}:{}", Json::text(&name).as_str(), value.get())
    };
    Some((projects, whole.into_fields().map(other).collect()))
}

/// Returns a short name that no other project has.
fn free_slug(home: &Path, folder: &str, projects: &[(String, String)]) -> String {
    let name = Path::new(folder).file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = name.chars().map(plain).collect();
    let name = name.trim_matches('-');
    let name = if name.is_empty() { "project" } else { name };
    let is_free = |slug: &String| {
        projects.iter().all(|(_, taken)| taken != slug) && !home.join("tmp").join(slug).exists()
    };
    let numbered = (1..).map(|number| format!("{name}-{number}"));
    std::iter::once(name.to_owned()).chain(numbered).find(is_free).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0a1b2c3d-4e5f-8061-8071-2a3b4c5d6e7f";

    fn path(format: NativeFormat, folder: &str) -> String {
        let environment = Environment::new("/users/ann", "/tmp");
        let now = "2026-01-31T12:00:05.250Z".parse().unwrap();
        match target(&environment, format, ID, (folder, None), &now).unwrap() {
            Target::File { path, .. } => path.display().to_string(),
            Target::Command { program, arguments } => format!("{program} {}", arguments.join(" ")),
        }
    }

    #[test]
    fn every_agent_finds_the_session_where_it_looks() {
        let found = |format| path(format, "/src/my app");
        assert_eq!(
            found(NativeFormat::Claude),
            format!("/users/ann/.claude/projects/-src-my-app/{ID}.jsonl")
        );
        assert_eq!(
            found(NativeFormat::Codex),
            format!("/users/ann/.codex/sessions/2026/01/31/rollout-2026-01-31T12-00-05-{ID}.jsonl")
        );
        assert_eq!(
            found(NativeFormat::Pi),
            format!(
                "/users/ann/.pi/agent/sessions/--src-my app--/2026-01-31T12-00-05-250Z_{ID}.jsonl"
            )
        );
        assert_eq!(
            found(NativeFormat::Gemini),
            "/users/ann/.gemini/tmp/my-app/chats/session-2026-01-31T12-00-0a1b2c3d.jsonl"
        );
        assert_eq!(found(NativeFormat::Opencode), "opencode import");
        assert_eq!(
            found(NativeFormat::Copilot),
            format!("/users/ann/.copilot/session-state/{ID}/events.jsonl")
        );
    }

    #[test]
    fn copilot_is_told_the_folder_and_the_title() {
        let environment = Environment::new("/users/ann", "/tmp");
        let now = "2026-01-31T12:00:05.250Z".parse().unwrap();
        let place = ("/src/my app", Some("Beds: \"north\""));
        let found = target(&environment, NativeFormat::Copilot, ID, place, &now).unwrap();
        let Target::File { beside, .. } = found else { panic!() };
        assert_eq!(beside.len(), 1);
        assert!(beside[0].path.ends_with(format!("{ID}/workspace.yaml")));
        assert!(!beside[0].replaces);
        assert_eq!(
            beside[0].text,
            format!(
                "id: {ID}\ncwd: \"/src/my app\"\nname: \"Beds: \\\"north\\\"\"\nuser_named: true\n\
                 summary_count: 0\nfork_count: 0\ncreated_at: 2026-01-31T12:00:05.250Z\n\
                 updated_at: 2026-01-31T12:00:05.250Z\n"
            )
        );
    }

    #[test]
    fn gemini_keeps_the_projects_that_it_knows() {
        let home = tempfile::tempdir().unwrap();
        let gemini = home.path().join(".gemini");
        fs::create_dir_all(gemini.join("tmp/app")).unwrap();
        fs::write(
            gemini.join("projects.json"),
            r#"{"version": 2,"projects":{"/other/app":"app"}}"#,
        )
        .unwrap();
        let environment = Environment::new(home.path(), "/tmp");
        let now = Timestamp::from_millis(0);
        let found =
            |folder| target(&environment, NativeFormat::Gemini, ID, (folder, None), &now).unwrap();
        let Target::File { path, beside } = found("/src/app") else { panic!() };
        assert!(path.starts_with(gemini.join("tmp/app-1/chats")), "{}", path.display());
        let list = beside.iter().find(|one| one.replaces).unwrap();
        assert_eq!(
            list.text,
            "{\"projects\":{\"/other/app\":\"app\",\"/src/app\":\"app-1\"},\"version\":2}\n"
        );
        let Target::File { path, beside } = found("/other/app") else { panic!() };
        assert!(path.starts_with(gemini.join("tmp/app/chats")) && beside.is_empty());
        fs::write(gemini.join("projects.json"), "[]").unwrap();
        assert!(target(&environment, NativeFormat::Gemini, ID, ("/x", None), &now).is_err());
    }

    #[test]
    fn the_command_names_the_session() {
        assert_eq!(resume_command(NativeFormat::Codex, "x").join(" "), "codex resume x");
        assert_eq!(resume_command(NativeFormat::Claude, "x").join(" "), "claude --resume x");
    }
}
