//! The prompt that an agent would get from a stored session now: for a member of the team (`tertulia context
//! --member`), built as for its next turn, or for an agent of a type (`--session … --type`). Nothing is written to
//! the session.

use std::io::{self, Write};

use serde::Serialize;
use tertulia_chat::built_in_note;
use tertulia_chat::terminal::grouped;
use tertulia_context::record::PromptRecord;
use tertulia_context::view::Stripping;
use tertulia_context::{AgentType, DEFAULT_MAX_BYTES, SectionBytes, Strip, Verdict};
use tertulia_operations::names::{
    Latest, find_session, find_session_or_latest, own_newest_message,
};
use tertulia_session::{Entry, EntryId};
use tertulia_team::agents::{AGENTS, AgentDefinition};
use tertulia_team::{AgentKind, AgentSpec, Preamble, Preview, TeamMember, TurnPrompt, preview};

use super::table::{self, ContextRecord, Sheet, VerdictRecord};
use super::{instruction_file, tell_window};
use crate::Streams;
use crate::args::{ContextArgs, WhitespaceArg};
use crate::commands::assemble::choose_assembler;
use crate::commands::drawing::Paint;
use crate::commands::sessions::{print_note, write_json};
use crate::error::{CliError, Result};
use crate::load_team::{LoadedTeam, agents_of};
use crate::store_location::StoreLocation;

/// Minimum width of the column of counts.
const COUNT_COLUMNS: usize = 6;

pub(super) fn for_member(args: &ContextArgs, name: &str, streams: &mut Streams<'_>) -> Result {
    let LoadedTeam { team, folder, .. } = LoadedTeam::read(&args.team, streams)?;
    let member = team
        .named(name)
        .map_err(|error| CliError::UnknownMember { flag: "--member", error })?
        .clone();
    if member.is_person() {
        let agents = agents_of(&team);
        return Err(CliError::NoPrompt { name: member.member.name, agents });
    }
    let store = StoreLocation::read(&args.store)?.open_required()?;
    let latest = Latest::OfFolder(&folder);
    let session = find_session_or_latest(&store, args.session.as_deref(), latest)?;
    let name = &*member.member.name;
    let Some(Preview { prompt, entries }) = preview(&store, &session, &team, &member)? else {
        print_note(streams, &format!("session {session} has no messages yet"));
        return Ok(());
    };
    if own_newest_message(&entries, name).is_some() {
        let line = format!(
            "the latest message is {name}'s own; this is the prompt {name} would get if asked to continue"
        );
        print_note(streams, &line);
    }
    if let Some(line) = built_in_note(&member) {
        print_note(streams, &line);
    }
    if args.json {
        let record = MemberRecord {
            session_id: session.as_str(),
            member: name,
            prompt: &prompt.text,
            system_flag: prompt.system.as_deref(),
            budget_bytes: member.budget_bytes,
            bytes: BytesRecord { sections: prompt.bytes, total: prompt.bytes.total() },
            kept_context: prompt.kept,
            dropped_context: prompt.dropped,
            covered_by_minutes: prompt.covered,
            recalled: &prompt.recalled,
            verdicts: verdict_records(&prompt.verdicts),
        };
        return write_json(streams, &record);
    }
    if args.explain {
        let title = format!("{name} in session {session}");
        return write_table(&title, &member, (&prompt, &entries), streams);
    }
    super::write_sent(args, prompt.system.as_deref(), &prompt.text, streams)
}

/// Shows the prompt for an agent type: that of a member with default settings and no name.
pub(super) fn for_type(args: &ContextArgs, given: &str, streams: &mut Streams<'_>) -> Result {
    let store = StoreLocation::read(&args.store)?.open_required()?;
    let LoadedTeam { team, folder, .. } = LoadedTeam::read(&args.team, streams)?;
    let session = find_session(&store, given, Latest::OfProject(&folder))?;
    let instructions = [args.instruction.clone(), instruction_file(args, streams)?];
    let agent_type = choose_assembler(&args.agent_type, streams.notes()).agent_type().clone();
    let member = member(args, &agent_type, &folder, instructions);
    let found = preview(&store, &session, &team, &member)?;
    // Nothing was written and the process ends soon, so closing the file would only take time.
    std::mem::forget(store);
    let Some(Preview { prompt, entries }) = found else {
        print_note(streams, &format!("session {session} has no messages yet"));
        return Ok(());
    };
    tell_window(args, member.window, streams);
    for warning in &prompt.warnings {
        let _ = writeln!(streams.notes(), "tertulia: {warning}");
    }
    if args.json {
        let verdicts = args.explain.then(|| verdict_records(&prompt.verdicts));
        let record = PromptRecord {
            prompt: prompt.text,
            system_flag: prompt.system,
            status: prompt.status,
            bytes: prompt.bytes.total(),
            kept_context: prompt.kept,
            dropped_context: prompt.dropped,
            sections: args.explain.then_some(prompt.bytes),
        };
        return write_json(streams, &ContextRecord { prompt: record, verdicts });
    }
    if args.explain {
        let title = format!("{} in session {session}", table::shown_type(&agent_type));
        return write_table(&title, &member, (&prompt, &entries), streams);
    }
    super::write_text(prompt.system.as_deref().map_or(0, str::len), &prompt.text, streams)
}

/// Returns a member of this type without a name.
fn member(
    args: &ContextArgs,
    agent_type: &AgentType,
    folder: &str,
    instructions: [Option<String>; 2],
) -> TeamMember {
    let is_read_by = |definition: &&&AgentDefinition| {
        definition.cli.is_some() && AgentType::named(definition.prompt_format) == *agent_type
    };
    let mut member = match AGENTS.iter().find(is_read_by) {
        Some(agent) => TeamMember::agent("", AgentSpec::new(AgentKind::Cli(agent), folder)),
        None => TeamMember { budget_bytes: DEFAULT_MAX_BYTES, ..TeamMember::person("") },
    };
    // A member without a name gets no description of the team.
    member.preamble = Preamble::Off;
    let instructions = instructions.into_iter().flatten();
    let instructions: Vec<String> = instructions.map(|text| text.trim().to_owned()).collect();
    member.instruction = Some(instructions.join("\n\n"));
    member.window = args.window.unwrap_or(member.window);
    member.budget_bytes = args.budget.unwrap_or(member.budget_bytes);
    if args.whitespace == WhitespaceArg::Compact {
        member.strip = Stripping::Rewrite(Strip::COMPACT);
    }
    member
}

fn write_table(
    title: &str,
    member: &TeamMember,
    (prompt, entries): (&TurnPrompt, &[Entry]),
    streams: &mut Streams<'_>,
) -> Result {
    let paint = &Paint::new(streams.stdout_has_colour);
    let (mut sheet, budget) = (Sheet { out: streams.stdout, paint }, Some(member.budget_bytes));
    explain(&mut sheet, title, budget, (prompt, Some(entries))).map_err(CliError::output)
}

fn verdict_records(verdicts: &[Verdict]) -> Vec<VerdictRecord<'_>> {
    verdicts.iter().map(|one| VerdictRecord { id: &one.entry, outcome: &one.outcome }).collect()
}

/// Writes the sizes of the parts, the outcome of each message if entries are given, and the counts.
pub(in crate::commands) fn explain(
    to: &mut Sheet<'_>,
    title: &str,
    budget: Option<u64>,
    (prompt, entries): (&TurnPrompt, Option<&[Entry]>),
) -> io::Result<()> {
    let sizes = (prompt.bytes, prompt.system.is_some());
    table::write_sizes(to, title, budget, prompt.status, sizes)?;
    if let Some(entries) = entries {
        write_messages(to, &prompt.verdicts, entries)?;
    }
    let lines = [
        (prompt.kept, ["message", "messages"], "verbatim, besides the newest"),
        (prompt.dropped, ["message", "messages"], "of the window omitted"),
        (prompt.covered, ["message", "messages"], "covered by the summary"),
        (prompt.recalled.len(), ["earlier passage", "earlier passages"], "recalled"),
    ];
    write_counts(to.out, &lines)
}

fn write_messages(to: &mut Sheet<'_>, verdicts: &[Verdict], entries: &[Entry]) -> io::Result<()> {
    table::write_titles(to)?;
    for verdict in verdicts {
        let entry = entries.iter().rev().find(|entry| entry.id == verdict.entry);
        if let Some(message) = entry.and_then(Entry::message) {
            table::write_row(to, (&verdict.entry, message), &verdict.outcome)?;
        }
    }
    writeln!(to.out)
}

/// Writes right-aligned counts with their nouns.
fn write_counts(out: &mut dyn Write, lines: &[(usize, [&str; 2], &str)]) -> io::Result<()> {
    let columns = lines.iter().map(|(count, ..)| grouped(*count as u64).len()).max();
    let columns = columns.unwrap_or_default().max(COUNT_COLUMNS);
    for (count, [one, many], what) in lines {
        let noun = if *count == 1 { one } else { many };
        writeln!(out, "{:>columns$}  {noun} {what}", grouped(*count as u64))?;
    }
    Ok(())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MemberRecord<'a> {
    session_id: &'a str,
    member: &'a str,
    prompt: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_flag: Option<&'a str>,
    budget_bytes: u64,
    bytes: BytesRecord,
    kept_context: usize,
    dropped_context: usize,
    covered_by_minutes: usize,
    recalled: &'a [EntryId],
    verdicts: Vec<VerdictRecord<'a>>,
}

#[derive(Serialize)]
struct BytesRecord {
    #[serde(flatten)]
    sections: SectionBytes,
    total: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_column_of_counts_holds_for_large_ones() {
        let mut out = Vec::new();
        let nouns = ["message", "messages"];
        write_counts(&mut out, &[(1, nouns, "recalled"), (201_799, nouns, "covered")]).unwrap();
        let shown = String::from_utf8(out).unwrap();
        assert_eq!(shown, "      1  message recalled\n201,799  messages covered\n");
    }
}
