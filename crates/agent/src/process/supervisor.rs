//! The supervisor of a turn: a small process between us and the agent. All orphans of the turn become its
//! children, so whatever has it as an ancestor belongs to the turn. It ends everything below it when we
//! ask for that, and also when we are killed: then the socket between us closes.
//!
//! The program is our own executable with a hidden first argument, so a program has to offer it by
//! [`main`] or name another one by [`set_program`]. Linux only: elsewhere orphans cannot be adopted.

mod keeper;
mod link;
mod order;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;

pub(super) use link::{Link, Pipes};
pub(super) use order::Order;

/// The hidden first argument.
const WORD: &str = "--tertulia-supervisor";

/// The program that can be started as a supervisor.
static PROGRAM: OnceLock<Program> = OnceLock::new();

#[derive(Debug)]
struct Program {
    path: PathBuf,
    /// Every child of ours in another session was started by this crate or is an orphan of a turn.
    owns_children: bool,
}

/// Runs the supervisor if this process was started as one, and gives its exit code. Else it registers this
/// program for that and gives `None`. Descriptors that this process inherited are closed when it starts
/// another program.
pub(crate) fn main() -> Option<ExitCode> {
    close_inherited_on_exec();
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|word| word == WORD) {
        let arguments: Vec<OsString> = arguments.collect();
        return Some(keeper::run(&arguments));
    }
    if let Some(path) = own_program() {
        // A program that was named before stays.
        let _ = PROGRAM.set(Program { path, owns_children: true });
    }
    None
}

/// Names the program that is started as a supervisor. The first name counts.
pub(crate) fn set_program(path: &Path) {
    // It is started from the folders of the agents.
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let _ = PROGRAM.set(Program { path, owns_children: false });
}

/// The program to start, if there is one.
pub(super) fn program() -> Option<&'static Path> {
    PROGRAM.get().map(|program| &*program.path).filter(|_| cfg!(target_os = "linux"))
}

/// Whether all children of ours that are in other sessions belong to turns.
pub(super) fn owns_children() -> bool {
    PROGRAM.get().is_some_and(|program| program.owns_children)
}

/// Our own executable. The link in `/proc` leads to it even after an update has replaced the file.
fn own_program() -> Option<PathBuf> {
    let link = Path::new("/proc/self/exe");
    if cfg!(target_os = "linux") && link.exists() {
        return Some(link.to_owned());
    }
    std::env::current_exe().ok()
}

/// Marks every descriptor behind the three streams. To be called before anything is opened.
fn close_inherited_on_exec() {
    use nix::fcntl::{FcntlArg, FdFlag, fcntl};
    let folder = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // The list is complete before it is used: reading it takes a descriptor too.
    let numbers: Vec<i32> = numbers.filter(|number| *number > 2).collect();
    for number in numbers {
        // It fails only for the descriptor of the list itself, which is closed.
        let _ = fcntl(number, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC));
    }
}
