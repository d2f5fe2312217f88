//! Where the team file and the sessions are, and whether they can be used.

use std::path::Path;

use tertulia_store::StoreUrl;
use tertulia_team::Team;
use tertulia_team::file::{self, Opened, Origin};

use super::agents::Known;
use super::{Finding, Health, members};
use crate::advice::same_place;
use crate::args::{StoreArg, TeamFileArg};
use crate::error::CliError;
use crate::store_place::StorePlace;
use crate::team_place::{self, Standing};
use crate::terminal::grouped;

/// Less free space than this is a warning.
const SPACE_MIN: u64 = 100 * 1024 * 1024;

/// The team file and its members.
pub(super) fn team(arg: &TeamFileArg, known: &mut Known) -> Vec<Finding> {
    const ABOUT: &str = "team file";
    let found = match team_place::find(arg) {
        Ok(Some(found)) => found,
        Ok(None) => {
            let text = "none; only the built-in members answer";
            let finding = Finding::new(ABOUT, Health::Ok, text);
            return vec![finding.advised("`tertulia init` creates one with the agents found here")];
        }
        Err(error) => return vec![Finding::new(ABOUT, Health::Error, error.to_string())],
    };
    let opened = match file::open(&found.path) {
        Ok(opened) => opened,
        Err(errors) => return vec![Finding::new(ABOUT, Health::Error, errors.to_string())],
    };
    let flags = same_place(arg, &StoreArg { store: None });
    let mut findings = vec![standing(found.origin, &opened, &flags)];
    for warning in &opened.team.warnings {
        findings.push(Finding::new(ABOUT, Health::Warning, warning.to_string()));
    }
    let base = &opened.folder;
    let work = team_place::work_folder(found.origin, base).unwrap_or_else(|_| base.clone());
    if let Err(error) = Team::from_file_in(&opened.team, base, &work) {
        findings.push(Finding::new(ABOUT, Health::Error, error.to_string()));
    }
    findings.extend(members::check(&opened.team, base, &work, known));
    findings
}

fn standing(origin: Origin, opened: &Opened, flags: &str) -> Finding {
    let place = format!("{} ({})", opened.path.display(), team_place::name_of(origin));
    match team_place::standing(origin, opened) {
        Ok(Standing::Harmless) => Finding::new("team file", Health::Ok, place),
        Ok(Standing::Trusted) => Finding::new("team file", Health::Ok, format!("{place}, trusted")),
        Ok(Standing::Untrusted(reasons)) => {
            let mut text = format!("{place} is not trusted yet:");
            for reason in reasons {
                text.push_str(&format!("\n  {reason}"));
            }
            let finding = Finding::new("team file", Health::Error, text);
            finding.advised(format!("review it, then run `tertulia chat --trust{flags}`"))
        }
        Err(error) => Finding::new("team file", Health::Error, format!("{place}: {error}")),
    }
}

/// The store. Opening it checks its schema; a file that is not there is not made.
pub(super) fn store(arg: &StoreArg) -> Finding {
    match look_at(arg) {
        Ok(finding) => finding,
        Err(error) => Finding::new("store", Health::Error, error.to_string()),
    }
}

fn look_at(arg: &StoreArg) -> Result<Finding, CliError> {
    let place = StorePlace::read(arg)?;
    let opened = place.open_existing()?;
    let url = place.into_url();
    let StoreUrl::Sqlite(path) = &url else {
        return Ok(Finding::new("store", Health::Ok, format!("{url}, opened")));
    };
    let state = if opened.is_some() { "opened" } else { "no sessions yet" };
    let near = path.ancestors().find(|folder| folder.exists()).unwrap_or(path);
    let text = format!("{}, {state}", path.display());
    if rustix::fs::access(near, rustix::fs::Access::WRITE_OK).is_err() {
        let finding = Finding::new("store", Health::Error, format!("{text}, not writable"));
        return Ok(finding.advised(format!("check the permissions of {}", near.display())));
    }
    let Some(free) = free_space(near) else {
        return Ok(Finding::new("store", Health::Ok, format!("{text}, writable")));
    };
    let text = format!("{text}, writable, {} MiB free", grouped(free / 1024 / 1024));
    let finding = Finding::new("store", Health::Ok, text);
    match free < SPACE_MIN {
        true => Ok(Finding { health: Health::Warning, ..finding }.advised("free some disk space")),
        false => Ok(finding),
    }
}

fn free_space(path: &Path) -> Option<u64> {
    let known = rustix::fs::statvfs(path).ok()?;
    Some(known.f_bavail.saturating_mul(known.f_frsize))
}
