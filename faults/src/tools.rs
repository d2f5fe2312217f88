//! Starts other programs, and this one as a separate process. Every role starts its processes here,
//! and kills only those.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::FaultsError;

/// Polling interval.
const LOOK: Duration = Duration::from_millis(2);

/// Returns a command that runs this program in a role.
pub(crate) fn own(role: &str) -> Result<Command, FaultsError> {
    let mut command = Command::new(own_path()?);
    command.arg(role);
    Ok(command)
}

pub(crate) fn own_path() -> Result<PathBuf, FaultsError> {
    std::env::current_exe().map_err(FaultsError::io("the path of this program"))
}

/// Finds a program.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Checks that a program is available. Nothing is installed: `cargo xtask faults` and `cargo xtask
/// test` do that.
pub(crate) fn need(name: &'static str) -> Result<(), FaultsError> {
    find(name).map(|_| ()).ok_or(FaultsError::Missing(name))
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Starts a process that writes to a file. Nothing is buffered here, so all output before a kill is
/// in the file.
pub(crate) fn start_into(command: &mut Command, output: &Path) -> Result<Child, FaultsError> {
    let file = File::create(output).map_err(FaultsError::at(output))?;
    command.stdin(Stdio::null()).stdout(file).stderr(Stdio::inherit());
    let name = command.get_program().display().to_string();
    command.spawn().map_err(FaultsError::io(format!("starting {name}")))
}

/// Runs a process to its end, or kills it after this time. Returns whether it succeeded.
pub(crate) fn run_into(
    command: &mut Command,
    output: &Path,
    limit: Duration,
) -> Result<bool, FaultsError> {
    let child = start_into(command, output)?;
    finish(child, limit)
}

/// Like `run_into`, for a process that is expected to fail: its error output goes to the file too.
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
            Err(FaultsError::unexpected(format!(
                "a process took longer than {} s",
                limit.as_secs()
            )))
        }
    }
}

/// Waits for a child process; `None` if it is still running after this time.
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

/// Kills a child process if it is still running.
pub(crate) fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Waits until a condition holds; returns whether it did.
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
