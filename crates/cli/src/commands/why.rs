//! `tertulia why`: shows the decisions about an entry. The decisions are derived from the log with the current team; if
//! they differ from the recorded ones, only the recorded ones are shown.

use serde::Serialize;
use tertulia_chat::narrate;
use tertulia_operations::decisions::story;
use tertulia_operations::names::{
    Latest, NameError, find_entry, find_session_or_latest, find_stored_entry, newest_message, short,
};
use tertulia_session::{Cause, Entry, EntryId, FreshStart, Turn, TurnState};
use tertulia_store::{Range, SessionId, SessionStore};
use tertulia_team::{Decision, Machine, reached_nobody};

use super::sessions::{print_note, write_json, write_line};
use crate::Streams;
use crate::args::WhyArgs;
use crate::error::{CliError, Result};
use crate::load_team::LoadedTeam;
use crate::store_location::StoreLocation;
use crate::suggested_flags::team_and_store_flags;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DecisionRecord<'a> {
    entry_id: &'a str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    member: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'a str>,
    text: String,
    /// Why the agent of a turn that started does not continue its own session.
    #[serde(skip_serializing_if = "Option::is_none")]
    fresh_start: Option<&'a FreshStart>,
    entries: Vec<&'a str>,
}

pub(crate) fn run(args: &WhyArgs, streams: &mut Streams<'_>) -> Result {
    let LoadedTeam { team, folder, .. } = LoadedTeam::read(&args.team, streams)?;
    let store = StoreLocation::read(&args.store)?.open_required()?;
    let latest = Latest::OfFolder(&folder);
    let session = find_session_or_latest(&store, args.session.as_deref(), latest)?;
    let stored = store.load(&session, &Range::Branch { tail: None, limit: None })?;
    let log: Vec<Entry> = stored.into_iter().map(|stored| stored.entry).collect();
    let entry = match &args.entry {
        Some(given) => Some(named(&store, &session, &log, given)?),
        None => newest_message(&log),
    };
    let Some(entry) = entry else {
        print_note(streams, &format!("session {session} has no messages yet"));
        return Ok(());
    };
    let logged = recorded(&log);
    let recorded = story(&entry.id, |about| {
        logged.iter().filter(|decision| decision.ids().contains(&about)).collect()
    });
    let machine = Machine::replay(team.roster().clone(), log.iter()).machine;
    let decided = story(&entry.id, |about| machine.why(about.as_str()));
    let is_same = turns(&decided).eq(turns(&recorded));
    let found_nobody = entry.message().is_some_and(reached_nobody);
    let was_heard = !recorded.is_empty() || found_nobody;
    let decisions = if is_same && was_heard { &decided } else { &recorded };
    if !is_same && !recorded.is_empty() {
        let replay =
            format!("tertulia replay {session}{}", team_and_store_flags(&args.team, &args.store));
        let line = "the current team file would lead to another decision";
        print_note(streams, &format!("{line}; `{replay}` shows how"));
    }
    if args.json {
        for decision in decisions {
            write_json(streams, &DecisionRecord::new(&entry.id, decision, &log))?;
        }
        return Ok(());
    }
    if decisions.is_empty() {
        print_note(streams, &format!("{} caused no decision", entry.id));
    }
    for decision in decisions {
        write_line(streams, &short(&decision.to_string()))?;
        if let Some((turn, _)) = fresh_start(decision, &log)
            && let Some(line) = narrate::fresh_start(&turn.member, turn)
        {
            write_line(streams, &short(&line))?;
        }
    }
    Ok(())
}

/// Finds the entry. If only another branch has it, the error says so.
fn named<'e>(
    store: &SessionStore,
    session: &SessionId,
    log: &'e [Entry],
    given: &str,
) -> Result<&'e Entry> {
    match find_entry(log, given) {
        Err(NameError::UnknownEntry { .. }) => {
            let entry = find_stored_entry(store, session, given)?;
            Err(CliError::Failed(format!(
                "{entry} is on another branch of session {session}; \
                 `tertulia sessions show {session} --branch {entry}` shows that branch"
            )))
        }
        found => Ok(found?),
    }
}

fn recorded(log: &[Entry]) -> Vec<Decision> {
    let decisions = log.iter().filter_map(|entry| {
        let turn = entry.turn()?;
        if let Cause::Other(_) = turn.cause {
            return None;
        }
        Some(Decision::Turn {
            turn: entry.turn_id()?.clone(),
            entry: entry.id.clone(),
            member: turn.member.clone(),
            state: turn.state,
            cause: turn.cause.clone(),
        })
    });
    decisions.collect()
}

fn turns<'d>(decisions: &[&'d Decision]) -> impl Iterator<Item = &'d EntryId> {
    decisions.iter().copied().filter_map(|decision| match decision {
        Decision::Turn { entry, .. } => Some(entry),
        _ => None,
    })
}

/// Returns the started turn of a decision, and why its agent does not continue its own session.
fn fresh_start<'l>(decision: &Decision, log: &'l [Entry]) -> Option<(&'l Turn, &'l FreshStart)> {
    let Decision::Turn { entry, state: TurnState::Started, .. } = decision else { return None };
    let turn = log.iter().find(|one| one.id == *entry)?.turn()?;
    Some((turn, turn.memory.as_ref()?.fresh_start.as_ref()?))
}

impl<'a> DecisionRecord<'a> {
    fn new(entry: &'a EntryId, decision: &'a Decision, log: &'a [Entry]) -> Self {
        let (kind, turn, member, state) = match decision {
            Decision::Turn { turn, member, state, .. } => {
                ("turn", Some(turn.as_str()), Some(&**member), Some(state.as_str()))
            }
            Decision::Note(_) => ("note", None, None, None),
            Decision::Asked { question, .. } => ("asked", None, question.to.as_deref(), None),
        };
        let entries = decision.ids().into_iter().map(EntryId::as_str).collect();
        let (entry_id, text) = (entry.as_str(), decision.to_string());
        let fresh_start = fresh_start(decision, log).map(|(_, reason)| reason);
        Self { entry_id, kind, turn, member, state, text, fresh_start, entries }
    }
}
