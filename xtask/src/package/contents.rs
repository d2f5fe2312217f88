//! Checks the contents of a package that cargo made: licences, README, schemas, and every file that its sources include.
//! Called by `package`.

use super::PackageError;
use cargo_metadata::{Metadata, Package};
use flate2::read::GzDecoder;
use proc_macro2::{Group, TokenStream, TokenTree};
use std::collections::BTreeMap;
use std::fs::{DirEntry, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

/// Files that every package has.
const ALWAYS: [&str; 4] = ["Cargo.toml", "README.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// The macros that read a file when a crate is compiled.
const INCLUDES: [&str; 3] = ["include", "include_bytes", "include_str"];

/// The files of a package: paths with forward slashes, relative to its root.
type Files = BTreeMap<String, Vec<u8>>;

/// Reads the package and returns its problems.
pub(super) fn problems(
    metadata: &Metadata,
    package: &Package,
) -> Result<Vec<String>, PackageError> {
    let folder = format!("{}-{}", package.name, package.version);
    let path = metadata.target_directory.join("package").join(format!("{folder}.crate"));
    let files = File::open(&path).and_then(|file| unpack(file, &folder));
    let files = files.map_err(|source| PackageError::Read { path: path.into(), source })?;
    let schemas = schemas(package).map_err(|(path, source)| PackageError::Read { path, source })?;
    let always = ALWAYS.iter().map(|name| (*name).to_owned());
    let missing = missing_files(&files, always.chain(schemas));
    let missing = missing.into_iter().chain(missing_includes(&files));
    Ok(missing.map(|problem| format!("{}: {problem}", package.name)).collect())
}

fn unpack(package: impl Read, folder: &str) -> io::Result<Files> {
    let mut archive = tar::Archive::new(GzDecoder::new(package));
    let mut files = Files::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let path = path.strip_prefix(folder).map_err(io::Error::other)?;
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        files.insert(path.display().to_string(), bytes);
    }
    Ok(files)
}

/// The schemas beside the manifest, which readers of the package need.
fn schemas(package: &Package) -> Result<Vec<String>, (PathBuf, io::Error)> {
    let folder = package.manifest_path.with_file_name("schema").into_std_path_buf();
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let failed = |source| (folder.clone(), source);
    let entries = std::fs::read_dir(&folder).map_err(failed)?;
    let name = |entry: io::Result<DirEntry>| Ok(format!("schema/{}", entry?.file_name().display()));
    entries.map(name).collect::<io::Result<_>>().map_err(failed)
}

fn missing_files(files: &Files, wanted: impl IntoIterator<Item = String>) -> Vec<String> {
    let missing = wanted.into_iter().filter(|name| !files.contains_key(name));
    missing
        .map(|name| format!("{name} is not in the package; see `include` in the root Cargo.toml"))
        .collect()
}

/// The files that sources include and the package lacks.
fn missing_includes(files: &Files) -> Vec<String> {
    let mut missing = Vec::new();
    for (path, bytes) in files.iter().filter(|(path, _)| path.ends_with(".rs")) {
        // Other steps report a file that is not Rust.
        let Ok(tokens) = String::from_utf8_lossy(bytes).parse() else { continue };
        let mut includes = Vec::new();
        read(tokens, &mut includes);
        for include in includes {
            let place = include.place(path);
            if !place.as_ref().is_some_and(|place| files.contains_key(place)) {
                let name = &include.path;
                missing.push(format!(
                    "{path} includes {name}, which is not in the package; move the file into it"
                ));
            }
        }
    }
    missing
}

/// A file that a source includes.
#[derive(Debug, PartialEq, Eq)]
struct Include {
    path: String,
    /// Whether the path begins at the root of the package and not beside the source.
    is_from_root: bool,
}

impl Include {
    /// Returns the path of the file in the package; `None` if it is outside.
    fn place(&self, source: &str) -> Option<String> {
        let folder = if self.is_from_root { None } else { Path::new(source).parent() };
        let mut parts: Vec<String> = Vec::new();
        let whole = folder.unwrap_or(Path::new("")).join(self.path.trim_start_matches('/'));
        for part in whole.components() {
            match part {
                Component::ParentDir => drop(parts.pop()?),
                Component::Normal(name) => parts.push(name.display().to_string()),
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
        Some(parts.join("/"))
    }
}

/// Collects the includes, also those inside of other macros and attributes.
fn read(tokens: TokenStream, includes: &mut Vec<Include>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (index, token) in tokens.iter().enumerate() {
        if let TokenTree::Group(group) = token {
            read(group.stream(), includes);
        }
        if let [TokenTree::Ident(name), TokenTree::Punct(mark), TokenTree::Group(group)] =
            &tokens[index..tokens.len().min(index + 3)]
            && INCLUDES.iter().any(|include| name == include)
            && mark.as_char() == '!'
        {
            includes.extend(argument(group));
        }
    }
}

/// The file that the macro names; `None` for a file that the build script wrote.
fn argument(group: &Group) -> Option<Include> {
    let mut strings = Vec::new();
    collect_strings(group.stream(), &mut strings);
    match strings.as_slice() {
        [path] => Some(Include { path: path.clone(), is_from_root: false }),
        [root, path] if root == "CARGO_MANIFEST_DIR" => {
            Some(Include { path: path.clone(), is_from_root: true })
        }
        _ => None,
    }
}

fn collect_strings(tokens: TokenStream, strings: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => collect_strings(group.stream(), strings),
            TokenTree::Literal(literal) => {
                strings.push(literal.to_string().trim_matches('"').to_owned())
            }
            TokenTree::Ident(_) | TokenTree::Punct(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(files: &[(&str, &str)]) -> Files {
        files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
    }

    fn check(source: &str) -> Vec<String> {
        let files = [("src/file/read.rs", source), ("schema/team.json", "{}"), ("src/lib.rs", "")];
        missing_includes(&self::files(&files))
    }

    #[test]
    fn a_file_inside_of_the_package_may_be_included() {
        assert!(check(r#"const S: &str = include_str!("../../schema/team.json");"#).is_empty());
        assert!(check(r#"#![doc = include_str!("../lib.rs")]"#).is_empty());
        let from_root =
            r#"f(include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/schema/team.json")))"#;
        assert!(check(from_root).is_empty());
    }

    #[test]
    fn a_file_outside_of_the_package_is_found() {
        let found = check(r#"mod a { fn f() { g(include_str!("../../../docs/a.md")); } }"#);
        assert!(found[0].contains("src/file/read.rs includes ../../../docs/a.md"), "{found:?}");
        assert_eq!(check(r#"static A: &[u8] = include_bytes!("../../tests/a");"#).len(), 1);
    }

    #[test]
    fn what_a_build_script_writes_is_not_looked_for() {
        assert!(check(r#"include!(concat!(env!("OUT_DIR"), "/tables.rs"));"#).is_empty());
    }

    #[test]
    fn licences_and_a_readme_belong_in_every_package() {
        let files = files(&[("Cargo.toml", ""), ("LICENSE-MIT", "")]);
        let found = missing_files(&files, ALWAYS.map(str::to_owned));
        let expected = ["README.md is not", "LICENSE-APACHE is not"];
        assert!(found.iter().zip(expected).all(|(found, start)| found.starts_with(start)));
        assert_eq!(found.len(), 2);
    }
}
