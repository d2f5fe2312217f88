//! The thread that talks to an endpoint. It blocks on the socket and forwards the data that arrives, so that the turn
//! itself never blocks. Called by [`super::run`]. Handles HTTP and does not parse bodies.

use std::net::IpAddr;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use tertulia_dialect::stream::{ErrorClass, TurnError, UsageLimit, chat_request};
use ureq::http::header::{CONTENT_ENCODING, LOCATION};
use ureq::http::{Response, StatusCode, Uri};
use ureq::{Body, Error, Timeout};

use crate::process::pipes;
use crate::{AgentSpec, Endpoint, Job};

/// Timeout for resolving a name and for connecting. Neither can be interrupted.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(30);
/// Maximum size of the headers that are searched for a limit. It is half of the searched bytes; the other half is for
/// the body.
const LIMIT_HEADERS_BYTES_MAX: usize = 4 * 1024;
const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

pub(super) struct HttpRequest {
    agent: ureq::Agent,
    url: String,
    pub(super) key: Option<String>,
    body: String,
    /// Name of the destination for error messages, without path, user or password.
    host: String,
}

/// Number of bytes per read, and maximum number of waiting chunks. Beyond that the endpoint has to wait.
const CHUNK_BYTES: usize = 16 * 1024;
const CHUNKS_MAX: usize = 8;

/// Something that arrived from an endpoint. After a refusal, the following bytes explain it.
pub(super) enum HttpEvent {
    /// `headers` contains the `name: value` lines about limits.
    Refused {
        status: u16,
        headers: String,
    },
    Bytes(Vec<u8>),
    End,
    Broken(String),
    Failed(TurnError),
}

pub(super) struct HttpExchange {
    pub(super) events: Receiver<HttpEvent>,
    pub(super) agent: ureq::Agent,
}

impl HttpRequest {
    /// Prepares the request. Checks everything that can be wrong before a byte is sent.
    pub(super) fn new(
        Job { spec, request, .. }: Job<'_>,
        endpoint: &Endpoint,
    ) -> Result<Self, TurnError> {
        let key = endpoint.key_variable.as_deref().map(read_key).transpose()?;
        let url = format!("{}/chat/completions", endpoint.base_url.trim_end_matches('/'));
        let uri = url.parse::<Uri>().ok();
        let uri = uri.filter(|uri| matches!(uri.scheme_str(), Some("http" | "https")));
        let host = uri.as_ref().and_then(Uri::host).filter(|host| !host.is_empty());
        let (Some(uri), Some(host)) = (&uri, host) else {
            let message = "`base_url` is not an http or https address; correct it";
            return Err(TurnError::new(ErrorClass::Setup, message));
        };
        let body =
            chat_request(request.body, spec.model.as_deref(), request.system, request.prompt)
                .map_err(|error| {
                    let message = format!("the messages for the endpoint cannot be sent: {error}");
                    TurnError::new(ErrorClass::Setup, message)
                })?;
        let port = uri.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
        let host_and_port = format!("{host}{port}");
        Ok(Self { agent: agent(spec, is_loopback(host)), host: host_and_port, url, key, body })
    }

    pub(super) fn send(self) -> HttpExchange {
        let (sender, events) = sync_channel(CHUNKS_MAX);
        let agent = self.agent.clone();
        let work = move || {
            let last = self.exchange(&sender);
            // Sending fails only if the turn is over and nobody receives.
            let _ = sender.send(last);
        };
        pipes::spawn("endpoint", work);
        HttpExchange { events, agent }
    }

    fn exchange(&self, sender: &SyncSender<HttpEvent>) -> HttpEvent {
        let mut request = self.agent.post(&self.url).header("content-type", "application/json");
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let reply = match request.send(self.body.as_bytes()) {
            Ok(reply) => reply,
            Err(error) => return HttpEvent::Failed(self.failure(&error)),
        };
        let status = reply.status();
        if status.is_redirection() {
            return HttpEvent::Failed(self.redirected(status, &reply));
        }
        let encoding = reply.headers().get(CONTENT_ENCODING).and_then(|it| it.to_str().ok());
        if let Some(encoding) = encoding.filter(|it| !it.eq_ignore_ascii_case("identity")) {
            return HttpEvent::Failed(self.encoded(status, encoding));
        }
        let refused =
            HttpEvent::Refused { status: status.as_u16(), headers: limit_headers(&reply) };
        if !status.is_success() && sender.send(refused).is_err() {
            return HttpEvent::End;
        }
        let body = reply.into_body().into_reader();
        let take = |chunk: &[u8]| sender.send(HttpEvent::Bytes(chunk.to_vec())).is_ok();
        match pipes::read_all(body, CHUNK_BYTES, take) {
            Ok(()) => HttpEvent::End,
            Err(error) => HttpEvent::Broken(error.to_string()),
        }
    }

    fn failure(&self, error: &Error) -> TurnError {
        let host = &self.host;
        let (class, message) = match error {
            Error::BadUri(_) | Error::Http(_) => {
                (ErrorClass::Setup, "`base_url` is not an address that can be called".to_owned())
            }
            Error::InvalidProxyUrl => {
                let message = "the proxy variable in the environment is not a valid address";
                (ErrorClass::Setup, message.to_owned())
            }
            Error::HostNotFound => (ErrorClass::Network, format!("the host {host} was not found")),
            Error::Timeout(Timeout::Connect | Timeout::Resolve) => {
                (ErrorClass::Network, format!("{host} did not accept a connection in time"))
            }
            error => (ErrorClass::Network, format!("no answer from {host}: {error}")),
        };
        TurnError::new(class, message)
    }

    /// Returns the error for a compressed stream. It would arrive late, and none was requested.
    fn encoded(&self, status: StatusCode, encoding: &str) -> TurnError {
        let message = format!(
            "HTTP {status}: {} compresses its answer ({encoding}), though it was asked not to; \
             check its settings, or those of the proxy",
            self.host
        );
        TurnError::new(ErrorClass::Setup, message)
    }

    fn redirected(&self, status: StatusCode, reply: &Response<Body>) -> TurnError {
        let location = reply.headers().get(LOCATION).and_then(|location| location.to_str().ok());
        let location = location.and_then(|location| location.parse::<Uri>().ok());
        let host = location.as_ref().and_then(Uri::host).unwrap_or(&self.host);
        let message = format!(
            "HTTP {status}: {} redirects to {host}; the key is not sent there; correct `base_url`",
            self.host
        );
        TurnError::new(ErrorClass::Setup, message)
    }
}

/// Returns the headers about limits. An endpoint may send any number of them; the first ones are kept.
fn limit_headers(reply: &Response<Body>) -> String {
    let mut lines = String::new();
    for (name, value) in reply.headers() {
        let Ok(value) = value.to_str() else { continue };
        let is_short = lines.len() + name.as_str().len() + value.len() <= LIMIT_HEADERS_BYTES_MAX;
        if UsageLimit::is_header(name.as_str()) && is_short {
            lines.push_str(&format!("{name}: {value}\n"));
        }
    }
    lines
}

fn read_key(variable: &str) -> Result<String, TurnError> {
    let key = std::env::var_os(variable).unwrap_or_default();
    // A trailing line feed is usually left over from reading the key from a file.
    let key = key.to_str().unwrap_or("\0").trim();
    let problem = match key {
        "" => "is not set",
        key if key.bytes().any(|byte| !byte.is_ascii() || byte.is_ascii_control()) => {
            "contains no key"
        }
        key => return Ok(key.to_owned()),
    };
    let message = format!("the variable {variable} {problem}; set it to the endpoint's key");
    Err(TurnError::new(ErrorClass::Auth, message))
}

fn agent(spec: &AgentSpec, is_loopback: bool) -> ureq::Agent {
    // The timeouts of the turn should expire first, because then the report names the reason.
    let total = spec.timeouts.total.min(YEAR) + Duration::from_secs(1);
    let connect_time = CONNECT_TIME_MAX.min(total);
    let mut config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .accept("text/event-stream, application/json")
        .accept_encoding("identity")
        .user_agent(concat!("tertulia/", env!("CARGO_PKG_VERSION")))
        .timeout_global(Some(total))
        .timeout_resolve(Some(connect_time))
        .timeout_connect(Some(connect_time));
    if is_loopback {
        config = config.proxy(None);
    }
    config.build().new_agent()
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => bare == "localhost" || bare.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_known_by_its_names_and_addresses() {
        for host in ["localhost", "api.localhost", "127.0.0.1", "127.8.8.8", "[::1]"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["localhost.example.com", "10.0.0.1", "[::2]", "example.com"] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn a_missing_key_names_its_variable() {
        let error = read_key("NO_SUCH_VARIABLE_OF_TERTULIA").unwrap_err();
        assert_eq!(error.class, ErrorClass::Auth);
        assert!(error.message.contains("NO_SUCH_VARIABLE_OF_TERTULIA"), "{error}");
    }
}
