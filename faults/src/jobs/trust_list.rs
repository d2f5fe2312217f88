//! The list of trusted team files: its content before a job, and whether it is complete afterwards.
//! Reads the file by its documented format, not through the crate that writes it.

use std::fs;

use super::run_folder::RunFolder;
use crate::error::FaultsError;
use crate::scratch::put;

/// A team that requires trust because it may take many turns, but starts nothing.
pub(super) const TEAM: &str = "\
[limits]
turns = 99

[[member]]
name = \"ann\"
kind = \"human\"

[[member]]
name = \"echo\"
agent = \"script\"
answers = [\"Done. [NEXT: ann]\"]
";
/// Number of files that were trusted before.
const BEFORE: u32 = 40;

/// Returns the earlier lines.
pub(super) fn before() -> Vec<String> {
    (0..BEFORE).map(|number| format!("{number:064x} /somewhere/{number}/tertulia.toml")).collect()
}

/// Returns the line that trusts the team file of this run, whatever its content.
pub(super) fn line_of(run: &RunFolder) -> String {
    format!("{:064x} {}", 0, run.team_file().display())
}

/// Writes a list with some files in it.
pub(super) fn prepare(run: &RunFolder) -> Result<(), FaultsError> {
    put(&run.trusted(), text(&before()).as_bytes())
}

pub(super) fn text(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

/// Returns whether the team file of this run is trusted; fails if the list is incomplete.
pub(super) fn look(run: &RunFolder) -> Result<bool, FaultsError> {
    let path = run.trusted();
    let text = fs::read_to_string(&path).map_err(FaultsError::at(&path))?;
    let lines: Vec<&str> = text.lines().collect();
    if !text.ends_with('\n') || !lines.iter().all(|line| is_line(line)) {
        return Err(FaultsError::unexpected("the list of trusted files is incomplete"));
    }
    let before = before();
    let kept = lines.iter().filter(|line| before.iter().any(|known| known == *line)).count();
    if kept != before.len() {
        let what = format!("{kept} of {} trusted files are still trusted", before.len());
        return Err(FaultsError::unexpected(what));
    }
    // A disk image is restored at another path than it was written, so only the end is compared.
    let is_new = |line: &&&str| line.ends_with("/project/tertulia.toml");
    Ok(lines.iter().any(|line| is_new(&line)))
}

/// Returns whether the team file is trusted at exactly this path.
pub(super) fn is_trusted_here(run: &RunFolder) -> bool {
    let end = format!(" {}", run.team_file().display());
    fs::read_to_string(run.trusted())
        .is_ok_and(|text| text.lines().any(|line| line.ends_with(&end)))
}

fn is_line(line: &str) -> bool {
    line.split_once(' ').is_some_and(|(hash, path)| {
        hash.len() == 64
            && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
            && path.starts_with('/')
    })
}
