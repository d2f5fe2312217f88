//! The list of trusted team files: what it holds before a job, and whether it is whole afterwards. Reads the
//! file as it is described, not through the crate that writes it.

use std::fs;

use super::place::Place;
use crate::error::FaultsError;
use crate::scratch::put;

/// A team that has to be trusted because it may take many turns, and that starts nothing.
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
/// How many files were trusted before.
const BEFORE: u32 = 40;

/// The lines that were there before.
pub(super) fn before() -> Vec<String> {
    (0..BEFORE).map(|number| format!("{number:064x} /somewhere/{number}/tertulia.toml")).collect()
}

/// The line by which a team file of this place is trusted, whatever is in it.
pub(super) fn line_of(place: &Place) -> String {
    format!("{:064x} {}", 0, place.team_file().display())
}

/// Writes a list with some files in it.
pub(super) fn prepare(place: &Place) -> Result<(), FaultsError> {
    put(&place.trusted(), text(&before()).as_bytes())
}

pub(super) fn text(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

/// Says whether the team file of this place is trusted; an error if the list is not whole.
pub(super) fn look(place: &Place) -> Result<bool, FaultsError> {
    let path = place.trusted();
    let text = fs::read_to_string(&path).map_err(FaultsError::at(&path))?;
    let lines: Vec<&str> = text.lines().collect();
    if !text.ends_with('\n') || !lines.iter().all(|line| is_line(line)) {
        return Err(FaultsError::unfit("the list of trusted files is half a list"));
    }
    let before = before();
    let kept = lines.iter().filter(|line| before.iter().any(|known| known == *line)).count();
    if kept != before.len() {
        let what = format!("{kept} of {} trusted files are still trusted", before.len());
        return Err(FaultsError::unfit(what));
    }
    // An image of a disk is laid out elsewhere than where it was written, so only the end is compared.
    let is_new = |line: &&&str| line.ends_with("/project/tertulia.toml");
    Ok(lines.iter().any(|line| is_new(&line)))
}

/// Whether the team file is trusted at this very path.
pub(super) fn is_trusted_here(place: &Place) -> bool {
    let end = format!(" {}", place.team_file().display());
    fs::read_to_string(place.trusted())
        .is_ok_and(|text| text.lines().any(|line| line.ends_with(&end)))
}

fn is_line(line: &str) -> bool {
    line.split_once(' ').is_some_and(|(hash, path)| {
        hash.len() == 64
            && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
            && path.starts_with('/')
    })
}
