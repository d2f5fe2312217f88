//! Claude Code. The system text is passed as a file, so it may have any length. Tools that are not
//! allowed are denied without a question, and the turn continues.

use rustix::process::Pid;
use tertulia_dialect::stream::AgentClient;

use super::*;
use crate::process::{read_prefix, started_after};

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
            files: &[HomeFile::new(CONFIG, ".claude", ".credentials.json")],
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
        memory: CliMemory::Live { start: start_live, store: Store::File(TRANSCRIPT) },
        takes_context: false,
        correct: None,
    }),
    ..GENERIC
};

const CONFIG: (&str, &str) = ("CLAUDE_CONFIG_DIR", "");

fn prepare(spec: &AgentSpec, request: &TurnRequest<'_>) -> Result<Prepared, StartError> {
    let mut turn = Prepared::new(spec, request)?;
    turn.args(["-p"]);
    add_options(&mut turn, spec, request)?;
    Ok(turn)
}

/// Starts a process that gets its messages as lines. Its own record of the system text is used when it continues a
/// session; another text is another setting, with which no session is continued.
fn start_live(job: Job<'_>, head: Option<&NativeHead>) -> Result<LiveAgent, StartError> {
    let Job { spec, request, .. } = job;
    let mut turn = Prepared::new(spec, request)?;
    // The process would otherwise begin a turn by itself when a background command ends.
    turn.set_default(spec, "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1");
    turn.args(["-p", "--input-format", "stream-json"]);
    add_options(&mut turn, spec, request)?;
    if let Some(head) = head {
        turn.args(["--resume", &*head.session]);
    }
    let totals = head.map(|head| head.totals).unwrap_or_default();
    let client = AgentClient::claude(head.map(|head| &*head.session), totals, spec.limits);
    let mut agent = LiveAgent::start(turn.command, client, job)?;
    agent.folder = turn.folder;
    Ok(agent)
}

const TRANSCRIPT: Transcript =
    Transcript { format: NativeFormat::Claude, find: find_transcript, is_in_use };

/// Finds the file of a session. It may be in the folder of any project.
fn find_transcript(environment: &Environment, session: &str) -> Option<PathBuf> {
    let folder = home_folder(environment, CONFIG, ".claude")?;
    let name = format!("{session}.jsonl");
    in_any_folder(&folder.join("projects"), |file| file == name)
}

/// Returns whether a living process has recorded that it uses the session. Claude Code does not prevent that two
/// processes continue one session. A process that is newer than the record has only got the id of the one that wrote it.
fn is_in_use(environment: &Environment, session: &str) -> bool {
    const BYTES_MAX: u64 = 64 * 1024;
    let Some(folder) = home_folder(environment, CONFIG, ".claude") else { return false };
    let files = std::fs::read_dir(folder.join("sessions")).into_iter().flatten().flatten();
    files
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .any(|path| {
            let record = read_prefix(&path, BYTES_MAX).unwrap_or_default();
            let record: serde_json::Value = serde_json::from_slice(&record).unwrap_or_default();
            let id = record.get("pid").and_then(serde_json::Value::as_i64);
            let pid = id.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
            let is_ours =
                record.get("sessionId").and_then(serde_json::Value::as_str) == Some(session);
            let written = || path.metadata().and_then(|record| record.modified());
            let is_writer = |pid: Pid| {
                let id = pid.as_raw_pid().unsigned_abs();
                rustix::process::test_kill_process(pid).is_ok()
                    && !written().is_ok_and(|written| started_after(id, written))
            };
            is_ours && pid.is_some_and(is_writer)
        })
}

fn add_options(
    turn: &mut Prepared,
    spec: &AgentSpec,
    request: &TurnRequest<'_>,
) -> Result<(), StartError> {
    let is_root = rustix::process::geteuid().is_root();
    let is_sandbox = matches!(spec.env.get("IS_SANDBOX").map(|value| &**value), Some("1" | "true"));
    if spec.permissions == Permissions::Full && is_root && !is_sandbox {
        return Err(StartError::NotAllowed { message: ROOT_REFUSED.into() });
    }
    turn.set_default(spec, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
    turn.args(["--output-format", "stream-json", "--verbose", "--include-partial-messages"]);
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
    Ok(())
}

const ROOT_REFUSED: &str = "Claude Code does not accept `permissions = \"full\"` as root; run as \
    another user, choose `permissions = \"edit\"`, or, if this machine is a sandbox, set \
    IS_SANDBOX = \"1\" in the member's `env`";
