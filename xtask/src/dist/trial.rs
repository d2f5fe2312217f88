//! Installs every package as its users do, runs the program from it, and removes it. Everything happens in a scratch
//! folder: dpkg gets a root of its own, pip an environment of its own, npm a prefix of its own. None of them uses
//! the network. A missing installer is reported; in CI it is a failure.

use super::DistError;
use super::contents::Contents;
use super::system::{DPKG, NPM, PYTHON, SystemProgram};
use crate::process;
use crate::provide;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Tries all packages in the folder.
pub(super) fn run(contents: &Contents, folder: &Path, scratch: &Path) -> Result<(), DistError> {
    let trial = Trial { contents, folder, scratch };
    trial.archive()?;
    trial.with_installer("wheel", &PYTHON, Trial::wheel)?;
    trial.with_installer("npm packages", &NPM, Trial::npm)?;
    if contents.platform.debian.is_some() {
        trial.with_installer("Debian package", &DPKG, Trial::deb)?;
    }
    Ok(())
}

struct Trial<'a> {
    contents: &'a Contents,
    folder: &'a Path,
    scratch: &'a Path,
}

impl Trial<'_> {
    fn with_installer(
        &self,
        package: &'static str,
        installer: &SystemProgram,
        trial: fn(&Self) -> Result<(), DistError>,
    ) -> Result<(), DistError> {
        match installer.provide() {
            Ok(()) => trial(self),
            Err(missing @ DistError::NoProgram { .. }) if !provide::is_ci() => {
                println!("NOT TRIED: the {package}; {missing}");
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn archive(&self) -> Result<(), DistError> {
        let name = self.contents.archive_name();
        let path = self.folder.join(format!("{name}.tar.gz"));
        let failed = |source| DistError::File { path: path.clone(), source };
        let file = File::open(&path).map_err(failed)?;
        let into = self.scratch.join("archive");
        tar::Archive::new(flate2::read::GzDecoder::new(file)).unpack(&into).map_err(failed)?;
        let root = into.join(name);
        self.check("archive", &root.join("tertulia"), &root, &["man/man1/tertulia.1"])
    }

    fn wheel(&self) -> Result<(), DistError> {
        let environment = self.scratch.join("python");
        process::run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
        let pip = || {
            let mut pip = Command::new(environment.join("bin/pip"));
            pip.args(["--quiet", "--disable-pip-version-check", "--no-input"]);
            pip
        };
        let wheel = self.find(".whl")?;
        process::run(pip().args(["install", "--no-index", "--no-deps"]).arg(wheel))?;
        let program = environment.join("bin/tertulia");
        let files = ["share/man/man1/tertulia.1", "share/bash-completion/completions/tertulia"];
        self.check("wheel", &program, &environment, &files)?;
        process::run(pip().args(["uninstall", "--yes", "tertulia"]))?;
        is_gone("wheel", &[program, environment.join(files[0])])
    }

    fn npm(&self) -> Result<(), DistError> {
        let prefix = self.scratch.join("npm");
        let npm = |word: &str| {
            let mut npm = Command::new("npm");
            npm.args([
                word,
                "--global",
                "--offline",
                "--no-audit",
                "--no-fund",
                "--loglevel=error",
            ]);
            npm.arg("--prefix").arg(&prefix).arg("--cache").arg(self.scratch.join("npm-cache"));
            npm.current_dir(self.scratch).stdout(Stdio::null());
            npm
        };
        let (os, cpu) = self.contents.platform.node;
        let version = &self.contents.about.version;
        let main = self.find(&format!("tertulia-{version}.tgz"))?;
        let platform = self.find(&format!("tertulia-{os}-{cpu}-{version}.tgz"))?;
        process::run(npm("install").arg(main).arg(platform))?;
        let program = prefix.join("bin/tertulia");
        self.check("npm packages", &program, &prefix, &["share/man/man1/tertulia.1"])?;
        process::run(npm("uninstall").args(["tertulia", &format!("tertulia-{os}-{cpu}")]))?;
        is_gone("npm packages", &[program])
    }

    fn deb(&self) -> Result<(), DistError> {
        let root = self.scratch.join("debian");
        let state = root.join("var/lib/dpkg");
        for folder in ["info", "triggers", "updates"] {
            let path = state.join(folder);
            fs::create_dir_all(&path).map_err(|source| DistError::File { path, source })?;
        }
        for file in ["available", "status"] {
            let path = state.join(file);
            fs::write(&path, "").map_err(|source| DistError::File { path, source })?;
        }
        let dpkg = || {
            let mut dpkg = Command::new("dpkg");
            dpkg.arg("--root").arg(&root).args(["--force-not-root", "--force-bad-path"]);
            if !self.contents.platform.is_static() {
                // This root contains no C library, but the machine has one.
                dpkg.arg("--force-depends");
            }
            dpkg.arg("--log=/dev/null").stdout(Stdio::null());
            dpkg
        };
        process::run(dpkg().arg("--install").arg(self.find(".deb")?))?;
        let program = root.join("usr/bin/tertulia");
        let files = [
            "usr/share/man/man1/tertulia.1.gz",
            "usr/share/bash-completion/completions/tertulia",
            "usr/share/doc/tertulia/copyright",
        ];
        self.check("Debian package", &program, &root, &files)?;
        process::run(dpkg().args(["--remove", "tertulia"]))?;
        is_gone("Debian package", &[program, root.join(files[0])])
    }

    /// Returns the file in the folder whose name has this end.
    fn find(&self, end: &str) -> Result<PathBuf, DistError> {
        let failed = |source| DistError::File { path: self.folder.to_owned(), source };
        for entry in fs::read_dir(self.folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_name().to_string_lossy().ends_with(end) {
                return Ok(entry.path());
            }
        }
        Err(failed(std::io::ErrorKind::NotFound.into()))
    }

    /// Checks that the program runs and that the other files are in their places.
    fn check(
        &self,
        package: &'static str,
        program: &Path,
        root: &Path,
        files: &[&str],
    ) -> Result<(), DistError> {
        for file in files {
            if !root.join(file).is_file() {
                return Err(DistError::Faulty { package, problem: format!("{file} is missing") });
            }
        }
        let version = self.capture(program, "--version")?;
        let expected = format!("tertulia {}", self.contents.about.version);
        if !version.starts_with(&expected) {
            let problem = format!("`tertulia --version` prints {version:?}, not {expected:?}");
            return Err(DistError::Faulty { package, problem });
        }
        if self.capture(program, "demo")?.is_empty() {
            let problem = "`tertulia demo` prints nothing".to_owned();
            return Err(DistError::Faulty { package, problem });
        }
        println!("the {package}: installed, {}, `tertulia demo` runs", version.trim());
        Ok(())
    }

    /// Runs the program with this argument in a home folder of its own, and returns its output.
    fn capture(&self, program: &Path, argument: &str) -> Result<String, DistError> {
        let home = self.scratch.join("home");
        let mut command = Command::new(program);
        command.arg(argument).env("HOME", &home).env("TERTULIA_HOME", home.join("sessions"));
        for variable in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
            command.env_remove(variable);
        }
        let output = process::capture(command.stdin(Stdio::null()))?;
        Ok(String::from_utf8_lossy(&output).into_owned())
    }
}

/// Checks that removed files are gone.
fn is_gone(package: &'static str, files: &[PathBuf]) -> Result<(), DistError> {
    match files.iter().find(|file| file.exists()) {
        None => Ok(()),
        Some(file) => {
            let problem = format!("{} is still there after it was removed", file.display());
            Err(DistError::Faulty { package, problem })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_package_leaves_behind_is_named() {
        assert!(is_gone("wheel", &["no/such/file".into()]).is_ok());
        let message = is_gone("wheel", &["Cargo.toml".into()]).unwrap_err().to_string();
        assert!(message.contains("Cargo.toml is still there"), "{message}");
    }
}
