//! `tertulia context --turn`: shows what an agent got for a turn, byte for byte, checked against the hash that
//! was stored when it was sent. Nothing is written to the session.

use std::collections::HashSet;

use serde::Serialize;
use tertulia_operations::names::{Latest, find_session_or_latest, find_stored_entry, is_latest};
use tertulia_session::{Entry, EntryId};
use tertulia_store::{Range, SessionId, SessionStore, StoredEntry};
use tertulia_team::{PromptLost, SentPrompt, sent_prompt};

use crate::Streams;
use crate::args::ContextArgs;
use crate::commands::sessions::{print_note, write_json};
use crate::error::{CliError, Result};
use crate::load_team::LoadedTeam;
use crate::store_location::StoreLocation;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TurnRecord<'a> {
    session_id: &'a str,
    turn: &'a str,
    member: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_flag: Option<&'a str>,
    prompt: &'a str,
    prompt_hash: &'a str,
    /// Whether prompt and system text have that hash.
    verified: bool,
    redacted: Vec<&'a str>,
}

pub(super) fn run(args: &ContextArgs, turn: &str, streams: &mut Streams<'_>) -> Result {
    let store = StoreLocation::read(&args.store)?.open_required()?;
    let given = args.session.as_deref();
    // Only the search for the newest session needs the folder. The team is never needed.
    let folder = match given.is_none_or(is_latest) {
        true => LoadedTeam::folder(&args.team)?,
        false => String::new(),
    };
    let session = find_session_or_latest(&store, given, Latest::OfFolder(&folder))?;
    let sent = sent(&store, &session, &find_stored_entry(&store, &session, turn)?)?;
    let SentPrompt { member, turn, system, text, hash, is_second, redacted } = &sent;
    if !redacted.is_empty() {
        let ids = redacted.iter().map(|id| id.as_str()).collect::<Vec<_>>().join(", ");
        print_note(
            streams,
            &format!(
                "The hash cannot be checked, because these entries were redacted since: {ids}"
            ),
        );
    }
    if *is_second {
        print_note(
            streams,
            "The first prompt of this turn was too large for the model; this is the second one, \
             which was shorter.",
        );
    }
    if args.json {
        let record = TurnRecord {
            session_id: session.as_str(),
            turn: turn.as_str(),
            member,
            system_flag: system.as_deref(),
            prompt: text,
            prompt_hash: hash,
            verified: redacted.is_empty(),
            redacted: redacted.iter().map(|id| id.as_str()).collect(),
        };
        return write_json(streams, &record);
    }
    super::write_sent(args, system.as_deref(), text, streams)
}

/// Returns the prompt that was sent for a turn, on any branch.
fn sent(store: &SessionStore, session: &SessionId, asked: &EntryId) -> Result<SentPrompt> {
    let sent = match sent_prompt(&branch(store, session, None)?, asked) {
        Err(PromptLost::NoTurn(_) | PromptLost::NotStarted(_)) => {
            let tail = end_behind(&store.load(session, &Range::All)?, asked);
            sent_prompt(&branch(store, session, tail)?, asked)
        }
        sent => sent,
    };
    sent.map_err(CliError::PromptLost)
}

/// Returns the entries of the branch that ends at `tail`, or of the current branch.
fn branch(store: &SessionStore, session: &SessionId, tail: Option<EntryId>) -> Result<Vec<Entry>> {
    let stored = store.load(session, &Range::Branch { tail, limit: None })?;
    Ok(stored.into_iter().map(|stored| stored.entry).collect())
}

/// Returns the end of the branch on which the turn of an entry continued. Other branches may begin at the same entry.
fn end_behind(log: &[StoredEntry], asked: &EntryId) -> Option<EntryId> {
    let asked = log.iter().find(|stored| stored.entry.id == *asked)?;
    let about = asked.entry.turn_id().unwrap_or(&asked.entry.id);
    let is_of_turn = |stored: &&StoredEntry| {
        stored.entry.turn().is_some_and(|turn| {
            turn.turn_id.as_ref() == Some(about) || turn.cause.ids().contains(&about)
        })
    };
    let last = followers(log, asked).filter(is_of_turn).last().unwrap_or(asked);
    let end = followers(log, last).last().unwrap_or(last);
    Some(end.entry.id.clone())
}

/// Returns all entries after this one, on any branch.
fn followers<'l>(
    log: &'l [StoredEntry],
    first: &StoredEntry,
) -> impl Iterator<Item = &'l StoredEntry> + use<'l> {
    let mut seen = HashSet::from([first.seq]);
    log.iter().filter(move |stored| {
        let follows = stored.parent.is_some_and(|parent| seen.contains(&parent));
        follows && seen.insert(stored.seq)
    })
}
