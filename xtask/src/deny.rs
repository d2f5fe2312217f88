//! `cargo xtask deny`: every crate we build with, tests and fuzz targets included, against `deny.toml`: its
//! licence, its source and known vulnerabilities. cargo-deny does the work; it is installed once.

use crate::command::UsageError;
use crate::fuzz;
use crate::process::{self, ProcessError};
use crate::tool::{Tool, ToolError};
use crate::workspace::Workspace;

const CARGO_DENY: Tool = Tool { name: "cargo-deny", version: "0.20.2" };

/// Whether the database of advisories is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advisories {
    Required,
    /// If they cannot be fetched, prints a note and checks the rest.
    IfReachable,
}

impl Advisories {
    /// Reads `[--advisories]`.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, UsageError> {
        match arguments {
            [] => Ok(Self::IfReachable),
            [only] if only == "--advisories" => Ok(Self::Required),
            [argument, ..] => {
                Err(UsageError::UnexpectedArgument { command: "deny", argument: argument.clone() })
            }
        }
    }
}

/// A dependency that may not be used, or a check that could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DenyError {
    #[error(transparent)]
    Tool(#[from] ToolError),
    #[error("replace the dependencies named above, or allow them in deny.toml with a reason")]
    Refused(#[source] ProcessError),
    #[error(
        "the advisories cannot be fetched; run this with access to https://github.com, or without \
         --advisories"
    )]
    NoAdvisories(#[source] ProcessError),
}

/// Checks the dependencies of the workspace and of `fuzz/`.
pub(crate) fn run(workspace: &Workspace, advisories: Advisories) -> Result<(), DenyError> {
    let program = CARGO_DENY.find_or_install(workspace)?;
    let mut checks = vec!["licenses", "bans", "sources"];
    let fetched = process::capture(workspace.program(&program).args([
        "--locked",
        "--config",
        "deny.toml",
        "fetch",
        "db",
    ]));
    match (fetched, advisories) {
        (Ok(_), _) => checks.push("advisories"),
        (Err(source), Advisories::Required) => return Err(DenyError::NoAdvisories(source)),
        (Err(_), Advisories::IfReachable) => {
            println!(
                "advisories NOT checked: their database cannot be fetched from here; \
                 .github/workflows/deny.yml checks them"
            );
        }
    }
    let manifests = [workspace.root().join("Cargo.toml"), fuzz::manifest(workspace)];
    for manifest in manifests.iter().filter(|manifest| manifest.exists()) {
        let mut command = workspace.program(&program);
        command.args(["--locked", "--config", "deny.toml", "--manifest-path"]).arg(manifest);
        process::run(command.arg("check").args(&checks)).map_err(DenyError::Refused)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advisories_are_required_only_where_it_is_asked_for() {
        let parse = |line: &str| {
            Advisories::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        };
        assert_eq!(parse(""), Ok(Advisories::IfReachable));
        assert_eq!(parse("--advisories"), Ok(Advisories::Required));
        assert!(parse("--advisory").is_err());
    }

    #[test]
    fn copyleft_and_unknown_sources_are_refused() {
        let text = std::fs::read_to_string("../deny.toml").unwrap();
        let deny: toml::Table = text.parse().unwrap();
        let allowed = deny["licenses"]["allow"].as_array().unwrap();
        let names: Vec<&str> = allowed.iter().map(|name| name.as_str().unwrap()).collect();
        assert!(names.contains(&"MIT") && names.iter().all(|name| !name.contains("GPL")));
        assert_eq!(deny["sources"]["unknown-registry"].as_str(), Some("deny"));
        assert_eq!(deny["sources"]["unknown-git"].as_str(), Some("deny"));
    }
}
