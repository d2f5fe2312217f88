//! The `tertulia` binary: hands the process's arguments and streams to the library beside it.

#![expect(
    clippy::disallowed_methods,
    reason = "the outermost layer: it reads the arguments of the process"
)]

use std::io::{BufWriter, IsTerminal, stderr, stdin, stdout};
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use tertulia_cli::{Streams, Zone, main_with, wants_colour};
use tertulia_team::supervisor_main;

fn main() -> ExitCode {
    // Checked first, because this process may have been started only to supervise a turn.
    if let Some(code) = supervisor_main() {
        return code;
    }
    let arguments: Vec<_> = std::env::args_os().collect();
    if let Some(wanted) = wants_colour(&arguments, |name| std::env::var_os(name)) {
        let choice = if wanted { ColorChoice::Always } else { ColorChoice::Never };
        choice.write_global();
    }
    // Standard output carries data byte for byte and is never filtered: unwanted styles are left out instead.
    let mut streams = Streams {
        stdin: &mut stdin().lock(),
        stdout: &mut BufWriter::new(stdout().lock()),
        stderr: &mut AutoStream::auto(stderr()),
        stdin_is_terminal: stdin().is_terminal(),
        stderr_is_terminal: stderr().is_terminal(),
        stdout_is_terminal: stdout().is_terminal(),
        stdout_has_colour: AutoStream::choice(&stdout()) != ColorChoice::Never,
        is_quiet: false,
        zone: Zone::Local,
    };
    main_with(arguments, &mut streams)
}
