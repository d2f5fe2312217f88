//! Codex. Team members get their system text in the prompt, under `[SYSTEM]`. A separate `system` becomes developer
//! instructions: a short one as an argument, a longer one in a profile in Codex's own folder.
//! `features.unbounded_connection_retries` is off, because with it Codex retries an unreachable service forever.

use std::io::Write;

use tempfile::NamedTempFile;
use tertulia_dialect::stream::{AgentClient, CodexSession};
use tertulia_session::ARGUMENT_BYTES_MAX;
use tertulia_session::json::Json;

use super::*;
use crate::process::with_system_text;

/// Codex.
pub const CODEX: &AgentDefinition = &AgentDefinition {
    word: "codex",
    earlier_words: &["codex", "openai-codex"],
    title: "Codex",
    fields: CLI_FIELDS,
    prompt_format: "codex",
    window_tokens: 272_000,
    reports_cost: false,
    reports_model: false,
    settings: ProjectSettings { folders: &[".agents", ".codex"], files: &[], skipped: &[] },
    cli: Some(Cli {
        program: "codex",
        package: "@openai/codex",
        variables: &["OPENAI_*", "CODEX_*"],
        nested_variables: &["CODEX_CI", "CODEX_SANDBOX*", "CODEX_THREAD_ID"],
        adapter: Some(("codex", PromptSyntax::Acp)),
        sign_in: SignInSources {
            variables: &["CODEX_API_KEY"],
            files: &[HomeFile::new(HOME, ".codex", "auth.json")],
            other_services: &[],
            settings: &[HomeFile::new(HOME, ".codex", "config.toml")],
            is_in_keychain: false,
            advice: "run `{} login`, or set CODEX_API_KEY",
        },
        stream: AgentStream::Codex,
        prepare,
        memory: CliMemory::Live { start: start_live, store: Store::File(TRANSCRIPT) },
        takes_context: true,
        correct: None,
    }),
    ..GENERIC
};

const HOME: (&str, &str) = ("CODEX_HOME", "");
const RETRIES: &str = "features.unbounded_connection_retries=false";
const INSTRUCTIONS: &str = "developer_instructions=";
const PROFILE_SUFFIX: &str = ".config.toml";

fn prepare(spec: &AgentSpec, request: &TurnRequest<'_>) -> Result<Prepared, StartError> {
    let mut turn = Prepared::new(spec, request)?;
    let sandbox = sandbox(spec.permissions);
    turn.args(["exec", "--json", "--skip-git-repo-check", "--sandbox", sandbox]);
    turn.args(["-c", RETRIES]);
    turn.model("-m", spec);
    if let Some(system) = request.system.filter(|system| !system.is_empty()) {
        let setting = format!("{INSTRUCTIONS}{}", toml_string(system));
        if setting.len() <= ARGUMENT_BYTES_MAX {
            turn.args(["-c", &setting]);
        } else if let Some((name, file)) = write_profile(spec, &turn.command, &setting) {
            turn.args(["-p", &name]);
            turn.profile = Some(file);
        } else {
            turn.prompt = with_system_text(Some(system), request.prompt);
        }
    }
    turn.args(["-"]);
    Ok(turn)
}

fn sandbox(permissions: Permissions) -> &'static str {
    match permissions {
        Permissions::Read => "read-only",
        Permissions::Edit => "workspace-write",
        Permissions::Full => "danger-full-access",
    }
}

/// Starts a process that gets its messages as requests, and opens a thread in it.
fn start_live(job: Job<'_>, head: Option<&NativeHead>) -> Result<LiveAgent, StartError> {
    let Job { spec, request, .. } = job;
    let mut command = Prepared::command(spec)?;
    command.args.extend(["app-server", "-c", RETRIES].map(Into::into));
    let cwd = command.cwd.to_string_lossy().into_owned();
    let session = CodexSession {
        cwd: &cwd,
        model: spec.model.as_deref(),
        sandbox: sandbox(spec.permissions),
        instructions: request.system.filter(|system| !system.is_empty()),
        resumed: head.map(|head| &*head.session),
    };
    let totals = head.map(|head| head.totals).unwrap_or_default();
    LiveAgent::start(command, AgentClient::codex(&session, totals, spec.limits), job)
}

const TRANSCRIPT: Transcript =
    Transcript { format: NativeFormat::Codex, find: find_transcript, is_in_use: |_, _| false };

/// Finds the file of a thread, in the folder of its day.
fn find_transcript(environment: &Environment, thread: &str) -> Option<PathBuf> {
    let sessions = home_folder(environment, HOME, ".codex")?.join("sessions");
    let end = format!("-{thread}.jsonl");
    let folders = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let months = folders(sessions).flat_map(|year| folders(year.path()));
    months.into_iter().find_map(|month| in_any_folder(&month.path(), |name| name.ends_with(&end)))
}

/// Writes the setting as a profile for this turn only. Returns `None` if the folder is not ours, or if the user has
/// chosen a profile.
fn write_profile(
    spec: &AgentSpec,
    command: &CommandLine,
    setting: &str,
) -> Option<(String, NamedTempFile)> {
    let is_profile = |arg: &str| arg == "-p" || arg.starts_with("--profile");
    if spec.args.iter().any(|arg| is_profile(arg)) {
        return None;
    }
    let home = command.environment.get("CODEX_HOME").map(PathBuf::from).or_else(|| {
        command.environment.get("HOME").map(|home| PathBuf::from(home).join(".codex"))
    })?;
    let mut file = tempfile::Builder::new()
        .prefix("tertulia-")
        .suffix(PROFILE_SUFFIX)
        .tempfile_in(home)
        .ok()?;
    file.write_all(setting.as_bytes()).ok()?;
    file.write_all(b"\n").ok()?;
    let name = file.path().file_name()?.to_str()?.strip_suffix(PROFILE_SUFFIX)?.to_owned();
    Some((name, file))
}

/// Returns a text as a TOML string. A JSON string is also a TOML string, except that TOML requires one more character
/// to be escaped.
fn toml_string(text: &str) -> String {
    Json::text(text).as_str().replace('\u{7f}', "\\u007F")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_a_string_of_toml_whatever_is_in_it() {
        assert_eq!(toml_string("\u{8}\u{c}\u{1f}"), r#""\b\f\u001f""#);
        assert_eq!(toml_string("a\"b\\c\nd\te\r\0\u{7f}é"), r#""a\"b\\c\nd\te\r\u0000\u007Fé""#);
    }
}
