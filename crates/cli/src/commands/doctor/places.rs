//! Where the team file and the sessions are, and whether they can be used.

use std::path::Path;

use tertulia_store::StoreUrl;
use tertulia_team::Team;
use tertulia_team::file::{self, Opened, Origin};

use super::{Finding, Health, members};
use crate::args::{StoreArg, TeamFileArg};
use crate::error::CliError;
use crate::store_place::StorePlace;
use crate::team_place::{self, Standing};
use crate::terminal::grouped;

/// Less free space than this is told.
const SPACE_MIN: u64 = 100 * 1024 * 1024;

/// The team file and its members.
pub(super) fn team(arg: &TeamFileArg) -> Vec<Finding> {
    const ABOUT: &str = "team file";
    let found = match team_place::find(arg) {
        Ok(Some(found)) => found,
        Ok(None) => {
            let text = "none; the house members sit at the table";
            let finding = Finding::new(ABOUT, Health::Good, text);
            return vec![finding.advised("`tertulia init` writes one")];
        }
        Err(error) => return vec![Finding::new(ABOUT, Health::Broken, error.to_string())],
    };
    let opened = match file::open(&found.path) {
        Ok(opened) => opened,
        Err(errors) => return vec![Finding::new(ABOUT, Health::Broken, errors.to_string())],
    };
    let mut findings = vec![standing(found.origin, &opened)];
    for warning in &opened.team.warnings {
        findings.push(Finding::new(ABOUT, Health::Lacking, warning.to_string()));
    }
    let base = &opened.folder;
    let work = team_place::work_folder(found.origin, base).unwrap_or_else(|_| base.clone());
    if let Err(error) = Team::from_file_in(&opened.team, base, &work) {
        findings.push(Finding::new(ABOUT, Health::Broken, error.to_string()));
    }
    findings.extend(members::check(&opened.team, base, &work));
    findings
}

fn standing(origin: Origin, opened: &Opened) -> Finding {
    let place = format!("{} ({})", opened.path.display(), team_place::name_of(origin));
    match team_place::standing(origin, opened) {
        Ok(Standing::Harmless) => Finding::new("team file", Health::Good, place),
        Ok(Standing::Trusted) => {
            Finding::new("team file", Health::Good, format!("{place}, trusted"))
        }
        Ok(Standing::Untrusted(reasons)) => {
            let mut text = format!("{place} is not trusted yet. It says:");
            for reason in reasons {
                text.push_str(&format!("\n  {reason}"));
            }
            let finding = Finding::new("team file", Health::Broken, text);
            finding.advised("read it; if that is what you want, `tertulia run --trust …`")
        }
        Err(error) => Finding::new("team file", Health::Broken, format!("{place}: {error}")),
    }
}

/// The store. Opening it checks its schema; a file that is not there is not made.
pub(super) fn store(arg: &StoreArg) -> Finding {
    match look_at(arg) {
        Ok(finding) => finding,
        Err(error) => Finding::new("store", Health::Broken, error.to_string()),
    }
}

fn look_at(arg: &StoreArg) -> Result<Finding, CliError> {
    let place = StorePlace::read(arg)?;
    let opened = place.open_existing()?;
    let url = place.into_url();
    let StoreUrl::Sqlite(path) = &url else {
        return Ok(Finding::new(
            "store",
            Health::Good,
            format!("{url}, opened, schema as expected"),
        ));
    };
    let state = if opened.is_some() { "schema as expected" } else { "no sessions yet" };
    let near = path.ancestors().find(|folder| folder.exists()).unwrap_or(path);
    let text = format!("{}, {state}", path.display());
    if rustix::fs::access(near, rustix::fs::Access::WRITE_OK).is_err() {
        let finding = Finding::new("store", Health::Broken, format!("{text}, not writable"));
        return Ok(finding.advised(format!("see to the permissions of {}", near.display())));
    }
    let Some(free) = free_space(near) else {
        return Ok(Finding::new("store", Health::Good, format!("{text}, writable")));
    };
    let text = format!("{text}, writable, {} MiB free", grouped(free / 1024 / 1024));
    let finding = Finding::new("store", Health::Good, text);
    match free < SPACE_MIN {
        true => Ok(Finding { health: Health::Lacking, ..finding }.advised("make room on the disk")),
        false => Ok(finding),
    }
}

fn free_space(path: &Path) -> Option<u64> {
    let known = rustix::fs::statvfs(path).ok()?;
    Some(known.f_bavail.saturating_mul(known.f_frsize))
}
