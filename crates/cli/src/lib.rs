//! The `tertulia` command, as a library so that tests and fuzzers can run it in-process.
//!
//! An edge: it reads arguments, files and streams, and calls the crates inside. Data goes to standard output,
//! messages to standard error; it decides nothing about contexts itself.

#![expect(
    clippy::disallowed_methods,
    reason = "an edge: files, clock and environment come in here and nowhere further inside"
)]

mod advice;
mod args;
mod clock;
mod commands;
mod completing;
mod error;
mod open_table;
mod progress;
mod store_place;
mod team_place;
mod trust_question;

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use clap::builder::StyledStr;
use tertulia_chat::terminal::visible;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use args::{Cli, Command, InitArgs, TeamFileArg};
pub use clock::Zone;
use error::{CliError, Result};

/// The streams of the process, or stand-ins for them.
pub struct Streams<'a> {
    pub stdin: &'a mut dyn BufRead,
    pub stdout: &'a mut dyn Write,
    pub stderr: &'a mut dyn Write,
    pub stdin_is_terminal: bool,
    pub stderr_is_terminal: bool,
    pub stdout_is_terminal: bool,
    pub stdout_has_colour: bool,
    /// Whether only results and errors are wanted.
    pub is_quiet: bool,
    pub zone: Zone,
}

impl Streams<'_> {
    /// Where progress and notes go, but no errors and questions: standard error, or nowhere with `--quiet`.
    pub(crate) fn notes(&mut self) -> &mut dyn Write {
        match self.is_quiet {
            // A sink has no size, so nothing is allocated.
            true => Box::leak(Box::new(io::sink())),
            false => self.stderr,
        }
    }

    /// Says something to the person, unless they want only results.
    pub(crate) fn note(&mut self, line: &str) {
        // With standard error gone there is nobody left to tell.
        let _ = writeln!(self.notes(), "tertulia: {}", visible(line));
    }

    /// Writes a text of the argument parser, with its colours where they are wanted.
    pub(crate) fn write_styled(&mut self, text: &StyledStr) -> io::Result<()> {
        match self.stdout_has_colour {
            true => write!(self.stdout, "{}", text.ansi()),
            false => write!(self.stdout, "{text}"),
        }
    }

    /// Asks the person; no answer is no.
    pub(crate) fn agree(&mut self, question: &str) -> Result<bool> {
        let _ = write!(self.stderr, "{}", visible(question));
        let _ = self.stderr.flush();
        let mut answer = Vec::new();
        // An answer of any length is one line.
        let limited = &mut io::Read::take(&mut *self.stdin, 64);
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
    start_logging();
    obey(&cli.global, streams);
    let outcome = match cli.command {
        Some(command) => commands::run(command, streams),
        None => without_command(streams),
    };
    let outcome = outcome.and_then(|()| streams.stdout.flush().map_err(CliError::output));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.tell(streams.stderr),
    }
}

/// On a terminal the chat opens; without a team file one is offered first. Elsewhere the help is printed.
fn without_command(streams: &mut Streams<'_>) -> Result {
    const QUESTION: &str = "There is no team file here yet. Create tertulia.toml with the agents found on this \
                            machine? [y/N] ";
    if !streams.stdin_is_terminal || !streams.stdout_is_terminal {
        return streams.write_styled(&Cli::declared().render_help()).map_err(CliError::output);
    }
    if team_place::find(&TeamFileArg::default())?.is_none() && streams.agree(QUESTION)? {
        commands::run(Command::Init(InitArgs::default()), streams)?;
    }
    // The store may be named by a variable: the arguments are read as if they had been typed.
    match Cli::read(["tertulia", "chat"].map(OsString::from)).map(|cli| cli.command) {
        Ok(Some(chat)) => commands::run(chat, streams),
        _ => Err(CliError::Usage("the chat cannot be opened; try `tertulia chat`")),
    }
}

/// Log lines go to standard error for whoever sets `TERTULIA_LOG` (such as `debug` or `tertulia::context=debug`).
fn start_logging() {
    let Some(targets) = std::env::var("TERTULIA_LOG").ok().and_then(|text| text.parse().ok())
    else {
        return;
    };
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr).without_time();
    // Tests run several commands in one process; the first one's log stays.
    let _ = tracing_subscriber::registry().with(lines).with::<Targets>(targets).try_init();
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
    let written = streams.write_styled(&text);
    match written.and_then(|()| streams.stdout.flush()).map_err(CliError::output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.tell(streams.stderr),
    }
}
