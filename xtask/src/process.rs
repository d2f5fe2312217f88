//! Starts other programs and checks how they ended. All commands use it.

use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A program that could not be started, or failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProcessError {
    #[error("`{program}` could not be started; install it and put it on PATH")]
    Start {
        program: String,
        #[source]
        source: std::io::Error,
    },
    #[error("`{command}` ended with {status}; fix what it reports above")]
    Failed { command: String, status: ExitStatus },
    #[error("the output of `{command}` could not be read; run it manually to see why")]
    Output {
        command: String,
        #[source]
        source: std::io::Error,
    },
}

/// Runs a program to its end; its output goes to our own streams.
pub(crate) fn run(command: &mut Command) -> Result<(), ProcessError> {
    let status = command.status().map_err(|source| not_started(command, source))?;
    judge(command, status)
}

/// The time between two messages that a silent program still runs.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(100);

/// The same for a program that prints nothing for a long time: prints a line now and then that it still runs.
pub(crate) fn run_silent(command: &mut Command, what: &str) -> Result<(), ProcessError> {
    let mut child = command.spawn().map_err(|source| not_started(command, source))?;
    let began = Instant::now();
    let mut next = SIGN_OF_LIFE;
    loop {
        let status = child.try_wait().map_err(|source| unreadable(command, source))?;
        if let Some(status) = status {
            return judge(command, status);
        }
        if began.elapsed() >= next {
            println!("{what}: {} s so far", next.as_secs());
            next += SIGN_OF_LIFE;
        }
        std::thread::sleep(LOOK);
    }
}

/// Runs a program to its end and returns its standard output.
pub(crate) fn capture(command: &mut Command) -> Result<Vec<u8>, ProcessError> {
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|source| not_started(command, source))?;
    judge(command, output.status)?;
    Ok(output.stdout)
}

/// Returns an error unless the program succeeded.
pub(crate) fn judge(command: &Command, status: ExitStatus) -> Result<(), ProcessError> {
    if status.success() {
        return Ok(());
    }
    Err(ProcessError::Failed { command: render(command), status })
}

/// Names the program that could not be started.
pub(crate) fn not_started(command: &Command, source: std::io::Error) -> ProcessError {
    ProcessError::Start { program: command.get_program().display().to_string(), source }
}

/// Names the program whose output could not be read.
pub(crate) fn unreadable(command: &Command, source: std::io::Error) -> ProcessError {
    ProcessError::Output { command: render(command), source }
}

/// Returns the command as a person would type it, without the program's folder.
fn render(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let mut words = vec![program.file_name().unwrap_or(program.as_os_str())];
    words.extend(command.get_args());
    let words: Vec<_> = words.iter().map(|word| word.display().to_string()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named_with_a_fix() {
        let error = run(&mut Command::new("no-such-program-anywhere")).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("`no-such-program-anywhere`"), "{message}");
        assert!(message.contains("install it"), "{message}");
    }

    #[test]
    fn a_failing_program_is_shown_as_one_would_type_it() {
        let mut command = Command::new("rustc");
        command.arg("--no-such-flag").stderr(Stdio::null());
        let message = run(&mut command).unwrap_err().to_string();
        assert!(message.starts_with("`rustc --no-such-flag` ended with"), "{message}");
    }

    #[test]
    fn a_silent_program_is_judged_as_any_other() {
        let mut command = Command::new("rustc");
        run_silent(command.arg("--version").stdout(Stdio::null()), "rustc").unwrap();
        let mut command = Command::new("rustc");
        command.arg("--no-such-flag").stderr(Stdio::null());
        assert!(run_silent(&mut command, "rustc").is_err());
    }

    #[test]
    fn standard_output_is_returned() {
        let output = capture(Command::new("rustc").arg("--version")).unwrap();
        assert!(output.starts_with(b"rustc "));
    }

    #[test]
    fn the_folder_of_a_program_is_not_shown() {
        let mut command = Command::new("/opt/tools/cargo-fuzz");
        assert_eq!(render(command.arg("run")), "cargo-fuzz run");
    }
}
