//! How an agent that is a program is started: what all have in common. The command line of each is made by its
//! own file in `agents`; what was seen of the programs is in docs/agents.md. Called by those files.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::{NamedTempFile, TempDir};

use super::environment::Environment;
use super::program;
use super::start::{CommandLine, StartError};
use crate::AgentSpec;
use crate::agents::AgentDefinition;

/// All that a turn needs to be started.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) command: CommandLine,
    pub(crate) prompt: String,
    /// Files of this turn alone; they go with it.
    pub(crate) files: Files,
}

/// What is deleted when the turn has ended.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub(crate) folder: Option<TempDir>,
    pub(crate) profile: Option<NamedTempFile>,
}

/// The beginning that all have: the program, its environment, its folder and the arguments before ours.
pub(crate) fn command_line(
    spec: &AgentSpec,
    agent: &'static AgentDefinition,
) -> Result<CommandLine, StartError> {
    if !spec.cwd.is_dir() {
        return Err(StartError::NoFolder { cwd: spec.cwd.clone() });
    }
    let environment = Environment::of_agent(Some(agent), &spec.env);
    let default = agent.cli.as_ref().map_or("", |cli| cli.program);
    let name = spec.program.as_deref().unwrap_or(default);
    let program = program::resolve(name, &environment, &spec.cwd)?;
    let command = CommandLine::new(program, environment, &spec.cwd).limits(spec.resources);
    Ok(command.args(spec.args.iter().map(|arg| &**arg)))
}

/// Sets a variable of ours, unless the team file says otherwise.
pub(crate) fn set_default(
    command: &mut CommandLine,
    spec: &AgentSpec,
    name: &str,
    value: impl AsRef<Path>,
) {
    if !spec.env.contains_key(name) {
        command.environment.set(name, value.as_ref());
    }
}

/// The system text in front of the prompt, for programs that take only one text.
pub(crate) fn headed(system: Option<&str>, prompt: &str) -> String {
    match system.filter(|system| !system.is_empty()) {
        Some(system) => format!("{system}\n\n{prompt}"),
        None => prompt.to_owned(),
    }
}

/// Adds the option that names a file with the system text, where there is one. The file goes with the turn.
pub(crate) fn system_file(
    command: CommandLine,
    option: &str,
    system: Option<&str>,
) -> Result<(CommandLine, Files), StartError> {
    let mut files = Files::default();
    let Some(system) = system.filter(|system| !system.is_empty()) else {
        return Ok((command, files));
    };
    let folder = private_folder()?;
    let path = folder.path().join("system.md");
    let written = std::fs::write(&path, system);
    written.map_err(|error| StartError::Files { what: "the system text", error })?;
    let command = command.args([option.as_ref(), path.as_os_str()]);
    files.folder = Some(folder);
    Ok((command, files))
}

/// A folder of the turn's own, which nobody else may read.
pub(crate) fn private_folder() -> Result<TempDir, StartError> {
    let owner_only = std::fs::Permissions::from_mode(0o700);
    let made = tempfile::Builder::new().prefix("tertulia-").permissions(owner_only).tempdir();
    made.map_err(|error| StartError::Files { what: "no folder could be made for the turn", error })
}
