//! Measures ratios that must stay within limits. Each is measured within one run, so that it is the same on a fast
//! and on a slow machine. Run by `cargo xtask bench`; exits with 1 if a ratio exceeds its limit.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a bench reads the clock and /proc, and prints its progress on stderr"
)]

#[expect(unsafe_code, reason = "a global allocator can only be unsafe; this one adds a count")]
mod alloc;
mod arguments;
mod assemble;
mod build;
mod instructions;
mod measure;
mod memory;
mod native;
mod overhead;
mod pairs;
mod quality;
mod recall;
mod rendering;
mod report;
mod sample;
mod store;
mod strip;
mod suite;
mod tokens;
mod tokens_usage;
mod window;

use std::process::ExitCode;

use arguments::{Command, USAGE};

fn main() -> ExitCode {
    let words = std::env::args_os().skip(1);
    match Command::parse(words.map(|word| word.to_string_lossy().into_owned())) {
        Ok(command) => command.run().unwrap_or_else(|error| {
            eprintln!("tertulia-bench: {error}");
            ExitCode::FAILURE
        }),
        Err(error) => {
            eprintln!("tertulia-bench: {error}\n\n{USAGE}");
            ExitCode::from(2)
        }
    }
}
