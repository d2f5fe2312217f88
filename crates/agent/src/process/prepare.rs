//! How an agent that is a program is started: what all have in common. The command line of each is made by its
//! own file in `agents`; what was seen of the programs is in docs/agents.md. Called by those files.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;

use tempfile::{NamedTempFile, TempDir};

use super::environment::Environment;
use super::program;
use super::start::{CommandLine, StartError};
use crate::{AgentSpec, TurnRequest};

#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) command: CommandLine,
    pub(crate) prompt: String,
    /// What is deleted when the turn has ended.
    pub(crate) folder: Option<TempDir>,
    pub(crate) profile: Option<NamedTempFile>,
}

impl Prepared {
    /// What all have in common: the program, its environment, its folder, the arguments before ours, and the
    /// prompt.
    pub(crate) fn new(spec: &AgentSpec, request: &TurnRequest<'_>) -> Result<Self, StartError> {
        if !spec.cwd.is_dir() {
            return Err(StartError::NoFolder { cwd: spec.cwd.clone() });
        }
        let agent = spec.kind.definition();
        let environment = Environment::of_agent(Some(agent), &spec.env);
        let default = agent.cli.as_ref().map_or("", |cli| cli.program);
        let name = spec.program.as_deref().unwrap_or(default);
        let program = program::resolve(name, &environment, &spec.cwd)?;
        let command = CommandLine::new(program, environment, spec);
        let prompt = crate::sent_prompt(spec, request);
        Ok(Self { command, prompt, folder: None, profile: None })
    }

    pub(crate) fn args<A: AsRef<OsStr>>(&mut self, args: impl IntoIterator<Item = A>) {
        self.command.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
    }

    /// Adds the option that names the model, where the team file does.
    pub(crate) fn model(&mut self, option: &str, spec: &AgentSpec) {
        if let Some(model) = &spec.model {
            self.args([option, model]);
        }
    }

    /// Sets a variable of ours, unless the team file says otherwise.
    pub(crate) fn set_default(&mut self, spec: &AgentSpec, name: &str, value: impl AsRef<OsStr>) {
        if !spec.env.contains_key(name) {
            self.command.environment.set(name, value);
        }
    }

    /// Adds the option that names a file with the system text, where there is one. The file goes with the turn.
    pub(crate) fn system_file(
        &mut self,
        option: &str,
        system: Option<&str>,
    ) -> Result<(), StartError> {
        let Some(system) = system.filter(|system| !system.is_empty()) else { return Ok(()) };
        let folder = private_folder()?;
        let path = folder.path().join("system.md");
        let written = std::fs::write(&path, system);
        written.map_err(|error| StartError::Files { what: "the system text", error })?;
        self.args([option.as_ref(), path.as_os_str()]);
        self.folder = Some(folder);
        Ok(())
    }
}

/// The system text in front of the prompt, for programs that take only one text.
pub(crate) fn headed(system: Option<&str>, prompt: &str) -> String {
    match system.filter(|system| !system.is_empty()) {
        Some(system) => format!("{system}\n\n{prompt}"),
        None => prompt.to_owned(),
    }
}

/// A folder of the turn's own, which nobody else may read.
pub(crate) fn private_folder() -> Result<TempDir, StartError> {
    let owner_only = std::fs::Permissions::from_mode(0o700);
    let made = tempfile::Builder::new().prefix("tertulia-").permissions(owner_only).tempdir();
    made.map_err(|error| StartError::Files { what: "no folder could be made for the turn", error })
}
