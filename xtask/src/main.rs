//! `cargo xtask <command>`: the workspace's own commands, one file each. The README and `.ci/run`
//! call `test`; each of its steps can also be run alone.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool for developers: it reads the tree, starts cargo and prints"
)]

mod agents;
mod bench;
mod binary;
mod book;
mod command;
mod deny;
mod dist;
mod faults;
mod fuzz;
mod package;
mod process;
mod provide;
mod sbom;
mod soak;
mod test;
mod tidy;
mod tool;
mod workspace;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(1);
    match command::parse(arguments).map_err(command::Error::from).and_then(command::run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", command::explain(&error));
            error.exit_code()
        }
    }
}
