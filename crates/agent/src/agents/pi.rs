//! pi. The system text is passed as a file, so it may have any length. The list of its tools defines its permissions,
//! because pi never asks. It may read a prompt that begins with `/` as a template of the project.

use super::*;

/// pi.
pub const PI: &AgentDefinition = &AgentDefinition {
    word: "pi",
    title: "pi",
    fields: CLI_FIELDS,
    settings: ProjectSettings { folders: &[".agents", ".pi"], files: &[], skipped: &[] },
    prompt_syntax: PromptSyntax::Commands,
    cli: Some(Cli {
        program: "pi",
        package: "@earendil-works/pi-coding-agent",
        variables: &["PI_*"],
        nested_variables: &[
            "PI_CODING_AGENT",
            "PI_MODEL",
            "PI_PROVIDER",
            "PI_REASONING_LEVEL",
            "PI_SESSION_*",
        ],
        // `pi` has only two letters, which many names contain.
        adapter: None,
        sign_in: SignInSources {
            variables: &[
                "ANTHROPIC_API_KEY",
                "ANTHROPIC_OAUTH_TOKEN",
                "GEMINI_API_KEY",
                "OPENAI_API_KEY",
                "OPENROUTER_API_KEY",
            ],
            files: &[HomeFile::new(HOME, ".pi/agent", "auth.json")],
            other_services: &[],
            settings: &[HomeFile::new(HOME, ".pi/agent", "models.json")],
            is_in_keychain: false,
            advice: "run `{}` and its /login, or set the key of a provider, such as \
                     ANTHROPIC_API_KEY",
        },
        stream: AgentStream::Pi,
        prepare,
        memory: CliMemory::Resumed { store: Store::File(TRANSCRIPT) },
        takes_context: false,
        correct: None,
    }),
    ..GENERIC
};

const HOME: (&str, &str) = ("PI_CODING_AGENT_DIR", "");

fn prepare(spec: &AgentSpec, request: &TurnRequest<'_>) -> Result<Prepared, StartError> {
    let mut turn = Prepared::new(spec, request)?;
    turn.args(["--mode", "json", "--print"]);
    turn.model("--model", spec);
    turn.args(match spec.permissions {
        Permissions::Read => ["--tools", "read,grep,find,ls"].as_slice(),
        Permissions::Edit => &["--tools", "read,grep,find,ls,edit,write"],
        Permissions::Full => &[],
    });
    turn.system_file("--append-system-prompt", request.system)?;
    if let Some(head) = request.memory.head() {
        turn.args(["--session", &*head.session]);
    }
    Ok(turn)
}

const TRANSCRIPT: Transcript =
    Transcript { format: NativeFormat::Pi, find: find_transcript, is_in_use: |_, _| false };

/// Finds the file of a session, in the folder of its project.
fn find_transcript(environment: &Environment, session: &str) -> Option<PathBuf> {
    let end = format!("_{session}.jsonl");
    let folder = folder_in(environment, ("PI_CODING_AGENT_SESSION_DIR", ""));
    let usual = || Some(home_folder(environment, HOME, ".pi/agent")?.join("sessions"));
    let folder = folder.or_else(usual)?;
    let own = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let own = own.map(|file| file.path()).find(|file| file.to_string_lossy().ends_with(&end));
    own.or_else(|| in_any_folder(&folder, |name| name.ends_with(&end)))
}
