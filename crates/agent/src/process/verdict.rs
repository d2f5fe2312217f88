//! What became of a turn, in words that say what to do. `dialect` judges what was said and how the program
//! ended; here is added what only the room of processes knows: that we ended it, and why. Used by
//! [`super::turn`] and by whoever has to report a turn that never began.

use std::time::Duration;

use tertulia_dialect::stream::{ErrorClass, Exit, TurnError, TurnOutput};

use crate::{AgentKind, Ended, Overuse, Resource, Timeout, Timeouts, TurnReport};

/// The report of a turn of which nothing was started.
pub(crate) fn not_started(error: TurnError, ended: Ended) -> TurnReport {
    TurnReport::without_process(TurnOutput::failed(error), ended)
}

/// Adds to a failure what was done to the program, and what it means.
pub(super) fn explain(
    mut output: TurnOutput,
    ended: Ended,
    exit: Exit,
    timeouts: &Timeouts,
    kind: &AgentKind,
) -> TurnOutput {
    let Some(error) = output.error.take() else { return output };
    let said = match ended {
        Ended::ByItself => by_itself(error, exit, &output),
        Ended::Cancelled => TurnError { class: ErrorClass::Cancelled, message: CANCELLED.into() },
        Ended::OverResources(overuse) => over_resources(overuse),
        Ended::OverLimit => TurnError { class: ErrorClass::Limit, message: OVER_LIMIT.into() },
        // It said why it failed, and only its end was late.
        Ended::TimedOut(Timeout::AfterFinal) => error,
        // Only the Agent Client Protocol asks.
        Ended::NeedsPerson => error,
        Ended::TimedOut(timeout) => timed_out(&error, timeout, timeouts, kind),
    };
    output.error = Some(said);
    output
}

/// The word for a turn that was cancelled.
pub(crate) const CANCELLED: &str = "it was cancelled";
/// The word for a turn that was ended because it wrote too much.
pub(crate) const OVER_LIMIT: &str = "it wrote more than is kept of an answer, and was ended";

/// The failure of a turn whose processes used too much: names the setting.
pub(crate) fn over_resources(overuse: Overuse) -> TurnError {
    let Overuse { resource, used, limit } = overuse;
    let megabytes = |bytes: u64| bytes / (1024 * 1024);
    let message = match resource {
        Resource::Processes => {
            format!("it ran {used} processes at once, and `max_processes` allows {limit}")
        }
        Resource::Memory => format!(
            "it used {} MB of memory, and `max_memory_mb` allows {}",
            megabytes(used),
            megabytes(limit)
        ),
    };
    let advice = "raise it for this member, or under [limits] for the team, if it needs more";
    TurnError { class: ErrorClass::Limit, message: format!("{message}; {advice}").into() }
}

fn by_itself(mut error: TurnError, exit: Exit, output: &TurnOutput) -> TurnError {
    if error.class != ErrorClass::Crash {
        return error;
    }
    let mut message = String::from(error.message);
    match exit {
        // A shell gives the code of the program that it ran.
        Exit::Signal(9) | Exit::Code(137) => {
            message.push_str("; it was killed, perhaps because the machine ran out of memory");
        }
        Exit::Code(126 | 127) if output.partial_text.is_none() && output.lines.known == 0 => {
            error.class = ErrorClass::Setup;
            message.push_str("; the program could not be started, check its path and #! line");
        }
        _ => {}
    }
    if output.lines.unparsed > 0 {
        message.push_str(&format!("; lines that could not be read: {}", output.lines.unparsed));
    }
    error.message = message.into();
    error
}

/// A time that was up. A turn that was retrying when it was ended failed for the reason of its last
/// warning. Silence of an agent that asks a service is the service's; a program of one's own ran into a
/// limit that was set for it.
fn timed_out(
    error: &TurnError,
    timeout: Timeout,
    timeouts: &Timeouts,
    kind: &AgentKind,
) -> TurnError {
    let asks_service = matches!(kind, AgentKind::Cli(_));
    let class = match timeout {
        _ if error.class != ErrorClass::Crash => error.class,
        Timeout::FirstByte | Timeout::Silence if asks_service => ErrorClass::Network,
        _ => ErrorClass::Limit,
    };
    let mut message = time_up(timeout, timeouts);
    if error.class != ErrorClass::Crash {
        message.push_str("; before that: ");
        message.push_str(&error.message);
    }
    TurnError { class, message: message.into() }
}

/// Says which time was up.
pub(crate) fn time_up(timeout: Timeout, timeouts: &Timeouts) -> String {
    let seconds = |time: Duration| time.as_secs_f64();
    match timeout {
        Timeout::FirstByte => {
            format!("it wrote nothing within {} s of its start", seconds(timeouts.first_byte))
        }
        Timeout::Silence => format!("it fell silent for {} s", seconds(timeouts.silence)),
        Timeout::Total => format!("it took longer than {} s", seconds(timeouts.total)),
        Timeout::AfterFinal => {
            format!("it answered and did not end within {} s", seconds(timeouts.after_final))
        }
    }
}
