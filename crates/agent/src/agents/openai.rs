//! Endpoints that support Chat Completions. A turn makes one request, and reads the answer while it is streamed. ureq
//! blocks, so a separate thread talks to the endpoint. The turn never waits for that thread: at its end it shuts the
//! connections down. A thread that is still resolving a name or connecting ends with the timeout of that step. No
//! request is retried and no redirect is followed, so the key is sent only to the configured address.

mod http;
mod redact_key;

use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use tertulia_dialect::stream::{AgentStream, Exit, StreamEvent, StreamParser, TurnError};

use super::{AgentDefinition, GENERIC, PROMPT_FIELDS};
use crate::clock::{self, Clock, OutputLimit, POLL};
use crate::spec::deliver;
use crate::{CancelToken, Ended, Endpoint, Job, Listener, TurnReport};
use http::{HttpEvent, HttpExchange, HttpRequest};
use redact_key::KeyRedactor;

const REFUSAL_BYTES_MAX: usize = 64 * 1024;
const REFUSAL_TIME_MAX: Duration = Duration::from_secs(5);
const OVER_LIMIT: &str = "its answer was longer than the limit, so it was stopped";

/// Any endpoint that supports Chat Completions.
pub const OPENAI: &AgentDefinition = &AgentDefinition {
    word: "openai",
    title: "an agent",
    fields: &[
        PROMPT_FIELDS,
        &["model", "budget_tokens", "first_byte_s", "silence_s", "base_url", "key_variable"],
    ],
    required: &[(
        "base_url",
        "has no base_url; write, for example, base_url = \"http://localhost:8080/v1\"",
    )],
    reports_cost: false,
    ..GENERIC
};

pub(crate) fn run(job: Job<'_>, endpoint: &Endpoint, listener: &mut dyn Listener) -> TurnReport {
    let spec = job.spec;
    let parser = StreamParser::with_limits(AgentStream::OpenAiChat, spec.limits);
    let call = match HttpRequest::new(job, endpoint) {
        Ok(call) => call,
        Err(error) => return TurnReport::without_process(parser.failed(error), Ended::ByItself),
    };
    listener.fed();
    let exchange = Exchange {
        redactor: KeyRedactor::new(call.key.as_deref()),
        parser,
        clock: Clock::start(spec.timeouts),
        output_limit: OutputLimit::new(spec.limits),
        refusal: None,
        events: Vec::new(),
    };
    exchange.run(&call.send(), job.cancel, listener)
}

struct Exchange {
    parser: StreamParser,
    redactor: KeyRedactor,
    clock: Clock,
    output_limit: OutputLimit,
    refusal: Option<RefusalBody>,
    events: Vec<StreamEvent>,
}

struct RefusalBody {
    status: u16,
    headers: String,
    body: Vec<u8>,
    since: Instant,
}

enum Stop {
    /// The stream has ended. The text is the error if the connection broke.
    End(String),
    Failed(TurnError),
    Ended(Ended),
}

impl Exchange {
    fn run(
        mut self,
        exchange: &HttpExchange,
        cancel: &CancelToken,
        listener: &mut dyn Listener,
    ) -> TurnReport {
        let stop = loop {
            if let Some(ended) = clock::reason_to_end(cancel, &self.output_limit, &self.clock) {
                break Stop::Ended(ended);
            }
            if self.refusal.as_ref().is_some_and(RefusalBody::is_enough) {
                break Stop::End(String::new());
            }
            let stop = match exchange.events.recv_timeout(POLL) {
                Ok(event) => self.handle(event),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Stop::End(String::new())),
            };
            deliver(&mut self.events, listener);
            if let Some(stop) = stop {
                break stop;
            }
        };
        // The thread ends when its connections are closed.
        exchange.agent.clone().shutdown();
        self.into_report(stop, listener)
    }

    fn handle(&mut self, event: HttpEvent) -> Option<Stop> {
        match event {
            HttpEvent::Refused { status, headers } => {
                self.clock.note_output();
                let since = Instant::now();
                self.refusal = Some(RefusalBody { status, headers, body: Vec::new(), since });
                None
            }
            HttpEvent::Bytes(bytes) => {
                self.clock.note_output();
                let bytes = self.redactor.push(bytes);
                if let Some(refusal) = &mut self.refusal {
                    refusal.body.extend_from_slice(&bytes);
                    return None;
                }
                self.parser.push(&bytes, &mut self.events);
                self.output_limit.note(bytes.len(), &self.events);
                if self.parser.is_answered() {
                    self.clock.note_final();
                }
                self.parser.is_ended().then(|| Stop::End(String::new()))
            }
            HttpEvent::End => Some(Stop::End(String::new())),
            HttpEvent::Broken(reason) => Some(Stop::End(self.redactor.text(&reason))),
            HttpEvent::Failed(mut error) => {
                error.message = self.redactor.text(&error.message).into();
                Some(Stop::Failed(error))
            }
        }
    }

    fn into_report(mut self, stop: Stop, listener: &mut dyn Listener) -> TurnReport {
        let rest = self.redactor.finish();
        let mut events = std::mem::take(&mut self.events);
        match &mut self.refusal {
            Some(refusal) => refusal.body.extend_from_slice(&rest),
            None => self.parser.push(&rest, &mut events),
        }
        let parser = self.parser;
        let (output, ended) = match (stop, self.refusal) {
            (Stop::End(_) | Stop::Failed(_), Some(RefusalBody { status, headers, body, .. })) => {
                (parser.refused(status, &headers, &body, &mut events), Ended::ByItself)
            }
            (Stop::End(reason), None) => {
                (parser.finish(Exit::Code(0), &reason, &mut events), Ended::ByItself)
            }
            (Stop::Failed(error), None) => (parser.failed(error), Ended::ByItself),
            (Stop::Ended(ended @ Ended::TimedOut(_)), _) if parser.is_answered() => {
                (parser.finish(Exit::Code(0), "", &mut events), ended)
            }
            (Stop::Ended(ended), _) => {
                let mut error = clock::failure(ended, &self.clock.timeouts);
                if ended == Ended::OverLimit {
                    error.message = OVER_LIMIT.into();
                }
                (parser.failed(error), ended)
            }
        };
        deliver(&mut events, listener);
        TurnReport::without_process(output, ended)
    }
}

impl RefusalBody {
    fn is_enough(&self) -> bool {
        self.body.len() >= REFUSAL_BYTES_MAX || self.since.elapsed() >= REFUSAL_TIME_MAX
    }
}
