//! `tertulia context`: what an agent would get now, from a stored session or a snapshot file, and why.

mod member;
mod record;
mod stored;
mod table;
mod turn;

use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tertulia_chat::terminal::{counted, visible};
use tertulia_context::{
    AgentType, ContextManager, ContextManagerOptions, ContextRequest, ContextSnapshot, Explanation,
    LogLevel, Strip,
};
use tertulia_operations::names::{Latest, find_session};
use tertulia_team::agents::{AGENTS, AgentDefinition};
use tertulia_team::default_budget_bytes;

use super::files::{name, read_text};
use super::prompt_format::choose_assembler;
use super::sessions::write_json;
use crate::Streams;
use crate::args::{ContextArgs, PromptPart, WhitespaceArg};
use crate::error::CliError;
use crate::store_place::StorePlace;
use crate::team_place::project_here;
pub(super) use member::explain;
use record::ContextRecord;

pub(crate) fn run(args: &ContextArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    if let Some(name) = &args.member {
        return member::run(args, name, streams);
    }
    if let Some(turn) = &args.turn {
        return turn::run(args, turn, streams);
    }
    if args.part.is_some() {
        return Err(CliError::Usage("--part needs --member or --turn"));
    }
    let standard_input = Some(Path::new("-"));
    if args.snapshot.as_deref() == standard_input
        && args.instruction_file.as_deref() == standard_input
    {
        return Err(CliError::Usage("only one of --snapshot and --instruction-file can be -"));
    }
    let (source, snapshot) = read_conversation(args, streams)?;
    let instruction_file = match &args.instruction_file {
        Some(path) => Some(read_text(path, streams)?),
        None => None,
    };
    let warnings = Warnings::default();
    let mut manager = ContextManager::new(options(args, &warnings));
    manager
        .import_snapshot(snapshot)
        .map_err(|error| CliError::Snapshot { path: source, error })?;
    let request = ContextRequest {
        window_size: Some(window(args)),
        system_instruction: args.instruction.as_deref(),
        instruction_file_text: instruction_file.as_deref(),
    };
    // The agent has no id here: a snapshot knows who spoke, not who sits at the table.
    let assembler = choose_assembler(&args.agent_type, streams.notes());
    let explanation = manager.explain_in(assembler, "", &request);
    warnings.tell(streams.notes());
    if args.explain && args.window.is_none() {
        let count = counted(window(args) as u64, "message", "messages");
        let _ = writeln!(streams.notes(), "tertulia: window: {count} (--window changes it)");
    }
    write(args, &explanation, streams)
}

/// How many messages of context are wanted: what a member of a team gets by default, and of a snapshot what the
/// library gives by default.
fn window(args: &ContextArgs) -> usize {
    let usual = match args.session {
        Some(_) => tertulia_team::DEFAULT_WINDOW,
        None => tertulia_context::DEFAULT_CONTEXT_WINDOW_SIZE,
    };
    args.window.unwrap_or(usual)
}

/// How many bytes the prompt may have: what a member of that type may have by default, and of a snapshot what
/// the library gives by default.
fn budget(args: &ContextArgs) -> u64 {
    let usual = match args.session {
        Some(_) => usual_budget(&AgentType::named(&args.agent_type)),
        None => None,
    };
    args.budget.or(usual).unwrap_or(tertulia_context::DEFAULT_MAX_BYTES)
}

/// The budget of a member of this type; none if the type is not known.
fn usual_budget(agent: &AgentType) -> Option<u64> {
    let is_read_by = |definition: &&&AgentDefinition| {
        definition.cli.is_some() && AgentType::named(definition.prompt_format) == *agent
    };
    AGENTS.iter().find(is_read_by).map(|definition| default_budget_bytes(Some(definition)))
}

fn write(
    args: &ContextArgs,
    explanation: &Explanation<'_>,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let prompt = explanation.prompt();
    for warning in prompt.warnings() {
        let _ = writeln!(streams.notes(), "tertulia: {warning}");
    }
    if prompt.flag_bytes() > 0 && !args.json && !args.explain {
        let _ = writeln!(
            streams.notes(),
            "tertulia: the system text ({} bytes) is sent separately; --json shows it",
            prompt.flag_bytes()
        );
    }
    if args.json {
        let explanation = args.explain.then_some(explanation);
        return write_json(streams, &ContextRecord { prompt: &prompt, explanation });
    }
    let out = &mut *streams.stdout;
    let written = if args.explain {
        table::write(out, budget(args), &prompt, explanation, streams.stdout_has_colour)
    } else if streams.stdout_is_terminal {
        writeln!(out, "{}", visible(&prompt.to_text()))
    } else {
        prompt.write_to(&mut { out })
    };
    written.map_err(CliError::output)
}

/// Prints what an agent is sent: the system text, where it travels apart, and the prompt. Titles go to
/// standard error, so that each part can be taken as it is.
fn write_sent(
    args: &ContextArgs,
    system: Option<&str>,
    prompt: &str,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let parts =
        [(PromptPart::System, "system text", system), (PromptPart::Prompt, "prompt", Some(prompt))];
    for (part, title, text) in parts {
        let Some(text) = text.filter(|_| args.part.is_none_or(|wanted| wanted == part)) else {
            continue;
        };
        if args.part.is_none() && system.is_some() {
            let _ = writeln!(streams.notes(), "tertulia: {title}, {} bytes:", text.len());
        }
        let is_first_of_two = args.part.is_none() && part == PromptPart::System;
        let written = if streams.stdout_is_terminal || is_first_of_two {
            writeln!(
                streams.stdout,
                "{}{}",
                shown(text, streams.stdout_is_terminal),
                if is_first_of_two { "\n" } else { "" }
            )
        } else {
            streams.stdout.write_all(text.as_bytes())
        };
        written.and_then(|()| streams.stdout.flush()).map_err(CliError::output)?;
    }
    Ok(())
}

fn shown(text: &str, is_terminal: bool) -> Cow<'_, str> {
    if is_terminal { visible(text) } else { Cow::Borrowed(text) }
}

fn options(args: &ContextArgs, warnings: &Warnings) -> ContextManagerOptions {
    let lines = Arc::clone(&warnings.0);
    ContextManagerOptions {
        max_bytes: budget(args),
        strip: match args.whitespace {
            WhitespaceArg::Preserve => Strip::Preserve,
            WhitespaceArg::Compact => Strip::COMPACT,
        },
        log_sink: Some(Arc::new(move |level, line: &str| {
            if level >= LogLevel::Warn
                && let Ok(mut lines) = lines.lock()
            {
                lines.push(line.to_owned());
            }
        })),
        ..ContextManagerOptions::default()
    }
}

/// What the manager warned of while it worked.
#[derive(Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    fn tell(&self, talk: &mut dyn Write) {
        for line in self.0.lock().map(|lines| lines.clone()).unwrap_or_default() {
            let _ = writeln!(talk, "tertulia: {}", visible(&line));
        }
    }
}

/// The conversation, and what to call it in an error.
fn read_conversation(
    args: &ContextArgs,
    streams: &mut Streams<'_>,
) -> Result<(PathBuf, ContextSnapshot), CliError> {
    let Some(given) = &args.session else {
        let path = args.snapshot.as_deref().unwrap_or(Path::new("-"));
        return Ok((name(path), read_snapshot(path, streams)?));
    };
    let store = StorePlace::read(&args.store)?.need()?;
    let session = find_session(&store, given, Latest::OfProject(&project_here()))?;
    let ending = stored::read_ending(&store, &session, window(args))?;
    // Nothing was written, and the process ends soon: closing the file would be for nobody.
    std::mem::forget(store);
    if ending.is_cut && args.explain {
        let _ = writeln!(streams.notes(), "tertulia: messages before the window were not read");
    }
    Ok((PathBuf::from(format!("session {session}")), ending.snapshot))
}

fn read_snapshot(path: &Path, streams: &mut Streams<'_>) -> Result<ContextSnapshot, CliError> {
    let text = read_text(path, streams)?;
    let text = text.trim_start_matches('\u{feff}');
    ContextSnapshot::parse(text).map_err(|error| CliError::Snapshot { path: name(path), error })
}
