//! How each agent is started: the command line, its environment, and the text for its stdin. What was seen
//! of the programs is in docs/agents.md. Called by [`super::run`] before anything is started.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::{NamedTempFile, TempDir};
use tertulia_dialect::stream::AgentStream;

use super::environment::{Environment, Keys};
use super::program;
use super::start::{CommandLine, StartError};
use super::{claude, codex, gemini};
use crate::{AgentKind, AgentSpec, CommandOutput, TurnRequest};

/// All that a turn needs to be started.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) command: CommandLine,
    pub(super) prompt: String,
    pub(super) stream: AgentStream,
    /// Files of this turn alone; they go with it.
    pub(super) files: Files,
}

/// What is deleted when the turn has ended.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) folder: Option<TempDir>,
    pub(super) profile: Option<NamedTempFile>,
}

/// Prepares a turn.
pub(super) fn prepare(spec: &AgentSpec, request: &TurnRequest<'_>) -> Result<Prepared, StartError> {
    if let Some(model) = spec.model.as_deref().filter(|model| model.starts_with('-')) {
        let message = format!("{model:?} is not the name of a model: it begins with `-`");
        return Err(StartError::NotAllowed { message: message.into() });
    }
    match &spec.kind {
        AgentKind::Claude => claude::prepare(spec, request),
        AgentKind::Codex => codex::prepare(spec, request),
        AgentKind::Gemini => gemini::prepare(spec, request),
        AgentKind::Command(output) => command(spec, request, *output),
        AgentKind::Acp | AgentKind::OpenAi(_) | AgentKind::Script(_) => {
            let message = "this kind of agent is not a program that takes a prompt";
            Err(StartError::NotAllowed { message: message.into() })
        }
    }
}

/// Any program: its arguments are all its own.
fn command(
    spec: &AgentSpec,
    request: &TurnRequest<'_>,
    output: CommandOutput,
) -> Result<Prepared, StartError> {
    let Some(name) = spec.program.as_deref() else {
        let message = "no program is named; set `command` to one that reads a prompt and writes \
                       an answer";
        return Err(StartError::NotAllowed { message: message.into() });
    };
    let command = command_line(spec, name, Keys::None)?;
    let stream = match output {
        CommandOutput::Text => AgentStream::Text,
        CommandOutput::Jsonl => AgentStream::Jsonl,
    };
    let prompt = crate::sent_prompt(spec, request);
    Ok(Prepared { command, prompt, stream, files: Files::default() })
}

/// The beginning that all have: the program, its environment, its folder and the arguments before ours.
pub(super) fn command_line(
    spec: &AgentSpec,
    default_name: &str,
    keys: Keys,
) -> Result<CommandLine, StartError> {
    if !spec.cwd.is_dir() {
        return Err(StartError::NoFolder { cwd: spec.cwd.clone() });
    }
    let environment = Environment::of_agent(keys, &spec.env);
    let name = spec.program.as_deref().unwrap_or(default_name);
    let program = program::resolve(name, &environment, &spec.cwd)?;
    let command = CommandLine::new(program, environment, &spec.cwd).limits(spec.resources);
    Ok(command.args(spec.args.iter().map(|arg| &**arg)))
}

/// Sets a variable of ours, unless the team file says otherwise.
pub(super) fn set_default(
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

/// A folder of the turn's own, which nobody else may read.
pub(super) fn private_folder() -> Result<TempDir, StartError> {
    let owner_only = std::fs::Permissions::from_mode(0o700);
    let made = tempfile::Builder::new().prefix("tertulia-").permissions(owner_only).tempdir();
    made.map_err(|error| StartError::Files { what: "no folder could be made for the turn", error })
}
