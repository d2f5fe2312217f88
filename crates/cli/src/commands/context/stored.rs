//! `tertulia context --session … --type`: what an agent of a type would get from a stored session now. It gets what a
//! member of the team here gets that has default settings and no name. Nothing is written to the session.

use tertulia_context::record::PromptRecord;
use tertulia_context::view::Stripping;
use tertulia_context::{AgentType, DEFAULT_MAX_BYTES, Strip};
use tertulia_operations::names::{Latest, find_session};
use tertulia_team::agents::{AGENTS, AgentDefinition};
use tertulia_team::{AgentKind, AgentSpec, Preamble, Preview, TeamMember, preview};

use super::record::{ContextRecord, VerdictRecord};
use super::{instruction_file, tell_window};
use crate::Streams;
use crate::args::{ContextArgs, WhitespaceArg};
use crate::commands::drawing::Paint;
use crate::commands::prompt_format::choose_assembler;
use crate::commands::sessions::{tell, write_json};
use crate::error::CliError;
use crate::store_place::StorePlace;
use crate::team_place::TeamPlace;

pub(super) fn run(
    args: &ContextArgs,
    given: &str,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let store = StorePlace::read(&args.store)?.need()?;
    let TeamPlace { team, folder, .. } = TeamPlace::read(&args.team, streams)?;
    let session = find_session(&store, given, Latest::OfProject(&folder))?;
    let instructions = [args.instruction.clone(), instruction_file(args, streams)?];
    let agent_type = choose_assembler(&args.agent_type, streams.notes()).agent_type().clone();
    let member = member(args, &agent_type, &folder, instructions);
    let found = preview(&store, &session, &team, &member)?;
    // Nothing was written, and the process ends soon: closing the file would be for nobody.
    std::mem::forget(store);
    let Some(Preview { prompt, entries }) = found else {
        tell(streams, &format!("nothing was said yet in session {session}"));
        return Ok(());
    };
    tell_window(args, member.window, streams);
    for warning in &prompt.warnings {
        let _ = writeln!(streams.notes(), "tertulia: {warning}");
    }
    if args.json {
        let verdicts = prompt.verdicts.iter();
        let verdicts = verdicts.map(|one| VerdictRecord { id: &one.entry, fate: &one.fate });
        let record = PromptRecord {
            prompt: prompt.text,
            system_flag: prompt.system,
            status: prompt.status,
            bytes: prompt.bytes.total(),
            kept_context: prompt.kept,
            dropped_context: prompt.dropped,
            sections: args.explain.then_some(prompt.bytes),
        };
        let verdicts = args.explain.then(|| verdicts.collect());
        return write_json(streams, &ContextRecord { prompt: record, verdicts });
    }
    if args.explain {
        let paint = Paint::new(streams.stdout_has_colour);
        let title = format!("{} in session {session}", super::table::shown_type(&agent_type));
        let of = (&prompt, Some(&*entries));
        return super::explain(streams.stdout, &title, Some(member.budget_bytes), of, &paint)
            .map_err(CliError::output);
    }
    super::write_text(prompt.system.as_deref().map_or(0, str::len), &prompt.text, streams)
}

/// A member of this type without a name.
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
    // Only who has a name can be told about the team.
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
