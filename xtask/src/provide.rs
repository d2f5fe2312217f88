//! Provides the requirements of the tests besides a compiler: installs them if possible, starts them, prints their
//! names and passes them to the tests in variables. `test`, `soak` and `faults` call it. Plain `cargo test`
//! installs nothing: there, a test whose requirements are missing is skipped, and its name is printed.

use crate::process::{self, ProcessError};
use std::path::PathBuf;
use std::process::Command;
use tertulia_test_needs::{Need, POSTGRES, PostgresServer, REQUIRED, is_root};

/// All that can be installed.
const INSTALLABLE: [Need; 3] = [Need::PostgreSql, Need::Strace, Need::Faketime];

/// An error of providing the requirements of the tests.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProvideError {
    #[error("these are missing: {packages}; CI must have all of them")]
    Missing { packages: String },
    #[error("the PostgreSQL server for the tests does not start")]
    Server(#[source] std::io::Error),
    #[error(transparent)]
    Process(#[from] ProcessError),
}

/// The programs and the server for the tests. The server is stopped when this is dropped, and when this process ends.
#[derive(Debug)]
pub(crate) struct Provided {
    server: Option<PostgresServer>,
    required: String,
}

impl Provided {
    /// Installs what is missing and starts the server.
    pub(crate) fn start() -> Result<Self, ProvideError> {
        let here = install()?;
        let server = match PostgresServer::find_programs() {
            Some(programs) => {
                println!("starting a PostgreSQL server for the tests ({})", programs.display());
                let server = PostgresServer::start(programs).map_err(ProvideError::Server)?;
                println!("its socket is in {}; it stops after the tests", server.folder());
                Some(server)
            }
            None => None,
        };
        Ok(Self { server, required: keys(&here) })
    }

    /// Sets the variables for a command and its tests.
    pub(crate) fn tell(&self, command: &mut Command) {
        command.env(REQUIRED, &self.required);
        if let Some(server) = &self.server {
            command.env(POSTGRES, server.folder());
        }
    }
}

/// Installs missing requirements if possible. Returns those that are available afterwards.
pub(crate) fn install() -> Result<Vec<Need>, ProvideError> {
    let missing = || INSTALLABLE.into_iter().filter(|need| !is_here(*need)).collect::<Vec<_>>();
    let wanted = missing();
    if !wanted.is_empty() && can_install() {
        install_packages(&wanted.iter().map(|need| need.key()).collect::<Vec<_>>())?;
    }
    let lacking = missing();
    if !lacking.is_empty() {
        let packages = lacking.iter().map(|need| need.key()).collect::<Vec<_>>().join(" ");
        if is_ci() {
            return Err(ProvideError::Missing { packages });
        }
        println!("MISSING: {packages}; the tests that need them are skipped");
        println!("to run these tests too, on Debian or Ubuntu: sudo apt-get install {packages}");
    }
    Ok(INSTALLABLE.into_iter().filter(|need| !lacking.contains(need)).collect())
}

fn is_here(need: Need) -> bool {
    match need {
        Need::PostgreSql => PostgresServer::find_programs().is_some(),
        Need::Strace | Need::Faketime => find(need.key()).is_some(),
        Need::Root | Need::ControlGroups => false,
    }
}

/// Returns whether this runs in CI, where nothing may be missing.
pub(crate) fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !value.is_empty())
}

/// Only root may install packages; nobody is asked for a password.
pub(crate) fn can_install() -> bool {
    is_root().unwrap_or(false) && find("apt-get").is_some()
}

/// Installs packages of Debian.
pub(crate) fn install_packages(packages: &[&str]) -> Result<(), ProcessError> {
    println!("installing {} with apt-get", packages.join(", "));
    let words = install_words(packages);
    // The package lists may be too old or missing.
    if apt_get(&words).is_err() {
        apt_get(&["update"])?;
        apt_get(&words)?;
    }
    Ok(())
}

/// The program of this name on `PATH`.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn install_words<'a>(packages: &[&'a str]) -> Vec<&'a str> {
    ["install", "--yes", "--no-install-recommends"].iter().chain(packages).copied().collect()
}

fn apt_get(words: &[&str]) -> Result<(), ProcessError> {
    let mut command = Command::new("apt-get");
    process::run(command.args(words).env("DEBIAN_FRONTEND", "noninteractive"))
}

/// Returns the names of needs, with commas between.
fn keys(needs: &[Need]) -> String {
    needs.iter().map(|need| need.key()).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn the_tests_are_told_what_must_not_be_missing() {
        let provided = Provided { server: None, required: keys(&[Need::PostgreSql, Need::Strace]) };
        let mut command = Command::new("cargo");
        provided.tell(&mut command);
        let told: Vec<_> = command.get_envs().collect();
        assert_eq!(told, [(OsStr::new(REQUIRED), Some(OsStr::new("postgresql,strace")))]);
    }

    #[test]
    fn packages_are_installed_without_questions() {
        let words = install_words(&["faketime"]);
        assert_eq!(words, ["install", "--yes", "--no-install-recommends", "faketime"]);
    }
}
