//! What an agent was sent at a turn, made again from the log and checked against the hash that was stored
//! when it was sent. Pure; for whoever asks what a member saw.

use tertulia_session::{Entry, EntryId, EntryKind, Turn, TurnState};

use super::prompt::hash_of;
use super::recipe::{Recipe, RecipeError};
use crate::cause::Cause;

/// What an agent was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentPrompt {
    /// Who was asked.
    pub member: Box<str>,
    /// The turn.
    pub turn: EntryId,
    /// The system text, where it travels apart.
    pub system: Option<String>,
    /// The prompt, or the messages of a request.
    pub text: String,
    /// The hash that was stored.
    pub hash: Box<str>,
    /// The entries in it that were redacted since. Without any, the text has the stored hash.
    pub redacted: Vec<EntryId>,
}

/// Why a prompt cannot be shown as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptLost {
    /// The entry is neither a turn nor an agent's answer.
    #[error("{0} is neither a turn nor an agent's answer; `tertulia sessions show` lists them")]
    NoTurn(EntryId),
    /// The turn did not start.
    #[error("turn {0} never started, so nothing was sent")]
    NotStarted(EntryId),
    /// Nothing is recorded: a built-in member, or an older version.
    #[error(
        "nothing is recorded of what {member} received at turn {turn}: {member} is built in and \
         reads the log, or an older version of this program ran the turn"
    )]
    NotRecorded {
        /// The turn.
        turn: EntryId,
        /// Whose it was.
        member: Box<str>,
    },
    /// The record cannot be read.
    #[error("turn {turn}: {error}")]
    Broken {
        /// The turn.
        turn: EntryId,
        /// What is wrong with it.
        error: RecipeError,
    },
    /// What was made again is not what was sent.
    #[error(
        "turn {turn}: what the log gives does not have the stored hash {hash}; \
         `tertulia sessions verify` checks the log"
    )]
    OtherHash {
        /// The turn.
        turn: EntryId,
        /// The stored hash.
        hash: Box<str>,
    },
}

/// What was sent at a turn. `entries` are those of the session's branch, from its root on; `asked` is the
/// turn, any of its entries, or the answer.
pub fn sent_prompt(entries: &[Entry], asked: &EntryId) -> Result<SentPrompt, PromptLost> {
    let turn = turn_of(entries, asked).ok_or_else(|| PromptLost::NoTurn(asked.clone()))?;
    let started = entries.iter().enumerate().rev().find_map(|(place, entry)| {
        let started = as_turn(entry).filter(|turn| turn.state == TurnState::Started)?;
        (named_turn(entry, started) == turn).then_some((place, started))
    });
    let (place, started) = started.ok_or_else(|| PromptLost::NotStarted(turn.clone()))?;
    let member = started.member.clone();
    let (Some(hash), Some(_)) = (started.prompt_hash.clone(), &started.prompt_recipe) else {
        return Err(PromptLost::NotRecorded { turn, member });
    };
    let until = entries.get(..=place).unwrap_or_default();
    let places = recorded(until, &member);
    let recipe = read_last(until, &places)
        .map_err(|error| PromptLost::Broken { turn: turn.clone(), error })?;
    let made = recipe.make(until);
    if made.lost.is_empty() && hash_of(made.system.as_deref(), &made.text) != hash {
        return Err(PromptLost::OtherHash { turn, hash });
    }
    let (system, text, redacted) = (made.system, made.text, made.lost);
    Ok(SentPrompt { member, turn, system, text, hash, redacted })
}

/// The recipe of the last of these places. Those that it refers to are read before it.
pub(super) fn read_last(entries: &[Entry], places: &[usize]) -> Result<Recipe, RecipeError> {
    let recipes =
        places.iter().filter_map(|place| as_turn(entries.get(*place)?)?.prompt_recipe.as_ref());
    let recipes: Vec<_> = recipes.collect();
    let first = recipes.iter().rposition(|json| Recipe::is_alone(json)).unwrap_or_default();
    let chain = recipes.get(first..).unwrap_or_default();
    chain.iter().try_fold(Recipe::default(), |before, json| Recipe::read(json, || Ok(before)))
}

/// The places of a member's started turns whose prompt is recorded.
fn recorded(entries: &[Entry], member: &str) -> Vec<usize> {
    let is_recorded = |turn: &Turn| *turn.member == *member && turn.prompt_recipe.is_some();
    let turns = entries.iter().enumerate();
    turns.filter(|(_, entry)| as_turn(entry).is_some_and(is_recorded)).map(|(at, _)| at).collect()
}

/// The turn that is meant: a turn's own entries, or the answer that ended it.
fn turn_of(entries: &[Entry], asked: &EntryId) -> Option<EntryId> {
    let entry = entries.iter().find(|entry| entry.id == *asked)?;
    if let Some(turn) = as_turn(entry) {
        return Some(named_turn(entry, turn));
    }
    entries.iter().find_map(|one| match Cause::parse(&as_turn(one)?.cause)? {
        Cause::Answered { turn, entry } | Cause::CutOff { turn, entry } => {
            (entry == *asked).then_some(turn)
        }
        _ => None,
    })
}

/// The turn that an entry of it belongs to.
fn named_turn(entry: &Entry, turn: &Turn) -> EntryId {
    let named = match Cause::parse(&turn.cause) {
        Some(cause) if turn.state != TurnState::Queued => cause.turn().cloned(),
        _ => None,
    };
    named.unwrap_or_else(|| entry.id.clone())
}

fn as_turn(entry: &Entry) -> Option<&Turn> {
    match &entry.kind {
        EntryKind::Turn(turn) => Some(turn),
        _ => None,
    }
}
