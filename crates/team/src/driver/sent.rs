//! What an agent was sent at a turn, made again from the log and checked against the hash that was stored
//! when it was sent. Pure; for whoever asks what a member saw.

use serde_json::{Value, json};
use tertulia_session::json::Json;
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
    /// Whether the turn's first prompt was too large for the model, and this is the smaller one after it.
    pub is_second: bool,
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
        "turn {turn} has no record of what {member} received: {member} is built in and reads the log, \
         or an older version of this program ran the turn"
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
/// turn, any of its entries, or the answer. Of a turn that was sent twice, its start names the first prompt
/// and everything else the second.
pub fn sent_prompt(entries: &[Entry], asked: &EntryId) -> Result<SentPrompt, PromptLost> {
    let turn = turn_of(entries, asked).ok_or_else(|| PromptLost::NoTurn(asked.clone()))?;
    let started = entries.iter().enumerate().rev().find_map(|(place, entry)| {
        let started = as_turn(entry).filter(|turn| turn.state == TurnState::Started)?;
        (named_turn(entry, started) == turn).then_some((place, entry, started))
    });
    let (place, start, started) = started.ok_or_else(|| PromptLost::NotStarted(turn.clone()))?;
    let member = started.member.clone();
    let broken = |error| PromptLost::Broken { turn: turn.clone(), error };
    let later = entries.get(place..).unwrap_or_default();
    let again = later.iter().find_map(|entry| SentAgain::of(entry).filter(|one| one.turn == turn));
    let is_second = again.is_some() && start.id != *asked;
    let (recipe, hash) = match (again.filter(|_| is_second), &started.prompt_recipe) {
        (Some(again), _) => {
            let alone = || Ok(Recipe::default());
            (Recipe::read(&again.recipe, alone).map_err(broken)?, Some(again.hash))
        }
        (None, Some(_)) => {
            let until = entries.get(..=place).unwrap_or_default();
            let recipe = read_last(until, &recorded(until, &member)).map_err(broken)?;
            (recipe, started.prompt_hash.clone())
        }
        (None, None) => return Err(PromptLost::NotRecorded { turn, member }),
    };
    let Some(hash) = hash else { return Err(PromptLost::NotRecorded { turn, member }) };
    let made = recipe.make(entries);
    if made.lost.is_empty() && hash_of(made.system.as_deref(), &made.text) != hash {
        return Err(PromptLost::OtherHash { turn, hash });
    }
    let (system, text, redacted) = (made.system, made.text, made.lost);
    Ok(SentPrompt { member, turn, system, text, hash, is_second, redacted })
}

/// The record of the second prompt of a turn, whose first one was too large. A `custom` entry, as everything
/// that happens during a turn.
pub(super) struct SentAgain {
    pub(super) turn: EntryId,
    pub(super) hash: Box<str>,
    /// Refers to no other recipe.
    pub(super) recipe: Json,
}

impl SentAgain {
    const NAME: &str = "sent_again";

    /// The entry's payload.
    pub(super) fn to_kind(&self, member: &str) -> EntryKind {
        let recipe: Value = serde_json::from_str(self.recipe.as_str()).unwrap_or_default();
        let fields = json!({
            "agent": Self::NAME, "turn": self.turn.as_str(), "member": member,
            "promptHash": self.hash, "promptRecipe": recipe,
        });
        EntryKind::Custom(Json::parse(&fields.to_string()).ok())
    }

    fn of(entry: &Entry) -> Option<Self> {
        let EntryKind::Custom(Some(payload)) = &entry.kind else { return None };
        let fields: Value = serde_json::from_str(payload.as_str()).ok()?;
        let text = |name: &str| fields.get(name)?.as_str();
        (text("agent")? == Self::NAME).then_some(())?;
        let recipe = Json::parse(&fields.get("promptRecipe")?.to_string()).ok()?;
        Some(Self { turn: EntryId::from(text("turn")?), hash: text("promptHash")?.into(), recipe })
    }
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
