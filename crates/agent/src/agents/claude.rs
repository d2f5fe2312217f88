//! Claude Code. The system text is passed as a file, so it may have any length. Tools that are not
//! allowed are denied without a question, and the turn continues.

use super::*;

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
        // The runtime inside the program's binary reads the last five files.
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
    prompt_syntax: PromptSyntax::Claude,
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
        adapter: Some(("claude", PromptSyntax::Claude)),
        sign_in: SignInSources {
            variables: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
            files: &[HomeFile::new(("CLAUDE_CONFIG_DIR", ""), ".claude", ".credentials.json")],
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
    let is_sandbox = matches!(spec.env.get("IS_SANDBOX").map(|value| &**value), Some("1" | "true"));
    if spec.permissions == Permissions::Full && is_root && !is_sandbox {
        return Err(StartError::NotAllowed { message: ROOT_REFUSED.into() });
    }
    let mut turn = Prepared::new(spec, request)?;
    turn.set_default(spec, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
    turn.args(["-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages"]);
    turn.model("--model", spec);
    turn.system_file("--append-system-prompt-file", request.system)?;
    // `read` also removes the writing tools: the person's own settings may allow them.
    turn.args(match spec.permissions {
        Permissions::Read => {
            ["--disallowedTools", "Edit,Write,NotebookEdit", "--permission-mode", "default"]
                .as_slice()
        }
        Permissions::Edit => &["--permission-mode", "acceptEdits"],
        Permissions::Full => &["--permission-mode", "bypassPermissions"],
    });
    Ok(turn)
}

const ROOT_REFUSED: &str = "Claude Code does not accept `permissions = \"full\"` as root; run as \
    another user, choose `permissions = \"edit\"`, or, if this machine is a sandbox, set \
    IS_SANDBOX = \"1\" in the member's `env`";
