//! Claude Code. Called by [`super::prepare`].
//!
//! The system text goes by a file, of any length. Tools that are not allowed are denied without a
//! question, and the turn goes on.

use tertulia_dialect::stream::AgentStream;

use super::environment::Keys;
use super::prepare::{Files, Prepared, command_line, private_folder, set_default};
use super::start::StartError;
use crate::{AgentSpec, Permissions, TurnRequest};

pub(super) fn prepare(spec: &AgentSpec, request: &TurnRequest<'_>) -> Result<Prepared, StartError> {
    let is_root = rustix::process::geteuid().is_root();
    if spec.permissions == Permissions::Full && is_root && !is_sandbox(spec) {
        return Err(StartError::NotAllowed { message: ROOT_REFUSED.into() });
    }
    let mut command = command_line(spec, "claude", Keys::Anthropic)?;
    set_default(&mut command, spec, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
    command = command.args(["-p", "--output-format", "stream-json", "--verbose"]);
    command = command.args(["--include-partial-messages"]);
    if let Some(model) = &spec.model {
        command = command.args(["--model", model]);
    }
    let mut files = Files::default();
    if let Some(system) = request.system.filter(|system| !system.is_empty()) {
        let folder = private_folder()?;
        let path = folder.path().join("system.md");
        let written = std::fs::write(&path, system);
        written.map_err(|error| StartError::Files { what: "the system text", error })?;
        command = command.args(["--append-system-prompt-file".as_ref(), path.as_os_str()]);
        files.folder = Some(folder);
    }
    command = command.args(permission_args(spec.permissions));
    let prompt = crate::sent_prompt(spec, request);
    Ok(Prepared { command, prompt, stream: AgentStream::Claude, files })
}

/// It runs as root only where it is told that the machine is a sandbox.
const ROOT_REFUSED: &str = "Claude Code does not take `permissions = \"full\"` as root; run as another \
                            user, or set IS_SANDBOX = \"1\" in the member's `env` if this machine is \
                            one, or choose `permissions = \"edit\"`";

fn is_sandbox(spec: &AgentSpec) -> bool {
    spec.env.get("IS_SANDBOX").is_some_and(|value| matches!(&**value, "1" | "true"))
}

/// `read` also takes the writing tools away: a person's own settings may allow them for themselves.
fn permission_args(permissions: Permissions) -> &'static [&'static str] {
    match permissions {
        Permissions::Read => {
            &["--disallowedTools", "Edit,Write,NotebookEdit", "--permission-mode", "default"]
        }
        Permissions::Edit => &["--permission-mode", "acceptEdits"],
        Permissions::Full => &["--permission-mode", "bypassPermissions"],
    }
}
