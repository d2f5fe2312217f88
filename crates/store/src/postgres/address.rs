//! Where the server is and how it is spoken to, read from the address that people write. Called once,
//! when a store is opened; knows nothing of sessions.

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
/// A server that acknowledges nothing for so long is gone.
const SILENCE: Duration = Duration::from_secs(30);

pub(super) struct Address {
    pub(super) config: Config,
    /// `None`: as plain text, to this machine or because the address says so.
    pub(super) tls: Option<MakeRustlsConnect>,
    pub(super) place: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    /// Nothing, or something that leaves it open.
    Open,
    Plain,
    Tls,
}

impl Address {
    pub(super) fn read(url: &str) -> Result<Self, StoreError> {
        let place = without_password(url);
        // What the parser says may hold pieces of a password, so it is not passed on.
        let reason = "the address cannot be read; write postgres://USER@HOST:PORT/DATABASE, and marks \
                      in the password as % codes";
        let (address, wish) = split_wish(url).ok_or_else(|| refused(&place, reason))?;
        let mut config: Config = address.parse().map_err(|_| refused(&place, reason))?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(refused(&place, "the address names no host"));
        }
        // An address is seen by whoever lists the processes; this variable is not.
        if config.get_password().is_none()
            && let Some(password) = std::env::var_os("PGPASSWORD")
        {
            config.password(password.as_encoded_bytes());
        }
        let wants_tls = match wish {
            Wish::Plain => false,
            Wish::Tls => true,
            Wish::Open => !is_local(&config),
        };
        config.ssl_mode(if wants_tls { SslMode::Require } else { SslMode::Disable });
        // A replica cannot take appends and may be behind: of several hosts, the primary is taken.
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
        let tls = if wants_tls { Some(tls(&place)?) } else { None };
        Ok(Self { config, tls, place })
    }
}

fn refused(place: &str, reason: &str) -> StoreError {
    let (server, reason) = (place.to_owned(), reason.to_owned());
    StoreError::read_failed(Problem::Connection { server, reason })
}

/// The address without `sslmode`, which is ours to read, and what it said. `None` if it said a word
/// that nobody knows: encryption is not guessed at.
fn split_wish(url: &str) -> Option<(String, Wish)> {
    // Credentials end in the first @; a question mark in them begins no settings.
    let credentials = url.find('@').map_or(0, |at| at + 1);
    let settings = url.get(credentials..).and_then(|rest| rest.find('?'));
    let Some(begin) = settings.map(|at| credentials + at) else {
        return Some((url.to_owned(), Wish::Open));
    };
    let (address, settings) = url.split_at(begin);
    let mut wish = Wish::Open;
    let mut others = Vec::new();
    for setting in settings.trim_start_matches('?').split('&').filter(|one| !one.is_empty()) {
        match setting.strip_prefix("sslmode=") {
            None => others.push(setting),
            Some("disable") => wish = Wish::Plain,
            Some("require" | "verify-ca" | "verify-full") => wish = Wish::Tls,
            Some("prefer" | "allow") => wish = Wish::Open,
            Some(_) => return None,
        }
    }
    let mark = if others.is_empty() { "" } else { "?" };
    Some((format!("{address}{mark}{}", others.join("&")), wish))
}

fn is_local(config: &Config) -> bool {
    let is_local_host = |host: &Host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
        }
    };
    // Where both are given, the address is what is connected to.
    match config.get_hostaddrs() {
        [] => config.get_hosts().iter().all(is_local_host),
        addresses => addresses.iter().all(IpAddr::is_loopback),
    }
}

fn tls(place: &str) -> Result<MakeRustlsConnect, StoreError> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        let reason = "this machine trusts no certificate authority; install ca-certificates, or set \
                      SSL_CERT_FILE";
        return Err(refused(place, reason));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| refused(place, &error.to_string()))?;
    Ok(MakeRustlsConnect::new(config.with_root_certificates(roots).with_no_client_auth()))
}

/// The folder of the socket, if it is one of this machine; named when nobody listens there.
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
        Address::read(url).unwrap().config.get_ssl_mode()
    }

    #[test]
    fn another_machine_is_spoken_to_in_secret_unless_the_address_says_otherwise() {
        let (text, wish) = split_wish("postgres://ann@db.example/t").unwrap();
        assert!(!is_local(&text.parse().unwrap()));
        assert_eq!(wish, Wish::Open);
        for word in ["require", "verify-ca", "verify-full"] {
            let url = format!("postgres://ann@db.example/t?sslmode={word}&connect_timeout=3");
            let (text, wish) = split_wish(&url).unwrap();
            assert_eq!(text, "postgres://ann@db.example/t?connect_timeout=3");
            assert_eq!(wish, Wish::Tls);
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
    fn a_word_about_encryption_that_nobody_knows_is_refused() {
        for word in ["verify", "none", "", "Disable"] {
            assert_eq!(split_wish(&format!("postgres://a@b/c?sslmode={word}")), None, "{word}");
        }
    }

    #[test]
    fn an_address_that_cannot_be_read_shows_no_password() {
        for url in ["postgres://ann:s3cret@h/t?s3cret=1", "postgres://ann:s3cret@/t", "postgres://"]
        {
            let Err(error) = Address::read(url) else { panic!("{url}") };
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("s3cret"), "{shown}");
            assert!(shown.contains("address"), "{shown}");
        }
    }
}
