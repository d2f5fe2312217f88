//! Copilot CLI. It accepts no system text besides its own, so ours precedes the prompt. A tool without permission is
//! denied without a question. Project settings apply only if the person trusts the folder in Copilot itself.

use super::*;

/// Copilot CLI.
pub const COPILOT: &AgentDefinition = &AgentDefinition {
    word: "copilot",
    title: "Copilot CLI",
    fields: CLI_FIELDS,
    reports_cost: false,
    reports_tokens: false,
    settings: ProjectSettings {
        folders: &[
            ".agents",
            ".claude",
            ".copilot",
            ".github/agents",
            ".github/copilot",
            ".github/hooks",
            ".github/skills",
        ],
        files: &[".github/lsp.json", ".github/mcp.json", ".mcp.json"],
        skipped: &[],
    },
    system_text: SystemText::InFront,
    cli: Some(Cli {
        program: "copilot",
        package: "@github/copilot",
        variables: &["COPILOT_*", "GH_HOST"],
        nested_variables: &["COPILOT_AGENT_*", "COPILOT_CLI", "COPILOT_SESSION_*"],
        adapter: Some(("copilot", PromptSyntax::Acp)),
        sign_in: SignInSources {
            variables: &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"],
            files: &[],
            other_services: &["COPILOT_PROVIDER_BASE_URL"],
            // The file also exists when nobody is signed in.
            settings: &[HomeFile::new(("COPILOT_HOME", ""), ".copilot", "config.json")],
            is_in_keychain: true,
            advice: "run `{} login`, or set COPILOT_GITHUB_TOKEN",
        },
        stream: AgentStream::Copilot,
        prepare,
        memory: CliMemory::Resumed { store: Store::File(TRANSCRIPT) },
        takes_context: false,
        correct: None,
    }),
    ..GENERIC
};

fn prepare(spec: &AgentSpec, request: &TurnRequest<'_>) -> Result<Prepared, StartError> {
    let mut turn = Prepared::new(spec, request)?;
    // A variable that the person set could allow everything.
    turn.set_default(spec, "COPILOT_ALLOW_ALL", "false");
    turn.args(["--output-format", "json", "--stream", "on", "--no-color"]);
    turn.args(["--no-auto-update", "--no-ask-user"]);
    // A deny rule overrides everything that the person allowed before.
    turn.args(match spec.permissions {
        Permissions::Read => ["--deny-tool=shell", "--deny-tool=write"].as_slice(),
        Permissions::Edit => &["--allow-tool=write"],
        Permissions::Full => &["--allow-all"],
    });
    turn.model("--model", spec);
    if let Some(head) = request.memory.head() {
        turn.args(["--resume", &*head.session]);
    }
    Ok(turn)
}

const TRANSCRIPT: Transcript =
    Transcript { format: NativeFormat::Copilot, find: find_transcript, is_in_use: |_, _| false };

fn find_transcript(environment: &Environment, session: &str) -> Option<PathBuf> {
    let folder = home_folder(environment, ("COPILOT_HOME", ""), ".copilot")?;
    Some(folder.join("session-state").join(session).join("events.jsonl"))
}
