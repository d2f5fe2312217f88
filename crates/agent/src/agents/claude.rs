//! Claude Code.
//!
//! The system text goes by a file, of any length. Tools that are not allowed are denied without a
//! question, and the turn goes on.

use tertulia_dialect::stream::AgentStream;

use super::{AgentDefinition, CLI_FIELDS, Cli, GENERIC, HomeFile, ProjectSettings, SignInSources};
use crate::process::StartError;
use crate::process::neutral::Reader;
use crate::process::prepare::{Prepared, command_line, set_default, system_file};
use crate::{AgentSpec, Permissions, TurnRequest};

/// Claude Code.
pub const CLAUDE: &AgentDefinition = &AgentDefinition {
    word: "claude",
    earlier_words: &["claude", "claude-code"],
    title: "Claude Code",
    fields: CLI_FIELDS,
    prompt_format: "claude",
    window_tokens: 200_000,
    settings: ProjectSettings {
        folders: &[".agents", ".claude"],
        // The runtime that its binary contains reads the last five.
        files: &[
            ".mcp.json",
            ".env",
            ".env.development",
            ".env.local",
            ".env.production",
            "bunfig.toml",
        ],
        skipped: &[".claude/worktrees"],
    },
    reader: Reader::Claude,
    cli: Some(Cli {
        program: "claude",
        package: "@anthropic-ai/claude-code",
        variables: &["ANTHROPIC_*", "CLAUDE_*"],
        nested_variables: &[
            "CLAUDE_CODE_ENTRYPOINT",
            "CLAUDE_CODE_EXECPATH",
            "CLAUDE_CODE_SESSION_ID",
            "CLAUDE_CODE_SSE_PORT",
            "CLAUDE_ENV_FILE",
            "CLAUDE_PLUGIN_*",
            "CLAUDE_PROJECT_DIR",
        ],
        adapter: Some(("claude", Reader::Claude)),
        sign_in: SignInSources {
            variables: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
            files: &[HomeFile {
                variable: ("CLAUDE_CONFIG_DIR", ""),
                folder: ".claude",
                name: ".credentials.json",
            }],
            other_services: &[
                "CLAUDE_CODE_USE_BEDROCK",
                "CLAUDE_CODE_USE_VERTEX",
                "CLAUDE_CODE_USE_FOUNDRY",
            ],
            settings: &[],
            is_in_keychain: true,
            advice: "run `{}` and its /login, or set ANTHROPIC_API_KEY",
        },
        stream: AgentStream::Claude,
        prepare,
        correct: None,
    }),
    ..GENERIC
};

fn prepare(spec: &AgentSpec, request: &TurnRequest<'_>) -> Result<Prepared, StartError> {
    let is_root = rustix::process::geteuid().is_root();
    if spec.permissions == Permissions::Full && is_root && !is_sandbox(spec) {
        return Err(StartError::NotAllowed { message: ROOT_REFUSED.into() });
    }
    let mut command = command_line(spec, CLAUDE)?;
    set_default(&mut command, spec, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
    command = command.args(["-p", "--output-format", "stream-json", "--verbose"]);
    command = command.args(["--include-partial-messages"]);
    if let Some(model) = &spec.model {
        command = command.args(["--model", model]);
    }
    let (command, files) = system_file(command, "--append-system-prompt-file", request.system)?;
    let command = command.args(permission_args(spec.permissions));
    let prompt = crate::sent_prompt(spec, request);
    Ok(Prepared { command, prompt, files })
}

/// The error for a member with full permissions that would run as root outside a sandbox.
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
