//! The system programs that are needed to build and try packages: finds them, or installs them if possible.

use super::DistError;
use crate::provide;
use std::process::{Command, Stdio};

/// A program that not every machine has.
pub(super) struct SystemProgram {
    pub(super) name: &'static str,
    /// Debian's package of it.
    package: &'static str,
    /// Arguments with which it succeeds if it is completely installed.
    test: &'static [&'static str],
}

/// The C compiler for static binaries.
pub(super) const MUSL_GCC: SystemProgram =
    SystemProgram { name: "musl-gcc", package: "musl-tools", test: &["--version"] };
pub(super) const DPKG: SystemProgram =
    SystemProgram { name: "dpkg", package: "dpkg", test: &["--version"] };
/// Debian has Python's environments in a package of their own.
pub(super) const PYTHON: SystemProgram = SystemProgram {
    name: "python3",
    package: "python3-venv",
    test: &["-c", "import ensurepip, venv"],
};
pub(super) const NPM: SystemProgram =
    SystemProgram { name: "npm", package: "npm", test: &["--version"] };

impl SystemProgram {
    /// Installs the program if it is missing and if possible; otherwise returns an error that says how to install it.
    pub(super) fn provide(&self) -> Result<(), DistError> {
        if !self.is_here() && provide::can_install() {
            provide::install_packages(&[self.package])?;
        }
        let Self { name, package, .. } = *self;
        if self.is_here() { Ok(()) } else { Err(DistError::NoProgram { name, package }) }
    }

    fn is_here(&self) -> bool {
        let mut command = Command::new(self.name);
        let status = command.args(self.test).stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_here_only_if_its_test_succeeds() {
        let rustc = SystemProgram { name: "rustc", package: "rustc", test: &["--version"] };
        assert!(rustc.is_here());
        assert!(!SystemProgram { test: &["--no-such-flag"], ..rustc }.is_here());
        assert!(!SystemProgram { name: "no-such-program-anywhere", ..MUSL_GCC }.is_here());
    }

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        let error = DistError::NoProgram { name: MUSL_GCC.name, package: MUSL_GCC.package };
        assert!(error.to_string().contains("sudo apt-get install musl-tools"), "{error}");
    }
}
