//! `tertulia init`: creates a team file with the agents found on this machine, says who does what, and suggests a
//! first command. Never replaces a file unless told to.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tertulia_store::{NewFile, NewFileError, Readers};
use tertulia_team::agents::{AGENTS, AgentDefinition};
use tertulia_team::file::{self, ContentHash, FILE_NAME, FoundAgent, Origin, TeamFile};
use tertulia_team::{Probe, SignIn, probe};

use super::sessions::tell;
use crate::Streams;
use crate::advice::as_word;
use crate::args::InitArgs;
use crate::error::{CliError, Result};
use crate::team_place::{self, working_folder};

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
        tell(streams, &about(agent, &probe));
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
    tell(streams, &format!("created {}", path.display()));
    tell_roles(&text, streams);
    // The person's own command wrote it. Where that cannot be kept, or more is to be trusted, the first run asks.
    tell_trust(&path, &text, streams);
    if found.is_empty() {
        tell(streams, NO_AGENT);
        tell(streams, "Next: `tertulia demo` shows how a team works");
        return Ok(());
    }
    let task = as_word(&file::first_task(&found));
    tell(streams, &format!("Next: `tertulia run {task}`, or `tertulia chat`"));
    Ok(())
}

/// Trusts the new file, unless its agents obey settings of the project: then the first run asks about both.
fn tell_trust(path: &Path, text: &str, streams: &mut Streams<'_>) {
    let opened = file::open(path).map_err(CliError::from);
    let settings =
        opened.and_then(|opened| team_place::untrusted_settings(Origin::Project, &opened));
    let trusted = match settings {
        Ok(Some(untrusted)) => {
            let names = untrusted.settings.names(&untrusted.folder);
            let first = names.first().map(String::as_str).unwrap_or_default();
            let more = if names.len() > 1 { " and more" } else { "" };
            let line = format!("these agents also obey {first}{more}; the first run asks about it");
            tell(streams, &line);
            Ok(())
        }
        Ok(None) => team_place::trust(path, ContentHash::new(text.as_bytes())),
        Err(error) => Err(error),
    };
    if let Err(error) = trusted {
        tell(streams, &format!("it is not trusted yet: {error}"));
    }
}

fn tell_roles(text: &str, streams: &mut Streams<'_>) {
    let Ok(team) = TeamFile::parse(text, FILE_NAME) else { return };
    for member in &team.members {
        if let Some(role) = &member.role {
            tell(streams, &format!("  {}: {role}", member.name));
        }
    }
}

/// An existing file is replaced only when that was asked for. The file is there whole or not at all.
fn write(path: &Path, text: &str, force: bool) -> Result {
    let begun = match force {
        // Where the name is a link, the file that it leads to is replaced.
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
        SignIn::Yes(_) => "signed in",
        SignIn::No(_) => "not signed in",
        SignIn::Unknown(_) => "sign-in unknown",
    };
    let advice = probe.advice.as_deref().map(|advice| format!("; {advice}")).unwrap_or_default();
    format!("{name}: {version} at {}, {signed_in}{advice}", path.display())
}

fn user() -> String {
    let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    variable("USER").or_else(|| variable("LOGNAME")).unwrap_or_default()
}
