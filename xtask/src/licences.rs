//! `cargo xtask licences`: every crate we build with, tests and fuzz targets included, must come
//! under a licence on the list below.

use crate::fuzz;
use crate::workspace::Workspace;
use cargo_metadata::{CargoOpt, Metadata, MetadataCommand, Package};
use spdx::{Expression, Licensee, ParseMode};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// The licences we build with, and why each is on the list. All let a user of the MIT half of our
/// own licence ship the result; a copyleft licence would bind them to more than we ask.
const ALLOWED: &[(&str, &str)] = &[
    ("MIT", "our own"),
    ("Apache-2.0", "our own"),
    ("Apache-2.0 WITH LLVM-exception", "asks for less"),
    ("BSD-2-Clause", "asks for the notice only"),
    ("BSD-3-Clause", "the notice, and no use of names"),
    (
        "CDLA-Permissive-2.0",
        "data, with the licence beside it; the certificate authorities of ureq",
    ),
    ("ISC", "MIT in fewer words"),
    ("NCSA", "MIT and BSD-3-Clause joined; libFuzzer's"),
    ("Unicode-3.0", "the notice; Unicode's tables"),
    ("Unlicense", "public domain"),
    ("Zlib", "changed sources must say so"),
];

/// A dependency under a licence we do not take, or a list that cannot be checked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LicenceError {
    #[error("the dependencies of {manifest} cannot be listed; is its Cargo.lock up to date?")]
    Metadata {
        manifest: PathBuf,
        #[source]
        source: cargo_metadata::Error,
    },
    #[error("`{licence}` in the list of allowed licences is unknown to SPDX; correct its name")]
    BadList {
        licence: &'static str,
        #[source]
        source: spdx::ParseError,
    },
    #[error(
        "{count} of the dependencies may not be used; replace them, or add their licence and a \
         reason to ALLOWED in xtask/src/licences.rs"
    )]
    Offenders { count: usize },
}

/// Lists the dependencies of the workspace and of `fuzz/`, and judges each once.
pub(crate) fn run(workspace: &Workspace) -> Result<(), LicenceError> {
    let allowed = AllowList::parse(ALLOWED)?;
    let root = workspace.root().join("Cargo.toml");
    let fuzz = fuzz::manifest(workspace);
    let mut judged = BTreeMap::new();
    for manifest in [root, fuzz].iter().filter(|manifest| manifest.exists()) {
        for package in dependencies(load_metadata(manifest)?) {
            let offence = allowed.judge(package.license.as_deref()).err();
            judged.insert((package.name.to_string(), package.version), offence);
        }
    }
    println!("{} packages", judged.len());
    let mut count = 0;
    for ((name, version), offence) in &judged {
        if let Some(offence) = offence {
            println!("{name} {version}: {offence}");
            count += 1;
        }
    }
    if count > 0 { Err(LicenceError::Offenders { count }) } else { Ok(()) }
}

/// Why a package may not be used.
#[derive(Debug, PartialEq, Eq)]
enum Offence {
    NoExpression,
    Unreadable(String),
    NotAllowed(String),
}

impl fmt::Display for Offence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoExpression => formatter.write_str("no licence expression in its manifest"),
            Self::Unreadable(expression) => write!(formatter, "`{expression}` is not SPDX"),
            Self::NotAllowed(expression) => write!(formatter, "`{expression}` is not allowed"),
        }
    }
}

struct AllowList(Vec<Licensee>);

impl AllowList {
    fn parse(list: &[(&'static str, &'static str)]) -> Result<Self, LicenceError> {
        let licensee = |&(licence, _reason)| {
            Licensee::parse(licence).map_err(|source| LicenceError::BadList { licence, source })
        };
        list.iter().map(licensee).collect::<Result<_, _>>().map(Self)
    }

    fn judge(&self, expression: Option<&str>) -> Result<(), Offence> {
        let text = expression.ok_or(Offence::NoExpression)?;
        // Lax, because old manifests write `MIT/Apache-2.0`.
        let Ok(parsed) = Expression::parse_mode(text, ParseMode::LAX) else {
            return Err(Offence::Unreadable(text.to_owned()));
        };
        if parsed.evaluate(|wanted| self.0.iter().any(|allowed| allowed.satisfies(wanted))) {
            return Ok(());
        }
        Err(Offence::NotAllowed(text.to_owned()))
    }
}

fn load_metadata(manifest: &Path) -> Result<Metadata, LicenceError> {
    MetadataCommand::new()
        .manifest_path(manifest)
        .features(CargoOpt::AllFeatures)
        .other_options(["--locked".to_owned()])
        .exec()
        .map_err(|source| LicenceError::Metadata { manifest: manifest.to_owned(), source })
}

/// What comes from elsewhere: packages without a source are our own.
fn dependencies(metadata: Metadata) -> impl Iterator<Item = Package> {
    metadata.packages.into_iter().filter(|package| package.source.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expression: &str) -> Result<(), Offence> {
        AllowList::parse(ALLOWED).unwrap().judge(Some(expression))
    }

    fn not_allowed(expression: &str) -> Result<(), Offence> {
        Err(Offence::NotAllowed(expression.to_owned()))
    }

    #[test]
    fn one_allowed_licence_of_a_choice_is_enough() {
        assert_eq!(check("MIT OR Apache-2.0 OR LGPL-2.1-or-later"), Ok(()));
    }

    #[test]
    fn all_licences_of_a_conjunction_are_needed() {
        assert_eq!(check("(MIT OR Apache-2.0) AND Unicode-3.0"), Ok(()));
        assert_eq!(check("MIT AND GPL-3.0-only"), not_allowed("MIT AND GPL-3.0-only"));
    }

    #[test]
    fn copyleft_is_not_allowed() {
        assert_eq!(check("GPL-3.0-or-later"), not_allowed("GPL-3.0-or-later"));
        assert_eq!(check("AGPL-3.0-only"), not_allowed("AGPL-3.0-only"));
    }

    #[test]
    fn an_exception_is_allowed_only_where_the_list_says_so() {
        assert_eq!(check("Apache-2.0 WITH LLVM-exception"), Ok(()));
        let other = "Apache-2.0 WITH Classpath-exception-2.0";
        assert_eq!(check(other), not_allowed(other));
    }

    #[test]
    fn the_old_slash_is_read_as_a_choice() {
        assert_eq!(check("MIT/Apache-2.0"), Ok(()));
    }

    #[test]
    fn a_package_without_an_expression_is_an_offender() {
        let allowed = AllowList::parse(ALLOWED).unwrap();
        assert_eq!(allowed.judge(None), Err(Offence::NoExpression));
    }

    #[test]
    fn an_expression_that_is_not_spdx_is_an_offender() {
        let text = "whatever you like";
        assert_eq!(check(text), Err(Offence::Unreadable(text.to_owned())));
    }

    #[test]
    fn a_misspelt_licence_in_the_list_is_named() {
        let message = AllowList::parse(&[("MTI", "a slip")]).err().unwrap().to_string();
        assert!(message.contains("`MTI`"), "{message}");
    }

    #[test]
    fn every_licence_in_the_list_has_a_reason() {
        assert!(ALLOWED.iter().all(|(_, reason)| !reason.is_empty()));
    }
}
