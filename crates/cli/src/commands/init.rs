//! `tertulia init`: creates a team file with the agents found on this machine, lists their roles, and suggests a
//! first command. Replaces an existing file only with `--force`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tertulia_store::{NewFile, NewFileError, Readers};
use tertulia_team::agents::{AGENTS, AgentDefinition};
use tertulia_team::file::{self, ContentHash, FILE_NAME, FoundAgent, Origin, TeamFile};
use tertulia_team::{AuthState, Probe, probe};

use super::sessions::print_note;
use crate::Streams;
use crate::args::InitArgs;
use crate::error::{CliError, Result};
use crate::load_team::{self, working_folder};
use crate::suggested_flags::as_word;

const NO_AGENT: &str = "No coding agent was found. Install Claude Code, Codex, Gemini CLI, opencode, Copilot CLI or pi, then run \
                        `tertulia init --force`; or add a local model (agent = \"openai\").";

pub(crate) fn run(args: &InitArgs, streams: &mut Streams<'_>) -> Result {
    let path = working_folder()?.join(FILE_NAME);
    if !args.print && !args.force && path.symlink_metadata().is_ok() {
        return Err(file_exists(path));
    }
    let mut found = Vec::new();
    for agent in AGENTS {
        let Some(probe) = probe(agent, None) else { continue };
        print_note(streams, &about(agent, &probe));
        if probe.path.is_some() {
            let version = probe.version.map(Into::into);
            found.push(FoundAgent { agent, command: Vec::new(), version });
        }
    }
    let text = file::write_new(&found, &user());
    if args.print {
        return streams.stdout.write_all(text.as_bytes()).map_err(CliError::output);
    }
    write(&path, &text, args.force)?;
    print_note(streams, &format!("created {}", path.display()));
    tell_roles(&text, streams);
    // The file is trusted, because the person's own command wrote it. If the trust cannot be stored, the first run
    // asks.
    tell_trust(&path, &text, streams);
    if found.is_empty() {
        print_note(streams, NO_AGENT);
        print_note(streams, "Next: `tertulia demo` shows how a team works");
        return Ok(());
    }
    let task = as_word(&file::first_task(&found));
    print_note(streams, &format!("Next: `tertulia run {task}`, or `tertulia chat`"));
    Ok(())
}

/// Trusts the new file, unless its agents read settings of the project. In that case, the first run asks about both.
fn tell_trust(path: &Path, text: &str, streams: &mut Streams<'_>) {
    let opened = file::open(path).map_err(CliError::from);
    let settings =
        opened.and_then(|opened| load_team::untrusted_settings(Origin::Project, &opened));
    let trusted = match settings {
        Ok(Some(untrusted)) => {
            let names = untrusted.settings.names(&untrusted.folder);
            let first = names.first().map(String::as_str).unwrap_or_default();
            let more = if names.len() > 1 { " and more" } else { "" };
            let line = format!(
                "these agents also read {first}{more}; the first run asks whether to trust it"
            );
            print_note(streams, &line);
            Ok(())
        }
        Ok(None) => load_team::trust(path, ContentHash::new(text.as_bytes())),
        Err(error) => Err(error),
    };
    if let Err(error) = trusted {
        print_note(streams, &format!("it is not trusted yet: {error}"));
    }
}

fn tell_roles(text: &str, streams: &mut Streams<'_>) {
    let Ok(team) = TeamFile::parse(text, FILE_NAME) else { return };
    for member in &team.members {
        if let Some(role) = &member.role {
            print_note(streams, &format!("  {}: {role}", member.name));
        }
    }
}

/// Writes the whole file, or nothing on an error. Replaces an existing file only with `force`.
fn write(path: &Path, text: &str, force: bool) -> Result {
    let begun = match force {
        // If the path is a link, its target is replaced.
        true => {
            let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
            NewFile::begin_replacement(&target, Readers::Umask)
        }
        false => NewFile::begin(path, Readers::Umask),
    };
    let written = begun.and_then(|mut file| {
        let failed = |source| NewFileError::Io { path: path.to_owned(), source };
        file.write_all(text.as_bytes()).map_err(failed)?;
        if force { file.replace() } else { file.publish() }
    });
    written.map_err(|error| match error {
        NewFileError::Exists(path) => file_exists(path),
        NewFileError::Io { path, source } => CliError::WriteFile { path, source },
        other => CliError::WriteFile { path: path.to_owned(), source: io::Error::other(other) },
    })
}

fn file_exists(path: PathBuf) -> CliError {
    let problem = "already exists; --force replaces it, --print shows what would be written";
    CliError::UnfitFile { path, problem: problem.to_owned() }
}

fn about(agent: &AgentDefinition, probe: &Probe) -> String {
    let name = agent.word;
    let Some(path) = &probe.path else {
        return match (probe.is_installed, &probe.advice) {
            (true, Some(why)) => format!("{name}: cannot be started: {why}"),
            _ => format!("{name}: not found"),
        };
    };
    let version = probe.version.as_deref().unwrap_or("version unknown");
    let signed_in = match &probe.sign_in {
        AuthState::Yes(_) => "signed in",
        AuthState::No(_) => "not signed in",
        AuthState::Unknown(_) => "sign-in unknown",
    };
    let advice = probe.advice.as_deref().map(|advice| format!("; {advice}")).unwrap_or_default();
    format!("{name}: {version} at {}, {signed_in}{advice}", path.display())
}

fn user() -> String {
    let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    variable("USER").or_else(|| variable("LOGNAME")).unwrap_or_default()
}
