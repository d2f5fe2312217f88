//! `read-only`: a store that cannot be written to, because its file system or its file is
//! read-only. It can be read; an append reports the cause and the fix.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tertulia_store::{Append, ListFilter, Range};

use crate::ack_log::Failed;
use crate::batch::Batch;
use crate::error::FaultsError;
use crate::options::Options;
use crate::report::Report;
use crate::scratch::{Scratch, database, open};
use crate::tools;
use crate::writer::Task;

const LIMIT: Duration = Duration::from_secs(60);
/// Mounts the folder as a read-only file system, for this process alone.
const IN_READ_ONLY: &str = "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\" && shift && \
                            exec \"$@\"";
/// A user other than root: for root, permissions make no file read-only.
const NOBODY: u32 = 65_534;

/// Runs the role.
pub(crate) fn run(arguments: &[String]) -> Result<bool, FaultsError> {
    let mut options = Options::parse("read-only", arguments, &["seed"])?;
    let mut report = Report::new("read-only", &mut options)?;
    if !tools::is_root() {
        let why = "read-only needs root, because it mounts and changes the user";
        return Err(FaultsError::unexpected(why));
    }
    for is_closed in [true, false] {
        for kind in [ReadOnly::FileSystem, ReadOnly::File, ReadOnly::Folder] {
            probe(kind, is_closed, &mut report)?;
        }
    }
    Ok(report.finish())
}

#[derive(Clone, Copy, Debug)]
enum ReadOnly {
    /// The file system is mounted read-only.
    FileSystem,
    /// The file is not writable.
    File,
    /// Neither the folder nor the file is writable.
    Folder,
}

fn probe(kind: ReadOnly, is_closed: bool, report: &mut Report) -> Result<(), FaultsError> {
    let scratch = Scratch::on_disk()?;
    let folder = scratch.folder("store")?;
    let file = database(&folder);
    fill(&file, is_closed, &scratch)?;
    let said = scratch.file("said");
    let mut command = match kind {
        ReadOnly::FileSystem => {
            let mut command = Command::new("unshare");
            command.args(["-m", "sh", "-c", IN_READ_ONLY, "sh"]).arg(&folder);
            command
        }
        ReadOnly::File | ReadOnly::Folder => {
            give_away(scratch.path(), &folder, matches!(kind, ReadOnly::Folder))?;
            let mut command = Command::new("setpriv");
            let (user, group) = (format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"));
            command.args([&user, &group, "--clear-groups"]);
            command
        }
    };
    command.arg(own_for_all(&scratch)?).args(["read-only-inside", "--file"]).arg(&file);
    report.faults(1);
    let ended = tools::run_into(&mut command, &said, LIMIT)?;
    let said = std::fs::read_to_string(&said).map_err(FaultsError::at(&said))?;
    let how = if is_closed { "closed" } else { "left open by a kill" };
    for line in said.lines() {
        report.broken(format!("{kind:?}, {how}: {line}"));
    }
    report.claim(ended, format!("{kind:?}, {how}: the process failed"));
    Ok(())
}

/// Writes twenty batches; closes properly, or leaves the journal as a kill does.
fn fill(file: &Path, is_closed: bool, scratch: &Scratch) -> Result<(), FaultsError> {
    let said = scratch.file("said-before");
    let batches = if is_closed { 20 } else { 1_000_000 };
    let task = Task { batches, sessions: 1, ..Task::new(file, "w0") };
    let mut child = tools::start_into(&mut task.command()?, &said)?;
    if is_closed {
        tools::wait(&mut child, LIMIT)?;
    } else {
        let lines = || crate::ack_log::read(&said).map_or(0, |lines| lines.len());
        tools::until(LIMIT, || lines() > 20);
    }
    tools::end(&mut child);
    Ok(())
}

/// Returns a copy of this program that everybody can run.
fn own_for_all(scratch: &Scratch) -> Result<std::path::PathBuf, FaultsError> {
    let copy = scratch.file("faults");
    std::fs::copy(tools::own_path()?, &copy).map_err(FaultsError::at(&copy))?;
    set_mode(&copy, 0o755)?;
    Ok(copy)
}

/// Gives all files to a user who cannot write to them.
fn give_away(above: &Path, folder: &Path, is_folder: bool) -> Result<(), FaultsError> {
    set_mode(above, 0o755)?;
    let give = |path: &Path| {
        std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).map_err(FaultsError::at(path))
    };
    for file in std::fs::read_dir(folder).map_err(FaultsError::at(folder))? {
        let file = file.map_err(FaultsError::at(folder))?.path();
        give(&file)?;
        let is_database = file.extension().is_some_and(|extension| extension == "db");
        set_mode(&file, if is_database || is_folder { 0o400 } else { 0o600 })?;
    }
    give(folder)?;
    set_mode(folder, if is_folder { 0o500 } else { 0o700 })
}

fn set_mode(path: &Path, mode: u32) -> Result<(), FaultsError> {
    let mode = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(path, mode).map_err(FaultsError::at(path))
}

/// The part that sees the store read-only: prints one line for every broken guarantee.
pub(crate) fn inside(arguments: &[String]) -> Result<bool, FaultsError> {
    let options = Options::parse("read-only-inside", arguments, &["file"])?;
    let store = match open(Path::new(options.needed("file")?)) {
        Ok(store) => store,
        Err(error) => {
            println!("it cannot be opened: {error}");
            return Ok(true);
        }
    };
    let sessions = match store.list(&ListFilter::default()) {
        Ok(sessions) => sessions,
        Err(error) => {
            println!("it cannot be listed: {error}");
            return Ok(true);
        }
    };
    let Some(session) = sessions.first() else {
        println!("there is no session");
        return Ok(true);
    };
    match store.load(&session.id, &Range::All) {
        Ok(log) if log.len() > 20 => {}
        Ok(log) => println!("{} entries can be read", log.len()),
        Err(error) => println!("it cannot be read: {error}"),
    }
    match store.append(&session.id, Append::new(Batch::new("w9", 0).entries())) {
        Ok(_) => println!("an append succeeded"),
        Err(error) => {
            let failed = Failed::from_error("append", &error);
            let is_right = failed.code == "SessionWriteFailed" && failed.problem == "ReadOnly";
            if !is_right || failed.outcome != "not_stored" {
                println!("an append says {failed:?}");
            }
        }
    }
    if store.load(&session.id, &Range::All).is_err() {
        println!("it cannot be read after the append");
    }
    Ok(true)
}
