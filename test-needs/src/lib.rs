//! Requirements of tests that not every machine meets. A test whose requirement is missing calls [`skip`] and
//! returns. Its name and the reason are printed directly, because the test harness hides the output of tests. In
//! CI, and for requirements that `cargo xtask test` has provided, a skip is a failure.

#![expect(
    clippy::disallowed_methods,
    reason = "a tool for tests: it reads the environment and starts a server"
)]

mod postgres;

use std::collections::BTreeSet;
use std::fmt;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

pub use postgres::{PostgresServer, is_root};

/// The variable in which `cargo xtask test` lists the provided requirements, by [`Need::key`] and separated by
/// commas.
pub const REQUIRED: &str = "TERTULIA_TEST_REQUIRE";

/// The variable with the socket folder of a running PostgreSQL server, whose user `tertulia` has all rights.
pub const POSTGRES: &str = "TERTULIA_TEST_POSTGRES";

/// A requirement of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The programs of a PostgreSQL server.
    PostgreSql,
    /// `strace`, which makes calls to the system fail.
    Strace,
    /// `faketime`, which gives a process another time.
    Faketime,
    /// The rights of root, to mount file systems and to change the user.
    Root,
    /// Control groups of version 2 that the user may write.
    ControlGroups,
}

impl Need {
    /// Returns its name in [`REQUIRED`]. For programs that can be installed, this is the name of Debian's package.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::PostgreSql => "postgresql",
            Self::Strace => "strace",
            Self::Faketime => "faketime",
            Self::Root => "root",
            Self::ControlGroups => "control-groups",
        }
    }
}

/// Describes the requirement, and how to meet it.
impl fmt::Display for Need {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::PostgreSql => "PostgreSQL (`cargo xtask test` installs and starts it)",
            Self::Strace => "strace (`cargo xtask test` installs it)",
            Self::Faketime => "faketime (`cargo xtask test` installs it)",
            Self::Root => "root (run the tests as root)",
            Self::ControlGroups => "control groups of version 2 that the user may write",
        })
    }
}

/// Prints that the calling test is skipped, and the reason.
///
/// # Panics
/// In CI, and if [`REQUIRED`] lists the requirement.
#[track_caller]
pub fn skip(need: Need) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let variable = |name| std::env::var(name).unwrap_or_default();
    assert!(
        !is_required(need, &variable(REQUIRED), &variable("CI")),
        "{test} needs {need}, and no test may be skipped here"
    );
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(test.clone()) {
        // Not with `eprintln`, because the harness shows its output only for tests that fail.
        let _ = writeln!(std::io::stderr(), "skipped: {test} needs {need}");
    }
}

fn is_required(need: Need, required: &str, ci: &str) -> bool {
    !ci.is_empty() || required.split(',').any(|key| key == need.key())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skip_is_a_failure_in_ci_and_where_the_need_is_listed() {
        assert!(!is_required(Need::PostgreSql, "", ""));
        assert!(is_required(Need::PostgreSql, "", "true"));
        assert!(is_required(Need::Root, "", "1"));
        assert!(is_required(Need::Strace, "postgresql,strace", ""));
        assert!(!is_required(Need::Faketime, "postgresql,strace", ""));
    }

    #[test]
    fn every_need_is_named_with_a_way_to_get_it() {
        assert!(Need::PostgreSql.to_string().contains("cargo xtask test"));
        assert!(Need::Root.to_string().contains("as root"));
    }
}
