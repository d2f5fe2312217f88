//! `tertulia replay`: repeats the decisions of a session with the recorded answers, and compares them with the
//! recorded decisions.

use serde::Serialize;
use tertulia_operations::names::{Latest, find_session_or_latest, short};
use tertulia_session::{Entry, EntryId, TurnState};
use tertulia_store::Range;
use tertulia_team::{Difference, Machine};

use super::sessions::{counted, print_note, write_json, write_line};
use crate::Streams;
use crate::args::ReplayArgs;
use crate::error::{CliError, Result};
use crate::load_team::LoadedTeam;
use crate::store_location::StoreLocation;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReplayRecord<'a> {
    session_id: &'a str,
    entries: usize,
    turns: usize,
    equal: bool,
    more: bool,
    /// Redacted messages, whose decisions were not compared.
    unchecked: Vec<&'a str>,
    differences: Vec<DifferenceRecord<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DifferenceRecord<'a> {
    kind: &'static str,
    entry_id: &'a str,
    text: String,
}

pub(crate) fn run(args: &ReplayArgs, streams: &mut Streams<'_>) -> Result {
    let LoadedTeam { team, folder, .. } = LoadedTeam::read(&args.team, streams)?;
    let store = StoreLocation::read(&args.store)?.open_required()?;
    let latest = Latest::OfFolder(&folder);
    let session = find_session_or_latest(&store, args.session.as_deref(), latest)?;
    let stored = store.load(&session, &Range::Branch { tail: None, limit: None })?;
    let entries = stored.iter().map(|stored| &stored.entry);
    let turns = entries.clone().filter_map(Entry::turn);
    let turns = turns.filter(|turn| turn.state == TurnState::Started).count();
    let replay = Machine::replay(team.roster().clone(), entries);
    let more = replay.is_cut();
    let (mut differences, unchecked) = (replay.differences, replay.unchecked);
    differences.extend(replay.ending.filter(|_| !more));
    let equal = differences.is_empty();
    if args.json {
        let differences = differences.iter().map(DifferenceRecord::new).collect();
        let (session_id, entries) = (session.as_str(), stored.len());
        let unchecked = unchecked.iter().map(EntryId::as_str).collect();
        let record =
            ReplayRecord { session_id, entries, turns, equal, more, unchecked, differences };
        write_json(streams, &record)?;
    } else {
        for difference in &differences {
            write_line(streams, &short(&difference.to_string()))?;
        }
    }
    let turns = counted(turns as u64, "turn", "turns");
    if !unchecked.is_empty() {
        let gone = counted(unchecked.len() as u64, "message", "messages");
        let them = if unchecked.len() == 1 { "it" } else { "them" };
        print_note(
            streams,
            &format!("{gone} redacted; the decisions about {them} are not compared"),
        );
    }
    if equal {
        print_note(streams, &format!("{turns} compared; all decisions are the same"));
        return Ok(());
    }
    let count = counted(differences.len() as u64, "difference", "differences");
    let count = if more { format!("at least {count}") } else { count };
    Err(CliError::Failed(format!("{turns} compared: {count}; the stored decisions did not change")))
}

impl<'a> DifferenceRecord<'a> {
    fn new(difference: &'a Difference) -> Self {
        let (kind, entry) = match difference {
            Difference::Decision { at, .. } => ("decision", at),
            Difference::Missing { before, .. } => ("missing", before),
            Difference::Ending { after, .. } => ("ending", after),
            Difference::Unreadable { at, .. } => ("unreadable", at),
            Difference::UnknownMember { at, .. } => ("stranger", at),
        };
        Self { kind, entry_id: entry.as_str(), text: difference.to_string() }
    }
}
