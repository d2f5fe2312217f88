//! The package for Debian and Ubuntu: an ar archive of two tar archives. Written without dpkg, so that it can be
//! created on every machine and is always the same; `trial` installs it with dpkg.

use super::DistError;
use super::archive::{File, ar, gzip, tar_gz};
use super::contents::{About, Contents, NAME};

/// The version of the package of one version of the program.
const REVISION: u32 = 1;

const MAINTAINER: &str = "The Tertulia developers <tertulia@users.noreply.github.com>";

/// The name of the file and its bytes, for a platform that has such packages.
pub(super) fn package(contents: &Contents) -> Result<Option<(String, Vec<u8>)>, DistError> {
    let Some(architecture) = contents.platform.debian else { return Ok(None) };
    let version = format!("{}-{REVISION}", contents.about.version);
    let data = files(contents)?;
    let control =
        control(&contents.about, &version, architecture, contents.platform.is_static(), &data);
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", tar_gz(&[File::text("control", control)]).map_err(DistError::Archive)?),
        ("data.tar.gz", tar_gz(&data).map_err(DistError::Archive)?),
    ];
    Ok(Some((format!("{NAME}_{version}_{architecture}.deb"), ar(&members))))
}

/// The files below the root of the system.
fn files(contents: &Contents) -> Result<Vec<File>, DistError> {
    let mut files = vec![File::program("usr/bin/tertulia", contents.program.as_slice())];
    for file in contents.shared() {
        let mut file = file.below("usr");
        if file.path.starts_with("usr/share/man/") {
            file.path.push_str(".gz");
            file.bytes = gzip(&file.bytes).map_err(DistError::Archive)?;
        }
        // Debian keeps this folder for packages; `site-functions` belongs to the administrator.
        file.path = file.path.replace("/zsh/site-functions/", "/zsh/vendor-completions/");
        files.push(file);
    }
    let mut copyright = format!("Source: {}\n", contents.about.homepage).into_bytes();
    for licence in contents.all_licences() {
        copyright.extend(format!("\n== {}\n\n", licence.path).as_bytes());
        copyright.extend(&licence.bytes);
    }
    files.push(File::text("usr/share/doc/tertulia/copyright", copyright));
    Ok(files)
}

fn control(
    about: &About,
    version: &str,
    architecture: &str,
    is_static: bool,
    files: &[File],
) -> String {
    let kibibytes: usize = files.iter().map(|file| file.bytes.len().div_ceil(1024)).sum();
    let depends = if is_static { "" } else { "Depends: libc6, libgcc-s1\n" };
    let About { description, homepage, .. } = about;
    format!(
        "\
Package: {NAME}
Version: {version}
Architecture: {architecture}
Maintainer: {MAINTAINER}
Installed-Size: {kibibytes}
{depends}Section: devel
Priority: optional
Homepage: {homepage}
Description: shared, durable conversation of several coding agents
 {description}.
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_file_describes_the_package() {
        let contents = Contents::example("x86_64-unknown-linux-musl");
        let files = [File::text("a", [0; 1025]), File::text("b", "x")];
        let expected = "\
Package: tertulia
Version: 0.1.0-1
Architecture: amd64
Maintainer: The Tertulia developers <tertulia@users.noreply.github.com>
Installed-Size: 3
Section: devel
Priority: optional
Homepage: https://example.com/tertulia
Description: shared, durable conversation of several coding agents
 Run agents.
";
        assert_eq!(control(&contents.about, "0.1.0-1", "amd64", true, &files), expected);
        let text = control(&contents.about, "0.1.0-1", "amd64", false, &files);
        assert!(text.contains("\nDepends: libc6, libgcc-s1\n"), "{text}");
    }

    #[test]
    fn manual_pages_are_compressed_and_completions_are_where_debian_has_them() {
        let files = files(&Contents::example("x86_64-unknown-linux-musl")).unwrap();
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths[0], "usr/bin/tertulia");
        assert!(paths.contains(&"usr/share/man/man1/tertulia.1.gz"), "{paths:?}");
        assert!(paths.contains(&"usr/share/zsh/vendor-completions/_tertulia"), "{paths:?}");
    }

    #[test]
    fn only_linux_has_such_packages() {
        let (name, _) = package(&Contents::example("aarch64-unknown-linux-musl")).unwrap().unwrap();
        assert_eq!(name, "tertulia_0.1.0-1_arm64.deb");
        assert_eq!(package(&Contents::example("aarch64-apple-darwin")).unwrap(), None);
    }
}
