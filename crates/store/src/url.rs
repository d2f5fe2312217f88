//! The address of a store: `sqlite:PATH`, `postgres://…` or `memory`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The address of a store.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreUrl {
    Sqlite(PathBuf),
    /// A connection URL as PostgreSQL clients accept it, including the password.
    Postgres(String),
    /// Not persistent: the sessions end with the process.
    Memory,
}

/// A text that is not the address of a store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{got:?} is not a store; write sqlite:PATH, postgres://USER@HOST/DATABASE or memory")]
pub struct InvalidStoreUrl {
    pub got: String,
}

impl FromStr for StoreUrl {
    type Err = InvalidStoreUrl;

    fn from_str(text: &str) -> Result<Self, InvalidStoreUrl> {
        let invalid = || InvalidStoreUrl { got: without_secrets(text) };
        if text == "memory" {
            return Ok(Self::Memory);
        }
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(text.to_owned()));
        }
        match text.strip_prefix("sqlite:") {
            // Other programs give these forms another meaning than a file name.
            Some(path)
                if path.contains("://")
                    || [":", "file:", "//"].iter().any(|one| path.starts_with(one)) =>
            {
                Err(invalid())
            }
            Some(path) if !path.is_empty() && !path.contains('\0') => Ok(Self::Sqlite(path.into())),
            _ => Err(invalid()),
        }
    }
}

/// Returns the part of an invalid address that certainly contains no password. In a mistyped server address a
/// password may be anywhere.
fn without_secrets(text: &str) -> String {
    let is_path = text.starts_with("sqlite:") && !text.contains(['@', '=']);
    let end = if is_path { None } else { text.find([':', '=', '@', ' ', '?']) };
    match end.and_then(|end| text.split_at_checked(end)) {
        // The text before an `@` may be a password too.
        Some((_, rest)) if rest.starts_with('@') => "…".to_owned(),
        Some((begin, _)) => format!("{}…", begin.chars().take(80).collect::<String>()),
        None => text.chars().take(80).collect(),
    }
}

/// Returns a server address without the password.
pub(crate) fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (user, rest) = match rest.split_once('@') {
        Some((user, rest)) => (Some(user), rest),
        None => (None, rest),
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    // Parameters after the question mark may contain a password too.
    let path = path.split('?').next().unwrap_or_default();
    // A password may contain these characters, so its end is ambiguous.
    if user.is_some_and(|user| user.contains(['/', '?'])) || path.contains('@') {
        return format!("{scheme}://…");
    }
    let host = authority.rsplit('@').next().unwrap_or_default();
    // A port follows a colon. Any other text there may be a password if the host is missing.
    let hosts = host.split(',').filter(|one| !one.ends_with(']'));
    let mut ports = hosts.filter_map(|one| one.rsplit_once(':'));
    if ports.any(|(_, port)| !port.bytes().all(|byte| byte.is_ascii_digit())) {
        return format!("{scheme}://…");
    }
    match user.and_then(|user| user.split(':').next()) {
        Some(name) => format!("{scheme}://{name}@{host}{path}"),
        None => format!("{scheme}://{host}{path}"),
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Postgres(url) => f.write_str(&without_password(url)),
            Self::Memory => f.write_str("memory"),
        }
    }
}

/// Implemented by hand, so that a log line never contains a password.
impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_kinds_of_stores_are_parsed() {
        assert_eq!("memory".parse::<StoreUrl>(), Ok(StoreUrl::Memory));
        assert_eq!("sqlite:a b.db".parse::<StoreUrl>(), Ok(StoreUrl::Sqlite("a b.db".into())));
        let server = "postgres://ann@db.example/talks";
        assert_eq!(server.parse::<StoreUrl>(), Ok(StoreUrl::Postgres(server.to_owned())));
    }

    #[test]
    fn invalid_addresses_are_refused() {
        for text in [
            "",
            "sqlite:",
            "talk.db",
            "mysql://x",
            "sqlite:a\0b",
            "Memory",
            "sqlite::memory:",
            "sqlite://x",
        ] {
            let error = text.parse::<StoreUrl>().unwrap_err().to_string();
            assert!(error.contains("write sqlite:PATH"), "{text:?}");
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        let url = "postgres://ann:s3:cr@et@db:5432/talks?password=s3cret&sslmode=require";
        let shown = format!("{} {:?}", StoreUrl::Postgres(url.to_owned()), url.parse::<StoreUrl>());
        assert!(!shown.contains("cr"), "{shown}");
        assert!(shown.contains("postgres://ann@db:5432/talks"), "{shown}");
        let error = "mysql://ann:s3cret@db".parse::<StoreUrl>().unwrap_err().to_string();
        assert!(!error.contains("s3cret"), "{error}");
        for url in [
            "postgres://ann:s3c/ret@db/talks",
            "postgres://ann:s3c?ret@db/talks",
            "postgres://ann:x@s3c/ret@db/talks",
            "postgres://db/talks?user=ann&password=x@s3cret",
            "postgres://ann@db/talks?password=x@s3cret",
        ] {
            let shown = StoreUrl::Postgres(url.to_owned()).to_string();
            assert!(!shown.contains("s3c") && !shown.contains("ret"), "{shown}");
        }
    }

    #[test]
    fn a_mistyped_address_shows_no_password() {
        for text in [
            "postgres:/ann:s3cret@h/db",
            "postgres:ann:s3cret@h/db",
            "postgres:/ann:s3cret",
            "Postgres://ann:s3cret@h/db",
            "postgre://ann:s3cret@h",
            "host=h password=s3cret",
            "password=s3cret host=h",
            "ann:s3cret@h/db",
            "s3cret@h/db",
            " postgres://ann:s3cret@h/db",
            "sqlite:postgres://ann:s3cret@h/db",
            "sqlite://ann:s3cret@h/db",
        ] {
            let shown = match text.parse::<StoreUrl>() {
                Ok(url) => url.to_string(),
                Err(error) => format!("{error} {error:?}"),
            };
            assert!(!shown.contains("s3cret"), "{shown}");
        }
        for url in
            ["postgres://ann:s3cret", "postgres://ann:s3cret/db", "postgres://h,ann:s3cret/db"]
        {
            let shown = StoreUrl::Postgres(url.to_owned()).to_string();
            assert!(!shown.contains("s3cret"), "{shown}");
        }
        for url in
            ["postgres://ann@h:5432/db", "postgres://ann@[::1]:99/db", "postgres://h1:1,h2:2/d"]
        {
            assert_eq!(StoreUrl::Postgres(url.to_owned()).to_string(), url);
        }
    }
}
