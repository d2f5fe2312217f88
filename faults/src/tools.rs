//! Other programs, and this one again as a process of its own. Every role starts its processes here,
//! and ends only those that it started.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::FaultsError;

/// How often is looked whether something has come about.
const LOOK: Duration = Duration::from_millis(2);

/// This program, in a role.
pub(crate) fn own(role: &str) -> Result<Command, FaultsError> {
    let mut command = Command::new(own_path()?);
    command.arg(role);
    Ok(command)
}

pub(crate) fn own_path() -> Result<PathBuf, FaultsError> {
    std::env::current_exe().map_err(FaultsError::io("the path of this program"))
}

/// Where a program is.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Makes sure that a program is here. Nothing is installed: `cargo xtask faults` and `cargo xtask test` do that.
pub(crate) fn need(name: &'static str) -> Result<(), FaultsError> {
    find(name).map(|_| ()).ok_or(FaultsError::Missing(name))
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Starts a process that writes into a file; nothing of it is buffered here, so what a process said
/// before it was killed is all in the file.
pub(crate) fn start_into(command: &mut Command, output: &Path) -> Result<Child, FaultsError> {
    let file = File::create(output).map_err(FaultsError::at(output))?;
    command.stdin(Stdio::null()).stdout(file).stderr(Stdio::inherit());
    let name = command.get_program().display().to_string();
    command.spawn().map_err(FaultsError::io(format!("starting {name}")))
}

/// Runs a process to its end; it is ended if it takes longer than this. Says whether it ended well.
pub(crate) fn run_into(
    command: &mut Command,
    output: &Path,
    limit: Duration,
) -> Result<bool, FaultsError> {
    let child = start_into(command, output)?;
    finish(child, limit)
}

/// The same for a process that is expected to fail: what it says about that goes into the file too.
pub(crate) fn run_quietly(
    command: &mut Command,
    output: &Path,
    limit: Duration,
) -> Result<bool, FaultsError> {
    let file = File::create(output).map_err(FaultsError::at(output))?;
    let errors = file.try_clone().map_err(FaultsError::at(output))?;
    command.stdin(Stdio::null()).stdout(file).stderr(errors);
    let name = command.get_program().display().to_string();
    let child = command.spawn().map_err(FaultsError::io(format!("starting {name}")))?;
    finish(child, limit)
}

fn finish(mut child: Child, limit: Duration) -> Result<bool, FaultsError> {
    match wait(&mut child, limit)? {
        Some(success) => Ok(success),
        None => {
            end(&mut child);
            Err(FaultsError::unfit(format!("a process took longer than {} s", limit.as_secs())))
        }
    }
}

/// Waits for a process of ours; nothing if it still runs then.
pub(crate) fn wait(child: &mut Child, limit: Duration) -> Result<Option<bool>, FaultsError> {
    let deadline = Instant::now() + limit;
    loop {
        let status = child.try_wait().map_err(FaultsError::io("waiting for a process"))?;
        if let Some(status) = status {
            return Ok(Some(status.success()));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        thread::sleep(LOOK);
    }
}

/// Ends a process of ours, if it has not ended.
pub(crate) fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Waits until something is so; says whether it came to be.
pub(crate) fn until(limit: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    while !is_so() {
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(LOOK);
    }
    true
}
