//! `tertulia context --member`: what a member of the team would get from the table now, put together as
//! for its next turn. Nothing is written to the session.

use std::io::{self, Write};

use serde::Serialize;
use tertulia_chat::of_house;
use tertulia_chat::terminal::grouped;
use tertulia_context::{SectionBytes, Verdict};
use tertulia_operations::names::{Latest, find_session_or_latest, own_newest_message};
use tertulia_session::{Entry, EntryKind};
use tertulia_team::{Preview, TurnPrompt, preview};

use super::record::VerdictRecord;
use super::table;
use crate::Streams;
use crate::args::ContextArgs;
use crate::commands::drawing::Paint;
use crate::commands::sessions::{tell, write_json};
use crate::error::CliError;
use crate::store_place::StorePlace;
use crate::team_place::{TeamPlace, agents_of};

/// How wide the column of counts is at least.
const COUNT_COLUMNS: usize = 6;

pub(super) fn run(
    args: &ContextArgs,
    name: &str,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let TeamPlace { team, folder, .. } = TeamPlace::read(&args.team, streams)?;
    let member = team
        .named(name)
        .map_err(|error| CliError::UnknownMember { flag: "--member", error })?
        .clone();
    if member.is_person() {
        let agents = agents_of(&team);
        return Err(CliError::NoPrompt { name: member.member.name, agents });
    }
    let store = StorePlace::read(&args.store)?.need()?;
    let latest = Latest::OfFolder(&folder);
    let session = find_session_or_latest(&store, args.session.as_deref(), latest)?;
    let name = &*member.member.name;
    let Some(Preview { prompt, entries }) = preview(&store, &session, &team, &member)? else {
        tell(streams, &format!("nothing was said yet in session {session}"));
        return Ok(());
    };
    if own_newest_message(&entries, name).is_some() {
        let line = format!(
            "the latest message is {name}'s own; this is the prompt {name} would get if asked to continue"
        );
        tell(streams, &line);
    }
    if let Some(line) = of_house(&member) {
        tell(streams, &line);
    }
    if args.json {
        return write_json(streams, &record(name, session.as_str(), member.budget_bytes, &prompt));
    }
    if args.explain {
        let paint = Paint::new(streams.stdout_has_colour);
        let title = format!("{name} in session {session}");
        let of = (&prompt, Some(&*entries));
        return explain(streams.stdout, &title, Some(member.budget_bytes), of, &paint)
            .map_err(CliError::output);
    }
    super::write_sent(args, prompt.system.as_deref(), &prompt.text, streams)
}

/// How large the parts are, what became of the messages if their entries are given, and what stands for the rest.
pub(in crate::commands) fn explain(
    out: &mut dyn Write,
    title: &str,
    budget: Option<u64>,
    (prompt, entries): (&TurnPrompt, Option<&[Entry]>),
    paint: &Paint,
) -> io::Result<()> {
    table::write_head(out, title, budget, prompt.status, prompt.bytes.total(), paint)?;
    table::write_sections(out, prompt.bytes, prompt.system.is_some(), paint)?;
    if let Some(entries) = entries {
        write_messages(out, &prompt.verdicts, entries, paint)?;
    }
    let lines = [
        (prompt.kept, ["message", "messages"], "word for word, the newest one aside"),
        (prompt.dropped, ["message", "messages"], "of the window left out"),
        (prompt.covered, ["message", "messages"], "covered by the summary"),
        (prompt.recalled.len(), ["earlier passage", "earlier passages"], "recalled"),
    ];
    write_counts(out, &lines)
}

/// What became of the messages of the window.
fn write_messages(
    out: &mut dyn Write,
    verdicts: &[Verdict],
    entries: &[Entry],
    paint: &Paint,
) -> io::Result<()> {
    table::write_titles(out, paint)?;
    for verdict in verdicts {
        let entry = entries.iter().rev().find(|entry| entry.id == verdict.entry);
        if let Some(EntryKind::Message(message)) = entry.map(|entry| &entry.kind) {
            table::write_row(out, (&verdict.entry, message), &verdict.fate, paint)?;
        }
    }
    writeln!(out)
}

/// Counts with what they count, right-aligned however large they are.
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
    recalled: Vec<&'a str>,
    verdicts: Vec<VerdictRecord<'a>>,
}

#[derive(Serialize)]
struct BytesRecord {
    #[serde(flatten)]
    sections: SectionBytes,
    total: usize,
}

fn record<'a>(
    member: &'a str,
    session_id: &'a str,
    budget_bytes: u64,
    prompt: &'a TurnPrompt,
) -> MemberRecord<'a> {
    MemberRecord {
        session_id,
        member,
        prompt: &prompt.text,
        system_flag: prompt.system.as_deref(),
        budget_bytes,
        bytes: BytesRecord { sections: prompt.bytes, total: prompt.bytes.total() },
        kept_context: prompt.kept,
        dropped_context: prompt.dropped,
        covered_by_minutes: prompt.covered,
        recalled: prompt.recalled.iter().map(|id| id.as_str()).collect(),
        verdicts: prompt
            .verdicts
            .iter()
            .map(|one| VerdictRecord { id: &one.entry, fate: &one.fate })
            .collect(),
    }
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
