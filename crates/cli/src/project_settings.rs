//! The settings that a project has for coding agents. Such an agent obeys those of the folder it works in (hooks,
//! MCP servers), so a folder that has some is as good as a team file that starts programs. Called where a team
//! is made ready to answer, and by `init`.

use std::path::{Path, PathBuf};

/// What the agents look for in a folder and in those above it.
const NAMES: [&str; 4] = [".claude", ".mcp.json", ".gemini", ".codex"];

/// The first such settings of a folder or of one above it, up to the repository's. Those in the person's home
/// are the person's own.
pub(crate) fn of_folder(folder: &Path, repository: &Path) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let folders = folder.ancestors().take_while(|above| above.starts_with(repository));
    let strange = folders.filter(|above| home.as_deref() != Some(*above));
    strange
        .flat_map(|above| NAMES.map(|name| above.join(name)))
        .find(|path| path.symlink_metadata().is_ok())
}
