//! The roles: one file each. `all` runs them in turn; some are the inner part of another one and
//! run as a separate process.

mod clock;
mod copies;
mod cuts;
mod damage;
mod disk_full;
mod errors;
mod images;
mod kills;
mod locked;
mod postgres;
mod race;
mod read_only;
mod reserve;
mod trees;

use crate::error::FaultsError;
use crate::options::Options;
use crate::{jobs, writer};

type Role = fn(&[String]) -> Result<bool, FaultsError>;

/// Maximum number of power cuts per command in `all`.
const CUTS_MAX: u64 = 1000;

/// The roles of `all`, quick ones first.
const ALL: [&str; 12] = [
    "locked",
    "clock",
    "read-only",
    "disk-full",
    "race",
    "trees",
    "errors",
    "copies",
    "cuts",
    "damage",
    "kills",
    "images",
];

/// Runs a role. Returns whether all guarantees held.
pub(crate) fn run(role: &str, arguments: &[String]) -> Result<bool, FaultsError> {
    let unknown = || FaultsError::Usage(format!("there is no role `{role}`"));
    find(role).ok_or_else(unknown)?(arguments)
}

fn find(role: &str) -> Option<Role> {
    Some(match role {
        "all" => all,
        "clock" => clock::run,
        "copies" => copies::run,
        "copier" => jobs::copier,
        "cuts" => cuts::run,
        "damage" => damage::run,
        "damage-inside" => damage::inside,
        "disk-full" => disk_full::run,
        "disk-full-inside" => disk_full::inside,
        "disk-full-reserve" => reserve::inside,
        "errors" => errors::run,
        "images" => images::run,
        "kills" => kills::run,
        "locked" => locked::run,
        "postgres-kills" => postgres::run,
        "race" => race::run,
        "racer" => race::race,
        "read-only" => read_only::run,
        "read-only-inside" => read_only::inside,
        "trees" => trees::run,
        "trees-inside" => trees::inside,
        "writer" => writer::run,
        _ => return None,
    })
}

/// Runs all roles in turn; a failing role does not stop the others.
fn all(arguments: &[String]) -> Result<bool, FaultsError> {
    let options = Options::parse("all", arguments, &["kills", "images", "seed"])?;
    let mut roles = ALL.to_vec();
    if postgres::is_possible() {
        roles.push("postgres-kills");
    } else {
        println!("postgres-kills: skipped, because there is no PostgreSQL server here");
    }
    let mut kept = true;
    for role in roles {
        let taken = match role {
            "kills" | "postgres-kills" => ["kills", "seed"].as_slice(),
            "images" => &["images", "seed"],
            _ => &["seed"],
        };
        let given = taken.iter().filter_map(|name| Some((name, options.text(name)?)));
        let given = given.flat_map(|(name, value)| [format!("--{name}"), value.to_owned()]);
        let mut given: Vec<String> = given.collect();
        if role == "cuts" {
            // Per command; otherwise the option is the total for `images`.
            let images = options.number("images", CUTS_MAX)?.min(CUTS_MAX);
            given.extend(["--images".to_owned(), images.to_string()]);
        }
        match run(role, &given) {
            Ok(role_kept) => kept &= role_kept,
            Err(error) => {
                println!("{role}: could not run: {error}");
                kept = false;
            }
        }
    }
    Ok(kept)
}
