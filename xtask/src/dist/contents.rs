//! The contents of every package: the program, completions, manual pages, licences and a description. The
//! program writes completions and manual pages itself.

use super::DistError;
use super::archive::{File, tar_gz};
use super::platform::Platform;
use crate::process;
use crate::sbom::Crates;
use crate::workspace::Workspace;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The name of the program and of every package.
pub(super) const NAME: &str = "tertulia";

const NOTICES: &str = "LICENSES-OF-DEPENDENCIES";

/// Everything that goes into a package.
pub(super) struct Contents {
    pub(super) platform: &'static Platform,
    pub(super) about: About,
    pub(super) program: Vec<u8>,
    pub(super) completions: Completions,
    /// The manual pages, with the names that `man` expects: `tertulia-run.1`.
    pub(super) manual: Vec<File>,
    /// Our own licences.
    pub(super) licences: Vec<File>,
    /// The licences of the crates that are compiled into the program. They depend on the platform.
    pub(super) notices: File,
    /// The bill of materials.
    pub(super) bill: String,
}

/// The description from the manifest and the README.
pub(super) struct About {
    pub(super) version: String,
    pub(super) description: String,
    pub(super) licence: String,
    pub(super) homepage: String,
    pub(super) readme: String,
}

/// The scripts of the three shells.
pub(super) struct Completions {
    pub(super) bash: Vec<u8>,
    pub(super) zsh: Vec<u8>,
    pub(super) fish: Vec<u8>,
}

impl Contents {
    /// Reads the program and lets it write the rest; `scratch` is an empty folder.
    pub(super) fn gather(
        workspace: &Workspace,
        platform: &'static Platform,
        program: &Path,
        scratch: &Path,
    ) -> Result<Self, DistError> {
        let crates = Crates::find(workspace, platform.target)?;
        let completions =
            |shell| process::capture(Command::new(program).args(["completions", shell]));
        Ok(Self {
            platform,
            about: About::read(workspace)?,
            completions: Completions {
                bash: completions("bash")?,
                zsh: completions("zsh")?,
                fish: completions("fish")?,
            },
            manual: manual(program, &scratch.join("man"))?,
            licences: licences(workspace.root())?,
            notices: File::text(NOTICES, super::notices::text(&crates)?),
            bill: crates.bill(),
            program: read(program)?,
        })
    }

    /// The files in their Unix folders below `/usr` or another prefix.
    pub(super) fn shared(&self) -> Vec<File> {
        let Completions { bash, zsh, fish } = &self.completions;
        let mut files = vec![
            File::text("share/bash-completion/completions/tertulia", bash.as_slice()),
            File::text("share/fish/vendor_completions.d/tertulia.fish", fish.as_slice()),
            File::text("share/zsh/site-functions/_tertulia", zsh.as_slice()),
        ];
        files.extend(self.manual.iter().cloned().map(|page| page.below("share/man/man1")));
        files
    }

    /// Returns all licences that must accompany the program.
    pub(super) fn all_licences(&self) -> impl Iterator<Item = File> {
        self.licences.iter().chain([&self.notices]).cloned()
    }

    /// The name of the archive without its ending, and of the folder in it.
    pub(super) fn archive_name(&self) -> String {
        format!("{NAME}-{}-{}", self.about.version, self.platform.target)
    }

    /// The archive for manual installation and for `cargo binstall`.
    pub(super) fn archive(&self) -> Result<Vec<u8>, DistError> {
        let Completions { bash, zsh, fish } = &self.completions;
        let mut files = vec![
            File::program(NAME, self.program.as_slice()),
            File::text("README.md", self.about.readme.as_str()),
            File::text("completions/tertulia.bash", bash.as_slice()),
            File::text("completions/_tertulia", zsh.as_slice()),
            File::text("completions/tertulia.fish", fish.as_slice()),
        ];
        files.extend(self.manual.iter().cloned().map(|page| page.below("man/man1")));
        files.extend(self.all_licences());
        let folder = self.archive_name();
        let files: Vec<File> = files.into_iter().map(|file| file.below(&folder)).collect();
        tar_gz(&files).map_err(DistError::Archive)
    }
}

impl About {
    fn read(workspace: &Workspace) -> Result<Self, DistError> {
        let metadata = workspace.metadata().no_deps().exec()?;
        let package = metadata.packages.iter().find(|package| package.name.as_str() == NAME);
        let package = package.ok_or(DistError::NoPackage)?;
        let field = |name: &'static str, value: &Option<String>| {
            value.clone().ok_or(DistError::NoField { name })
        };
        let readme = package.readme().ok_or(DistError::NoField { name: "readme" })?;
        Ok(Self {
            version: package.version.to_string(),
            description: field("description", &package.description)?,
            licence: field("license", &package.license)?,
            homepage: field("homepage", &package.homepage)?,
            readme: String::from_utf8_lossy(&read(readme.as_std_path())?).into_owned(),
        })
    }
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>, DistError> {
    fs::read(path).map_err(|source| DistError::File { path: path.to_owned(), source })
}

/// The pages that the program writes, sorted by name.
fn manual(program: &Path, folder: &Path) -> Result<Vec<File>, DistError> {
    process::run(Command::new(program).args(["--quiet", "man", "--out"]).arg(folder))?;
    let failed = |source| DistError::File { path: folder.to_owned(), source };
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        pages.push(File::text(entry.file_name().display().to_string(), read(&entry.path())?));
    }
    pages.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(pages)
}

fn licences(root: &Path) -> Result<Vec<File>, DistError> {
    let read = |name| Ok(File::text(name, read(&root.join(name))?));
    ["LICENSE-APACHE", "LICENSE-MIT"].into_iter().map(read).collect()
}

#[cfg(test)]
impl Contents {
    /// Small contents for the tests of the packages.
    pub(super) fn example(target: &str) -> Self {
        let text = |text: &str| text.as_bytes().to_vec();
        Self {
            platform: Platform::find(target).unwrap(),
            about: About {
                version: "0.1.0".to_owned(),
                description: "Run agents".to_owned(),
                licence: "MIT OR Apache-2.0".to_owned(),
                homepage: "https://example.com/tertulia".to_owned(),
                readme: "# tertulia\n".to_owned(),
            },
            program: text("program"),
            completions: Completions { bash: text("bash"), zsh: text("zsh"), fish: text("fish") },
            manual: vec![File::text("tertulia-run.1", "run"), File::text("tertulia.1", "page")],
            licences: vec![File::text("LICENSE-MIT", "mit")],
            notices: File::text(NOTICES, format!("crates for {target}")),
            bill: "{}\n".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completions_and_pages_are_where_shells_and_man_look() {
        let contents = Contents::example("x86_64-unknown-linux-musl");
        let paths: Vec<String> = contents.shared().into_iter().map(|file| file.path).collect();
        assert_eq!(
            paths,
            [
                "share/bash-completion/completions/tertulia",
                "share/fish/vendor_completions.d/tertulia.fish",
                "share/zsh/site-functions/_tertulia",
                "share/man/man1/tertulia-run.1",
                "share/man/man1/tertulia.1",
            ]
        );
    }

    #[test]
    fn the_archive_is_where_cargo_binstall_looks() {
        let manifest = fs::read_to_string("../crates/cli/Cargo.toml").unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        let binstall = &manifest["package"]["metadata"]["binstall"];
        let contents = Contents::example("x86_64-unknown-linux-musl");
        let fill = |key: &str| {
            let template = binstall[key].as_str().unwrap();
            let fields = [
                ("{ name }", NAME),
                ("{ version }", "0.1.0"),
                ("{ target }", contents.platform.target),
                ("{ bin }", NAME),
                ("{ binary-ext }", ""),
            ];
            fields
                .iter()
                .fold(template.to_owned(), |text, (field, value)| text.replace(field, value))
        };
        let name = contents.archive_name();
        assert!(fill("pkg-url").ends_with(&format!("/{name}.tar.gz")));
        assert_eq!(fill("bin-dir"), format!("{name}/{NAME}"));
    }
}
