//! Prewritten answers for demonstrations and tests, delivered like an agent's. Called by
//! [`crate::run`]; starts no process.

use std::time::{Duration, Instant};

use tertulia_dialect::stream::{ErrorClass, StreamEvent, TextOrigin, TurnError, TurnOutput};

use super::{AgentDefinition, GENERIC, PROMPT_FIELDS};
use crate::{CancelToken, Ended, Job, Listener, ScriptLine, TurnReport, clock};

const TICK: Duration = Duration::from_millis(20);

/// Prewritten answers.
pub const SCRIPT: &AgentDefinition = &AgentDefinition {
    word: "script",
    title: "written answers",
    fields: &[PROMPT_FIELDS, &["budget_bytes", "answers", "script_file"]],
    ..GENERIC
};

pub(crate) fn run(job: Job<'_>, lines: &[ScriptLine], listener: &mut dyn Listener) -> TurnReport {
    let Some(line) = lines.get(job.request.number).or(lines.last()) else {
        return failed(ErrorClass::Setup, "the script has no answers; write one", listener);
    };
    listener.fed();
    listener.event(StreamEvent::Started { session_id: None, model: None });
    if wait(line.delay, job.cancel) {
        return clock::cancelled(&job.spec.timeouts);
    }
    if line.text.trim().is_empty() {
        return failed(ErrorClass::Empty, "the script's answer is empty; write one", listener);
    }
    let text = String::from(&*line.text);
    let origin = TextOrigin::Stated;
    listener.event(StreamEvent::TextDelta { text: text.clone() });
    listener.event(StreamEvent::TextEnd);
    listener.event(StreamEvent::FinalText { text: text.clone(), origin });
    TurnReport::without_process(TurnOutput::answered(text), Ended::ByItself)
}

fn failed(class: ErrorClass, message: &str, listener: &mut dyn Listener) -> TurnReport {
    let error = TurnError::new(class, message);
    listener.event(StreamEvent::Failed(error.clone()));
    clock::not_started(error, Ended::ByItself)
}

/// Waits for this time. Returns whether the turn was cancelled meanwhile.
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
