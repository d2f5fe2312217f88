//! The supervisor of a turn as a separate program: for programs that use this crate as a library
//! and cannot call `supervisor_main` in their own `main`, and for the tests of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    tertulia_agent::supervisor_main().unwrap_or(ExitCode::from(2))
}
