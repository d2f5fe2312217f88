//! `tertulia context --turn`: shows what an agent got for a turn, byte for byte, checked against the hash that
//! was stored when it was sent. Nothing is written to the session.

use std::collections::HashSet;

use serde::Serialize;
use tertulia_chat::terminal::counted;
use tertulia_operations::names::{Latest, find_session_or_latest, find_stored_entry, is_latest};
use tertulia_session::{Entry, EntryId, TurnMemory};
use tertulia_store::{Range, SessionId, SessionStore, StoredEntry};
use tertulia_team::{EarlierTurn, PromptLost, SentPrompt, earlier_turns, sent_prompt};

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
    /// What the agent remembered, if it keeps its own session.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<&'a TurnMemory>,
    /// The turns that the agent's own session already contained.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    contained: Vec<ContainedTurn<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ContainedTurn<'a> {
    turn: &'a str,
    prompt_bytes: usize,
    entries: Vec<ContainedEntry<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<ContainedEntry<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ContainedEntry<'a> {
    entry_id: &'a str,
    bytes: usize,
}

impl<'a> ContainedEntry<'a> {
    fn new((entry, bytes): &'a (EntryId, usize)) -> Self {
        Self { entry_id: entry.as_str(), bytes: *bytes }
    }
}

impl<'a> ContainedTurn<'a> {
    fn new(turn: &'a EarlierTurn) -> Self {
        let EarlierTurn { turn, prompt_bytes, quoted, answer } = turn;
        Self {
            turn: turn.as_str(),
            prompt_bytes: *prompt_bytes,
            entries: quoted.iter().map(ContainedEntry::new).collect(),
            answer: answer.as_ref().map(ContainedEntry::new),
        }
    }
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
    let (sent, earlier) = sent(&store, &session, &find_stored_entry(&store, &session, turn)?)?;
    let SentPrompt { member, turn, system, text, hash, redacted, .. } = &sent;
    if !redacted.is_empty() {
        let ids = redacted.iter().map(|id| id.as_str()).collect::<Vec<_>>().join(", ");
        print_note(
            streams,
            &format!(
                "The hash cannot be checked, because these entries were redacted since: {ids}"
            ),
        );
    }
    if let Some(note) = second_prompt(&sent) {
        print_note(streams, &note);
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
            memory: sent.memory.as_ref(),
            contained: earlier.iter().map(ContainedTurn::new).collect(),
        };
        return write_json(streams, &record);
    }
    for line in contained(&sent, &earlier) {
        print_note(streams, &line);
    }
    super::write_sent(args, system.as_deref(), text, streams)
}

/// Says why a turn has a second prompt.
fn second_prompt(sent: &SentPrompt) -> Option<String> {
    let note = match &sent.restarted {
        Some(reason) => {
            let reason = reason.reason();
            format!(
                "The first prompt of this turn was not sent, because {reason}; this is the second one."
            )
        }
        None => {
            "The first prompt of this turn was too large for the model; this is the second one, \
                 which was shorter."
                .to_owned()
        }
    };
    sent.is_second.then_some(note)
}

/// Says what the agent's own session already contained, one line for every turn.
fn contained(sent: &SentPrompt, earlier: &[EarlierTurn]) -> Vec<String> {
    if earlier.is_empty() {
        return Vec::new();
    }
    let count = counted(earlier.len() as u64, "earlier turn", "earlier turns");
    let head = format!(
        "{} keeps its own session, which already contained {count}; only what follows was sent:",
        sent.member
    );
    let line = |turn: &EarlierTurn| {
        let quoted = turn.quoted.iter().map(|(id, bytes)| format!("{id} ({bytes})"));
        let quoted = quoted.collect::<Vec<_>>().join(", ");
        let answer = turn.answer.as_ref();
        let answer = answer.map(|(id, bytes)| format!("; answer {id} ({bytes})"));
        let (id, bytes) = (&turn.turn, turn.prompt_bytes);
        format!("  turn {id}: prompt of {bytes} bytes with {quoted}{}", answer.unwrap_or_default())
    };
    std::iter::once(head).chain(earlier.iter().map(line)).collect()
}

/// Returns the prompt that was sent for a turn, on any branch, and what the agent's own session contained before.
fn sent(
    store: &SessionStore,
    session: &SessionId,
    asked: &EntryId,
) -> Result<(SentPrompt, Vec<EarlierTurn>)> {
    let mut entries = branch(store, session, None)?;
    let mut sent = sent_prompt(&entries, asked);
    if let Err(PromptLost::NoTurn(_) | PromptLost::NotStarted(_)) = sent {
        let tail = end_behind(&store.load(session, &Range::All)?, asked);
        entries = branch(store, session, tail)?;
        sent = sent_prompt(&entries, asked);
    }
    let sent = sent.map_err(CliError::PromptLost)?;
    let earlier = earlier_turns(&entries, &sent);
    Ok((sent, earlier))
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
