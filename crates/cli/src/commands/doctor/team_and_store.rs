//! Checks the team file and the session store.

use std::path::Path;

use tertulia_chat::terminal::{counted, grouped};
use tertulia_store::{LeftBehind, StoreUrl};
use tertulia_team::Team;
use tertulia_team::file::{HideKey, Opened, Origin, Trust, TrustReason, Trusted};

use super::agents::{self, Known};
use super::{Finding, Health};
use crate::args::{StoreArg, TeamFileArg};
use crate::error::Result;
use crate::load_team::{self, TrustState};
use crate::store_location::{self, StoreLocation};
use crate::trust_question;

/// With less free space than this, the check warns.
const SPACE_MIN: u64 = 100 * 1024 * 1024;
/// With less than this a new session may not fit: it needs space for its journal and the reserve.
const SPACE_NEEDED: u64 = 4 * 1024 * 1024;

/// Checks the team file and its members; `flags` select the same team and store.
pub(super) fn team(arg: &TeamFileArg, flags: &str, known: &mut Known) -> Vec<Finding> {
    const ABOUT: &str = "team file";
    let found = match load_team::find(arg) {
        Ok(Some(found)) => found,
        Ok(None) => {
            let text = "none; only the built-in members answer";
            let finding = Finding::new(ABOUT, Health::Ok, text);
            return vec![finding.advised("`tertulia init` creates one with the agents found here")];
        }
        Err(error) => return vec![Finding::new(ABOUT, Health::Error, error.to_string())],
    };
    let opened = match load_team::open(&found) {
        Ok(opened) => opened,
        Err(errors) => return vec![Finding::new(ABOUT, Health::Error, errors.to_string())],
    };
    let mut findings = vec![trust_state(found.origin, &opened, flags)];
    findings.extend(settings(found.origin, &opened, flags));
    for warning in &opened.team.warnings {
        findings.push(Finding::new(ABOUT, Health::Warning, warning.to_string()));
    }
    let base = &opened.folder;
    let work = load_team::work_folder(found.origin, base).unwrap_or_else(|_| base.clone());
    let team = match load_team::is_trusted(found.origin, &opened) {
        true => opened.team.clone(),
        false => opened.team.without_outside_files().0,
    };
    if let Err(error) = Team::from_file_in(&team, base, &work) {
        findings.push(Finding::new(ABOUT, Health::Error, error.to_string()));
    }
    findings.extend(agents::check(&team, base, &work, known));
    findings
}

fn trust_state(origin: Origin, opened: &Opened, flags: &str) -> Finding {
    let location = format!("{} ({})", opened.path.display(), load_team::name_of(origin));
    match load_team::trust_state(origin, opened) {
        Ok(TrustState::Harmless) => Finding::new("team file", Health::Ok, location),
        Ok(TrustState::Trusted) => {
            Finding::new("team file", Health::Ok, format!("{location}, trusted"))
        }
        Ok(TrustState::Untrusted(reasons)) => {
            let text = untrusted(&location, opened, &reasons);
            Finding::new("team file", Health::Error, text).advised(review(flags))
        }
        Err(error) => Finding::new("team file", Health::Error, format!("{location}: {error}")),
    }
}

/// Describes a file that is not trusted with its present content, as `run` does. If it was never trusted, adds its
/// location.
fn untrusted(location: &str, opened: &Opened, reasons: &[TrustReason]) -> String {
    if let Some((key, before)) = seen(&opened.path) {
        let lines = opened.lines(&key);
        let text = trust_question::file_question(&opened.path, reasons, &lines, Some(&before));
        return text.trim_end().to_owned();
    }
    let lines = reasons.iter().map(|reason| format!("\n  {reason}"));
    lines.fold(format!("{location} is not trusted yet:"), |text, line| text + &line)
}

/// Returns the content that was trusted at this path before, and the key for hidden values. The key is created only
/// if there was such content.
fn seen(path: &Path) -> Option<(HideKey, Trusted)> {
    let list = store_location::in_home(Trust::open).ok()?;
    let before = list.seen(path)?;
    Some((list.hide_key(), before))
}

/// Checks the project settings that could stop a run.
fn settings(origin: Origin, opened: &Opened, flags: &str) -> Option<Finding> {
    const ABOUT: &str = "project settings";
    match load_team::untrusted_settings(origin, opened) {
        Ok(None) => None,
        Ok(Some(untrusted)) => {
            let text = match seen(&untrusted.folder) {
                Some((key, before)) => {
                    trust_question::settings_question(&untrusted, &key, Some(&before))
                }
                None => trust_question::all_settings(&untrusted),
            };
            Some(Finding::new(ABOUT, Health::Error, text.trim_end()).advised(review(flags)))
        }
        Err(error) => Some(Finding::new(ABOUT, Health::Error, error.to_string())),
    }
}

fn review(flags: &str) -> String {
    format!("review it, then run `tertulia chat --trust{flags}`")
}

/// Checks the store. Opening it checks its schema; a missing file is not created.
pub(super) fn store(arg: &StoreArg) -> Finding {
    check_store(arg).unwrap_or_else(|error| Finding::new("store", Health::Error, error.to_string()))
}

fn check_store(arg: &StoreArg) -> Result<Finding> {
    let location = StoreLocation::read(arg)?;
    let opened = location.open_existing()?;
    let url = location.into_url();
    let found = match &url {
        StoreUrl::Sqlite(path) => file(path, opened.is_some()),
        _ => Finding::new("store", Health::Ok, format!("{url}, opened")),
    };
    let Some(store) = opened.filter(|_| found.health != Health::Error) else { return Ok(found) };
    let left = store.left_behind()?;
    if left.sessions == 0 {
        return Ok(found);
    }
    let finding = Finding::new("store", Health::Warning, left_behind(&url, &left));
    Ok(finding
        .advised("the next command that writes to the store deletes them, for example an import"))
}

/// Checks that the file of a store can be written or created.
fn file(path: &Path, exists: bool) -> Finding {
    let state = if exists { "opened" } else { "no sessions yet" };
    let near = path.ancestors().find(|folder| folder.exists()).unwrap_or(path);
    let text = format!("{}, {state}", path.display());
    if rustix::fs::access(near, rustix::fs::Access::WRITE_OK).is_err() {
        let finding = Finding::new("store", Health::Error, format!("{text}, not writable"));
        return finding.advised(format!("check the permissions of {}", near.display()));
    }
    let space = rustix::fs::statvfs(near);
    let Ok(free) = space.map(|known| known.f_bavail.saturating_mul(known.f_frsize)) else {
        return Finding::new("store", Health::Ok, format!("{text}, writable"));
    };
    let text = format!("{text}, writable, {} MiB free", grouped(free / 1024 / 1024));
    let health = health_of(free);
    let finding = Finding::new("store", health, text);
    match health {
        Health::Error => finding.advised(
            "there is too little space to store a session; free some disk space, or name a store on another \
             disk with --store",
        ),
        Health::Warning => finding.advised("free some disk space"),
        _ => finding,
    }
}

fn health_of(free: u64) -> Health {
    match free {
        ..SPACE_NEEDED => Health::Error,
        SPACE_NEEDED..SPACE_MIN => Health::Warning,
        SPACE_MIN.. => Health::Ok,
    }
}

/// Describes the entries that interrupted imports left. No list shows them.
fn left_behind(url: &StoreUrl, left: &LeftBehind) -> String {
    let many = "interrupted imports or deletions";
    let imports = counted(left.sessions, "interrupted import or deletion", many);
    let entries = counted(left.entries, "entry", "entries");
    format!("{url}, opened; {imports} left {entries}, {} KiB", grouped(left.bytes.div_ceil(1024)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_an_error_and_little_space_a_warning() {
        for (mebibytes, expected) in
            [(0, Health::Error), (3, Health::Error), (4, Health::Warning), (100, Health::Ok)]
        {
            assert_eq!(health_of(mebibytes * 1024 * 1024), expected, "{mebibytes} MiB");
        }
    }
}
