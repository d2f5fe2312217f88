//! The words for how a turn ended where we ended it, or did not begin it: they say what to do. Used by
//! [`super::turn`] and by every other kind of agent.

use std::time::Duration;

use tertulia_dialect::stream::{ErrorClass, TurnError, TurnOutput};

use crate::{Ended, Overuse, Resource, Timeout, Timeouts, TurnReport};

/// The report of a turn of which nothing was started.
pub(crate) fn not_started(error: TurnError, ended: Ended) -> TurnReport {
    TurnReport::without_process(TurnOutput::failed(error), ended)
}

pub(crate) const CANCELLED: &str = "it was cancelled";
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
