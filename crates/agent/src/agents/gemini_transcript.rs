//! The exact text of Gemini's answer. Its stream repeats a text after a retry, without a mark; the
//! transcript that it writes holds the good text only. Called at the end of a turn that succeeded;
//! whatever is missing or odd, the pieced text stays.

use std::io::Read;
use std::path::{Path, PathBuf};

use tertulia_dialect::stream::{TextOrigin, TurnOutput, gemini_transcript_text};

use crate::process::CommandLine;

/// A longer transcript is not read.
const BYTES_MAX: u64 = 64 * 1024 * 1024;
/// How many projects' folders, and how many sessions in each, are looked through.
const FOLDERS_MAX: usize = 10_000;

/// Takes away what stands in front of the transcript's text. What the transcript does not hold is left as
/// it is: it would be another turn's, or another session's.
pub(super) fn correct(output: &mut TurnOutput, command: &CommandLine) {
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

/// Where in the pieced text the exact one begins. Looks for the session's file in every project's folder:
/// which is ours is known by its first line.
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
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().take(FOLDERS_MAX).map(|entry| entry.path()).collect()
}

fn read(path: &Path) -> Option<String> {
    let file = std::fs::File::open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
    let is_whole = bytes.len() as u64 <= BYTES_MAX;
    is_whole.then(|| String::from_utf8_lossy(&bytes).into_owned())
}
