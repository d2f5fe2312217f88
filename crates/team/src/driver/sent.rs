//! Rebuilds the prompt of a turn from the log, and checks it against the hash that was stored when it was sent. Pure.

use tertulia_session::json::Json;
use tertulia_session::{
    Cause, Entry, EntryId, EntryKind, FreshStart, TurnActivity, TurnEvent, TurnMemory, TurnState,
};

use super::prompt::hash_of;
use crate::memory::session_turns;

use super::recipe::{Recipe, RecipeError, RecipeHistory};

/// The prompt that an agent was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentPrompt {
    pub member: Box<str>,
    pub turn: EntryId,
    /// The system text, if it was sent separately.
    pub system: Option<String>,
    /// The prompt, or the messages of a request.
    pub text: String,
    pub hash: Box<str>,
    /// Whether the first prompt of the turn was too large for the model or could not be sent, and this is the second
    /// one.
    pub is_second: bool,
    /// Why the first prompt could not be sent, if that is the reason for a second one.
    pub restarted: Option<FreshStart>,
    /// What the agent's own session was when this prompt was made, if the agent keeps one.
    pub memory: Option<TurnMemory>,
    /// The entries that the prompt quotes, with the number of bytes of each.
    pub quoted: Vec<(EntryId, usize)>,
    /// The redacted entries of the prompt. If there are none, the text matches the stored hash.
    pub redacted: Vec<EntryId>,
}

/// The reason why a prompt cannot be rebuilt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PromptLost {
    #[error(
        "{0} is neither a turn nor an agent's answer; `tertulia sessions show --all` lists them"
    )]
    NoTurn(EntryId),
    #[error("turn {0} never started, so nothing was sent")]
    NotStarted(EntryId),
    #[error(
        "the prompt of turn {turn} for {member} was not recorded: only agents get a prompt, older \
         versions did not record it, and prompts that quote imported tool calls are not recorded"
    )]
    NotRecorded { turn: EntryId, member: Box<str> },
    #[error("turn {turn}: {error}")]
    Broken {
        turn: EntryId,
        #[source]
        error: RecipeError,
    },
    /// The record of this prompt refers to the record of a turn that was redacted.
    #[error(
        "the prompt of turn {turn} cannot be shown: its record refers to the record of an earlier \
         turn, which was redacted"
    )]
    TurnRedacted { turn: EntryId },
    #[error(
        "turn {turn}: the prompt rebuilt from the log does not have the stored hash {hash}; \
         `tertulia sessions verify` checks the log"
    )]
    OtherHash { turn: EntryId, hash: Box<str> },
}

/// Returns the prompt of a turn. `entries` are those of the session's branch from its root on. `asked` is the turn,
/// any of its entries, or the answer. If the turn has two prompts, its start refers to the first one, and its other
/// entries refer to the second one.
pub fn sent_prompt(entries: &[Entry], asked: &EntryId) -> Result<SentPrompt, PromptLost> {
    let turn = turn_of(entries, asked).ok_or_else(|| PromptLost::NoTurn(asked.clone()))?;
    let started = entries.iter().enumerate().rev().find_map(|(index, entry)| {
        let started = entry.turn().filter(|turn| turn.state == TurnState::Started)?;
        (entry.turn_id() == Some(&turn)).then_some((index, entry, started))
    });
    let (index, start, started) = started.ok_or_else(|| PromptLost::NotStarted(turn.clone()))?;
    let member = started.member.clone();
    let broken = |error| PromptLost::Broken { turn: turn.clone(), error };
    let later = entries.get(index..).unwrap_or_default();
    let again = later.iter().rev().find_map(|entry| resent(entry, &turn));
    let is_second = again.is_some() && start.id != *asked;
    let reset = later.iter().rev().find_map(|entry| reset(entry, &turn)).filter(|_| is_second);
    let memory = reset.or(started.memory.as_deref()).cloned();
    let restarted = reset.filter(|_| !is_retry(later, &turn));
    let restarted = restarted.and_then(|memory| memory.fresh_start.clone());
    let mut has_gap = false;
    let (recipe, hash) = match (again.filter(|_| is_second), &started.prompt_recipe) {
        (Some((hash, recipe)), _) => {
            (Recipe::read(recipe, &[]).map_err(broken)?, Some(hash.into()))
        }
        (None, Some(_)) => {
            let until = entries.get(..=index).unwrap_or_default();
            let indexes = recorded(until);
            has_gap = is_turn_redacted(until, &indexes);
            let lost = |error| match has_gap {
                true => PromptLost::TurnRedacted { turn: turn.clone() },
                false => broken(error),
            };
            let history = RecipeHistory::read(until, &indexes).map_err(lost)?;
            (history.into_last().unwrap_or_default(), started.prompt_hash.clone())
        }
        (None, None) => return Err(PromptLost::NotRecorded { turn, member }),
    };
    let Some(hash) = hash else { return Err(PromptLost::NotRecorded { turn, member }) };
    let made = recipe.make(entries);
    let salts = Recipe::salts(Some(&recipe), entries);
    let is_same = hash_of(made.system.as_deref(), &made.text, &salts) == hash;
    match made.lost.is_empty() {
        _ if is_same => {}
        _ if has_gap => return Err(PromptLost::TurnRedacted { turn }),
        true => return Err(PromptLost::OtherHash { turn, hash }),
        // The hash cannot match, because redacted text is missing.
        false => {}
    }
    let (system, text, redacted) = (made.system, made.text, made.lost);
    let quoted = recipe.quoted(entries);
    Ok(SentPrompt {
        member,
        turn,
        system,
        text,
        hash,
        is_second,
        restarted,
        memory,
        quoted,
        redacted,
    })
}

/// A turn whose prompt and answer the agent's own session already contained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierTurn {
    pub turn: EntryId,
    /// Number of bytes of its prompt.
    pub prompt_bytes: usize,
    /// The entries that its prompt quotes, with the number of bytes of each.
    pub quoted: Vec<(EntryId, usize)>,
    /// The answer, with its number of bytes.
    pub answer: Option<(EntryId, usize)>,
}

/// Returns what the agent's own session contained before this prompt, oldest first; nothing if the prompt began one.
/// Turns whose prompt is lost have no sizes.
pub fn earlier_turns(entries: &[Entry], sent: &SentPrompt) -> Vec<EarlierTurn> {
    let is_start = |entry: &Entry| {
        entry.turn_id() == Some(&sent.turn)
            && entry.turn().is_some_and(|turn| turn.state == TurnState::Started)
    };
    let index = entries.iter().rposition(is_start).unwrap_or_default();
    if !sent.memory.as_ref().is_some_and(TurnMemory::continues) {
        return Vec::new();
    }
    let turns = session_turns(entries.get(..index).unwrap_or_default(), &sent.member);
    turns.into_iter().rev().map(|turn| earlier_turn(entries, turn)).collect()
}

fn earlier_turn(entries: &[Entry], turn: &EntryId) -> EarlierTurn {
    let answered = entries.iter().find_map(|entry| match &entry.turn()?.cause {
        Cause::Answered { entry: answer } | Cause::CutOff { entry: answer }
            if entry.turn_id() == Some(turn) =>
        {
            Some(answer)
        }
        _ => None,
    });
    let bytes = |id: &EntryId| {
        let answer = entries.iter().find(|entry| entry.id == *id)?.message()?;
        Some((id.clone(), answer.text().len()))
    };
    let (prompt_bytes, quoted) = sent_prompt(entries, turn)
        .map(|sent| (sent.system.map_or(0, |text| text.len()) + sent.text.len(), sent.quoted))
        .unwrap_or_default();
    EarlierTurn { turn: turn.clone(), prompt_bytes, quoted, answer: answered.and_then(bytes) }
}

/// Returns the memory with which a turn was started again.
fn reset<'e>(entry: &'e Entry, turn: &EntryId) -> Option<&'e TurnMemory> {
    match &entry.kind {
        EntryKind::TurnEvent(TurnEvent {
            turn_id,
            activity: TurnActivity::MemoryReset { memory },
            ..
        }) if turn_id == turn => Some(memory),
        _ => None,
    }
}

/// Returns whether the last prompt of a turn is a shorter one.
fn is_retry(later: &[Entry], turn: &EntryId) -> bool {
    let activities = later.iter().rev().filter_map(|entry| match &entry.kind {
        EntryKind::TurnEvent(event) if event.turn_id == *turn => Some(&event.activity),
        _ => None,
    });
    let mut reasons = activities.filter_map(|activity| match activity {
        TurnActivity::Retried { .. } => Some(true),
        TurnActivity::MemoryReset { memory } => memory.fresh_start.as_ref().map(|_| false),
        _ => None,
    });
    reasons.next() == Some(true)
}

fn recorded(entries: &[Entry]) -> Vec<usize> {
    let turns = entries.iter().enumerate().filter_map(|(at, entry)| Some((at, entry.turn()?)));
    turns.filter(|(_, turn)| turn.prompt_recipe.is_some()).map(|(at, _)| at).collect()
}

/// Returns whether a turn was redacted after the last record that refers to no other.
fn is_turn_redacted(entries: &[Entry], indexes: &[usize]) -> bool {
    let is_alone = |index: &&usize| {
        let turn = entries.get(**index).and_then(Entry::turn);
        turn.and_then(|turn| turn.prompt_recipe.as_ref()).is_some_and(Recipe::is_alone)
    };
    let first = indexes.iter().rev().find(is_alone).copied().unwrap_or_default();
    let since = entries.get(first..).unwrap_or_default();
    since.iter().any(
        |entry| matches!(&entry.kind, EntryKind::Purged(purged) if &*purged.type_name == "turn"),
    )
}

fn turn_of(entries: &[Entry], asked: &EntryId) -> Option<EntryId> {
    let entry = entries.iter().find(|entry| entry.id == *asked)?;
    if entry.turn().is_some() {
        return entry.turn_id().cloned();
    }
    entries.iter().find_map(|one| match &one.turn()?.cause {
        Cause::Answered { entry } | Cause::CutOff { entry } if entry == asked => {
            one.turn_id().cloned()
        }
        _ => None,
    })
}

fn resent<'e>(entry: &'e Entry, turn: &EntryId) -> Option<(&'e str, &'e Json)> {
    match &entry.kind {
        EntryKind::TurnEvent(TurnEvent {
            turn_id,
            activity: TurnActivity::Resent { prompt_hash, prompt_recipe },
            ..
        }) if turn_id == turn => Some((prompt_hash, prompt_recipe)),
        _ => None,
    }
}
