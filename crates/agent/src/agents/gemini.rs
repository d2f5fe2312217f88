//! Gemini CLI. It accepts no system text besides the person's own: `GEMINI_SYSTEM_MD` replaces its prompt, and
//! `GEMINI.md` belongs to the person or the project. Therefore ours precedes the prompt. After a failure the program
//! writes the whole conversation into `TMPDIR`, so it gets its own temporary folder, which is deleted with the turn.

use std::fs::read_dir;
use std::path::{Path, PathBuf};

use tertulia_dialect::stream::{TextOrigin, gemini_transcript_text};

use super::*;
use crate::process::{private_folder, read_prefix};

const BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Maximum number of project folders, and of sessions in each, that are searched.
const FOLDERS_MAX: usize = 10_000;

/// Gemini CLI.
pub const GEMINI: &AgentDefinition = &AgentDefinition {
    word: "gemini",
    earlier_words: &["gemini", "google-gemini"],
    title: "Gemini CLI",
    fields: CLI_FIELDS,
    prompt_format: "gemini",
    window_tokens: 1_000_000,
    reports_cost: false,
    settings: ProjectSettings { folders: &[".agents", ".gemini"], files: &[".env"], skipped: &[] },
    prompt_syntax: PromptSyntax::Gemini,
    system_text: SystemText::InFront,
    cli: Some(Cli {
        program: "gemini",
        package: "@google/gemini-cli",
        variables: &["GEMINI_*", "GOOGLE_*"],
        nested_variables: &["GEMINI_CLI", "GEMINI_CLI_IDE_*", "GEMINI_CLI_SESSION_ID"],
        adapter: Some(("gemini", PromptSyntax::Acp)),
        sign_in: SignInSources {
            variables: &["GEMINI_API_KEY"],
            files: &[HomeFile::new(("GEMINI_CLI_HOME", ".gemini"), ".gemini", "oauth_creds.json")],
            other_services: &[
                "GOOGLE_API_KEY",
                "GOOGLE_GENAI_USE_VERTEXAI",
                "GOOGLE_GENAI_USE_GCA",
            ],
            settings: &[],
            is_in_keychain: false,
            advice: "run `{}` and sign in, or set GEMINI_API_KEY",
        },
        stream: AgentStream::Gemini,
        prepare,
        memory: CliMemory::Unsupported {
            reason: "Gemini CLI may rewrite or delete sessions that it has resumed",
        },
        takes_context: false,
        correct: Some(correct),
    }),
    ..GENERIC
};

fn prepare(spec: &AgentSpec, request: &TurnRequest<'_>) -> Result<Prepared, StartError> {
    let mut turn = Prepared::new(spec, request)?;
    let folder = private_folder()?;
    // The program would otherwise start a second process, which does not get a signal that is sent to the first.
    turn.set_default(spec, "GEMINI_CLI_NO_RELAUNCH", "true");
    turn.set_default(spec, "TMPDIR", folder.path());
    turn.folder = Some(folder);
    let mode = match spec.permissions {
        Permissions::Read => "default",
        Permissions::Edit => "auto_edit",
        Permissions::Full => "yolo",
    };
    turn.args(["--skip-trust", "-o", "stream-json", "--approval-mode", mode]);
    turn.model("-m", spec);
    Ok(turn)
}

/// Replaces the text of an answer by the exact one. After a retry the stream repeats text without marking it; the
/// program's transcript contains only the valid text. If the transcript does not contain the text, it may belong to
/// another turn or session, so nothing is replaced.
fn correct(output: &mut TurnOutput, command: &CommandLine) {
    let Some(final_text) = &mut output.final_text else { return };
    let Some(session) = output.native_session_id.as_deref() else { return };
    if final_text.origin == TextOrigin::Stated {
        return;
    }
    let Some(from) = find(command, session, &final_text.text) else {
        tracing::debug!(session, "no transcript; the text stays as it was pieced together");
        return;
    };
    final_text.text.drain(..from);
    final_text.origin = TextOrigin::Stated;
}

/// Returns the offset of the exact text in the assembled one. The file of the session may be in the folder of any
/// project.
fn find(command: &CommandLine, session: &str, pieced: &str) -> Option<usize> {
    let home = ["GEMINI_CLI_HOME", "HOME"].iter().find_map(|name| command.environment.get(name))?;
    let beginning = session.get(..session.floor_char_boundary(8))?;
    let suffix = format!("-{beginning}.jsonl");
    let projects = entries(&Path::new(home).join(".gemini/tmp"));
    let chats = projects.into_iter().flat_map(|project| entries(&project.join("chats")));
    let is_named = |path: &PathBuf| path.to_string_lossy().ends_with(&suffix);
    let exact = chats
        .filter(is_named)
        .find_map(|path| gemini_transcript_text(&read(&path)?, session, pieced));
    exact.map(|exact| pieced.len() - exact.len())
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = read_dir(folder) else { return Vec::new() };
    entries.flatten().take(FOLDERS_MAX).map(|entry| entry.path()).collect()
}

fn read(path: &Path) -> Option<String> {
    let bytes = read_prefix(Some(path).filter(|path| path.is_file())?, BYTES_MAX + 1)?;
    let is_whole = bytes.len() as u64 <= BYTES_MAX;
    is_whole.then(|| String::from_utf8_lossy(&bytes).into_owned())
}
