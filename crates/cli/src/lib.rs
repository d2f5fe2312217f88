//! The `tertulia` command, as a library so that tests and fuzzers can run it in-process.
//!
//! Reads arguments, files and streams, and calls the other crates. Data goes to standard output, messages to standard
//! error.

#![expect(
    clippy::disallowed_methods,
    reason = "the outermost layer: only here does the program read files, the clock and the environment"
)]

mod args;
mod clock;
mod commands;
mod error;
mod load_team;
mod native_environment;
mod open_session;
mod progress;
mod store_location;
mod suggested_flags;
mod tab_completion;
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

/// The streams of the process, or replacements in tests.
pub struct Streams<'a> {
    pub stdin: &'a mut dyn BufRead,
    pub stdout: &'a mut dyn Write,
    pub stderr: &'a mut dyn Write,
    pub stdin_is_terminal: bool,
    pub stderr_is_terminal: bool,
    pub stdout_is_terminal: bool,
    pub stdout_has_colour: bool,
    /// Whether to print only results and errors.
    pub is_quiet: bool,
    pub zone: Zone,
}

impl Streams<'_> {
    /// Returns the stream for progress and notes: standard error, or a sink with `--quiet`. Errors and questions do not
    /// go there.
    pub(crate) fn notes(&mut self) -> &mut dyn Write {
        match self.is_quiet {
            // A sink is zero-sized, so nothing is allocated.
            true => Box::leak(Box::new(io::sink())),
            false => self.stderr,
        }
    }

    /// Prints a note, unless `--quiet` is set.
    pub(crate) fn note(&mut self, line: &str) {
        // If standard error is closed, nobody can read it.
        let _ = writeln!(self.notes(), "tertulia: {}", visible(line));
    }

    /// Writes a text of the argument parser, with colours if they are on.
    pub(crate) fn write_styled(&mut self, text: &StyledStr) -> io::Result<()> {
        match self.stdout_has_colour {
            true => write!(self.stdout, "{}", text.ansi()),
            false => write!(self.stdout, "{text}"),
        }
    }

    /// Asks a yes/no question; an empty answer means no.
    pub(crate) fn confirm(&mut self, question: &str) -> Result<bool> {
        let _ = write!(self.stderr, "{}", visible(question));
        let _ = self.stderr.flush();
        let mut answer = Vec::new();
        // The answer is at most one line.
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
    if let Some(shell) =
        std::env::var_os(tab_completion::VARIABLE).filter(|shell| !shell.is_empty())
    {
        return complete(&shell, arguments, streams);
    }
    let wants_events = args::wants_events(&arguments);
    let cli = match Cli::read(arguments) {
        Ok(cli) => cli,
        Err(usage) => return report_usage(&usage, wants_events, streams),
    };
    start_logging();
    apply(&cli.global, streams);
    let outcome = match cli.command {
        Some(command) => commands::run(command, streams),
        None => without_command(streams),
    };
    let outcome = outcome.and_then(|()| streams.stdout.flush().map_err(CliError::output));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(streams.stderr),
    }
}

/// Opens the chat on a terminal; without a team file, first offers to create one. Without a terminal, prints the
/// help.
fn without_command(streams: &mut Streams<'_>) -> Result {
    const QUESTION: &str = "There is no team file here yet. Create tertulia.toml with the agents found on this \
                            machine? [y/N] ";
    if !streams.stdin_is_terminal || !streams.stdout_is_terminal {
        return streams.write_styled(&Cli::declared().render_help()).map_err(CliError::output);
    }
    if load_team::find(&TeamFileArg::default())?.is_none() && streams.confirm(QUESTION)? {
        commands::run(Command::Init(InitArgs::default()), streams)?;
    }
    // Parsed as if a person had typed them, because a variable may name the store.
    match Cli::read(["tertulia", "chat"].map(OsString::from)).map(|cli| cli.command) {
        Ok(Some(chat)) => commands::run(chat, streams),
        _ => Err(CliError::Usage("the chat cannot be opened; try `tertulia chat`")),
    }
}

/// Writes log lines to standard error if `TERTULIA_LOG` is set (such as `debug` or `tertulia::context=debug`).
fn start_logging() {
    let Some(targets) = std::env::var("TERTULIA_LOG").ok().and_then(|text| text.parse().ok())
    else {
        return;
    };
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr).without_time();
    // Tests run several commands in one process; only the first one sets up the log.
    let _ = tracing_subscriber::registry().with(lines).with::<Targets>(targets).try_init();
}

/// Applies the global options.
fn apply(global: &args::GlobalArgs, streams: &mut Streams<'_>) {
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

/// Returns whether the arguments or environment variables turn colours on or off. `None` means the usual rules apply: `NO_COLOR`, `CLICOLOR_FORCE`, `CLICOLOR`, and whether it is a terminal.
pub fn wants_colour(
    arguments: &[OsString],
    variable: impl Fn(&str) -> Option<OsString>,
) -> Option<bool> {
    match args::color_option(arguments) {
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

/// Answers a completion request of a shell.
fn complete(shell: &OsStr, arguments: Vec<OsString>, streams: &mut Streams<'_>) -> ExitCode {
    let completed = tab_completion::complete(shell, arguments, streams.stdout);
    match completed.and_then(|completed| streams.stdout.flush().map(|()| completed)) {
        Ok(true) => ExitCode::SUCCESS,
        // The shell completes paths itself, and nobody reads a message at Tab.
        Ok(false) | Err(_) => ExitCode::FAILURE,
    }
}

fn report_usage(usage: &clap::Error, wants_events: bool, streams: &mut Streams<'_>) -> ExitCode {
    let text = usage.render();
    if usage.use_stderr() {
        // The error repeats the input, which may contain escape codes, so it is printed without colours. If standard
        // error is closed, nobody can read it.
        let _ = write!(streams.stderr, "{}", visible(&text.to_string()));
        if wants_events {
            // Keeps the error and removes the usage.
            let text = text.to_string();
            let text = text.split("\n\nUsage:").next().unwrap_or_default();
            let text = text.strip_prefix("error: ").unwrap_or(text).trim_end();
            let _ = commands::write_wrong_usage(text, streams);
        }
        return ExitCode::from(2);
    }
    // Requested help and version are data.
    let written = streams.write_styled(&text);
    match written.and_then(|()| streams.stdout.flush()).map_err(CliError::output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(streams.stderr),
    }
}
