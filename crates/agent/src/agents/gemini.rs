//! Gemini CLI.
//!
//! It takes no second system text beside the person's own: `GEMINI_SYSTEM_MD` replaces its prompt, and
//! `GEMINI.md` belongs to the person or the project. So ours stands in front of the prompt. After a failure
//! it writes the whole conversation into `TMPDIR`: it gets one of its own, which goes with the turn.

use tertulia_dialect::stream::AgentStream;

use super::{
    AgentDefinition, CLI_FIELDS, Cli, GENERIC, HomeFile, ProjectSettings, SignInSources,
    SystemText, gemini_transcript,
};
use crate::process::StartError;
use crate::process::neutral::Reader;
use crate::process::prepare::{Files, Prepared, command_line, private_folder, set_default};
use crate::{AgentSpec, Permissions, TurnRequest};

/// Gemini CLI.
pub const GEMINI: &AgentDefinition = &AgentDefinition {
    word: "gemini",
    earlier_words: &["gemini", "google-gemini"],
    title: "Gemini CLI",
    fields: CLI_FIELDS,
    prompt_format: "gemini",
    window_tokens: 1_000_000,
    reports_cost: false,
    settings: ProjectSettings { folders: &[".agents", ".gemini"], files: &[".env"], skipped: &[] },
    reader: Reader::Gemini,
    system_text: SystemText::InFront,
    cli: Some(Cli {
        program: "gemini",
        package: "@google/gemini-cli",
        variables: &["GEMINI_*", "GOOGLE_*"],
        nested_variables: &["GEMINI_CLI", "GEMINI_CLI_IDE_*", "GEMINI_CLI_SESSION_ID"],
        adapter: Some(("gemini", Reader::Acp)),
        sign_in: SignInSources {
            variables: &["GEMINI_API_KEY"],
            files: &[HomeFile {
                variable: ("GEMINI_CLI_HOME", ".gemini"),
                folder: ".gemini",
                name: "oauth_creds.json",
            }],
            other_services: &[
                "GOOGLE_API_KEY",
                "GOOGLE_GENAI_USE_VERTEXAI",
                "GOOGLE_GENAI_USE_GCA",
            ],
            settings: &[],
            is_in_keychain: false,
            advice: "run `{}` and sign in, or set GEMINI_API_KEY",
        },
        stream: AgentStream::Gemini,
        prepare,
        correct: Some(gemini_transcript::correct),
    }),
    ..GENERIC
};

fn prepare(spec: &AgentSpec, request: &TurnRequest<'_>) -> Result<Prepared, StartError> {
    let mut command = command_line(spec, GEMINI)?;
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
    Ok(Prepared { command, prompt, files })
}
