//! `tertulia context`: shows the prompt that an agent would get now, from a stored session or a snapshot file, and
//! why. A stored session gives the same view to `--member` and `--type`.

mod stored;
mod table;
mod turn;

use std::path::Path;

use tertulia_chat::terminal::{counted, visible};
use tertulia_context::record::{Detail, PromptRecord};
use tertulia_context::{
    ContextManager, ContextManagerOptions, ContextRequest, ContextSnapshot,
    DEFAULT_CONTEXT_WINDOW_SIZE, DEFAULT_MAX_BYTES, LogLevel, Strip,
};

use super::assemble::choose_assembler;
use super::drawing::Paint;
use super::files::{name, read_text};
use super::sessions::write_json;
use crate::Streams;
use crate::args::{ContextArgs, PromptPart, WhitespaceArg};
use crate::error::{CliError, Result};
pub(super) use stored::explain;
pub(super) use table::Sheet;
use table::{ContextRecord, VerdictRecord};

pub(crate) fn run(args: &ContextArgs, streams: &mut Streams<'_>) -> Result {
    if let Some(name) = &args.member {
        return stored::for_member(args, name, streams);
    }
    if let Some(turn) = &args.turn {
        return turn::run(args, turn, streams);
    }
    if args.part.is_some() {
        return Err(CliError::Usage("--part needs --member or --turn"));
    }
    match &args.session {
        Some(session) => stored::for_type(args, session, streams),
        None => for_snapshot(args, streams),
    }
}

/// Shows the prompt for a snapshot.
fn for_snapshot(args: &ContextArgs, streams: &mut Streams<'_>) -> Result {
    let standard_input = Path::new("-");
    let path = args.snapshot.as_deref().unwrap_or(standard_input);
    if path == standard_input && args.instruction_file.as_deref() == Some(standard_input) {
        return Err(CliError::Usage("only one of --snapshot and --instruction-file can be -"));
    }
    let wrong = |error| CliError::Snapshot { path: name(path), error };
    let text = read_text(path, streams)?;
    let snapshot = ContextSnapshot::parse(text.trim_start_matches('\u{feff}')).map_err(wrong)?;
    let instruction_file = instruction_file(args, streams)?;
    let window = args.window.unwrap_or(DEFAULT_CONTEXT_WINDOW_SIZE);
    let budget = args.budget.unwrap_or(DEFAULT_MAX_BYTES);
    let (reported, warnings) = std::sync::mpsc::channel();
    let mut manager = ContextManager::new(ContextManagerOptions {
        max_bytes: budget,
        strip: match args.whitespace {
            WhitespaceArg::Preserve => Strip::Preserve,
            WhitespaceArg::Compact => Strip::COMPACT,
        },
        log_sink: Some(std::sync::Arc::new(move |level, line: &str| {
            if level >= LogLevel::Warn {
                let _ = reported.send(line.to_owned());
            }
        })),
        ..ContextManagerOptions::default()
    });
    manager.import_snapshot(snapshot).map_err(wrong)?;
    for line in warnings.try_iter() {
        let _ = writeln!(streams.notes(), "tertulia: {}", visible(&line));
    }
    let request = ContextRequest {
        window_size: Some(window),
        system_instruction: args.instruction.as_deref(),
        instruction_file_text: instruction_file.as_deref(),
    };
    // The agent has no ID here: a snapshot has speakers, but no team.
    let assembler = choose_assembler(&args.agent_type, streams.notes());
    let explanation = manager.explain_in(assembler, "", &request);
    tell_window(args, window, streams);
    let prompt = explanation.prompt();
    for warning in prompt.warnings() {
        let _ = writeln!(streams.notes(), "tertulia: {warning}");
    }
    if args.json {
        let detail = if args.explain { Detail::Sections } else { Detail::Totals };
        let verdicts: Vec<_> = explanation.verdicts().collect();
        let verdicts =
            verdicts.iter().map(|one| VerdictRecord { id: &one.entry.id, outcome: &one.outcome });
        let verdicts = args.explain.then(|| verdicts.collect());
        let prompt = PromptRecord::new(&prompt, detail);
        return write_json(streams, &ContextRecord { prompt, verdicts });
    }
    if args.explain {
        let paint = &Paint::new(streams.stdout_has_colour);
        let mut sheet = Sheet { out: streams.stdout, paint };
        let written = table::write(&mut sheet, budget, &prompt, &explanation);
        return written.map_err(CliError::output);
    }
    write_text(prompt.flag_bytes(), &prompt.to_text(), streams)
}

fn instruction_file(args: &ContextArgs, streams: &mut Streams<'_>) -> Result<Option<String>> {
    args.instruction_file.as_deref().map(|path| read_text(path, streams)).transpose()
}

/// Prints the default window as a note, if `--window` was not given.
fn tell_window(args: &ContextArgs, window: usize, streams: &mut Streams<'_>) {
    if args.explain && args.window.is_none() {
        let count = counted(window as u64, "message", "messages");
        let _ = writeln!(streams.notes(), "tertulia: window: {count} (--window changes it)");
    }
}

/// Prints a prompt, and notes the size of a system text that is sent separately.
fn write_text(system_bytes: usize, prompt: &str, streams: &mut Streams<'_>) -> Result {
    if system_bytes > 0 {
        let _ = writeln!(
            streams.notes(),
            "tertulia: the system text ({system_bytes} bytes) is sent separately; --json shows it"
        );
    }
    let out = &mut *streams.stdout;
    let written = if streams.stdout_is_terminal {
        writeln!(out, "{}", visible(prompt))
    } else {
        out.write_all(prompt.as_bytes())
    };
    written.map_err(CliError::output)
}

/// Prints the system text, if it is sent separately, and the prompt. Titles go to standard error, so that standard
/// output has only the texts.
fn write_sent(
    args: &ContextArgs,
    system: Option<&str>,
    prompt: &str,
    streams: &mut Streams<'_>,
) -> Result {
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
            let text = if streams.stdout_is_terminal { visible(text) } else { text.into() };
            let blank_line = if is_first_of_two { "\n" } else { "" };
            writeln!(streams.stdout, "{text}{blank_line}")
        } else {
            streams.stdout.write_all(text.as_bytes())
        };
        written.and_then(|()| streams.stdout.flush()).map_err(CliError::output)?;
    }
    Ok(())
}
