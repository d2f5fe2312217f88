//! The folders where each agent keeps its sessions, and the files there that may be sessions. docs/native-sessions.md
//! has the same list for readers.

use std::fs;
use std::path::{Component, Path, PathBuf};

use tertulia_dialect::native::NativeFormat;

use crate::Environment;
use crate::tree::{is_sub_agent, storage_of};

/// Maximum depth of folders between an agent's folder and a session.
const DEPTH_MAX: usize = 4;

/// A file that may be a session, or a database that may contain some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Candidate {
    File(PathBuf),
    Database(PathBuf),
    /// The session in a storage of opencode; see [`crate::tree`].
    Tree(PathBuf),
}

/// Returns the files and databases that may contain sessions of an agent.
pub(crate) fn candidates(environment: &Environment, format: NativeFormat) -> Vec<Candidate> {
    let mut files = Vec::new();
    match format {
        NativeFormat::Claude => {
            for folder in claude_folders(environment) {
                let is_session = |name: &str| name.ends_with(".jsonl") && !is_side_file(name);
                collect(&folder.join("projects"), 1, &is_session, &mut files);
            }
        }
        NativeFormat::Codex => {
            let folder = environment.folder("CODEX_HOME", ".codex");
            let is_session = |name: &str| name.starts_with("rollout-") && name.ends_with(".jsonl");
            collect(&folder.join("sessions"), DEPTH_MAX, &is_session, &mut files);
            collect(&folder.join("archived_sessions"), 0, &is_session, &mut files);
        }
        NativeFormat::Gemini => {
            let home = environment.named("GEMINI_CLI_HOME").unwrap_or(environment.home());
            for slug in folders_in(&home.join(".gemini/tmp")) {
                let is_session = |name: &str| {
                    name.starts_with("session-")
                        && (name.ends_with(".json") || name.ends_with(".jsonl"))
                };
                collect(&slug.join("chats"), 0, &is_session, &mut files);
            }
        }
        NativeFormat::Copilot => {
            let folder = environment.folder("COPILOT_HOME", ".copilot").join("session-state");
            collect(&folder, 1, &|name| name == "events.jsonl", &mut files);
            // Earlier versions of the agent had no folder for each session.
            collect(&folder, 0, &|name| name.ends_with(".jsonl"), &mut files);
        }
        NativeFormat::Pi => {
            let folder = match environment.named("PI_CODING_AGENT_SESSION_DIR") {
                Some(folder) => folder.to_owned(),
                None => environment.folder("PI_CODING_AGENT_DIR", ".pi/agent").join("sessions"),
            };
            collect(&folder, 1, &|name| name.ends_with(".jsonl"), &mut files);
        }
        NativeFormat::Cline => {
            let folder = environment.folder("CLINE_DATA_DIR", ".cline/data").join("sessions");
            collect(&folder, 1, &|name| name.ends_with(".messages.json"), &mut files);
            for tasks in code_folders(environment) {
                collect(&tasks, 1, &|name| name == "api_conversation_history.json", &mut files);
            }
        }
        NativeFormat::Aider => {
            let file = |folder: &PathBuf| folder.join(".aider.chat.history.md");
            files.extend(environment.projects().iter().map(file).filter(|file| file.is_file()));
        }
        NativeFormat::Opencode => return candidates_of_opencode(environment),
        NativeFormat::Goose => return candidates_of_goose(environment),
    }
    files.into_iter().map(Candidate::File).collect()
}

fn candidates_of_opencode(environment: &Environment) -> Vec<Candidate> {
    let folder = data_folder(environment).join("opencode");
    let mut files = Vec::new();
    // Earlier versions kept a file for each session, message and part.
    collect(&folder.join("storage/session"), 1, &|name| name.ends_with(".json"), &mut files);
    files.retain(|file| storage_of(file).is_some() && !is_sub_agent(file));
    let mut found = database(folder.join("opencode.db"));
    found.extend(files.into_iter().map(Candidate::Tree));
    found
}

fn candidates_of_goose(environment: &Environment) -> Vec<Candidate> {
    let folder = match environment.named("GOOSE_PATH_ROOT") {
        Some(root) => root.join("data"),
        None => data_folder(environment).join("goose"),
    };
    let mut files = Vec::new();
    // Earlier versions of the agent kept a file for each session.
    collect(&folder.join("sessions"), 0, &|name| name.ends_with(".jsonl"), &mut files);
    let mut found = database(folder.join("sessions/sessions.db"));
    found.extend(files.into_iter().map(Candidate::File));
    found
}

/// Returns whether an agent would find a session in this file. Lines may be added only to such a file.
pub fn is_session_place(environment: &Environment, format: NativeFormat, path: &Path) -> bool {
    let roots = match format {
        NativeFormat::Claude => {
            claude_folders(environment).into_iter().map(|folder| folder.join("projects")).collect()
        }
        NativeFormat::Codex => vec![environment.folder("CODEX_HOME", ".codex").join("sessions")],
        NativeFormat::Gemini => {
            let home = environment.named("GEMINI_CLI_HOME").unwrap_or(environment.home());
            vec![home.join(".gemini/tmp")]
        }
        NativeFormat::Copilot => {
            vec![environment.folder("COPILOT_HOME", ".copilot").join("session-state")]
        }
        NativeFormat::Pi => vec![match environment.named("PI_CODING_AGENT_SESSION_DIR") {
            Some(folder) => folder.to_owned(),
            None => environment.folder("PI_CODING_AGENT_DIR", ".pi/agent").join("sessions"),
        }],
        NativeFormat::Opencode
        | NativeFormat::Goose
        | NativeFormat::Cline
        | NativeFormat::Aider => Vec::new(),
    };
    let is_plain = |part: Component<'_>| !matches!(part, Component::ParentDir | Component::CurDir);
    let is_lines = path.extension().is_some_and(|kind| kind == "jsonl");
    is_lines
        && path.is_absolute()
        && path.components().all(is_plain)
        && roots.iter().any(|root| path.starts_with(root))
}

/// Returns whether a file belongs to a sub-agent of a session in the same folder.
pub(crate) fn is_side_file(name: &str) -> bool {
    name.starts_with("agent-") && name.ends_with(".jsonl")
}

/// Adds the files with these names in a folder, and in the folders that are at most `depth` below.
pub(crate) fn collect(
    folder: &Path,
    depth: usize,
    is_wanted: &dyn Fn(&str) -> bool,
    files: &mut Vec<PathBuf>,
) {
    let Ok(found) = fs::read_dir(folder) else { return };
    for entry in found.flatten() {
        let name = entry.file_name();
        let (Some(name), Ok(kind)) = (name.to_str(), entry.file_type()) else { continue };
        // A link to a folder might lead to a loop, so links are not followed.
        if kind.is_dir() && depth > 0 {
            collect(&entry.path(), depth - 1, is_wanted, files);
        } else if !kind.is_dir() && is_wanted(name) {
            files.push(entry.path());
        }
    }
}

fn claude_folders(environment: &Environment) -> Vec<PathBuf> {
    match environment.named("CLAUDE_CONFIG_DIR") {
        Some(folder) => vec![folder.to_owned()],
        None => {
            let config = environment.folder("XDG_CONFIG_HOME", ".config");
            vec![environment.home().join(".claude"), config.join("claude")]
        }
    }
}

fn data_folder(environment: &Environment) -> PathBuf {
    environment.folder("XDG_DATA_HOME", ".local/share")
}

/// Returns the folders where editors of the VS Code family keep the tasks of the Cline extension.
fn code_folders(environment: &Environment) -> Vec<PathBuf> {
    let config = environment.folder("XDG_CONFIG_HOME", ".config");
    let macos = environment.home().join("Library/Application Support");
    let editors = ["Code", "Code - Insiders", "VSCodium", "Cursor"];
    let folders = [config, macos].into_iter().flat_map(|base| editors.map(|name| base.join(name)));
    folders.map(|editor| editor.join("User/globalStorage/saoudrizwan.claude-dev/tasks")).collect()
}

fn database(path: PathBuf) -> Vec<Candidate> {
    if path.is_file() { vec![Candidate::Database(path)] } else { Vec::new() }
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(found) = fs::read_dir(folder) else { return Vec::new() };
    let folders = found.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).collect()
}
