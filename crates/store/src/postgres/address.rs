//! Parses the address of a server into connection settings. Used once, when a store is opened; it does not depend on
//! sessions.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::url::without_password;
use crate::{Problem, StoreError};

const CONNECT: Duration = Duration::from_secs(10);
/// A server that acknowledges nothing for this long counts as lost.
const SILENCE: Duration = Duration::from_secs(30);

pub(super) struct Address {
    pub(super) config: Config,
    /// The settings of an encrypted connection. `None` means plain text, because the server is on this machine or
    /// the address requires it.
    pub(super) tls: Option<MakeRustlsConnect>,
    pub(super) location: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TlsPreference {
    /// The address does not set it, or leaves it to the client.
    Unspecified,
    Disabled,
    Required,
}

impl Address {
    pub(super) fn parse(url: &str) -> Result<Self, StoreError> {
        let location = without_password(url);
        // The parser's message is not shown, because it may contain parts of a password.
        let reason = "the address cannot be read; write postgres://USER@HOST:PORT/DATABASE, and special \
                              characters in the password as % codes";
        let (address, preference) = split_sslmode(url).ok_or_else(|| refused(&location, reason))?;
        let mut config: Config = address.parse().map_err(|_| refused(&location, reason))?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(refused(&location, "the address names no host"));
        }
        // This variable is safer than the address, which is visible in process lists.
        if config.get_password().is_none()
            && let Some(password) = std::env::var_os("PGPASSWORD")
        {
            config.password(password.as_encoded_bytes());
        }
        let wants_tls = match preference {
            TlsPreference::Disabled => false,
            TlsPreference::Required => true,
            TlsPreference::Unspecified => !is_local(&config),
        };
        config.ssl_mode(if wants_tls { SslMode::Require } else { SslMode::Disable });
        // A replica cannot accept appends and may be behind. If there are several hosts, the primary is chosen.
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(SILENCE);
        }
        config.keepalives_idle(SILENCE);
        if config.get_application_name().is_none() {
            config.application_name("tertulia");
        }
        let tls = if wants_tls { Some(tls(&location)?) } else { None };
        Ok(Self { config, tls, location })
    }
}

fn refused(location: &str, reason: &str) -> StoreError {
    let (server, reason) = (location.to_owned(), reason.to_owned());
    StoreError::read_failed(Problem::Connection { server, reason })
}

/// Returns the address without `sslmode`, and the value of `sslmode`, which this code handles. Returns `None` if the
/// value is unknown, because encryption must not be guessed.
fn split_sslmode(url: &str) -> Option<(String, TlsPreference)> {
    // Credentials end at the first @, so a question mark before it does not start parameters.
    let credentials = url.find('@').map_or(0, |at| at + 1);
    let settings = url.get(credentials..).and_then(|rest| rest.find('?'));
    let Some(begin) = settings.map(|at| credentials + at) else {
        return Some((url.to_owned(), TlsPreference::Unspecified));
    };
    let (address, settings) = url.split_at(begin);
    let mut preference = TlsPreference::Unspecified;
    let mut others = Vec::new();
    for setting in settings.trim_start_matches('?').split('&').filter(|one| !one.is_empty()) {
        match setting.strip_prefix("sslmode=") {
            None => others.push(setting),
            Some("disable") => preference = TlsPreference::Disabled,
            Some("require" | "verify-ca" | "verify-full") => preference = TlsPreference::Required,
            Some("prefer" | "allow") => preference = TlsPreference::Unspecified,
            Some(_) => return None,
        }
    }
    let mark = if others.is_empty() { "" } else { "?" };
    Some((format!("{address}{mark}{}", others.join("&")), preference))
}

fn is_local(config: &Config) -> bool {
    let is_local_host = |host: &Host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
        }
    };
    // If both a host and an address are given, the client connects to the address.
    match config.get_hostaddrs() {
        [] => config.get_hosts().iter().all(is_local_host),
        addresses => addresses.iter().all(IpAddr::is_loopback),
    }
}

fn tls(location: &str) -> Result<MakeRustlsConnect, StoreError> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        let reason = "this machine trusts no certificate authority; install ca-certificates, or set \
                      SSL_CERT_FILE";
        return Err(refused(location, reason));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| refused(location, &error.to_string()))?;
    Ok(MakeRustlsConnect::new(config.with_root_certificates(roots).with_no_client_auth()))
}

/// Returns the folder of a local socket, which is shown if no server uses it.
pub(super) fn socket_folder(config: &Config) -> Option<&Path> {
    config.get_hosts().iter().find_map(|host| match host {
        Host::Unix(folder) => Some(folder.as_path()),
        Host::Tcp(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(url: &str) -> SslMode {
        Address::parse(url).unwrap().config.get_ssl_mode()
    }

    #[test]
    fn remote_hosts_require_tls_unless_the_address_says_otherwise() {
        let (text, preference) = split_sslmode("postgres://ann@db.example/t").unwrap();
        assert!(!is_local(&text.parse().unwrap()));
        assert_eq!(preference, TlsPreference::Unspecified);
        for word in ["require", "verify-ca", "verify-full"] {
            let url = format!("postgres://ann@db.example/t?sslmode={word}&connect_timeout=3");
            let (text, preference) = split_sslmode(&url).unwrap();
            assert_eq!(text, "postgres://ann@db.example/t?connect_timeout=3");
            assert_eq!(preference, TlsPreference::Required);
        }
        assert_eq!(mode("postgres://ann@db.example/t?sslmode=disable"), SslMode::Disable);
    }

    #[test]
    fn this_machine_needs_no_encryption() {
        for host in ["localhost", "127.0.0.1", "127.8.9.1:99", "[::1]:5432", "%2Frun%2Fpg"] {
            assert_eq!(mode(&format!("postgres://ann@{host}/t")), SslMode::Disable, "{host}");
        }
        for mixed in ["localhost,db.example", "10.0.0.1", "localhost.example"] {
            let config = format!("postgres://ann@{mixed}/t").parse().unwrap();
            assert!(!is_local(&config), "{mixed}");
        }
        let elsewhere = "postgres://ann@localhost/t?hostaddr=10.0.0.1".parse().unwrap();
        assert!(!is_local(&elsewhere));
    }

    #[test]
    fn an_unknown_sslmode_is_refused() {
        for word in ["verify", "none", "", "Disable"] {
            assert_eq!(split_sslmode(&format!("postgres://a@b/c?sslmode={word}")), None, "{word}");
        }
    }

    #[test]
    fn an_address_that_cannot_be_read_shows_no_password() {
        for url in ["postgres://ann:s3cret@h/t?s3cret=1", "postgres://ann:s3cret@/t", "postgres://"]
        {
            let Err(error) = Address::parse(url) else { panic!("{url}") };
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("s3cret"), "{shown}");
            assert!(shown.contains("address"), "{shown}");
        }
    }
}
