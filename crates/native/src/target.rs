//! The location of a session that is written for an agent, so that the agent finds it, and the commands that import
//! and continue it.

mod codex;
mod gemini;

use std::io::ErrorKind;
use std::path::PathBuf;

use tertulia_dialect::native::NativeFormat;
use tertulia_dialect::native::write::codex_file;
use tertulia_session::Timestamp;
use tertulia_session::json::Json;

use crate::{Cause, Environment, NativeError};

/// The way in which a new session reaches an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A file that the agent finds, and other files that must exist with it.
    File { path: PathBuf, beside: Vec<Beside> },
    /// A document that a command of the agent imports. The name of the file is the last argument of the command.
    Command { program: &'static str, arguments: &'static [&'static str] },
}

/// A small file of the agent that contains the folder or the title of the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    pub path: PathBuf,
    pub text: String,
    pub placing: Placing,
}

/// How a small file of an agent is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placing {
    /// An existing file is kept as it is.
    IfMissing,
    /// The text is a line that is appended to the file.
    Append,
    /// The file is replaced if it still has this text, or still does not exist. Gemini CLI locks it with a folder of
    /// the same name with `.lock` at its end.
    Replace { seen: Option<String> },
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
            let home = environment.folder("CODEX_HOME", ".codex");
            let path = home.join("sessions").join(codex_file(native_id, now));
            let beside = title.map(|title| codex::title(&home, native_id, title, &iso));
            Ok(Target::File { path, beside: beside.into_iter().collect() })
        }
        NativeFormat::Gemini => gemini::target(environment, native_id, folder, &iso),
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
    let beside =
        vec![Beside { path: root.join("workspace.yaml"), text, placing: Placing::IfMissing }];
    Target::File { path: root.join("events.jsonl"), beside }
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
        assert_eq!(beside[0].placing, Placing::IfMissing);
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
    fn codex_finds_the_title_in_its_list_of_names() {
        let environment = Environment::new("/users/ann", "/tmp");
        let now = "2026-01-31T12:00:05.250Z".parse().unwrap();
        let place = ("/src", Some("Beds: \"north\""));
        let found = target(&environment, NativeFormat::Codex, ID, place, &now).unwrap();
        let Target::File { beside, .. } = found else { panic!() };
        assert_eq!(beside.len(), 1);
        assert!(beside[0].path.ends_with(".codex/session_index.jsonl"));
        assert_eq!(beside[0].placing, Placing::Append);
        assert_eq!(
            beside[0].text,
            format!(
                "{{\"id\":\"{ID}\",\"thread_name\":\"Beds: \\\"north\\\"\",\
                 \"updated_at\":\"2026-01-31T12:00:05.250Z\"}}\n"
            )
        );
    }

    #[test]
    fn the_command_names_the_session() {
        assert_eq!(resume_command(NativeFormat::Codex, "x").join(" "), "codex resume x");
        assert_eq!(resume_command(NativeFormat::Claude, "x").join(" "), "claude --resume x");
    }
}
