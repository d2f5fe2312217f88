//! What is sent, where and with which key: everything that can be wrong before a byte goes out. Called by
//! [`super::run`].

use std::net::IpAddr;
use std::time::Duration;

use tertulia_dialect::stream::{ErrorClass, TurnError, chat_request};
use ureq::http::Uri;

use crate::{AgentSpec, Endpoint, TurnRequest};

/// How long a name may be looked up, and a connection made. Nothing can interrupt these two.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(30);
const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

pub(super) struct Call {
    pub(super) agent: ureq::Agent,
    pub(super) url: String,
    pub(super) key: Option<String>,
    pub(super) body: String,
    /// Where it goes, for messages: without a path, a name or a password.
    pub(super) host: String,
}

pub(super) fn call(
    spec: &AgentSpec,
    endpoint: &Endpoint,
    request: &TurnRequest<'_>,
) -> Result<Call, TurnError> {
    let key = endpoint.key_variable.as_deref().map(read_key).transpose()?;
    let url = format!("{}/chat/completions", endpoint.base_url.trim_end_matches('/'));
    let uri = url.parse::<Uri>().ok();
    let uri = uri.filter(|uri| matches!(uri.scheme_str(), Some("http" | "https")));
    let host = uri.as_ref().and_then(Uri::host).filter(|host| !host.is_empty());
    let (Some(uri), Some(host)) = (&uri, host) else {
        return Err(setup("`base_url` is no http or https address; correct it".to_owned()));
    };
    let body = chat_request(request.body, spec.model.as_deref(), request.system, request.prompt)
        .map_err(|error| setup(format!("the messages for the endpoint cannot be sent: {error}")))?;
    let port = uri.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
    let host_and_port = format!("{host}{port}");
    Ok(Call { agent: agent(spec, is_loopback(host)), host: host_and_port, url, key, body })
}

fn read_key(variable: &str) -> Result<String, TurnError> {
    let auth = |message: String| TurnError { class: ErrorClass::Auth, message: message.into() };
    let key = std::env::var_os(variable).unwrap_or_default();
    // A line feed at the end is a slip of whoever read the key from a file.
    let key = key.to_str().unwrap_or("\0").trim();
    if key.is_empty() {
        return Err(auth(format!(
            "the variable {variable} is not set; set it to the endpoint's key"
        )));
    }
    if key.bytes().any(|byte| !byte.is_ascii() || byte.is_ascii_control()) {
        return Err(auth(format!(
            "the variable {variable} holds no key; set it to the endpoint's key"
        )));
    }
    Ok(key.to_owned())
}

fn agent(spec: &AgentSpec, is_loopback: bool) -> ureq::Agent {
    // The clocks of the turn are to be the first, so that it is known which time was up.
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

fn setup(message: String) -> TurnError {
    TurnError { class: ErrorClass::Setup, message: message.into() }
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
