//! Answers that were written before, for demonstrations and tests: they come as an agent's would. Called
//! by [`crate::run`]; no process is started.

use std::time::{Duration, Instant};

use tertulia_dialect::stream::{ErrorClass, StreamEvent, TextOrigin, TurnError, TurnOutput};

use super::{AgentDefinition, GENERIC, PROMPT_FIELDS};
use crate::clock::{CANCELLED, not_started};
use crate::{CancelToken, Ended, Listener, ScriptLine, TurnReport, TurnRequest};

/// How often the cancel token is looked at.
const TICK: Duration = Duration::from_millis(20);

/// Written answers.
pub const SCRIPT: &AgentDefinition = &AgentDefinition {
    word: "script",
    title: "written answers",
    fields: &[PROMPT_FIELDS, &["budget_bytes", "answers", "script_file"]],
    ..GENERIC
};

pub(crate) fn run(
    lines: &[ScriptLine],
    request: &TurnRequest<'_>,
    cancel: &CancelToken,
    listener: &mut dyn Listener,
) -> TurnReport {
    let Some(line) = lines.get(request.number).or(lines.last()) else {
        let message = "the script has no answers; write one";
        return failed(ErrorClass::Setup, message, Ended::ByItself, listener);
    };
    listener.fed();
    listener.event(StreamEvent::Started { session_id: None, model: None });
    if wait(line.delay, cancel) {
        return failed(ErrorClass::Cancelled, CANCELLED, Ended::Cancelled, listener);
    }
    if line.text.trim().is_empty() {
        let message = "the script's answer is empty; write one";
        return failed(ErrorClass::Empty, message, Ended::ByItself, listener);
    }
    let text = String::from(&*line.text);
    let origin = TextOrigin::Stated;
    listener.event(StreamEvent::TextDelta { text: text.clone() });
    listener.event(StreamEvent::TextEnd);
    listener.event(StreamEvent::FinalText { text: text.clone(), origin });
    TurnReport::without_process(TurnOutput::answered(text), Ended::ByItself)
}

fn failed(
    class: ErrorClass,
    message: &str,
    ended: Ended,
    listener: &mut dyn Listener,
) -> TurnReport {
    let error = TurnError { class, message: message.into() };
    if ended != Ended::Cancelled {
        listener.event(StreamEvent::Failed(error.clone()));
    }
    not_started(error, ended)
}

/// Waits; whether it was cancelled meanwhile.
fn wait(time: Duration, cancel: &CancelToken) -> bool {
    let started = Instant::now();
    while !cancel.is_cancelled() {
        let left = time.saturating_sub(started.elapsed());
        if left.is_zero() {
            return false;
        }
        std::thread::sleep(left.min(TICK));
    }
    true
}
