//! The `tertulia` command, as a library so that tests and fuzzers can run it in-process.
//!
//! An edge: it reads arguments, files and streams, and calls the crates inside. Data goes to standard output,
//! messages to standard error; it decides nothing about contexts itself.

#![expect(
    clippy::disallowed_methods,
    reason = "an edge: files, clock and environment come in here and nowhere further inside"
)]

mod advice;
mod alone;
mod args;
mod clock;
mod commands;
mod completing;
mod error;
mod logging;
mod open_table;
mod progress;
mod store_place;
mod team_place;
mod trust_question;

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, Write};
use std::process::ExitCode;

use tertulia_chat::terminal::visible;

use args::Cli;
pub use clock::Zone;
use error::CliError;

/// The streams of the process, or stand-ins for them.
pub struct Streams<'a> {
    /// What comes in.
    pub stdin: &'a mut dyn BufRead,
    /// Data.
    pub stdout: &'a mut dyn Write,
    /// Messages.
    pub stderr: &'a mut dyn Write,
    /// Whether a person can be asked on standard input.
    pub stdin_is_terminal: bool,
    /// Whether a person looks at standard error.
    pub stderr_is_terminal: bool,
    /// Whether a person looks at standard output.
    pub stdout_is_terminal: bool,
    /// Whether standard output takes colours.
    pub stdout_has_colour: bool,
    /// Whether only results and errors are wanted.
    pub is_quiet: bool,
    /// Where people read the clock.
    pub zone: Zone,
}

impl Streams<'_> {
    /// Where progress and notes go: standard error, or nowhere with `--quiet`. Errors and questions do not go
    /// here.
    pub(crate) fn notes(&mut self) -> &mut dyn Write {
        match self.is_quiet {
            // A sink has no size, so nothing is allocated.
            true => Box::leak(Box::new(std::io::sink())),
            false => self.stderr,
        }
    }

    /// Asks the person; no answer is no.
    pub(crate) fn agree(&mut self, question: &str) -> Result<bool, CliError> {
        let _ = write!(self.stderr, "{}", visible(question));
        let _ = self.stderr.flush();
        let mut answer = Vec::new();
        // An answer of any length is one line.
        let limited = &mut std::io::Read::take(&mut *self.stdin, 64);
        limited.read_until(b'\n', &mut answer).map_err(CliError::Input)?;
        let answer = answer.trim_ascii();
        Ok(answer.eq_ignore_ascii_case(b"y") || answer.eq_ignore_ascii_case(b"yes"))
    }
}

/// Runs the command line and turns its outcome into an exit code: 0 done, 1 failed, 2 wrong usage.
pub fn main_with(
    arguments: impl IntoIterator<Item = OsString>,
    streams: &mut Streams<'_>,
) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(shell) = std::env::var_os(completing::VARIABLE).filter(|shell| !shell.is_empty()) {
        return complete(&shell, arguments, streams);
    }
    let wants_events = args::wants_events(&arguments);
    let cli = match Cli::read(arguments) {
        Ok(cli) => cli,
        Err(usage) => return tell_usage(&usage, wants_events, streams),
    };
    logging::start();
    obey(&cli.global, streams);
    let outcome = match cli.command {
        Some(command) => commands::run(command, streams),
        None => alone::run(streams),
    };
    let outcome = outcome.and_then(|()| streams.stdout.flush().map_err(CliError::output));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.tell(streams.stderr),
    }
}

/// What the options of all commands change.
fn obey(global: &args::GlobalArgs, streams: &mut Streams<'_>) {
    match global.color {
        Some(args::ColorWhen::Always) => streams.stdout_has_colour = true,
        Some(args::ColorWhen::Never) => streams.stdout_has_colour = false,
        Some(args::ColorWhen::Auto) | None => {}
    }
    if global.quiet {
        streams.is_quiet = true;
        // No progress bars either.
        streams.stderr_is_terminal = false;
    }
}

/// Whether colours are wanted, as far as the arguments and the variable `FORCE_COLOR` say. Without an answer the
/// usual rules hold: `NO_COLOR`, `CLICOLOR_FORCE`, `CLICOLOR`, and whether it is a terminal.
pub fn wants_colour(
    arguments: &[OsString],
    variable: impl Fn(&str) -> Option<OsString>,
) -> Option<bool> {
    match args::color_of(arguments) {
        Some(args::ColorWhen::Always) => return Some(true),
        Some(args::ColorWhen::Never) => return Some(false),
        Some(args::ColorWhen::Auto) | None => {}
    }
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    if set("NO_COLOR").is_some() {
        return Some(false);
    }
    set("FORCE_COLOR").map(|value| value != "0" && value != "false")
}

/// Answers a shell that wants to complete a command line.
fn complete(shell: &OsStr, arguments: Vec<OsString>, streams: &mut Streams<'_>) -> ExitCode {
    let completed = completing::complete(shell, arguments, streams.stdout);
    match completed.and_then(|completed| streams.stdout.flush().map(|()| completed)) {
        Ok(true) => ExitCode::SUCCESS,
        // The shell knows files better, and nobody reads a message at Tab.
        Ok(false) | Err(_) => ExitCode::FAILURE,
    }
}

fn tell_usage(usage: &clap::Error, wants_events: bool, streams: &mut Streams<'_>) -> ExitCode {
    let text = usage.render();
    if usage.use_stderr() {
        // What was typed is repeated, and may hold anything, also colours: so there are none at all. With
        // standard error gone there is nobody left to tell.
        let _ = write!(streams.stderr, "{}", visible(&text.to_string()));
        if wants_events {
            // What is wrong, without how it is used.
            let text = text.to_string();
            let text = text.split("\n\nUsage:").next().unwrap_or_default();
            let text = text.strip_prefix("error: ").unwrap_or(text).trim_end();
            let _ = commands::write_wrong_usage(text, streams);
        }
        return ExitCode::from(2);
    }
    // Help and version were asked for: they are data.
    let written = if streams.stdout_has_colour {
        write!(streams.stdout, "{}", text.ansi())
    } else {
        write!(streams.stdout, "{text}")
    };
    match written.and_then(|()| streams.stdout.flush()).map_err(CliError::output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.tell(streams.stderr),
    }
}
