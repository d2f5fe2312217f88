//! The thread that talks to an endpoint. It blocks on the socket, so it hands on what comes and is never
//! waited for. Called by [`super::run`]; it knows HTTP and reads nothing of a body.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use tertulia_dialect::stream::{ErrorClass, TurnError};
use ureq::http::header::{CONTENT_ENCODING, LOCATION};
use ureq::http::{Response, StatusCode, Uri};
use ureq::{Body, Error, Timeout};

use super::setup::Call;
use crate::process::pipes;

/// How much is read at once, and how many pieces may wait; then the endpoint waits.
const CHUNK_BYTES: usize = 16 * 1024;
const CHUNKS_MAX: usize = 8;

pub(super) enum Word {
    /// The endpoint refused; the bytes that follow say why.
    Refused {
        status: u16,
    },
    Bytes(Vec<u8>),
    End,
    Broken(String),
    /// There is no reply to read.
    Failed(TurnError),
}

pub(super) struct Wire {
    pub(super) words: Receiver<Word>,
    pub(super) agent: ureq::Agent,
}

impl Call {
    pub(super) fn send(self) -> Wire {
        let (sender, words) = sync_channel(CHUNKS_MAX);
        let agent = self.agent.clone();
        let work = move || {
            let last = self.talk(&sender);
            // Nobody listens any more: the turn is over.
            let _ = sender.send(last);
        };
        pipes::spawn("endpoint", work);
        Wire { words, agent }
    }

    /// Talks until nothing more comes, and gives the last word.
    fn talk(&self, sender: &SyncSender<Word>) -> Word {
        let mut request = self.agent.post(&self.url).header("content-type", "application/json");
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let reply = match request.send(self.body.as_bytes()) {
            Ok(reply) => reply,
            Err(error) => return Word::Failed(self.failure(&error)),
        };
        let status = reply.status();
        if status.is_redirection() {
            return Word::Failed(self.redirected(status, &reply));
        }
        let encoding = reply.headers().get(CONTENT_ENCODING).and_then(|it| it.to_str().ok());
        if let Some(encoding) = encoding.filter(|it| !it.eq_ignore_ascii_case("identity")) {
            return Word::Failed(self.encoded(status, encoding));
        }
        let refused = Word::Refused { status: status.as_u16() };
        if !status.is_success() && sender.send(refused).is_err() {
            return Word::End;
        }
        let body = reply.into_body().into_reader();
        let take = |chunk: &[u8]| sender.send(Word::Bytes(chunk.to_vec())).is_ok();
        match pipes::read_all(body, CHUNK_BYTES, take) {
            Ok(()) => Word::End,
            Err(error) => Word::Broken(error.to_string()),
        }
    }

    fn failure(&self, error: &Error) -> TurnError {
        let host = &self.host;
        let (class, message) = match error {
            Error::BadUri(_) | Error::Http(_) => {
                (ErrorClass::Setup, "`base_url` is no address that can be asked".to_owned())
            }
            Error::InvalidProxyUrl => {
                let what = "the proxy variable in the environment is not a valid address";
                (ErrorClass::Setup, what.to_owned())
            }
            Error::HostNotFound => (ErrorClass::Network, format!("there is no host {host}")),
            Error::Timeout(Timeout::Connect | Timeout::Resolve) => {
                (ErrorClass::Network, format!("no connection to {host} in time"))
            }
            error => (ErrorClass::Network, format!("no answer from {host}: {error}")),
        };
        TurnError { class, message: message.into() }
    }

    /// A compressed stream comes late; none was asked for, and none is read.
    fn encoded(&self, status: StatusCode, encoding: &str) -> TurnError {
        let message = format!(
            "HTTP {status}: {} compresses its answer ({encoding}), though it was asked not to; \
             check its settings, or those of the proxy",
            self.host
        );
        TurnError { class: ErrorClass::Setup, message: message.into() }
    }

    fn redirected(&self, status: StatusCode, reply: &Response<Body>) -> TurnError {
        let place = reply.headers().get(LOCATION).and_then(|place| place.to_str().ok());
        let place = place.and_then(|place| place.parse::<Uri>().ok());
        let host = place.as_ref().and_then(Uri::host).unwrap_or(&self.host);
        let message = format!(
            "HTTP {status}: {} redirects to {host}; the key is not sent there; correct `base_url`",
            self.host
        );
        TurnError { class: ErrorClass::Setup, message: message.into() }
    }
}
