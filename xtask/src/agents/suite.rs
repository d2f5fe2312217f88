//! One test program: how it is built, and its path. It is not part of `cargo test`, because there it
//! could access the network.

use super::AgentsError;
use crate::process;
use crate::workspace::Workspace;
use cargo_metadata::Message;
use std::path::PathBuf;

/// A test program of a package.
#[derive(Debug)]
pub(super) struct Suite {
    pub(super) package: &'static str,
    /// The name of the test in its manifest, where it says `test = false`.
    pub(super) test: &'static str,
}

/// A test program that was built.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Built {
    pub(super) program: PathBuf,
    /// The folder of its package, where cargo runs tests.
    pub(super) folder: PathBuf,
}

impl Suite {
    /// Builds the program.
    pub(super) fn build(&self, workspace: &Workspace) -> Result<Built, AgentsError> {
        let Self { package, test } = *self;
        let mut cargo = workspace.cargo(["test", "--locked", "--no-run", "-p", package]);
        cargo.args(["--test", test, "--message-format=json-render-diagnostics"]);
        let messages = process::capture(&mut cargo)?;
        let found = self.find(&messages)?;
        found.ok_or(AgentsError::NoProgram { package, test })
    }

    fn find(&self, messages: &[u8]) -> Result<Option<Built>, AgentsError> {
        let test = self.test;
        let mut built = None;
        for message in Message::parse_stream(messages) {
            let message = message.map_err(|source| AgentsError::Messages { test, source })?;
            let Message::CompilerArtifact(artifact) = message else { continue };
            let (Some(program), Some(folder)) =
                (artifact.executable, artifact.manifest_path.parent())
            else {
                continue;
            };
            if artifact.target.name == test && artifact.target.is_test() {
                built = Some(Built { program: program.into(), folder: folder.into() });
            }
        }
        Ok(built)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(name: &str, kind: &str, executable: &str) -> String {
        format!(
            r#"{{"reason":"compiler-artifact","package_id":"p","manifest_path":"/clone/crates/agent/Cargo.toml","target":{{"kind":["{kind}"],"crate_types":["bin"],"name":"{name}","src_path":"/s","edition":"2024","doc":false,"doctest":false,"test":false}},"profile":{{"opt_level":"1","debuginfo":0,"debug_assertions":true,"overflow_checks":true,"test":true}},"features":[],"filenames":[],"executable":{executable},"fresh":true}}
"#
        )
    }

    #[test]
    fn the_program_of_the_test_is_found_among_the_messages() {
        let messages = [
            artifact("tertulia_agent", "lib", "null"),
            artifact("real", "bin", "\"/t/bin/real\""),
            artifact("real", "test", "\"/t/deps/real-1\""),
        ];
        let suite = Suite { package: "tertulia-agent", test: "real" };
        let built = suite.find(messages.concat().as_bytes()).unwrap();
        let expected =
            Built { program: "/t/deps/real-1".into(), folder: "/clone/crates/agent".into() };
        assert_eq!(built, Some(expected));
        assert_eq!(suite.find(b"").unwrap(), None);
    }
}
