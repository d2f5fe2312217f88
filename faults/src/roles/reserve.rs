//! The part of `disk-full` that tests the reserve: on a completely full file system of 32 MB a
//! search, a redaction and a deletion succeed.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tertulia_store::{Append, NewSession, SearchQuery, SessionId, StoreError};

use crate::batch::Batch;
use crate::error::FaultsError;
use crate::options::Options;
use crate::report::Report;
use crate::scratch::{Scratch, database, open};
use crate::tools;

/// Mounts a file system for this process alone, and runs the rest there.
const IN_SMALL: &str = "mount -t tmpfs -o size=32m,mode=700 none \"$1\" && shift && exec \"$@\"";

/// Runs the inner part on its own file system; requires root.
pub(super) fn run(seed: u64) -> Result<bool, FaultsError> {
    if !tools::is_root() {
        return Ok(true);
    }
    let scratch = Scratch::on_disk()?;
    let (folder, said) = (scratch.folder("small")?, scratch.file("said"));
    let mut unshare = Command::new("unshare");
    unshare.args(["-m", "sh", "-c", IN_SMALL, "sh"]).arg(&folder).arg(tools::own_path()?);
    unshare.args(["disk-full-reserve", "--folder"]).arg(&folder);
    unshare.args(["--seed", &seed.to_string()]);
    let kept = tools::run_into(&mut unshare, &said, Duration::from_secs(120))?;
    print!("{}", std::fs::read_to_string(&said).map_err(FaultsError::at(&said))?);
    Ok(kept)
}

/// The part that runs on the small file system.
pub(crate) fn inside(arguments: &[String]) -> Result<bool, FaultsError> {
    let mut options = Options::parse("disk-full-reserve", arguments, &["folder", "seed"])?;
    let mut report = Report::new("disk-full with a reserve", &mut options)?;
    let folder = PathBuf::from(options.needed("folder")?);
    let inner = folder.join("store");
    std::fs::create_dir_all(&inner).map_err(FaultsError::at(&inner))?;
    let store = open(&database(&inner))?;
    let sessions = ["keep", "redact", "delete"].map(|name| name.parse::<SessionId>());
    for id in sessions {
        let id = id.map_err(StoreError::from)?;
        store.create(&NewSession { id: Some(id.clone()) })?;
        // The deleted session is several times as large as the reserve.
        let batches = if id.as_str() == "delete" { 900 } else { 60 };
        for number in 0..batches {
            store.append(&id, Append::new(Batch::new("w", number).entries()))?;
        }
    }
    store.catch_up(|_| {})?;
    fill_up(&folder.join("ballast"));
    let [keep, redact, delete] = ["keep", "redact", "delete"]
        .map(|name| name.parse::<SessionId>().map_err(StoreError::from));
    let (keep, redact, delete) = (keep?, redact?, delete?);
    let mut full = 0;
    for number in 100..2000 {
        let batch = Batch::new("w", number);
        if store.append(&keep, Append::new(batch.entries())).is_err() {
            full += 1;
            break;
        }
    }
    report.faults(full);
    let query = SearchQuery { text: "e*".to_owned(), ..SearchQuery::default() };
    let found = store.search(&query);
    report.claim(found.is_ok_and(|found| !found.hits.is_empty()), "a search found nothing");
    let redacted = store.redact(&redact, &Batch::new("w", 5).id(0), None);
    report.claim(redacted.is_ok(), format!("a redaction: {redacted:?}"));
    let deleted = store.delete(&delete);
    report.claim(deleted.is_ok(), format!("a deletion: {deleted:?}"));
    let whole = store.verify(&redact)?;
    report.claim(whole.purged == 1 && whole.damage.is_none(), format!("{whole:?}"));
    Ok(report.finish())
}

/// Writes until the disk is full.
fn fill_up(path: &Path) {
    let Ok(mut file) = OpenOptions::new().write(true).create(true).truncate(true).open(path) else {
        return;
    };
    for size in [1 << 16, 1 << 12, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
}
