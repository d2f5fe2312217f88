//! Gemini CLI. Called by [`super::prepare`].
//!
//! It takes no second system text beside the person's own: `GEMINI_SYSTEM_MD` replaces its prompt, and
//! `GEMINI.md` belongs to the person or the project. So ours stands in front of the prompt. After a failure
//! it writes the whole conversation into `TMPDIR`: it gets one of its own, which goes with the turn.

use tertulia_dialect::stream::AgentStream;

use super::environment::Keys;
use super::prepare::{Files, Prepared, command_line, private_folder, set_default};
use super::start::StartError;
use crate::{AgentSpec, Permissions, TurnRequest};

pub(super) fn prepare(spec: &AgentSpec, request: &TurnRequest<'_>) -> Result<Prepared, StartError> {
    let mut command = command_line(spec, "gemini", Keys::Google)?;
    let folder = private_folder()?;
    // Its second process would not hear a signal that is sent to the first.
    set_default(&mut command, spec, "GEMINI_CLI_NO_RELAUNCH", "true");
    set_default(&mut command, spec, "TMPDIR", folder.path());
    let mode = match spec.permissions {
        Permissions::Read => "default",
        Permissions::Edit => "auto_edit",
        Permissions::Full => "yolo",
    };
    command = command.args(["--skip-trust", "-o", "stream-json", "--approval-mode", mode]);
    if let Some(model) = &spec.model {
        command = command.args(["-m", model]);
    }
    let prompt = crate::sent_prompt(spec, request);
    let files = Files { folder: Some(folder), profile: None };
    Ok(Prepared { command, prompt, stream: AgentStream::Gemini, files })
}
