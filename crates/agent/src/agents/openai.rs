//! Endpoints that speak Chat Completions: one request, its answer read as it is streamed. ureq blocks, so a thread of its
//! own talks to the endpoint. The turn never waits for that thread: when it is over, the connections are shut down. Where
//! it is still looking up a name or connecting, it ends with the time that these may take. Nothing is asked twice, and no
//! redirect is followed: the key goes where the settings say, and nowhere else.

mod scrub;
mod wire;

use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use tertulia_dialect::stream::{AgentStream, Exit, StreamEvent, StreamParser, TurnError};

use super::{AgentDefinition, GENERIC, PROMPT_FIELDS};
use crate::clock::{self, Clock, Flood, POLL};
use crate::spec::tell;
use crate::{CancelToken, Ended, Endpoint, Job, Listener, TurnReport};
use scrub::Scrub;
use wire::{Call, Wire, Word};

const REFUSAL_BYTES_MAX: usize = 64 * 1024;
const REFUSAL_TIME_MAX: Duration = Duration::from_secs(5);
const OVER_LIMIT: &str = "it sent more than is kept of an answer, and was ended";

/// An endpoint that speaks Chat Completions.
pub const OPENAI: &AgentDefinition = &AgentDefinition {
    word: "openai",
    title: "an agent",
    fields: &[
        PROMPT_FIELDS,
        &["model", "budget_tokens", "first_byte_s", "silence_s", "base_url", "key_variable"],
    ],
    required: &[(
        "base_url",
        "has no base_url; write base_url = \"http://localhost:8080/v1\" or the like",
    )],
    reports_cost: false,
    ..GENERIC
};

pub(crate) fn run(job: Job<'_>, endpoint: &Endpoint, listener: &mut dyn Listener) -> TurnReport {
    let spec = job.spec;
    let parser = StreamParser::with_limits(AgentStream::OpenAiChat, spec.limits);
    let call = match Call::new(job, endpoint) {
        Ok(call) => call,
        Err(error) => return TurnReport::without_process(parser.failed(error), Ended::ByItself),
    };
    listener.fed();
    let exchange = Exchange {
        scrub: Scrub::new(call.key.as_deref()),
        parser,
        clock: Clock::start(spec.timeouts),
        flood: Flood::new(spec.limits),
        refusal: None,
        events: Vec::new(),
    };
    exchange.run(&call.send(), job.cancel, listener)
}

struct Exchange {
    parser: StreamParser,
    scrub: Scrub,
    clock: Clock,
    flood: Flood,
    refusal: Option<RefusalBody>,
    events: Vec<StreamEvent>,
}

struct RefusalBody {
    status: u16,
    body: Vec<u8>,
    since: Instant,
}

enum Stop {
    /// The endpoint is done, or the connection is; in the second case with what it complained of.
    End(String),
    Failed(TurnError),
    Ended(Ended),
}

impl Exchange {
    fn run(mut self, wire: &Wire, cancel: &CancelToken, listener: &mut dyn Listener) -> TurnReport {
        let stop = loop {
            if let Some(ended) = clock::must_end(cancel, &self.flood, &self.clock) {
                break Stop::Ended(ended);
            }
            if self.refusal.as_ref().is_some_and(RefusalBody::is_enough) {
                break Stop::End(String::new());
            }
            let stop = match wire.words.recv_timeout(POLL) {
                Ok(word) => self.hear(word),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Stop::End(String::new())),
            };
            tell(&mut self.events, listener);
            if let Some(stop) = stop {
                break stop;
            }
        };
        // The thread ends when its connections do.
        wire.agent.clone().shutdown();
        self.judge(stop, listener)
    }

    fn hear(&mut self, word: Word) -> Option<Stop> {
        match word {
            Word::Refused { status } => {
                self.clock.hear();
                let since = Instant::now();
                self.refusal = Some(RefusalBody { status, body: Vec::new(), since });
                None
            }
            Word::Bytes(bytes) => {
                self.clock.hear();
                let bytes = self.scrub.push(bytes);
                if let Some(refusal) = &mut self.refusal {
                    refusal.body.extend_from_slice(&bytes);
                    return None;
                }
                self.parser.push(&bytes, &mut self.events);
                self.flood.note(bytes.len(), &self.events);
                if self.parser.is_answered() {
                    self.clock.answer();
                }
                self.parser.is_ended().then(|| Stop::End(String::new()))
            }
            Word::End => Some(Stop::End(String::new())),
            Word::Broken(trouble) => Some(Stop::End(self.scrub.text(&trouble))),
            Word::Failed(mut error) => {
                error.message = self.scrub.text(&error.message).into();
                Some(Stop::Failed(error))
            }
        }
    }

    fn judge(mut self, stop: Stop, listener: &mut dyn Listener) -> TurnReport {
        let rest = self.scrub.finish();
        let mut events = std::mem::take(&mut self.events);
        match &mut self.refusal {
            Some(refusal) => refusal.body.extend_from_slice(&rest),
            None => self.parser.push(&rest, &mut events),
        }
        let parser = self.parser;
        let (output, ended) = match (stop, self.refusal) {
            (Stop::End(_) | Stop::Failed(_), Some(RefusalBody { status, body, .. })) => {
                (parser.refused(status, &body, &mut events), Ended::ByItself)
            }
            (Stop::End(trouble), None) => {
                (parser.finish(Exit::Code(0), &trouble, &mut events), Ended::ByItself)
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
        tell(&mut events, listener);
        TurnReport::without_process(output, ended)
    }
}

impl RefusalBody {
    fn is_enough(&self) -> bool {
        self.body.len() >= REFUSAL_BYTES_MAX || self.since.elapsed() >= REFUSAL_TIME_MAX
    }
}
