//! `cargo xtask dist`: builds the program and makes all packages of a release around it, in `dist` in the target folder.
//! Then it installs, runs and removes each of them. `cargo xtask test` does the same with the binary of the tests.

mod archive;
mod build;
mod checksum;
mod contents;
mod deb;
mod notices;
mod npm;
mod platform;
mod system;
mod trial;
mod wheel;
mod zip;

use crate::binary::BinaryError;
use crate::command::UsageError;
use crate::process::ProcessError;
use crate::sbom::SbomError;
use crate::workspace::Workspace;
use contents::Contents;
use std::fs;
use std::path::{Path, PathBuf};

/// The profile of what people install.
const RELEASE: &str = "release";

/// The program to package.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// The target; `None` for that of this machine.
    target: Option<String>,
    profile: String,
}

impl Options {
    /// Returns the options for the binary that `cargo test` built.
    pub(crate) fn of_tests() -> Self {
        Self { target: None, profile: "test".to_owned() }
    }

    /// Reads `[--target T] [--profile P]`.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, UsageError> {
        let mut options = Self { target: None, profile: RELEASE.to_owned() };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value =
                |option| words.next().cloned().ok_or(UsageError::MissingValue { option });
            match word.as_str() {
                "--target" => options.target = Some(value("--target")?),
                "--profile" => options.profile = value("--profile")?,
                _ => {
                    let argument = word.clone();
                    return Err(UsageError::UnexpectedArgument { command: "dist", argument });
                }
            }
        }
        Ok(options)
    }

    /// Returns the folder below the target folder. Packages of other profiles are never among those of a release.
    fn folder(&self) -> String {
        if self.profile == RELEASE { "dist".to_owned() } else { format!("dist-{}", self.profile) }
    }
}

/// An error of making packages, or a package that does not work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DistError {
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error(transparent)]
    Binary(#[from] BinaryError),
    #[error(transparent)]
    Sbom(#[from] SbomError),
    #[error("cargo cannot describe the workspace; run `cargo metadata` to see why")]
    Metadata(#[from] cargo_metadata::Error),
    #[error("there are no packages for the target `{0}`; add it to xtask/src/dist/platform.rs")]
    UnknownTarget(String),
    #[error("`rustc -vV` prints no host; check the toolchain")]
    NoHost,
    #[error(
        "`{name}` is missing or incomplete; on Debian or Ubuntu: sudo apt-get install {package}"
    )]
    NoProgram { name: &'static str, package: &'static str },
    #[error(
        "the program has {bytes} bytes, more than the {limit} that a release may have; \
         see where they go with `cargo bloat --release`, or raise the limit in xtask/src/dist/build.rs"
    )]
    TooLarge { bytes: u64, limit: u64 },
    #[error("there is no package `tertulia` in the workspace")]
    NoPackage,
    #[error("the manifest of `tertulia` lacks `{name}`; set it")]
    NoField { name: &'static str },
    #[error("{path} cannot be read or written; check its permissions and the free disk space")]
    File {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("an archive cannot be written")]
    Archive(#[source] std::io::Error),
    #[error("the {package} does not work: {problem}")]
    Faulty { package: &'static str, problem: String },
}

/// Builds, packages and tries everything.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<(), DistError> {
    let target = match workspace.target() {
        Some(target) => target.to_owned(),
        None => workspace.metadata().no_deps().exec()?.target_directory.into(),
    };
    let folder = target.join(options.folder());
    let scratch = target.join("dist-scratch");
    let platform = build::platform(workspace, options)?;
    make_empty(&scratch)?;
    let program = build::program(workspace, options, platform, &scratch)?;
    make_empty(&folder)?;
    let contents = Contents::gather(workspace, platform, &program, &scratch)?;
    for path in write(&folder, packages(&contents)?)? {
        println!("{}", path.display());
    }
    trial::run(&contents, &folder, &scratch)?;
    remove(&scratch)
}

/// Returns the names of all files of a release for one platform, and their bytes. The checksums come last.
fn packages(contents: &Contents) -> Result<Vec<(String, Vec<u8>)>, DistError> {
    let name = contents.archive_name();
    let mut files = vec![
        (format!("{name}.tar.gz"), contents.archive()?),
        (format!("{name}.cdx.json"), contents.bill.clone().into_bytes()),
        wheel::package(contents)?,
    ];
    files.extend(npm::packages(contents)?);
    files.extend(deb::package(contents)?);
    let sums = checksum::sums(files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())));
    files.push(("SHA256SUMS".to_owned(), sums.into_bytes()));
    Ok(files)
}

fn write(folder: &Path, files: Vec<(String, Vec<u8>)>) -> Result<Vec<PathBuf>, DistError> {
    let mut paths = Vec::new();
    for (name, bytes) in files {
        let path = folder.join(name);
        fs::write(&path, bytes).map_err(|source| DistError::File { path: path.clone(), source })?;
        paths.push(path);
    }
    Ok(paths)
}

fn make_empty(folder: &Path) -> Result<(), DistError> {
    remove(folder)?;
    let failed = |source| DistError::File { path: folder.to_owned(), source };
    fs::create_dir_all(folder).map_err(failed)
}

fn remove(folder: &Path) -> Result<(), DistError> {
    let failed = |source| DistError::File { path: folder.to_owned(), source };
    if folder.exists() { fs::remove_dir_all(folder).map_err(failed) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str) -> Result<Options, UsageError> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_release_is_packaged_unless_a_profile_is_named() {
        let options = check("--target x86_64-unknown-linux-musl").unwrap();
        assert_eq!(options.target.as_deref(), Some("x86_64-unknown-linux-musl"));
        assert_eq!((options.profile.as_str(), options.folder().as_str()), ("release", "dist"));
        assert_eq!(check("--profile test").unwrap(), Options::of_tests());
        assert_eq!(Options::of_tests().folder(), "dist-test");
    }

    #[test]
    fn odd_arguments_are_refused() {
        assert_eq!(check("--target"), Err(UsageError::MissingValue { option: "--target" }));
        assert!(check("--fast").is_err());
    }

    #[test]
    fn every_file_of_a_release_has_a_checksum() {
        let files = packages(&Contents::example("x86_64-unknown-linux-musl")).unwrap();
        let (last, sums) = files.last().unwrap();
        assert_eq!(last, "SHA256SUMS");
        let sums = String::from_utf8(sums.clone()).unwrap();
        let named: Vec<&str> = sums.lines().map(|line| &line[66..]).collect();
        assert_eq!(
            named,
            [
                "tertulia-0.1.0-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64.whl",
                "tertulia-0.1.0-x86_64-unknown-linux-musl.cdx.json",
                "tertulia-0.1.0-x86_64-unknown-linux-musl.tar.gz",
                "tertulia-0.1.0.tgz",
                "tertulia-linux-x64-0.1.0.tgz",
                "tertulia_0.1.0-1_amd64.deb",
            ]
        );
    }

    #[test]
    fn the_same_program_gives_the_same_files() {
        let files = || packages(&Contents::example("aarch64-unknown-linux-musl")).unwrap();
        assert_eq!(files(), files());
    }
}
