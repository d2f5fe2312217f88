//! Builds a program and asks cargo for its path, which depends on settings that only cargo knows. `bench` and
//! `dist` use it.

use crate::process::{self, ProcessError};
use cargo_metadata::Message;
use std::path::PathBuf;
use std::process::Command;

/// A program that was not built.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BinaryError {
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error(
        "cargo's messages about the build of `{name}` cannot be read; build it manually to see why"
    )]
    Messages {
        name: &'static str,
        #[source]
        source: std::io::Error,
    },
    #[error("cargo built no program `{name}`; check its manifest")]
    NoBinary { name: &'static str },
}

/// Runs a command of cargo that builds, with its arguments, and finds the program `name`.
pub(crate) fn build(cargo: &mut Command, name: &'static str) -> Result<PathBuf, BinaryError> {
    let messages = process::capture(cargo.arg("--message-format=json-render-diagnostics"))?;
    find(&messages, name)?.ok_or(BinaryError::NoBinary { name })
}

/// `cargo test` also builds the unit tests of a program, under the same name and with the kind `bin`; the profile
/// distinguishes them.
fn find(messages: &[u8], name: &'static str) -> Result<Option<PathBuf>, BinaryError> {
    for message in Message::parse_stream(messages) {
        let message = message.map_err(|source| BinaryError::Messages { name, source })?;
        if let Message::CompilerArtifact(artifact) = message
            && let Some(executable) = artifact.executable
            && artifact.target.is_bin()
            && artifact.target.name == name
            && !artifact.profile.test
        {
            return Ok(Some(executable.into_std_path_buf()));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(name: &str, kind: &str, executable: &str, test: bool) -> String {
        format!(
            r#"{{"reason":"compiler-artifact","package_id":"p","manifest_path":"/clone/crates/cli/Cargo.toml","target":{{"kind":["{kind}"],"crate_types":["bin"],"name":"{name}","src_path":"/s","edition":"2024","doc":false,"doctest":false,"test":false}},"profile":{{"opt_level":"1","debuginfo":0,"debug_assertions":true,"overflow_checks":true,"test":{test}}},"features":[],"filenames":[],"executable":{executable},"fresh":true}}
"#
        )
    }

    #[test]
    fn the_program_is_found_among_the_messages() {
        let messages = [
            artifact("build-script-build", "custom-build", "null", false),
            artifact("other", "bin", "\"/t/debug/other\"", false),
            artifact("tertulia", "bin", "\"/t/debug/deps/tertulia-5a7f\"", true),
            artifact("tertulia", "bin", "\"/t/debug/tertulia\"", false),
        ];
        let found = find(messages.concat().as_bytes(), "tertulia").unwrap();
        assert_eq!(found, Some("/t/debug/tertulia".into()));
        assert_eq!(find(b"", "tertulia").unwrap(), None);
    }
}
