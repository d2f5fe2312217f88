//! opencode. It accepts no system text besides its own, so ours precedes the prompt. `OPENCODE_PERMISSION` sets its
//! permissions and overrides its settings. We set a title, so that it does not ask a model for one.

use std::time::Duration;

use tertulia_dialect::stream::Exit;

use super::*;
use crate::{CancelToken, Drift, process};

/// Time that opencode has to print a session. It takes about a second.
const EXPORT_TIME: Duration = Duration::from_secs(60);
const EXPORT_BYTES_MAX: usize = 512 * 1024 * 1024;

/// opencode.
pub const OPENCODE: &AgentDefinition = &AgentDefinition {
    word: "opencode",
    title: "opencode",
    fields: CLI_FIELDS,
    settings: ProjectSettings {
        folders: &[".agents", ".claude", ".opencode"],
        files: &["opencode.json", "opencode.jsonc"],
        skipped: &[],
    },
    system_text: SystemText::InFront,
    cli: Some(Cli {
        program: "opencode",
        package: "opencode-ai",
        variables: &["OPENCODE_*"],
        nested_variables: &[
            "OPENCODE_CLIENT",
            "OPENCODE_EDITOR_SSE_PORT",
            "OPENCODE_PID",
            "OPENCODE_ROUTE",
            "OPENCODE_SERVER_*",
            "OPENCODE_TERMINAL",
            "OPENCODE_WORKSPACE_ID",
        ],
        adapter: Some(("opencode", PromptSyntax::Acp)),
        sign_in: SignInSources {
            variables: &[
                "OPENCODE_API_KEY",
                "ANTHROPIC_API_KEY",
                "GEMINI_API_KEY",
                "GOOGLE_GENERATIVE_AI_API_KEY",
                "OPENAI_API_KEY",
                "OPENROUTER_API_KEY",
            ],
            files: &[HomeFile::new(DATA, ".local/share/opencode", "auth.json")],
            other_services: &["OPENCODE_CONFIG", "OPENCODE_CONFIG_CONTENT"],
            settings: &[
                HomeFile::new(CONFIG, ".config/opencode", "opencode.json"),
                HomeFile::new(CONFIG, ".config/opencode", "opencode.jsonc"),
            ],
            is_in_keychain: false,
            advice: "run `{} auth login`, or set the key of a provider, such as ANTHROPIC_API_KEY",
        },
        stream: AgentStream::OpenCode,
        prepare,
        memory: CliMemory::Resumed { store: Store::Export(EXPORT) },
        takes_context: false,
        correct: None,
    }),
    ..GENERIC
};

const DATA: (&str, &str) = ("XDG_DATA_HOME", "opencode");
const CONFIG: (&str, &str) = ("XDG_CONFIG_HOME", "opencode");

fn prepare(spec: &AgentSpec, request: &TurnRequest<'_>) -> Result<Prepared, StartError> {
    let mut turn = Prepared::new(spec, request)?;
    turn.set_default(spec, "OPENCODE_DISABLE_AUTOUPDATE", "1");
    turn.set_default(spec, "OPENCODE_PERMISSION", permission_rules(spec.permissions));
    turn.args(["run", "--format", "json"]);
    match request.memory.head() {
        Some(head) => turn.args(["--session", &*head.session]),
        None => turn.args(["--title", "tertulia"]),
    }
    if spec.permissions == Permissions::Full {
        turn.args(["--auto"]);
    }
    turn.model("--model", spec);
    Ok(turn)
}

/// Returns the permission rules. opencode does not offer a denied tool to the model.
fn permission_rules(permissions: Permissions) -> &'static str {
    match permissions {
        Permissions::Read => {
            r#"{"*":"deny","read":"allow","glob":"allow","grep":"allow","list":"allow","todowrite":"allow"}"#
        }
        Permissions::Edit => {
            r#"{"*":"deny","read":"allow","glob":"allow","grep":"allow","list":"allow","todowrite":"allow","edit":"allow"}"#
        }
        Permissions::Full => r#"{"*":"allow"}"#,
    }
}

const EXPORT: Export = Export { print: export, files: database };

/// Returns the files of the database, and of its log of writes.
fn database(environment: &Environment) -> Vec<PathBuf> {
    let folder = home_folder(environment, DATA, ".local/share/opencode");
    let files = |folder: PathBuf| ["opencode.db", "opencode.db-wal"].map(|name| folder.join(name));
    folder.into_iter().flat_map(files).collect()
}

/// Returns a session as opencode prints it. Its database belongs to opencode and may change its form.
fn export(command: &CommandLine, session: &str, cancel: &CancelToken) -> Result<Vec<u8>, Drift> {
    let mut command = command.clone();
    command.environment.set("OPENCODE_DISABLE_AUTOUPDATE", "1");
    command.args.extend(["export", session].map(Into::into));
    let output = process::output_of(&command, EXPORT_TIME, EXPORT_BYTES_MAX, cancel);
    let output = output.map_err(|error| {
        let reason = format!("opencode did not print it: {error}").into();
        Drift::Unreadable { path: None, reason }
    })?;
    match output.exit {
        Some(Exit::Code(0)) => Ok(output.stdout),
        _ if output.stderr.contains("not found") => Err(Drift::Missing { path: None }),
        _ => {
            let last = output.stderr.lines().last().unwrap_or("it did not exit in time");
            let reason = format!("opencode did not print it: {last}").into();
            Err(Drift::Unreadable { path: None, reason })
        }
    }
}
